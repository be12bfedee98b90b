"""Rows of which at most one is checked. Arrow keys move between them without checking any."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_1
from inbox_app.widgets.option_row import OptionRow


class OptionList(QWidget):
    """``picked`` carries the row's number, counting from 0, when the operator or `pick` checks one.

    The list is one stop for the Tab key: the checked row, else the one that had the focus last.
    """

    picked = Signal(int)

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[OptionRow] = []
        self._picked: int | None = None
        self.setAccessibleName(name)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(theme.px(SPACE_1))

    def set_rows(self, rows: Sequence[OptionRow]) -> None:
        """Take the rows, once."""
        for row in rows:
            row.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            row.clicked.connect(self._on_clicked)
            self._layout.addWidget(row)
        self._rows = list(rows)
        self._set_stop(0)

    @property
    def picked_row(self) -> int | None:
        return self._picked

    @property
    def rows(self) -> Sequence[OptionRow]:
        return self._rows

    def set_picked(self, number: int | None) -> None:
        """Check one row, or none, without a signal."""
        self._picked = number
        for at, row in enumerate(self._rows):
            row.setChecked(at == number)
        self._set_stop(number or 0)

    def pick(self, number: int) -> bool:
        """Check a row as the operator would; False if there is none with this number."""
        if not 0 <= number < len(self._rows):
            return False
        self.set_picked(number)
        if any(row.hasFocus() for row in self._rows):
            self._rows[number].setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.picked.emit(number)
        return True

    def set_awake(self, awake: bool) -> None:
        for row in self._rows:
            row.set_awake(awake)

    def focus_stop(self) -> QWidget | None:
        """The row the Tab key reaches."""
        return next((row for row in self._rows if row.focusPolicy() == Qt.FocusPolicy.StrongFocus), None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()), 0)
        at = next((number for number, row in enumerate(self._rows) if row.hasFocus()), None)
        if not step or at is None or not 0 <= at + step < len(self._rows):
            event.ignore()
            return
        self._set_stop(at + step)
        self._rows[at + step].setFocus(Qt.FocusReason.TabFocusReason)

    def _set_stop(self, number: int) -> None:
        for at, row in enumerate(self._rows):
            row.setFocusPolicy(Qt.FocusPolicy.StrongFocus if at == number else Qt.FocusPolicy.ClickFocus)

    @Slot()
    def _on_clicked(self) -> None:
        row: QObject | None = self.sender()
        if isinstance(row, OptionRow) and row.isChecked():
            self.pick(self._rows.index(row))
