"""Wires the window: gateway to state, state to models and panes, what the operator does back to the gateway.

Everything here runs on the window's loop. Batches of the runtime go one way: `Requests.apply`, then the model, then
the panes; selection and focus are only ever moved by the operator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

from PySide6.QtCore import QLocale, QObject, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication

from inbox_app.commands.base import TabName, ViewName
from inbox_app.commands.registry import CommandAction, build_actions
from inbox_app.commands.sending import Sender
from inbox_app.errors import sentence
from inbox_app.gateway.base import Batch, Gateway, GatewayError, Health, Pause, Run
from inbox_app.models.inbox_table import InboxTable
from inbox_app.models.wording import clock as time_of_day
from inbox_app.state.drafts import Draft, Drafts
from inbox_app.state.edits import Edit
from inbox_app.state.outbox import Outbox, SendState
from inbox_app.state.requests import Entry, Mark, Requests, Row
from inbox_app.theme.palettes import PaletteName
from inbox_app.theme.theme import Theme
from inbox_app.views.history import History
from inbox_app.views.keys import key_groups
from inbox_app.views.main_window import MainWindow
from inbox_app.views.undo_toast import UndoToast
from inbox_app.widgets.dialogs import ConfirmDialog, KeysDialog

Spawn = Callable[[Coroutine[Any, Any, None], str], object]

PAGE = 100
AGES_MS = 15_000

_MARKS: dict[SendState, Mark] = {
    "held": "held",
    "sending": "sending",
    "done": "answered",
    "failed": "failed",
    "refused": "",
}


class Desk(QObject):
    """What the commands act on (`commands.base.Desk`). Call `connect_to` when the window has been painted."""

    listed = Signal()
    """The waiting questions are on the screen for the first time."""

    def __init__(
        self,
        window: MainWindow,
        theme: Theme,
        spawn: Spawn,
        drafts: Drafts,
        outbox: Outbox,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._spawn = spawn
        self._drafts = drafts
        self._outbox = outbox
        self._clock = clock
        self._gateway: Gateway | None = None
        self._factory: Callable[[], Gateway] | None = None
        self._health: Health | None = None
        self._problem = ""
        self._read_at = 0.0
        self._requests = Requests(clock)
        self._reading: str | None = None
        self._run: Run | None = None
        self._details_due: set[str] = set()
        self._fetching = False
        self._stopping = False

        self._table = InboxTable(self, clock)
        self._table.more = self._has_more
        self._table.fetch = self._fetch_more
        self._window.inbox.table.setModel(self._table)
        self._history = History(window.history, self._current_gateway, spawn, clock=clock, parent=self)
        self._sender = Sender(outbox, drafts, self._gateway_of, spawn, clock=clock, parent=self)
        self._toast = UndoToast(window.toast, outbox, clock=clock, parent=self)
        self._actions = build_actions(self, self)
        self._leaving = QTimer(self)
        self._leaving.setSingleShot(True)
        self._left: set[str] = set()
        self._ages = QTimer(self)
        self._ages.setInterval(AGES_MS)
        self._ages.start()
        self._connect()
        window.build_menus(self._actions)
        self._show_all()
        self._show_no_pause()
        window.inbox.setFocus()

    # -- what commands ask ------------------------------------------------------------------------------------------

    @property
    def view(self) -> ViewName:
        return self._window.view

    @property
    def pause(self) -> Pause | None:
        return self._window.reading.pause

    @property
    def run_id(self) -> str | None:
        return self._window.reading.run_id

    @property
    def run_is_open(self) -> bool:
        if self.pause is not None:
            return True
        return self._run is not None and self._run.id == self.run_id and not self._run.finished

    @property
    def new_count(self) -> int:
        return self._requests.new_count

    @property
    def can_send(self) -> bool:
        return self._window.reading.can_send

    @property
    def can_undo(self) -> bool:
        return self._window.reading.can_undo or self._outbox.last_held() is not None

    def move(self, step: int) -> None:
        self._window.list_pane.table.move_current(step)

    @Slot()
    def open_selected(self) -> None:
        if self._window.list_pane.current_id is not None:
            self._window.show_page(card=True)
            self._window.reading.focus_home()

    @Slot()
    def leave(self) -> None:
        if self._window.reading.leave():
            return
        self._window.show_page(card=False)
        self._window.list_pane.table.setFocus()

    @Slot(str)
    def show_view(self, view: ViewName) -> None:
        if view != self._window.view:
            self._window.show_view(view)
            self._show_current()
        if view == "history":
            self._history.load()

    @Slot()
    def show_new(self) -> None:
        """List what is new and bring the first of it into sight; what is selected stays selected."""
        held = set(self._requests.held_ids)
        self._apply(self._requests.show_new())
        first = next((at for at, row in enumerate(self._table.rows) if isinstance(row, Entry) and row.id in held), None)
        if first is not None:
            self._window.inbox.table.scrollTo(self._table.index(first, 0))

    def show_tab(self, tab: TabName) -> None:
        self._window.reading.show_tab(tab)

    def pick(self, number: int) -> None:
        self._window.reading.pick(number)

    def pick_word(self, yes: bool) -> None:
        self._window.reading.pick_word(yes)

    def send(self) -> None:
        self._window.reading.send()

    @Slot()
    def undo(self) -> None:
        """What is shown, or else the answer that was held last."""
        if self._window.reading.can_undo:
            self._window.reading.undo()
        else:
            self._sender.undo("")

    def edit(self) -> None:
        self._window.reading.edit()

    def write_note(self) -> None:
        self._window.reading.write_note()

    def cancel_run(self) -> None:
        run_id = self.run_id
        if run_id is None:
            return
        dialog = ConfirmDialog(
            self._theme,
            self.tr("Cancel this run?"),
            self.tr("{0} ends as cancelled. Calls that have run are not undone. The question is withdrawn.").format(
                run_id
            ),
            self.tr("Cancel the run"),
            self.tr("Keep it"),
            self._window,
        )
        dialog.setProperty("run", run_id)
        dialog.confirmed.connect(self._on_cancel_confirmed)
        dialog.open()

    def copy_run_id(self) -> None:
        if self.run_id is not None:
            QGuiApplication.clipboard().setText(self.run_id)

    def show_theme(self, name: Literal["light", "dark", "contrast"]) -> None:
        chosen: PaletteName = name
        self._theme.set_palette(chosen)

    def show_keys(self) -> None:
        KeysDialog(self._theme, self.tr("Keys"), key_groups(), self._window).open()

    def quit(self) -> None:
        self._window.close()

    # -- connection -------------------------------------------------------------------------------------------------

    def connect_to(self, factory: Callable[[], Gateway]) -> None:
        """Build the gateway, open it and follow it. A failure is shown with a way to try again."""
        self._factory = factory
        self._spawn(self._serve(factory), "connection")

    async def close(self) -> None:
        """Give up held answers to drafts, then let the gateway go. Parked runs stay parked."""
        self._stopping = True
        self._ages.stop()
        self._sender.close()
        if self._gateway is not None:
            await self._gateway.close()

    def report(self, error: BaseException) -> None:
        """The one place for errors nobody else showed."""
        self._window.show_notice(self.tr("Something failed."), sentence(error))

    async def _serve(self, factory: Callable[[], Gateway]) -> None:
        self._problem, self._health = "", None
        self._show_all()
        try:
            if self._gateway is not None:
                await self._gateway.close()
            self._gateway = gateway = factory()
            await gateway.open()
            async for batch in gateway.watch():
                self._health = "live"
                self._take(batch)
            self._problem = self.tr("The runtime has stopped.")
        except GatewayError as error:
            self._problem = error.message
        except Exception as error:
            self._problem = sentence(error)
            raise
        finally:
            self._health = "unreachable"
            if not self._stopping:
                self._show_all()

    def _take(self, batch: Batch) -> None:
        first = not self._requests.loaded
        self._read_at = self._clock()
        self._apply(self._requests.apply(batch, reading=self._reading))
        if batch.reset:
            self._mark_all(batch.opened)
        for pause in batch.opened:
            if pause.id == self._reading:
                self._window.reading.update_pause(pause)
        if self._reading in batch.closed:
            self._details_due.add(self._run_of(self._reading))
        for run_id, calls in batch.calls.items():
            self._window.reading.apply_calls(run_id, calls)
        for run in batch.runs:
            self._details_due.add(run.id)
            self._history.add(run)
        self._load_details()
        if first:
            self._start_reading()

    def _start_reading(self) -> None:
        """The first load: nobody reads anything yet, so the first question may be shown."""
        if self._window.view == "inbox" and self._window.inbox.current_id is None:
            self._window.inbox.table.move_current(1)
        self.listed.emit()

    # -- reading pane -----------------------------------------------------------------------------------------------

    @Slot(str)
    def _on_inbox_selected(self, pause_id: str) -> None:
        if self._window.view == "inbox":
            self._show_pause(pause_id)

    @Slot(str)
    def _on_run_selected(self, run_id: str) -> None:
        if self._window.view == "history":
            self._show_run(run_id)

    def _show_current(self) -> None:
        current = self._window.list_pane.current_id
        if self._window.view == "inbox":
            if current is None or self._requests.get(current) is None:
                self._show_no_pause()
            else:
                self._show_pause(current)
        elif current is None:
            self._stop_reading()
            self._window.reading.show_nothing(self.tr("No run is selected"), self.tr("J and K move through the list."))
        else:
            self._show_run(current)

    def _show_pause(self, pause_id: str) -> None:
        entry = self._requests.get(pause_id)
        if entry is None or pause_id == self._reading:
            return
        self._stop_reading()
        self._reading = pause_id
        self._apply(self._requests.set_new(pause_id, new=False))
        self._window.reading.show_pause(entry.pause, self._drafts.get(pause_id))
        self._window.reading.set_outbox_state(self._outbox.get(pause_id))
        self._follow(entry.pause.run_id)
        self._show_place()
        self._toast.look_at(pause_id)

    def _show_run(self, run_id: str) -> None:
        self._stop_reading()
        self._follow(run_id)
        self._show_place()

    def _show_no_pause(self) -> None:
        self._stop_reading()
        if self._requests.listed:
            text, more = self.tr("No question is selected"), self.tr("J and K move through the list.")
        else:
            text, more = self.tr("Nothing to answer"), self.tr("Runs that have ended are in the history.")
        self._window.reading.show_nothing(text, more)

    def _stop_reading(self) -> None:
        """What was read may leave the list now, but not while the view is telling us about its new row."""
        if self._reading is not None:
            self._left.add(self._reading)
            self._leaving.start(0)
        self._reading = None
        self._toast.look_at(None)

    @Slot()
    def _on_left(self) -> None:
        for pause_id in self._left - {self._reading or ""}:
            self._apply(self._requests.leave(pause_id))
        self._left.clear()

    def _follow(self, run_id: str) -> None:
        self._run = None
        if self._gateway is not None:
            self._gateway.follow(run_id)
            self._details_due.add(run_id)
            self._load_details()

    def _load_details(self) -> None:
        wanted = self._wanted_run()
        if wanted in self._details_due:
            self._spawn(self._load_detail(wanted), f"read {wanted}")
        self._details_due.clear()

    def _wanted_run(self) -> str:
        """The run behind what is selected."""
        if self._window.view == "history":
            return self._window.history.current_id or ""
        return self._run_of(self._reading)

    def _run_of(self, pause_id: str | None) -> str:
        entry = self._requests.get(pause_id) if pause_id else None
        return entry.pause.run_id if entry else ""

    async def _load_detail(self, run_id: str) -> None:
        if self._gateway is None:
            return
        try:
            detail = await self._gateway.run(run_id)
        except GatewayError as error:
            if run_id == self._wanted_run() and self._window.view == "history":
                self._window.reading.show_nothing(self.tr("This run could not be read"), error.message)
            return
        if run_id != self._wanted_run():
            return
        self._run = detail.run
        reading = self._window.reading
        if self._window.view == "history":
            if reading.run_id == run_id and reading.pause is None:
                reading.set_detail(detail)
            else:
                reading.show_run(detail)
            return
        reading.set_detail(detail)
        entry = self._requests.get(self._reading or "")
        if entry is not None and entry.gone and self._outbox.get(entry.id) is None:
            found = [item for item in detail.decisions if item.pause_id == entry.id]
            reading.close_pause(found[0] if found else None)

    @Slot(str)
    def _on_go_to_pause(self, pause_id: str) -> None:
        if self._window.view != "inbox":
            self._window.show_view("inbox")
        self._apply(self._requests.show_one(pause_id))
        row = self._table.find(pause_id)
        if row is not None:
            self._window.inbox.table.select_row(row)
            self._show_pause(pause_id)

    # -- drafts and answers -----------------------------------------------------------------------------------------

    @Slot(object)
    def _on_draft_changed(self, draft: Draft) -> None:
        self._drafts.put(draft)
        self._apply(self._requests.mark(draft.pause_id, *self._mark_of(draft.pause_id)))

    @Slot(str)
    def _on_sending_changed(self, pause_id: str) -> None:
        self._apply(self._requests.mark(pause_id, *self._mark_of(pause_id)))
        if pause_id == self._reading:
            self._window.reading.set_outbox_state(self._outbox.get(pause_id))
        self._toast.refresh()
        self._refresh_actions()

    def _mark_of(self, pause_id: str) -> tuple[Mark, float | None]:
        sending = self._outbox.get(pause_id)
        mark: Mark = _MARKS[sending.state] if sending else ""
        if mark:
            return mark, sending.leaves_at if sending else None
        return ("draft" if self._drafts.get(pause_id) else ""), None

    def _mark_all(self, pauses: Sequence[Pause]) -> None:
        for pause in pauses:
            mark, until = self._mark_of(pause.id)
            if mark:
                self._apply(self._requests.mark(pause.id, mark, until))

    @Slot()
    def _on_cancel_confirmed(self) -> None:
        run_id = self.sender().property("run")
        self._spawn(self._cancel(run_id), f"cancel {run_id}")

    async def _cancel(self, run_id: str) -> None:
        if self._gateway is None:
            return
        try:
            await self._gateway.cancel(run_id)
        except GatewayError as error:
            self._window.show_notice(self.tr("The run was not cancelled."), error.message)

    def _current_gateway(self) -> Gateway | None:
        return self._gateway

    def _gateway_of(self, connection: str) -> Gateway:
        if self._gateway is None:
            raise GatewayError("CONNECTION_FAILED", self.tr("{0} is not connected.").format(connection))
        return self._gateway

    # -- list -------------------------------------------------------------------------------------------------------

    def _apply(self, edits: Sequence[Edit[Row]]) -> None:
        if edits:
            reset = self._window.inbox.current_id
            self._table.apply(edits)
            if reset is not None and self._window.inbox.current_id != reset:
                self._select_again(reset)
        self._show_all()

    def _select_again(self, pause_id: str) -> None:
        """A row that was taken out and put back, or a new start: the same question stays selected."""
        row = self._table.find(pause_id)
        if row is not None:
            self._window.inbox.table.select_row(row)
        elif self._reading == pause_id and self._window.view == "inbox":
            self._window.reading.close_pause(None)
            self._reading = None

    def _has_more(self) -> bool:
        return self._requests.next_cursor is not None and not self._fetching

    @Slot()
    def _fetch_more(self) -> None:
        if self._has_more():
            self._fetching = True
            self._spawn(self._fetch(), "next page")

    async def _fetch(self) -> None:
        try:
            if self._gateway is not None:
                self._apply(self._requests.append(await self._gateway.pending(PAGE, self._requests.next_cursor)))
        except GatewayError as error:
            self._window.show_notice(self.tr("More questions could not be read."), error.message)
        finally:
            self._fetching = False

    @Slot()
    def _on_ages_due(self) -> None:
        self._window.list_pane.table.viewport().update()

    @property
    def _waiting(self) -> int | None:
        """How many wait: counted when every page is here, else as the runtime says."""
        if not self._requests.loaded:
            return None
        if self._requests.next_cursor is None:
            return self._requests.listed + self._requests.new_count
        return self._requests.total

    def _show_all(self) -> None:
        """Counts, health and empty states, from what is known now."""
        requests, inbox = self._requests, self._window.inbox
        name = self._gateway.connection if self._gateway else self.tr("Built-in")
        inbox.show_waiting(self._waiting, requests.listed, requests.new_count, filled=bool(requests.rows))
        if self._problem:
            inbox.empty.show_text(
                "triangle-alert",
                self.tr("{0} is not available").format(name),
                self._problem,
                self.tr("Try again"),
                "failed",
            )
        elif requests.loaded:
            inbox.empty.show_text(
                "inbox",
                self.tr("Nothing is waiting"),
                self.tr("{0} was last heard at {1}. A question is listed here as soon as a run asks it.").format(
                    name, time_of_day(self._read_at)
                ),
            )
        else:
            inbox.empty.show_text("inbox", self.tr("Opening {0}").format(name), "")
        self._window.sidebar.show_waiting(self._waiting)
        self._window.show_health(name, self._health, self._health_line(), self._waiting)
        self._show_place()
        self._refresh_actions()

    def _health_line(self) -> str:
        if self._problem:
            return self.tr("unreachable")
        return self.tr("live · this computer") if self._health == "live" else self.tr("opening")

    def _show_place(self) -> None:
        locale = QLocale()
        new = self._requests.new_count
        if self._window.view == "history":
            self._window.page_bar.show_place(self.tr("History"), "", "")
            return
        ids = [row.id for row in self._table.rows if isinstance(row, Entry)]
        place = ""
        if self._reading in ids and self._waiting is not None:
            number = ids.index(self._reading) + 1
            place = self.tr("{0} of {1} waiting").format(locale.toString(number), locale.toString(self._waiting))
        self._window.page_bar.show_place(self.tr("Inbox"), place, self.tr("{0} new").format(new) if new else "")

    @Slot()
    def _refresh_actions(self) -> None:
        for action in self._actions:
            action.refresh()

    @Slot()
    def _on_empty_followed(self) -> None:
        if self._problem and self._factory is not None:
            self._window.inbox.setFocus()
            self.connect_to(self._factory)

    @property
    def actions(self) -> Sequence[CommandAction]:
        return self._actions

    def _connect(self) -> None:
        window, reading = self._window, self._window.reading
        window.sidebar.chosen.connect(self.show_view)
        window.escaped.connect(self.leave)
        window.menu_opened.connect(self._refresh_actions)
        window.notice.acted.connect(window.hide_notice)
        window.page_bar.back.clicked.connect(self.leave)
        window.page_bar.new.clicked.connect(self.show_new)
        window.inbox.selected.connect(self._on_inbox_selected)
        window.inbox.opened.connect(self.open_selected)
        window.inbox.new_wanted.connect(self.show_new)
        window.inbox.more_wanted.connect(self._fetch_more)
        window.inbox.empty.followed.connect(self._on_empty_followed)
        window.history.selected.connect(self._on_run_selected)
        window.history.opened.connect(self.open_selected)
        window.toast.undone.connect(self.undo)
        reading.answer_requested.connect(self._sender.hold)
        reading.undo_requested.connect(self._sender.undo)
        reading.retry_requested.connect(self._sender.retry)
        reading.draft_changed.connect(self._on_draft_changed)
        reading.go_to_pause.connect(self._on_go_to_pause)
        reading.state_changed.connect(self._refresh_actions)
        self._sender.changed.connect(self._on_sending_changed)
        self._leaving.timeout.connect(self._on_left)
        self._ages.timeout.connect(self._on_ages_due)
