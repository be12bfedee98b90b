"""The tools of the opened repositories: the list at the left, the form of one of them at the right."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QApplication, QStackedWidget

from inbox_app.commands.repositories import RepositoryActs
from inbox_app.gateway import schemas, values
from inbox_app.gateway.base import Batch, GatewayError, Start
from inbox_app.gateway.catalog import Catalog, Repository
from inbox_app.section import Answering, Surroundings, Verb
from inbox_app.tools_panel.inputs import Filled, Inputs
from inbox_app.tools_panel.launches import Launches
from inbox_app.tools_panel.repository_page import RepositoryPage
from inbox_app.tools_panel.tool_page import ToolPage
from inbox_app.tools_panel.tool_table import RepositoryHead, RepositoryRow, ToolRow, ToolTable, tool_key
from inbox_app.tools_panel.tools_pane import ToolsPane
from inbox_app.widgets.empty_state import EmptyState

LOOK_MS: Final = 3000
"""How often the files are looked at while the list is on the screen."""
_ALL: Final = "tools.all"


class ToolsSection(QObject):
    def __init__(self, around: Surroundings) -> None:
        super().__init__(around.window)
        self._around = around
        self._inputs = Inputs(around.memory)
        self._repositories: Sequence[Repository] | None = None
        self._problem = ""
        self._shown: ToolRow | RepositoryRow | None = None
        self._wanted = ""
        self._is_loading = False
        self._pane = ToolsPane(around.theme, around.window)
        self._pane.set_invocable_only(around.memory.recall(_ALL) == "")
        self._launches = Launches(around.gateway, around.spawn, around.clock, self)
        self._acts = RepositoryActs(
            around.theme, around.window, self._catalog, around.spawn, around.memory, around.show_notice, self
        )
        self._table = ToolTable(self, self._launches.get, around.clock)
        self._pane.table.setModel(self._table)
        self._page = QStackedWidget(around.window)
        self._empty = EmptyState(around.theme, self._page)
        self._tool_page = ToolPage(around.theme, around.clock, self._page)
        self._repository_page = RepositoryPage(around.theme, self._page)
        for page in (self._empty, self._tool_page, self._repository_page):
            self._page.addWidget(page)
        self._looking = QTimer(self)
        self._looking.setInterval(LOOK_MS)
        self._looking.timeout.connect(self._on_look)
        self._looking.start()
        self._connect()
        self._pane.show_loading()
        self._show_nothing()
        around.spawn(asyncio.to_thread(schemas.load), "schema check")

    # What the window asks

    @property
    def list_pane(self) -> ToolsPane:
        return self._pane

    @property
    def page(self) -> QStackedWidget:
        return self._page

    @property
    def tool_page(self) -> ToolPage:
        return self._tool_page

    @property
    def verbs(self) -> Mapping[str, Verb]:
        return {
            "tools.start": Verb(self._tool_page.start, self._can_start),
            "tools.last": Verb(self._use_last, self._has_last),
            "tools.json": Verb(self._tool_page.toggle_json, self._shows_tool),
            "tools.remove": Verb(self._ask_remove, self._has_repository),
        }

    @property
    def answering(self) -> Answering | None:
        return None

    def shown(self) -> None:
        self._load()

    def take(self, batch: Batch) -> None:
        self._launches.take(batch)
        changed = any(run.code_changed for run in batch.runs) or any(pause.code_changed for pause in batch.opened)
        if batch.reset or changed:
            self._load()

    def enter(self) -> None:
        if isinstance(self._shown, ToolRow):
            self._tool_page.focus_first()
        elif self._shown is not None:
            self._repository_page.focus_first()

    def leave(self) -> bool:
        return False

    def open(self, name: str) -> None:
        """``name``: the key of a tool, the path of a repository, or the name of a tool."""
        self._wanted = name
        self._select_wanted()

    def close(self) -> None:
        self._looking.stop()
        self._tool_page.keep_now()

    # The list

    def _load(self) -> None:
        if not self._is_loading and self._catalog() is not None:
            self._is_loading = True
            self._around.spawn(self._read(), "read the repositories")

    async def _read(self) -> None:
        catalog = self._catalog()
        try:
            if catalog is not None:
                known = {one.path: one for one in self._repositories or ()}
                found = await catalog.repositories()
                self._repositories = [known[one.path] if known.get(one.path) == one else one for one in found]
                self._problem = ""
        except GatewayError as error:
            self._problem = error.message
        finally:
            self._is_loading = False
        self._show_list()

    def _show_list(self) -> None:
        if self._repositories is None:
            if self._problem:
                self._pane.show_problem(self._problem)
            return
        only = self._pane.invocable_only
        self._table.put(self._repositories, invocable_only=only)
        tools = sum(len(one.tools) for one in self._repositories)
        listed = sum(isinstance(row, ToolRow) for row in self._table.rows)
        self._pane.show_tools(len(self._repositories), listed, tools - listed)
        self._pane.show_table(bool(self._table.rows))
        self._select_wanted()
        self._renew_page()
        self._around.changed()

    def _select_wanted(self) -> None:
        if not self._wanted:
            return
        found = self._row_of(self._wanted)
        if found is None and self._pane.invocable_only and self._is_known(self._wanted):
            self._pane.set_invocable_only(False)
            return
        at = self._table.find(found) if found is not None else None
        if at is not None:
            self._wanted = ""
            self._pane.table.setCurrentIndex(self._table.index(at, 0))

    def _row_of(self, name: str) -> str | None:
        """The id of the row that a name stands for: its own, its tool, or what is first of its repository."""
        for row in self._table.rows:
            if isinstance(row, ToolRow) and name in (row.key, row.tool.name, row.repository.path):
                return row.key
            if isinstance(row, RepositoryRow) and row.repository.path == name:
                return name
        return None

    def _is_known(self, name: str) -> bool:
        return any(
            name in (one.path, tool.name, tool_key(one.path, tool.name))
            for one in self._repositories or ()
            for tool in one.tools
        )

    # The page

    def _renew_page(self) -> None:
        """What is shown, as the repositories are now."""
        if self._shown is None:
            return
        key = self._shown.key if isinstance(self._shown, ToolRow) else self._shown.repository.path
        row = next((row for row in self._rows() if self._table.row_id(row) == key), None)
        if row is None:
            self._tool_page.keep_now()
            self._shown = None
            self._show_nothing()
        elif row != self._shown:
            self._show_row(row)

    def _rows(self) -> list[ToolRow | RepositoryRow]:
        """What can be shown, listed or not: a tool that is on the page stays there when the list leaves it out."""
        listed = [row for row in self._table.rows if not isinstance(row, RepositoryHead)]
        tools = [ToolRow(one, tool) for one in self._repositories or () for tool in one.tools]
        return [*listed, *(row for row in tools if row not in listed)]

    def _show_row(self, row: ToolRow | RepositoryRow) -> None:
        is_same = isinstance(row, ToolRow) and isinstance(self._shown, ToolRow) and row.key == self._shown.key
        if not is_same:
            self._tool_page.keep_now()
        self._shown = row
        if isinstance(row, RepositoryRow):
            self._repository_page.show_repository(row.repository)
            self._page.setCurrentWidget(self._repository_page)
        else:
            filled = self._tool_page.filled() if is_same else self._inputs.draft(row.key)
            last = self._inputs.last(row.key)
            self._tool_page.show_tool(row.key, row.repository, row.tool, filled, last)
            if not is_same:
                self._tool_page.show_launch(self._launches.get(row.key), last)
            self._page.setCurrentWidget(self._tool_page)
        self._around.changed()

    def _show_nothing(self) -> None:
        self._empty.show_text(
            "wrench", self.tr("No tool is selected"), self.tr("Select one at the left to start it from a form.")
        )
        self._page.setCurrentWidget(self._empty)

    # Starting

    def _start(self) -> None:
        row = self._shown
        if not isinstance(row, ToolRow):
            return
        filled, page = self._tool_page.filled() or Filled(), self._tool_page
        try:
            text = page.input_text()
        except values.BadJsonError:
            return
        start = Start(
            tool=row.tool.name,
            input=text,
            repository=row.repository.path,
            scope=filled.scope,
            lane="invoke" if row.tool.invocable else "direct",
            context=filled.context or None,
        )
        if self._launches.launch(row.key, start, page.files):
            self._inputs.keep_last(row.key, Filled(page.form.text(), filled.scope, filled.context))
            page.show_launch(self._launches.get(row.key), self._inputs.last(row.key))

    def _use_last(self) -> None:
        row = self._shown
        last = self._inputs.last(row.key) if isinstance(row, ToolRow) else None
        if last is not None:
            self._tool_page.use(last)

    def _can_start(self) -> bool:
        row = self._shown
        return isinstance(row, ToolRow) and not self._launches.is_on_its_way(row.key)

    def _has_last(self) -> bool:
        return isinstance(self._shown, ToolRow) and self._inputs.last(self._shown.key) is not None

    def _shows_tool(self) -> bool:
        return isinstance(self._shown, ToolRow)

    # Repositories

    def _catalog(self) -> Catalog | None:
        gateway = self._around.gateway()
        return gateway.catalog if gateway is not None else None

    @property
    def _repository(self) -> Repository | None:
        """That of what is shown."""
        return self._shown.repository if self._shown is not None else None

    def _has_repository(self) -> bool:
        return self._repository is not None

    @Slot()
    def _ask_remove(self) -> None:
        if self._repository is not None:
            self._acts.ask_remove(self._repository)

    @Slot()
    def _ask_trust(self) -> None:
        if self._repository is not None:
            self._acts.ask_trust(self._repository)

    @Slot(str)
    def _on_repository_changed(self, path: str) -> None:
        self._wanted = path
        self._load()

    # Signals

    def _connect(self) -> None:
        pane, page = self._pane, self._tool_page
        pane.selected.connect(self._on_selected)
        pane.filtered.connect(self._on_filtered)
        pane.empty.followed.connect(self._on_empty_followed)
        page.start_wanted.connect(self._start)
        page.edited.connect(self._on_edited)
        page.last_wanted.connect(self._use_last)
        page.run_wanted.connect(self._on_run_wanted)
        page.question_wanted.connect(self._on_question_wanted)
        self._repository_page.trust_wanted.connect(self._ask_trust)
        self._repository_page.remove_wanted.connect(self._ask_remove)
        self._launches.changed.connect(self._on_launch_changed)
        self._acts.changed.connect(self._on_repository_changed)

    @Slot(str)
    def _on_selected(self, row_id: str) -> None:
        at = self._table.find(row_id)
        row = self._table.row(at) if at is not None else None
        if row is not None and not isinstance(row, RepositoryHead) and row != self._shown:
            self._show_row(row)

    @Slot(bool)
    def _on_filtered(self, only: bool) -> None:
        self._around.memory.keep(_ALL, "" if only else "yes")
        self._show_list()

    @Slot()
    def _on_empty_followed(self) -> None:
        if self._repositories is None:
            self._load()
        elif not self._repositories:
            self._acts.ask_open()
        else:
            self._pane.set_invocable_only(False)

    @Slot()
    def _on_look(self) -> None:
        if self._pane.isVisible() and QApplication.activeModalWidget() is None:
            self._load()

    @Slot()
    def _on_edited(self) -> None:
        if isinstance(self._shown, ToolRow):
            self._inputs.keep_draft(self._shown.key, self._tool_page.filled())

    @Slot(str)
    def _on_launch_changed(self, key: str) -> None:
        self._table.refresh(key)
        if isinstance(self._shown, ToolRow) and self._shown.key == key:
            self._tool_page.show_launch(self._launches.get(key), self._inputs.last(key), speak=True)
        self._around.changed()

    @Slot(str)
    def _on_run_wanted(self, run_id: str) -> None:
        self._around.go_to_run(run_id)

    @Slot(str)
    def _on_question_wanted(self, pause_id: str) -> None:
        self._around.go_to_pause(pause_id)
