"""The reading pane: head, tabs and the decision bar of one question, or of one run that has ended.

How the window drives it::

    pane = RequestPane(theme, parent=...)          # clock=... for tests; seconds since the epoch
    pane.show_pause(pause, draft, detail=None, production=False)   # a question; becomes current, arms after 700 ms
    pane.update_pause(pause)                       # the shown question changed (deadline, eligibility, content)
    pane.show_run(detail)                          # a run without an open question: read only
    pane.set_detail(detail)                        # the run of what is shown, when it arrives later
    pane.apply_calls(run_id, calls)                # from Batch.calls; ignored for another run
    pane.set_outbox_state(sending)                 # `Outbox.get(pause_id)`, None if there is none
    pane.close_pause(decision, following)          # the shown question was closed elsewhere (decision may be None)
    pane.show_nothing(text)

    pane.answer_requested -> Sender.hold           # object: state.outbox.Wish
    pane.undo_requested   -> Sender.undo           # str: pause id
    pane.retry_requested  -> Sender.retry          # str: pause id
    pane.draft_changed    -> Drafts.put            # object: state.drafts.Draft, on every change
    pane.go_to_pause      -> select it in the list # str: pause id
    pane.go_to_run        -> select it in history  # str: run id
    pane.resume_wanted    -> RunActs.ask_resume    # bool: with the old code
    pane.cancel_wanted    -> RunActs.ask_cancel
    pane.state_changed    -> refresh actions       # can_send, can_undo, what is shown

Commands act through ``pick``, ``pick_word``, ``send``, ``undo``, ``edit``, ``write_note``, ``show_tab``, ``leave``,
``enter``, ``focus_home``. None of them sends but ``send``, and it sends only what the decision bar offers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from inbox_app.cards import bar_states
from inbox_app.cards.deadline import Deadline
from inbox_app.commands.base import TabName
from inbox_app.gateway.base import Call, Decision, Pause, RunDetail
from inbox_app.models.pause_facts import call_id, content, size_of
from inbox_app.state.drafts import Draft
from inbox_app.state.outbox import Sending
from inbox_app.theme.theme import Theme
from inbox_app.views import run_states
from inbox_app.views.prepared import Prepared
from inbox_app.views.request_frame import RequestFrame
from inbox_app.views.run_acts import IDLE, Acting
from inbox_app.widgets.hidden_text import reveal

TABS: Final[tuple[TabName, ...]] = ("card", "payload", "tree", "history")


class RequestPane(RequestFrame):
    answer_requested = Signal(object)
    undo_requested = Signal(str)
    retry_requested = Signal(str)
    draft_changed = Signal(object)
    go_to_pause = Signal(str)
    go_to_run = Signal(str)
    state_changed = Signal()
    resume_wanted = Signal(bool)
    cancel_wanted = Signal()

    def __init__(
        self,
        theme: Theme,
        *,
        clock: Callable[[], float] = time.time,
        steady_clock: Callable[[], float] = time.monotonic,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, clock, steady_clock, parent)
        self._pause: Pause | None = None
        self._fresh: Pause | None = None
        self._detail: RunDetail | None = None
        self._run_id: str | None = None
        self._draft: Draft | None = None
        self._closed = False
        self._late = self._counted = False
        self._deadline = Deadline(clock, self)
        self._prepared = Prepared(self._card_page, self._payload_page)
        self.acting: Callable[[str], Acting] = _nothing_done
        """What is being done to a run."""
        self._connect()
        self.show_nothing("")

    # What is shown

    @property
    def pause(self) -> Pause | None:
        """The open question that is shown."""
        return self._pause

    @property
    def run_id(self) -> str | None:
        return self._run_id

    @property
    def is_answerable(self) -> bool:
        """Whether something can be picked or written for the shown question."""
        return self._pause is not None and not self._closed

    def show_pause(
        self, pause: Pause, draft: Draft | None = None, detail: RunDetail | None = None, *, production: bool = False
    ) -> None:
        self._take_focus()
        self._start(pause.run_id, production=production)
        self._draft = (draft or Draft(pause.id, pause.fingerprint)).under(pause.fingerprint)
        self._tabs.set_word(0, self.tr("Card"))
        self._head.show_pause(pause, production=production)
        self._home.setAccessibleName(reveal(pause.question)[:1000])
        self._whole.setCurrentWidget(self._home)
        self._payload_page.show_pause(pause, self._draft.edits)
        self._tabs.set_count(1, size_of(pause))
        self._card_page.show_pause(pause)
        self._on_title_fitted()
        self._prepared.restore(self._draft)
        self._pause = pause  # only now: a field that is filled is no change by the operator
        self._tabs.setCurrentIndex(0)
        self._bar.open(pause.connection, production=production)
        self._deadline.watch(pause.expires_at)
        self._bar_or_open(pause)
        if detail is not None:
            self.set_detail(detail)
        self._prepared.show_edits(pause)
        self._chain()
        self._offer()

    def update_pause(self, pause: Pause) -> None:
        """The shown question as the runtime has it now; content that changed is never swapped under the reader."""
        shown = self._pause
        if shown is None or shown.id != pause.id:
            return
        if content(shown) != content(pause):
            self._fresh = pause
            self._set_closed(True)
            self._bar.show_state(bar_states.changed())
        elif (pause.eligible and not shown.eligible) or (shown.stopped and not pause.stopped):
            self.show_pause(pause, self._draft, self._detail, production=self._production)
        else:
            self._pause = pause
            self._head.show_pause(pause, production=self._production)
            self._card_page.show_news(pause)
            self._deadline.watch(pause.expires_at)
            self._bar_or_open(pause, on_its_way=self._bar.sending is not None)
            self._offer()
        self.state_changed.emit()

    def close_pause(self, decision: Decision | None = None, following: Pause | None = None) -> None:
        """The shown question is no longer open and it was not this window that answered it.

        Called again when it is known how it ended (``decision``) and what the run asks now (``following``).
        """
        if self._draft is None or (self._pause is None and decision is None):
            return
        if self._pause is not None:
            self._counted = self._pause.votes is not None and self._pause.votes.mine
        self._set_closed(True)
        self._deadline.watch(None)
        if self._pause is None or decision is not None or not self._pause.is_over(self._clock()):
            kept = self._prepared.kept(self._draft)
            self._bar.show_state(bar_states.closed(decision, following, kept, late=self._late, counted=self._counted))
        self._pause = None
        self.state_changed.emit()

    def show_run(self, detail: RunDetail, *, production: bool = False) -> None:
        self._take_focus()
        self._start(detail.run.id, production=production)
        self._tabs.set_word(0, self.tr("Result"))
        self._whole.setCurrentWidget(self._home)
        self._tabs.setCurrentIndex(0)
        self._show_run(detail)
        self.state_changed.emit()

    def shows_run(self, run_id: str) -> bool:
        """Whether it is the page of that run, not of a question of it."""
        return run_id == self._run_id and self._draft is None

    def show_nothing(self, text: str, more: str = "") -> None:
        self._take_focus()
        self._start(None, production=False)
        self._empty.show_text("inbox", text, more)
        self._whole.setCurrentWidget(self._empty)
        self._bar.show_state(bar_states.NOTHING)
        self.state_changed.emit()

    def set_detail(self, detail: RunDetail) -> None:
        """The run of what is shown: its calls and what was decided in it."""
        if detail.run.id != self._run_id:
            return
        if self._pause is None and self._draft is None:
            self._show_run(detail)
        else:
            first, self._detail = self._detail is None, detail
            self._card_page.show_warnings(detail.run.warnings)
            self._show_course(detail, first=first)
        self.state_changed.emit()

    @property
    def tells_acts(self) -> bool:
        """Whether the page says what is being done to the run and why it was refused."""
        return self._card_page.has_ways

    def show_acting(self, run_id: str) -> None:
        """Something is done to a run, or was refused."""
        if run_id == self._run_id and self._card_page.has_ways:
            self._take_focus()
            self._card_page.show_acting(self.acting(run_id))

    def apply_calls(self, run_id: str, calls: Sequence[Call]) -> None:
        if run_id == self._run_id:
            self._calls.apply(calls)

    def set_outbox_state(self, sending: Sending | None) -> None:
        """Where the answer to the shown question stands."""
        if self._pause is None or (sending is not None and sending.pause_id != self._pause.id):
            return
        self._set_closed(sending is not None and sending.state in ("held", "sending", "done", "refused"))
        self._late = sending is not None and sending.refusal == "expired"
        self._bar.set_sending(sending)
        if sending is None:
            self._bar_or_open(self._pause)
            self._offer()
        self.state_changed.emit()

    # What commands do

    def undo(self) -> None:
        self._on_undo()

    def edit(self) -> None:
        if self._pause is not None and self._pause.allow_edits:
            self._tabs.setCurrentIndex(1)
            self._payload_page.start_editing()

    def show_tab(self, tab: TabName) -> None:
        self._tabs.setCurrentIndex(TABS.index(tab))
        if tab == "tree":
            if self._pause is not None:
                self._calls.show_call(call_id(self._pause.run_id, self._pause.id))
            self._calls.view.setFocus(Qt.FocusReason.ShortcutFocusReason)

    # Inside

    def _connect(self) -> None:
        self._deadline.passed.connect(self._on_deadline_passed)
        self._card_page.changed.connect(self._on_changed)
        self._card_page.payload_wanted.connect(self._on_payload_wanted)
        self._card_page.resume_wanted.connect(self.resume_wanted)
        self._card_page.cancel_wanted.connect(self.cancel_wanted)
        self._payload_page.edited.connect(self._on_edited)
        self._calls.go_to_card.connect(self._on_go_to_card)
        self._bar.answer_requested.connect(self._on_answer)
        self._bar.answer_requested.connect(self.answer_requested)
        self._bar.awake_changed.connect(self._on_awake_changed)
        self._bar.can_send_changed.connect(self.state_changed)
        self._bar.undo_requested.connect(self._on_undo)
        self._bar.retry_requested.connect(self._on_retry)
        self._bar.reload_requested.connect(self._on_reload)
        self._bar.next_requested.connect(self.go_to_pause)
        self._bar.correct_requested.connect(self._on_correct)
        self._bar.run_requested.connect(self._on_run_wanted)

    def _start(self, run_id: str | None, *, production: bool) -> None:
        """Forget what was shown."""
        if run_id is None or run_id != self._run_id:
            self._calls.load(())
            self._tabs.set_count(2, None)
            self._tabs.set_count(3, None)
            self._decisions.show_decisions(())
        self._pause = self._fresh = None
        self._detail = None
        self._draft = None
        self._late = self._counted = False
        self._deadline.watch(None)
        self._run_id = run_id
        self._set_production(production)

    def _show_run(self, detail: RunDetail) -> None:
        again = self._detail is not None and detail.run == self._detail.run
        first = self._detail is None
        self._detail = detail
        run = detail.run
        if not again:
            words = run_states.title(run)
            self._head.show_run(run, words, production=self._production)
            self._home.setAccessibleName(words)
            self._take_focus()
            self._card_page.show_run(run, self.acting(run.id))
            self._payload_page.show_run(run)
            self._tabs.set_count(1, None)
            self._bar.show_state(run_states.bar(run))
            self._chain()
        self._show_course(detail, first=first)

    def _set_closed(self, closed: bool) -> None:
        self._closed = closed
        self._card_page.set_closed(closed)
        self._payload_page.set_closed(closed)
        if closed:
            self._free_keys()

    def _bar_or_open(self, pause: Pause, *, on_its_way: bool = False) -> None:
        """Close what cannot be answered, with the reason in the bar; open what can, unless an answer is on its way."""
        barrier = bar_states.barrier(pause, self._clock(), self._prepared.kept(self._draft))
        if barrier is not None:
            self._set_closed(True)
            self._bar.show_state(barrier)
        elif not on_its_way:
            self._set_closed(False)

    @Slot()
    def _on_deadline_passed(self) -> None:
        """Nothing is sent any more; an answer that is on its way is for the runtime to judge."""
        if self._pause is not None and self._bar.sending is None:
            self._bar_or_open(self._pause)
            self.state_changed.emit()

    def _offer(self) -> None:
        """Tell the bar what would be sent, built from what is shown and nothing else."""
        if self._pause is not None:
            self._bar.offer(*self._prepared.wish(self._pause), can_correct=self._prepared.can_correct)
            self.state_changed.emit()

    @Slot()
    def _on_changed(self) -> None:
        if self._pause is not None:
            self._offer()
            self._draft = self._prepared.draft(self._pause)
            self.draft_changed.emit(self._draft)

    @Slot()
    def _on_edited(self) -> None:
        if self._pause is not None:
            self._prepared.show_edits(self._pause)
        self._on_changed()

    @Slot(bool)
    def _on_awake_changed(self, awake: bool) -> None:
        if self._card_page.card is not None:
            self._card_page.card.set_awake(awake)
        self.state_changed.emit()

    @Slot()
    def _on_payload_wanted(self) -> None:
        if self._pause is not None and self._pause.allow_edits:
            self.edit()
        else:
            self._tabs.setCurrentIndex(1)

    @Slot(str)
    def _on_go_to_card(self, asker: str) -> None:
        pauses = self._detail.pauses if self._detail is not None else ()
        found = [item for item in pauses if call_id(item.run_id, item.id) == asker] or list(pauses[:1])
        if self._pause is not None and (not found or found[0].id == self._pause.id):
            self._tabs.setCurrentIndex(0)
        elif found:
            self.go_to_pause.emit(found[0].id)

    @Slot()
    def _on_correct(self) -> None:
        """Lead to what is wrong with the edit; one that the runtime refused can be edited again."""
        sending = self._bar.sending
        if sending is not None and sending.code == "edits_invalid":
            problem = sending.message.partition(f"{sending.pause_id}: ")[2] or sending.message
            self._on_reload()
            self._payload_page.show_refusal(problem)
            self._offer()
        self._tabs.setCurrentIndex(1)
        self._payload_page.show_problem()

    @Slot()
    def _on_run_wanted(self) -> None:
        self.go_to_run.emit(self._run_id)

    @Slot()
    def _on_undo(self) -> None:
        if self._pause is not None and self._bar.can_undo:
            self.undo_requested.emit(self._pause.id)

    @Slot()
    def _on_answer(self) -> None:
        """The operator is done with the fields: the keys go to the commands."""
        self.leave()

    @Slot()
    def _on_retry(self) -> None:
        if self._pause is not None:
            self.leave()
            self.retry_requested.emit(self._pause.id)

    @Slot()
    def _on_reload(self) -> None:
        """Show the question again as it is now, with what was prepared for it."""
        pause = self._fresh or self._pause
        if pause is not None:
            self.show_pause(pause, self._draft, self._detail, production=self._production)


def _nothing_done(run_id: str) -> Acting:
    return IDLE
