"""The tools of the opened repositories as rows: what can be started by the rules of the route first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from PySide6.QtCore import QCoreApplication, QObject

from inbox_app.gateway.catalog import Repository, ToolInfo
from inbox_app.models.row_table import RowTable
from inbox_app.models.wording import age, first_line
from inbox_app.state.edits import edits_between
from inbox_app.tools_panel.launch_words import standing
from inbox_app.tools_panel.launches import Launch
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.row_delegate import HeadLook, RowLook

translate = QCoreApplication.translate
_BREAK: Final = "\n"


@dataclass(frozen=True, slots=True)
class RepositoryHead:
    path: str
    name: str
    tools: int


@dataclass(frozen=True, slots=True)
class RepositoryRow:
    """A repository that a person has to look at: it cannot be used, needs trust, or has problems."""

    repository: Repository


@dataclass(frozen=True, slots=True)
class ToolRow:
    repository: Repository
    tool: ToolInfo

    @property
    def key(self) -> str:
        return tool_key(self.repository.path, self.tool.name)


Row: TypeAlias = RepositoryHead | RepositoryRow | ToolRow


def tool_key(path: str, tool: str) -> str:
    return f"{path}{_BREAK}{tool}"


def needs_look(repository: Repository) -> bool:
    return repository.broken or not repository.trusted or bool(repository.problems)


class ToolTable(RowTable[Row]):
    """``launch_of`` gives the last start of a tool by its key."""

    def __init__(
        self,
        parent: QObject,
        launch_of: Callable[[str], Launch | None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(parent)
        self._launch_of = launch_of
        self._clock = clock

    def put(self, repositories: Sequence[Repository], *, invocable_only: bool) -> None:
        after: list[Row] = []
        for repository in repositories:
            tools = sorted(repository.tools, key=lambda tool: (not tool.invocable, tool.name))
            rows: list[Row] = [RepositoryRow(repository)] if needs_look(repository) else []
            rows += [ToolRow(repository, tool) for tool in tools if tool.invocable or not invocable_only]
            if rows:
                after += [RepositoryHead(repository.path, repository.name, len(tools)), *rows]
        before = {_key(row): at for at, row in enumerate(self._rows)}
        order = [before[_key(row)] for row in after if _key(row) in before]
        moved = {_key(row) for row in after} if order != sorted(order) else set[str]()
        self.apply(edits_between(self._rows, after, _key, _same, moved))

    def refresh(self, key: str) -> None:
        """What became of a start is different."""
        at = self.find(key)
        if at is not None:
            index = self.index(at, 0)
            self.dataChanged.emit(index, index)

    def row_id(self, row: Row) -> str:
        if isinstance(row, ToolRow):
            return row.key
        return row.repository.path if isinstance(row, RepositoryRow) else ""

    def look(self, row: Row) -> RowLook | HeadLook:
        if isinstance(row, RepositoryHead):
            words = translate("ToolTable", "1 tool") if row.tools == 1 else translate("ToolTable", "{0} tools")
            return HeadLook(reveal(row.name), words.format(row.tools))
        return _repository_look(row.repository) if isinstance(row, RepositoryRow) else self._tool_look(row)

    def spoken(self, row: Row) -> str:
        look = self.look(row)
        if isinstance(look, HeadLook):
            return f"{look.title}, {look.order}"
        return ", ".join(part for part in (look.title, look.word, look.when, look.detail) if part)

    def _tool_look(self, row: ToolRow) -> RowLook:
        tool, launch = row.tool, self._launch_of(row.key)
        icon, role, word, when = "wrench", "muted", _lane_word(tool), ""
        if launch is not None:
            now = standing(launch)
            icon, role, word, when = now.icon, now.role, now.word, age(launch.at, self._clock())
        return RowLook(
            icon=icon,
            icon_role=role,
            title=reveal(tool.name),
            title_font="mono",
            strong=False,
            when=when,
            detail=reveal(first_line(tool.description)),
            word=word,
            word_role=role if launch is not None else "muted",
        )


def _lane_word(tool: ToolInfo) -> str:
    if tool.invocable:
        return translate("ToolTable", "Invocable")
    return translate("ToolTable", "Direct") if tool.durable else translate("ToolTable", "Inline")


def _repository_look(repository: Repository) -> RowLook:
    icon, role, word = "info", "muted", translate("ToolTable", "Warnings")
    title = translate("ToolTable", "It has problems that stop nothing")
    if repository.broken:
        icon, role, word = "triangle-alert", "failed", translate("ToolTable", "Broken")
        title = translate("ToolTable", "It cannot be used")
    elif not repository.trusted:
        icon, role, word = "shield-alert", "due", translate("ToolTable", "Not trusted")
        title = translate("ToolTable", "It needs your trust")
    return RowLook(
        icon=icon,
        icon_role=role,
        title=title,
        strong=repository.broken,
        when="",
        detail=reveal(first_line(repository.problems[0] if repository.problems else repository.path)),
        word=word,
        word_role=role,
    )


def _key(row: Row) -> str:
    if isinstance(row, RepositoryHead):
        return f"\0{row.path}"
    return row.key if isinstance(row, ToolRow) else row.repository.path


def _same(old: Row, row: Row) -> bool:
    """Of a tool only what is its own: comparing its whole repository for every tool would take long."""
    if isinstance(old, ToolRow) and isinstance(row, ToolRow):
        return old.tool == row.tool and old.repository.name == row.repository.name
    return old == row
