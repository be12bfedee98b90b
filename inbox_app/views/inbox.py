"""Drives the list of waiting questions: batches into rows, pages on demand, counts that equal what can be listed."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence, Set
from typing import Any

from PySide6.QtCore import QLocale, QObject, QTimer, Signal, Slot

from inbox_app.gateway.base import Batch, Gateway, GatewayError
from inbox_app.models.inbox_table import InboxTable
from inbox_app.state.edits import Edit
from inbox_app.state.memory import Memory
from inbox_app.state.requests import Entry, Mark, Requests, Row
from inbox_app.views.inbox_pane import InboxPane

PAGE = 100


class Inbox(QObject):
    """``changed``: rows or counts are different. ``lost``: a new start took the question that was selected."""

    changed = Signal()
    lost = Signal(str)
    failed = Signal(str)
    """A page could not be read; the sentence says why."""

    def __init__(
        self,
        pane: InboxPane,
        gateway: Callable[[], Gateway | None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        memory: Memory,
        *,
        clock: Callable[[], float] = time.time,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._pane = pane
        self._gateway = gateway
        self._spawn = spawn
        self._requests = Requests(clock, memory.is_read)
        self._memory = memory
        self._fetching = False
        self._left: set[str] = set()
        self._leaving = QTimer(self)
        self._leaving.setSingleShot(True)
        self._leaving.timeout.connect(self._on_left)
        self._table = InboxTable(self, clock)
        self._table.more = self._has_more
        self._table.fetch = self.fetch
        pane.table.setModel(self._table)
        pane.new_wanted.connect(self.show_new)
        pane.more_wanted.connect(self.fetch)

    @property
    def loaded(self) -> bool:
        return self._requests.loaded

    @property
    def has_rows(self) -> bool:
        return bool(self._requests.rows)

    @property
    def new_count(self) -> int:
        return self._requests.new_count

    @property
    def waiting(self) -> int | None:
        """How many wait: counted when every page is here, else as the runtime says; None while unknown."""
        if not self._requests.loaded:
            return None
        if self._requests.next_cursor is None:
            return self._requests.listed + self._requests.new_count
        return self._requests.total

    @property
    def asking_runs(self) -> Set[str]:
        return self._requests.asking_runs

    def next_deadline(self, now: float) -> float | None:
        return self._requests.next_deadline(now)

    def get(self, pause_id: str | None) -> Entry | None:
        return self._requests.get(pause_id) if pause_id else None

    def questions(self, run_id: str) -> list[Entry]:
        """The open questions of a run."""
        return self._requests.of_run(run_id)

    def place(self, pause_id: str | None) -> str:
        """Where a question is in the list, in words; empty if it is not in it."""
        number = self._requests.number_of(pause_id) if pause_id else None
        if number is None or self.waiting is None:
            return ""
        locale, entry = QLocale(), self.get(pause_id)
        if entry is not None and entry.gone:
            answered = entry.outcome == "answered" or entry.mark == "answered"
            words = self.tr("answered, {0} waiting") if answered else self.tr("no longer open, {0} waiting")
            return words.format(locale.toString(self.waiting))
        return self.tr("{0} of {1} waiting").format(locale.toString(number), locale.toString(self.waiting))

    def take(self, batch: Batch, reading: str | None) -> None:
        if batch.reset and batch.next_cursor is None:
            self._memory.keep_only({pause.id for pause in batch.opened})
        for pause_id in batch.closed:
            self._memory.forget(pause_id)
        self._apply(self._requests.apply(batch, reading=reading))

    def set_read(self, pause_id: str) -> None:
        self._memory.set_read(pause_id)
        self._apply(self._requests.set_new(pause_id, new=False))

    def mark(self, pause_id: str, mark: Mark, until: float | None = None) -> None:
        self._apply(self._requests.mark(pause_id, mark, until))

    @Slot()
    def show_new(self) -> None:
        """List what is new and bring the first of it into sight; what is selected stays selected."""
        held = set(self._requests.held_ids)
        self._apply(self._requests.show_new())
        for at, row in enumerate(self._table.rows):
            if isinstance(row, Entry) and row.id in held:
                self._pane.table.scrollTo(self._table.index(at, 0))
                return

    def list_due(self) -> None:
        """What is due soon does not wait to be asked for."""
        self._apply(self._requests.list_due())

    def select(self, pause_id: str) -> bool:
        """Make one question current, listing it if it was held back; whether it is known at all."""
        self._apply(self._requests.show_one(pause_id))
        row = self._table.find(pause_id)
        if row is None:
            return False
        self._pane.table.select_row(row)
        return True

    def leave(self, pause_id: str) -> None:
        """What is no longer read may go, but not while the view is still telling about its new row."""
        self._left.add(pause_id)
        self._leaving.start(0)

    @Slot()
    def fetch(self) -> None:
        if self._has_more():
            self._fetching = True
            self._spawn(self._fetch(), "next page")

    def show_counts(self) -> None:
        requests = self._requests
        self._pane.show_waiting(self.waiting, requests.listed, requests.new_count, filled=self.has_rows)

    @Slot()
    def _on_left(self) -> None:
        left, self._left = self._left, set()
        for pause_id in left - {self._pane.current_id or ""}:
            self._apply(self._requests.leave(pause_id))

    def _has_more(self) -> bool:
        return self._requests.next_cursor is not None and not self._fetching

    async def _fetch(self) -> None:
        gateway = self._gateway()
        try:
            if gateway is not None:
                self._apply(self._requests.append(await gateway.pending(PAGE, self._requests.next_cursor)))
        except GatewayError as error:
            self.failed.emit(error.message)
        finally:
            self._fetching = False

    def _apply(self, edits: Sequence[Edit[Row]]) -> None:
        before = self._pane.current_id
        self._table.apply(edits)
        if before is not None and self._pane.current_id != before:
            self._select_again(before)
        self.changed.emit()

    def _select_again(self, pause_id: str) -> None:
        """A row that was taken out and put back, or a new start: the same question stays selected."""
        row = self._table.find(pause_id)
        if row is not None:
            self._pane.table.select_row(row)
        else:
            self.lost.emit(pause_id)
