"""Automations as a section of the window: lists them, shows one with its history, makes, switches and starts them."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QObject, QTimer, Slot

from inbox_app.automations import words
from inbox_app.automations.edit_dialog import EditDialog
from inbox_app.automations.page import AutomationPage
from inbox_app.automations.pane import AutomationsPane
from inbox_app.automations.tables import AutomationTable
from inbox_app.gateway.automations import Automation, AutomationRequest, Firing, When
from inbox_app.gateway.base import Batch, GatewayError
from inbox_app.section import Surroundings, Verb
from inbox_app.widgets.dialogs import ConfirmDialog

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from inbox_app.gateway.automations import AutomationGateway

TICK_MS = 10_000
"""How often the times until the next starts are told anew, while the section is shown."""


class AutomationsSection(QObject):
    """Implements `Section`."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around.window)
        self._around = around
        self._wanted = ""
        self._reading = False
        self._again = False
        self._is_listed = False
        self._watched: AutomationGateway | None = None
        self._pane = AutomationsPane(around.theme)
        self._page = AutomationPage(around.theme, around.clock)
        self._table = AutomationTable(self, around.clock)
        self._dialog: EditDialog | None = None
        self._pane.table.setModel(self._table)
        self._pane.selected.connect(self._on_selected)
        self._pane.add_wanted.connect(self.add)
        self._pane.empty.followed.connect(self._on_empty_followed)
        self._page.switch_wanted.connect(self.switch)
        self._page.run_wanted.connect(self.start)
        self._page.edit_wanted.connect(self.edit)
        self._page.remove_wanted.connect(self.remove)
        self._page.firing_opened.connect(self._on_firing_opened)
        self._ticking = QTimer(self)
        self._ticking.setInterval(TICK_MS)
        self._ticking.timeout.connect(self._on_tick)

    @property
    def list_pane(self) -> AutomationsPane:
        return self._pane

    @property
    def page(self) -> AutomationPage:
        return self._page

    @property
    def answering(self) -> None:
        return None

    @property
    def verbs(self) -> Mapping[str, Verb]:
        page = self._page
        return {
            "automations.new": Verb(self.add, self._can_add),
            "automations.switch": Verb(self.switch, page.switch.isEnabled),
            "automations.start": Verb(self.start, page.run.isEnabled),
            "automations.edit": Verb(self.edit, page.edit.isEnabled),
            "automations.remove": Verb(self.remove, page.remove.isEnabled),
        }

    def shown(self) -> None:
        self._ticking.start()
        self._watch()
        self._read()

    def take(self, batch: Batch) -> None:
        if self._is_shown and (batch.reset or batch.runs):
            self._read()

    def enter(self) -> None:
        self._page.enter()

    def leave(self) -> bool:
        return False

    def open(self, name: str) -> None:
        self._wanted = name
        self._select()

    def close(self) -> None:
        self._ticking.stop()

    # Reading

    @property
    def _is_shown(self) -> bool:
        return self._pane.isVisible() or self._page.isVisible()

    @Slot()
    def _on_tick(self) -> None:
        if not self._is_shown:
            self._ticking.stop()
            return
        self._table.tick()
        self._page.tick()

    def _watch(self) -> None:
        """Hear of what the clock, another window or the command line does."""
        gateway = self._gateway
        if gateway is not None and self._watched is None:
            self._watched = gateway
            self._around.spawn(self._hear(gateway), "automations that change")

    async def _hear(self, gateway: AutomationGateway) -> None:
        try:
            async with aclosing(cast("AsyncGenerator[str]", gateway.watch())) as changes:
                async for _ in changes:
                    if self._is_shown:
                        self._read()
        except GatewayError:
            pass  # the runtime is gone, and says so elsewhere
        finally:
            self._watched = None

    def _read(self) -> None:
        if self._reading:
            self._again = True
        else:
            self._reading = True
            self._around.spawn(self._list(), "automations")

    async def _list(self) -> None:
        try:
            self._again = True
            while self._again and (gateway := self._gateway) is not None:
                self._again = False
                await self._read_all(gateway)
        finally:
            self._reading = False

    async def _read_all(self, gateway: AutomationGateway) -> None:
        try:
            self._show_listed(await gateway.automations())
            await self._read_history(gateway)
        except GatewayError as error:
            if self._table.rows:
                self._page.show_refusal(error.message)
            else:
                self._pane.show_problem(error.message)

    def _show_listed(self, found: Any) -> None:
        self._is_listed = True
        self._table.put(found)
        self._pane.show_automations(len(found), sum(one.enabled for one in found))
        self._select()
        self._show_current()

    def _show_current(self) -> None:
        current = self._current
        if current is None:
            self._page.show_nothing()
        else:
            self._page.show_automation(current)
        self._around.changed()

    async def _read_history(self, gateway: AutomationGateway) -> None:
        shown = self._page.automation
        if shown is None:
            return
        found = await gateway.history(shown.id)
        if self._page.automation is not None and self._page.automation.id == shown.id:
            self._page.show_history(found)

    def _select(self) -> None:
        row = self._table.find(self._wanted) if self._wanted else None
        if row is not None:
            self._wanted = ""
            self._pane.table.select_row(row)
        elif self._pane.current_id is None and self._table.rows:
            self._pane.table.select_row(0)

    @Slot(str)
    def _on_selected(self, _: str) -> None:
        self._show_current()
        gateway = self._gateway
        if gateway is not None:
            self._do(self._read_history(gateway), "history of an automation")

    # Doing

    def _do(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        """Do it, show what was refused, and read anew."""
        self._around.spawn(self._done(work, name), name)

    async def _done(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        refusal = ""
        try:
            await work
        except GatewayError as error:
            refusal = error.message
        self._page.show_refusal(refusal)
        if name != "history of an automation":
            self._read()

    @Slot()
    def switch(self) -> None:
        gateway, current = self._gateway, self._current
        if gateway is not None and current is not None:
            self._do(gateway.switch(current.id, is_on=not current.enabled), "switch an automation")

    @Slot()
    def start(self) -> None:
        gateway, current = self._gateway, self._current
        if gateway is not None and current is not None:
            self._do(gateway.start_now(current.id), "start an automation")

    @Slot()
    def remove(self) -> None:
        current = self._current
        if current is None:
            return
        dialog = ConfirmDialog(
            self._around.theme,
            self.tr("Remove {0}?").format(words.title(current)),
            self.tr("Its history goes with it. What it started stays; an agent that still works for it is stopped."),
            self.tr("Remove it"),
            self.tr("Keep it"),
            self._around.window,
        )
        dialog.confirmed.connect(partial(self._on_removal_confirmed, current.id))
        dialog.open()

    def _on_removal_confirmed(self, automation_id: str) -> None:
        gateway = self._gateway
        if gateway is not None:
            self._do(gateway.remove(automation_id), "remove an automation")

    def _can_add(self) -> bool:
        return self._gateway is not None

    @Slot()
    def add(self) -> None:
        if self._can_add():
            self._around.spawn(self._open_dialog(None), "new automation")

    @Slot()
    def edit(self) -> None:
        current = self._current
        if current is not None and current.origin == "person":
            self._around.spawn(self._open_dialog(current), "edit an automation")

    async def _open_dialog(self, automation: Automation | None) -> None:
        gateway = self._around.gateway()
        if gateway is None or gateway.catalog is None:
            return
        try:
            found = [one for one in await gateway.catalog.repositories() if not one.broken]
        except GatewayError as error:
            self._page.show_refusal(error.message)
            return
        self._dialog = dialog = EditDialog(self._around.theme, found, self._around.window, automation)
        dialog.preview_wanted.connect(self._on_preview_wanted)
        dialog.ordered.connect(partial(self._on_ordered, automation))
        dialog.finished.connect(self._on_dialog_closed)
        dialog.open()

    @Slot()
    def _on_dialog_closed(self) -> None:
        self._dialog = None

    @Slot(object)
    def _on_preview_wanted(self, when: When) -> None:
        self._around.spawn(self._look(when), "next times of a schedule")

    async def _look(self, when: When) -> None:
        gateway = self._gateway
        if gateway is None:
            return
        try:
            preview = await gateway.preview(when)
        except GatewayError as error:
            if self._dialog is not None:
                self._dialog.show_refusal(error.message)
            return
        if self._dialog is not None:
            self._dialog.show_preview(when, preview)

    def _on_ordered(self, automation: Automation | None, asked: AutomationRequest) -> None:
        self._around.spawn(self._store(automation, asked), "store an automation")

    async def _store(self, automation: Automation | None, asked: AutomationRequest) -> None:
        gateway = self._gateway
        if gateway is None:
            return
        try:
            if automation is None:
                stored = await gateway.add(asked)
            else:
                stored = await gateway.edit(automation.id, asked)
        except GatewayError as error:
            if self._dialog is not None:
                self._dialog.show_refusal(error.message)
            return
        if self._dialog is not None:
            self._dialog.accept()
        self._wanted = stored.id
        self._read()

    @Slot(object)
    def _on_firing_opened(self, firing: Firing) -> None:
        if firing.is_run:
            self._around.go_to_run(firing.session_id)
        else:
            self._around.go_to_chat(firing.session_id)

    @Slot()
    def _on_empty_followed(self) -> None:
        """The list could not be read, or is empty."""
        if self._is_listed:
            self.add()
        else:
            self._pane.show_loading()
            self._read()

    @property
    def _gateway(self) -> AutomationGateway | None:
        gateway = self._around.gateway()
        return gateway.automations if gateway is not None else None

    @property
    def _current(self) -> Automation | None:
        row = self._pane.table.current_row
        return self._table.row(row) if row is not None else None
