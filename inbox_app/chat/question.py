"""A question of a run within a conversation: the card of the inbox, with its bar, its draft and its answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from inbox_app.cards import bar_states
from inbox_app.cards.arming import QUIET_SECONDS
from inbox_app.cards.deadline import Deadline
from inbox_app.cards.decision_bar import DecisionBar
from inbox_app.chat.part import Part
from inbox_app.chat.question_body import QuestionBody
from inbox_app.gateway import values
from inbox_app.gateway.base import Decision, Json, Pause
from inbox_app.models.pause_facts import content
from inbox_app.state.drafts import Draft
from inbox_app.state.outbox import Sending, Wish
from inbox_app.state.seen import Seen
from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import FOCUS_RING, LINE_HEIGHT, RADIUS_OPTION, SPACE_1
from inbox_app.widgets.line_field import is_field

DWELL_MS = 150
"""What flies by in less is not counted as seen."""
SLACK = 8


@dataclass(frozen=True, slots=True)
class Clocks:
    """``wall``: seconds since the epoch. ``steady``: what the sleep of a card is measured by."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic


class QuestionPart(Part):
    """Made for one question. It has the states of the inbox's pane and asks for the same things by its signals.

    It is an `Answering` of the window while the keyboard is in it. The payload is edited in the inbox; what was edited
    there is shown and sent from here.
    """

    answer_requested = Signal(object)
    undo_requested = Signal(str)
    retry_requested = Signal(str)
    draft_changed = Signal(object)
    go_to_pause = Signal(str)
    go_to_run = Signal(str)
    state_changed = Signal()
    wanted = Signal(QRect)
    """A part of it is to be brought into view."""
    takes_focus = True

    def __init__(
        self, theme: Theme, pause: Pause, draft: Draft | None, clocks: Clocks, parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, parent)
        self._clocks = clocks
        self._asked = pause
        self._pause: Pause | None = None
        self._fresh: Pause | None = None
        self._draft = (draft or Draft(pause.id, pause.fingerprint)).under(pause.fingerprint)
        self._closed = False
        self._late = self._counted = False
        self._body: QuestionBody | None = None
        self._seen = Seen()
        self._view = self._next_view = (0, 0)
        self._deadline = Deadline(clocks.wall, self)
        self._dwell = QTimer(self)
        self._dwell.setSingleShot(True)
        self._dwell.setInterval(DWELL_MS)
        self._dwell.timeout.connect(self._on_dwelt)
        self._freeing = QTimer(self)
        self._freeing.setSingleShot(True)
        self._freeing.setInterval(round(QUIET_SECONDS * 1000))
        self._freeing.timeout.connect(self._on_typed_out)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._bar = DecisionBar(theme, self, clock=clocks.wall, steady_clock=clocks.steady, parent=self)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(
            FOCUS_RING, FOCUS_RING, FOCUS_RING, theme.px(SPACE_1)
        )  # the bar has no round corners
        self._column.setSpacing(0)
        self._column.addWidget(self._bar)
        self._connect()
        theme.changed.connect(self.update)
        self._build(pause)

    # What the window asks

    @property
    def pause(self) -> Pause | None:
        """The question, while it is open."""
        return self._pause

    @property
    def pause_id(self) -> str:
        return self._asked.id

    @property
    def run_id(self) -> str | None:
        return self._asked.run_id

    @property
    def is_answerable(self) -> bool:
        return self._pause is not None and not self._closed

    @property
    def can_send(self) -> bool:
        return self._bar.can_send

    @property
    def can_undo(self) -> bool:
        return self._bar.can_undo

    def pick(self, number: int) -> None:
        if self._body is not None and self._bar.can_pick:
            self._body.card.pick(number)

    def pick_word(self, yes: bool) -> None:
        if self._body is not None and self._bar.can_pick:
            self._body.card.pick_word(yes)

    def send(self) -> None:
        self._bar.send()

    def undo(self) -> None:
        self._on_undo()

    def edit(self) -> None:
        self.go_to_pause.emit(self._asked.id)

    def write_note(self) -> None:
        if self._body is not None:
            self._body.write_note(Qt.FocusReason.ShortcutFocusReason)

    def leave(self) -> bool:
        """Out of a field to the frame; False if the keyboard is not in a field of it."""
        if not self._is_in_field:
            return False
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        return True

    # What is shown

    def update_pause(self, pause: Pause) -> None:
        """The question as the runtime has it now; content that changed is never swapped under the reader."""
        shown = self._pause
        if shown is None or pause is shown or pause is self._fresh:
            return
        if content(shown) != content(pause):
            self._fresh = pause
            self._set_closed(True)
            self._bar.show_state(bar_states.changed())
        elif (pause.eligible and not shown.eligible) or (shown.stopped and not pause.stopped):
            self._build(pause)
        else:
            self._pause = pause
            if self._body is not None:
                self._body.show_votes(pause.votes)
            self._deadline.watch(pause.expires_at)
            self._bar_or_open(pause)
        self.state_changed.emit()

    def show_draft(self, draft: Draft | None) -> None:
        """What was prepared for this question elsewhere meanwhile."""
        draft = (draft or Draft(self._asked.id, self._asked.fingerprint)).under(self._asked.fingerprint)
        if self._pause is not None and draft != self._draft and self._bar.sending is None:
            self._draft = draft
            self._build(self._pause)

    def close_pause(self, decision: Decision | None = None, following: Pause | None = None) -> None:
        """No longer open, and it was not this window that answered it."""
        if self._pause is not None:
            self._counted = self._pause.votes is not None and self._pause.votes.mine
        elif decision is None:
            return
        self._set_closed(True)
        self._deadline.watch(None)
        self._bar.show_state(bar_states.closed(decision, following, self._kept, late=self._late, counted=self._counted))
        self._pause = None
        self.state_changed.emit()

    def show_sending(self, sending: Sending | None) -> None:
        """Where the answer to the question stands."""
        if self._pause is None:
            return
        self._set_closed(sending is not None and sending.state in ("held", "sending", "done", "refused"))
        self._late = sending is not None and sending.refusal == "expired"
        self._bar.set_sending(sending)
        if sending is None:
            self._bar_or_open(self._pause)
            self._offer()
        self.state_changed.emit()

    def tab_stops(self) -> Sequence[QWidget]:
        body = self._body.findChildren(QWidget) if self._body is not None else []
        return [self, *body, *self._bar.findChildren(QWidget)]

    def look(self, top: int, bottom: int) -> None:
        """Which part of it is in view, in its own coordinates; told whenever that may have changed."""
        self._next_view = (top, bottom)
        if not self._dwell.isActive():
            self._dwell.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = rounded(self.rect(), RADIUS_OPTION, 0.5)
        painter.fillPath(frame, theme.color("card"))
        painter.setPen(QPen(theme.color("waiting" if self.is_answerable else "line"), 1))
        painter.drawPath(frame)
        if self.hasFocus():
            painter.setPen(QPen(theme.color("focus"), FOCUS_RING))
            painter.drawPath(rounded(self.rect(), RADIUS_OPTION, FOCUS_RING / 2))
        painter.end()

    # Inside

    def _connect(self) -> None:
        self._deadline.passed.connect(self._on_deadline_passed)
        self._bar.answer_requested.connect(self._on_answer)
        self._bar.answer_requested.connect(self.answer_requested)
        self._bar.awake_changed.connect(self._on_awake_changed)
        self._bar.can_send_changed.connect(self.state_changed)
        self._bar.undo_requested.connect(self._on_undo)
        self._bar.retry_requested.connect(self._on_retry)
        self._bar.reload_requested.connect(self._on_reload)
        self._bar.correct_requested.connect(self._on_open)
        self._bar.next_requested.connect(self.go_to_pause)
        self._bar.run_requested.connect(self._on_run)
        self._bar.rest_requested.connect(self._on_rest)

    def _build(self, pause: Pause) -> None:
        """Show the question anew, with what is prepared for it."""
        focus = QApplication.focusWidget()
        old = self._body
        if focus is not None and old is not None and old.isAncestorOf(focus):
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        self._asked, self._fresh, self._closed = pause, None, False
        self._body = QuestionBody(self._theme, pause, self._draft, self._clocks.wall(), self)
        self._body.changed.connect(self._on_changed)
        self._body.open_wanted.connect(self._on_open)
        self._column.insertWidget(0, self._body)
        if old is not None:
            self._column.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._body.show()
        self.setAccessibleName(self._body.accessibleName())
        self.setAccessibleDescription(self._body.accessibleDescription())
        self._seen = Seen()
        self._pause = pause
        edited, has_edits, _ = self._edits()
        if has_edits:
            self._body.show_edited(pause.context, edited)
        self._bar.open(pause.connection, production=False)
        self._deadline.watch(pause.expires_at)
        self._bar_or_open(pause)
        self._offer()
        self.fitted.emit()

    def _edits(self) -> tuple[Json, bool, str]:
        """What was edited in the inbox, whether anything was, and what is wrong with it."""
        pause = self._pause or self._asked
        if self._draft.edits is None or not pause.allow_edits:
            return None, False, ""
        try:
            edited = values.parse(self._draft.edits)
        except values.BadJsonError:
            return None, False, self.tr("Correct the edit in the inbox")
        return edited, values.canonical(edited) != values.canonical(pause.context), ""

    @property
    def _kept(self) -> bar_states.Kept:
        """What is kept of an answer that was not sent."""
        return "" if self._draft.is_empty else "text" if self._draft.text else "pick"

    def _set_closed(self, closed: bool) -> None:
        self._closed = closed
        if closed and self._is_in_field:
            self._freeing.start()  # the rest of what is being typed is no command
        if self._body is not None:
            self._body.set_closed(closed)
        self.update()

    @property
    def _is_in_field(self) -> bool:
        focus = QApplication.focusWidget()
        return focus is not None and is_field(focus) and self.isAncestorOf(focus)

    @Slot()
    def _on_typed_out(self) -> None:
        """The keys are commands again when the typing has stopped."""
        if self.is_answerable:
            return
        if self._bar.is_typed_into:
            self._freeing.start()
        else:
            self.leave()

    def _bar_or_open(self, pause: Pause) -> None:
        if self._bar.sending is not None:
            return
        barrier = bar_states.barrier(pause, self._clocks.wall(), self._kept)
        if barrier is None:
            self._set_closed(False)
        else:
            self._set_closed(True)
            self._bar.show_state(barrier)

    def _offer(self) -> None:
        """Tell the bar what would be sent, built from what is shown and nothing else."""
        if self._pause is None or self._body is None:
            return
        card = self._body.card
        edited, has_edits, wrong = self._edits()
        picked = card.picked()
        if wrong or picked is None:
            self._bar.offer(None, wrong or card.problem(), can_correct=bool(wrong))
        else:
            note = self._body.note
            wish = Wish(self._pause, picked.value, picked.label, edited, has_edits, note, card.is_typed, self._draft)
            self._bar.offer(wish, card.problem())
        self.state_changed.emit()

    @Slot()
    def _on_changed(self) -> None:
        if self._pause is None or self._body is None:
            return
        kept = Draft(self._pause.id, self._pause.fingerprint, edits=self._draft.edits, note=self._body.note)
        self._draft = self._body.card.draft(kept)
        self._offer()
        self.draft_changed.emit(self._draft)

    @Slot()
    def _on_dwelt(self) -> None:
        before, self._view = self._view, self._next_view
        self._seen.add(max(before[0], self._view[0], 0), min(before[1], self._view[1], self._body_height))
        missing = sum(end - start for start, end in self._gaps())
        self._bar.set_unseen(-(-missing // self._theme.px(LINE_HEIGHT["body"])))
        if before != self._view:
            self._dwell.start()

    @property
    def _body_height(self) -> int:
        return self._body.height() if self._body is not None else 0

    def _gaps(self) -> list[tuple[int, int]]:
        slack = self._theme.px(SLACK)
        return [(start, end) for start, end in self._seen.missing(self._body_height) if end - start > slack]

    @Slot()
    def _on_rest(self) -> None:
        gaps = self._gaps()
        if gaps:
            self.wanted.emit(QRect(0, gaps[0][0], self.width(), gaps[0][1] - gaps[0][0]))

    @Slot()
    def _on_deadline_passed(self) -> None:
        if self._pause is not None:
            self._bar_or_open(self._pause)
            self.state_changed.emit()

    @Slot(bool)
    def _on_awake_changed(self, awake: bool) -> None:
        if self._body is not None:
            self._body.card.set_awake(awake)
        self.state_changed.emit()

    @Slot()
    def _on_answer(self) -> None:
        """The operator is done with the fields: the keys go to the commands."""
        self.leave()

    @Slot()
    def _on_undo(self) -> None:
        if self._bar.can_undo:
            self.undo_requested.emit(self._asked.id)

    @Slot()
    def _on_retry(self) -> None:
        self.leave()
        self.retry_requested.emit(self._asked.id)

    @Slot()
    def _on_reload(self) -> None:
        self._build(self._fresh or self._pause or self._asked)

    @Slot()
    def _on_open(self) -> None:
        self.go_to_pause.emit(self._asked.id)

    @Slot()
    def _on_run(self) -> None:
        self.go_to_run.emit(self._asked.run_id)
