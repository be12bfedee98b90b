"""A choice that the agent gives. What is chosen is the next thing that the person says."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QRect, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inbox_app.chat.part import Part
from inbox_app.gateway.chats import Choice
from inbox_app.state.chats import answer_text, value_text
from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON, ICON_TINY, RADIUS_OPTION, RADIUS_TAG, SPACE_1, SPACE_2
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.option_row import OUTSET, OptionRow
from inbox_app.widgets.plain_label import PlainLabel


class ChoicePart(Part):
    """One of several is said as soon as it is pressed; several are ticked, then said by "Continue"."""

    said = Signal(str)
    takes_focus = True

    def __init__(self, theme: Theme, choice: Choice, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._choice = choice
        self._state: tuple[bool, bool, tuple[int, ...]] | None = None
        question = MarkedLabel(choice.question, theme, "body", parent=self, strong=True)
        self.setAccessibleName(question.text()[:1000])
        self._rows = [_Option(theme, choice, at, self) for at in range(len(choice.options))]
        self._other = PlainLabel(self.tr("Answered in other words"), theme, "meta", "muted", self)
        self._go_on = ActionButton(theme, self.tr("Continue"), "outline", parent=self)
        self._go_on.clicked.connect(self._on_go_on)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(question)
        for row in self._rows:
            row.clicked.connect(self._on_clicked)
            column.addWidget(row)
        column.addSpacing(theme.px(SPACE_2) if choice.multi else 0)
        column.addWidget(self._go_on)
        column.addWidget(self._other)
        self._go_on.hide()
        self._other.hide()

    def show_state(self, *, is_open: bool, ready: bool, chosen: Sequence[int] | None) -> None:
        """``is_open``: nothing was said since; ``ready``: something can be said now. ``chosen``: what was said."""
        state = (is_open, ready, tuple(chosen or ()))
        if state == self._state:
            return
        self._state = state
        for at, row in enumerate(self._rows):
            row.set_awake(is_open and ready)
            row.setFocusPolicy(Qt.FocusPolicy.StrongFocus if is_open else Qt.FocusPolicy.NoFocus)
            if not is_open:
                row.setChecked(at in (chosen or ()))
                row.setVisible(chosen is None or at in chosen)
        self._other.setVisible(not is_open and chosen is None)
        self._go_on.setVisible(is_open and self._choice.multi)
        self._go_on.setEnabled(ready and bool(self._ticked()))
        self.fitted.emit()

    def enter(self) -> None:
        first = next((row for row in self._rows if row.focusPolicy() != Qt.FocusPolicy.NoFocus), None)
        if first is not None:
            first.setFocus(Qt.FocusReason.TabFocusReason)
        else:
            self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            super().enter()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The arrow keys go from option to option, and at either end on to what is next to the choice."""
        step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()), 0)
        at = next((number for number, row in enumerate(self._rows) if row.hasFocus()), None)
        if step and at is not None and 0 <= at + step < len(self._rows):
            self._rows[at + step].setFocus(Qt.FocusReason.TabFocusReason)
        elif step:
            self.moved.emit(step)
        else:
            super().keyPressEvent(event)

    def _ticked(self) -> list[int]:
        return [at for at, row in enumerate(self._rows) if row.isChecked()]

    @Slot()
    def _on_clicked(self) -> None:
        row: QObject | None = self.sender()
        if not isinstance(row, OptionRow):
            return
        if self._choice.multi:
            self._go_on.setEnabled(bool(self._ticked()))
        elif row.isChecked():
            self.said.emit(answer_text(self._choice, [self._rows.index(row)]))  # pyright: ignore[reportArgumentType]

    @Slot()
    def _on_go_on(self) -> None:
        self.said.emit(answer_text(self._choice, self._ticked()))


class _Option(OptionRow):
    """One of several options. Where more than one may be chosen, pressing it again takes it back."""

    def __init__(self, theme: Theme, choice: Choice, at: int, parent: QWidget) -> None:
        option, value = choice.options[at], value_text(choice, at)
        label = option.label or value
        says = self.tr("Says “{0}”").format(value) if value != label else ""
        super().__init__(theme, label, sub="\n".join(filter(None, (option.description, says))), parent=parent)
        self._multi = choice.multi

    def nextCheckState(self) -> None:
        if self._multi and self.isChecked() and self._awake:
            self.setChecked(False)
        else:
            super().nextCheckState()

    def _paint_radio(self, painter: QPainter) -> None:
        """Where several may be chosen the mark is a box; one of several is a button, which says it at once."""
        theme, size = self._theme, self._theme.px(ICON)
        box = self._mirrored(QRect(theme.px(OUTSET), self._beside(size), size, size))
        if not self._multi:
            icon = "check" if self.isChecked() else "chevron-left" if self.isRightToLeft() else "chevron-right"
            painter.setPen(QPen(theme.color("line_strong"), 1))
            painter.drawPath(rounded(self.rect(), RADIUS_OPTION, 0.5))
            painter.drawPixmap(box.topLeft(), theme.pixmap(icon, "muted", ICON, scale=self.devicePixelRatioF()))
        elif self.isChecked():
            painter.fillPath(rounded(box, RADIUS_TAG), theme.color("ink"))
            inner = (size - theme.px(ICON_TINY)) // 2
            mark = theme.pixmap("check", "on_ink", ICON_TINY, scale=self.devicePixelRatioF())
            painter.drawPixmap(box.x() + inner, box.y() + inner, mark)
        else:
            painter.fillPath(rounded(box, RADIUS_TAG), theme.color("card"))
            painter.setPen(QPen(theme.color("line_strong"), 1))
            painter.drawPath(rounded(box, RADIUS_TAG, 0.5))
