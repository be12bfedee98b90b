"""One turn on the screen: its parts one below the other, each made once and kept while it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from PySide6.QtCore import QRect, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget

from inbox_app.chat.answered_part import AnsweredPart
from inbox_app.chat.call_part import CallPart, CallValues
from inbox_app.chat.choice_part import ChoicePart
from inbox_app.chat.end_words import end_words
from inbox_app.chat.more_part import MorePart
from inbox_app.chat.part import DEEPEST, INDENT, Part
from inbox_app.chat.question import Clocks, QuestionPart
from inbox_app.chat.run_watch import RunKnown
from inbox_app.chat.said_parts import AskedPart, EndPart, NotePart, SaidPart, ThoughtPart
from inbox_app.chat.shown_part import ShownPart
from inbox_app.chat.turn_outline import (
    MOST_ROWS,
    Answered,
    Asked,
    End,
    Item,
    More,
    Question,
    Unfolded,
    Values,
    outline,
)
from inbox_app.gateway.chats import ChatCall, Choice, Note, Shown
from inbox_app.state.chats import TOP, TurnLog, Words, chosen_by, chosen_labels
from inbox_app.state.drafts import Draft
from inbox_app.state.outbox import Sending
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_6

APART: Final = 8
"""The least room between two parts of different kinds."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a turn looks things up: the run of a call, the draft and the answer of a question."""

    run_of: Callable[[str], RunKnown]
    draft_of: Callable[[str], Draft | None]
    sending_of: Callable[[str], Sending | None]
    clocks: Clocks


