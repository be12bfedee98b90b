"""What sections with one list and one page have in common: how the list is read, and which row of it is chosen."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from inbox_app.gateway.base import Batch, GatewayError
from inbox_app.models.row_table import RowTable
from inbox_app.section import Surroundings
from inbox_app.widgets.section_pane import SectionPane

PaneT = TypeVar("PaneT", bound=SectionPane)
PageT = TypeVar("PageT", bound=QWidget)
TableT = TypeVar("TableT", bound=RowTable[Any])


class ListSection(QObject, Generic[PaneT, PageT, TableT]):
    """Implements `Section` but for `verbs` and `enter`. ``what`` is in the list, as logs name it."""

    def __init__(self, around: Surroundings, what: str, pane: PaneT, page: PageT, table: TableT) -> None:
        super().__init__(around.window)
        self._around = around
        self._what = what
        self._pane = pane
        self._page = page
        self._table = table
        self._wanted = ""
        self._reading = False
        self._again = False
        pane.table.setModel(table)

    @property
    def list_pane(self) -> PaneT:
        return self._pane

    @property
    def page(self) -> PageT:
        return self._page

    @property
    def answering(self) -> None:
        return None

    def shown(self) -> None:
        self._read()

    def take(self, batch: Batch) -> None:
        if batch.reset and self._is_visible:
            self._read()

    def leave(self) -> bool:
        return False

    def open(self, name: str) -> None:
        self._wanted = name
        self._select()

    @property
    def _is_visible(self) -> bool:
        return self._pane.isVisible() or self._page.isVisible()

    async def _read_all(self) -> None:
        """Read what is listed, and show it. Raises `GatewayError`."""
        raise NotImplementedError

    @Slot()
    def _read(self) -> None:
        """Read the list; once more if it is being read already, since that may have begun too early."""
        self._again = True
        if not self._reading:
            self._reading = True
            self._around.spawn(self._reads(), self._what)

    async def _reads(self) -> None:
        try:
            while self._again:
                self._again = False
                await self._read_all()
        except GatewayError as error:
            if not self._table.rows:
                self._pane.show_problem(error.message)
        finally:
            self._reading = False

    def _select(self) -> None:
        """Choose the row that was asked for if it is listed, or else the first if there is no choice yet."""
        row = self._table.find(self._wanted) if self._wanted else None
        if row is not None:
            self._wanted = ""
        elif self._pane.current_id is None:
            row = next((at for at in range(len(self._table.rows)) if not self._table.is_head(at)), None)
        if row is not None:
            self._pane.table.select_row(row)
