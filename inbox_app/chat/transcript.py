"""A conversation from its first turn to its last, of any length: only turns in sight, or near it, are widgets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from inbox_app.chat.part import Part
from inbox_app.chat.question import QuestionPart
from inbox_app.chat.turn_outline import Unfolded
from inbox_app.chat.turn_view import Sources, TurnView
from inbox_app.state.chats import CallBlock, TurnLog, Words
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import LINE_HEIGHT, SPACE_4, SPACE_6
from inbox_app.widgets.buttons import ActionButton

COLUMN: Final = 760
NEAR: Final = 600
"""So many pixels beyond the view turns are kept ready."""
TRIES: Final = 4
LINE_CHARACTERS: Final = 90
SLACK: Final = 4


@dataclass(slots=True)
class _Turn:
    log: TurnLog
    unfolded: Unfolded
    height: int
    told: int = 0
    view: TurnView | None = None


class Transcript(QAbstractScrollArea):
    """``said`` carries what was chosen in an open choice. ``made_question``: a `QuestionPart` to connect.

    The reader's place is kept whatever grows or shrinks above it; at the bottom it stays at the bottom.
    """

    said = Signal(str)
    again = Signal()
    """What was said last is to be said once more."""
    made_question = Signal(object)
    run_wanted = Signal(str)
    left_below = Signal()

    def __init__(self, theme: Theme, sources: Sources, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._sources = sources
        self._turns: list[_Turn] = []
        self._show_internal = False
        self._ready = True
        self._stuck = True
        self._anchor = (0, 0)
        self._arranging = self._is_new_below = False
        self._stop: Part | None = None
        self._chain_due = False
        self._new_below = ActionButton(theme, "", "outline", parent=self, icon_name="arrow-down")
        self._new_below.hide()
        self._new_below.clicked.connect(self.go_to_end)
        self._due = QTimer(self)
        self._due.setSingleShot(True)
        self._due.setInterval(0)
        self._due.timeout.connect(self._arrange)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.verticalScrollBar().setSingleStep(theme.px(LINE_HEIGHT["body"]) * 2)
        self.setAccessibleName(self.tr("Conversation"))
        self._dress()
        theme.changed.connect(self._dress)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus_changed)

    # What is shown

    @property
    def logs(self) -> Sequence[TurnLog]:
        return [turn.log for turn in self._turns]

    @property
    def questions(self) -> Sequence[QuestionPart]:
        """The questions that are widgets now."""
        return [part for turn in self._turns if turn.view is not None for part in turn.view.questions]

    @property
    def is_at_end(self) -> bool:
        return self._stuck

    def show_turns(self, logs: Sequence[TurnLog], *, again: bool = False) -> None:
        """Another conversation, from its end; or the same one ``again``, with the reader's place kept."""
        known = {id(turn.log): turn for turn in self._turns} if again else dict[int, _Turn]()
        shown = [known.pop(id(log), None) or _Turn(log, Unfolded(), self._guess(log)) for log in logs]
        for turn in known.values() if again else self._turns:
            self._let_go(turn)
        self._turns = shown
        self._is_new_below = again and any(turn.told != turn.log.told for turn in shown)
        if not again:
            self._stuck, self._stop, self._anchor = True, None, (0, 0)
            self._new_below.hide()
        self._anchor = (min(self._anchor[0], max(0, len(shown) - 1)), self._anchor[1])
        self.renew()
        self._arrange()

    def add_turn(self, log: TurnLog) -> None:
        """The person said something: that is what is looked at now."""
        before = self._turns[-1] if self._turns else None
        self._turns.append(_Turn(log, Unfolded(), self._guess(log)))
        if before is not None:
            self._renew(len(self._turns) - 2)
        self.go_to_end()

    def drop_last(self) -> None:
        """The last turn never came to be."""
        if self._turns:
            self._let_go(self._turns.pop())
            if self._turns:
                self._renew(len(self._turns) - 1)
            self._arrange()

    def renew(self, log: TurnLog | None = None) -> None:
        """A turn changed (None: any of them may have)."""
        for at in range(len(self._turns) - 1, -1, -1):
            turn = self._turns[at]
            if log is None or turn.log is log:
                self._renew(at)
                self._is_new_below |= log is not None and turn.told != turn.log.told
                turn.told = turn.log.told
                if log is not None:
                    break
        self._later()

    def set_ready(self, ready: bool) -> None:
        """Whether something can be said now."""
        if ready != self._ready:
            self._ready = ready
            self.renew()

    @Slot(bool)
    def set_internal(self, shown: bool) -> None:
        """Whether calls that are nobody's business are listed too."""
        if shown != self._show_internal:
            self._show_internal = shown
            for turn in self._turns:
                if turn.view is None:
                    turn.height = self._guess(turn.log)
            self.renew()

    @Slot()
    def go_to_end(self) -> None:
        if self._new_below.hasFocus():
            self.enter()
        self._stuck = True
        self._arrange()

    def enter(self) -> bool:
        """Give the keyboard to the last part in sight that takes it; whether there is one."""
        for turn in reversed(self._turns):
            if turn.view is not None and turn.view.stops:
                turn.view.stops[-1].enter()
                return True
        return False

    # Inside

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_button()
        self._arrange()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        bar = self.verticalScrollBar()
        match event.key():
            case Qt.Key.Key_PageDown:
                bar.setValue(bar.value() + bar.pageStep() - self._theme.px(40))
            case Qt.Key.Key_PageUp:
                bar.setValue(bar.value() - bar.pageStep() + self._theme.px(40))
            case Qt.Key.Key_Home:
                bar.setValue(0)
            case Qt.Key.Key_End:
                self.go_to_end()
            case _:
                event.ignore()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            return True  # turns are placed by hand
        return super().viewportEvent(event)

    def _renew(self, at: int) -> None:
        turn = self._turns[at]
        if turn.view is not None:
            following = self._turns[at + 1].log.asked if at + 1 < len(self._turns) else None
            turn.view.show_log(show_internal=self._show_internal, next_said=following, ready=self._ready)

    def _ensure(self, at: int) -> TurnView:
        turn = self._turns[at]
        if turn.view is None:
            before = self._turns[at - 1].log if at else None
            view = turn.view = TurnView(self._theme, turn.log, before, turn.unfolded, self._sources, self.viewport())
            view.fitted.connect(self._later)
            view.reordered.connect(self._on_reordered)
            view.moved.connect(self._on_moved)
            view.said.connect(self.said)
            view.again.connect(self.again)
            view.made_question.connect(self._on_made_question)
            view.run_wanted.connect(self.run_wanted)
            self._renew(at)
            self._chain_due = True
        return turn.view

    def _let_go(self, turn: _Turn) -> None:
        if turn.view is not None:
            turn.view.hide()
            turn.view.deleteLater()
            turn.view = None
            self._chain_due = True
            self._forget_stop()

    @Slot()
    def _later(self) -> None:
        if not self._arranging and not self._due.isActive():
            self._due.start()

    @Slot()
    def _arrange(self) -> None:
        """Place what is in sight, as high as it really is, without moving what the reader looks at."""
        if self._arranging:
            return
        self._arranging = True
        try:
            self._due.stop()
            self._place()
        finally:
            self._arranging = False
        if self._chain_due:
            self._chain()
        self._look()

    def _place(self) -> None:
        theme, high = self._theme, self.viewport().height()
        left, top, near = theme.px(SPACE_6), theme.px(SPACE_4), theme.px(NEAR)
        width = max(theme.px(200), min(self.viewport().width() - 2 * left, theme.px(COLUMN)))
        bar, value = self.verticalScrollBar(), 0
        tops: list[int] = []
        near_by = range(0)
        for _ in range(TRIES):
            tops = list(accumulate((turn.height for turn in self._turns), initial=top))
            most = max(0, tops[-1] + top - high)
            value = most if self._stuck else min(most, tops[self._anchor[0]] + self._anchor[1]) if self._turns else 0
            first = max(0, bisect_right(tops, value - near) - 1)
            last = min(len(self._turns), bisect_right(tops, value + high + near))
            near_by = range(first, last)
            changed = False
            for at in near_by:
                height = self._ensure(at).fit(width)
                changed |= height != self._turns[at].height
                self._turns[at].height = height
            if not changed:
                break
        focus = QApplication.focusWidget()
        for at, turn in enumerate(self._turns):
            view = turn.view
            if view is None:
                continue
            if at not in near_by and not (focus is not None and view.isAncestorOf(focus)):
                self._let_go(turn)
                continue
            rect = QRect(left, tops[at] - value, width, turn.height)
            if self.isRightToLeft():
                rect.moveLeft(self.viewport().width() - left - width)
            if view.geometry() != rect:
                view.setGeometry(rect)
            if view.isHidden():
                view.show()
        bar.setPageStep(high)
        bar.setRange(0, max(0, tops[-1] + top - high) if tops else 0)
        bar.setValue(max(0, value))
        if self._stuck:
            self._new_below.hide()
        elif self._is_new_below and bar.value() < bar.maximum() - SLACK:
            self._offer_end()
        self._is_new_below = False

    def _guess(self, log: TurnLog) -> int:
        """About how high a turn is that was never in sight."""
        line, lines, calls = LINE_HEIGHT["body"], len(log.asked) // LINE_CHARACTERS + 3, 0
        for block in log.branches[""]:
            if isinstance(block, Words) and not block.is_thought:
                lines += sum(len(piece) for piece in block.pieces) // LINE_CHARACTERS + 1
            elif isinstance(block, CallBlock):
                calls += 1
        return self._theme.px(60 + lines * line + calls * 28)

    @Slot()
    def _on_scrolled(self) -> None:
        if self._arranging:
            return
        bar = self.verticalScrollBar()
        self._hold()
        self._stuck = bar.value() >= bar.maximum() - SLACK
        self._arrange()

    def _offer_end(self) -> None:
        if self._new_below.isHidden():
            self._new_below.set_text(self.tr("New below"))
            self._new_below.show()
            self._new_below.raise_()
            self._place_button()

    def _place_button(self) -> None:
        size = self._new_below.sizeHint()
        view = self.viewport().geometry()
        spot = QPoint(view.center().x() - size.width() // 2, view.bottom() - size.height() - self._theme.px(SPACE_4))
        self._new_below.setGeometry(QRect(spot, size))

    def _look(self) -> None:
        """Tell open questions which part of them is in view."""
        high = self.viewport().height() if self.isVisible() else 0
        for part in self.questions:
            top = part.mapTo(self.viewport(), QPoint(0, 0)).y()
            part.look(max(0, -top), min(part.height(), high - top))

    def _chain(self) -> None:
        """The order of the Tab key is that of the conversation; of the rows only one is reached by it."""
        self._chain_due = False
        views = [turn.view for turn in self._turns if turn.view is not None]
        parts = [part for view in views for part in view.parts]
        rows = [part for part in parts if part.takes_focus and part.focusPolicy() != Qt.FocusPolicy.NoFocus]
        if self._stop not in rows:
            self._stop = rows[-1] if rows else None
        for row in rows:
            if row.focusPolicy() != Qt.FocusPolicy.ClickFocus:
                row.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        if self._stop is not None:
            self._set_stop(self._stop)
        stops = [stop for part in parts for stop in part.tab_stops() if stop.focusPolicy() != Qt.FocusPolicy.NoFocus]
        for before, after in pairwise([self._new_below, *stops]):
            QWidget.setTabOrder(before, after)

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        """Show what the keyboard reached; under the mouse nothing moves."""
        if new is None or not self.viewport().isAncestorOf(new):
            return
        if self._due.isActive():  # it has its place only then
            self._arrange()
        part: QObject | None = new
        while part is not None and not isinstance(part, Part):
            part = part.parent()
        if part is not None and part is new:
            self._set_stop(part)
        if isinstance(part, QuestionPart) and self._stuck:
            self._hold()  # what is being answered stays where it is, whatever is said below
        if not QApplication.mouseButtons():
            self.show_widget(new)

    def _set_stop(self, part: Part) -> None:
        """The row that the Tab key reaches is the one the keyboard was in last."""
        if self._stop is not None:
            self._stop.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._stop = part
        part.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def _forget_stop(self) -> None:
        """A part that is gone is not held on to."""
        views = [turn.view for turn in self._turns if turn.view is not None]
        if not any(part is self._stop for view in views for part in view.parts):
            self._stop = None

    def _hold(self) -> None:
        """Keep the place from now on, also at the end."""
        self._stuck = False
        bar = self.verticalScrollBar()
        tops = list(accumulate((turn.height for turn in self._turns), initial=self._theme.px(SPACE_4)))
        at = max(0, min(bisect_right(tops, bar.value()) - 1, len(self._turns) - 1))
        self._anchor = (at, bar.value() - tops[at])

    def show_widget(self, widget: QWidget, area: QRect | None = None) -> None:
        """Scroll so that a widget in the conversation, or an area of it, is in view; its beginning if it is large."""
        area = area or widget.rect()
        top = widget.mapTo(self.viewport(), area.topLeft()).y()
        margin, high, bar = self._theme.px(SPACE_4), self.viewport().height(), self.verticalScrollBar()
        if top < margin or area.height() > high:
            bar.setValue(bar.value() + top - margin)
        elif top + area.height() > high - margin:
            bar.setValue(bar.value() + min(top - margin, top + area.height() - high + margin))

    @Slot(object)
    def _on_made_question(self, part: QuestionPart) -> None:
        part.wanted.connect(self._on_wanted)
        self.made_question.emit(part)

    @Slot(QRect)
    def _on_wanted(self, area: QRect) -> None:
        part: QObject | None = self.sender()
        if isinstance(part, QWidget):
            self.show_widget(part, area)

    @Slot()
    def _on_reordered(self) -> None:
        self._chain_due = True
        self._forget_stop()
        self._later()

    @Slot(int)
    def _on_moved(self, step: int) -> None:
        """From one turn to the next; below the last one the person writes."""
        view: QObject | None = self.sender()
        at = next((number for number, turn in enumerate(self._turns) if turn.view is view), -1)
        at += step
        while 0 <= at < len(self._turns):
            stops = self._ensure(at).stops
            if stops:
                stops[0 if step > 0 else -1].enter()
                return
            at += step
        if step > 0:
            self.left_below.emit()

    @Slot()
    def _dress(self) -> None:
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Base, self._theme.color("card"))
        palette.setColor(QPalette.ColorRole.Window, self._theme.color("card"))
        self.setPalette(palette)
        self.viewport().setPalette(palette)