class TurnView(QWidget):
    """Call `show_log` whenever the turn may have changed, then `fit`. ``fitted``: its height is another.

    ``reordered``: it has other parts. ``moved`` (1 or -1): the keyboard leaves the turn at an end of it.
    """

    fitted = Signal()
    reordered = Signal()
    moved = Signal(int)
    said = Signal(str)
    again = Signal()
    made_question = Signal(object)
    run_wanted = Signal(str)

    def __init__(
        self,
        theme: Theme,
        log: TurnLog,
        before: TurnLog | None,
        unfolded: Unfolded,
        sources: Sources,
        parent: QWidget | None = None,
    ) -> None:
        """``before``: the turn before this one."""
        super().__init__(parent)
        self._theme = theme
        self._log = log
        self._label = chosen_labels(before, log.asked)
        self._unfolded = unfolded
        self._sources = sources
        self._parts: dict[str, Part] = {}
        self._order: list[Part] = []
        self._show_internal = False
        self._next_said: str | None = None
        self._ready = False

    @property
    def log(self) -> TurnLog:
        return self._log

    @property
    def questions(self) -> Sequence[QuestionPart]:
        return [part for part in self._order if isinstance(part, QuestionPart)]

    @property
    def parts(self) -> Sequence[Part]:
        return self._order

    @property
    def stops(self) -> Sequence[Part]:
        """The parts that the arrow keys stop at."""
        return [part for part in self._order if part.takes_focus]

    def show_log(self, *, show_internal: bool, next_said: str | None, ready: bool) -> None:
        """Show the turn as it is now. ``next_said``: what was said after it; ``ready``: something can be said."""
        self._show_internal, self._next_said, self._ready = show_internal, next_said, ready
        kept = {part.pause_id for part in self.questions}
        run_of = self._sources.run_of
        items = list(outline(self._log, self._unfolded, run_of, show_internal=show_internal, kept=kept))
        parts: dict[str, Part] = {}
        for item in items:
            part = self._parts.get(item.key) or self._make(item)
            part.level = min(item.level, DEEPEST)
            self._renew(part, item)
            parts[item.key] = part
        for key, part in self._parts.items():
            if key not in parts:
                self._drop(part)
        self._parts = parts
        if self._order != (order := list(parts.values())):
            self._order = order
            self.fitted.emit()
            self.reordered.emit()

    def fit(self, width: int) -> int:
        """Arrange the parts in this width; the height that takes."""
        y = 0
        step = self._theme.px(INDENT)
        before: Part | None = None
        for part in self._order:
            if before is not None:
                y += self._theme.px(part.gap if type(part) is type(before) else max(part.gap, APART))
            before = part
            left = part.level * step
            height = part.height_for(max(width - left, step))
            rect = QRect(left, y, width - left, height)
            if part.geometry() != rect:
                part.setGeometry(self._mirrored(rect, width))
            if part.isHidden():
                part.show()
            y += height
        return y + self._theme.px(SPACE_6)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Guides along the calls that others are within."""
        painter = QPainter(self)
        color, step, half = self._theme.color("line"), self._theme.px(INDENT), self._theme.px(INDENT) // 2 + 3
        following = [*((part.y(), part.level) for part in self._order[1:]), (0, 0)]
        for part, (next_y, next_level) in zip(self._order, following, strict=True):
            if (next_y < event.rect().top() and next_y) or part.y() > event.rect().bottom():
                continue
            for level in range(part.level):
                until = next_y if level < next_level else part.geometry().bottom() + 1
                line = self._mirrored(QRect(level * step + half - 1, part.y(), 1, until - part.y()), self.width())
                painter.fillRect(line, color)
        painter.end()

    def _make(self, item: Item) -> Part:
        theme, content = self._theme, item.content
        match content:
            case Asked():
                part: Part = AskedPart(theme, self._log, self._sources.clocks.wall(), self._label, self)
            case Words(is_thought=True):
                part = thought = ThoughtPart(theme, content.key, self)
                thought.toggled.connect(self._on_thought_toggled)
            case Words():
                part = SaidPart(theme, self)
            case ChatCall():
                part = row = CallPart(theme, content, self)
                row.toggled.connect(self._on_call_toggled)
                row.left.connect(self._on_call_left)
            case Values():
                part = CallValues(theme, self)
            case Question():
                part = self._make_question(content)
            case Answered():
                part = answered = AnsweredPart(theme, content.run_id, content.decision, self)
                answered.run_wanted.connect(self.run_wanted)
            case Choice():
                part = choice = ChoicePart(theme, content, self)
                choice.said.connect(self.said)
            case Shown():
                part = ShownPart(theme, content, self)
            case Note():
                part = NotePart(theme, content, self)
            case More():
                part = more = MorePart(theme, self)
                more.wanted.connect(self._on_more_wanted)
            case End():
                part = end = EndPart(theme, self)
                end.again.connect(self.again)
        part.fitted.connect(self.fitted)
        part.moved.connect(self._on_moved)
        return part

    def _make_question(self, question: Question) -> QuestionPart:
        draft, sending = self._sources.draft_of(question.pause.id), self._sources.sending_of(question.pause.id)
        if draft is None and sending is not None:
            draft = sending.wish.draft
        part = QuestionPart(self._theme, question.pause, draft, self._sources.clocks, self)
        part.show_sending(sending)
        self.made_question.emit(part)
        return part

    def _renew(self, part: Part, item: Item) -> None:
        content, now = item.content, self._sources.clocks.wall()
        if isinstance(part, SaidPart):
            part.show_words(cast("Words", content))
        elif isinstance(part, ThoughtPart):
            words = cast("Words", content)
            blocks = self._log.branches[TOP]
            going = self._log.is_running and bool(blocks) and blocks[-1] is words
            part.show_words(words, opened=words.key in self._unfolded.thoughts, going=going)
        elif isinstance(content, ChatCall) and isinstance(part, CallPart):
            part.show_call(content, now, opened=content.id in self._unfolded.calls)
        elif isinstance(content, Values) and isinstance(part, CallValues):
            part.show_call(content.call)
        elif isinstance(content, Question) and isinstance(part, QuestionPart):
            self._renew_question(part, content)
        elif isinstance(content, Choice) and isinstance(part, ChoicePart):
            said = self._next_said
            chosen = chosen_by(content, said) if said is not None else None
            part.show_state(is_open=said is None, ready=self._ready, chosen=chosen)
        elif isinstance(content, More) and isinstance(part, MorePart):
            part.show_count(content.count)
        elif isinstance(part, EndPart):
            failed = self._log.end in ("error", "interrupted")
            has_again = failed and self._next_said is None and self._ready
            part.show_end(*end_words(self._log), has_again=has_again)

    def _renew_question(self, part: QuestionPart, question: Question) -> None:
        sending = self._sources.sending_of(question.pause.id)
        if question.is_open:
            part.update_pause(question.pause)
        elif sending is None or sending.state == "refused":
            part.close_pause(question.decision, question.following)

    def _drop(self, part: Part) -> None:
        """The keyboard never stays in what goes."""
        focus = QApplication.focusWidget()
        if focus is not None and (focus is part or part.isAncestorOf(focus)):
            at = self._order.index(part)
            before = next((other for other in reversed(self._order[:at]) if other.takes_focus), None)
            if before is not None:
                before.enter()
        part.hide()
        part.deleteLater()

    def _mirrored(self, rect: QRect, width: int) -> QRect:
        if not self.isRightToLeft():
            return rect
        return QRect(width - rect.x() - rect.width(), rect.y(), rect.width(), rect.height())

    def _again(self) -> None:
        self.show_log(show_internal=self._show_internal, next_said=self._next_said, ready=self._ready)

    @Slot(str)
    def _on_call_toggled(self, call_id: str) -> None:
        self._unfolded.calls ^= {call_id}
        self._again()

    @Slot(str)
    def _on_call_left(self, call_id: str) -> None:
        above = next(self._log.above(call_id), None)
        part = self._parts.get(f"c{above}")
        if part is not None:
            part.enter()

    @Slot(int)
    def _on_thought_toggled(self, key: int) -> None:
        self._unfolded.thoughts ^= {key}
        self._again()

    @Slot()
    def _on_more_wanted(self) -> None:
        self._unfolded.rows += MOST_ROWS
        self._again()

    @Slot(int)
    def _on_moved(self, step: int) -> None:
        sender, stops = self.sender(), self.stops
        at = next((number for number, part in enumerate(stops) if part is sender), -1)
        if 0 <= at + step < len(stops) and at >= 0:
            stops[at + step].enter()
        else:
            self.moved.emit(step)
