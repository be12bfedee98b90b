"""Dialogs that are opened, never run in a loop of their own, and in which no key does the deed by accident."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_2, SPACE_4, SPACE_6
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.key_hint import KeyHint
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.surface import NeutralFrame


class SheetDialog(QDialog):
    """A heading over a body. Escape closes it; Enter does nothing. It deletes itself when it is closed."""

    def __init__(self, theme: Theme, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._safe: QWidget | None = None
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._ground = NeutralFrame(theme, "card", title, self)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._ground)
        self.column = QVBoxLayout(self._ground)
        edge = theme.px(SPACE_6)
        self.column.setContentsMargins(edge, edge, edge, edge)
        self.column.setSpacing(theme.px(SPACE_2))
        self.column.addWidget(PlainLabel(title, theme, "heading", parent=self._ground))

    def open(self) -> None:
        """Open with the focus, and its ring, on what changes nothing."""
        super().open()
        (self._safe or self._ground).setFocus(Qt.FocusReason.TabFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            return
        super().keyPressEvent(event)


class ConfirmDialog(SheetDialog):
    """Asks before something that cannot be taken back. ``confirmed`` comes only from a press of its button."""

    confirmed = Signal()

    def __init__(self, theme: Theme, title: str, text: str, do: str, keep: str, parent: QWidget) -> None:
        super().__init__(theme, title, parent)
        body = PlainLabel(text, theme, "body", "text", self, wrap=True)
        body.setMinimumWidth(theme.px(360))
        self.column.addWidget(body)
        self.column.addSpacing(theme.px(SPACE_4))
        self._safe = self._keep = ActionButton(theme, keep, "flat", parent=self)
        self._do = ActionButton(theme, do, "outline", parent=self)
        self._keep.clicked.connect(self.reject)
        self._do.clicked.connect(self._on_do_clicked)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self._keep)
        row.addWidget(self._do)
        self.column.addLayout(row)

    @Slot()
    def _on_do_clicked(self) -> None:
        self.confirmed.emit()
        self.accept()


class ChoiceDialog(SheetDialog):
    """Asks which of several ways to go. ``chosen`` carries the number of the pressed button; Escape chooses none."""

    chosen = Signal(int)

    def __init__(self, theme: Theme, title: str, text: str, ways: Sequence[str], stay: str, parent: QWidget) -> None:
        super().__init__(theme, title, parent)
        self._body = PlainLabel(text, theme, "body", "text", self, wrap=True)
        self._body.setMinimumWidth(theme.px(400))
        self.column.addWidget(self._body)
        self.column.addSpacing(theme.px(SPACE_4))
        row = QHBoxLayout()
        row.addStretch(1)
        self._safe = leave = ActionButton(theme, stay, "flat", "Esc", self)
        leave.clicked.connect(self.reject)
        row.addWidget(leave)
        self._ways = [ActionButton(theme, way, "outline", parent=self) for way in ways]
        for button in self._ways:
            button.clicked.connect(self._on_way_clicked)
            row.addWidget(button)
        self.column.addLayout(row)

    def show_text(self, text: str) -> None:
        if text != self._body.text():
            self._body.setText(text)

    @Slot()
    def _on_way_clicked(self) -> None:
        button: QObject | None = self.sender()
        number = next(at for at, way in enumerate(self._ways) if way is button)
        self.accept()
        self.chosen.emit(number)


class KeysDialog(SheetDialog):
    """All keys, in groups: each line is what it does and the keys that do it."""

    def __init__(
        self, theme: Theme, title: str, groups: list[tuple[str, list[tuple[str, list[str]]]]], parent: QWidget
    ) -> None:
        super().__init__(theme, title, parent)
        inner = QWidget(self)
        grid = QGridLayout(inner)
        grid.setContentsMargins(0, 0, theme.px(SPACE_2), 0)
        grid.setHorizontalSpacing(theme.px(SPACE_6))
        grid.setVerticalSpacing(theme.px(6))
        grid.setColumnStretch(0, 1)
        line = 0
        for name, entries in groups:
            head = PlainLabel(name, theme, "label", "muted", inner)
            head.setContentsMargins(0, theme.px(SPACE_2), 0, 0)
            grid.addWidget(head, line, 0, 1, 2)
            line += 1
            for what, keys in entries:
                grid.addWidget(PlainLabel(what, theme, "body", parent=inner), line, 0)
                grid.addLayout(self._hints(keys, inner), line, 1)
                line += 1
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inner)
        area.setAccessibleName(title)
        inner.setAutoFillBackground(False)
        area.viewport().setAutoFillBackground(False)
        self.column.addWidget(area, 1)
        self.column.addSpacing(theme.px(SPACE_2))
        close = ActionButton(theme, self.tr("Close"), "outline", "Esc", self)
        close.clicked.connect(self.reject)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(close)
        self.column.addLayout(row)
        self.resize(theme.px(440), min(theme.px(720), parent.height() - theme.px(48)))

    def _hints(self, keys: list[str], parent: QWidget) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(self._theme.px(4))
        row.addStretch(1)
        for key in keys:
            row.addWidget(KeyHint(self._theme, key, parent))
        return row
