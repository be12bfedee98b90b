"""The bar below every card: one sentence on the state, at most one filled button. Only it asks to answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QEvent, QRect, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from inbox_app.cards import bar_states
from inbox_app.cards.arming import QUIET_SECONDS, Arming, KeyWatch
from inbox_app.cards.bar_states import SEND_KEYS, BarState, Button
from inbox_app.cards.base import short_label
from inbox_app.state.outbox import Sending, Wish
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import DECISION_BAR, ICON, SPACE_3, SPACE_4, SPACE_6
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.line_field import is_field
from inbox_app.widgets.marked_label import MarkedLabel

NARROW: Final = 620
NARROW_HEIGHT: Final = 104
LOCK_SECONDS: Final = 0.7
TICK_MS: Final = 200


class ClickButton(ActionButton):
    """A button that only a click presses: Space and Enter never decide, and no letter of its text is a key."""

    takes_keys = False
    takes_enter = False

    def set_text(self, text: str, key_hint: str | None = None) -> None:
        super().set_text(text, key_hint)
        self.setShortcut("")  # an ampersand in a label would have made one

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.takes_enter and event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.click()
        elif self.takes_keys:
            super().keyPressEvent(event)
        else:
            event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if self.takes_keys:
            super().keyReleaseEvent(event)
        else:
            event.ignore()


class DecisionBar(QWidget):
    """Shows where an answer stands. The pane tells it what is shown and what is picked; it emits what is wanted.

    ``answer_requested`` carries the `Wish` that was offered last, built from the item as shown. ``home`` is the
    neutral widget that gets the focus when the focused button goes away.
    """

    answer_requested = Signal(object)
    undo_requested = Signal()
    retry_requested = Signal()
    next_requested = Signal(str)
    run_requested = Signal()
    reload_requested = Signal()
    rest_requested = Signal()
    correct_requested = Signal()
    awake_changed = Signal(bool)
    can_send_changed = Signal()

    def __init__(
        self,
        theme: Theme,
        home: QWidget,
        *,
        clock: Callable[[], float] = time.time,
        steady_clock: Callable[[], float] = time.monotonic,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._home = home
        self._clock = clock
        self._steady_clock = steady_clock
        self._keys = KeyWatch(steady_clock, self)
        self._arming = Arming(self._keys, steady_clock, self)
        self._arming.armed.connect(self._on_armed)
        self._arming.ticked.connect(self._refresh)
        self._wish: Wish | None = None
        self._problem = ""
        self._can_correct = False
        self._unseen = 0
        self._target = ""
        self._production = False
        self._is_open = False
        self._sending: Sending | None = None
        self._locked_until = float("-inf")
        self._could_send = False
        self._state: BarState | None = None
        self._text = MarkedLabel("", theme, "body", parent=self, lines=2)
        self._left = ActionButton(theme, "", "outline", parent=self)
        self._send = ClickButton(theme, "", "filled", parent=self)
        self._right = ClickButton(theme, "", "outline", parent=self)
        self._send.clicked.connect(self.send)
        self._left.clicked.connect(self._on_left_clicked)
        self._right.clicked.connect(self._on_right_clicked)
        self._ticker = QTimer(self)
        self._ticker.setInterval(TICK_MS)
        self._ticker.timeout.connect(self._refresh)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Decision"))
        theme.changed.connect(self._on_theme_changed)
        self.show_state(bar_states.NOTHING)

    # What the pane says

    def open(self, target: str, *, production: bool) -> None:
        """A question is shown, or shown anew after it changed: sleep, then wake."""
        self._target = short_label(target)
        self._production = production
        self._wish, self._problem, self._unseen, self._sending = None, "", 0, None
        self._is_open = True
        self._arming.start()
        self.awake_changed.emit(False)
        self._refresh()

    def offer(self, wish: Wish | None, problem: str, *, can_correct: bool = False) -> None:
        """What would be sent if the operator said so now, or what is missing; the bar may lead to what is wrong."""
        self._wish, self._problem, self._can_correct = wish, problem, can_correct
        self._refresh()

    def set_unseen(self, lines: int) -> None:
        """How many lines of the body were never in view."""
        if lines != self._unseen:
            self._unseen = lines
            self._refresh()

    def set_sending(self, sending: Sending | None) -> None:
        if sending is None and self._sending is not None and self._is_open:
            self._lock()
        self._sending = sending
        self.awake_changed.emit(self.is_awake)
        self._refresh()

    def show_state(self, state: BarState) -> None:
        """Nothing can be answered here (any more); ``state`` says why."""
        was_open = self._is_open
        self._is_open = False
        self._sending = None
        self._wish = None
        self._arming.stop()
        self._ticker.stop()
        if was_open:
            self.awake_changed.emit(False)
        self._show(state)

    # What the operator may do

    @property
    def is_awake(self) -> bool:
        return self._is_open and self._arming.is_armed and self._sending is None

    @property
    def sending(self) -> Sending | None:
        """The answer the bar tells of, that was given here."""
        return self._sending

    @property
    def can_pick(self) -> bool:
        """Whether a key picks; it does so while the bar still sleeps if it went down after the question was shown."""
        return self._is_open and self._sending is None and self._arming.may_pick

    @property
    def can_send(self) -> bool:
        if self._is_locked:
            return False
        if self._sending is not None:
            return self._sending.state == "failed"
        return self.is_awake and self._wish is not None and not self._problem and self._unseen == 0

    @property
    def unseen(self) -> int:
        """Lines of the body that were not in view yet."""
        return self._unseen

    @property
    def is_typed_into(self) -> bool:
        """Whether somebody types into a field, anywhere."""
        return self._steady_clock() - self._keys.typed_at < QUIET_SECONDS

    @property
    def can_undo(self) -> bool:
        return self._sending is not None and self._sending.state == "held"

    @Slot()
    def send(self) -> None:
        """Ask to send what is offered, or what could not be sent; does nothing unless its button could be pressed."""
        if not self.can_send:
            return
        wish = self._wish
        self._lock()
        if self._sending is not None:
            self.retry_requested.emit()
        elif wish is not None:
            self.answer_requested.emit(wish)

    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(480), self._theme.px(NARROW_HEIGHT if self._is_narrow else DECISION_BAR))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(280), self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if (event.size().width() < self._theme.px(NARROW)) != (event.oldSize().width() < self._theme.px(NARROW)):
            self.updateGeometry()
        self._arrange()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.color("card"))
        painter.fillRect(0, 0, self.width(), 1, theme.color("line"))
        if self._state is not None and self._state.text:
            size = theme.px(ICON)
            x = self._mirrored(QRect(theme.px(SPACE_6), 0, size, size)).x()
            y = self._text.y() + (min(self._text.height(), theme.px(20)) - size) // 2
            painter.drawPixmap(
                x, y, theme.pixmap(self._state.icon, self._state.role, ICON, scale=self.devicePixelRatioF())
            )
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LayoutDirectionChange:
            self._arrange()

    # States

    @Slot()
    def _refresh(self) -> None:
        if self._sending is not None:
            undo_key = "Ctrl+Z" if is_field(QApplication.focusWidget()) else "Z"
            self._show(bar_states.sending(self._sending, self._clock(), undo_key))
        elif self._is_open:
            words = self._problem if self._wish is None or self._problem else self._send_text(self._wish)
            if self._can_correct:
                self._show(bar_states.to_correct(words))
            elif self._arming.is_armed:
                unseen = self._unseen
                self._show(bar_states.armed(self._wish, self._problem, unseen, words, can_send=self.can_send))
            else:
                self._show(bar_states.arming(self._arming.seconds_left, words))
        if self._sending is not None and self._sending.state == "held":
            self._ticker.start()
        else:
            self._ticker.stop()

    def _send_text(self, wish: Wish) -> str:
        return bar_states.send_text(wish, self._target, production=self._production)

    def _show(self, state: BarState) -> None:
        if self.can_send != self._could_send:
            self._could_send = not self._could_send
            self.can_send_changed.emit()
        if state == self._state:
            return
        self._state = state
        if state.text != self._text.text():
            self._text.show_text(state.text)
        self._text.set_role(state.text_role)
        if self._send.hasFocus() and not state.can_send:
            self._home.setFocus(Qt.FocusReason.OtherFocusReason)
        self._send.set_text(state.send or "", SEND_KEYS if state.can_send else "")
        self._send.set_production(self._production)
        self._send.setEnabled(state.can_send)
        if state.left is not None:
            self._left.set_text(state.left.text, state.left.key)
            self._left.setToolTip(state.left.tip)
            self._left.setAccessibleDescription(state.left.tip)
        if state.right is not None:
            self._right.set_text(state.right.text, state.right.key)
            self._right.takes_keys = state.right.act != "retry"
            self._right.takes_enter = state.right.act == "correct"
        self._settle(self._send, state.send is not None)
        self._settle(self._left, state.left is not None)
        self._settle(self._right, state.right is not None)
        self._arrange()
        self.update()

    def _settle(self, button: QWidget, wanted: bool) -> None:
        """A button that goes gives its focus to the neutral place, never to another button."""
        if not wanted and button.hasFocus():
            self._home.setFocus(Qt.FocusReason.OtherFocusReason)
        button.setVisible(wanted)

    # Layout

    @property
    def _is_narrow(self) -> bool:
        return self.width() < self._theme.px(NARROW)

    def _arrange(self) -> None:
        theme = self._theme
        pad, gap = theme.px(SPACE_6), theme.px(SPACE_4)
        right = self.width() - pad
        left = pad + theme.px(ICON) + theme.px(SPACE_3)
        buttons_middle = self.height() - theme.px(DECISION_BAR // 2) if self._is_narrow else self.height() // 2
        for button in (self._send, self._right):
            if not button.isHidden():
                size = button.sizeHint().boundedTo(QSize(self.width() - 2 * pad, 1000))
                right -= size.width()
                self._place(button, QRect(right, buttons_middle - size.height() // 2, size.width(), size.height()))
                right -= gap
        room = (self.width() - pad if self._is_narrow else right) - left
        side = self._left.sizeHint().width() + gap if not self._left.isHidden() else 0
        width = max(theme.px(40), min(self._text.natural_width(), room - side))
        height = self._text.heightForWidth(width)
        middle = theme.px(28) if self._is_narrow else self.height() // 2
        self._place(self._text, QRect(left, middle - height // 2, width, height))
        if side:
            size = self._left.sizeHint()
            self._place(self._left, QRect(left + width + gap, middle - size.height() // 2, size.width(), size.height()))

    def _place(self, widget: QWidget, rect: QRect) -> None:
        widget.setGeometry(self._mirrored(rect))

    def _mirrored(self, rect: QRect) -> QRect:
        if self.layoutDirection() == Qt.LayoutDirection.LeftToRight:
            return rect
        return QRect(self.width() - rect.x() - rect.width(), rect.y(), rect.width(), rect.height())

    # Reactions

    @property
    def _is_locked(self) -> bool:
        return self._steady_clock() < self._locked_until

    def _lock(self) -> None:
        """After a send or an undo the right slot takes no click for a moment: a double click is one act."""
        self._locked_until = self._steady_clock() + LOCK_SECONDS
        QTimer.singleShot(int(LOCK_SECONDS * 1000) + TICK_MS // 4, self, self._refresh)

    @Slot()
    def _on_armed(self) -> None:
        self.awake_changed.emit(self.is_awake)
        self._refresh()

    @Slot()
    def _on_left_clicked(self) -> None:
        if self._state is not None and self._state.left is not None:
            self._act(self._state.left)

    @Slot()
    def _on_right_clicked(self) -> None:
        if self._state is not None and self._state.right is not None and not self._is_locked:
            self._act(self._state.right)

    def _act(self, button: Button) -> None:
        match button.act:
            case "undo":
                self.undo_requested.emit()
            case "rest":
                self.rest_requested.emit()
            case "correct":
                self.correct_requested.emit()
            case "retry":
                self.send()
            case "reload":
                self.reload_requested.emit()
            case "run":
                self.run_requested.emit()
            case "next":
                self.next_requested.emit(button.pause_id)

    @Slot()
    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self._arrange()
        self.update()
