"""Drives the list of ended runs: reads it when it is first looked at, then keeps it up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, Slot

from inbox_app.gateway.base import Gateway, GatewayError, Run
from inbox_app.models.run_table import RunTable
from inbox_app.views.history_pane import HistoryPane

PAGE = 100


class History(QObject):
    def __init__(
        self,
        pane: HistoryPane,
        gateway: Callable[[], Gateway | None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        *,
        clock: Callable[[], float] = time.time,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._pane = pane
        self._gateway = gateway
        self._spawn = spawn
        self._loaded = False
        self._reading = False
        self._cursor: str | None = None
        self._total = 0
        self._table = RunTable(self, clock)
        self._table.more = self._has_more
        self._table.fetch = self.fetch
        pane.table.setModel(self._table)
        pane.more_wanted.connect(self.fetch)
        pane.empty.followed.connect(self.load)

    @property
    def has_rows(self) -> bool:
        return bool(self._table.rows)

    @Slot()
    def load(self) -> None:
        """Read the first page, once."""
        if not self._loaded and not self._reading:
            self._pane.show_loading()
            self._start()

    @Slot()
    def fetch(self) -> None:
        if self._has_more():
            self._start()

    def forget(self) -> None:
        """The runtime started anew: read again when looked at."""
        self._loaded = False
        self._cursor = None

    def add(self, run: Run) -> None:
        """A run changed its status."""
        if not self._loaded or not run.finished:
            return
        if self._table.find(run.id) is None:
            self._total += 1
        self._table.put([run])
        self._show()

    def _has_more(self) -> bool:
        return self._loaded and self._cursor is not None and not self._reading

    def _start(self) -> None:
        self._reading = True
        self._spawn(self._read(), "history")

    async def _read(self) -> None:
        try:
            gateway = self._gateway()
            if gateway is None:  # the first batch asks again
                return
            page = await gateway.runs(finished=True, limit=PAGE, cursor=self._cursor if self._loaded else None)
        except GatewayError as error:
            self._pane.show_problem(error.message)
            return
        finally:
            self._reading = False
        self._loaded = True
        self._cursor = page.next_cursor
        self._total = page.total
        self._table.put(page.items)
        self._show()

    def _show(self) -> None:
        self._pane.show_runs(self._total, self._table.rowCount())
