"""Automations as a section of the window: lists them, shows one with its history, makes, switches and starts them."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QTimer, Slot

from inbox_app.automations import words
from inbox_app.automations.edit_dialog import EditDialog
from inbox_app.automations.page import AutomationPage
from inbox_app.automations.pane import AutomationsPane
from inbox_app.automations.tables import AutomationTable
from inbox_app.commands.automating import (
    remove_automation,
    start_automation,
    store_automation,
    switch_automation,
)
from inbox_app.gateway.automations import Automation, AutomationRequest, Firing, When
from inbox_app.gateway.base import Batch, GatewayError
from inbox_app.list_section import ListSection
from inbox_app.models.agent_names import names_in
from inbox_app.section import Surroundings, Verb
from inbox_app.widgets.dialogs import ConfirmDialog

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from inbox_app.gateway.automations import AutomationGateway

TICK_MS = 10_000
"""How often the times until the next starts are told anew, while the section is shown."""


class AutomationsSection(ListSection[AutomationsPane, AutomationPage, AutomationTable]):
    def __init__(self, around: Surroundings) -> None:
        pane = AutomationsPane(around.theme)
        page = AutomationPage(around.theme, around.clock)
        super().__init__(around, "automations", pane, page, AutomationTable(pane, around.clock))
        self._is_listed = False
        self._watched: AutomationGateway | None = None
        self._dialog: EditDialog | None = None
        self._opens_dialog = False
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
        super().shown()

    def take(self, batch: Batch) -> None:
        if self._is_visible and (batch.reset or batch.runs):
            self._read()

    def enter(self) -> None:
        self._page.enter()

    def close(self) -> None:
        self._ticking.stop()

    # Reading

    @Slot()
    def _on_tick(self) -> None:
        if not self._is_visible:
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
                    if self._is_visible:
                        self._read()
        except GatewayError:
            pass  # the runtime is gone, and says so elsewhere
        finally:
            self._watched = None

    async def _read_all(self) -> None:
        gateway = self._gateway
        if gateway is None:
            return
        try:
            self._show_listed(await gateway.automations())
            await self._read_names()
            await self._read_history(gateway)
        except GatewayError as error:
            if not self._table.rows:
                raise
            self._page.show_refusal(error.message)

    async def _read_names(self) -> None:
        gateway = self._around.gateway()
        if gateway is not None and gateway.catalog is not None:
            self._table.show_names(names_in(await gateway.catalog.repositories()))

    def _show_listed(self, found: Sequence[Automation]) -> None:
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

    @Slot(str)
    def _on_selected(self, _: str) -> None:
        self._show_current()
        self._page.show_refusal("")
        gateway = self._gateway
        if gateway is not None:
            self._around.spawn(self._show_history(gateway), "history of an automation")

    async def _show_history(self, gateway: AutomationGateway) -> None:
        try:
            await self._read_history(gateway)
        except GatewayError as error:
            self._page.show_refusal(error.message)

    # Doing

    def _do(self, order: Coroutine[Any, Any, str], name: str) -> None:
        """Do it, show what was refused, and read anew."""
        self._around.spawn(self._done(order), name)

    async def _done(self, order: Coroutine[Any, Any, str]) -> None:
        self._page.show_refusal(await order)
        self._read()

    @Slot()
    def switch(self) -> None:
        gateway, current = self._gateway, self._current
        if gateway is not None and current is not None:
            self._do(switch_automation(gateway, current.id, is_on=not current.enabled), "switch an automation")

    @Slot()
    def start(self) -> None:
        gateway, current = self._gateway, self._current
        if gateway is not None and current is not None:
            self._do(start_automation(gateway, current.id), "start an automation")

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
            self._do(remove_automation(gateway, automation_id), "remove an automation")

    def _can_add(self) -> bool:
        return self._gateway is not None

    @Slot()
    def add(self) -> None:
        if self._can_add():
            self._ask(None, "new automation")

    @Slot()
    def edit(self) -> None:
        current = self._current
        if current is not None and current.origin == "person":
            self._ask(current, "edit an automation")

    def _ask(self, automation: Automation | None, name: str) -> None:
        """Open the dialog, unless it is open or about to be."""
        if self._dialog is None and not self._opens_dialog:
            self._opens_dialog = True
            self._around.spawn(self._open_dialog(automation), name)

    async def _open_dialog(self, automation: Automation | None) -> None:
        try:
            gateway = self._around.gateway()
            if gateway is None or gateway.catalog is None:
                return
            found = [one for one in await gateway.catalog.repositories() if not one.broken]
        except GatewayError as error:
            self._page.show_refusal(error.message)
            return
        finally:
            self._opens_dialog = False
        self._dialog = dialog = EditDialog(self._around.theme, found, self._around.window, automation)
        dialog.preview_wanted.connect(self._on_preview_wanted)
        dialog.ordered.connect(partial(self._on_ordered, automation.id if automation is not None else None))
        dialog.finished.connect(self._on_dialog_closed)
        dialog.open()

    @Slot()
    def _on_dialog_closed(self) -> None:
        self._dialog = None

    @Slot(object)
    def _on_preview_wanted(self, when: When) -> None:
        gateway, dialog = self._gateway, self._dialog
        if gateway is not None and dialog is not None:
            self._around.spawn(self._look(gateway, dialog, when), "next times of a schedule")

    async def _look(self, gateway: AutomationGateway, dialog: EditDialog, when: When) -> None:
        try:
            preview = await gateway.preview(when)
        except GatewayError as error:
            if self._dialog is dialog:
                dialog.show_refusal(error.message)
            return
        if self._dialog is dialog:
            dialog.show_preview(when, preview)

    def _on_ordered(self, automation_id: str | None, asked: AutomationRequest) -> None:
        gateway, dialog = self._gateway, self._dialog
        if gateway is not None and dialog is not None:
            self._around.spawn(self._store(gateway, dialog, automation_id, asked), "store an automation")

    async def _store(
        self, gateway: AutomationGateway, dialog: EditDialog, automation_id: str | None, asked: AutomationRequest
    ) -> None:
        """The dialog may be closed, and another one open, by the time it is stored."""
        stored = await store_automation(gateway, automation_id, asked)
        if isinstance(stored, GatewayError):
            if self._dialog is dialog:
                dialog.show_refusal(stored.message)
            else:
                self._page.show_refusal(stored.message)
            return
        if self._dialog is dialog:
            dialog.accept()
        self.open(stored.id)
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
