"""Drives the list of runs that go on or have ended: reads it when the runtime is there, then keeps it up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence, Set
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from inbox_app.gateway.base import Gateway, GatewayError, Run
from inbox_app.models.run_table import RunTable
from inbox_app.views.history_pane import HistoryPane

PAGE = 100
GOING_PAGES = 20
"""Most runs that have not ended wait for an answer; so many pages are looked through for those that do not."""


class History(QObject):
    changed = Signal()

    def __init__(
        self,
        pane: HistoryPane,
        gateway: Callable[[], Gateway | None],
        asking: Callable[[], Set[str]],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        *,
        clock: Callable[[], float] = time.time,
        parent: QObject,
    ) -> None:
        """``asking`` says which runs have a question in the inbox."""
        super().__init__(parent)
        self._pane = pane
        self._gateway = gateway
        self._asking = asking
        self._spawn = spawn
        self._loaded = False
        self._reading = False
        self._meanwhile: list[Run] = []
        self._cursor: str | None = None
        self._wanted = ""
        self._total = 0
        self._table = RunTable(self, clock)
        self._table.more = self._has_more
        self._table.fetch = self.fetch
        self._leaving = QTimer(self)
        self._leaving.setSingleShot(True)
        self._leaving.timeout.connect(self._on_left)
        pane.table.setModel(self._table)
        pane.selected.connect(self._on_selected)
        pane.more_wanted.connect(self.fetch)
        pane.empty.followed.connect(self.load)

    @property
    def has_rows(self) -> bool:
        return bool(self._table.rows)

    @property
    def stopped(self) -> int:
        """How many listed runs wait for somebody to choose a way on."""
        return self._table.stopped

    @Slot()
    def load(self) -> None:
        """Read the first page, once."""
        if not self._loaded and not self._reading:
            self._pane.show_loading()
            self._start()

    def show_run(self, run_id: str) -> None:
        """Select a run, now or as soon as it is listed."""
        self._wanted = run_id
        self._select_wanted()

    @Slot()
    def fetch(self) -> None:
        if self._has_more():
            self._start()

    def forget(self) -> None:
        """The runtime started anew: `load` reads again."""
        self._loaded = False
        self._cursor = None

    def take(self, runs: Sequence[Run]) -> None:
        """Runs that changed their status; a question may have come or gone as well."""
        if self._reading:
            self._meanwhile += runs
        if not self._loaded:
            return
        for run in runs:
            known = self._table.get(run.id)
            self._total += run.finished and (known is None or not known.finished)
        self._put(runs)

    def _has_more(self) -> bool:
        return self._loaded and self._cursor is not None and not self._reading

    def _start(self) -> None:
        self._reading = True
        self._meanwhile = []
        self._spawn(self._read(), "history")

    async def _read(self) -> None:
        try:
            gateway = self._gateway()
            if gateway is None:  # the first batch asks again
                return
            going = [] if self._loaded else await _going(gateway)
            page = await gateway.runs(finished=True, limit=PAGE, cursor=self._cursor if self._loaded else None)
        except GatewayError as error:
            self._pane.show_problem(error.message)
            return
        finally:
            self._reading = False
        if not self._loaded:
            self._table.forget()
        self._loaded = True
        self._cursor = page.next_cursor
        self._total = page.total
        self._put([*going, *page.items, *self._meanwhile])

    def _put(self, runs: Sequence[Run]) -> None:
        self._table.put(runs, self._asking(), self._pane.current_id)
        self._pane.show_runs(self._table.count(ended=False), self._total, self._table.count(ended=True))
        self._select_wanted()
        self.changed.emit()

    def _select_wanted(self) -> None:
        row = self._table.find(self._wanted) if self._wanted else None
        if row is not None:
            self._wanted = ""
            self._pane.table.select_row(row)

    @Slot()
    def _on_selected(self) -> None:
        """What was read before may go where it belongs, but not while the view still tells about its new row."""
        self._wanted = ""
        self._leaving.start(0)

    @Slot()
    def _on_left(self) -> None:
        if self._loaded:
            self._put(())


async def _going(gateway: Gateway) -> list[Run]:
    found: list[Run] = []
    cursor: str | None = None
    for _ in range(GOING_PAGES):
        page = await gateway.runs(finished=False, limit=PAGE, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    return found
