"""Exactly one answer per pause leaves, never before its time, and none that was taken back."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from inbox_app.gateway.base import Answer, Outcome
from inbox_app.state.outbox import Outbox, Wish
from tests.support.builders import NOW, pause

DONE = Outcome("complete", "dur_1")


def wish(pause_id: str = "p", value: object = "yes", **changes: object) -> Wish:
    return Wish(pause(1, id=pause_id, **changes), value, str(value))  # pyright: ignore[reportArgumentType]


def test_an_answer_is_held_then_sent_once() -> None:
    outbox = Outbox(5)
    held = outbox.hold(wish(), NOW)
    assert held is not None
    assert held.leaves_at == NOW + 5
    assert outbox.due(NOW + 4.9) == []
    assert [item.state for item in outbox.due(NOW + 5)] == ["sending"]
    assert outbox.due(NOW + 60) == []


def test_the_answer_is_built_from_the_pause_as_it_was_shown() -> None:
    outbox = Outbox(0)
    outbox.hold(
        Wish(pause(3, id="p3", run_id="dur_3", fingerprint="abc"), [], "[]", edits={}, has_edits=True, note="n"), NOW
    )
    answer = outbox.due(NOW)[0].answer
    assert (answer.run_id, answer.pause_id, answer.fingerprint) == ("dur_3", "p3", "abc")
    assert (answer.value, answer.edits, answer.has_edits, answer.note) == ([], {}, True, "n")
    assert answer.key


def test_a_runtime_without_fingerprints_gets_no_extensions() -> None:
    outbox = Outbox(0)
    outbox.hold(wish(fingerprint=None), NOW)
    answer = outbox.due(NOW)[0].answer
    assert (answer.pause_id, answer.fingerprint, answer.key) == (None, None, None)


def test_undo_inside_the_window_sends_nothing() -> None:
    outbox = Outbox(5)
    first = wish()
    outbox.hold(first, NOW)
    assert outbox.undo("p", NOW + 4) is first
    assert outbox.due(NOW + 60) == []
    assert outbox.get("p") is None


def test_undo_after_the_window_does_nothing() -> None:
    outbox = Outbox(5)
    outbox.hold(wish(), NOW)
    assert outbox.undo("p", NOW + 5) is None
    assert len(outbox.due(NOW + 5)) == 1
    assert outbox.undo("p", NOW + 5) is None


@pytest.mark.parametrize(
    ("undo", "left", "window"), [(5, 60, 5), (5, 4, 2), (5, 1, 0), (5, -3, 0), (99, 500, 30), (-1, 9, 0)]
)
def test_the_window_is_shorter_when_the_deadline_is_nearer(undo: float, left: float, window: float) -> None:
    held = Outbox(undo).hold(wish(expires_at=NOW + left), NOW)
    assert held is not None
    assert held.leaves_at == NOW + window


def test_a_second_answer_to_the_same_pause_is_not_taken() -> None:
    outbox = Outbox(5)
    outbox.hold(wish(value="yes"), NOW)
    assert outbox.hold(wish(value="no"), NOW + 0.1) is None
    outbox.due(NOW + 5)
    assert outbox.hold(wish(value="no"), NOW + 6) is None
    outbox.succeeded("p", DONE)
    assert outbox.hold(wish(value="no"), NOW + 7) is None


@pytest.mark.parametrize(
    ("code", "state", "refusal"),
    [
        ("content_changed", "refused", "changed"),
        ("pause_superseded", "refused", "elsewhere"),
        ("not_awaiting_input", "refused", "elsewhere"),
        ("run_cancelled", "refused", "cancelled"),
        ("pause_expired", "refused", "expired"),
        ("answerer_not_allowed", "refused", "not-yours"),
        ("edits_invalid", "refused", "rejected"),
        ("VALIDATION_ERROR", "refused", "rejected"),
        ("CONNECTION_FAILED", "failed", ""),
        ("INTERNAL_ERROR", "failed", ""),
    ],
)
def test_every_refusal_has_its_own_reason(code: str, state: str, refusal: str) -> None:
    outbox = Outbox(0)
    outbox.hold(wish(), NOW)
    outbox.due(NOW)
    ended = outbox.failed("p", code, "words", {"answered_by": "tom"})
    assert ended is not None
    assert (ended.state, ended.refusal, ended.message) == (state, refusal, "words")


def test_a_retry_is_the_same_answer_with_the_same_key() -> None:
    outbox = Outbox(0)
    outbox.hold(wish(), NOW)
    first = outbox.due(NOW)[0].answer
    outbox.failed("p", "CONNECTION_FAILED", "no")
    again = outbox.retry("p")
    assert again is not None
    assert again.answer == first
    assert outbox.retry("p") is None


def test_a_refused_answer_is_not_sent_again_but_a_new_one_may_be() -> None:
    outbox = Outbox(0)
    outbox.hold(wish(), NOW)
    key = outbox.due(NOW)[0].answer.key
    outbox.failed("p", "content_changed", "changed")
    assert outbox.retry("p") is None
    fresh = outbox.hold(wish(), NOW + 9)
    assert fresh is not None
    assert fresh.answer.key != key


def test_closing_takes_back_what_is_held_and_nothing_else() -> None:
    outbox = Outbox(5)
    outbox.hold(wish("a"), NOW)
    outbox.due(NOW + 5)
    outbox.hold(wish("b"), NOW + 6)
    assert [item.pause.id for item in outbox.take_back_all()] == ["b"]
    assert [item.pause_id for item in outbox.all()] == ["a"]
    assert outbox.next_due() is None


class OutboxMachine(RuleBasedStateMachine):
    """Any order of holds, undos, time, replies and closings."""

    pauses = st.sampled_from(["a", "b", "c"])

    def __init__(self) -> None:
        super().__init__()
        self.outbox = Outbox(5)
        self.now = NOW
        self.sent: dict[str, list[Answer]] = {}
        self.taken: set[str] = set()
        self.undone: list[str] = []

    @rule(pause_id=pauses, value=st.sampled_from([True, None, 0, ""]))
    def hold(self, pause_id: str, value: object) -> None:
        before = self.outbox.get(pause_id)
        held = self.outbox.hold(wish(pause_id, value), self.now)
        assert (held is None) == (before is not None and before.state in ("held", "sending", "done"))

    @rule(pause_id=pauses)
    def undo(self, pause_id: str) -> None:
        before = self.outbox.get(pause_id)
        taken = self.outbox.undo(pause_id, self.now)
        if taken is not None:
            assert before is not None
            assert before.state == "held"
            self.undone.append(before.answer.key or "")

    @rule(seconds=st.sampled_from([0.0, 0.5, 4.9, 5.0, 60.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for item in self.outbox.due(self.now):
            assert item.leaves_at <= self.now
            self.sent.setdefault(item.pause_id, []).append(item.answer)

    @rule(pause_id=pauses)
    def reply(self, pause_id: str) -> None:
        if self.outbox.succeeded(pause_id, DONE) is not None:
            self.taken.add(pause_id)

    @rule(pause_id=pauses, code=st.sampled_from(["CONNECTION_FAILED", "content_changed", "pause_superseded"]))
    def refuse(self, pause_id: str, code: str) -> None:
        self.outbox.failed(pause_id, code, "words")

    @rule(pause_id=pauses)
    def retry(self, pause_id: str) -> None:
        item = self.outbox.retry(pause_id)
        if item is not None:
            assert item.answer == self.sent[pause_id][-1]

    @rule()
    def close(self) -> None:
        self.undone += [item.answer.key or "" for item in self.outbox.all() if item.state == "held"]
        self.outbox.take_back_all()

    @invariant()
    def nothing_undone_was_sent(self) -> None:
        keys = [answer.key for answers in self.sent.values() for answer in answers]
        assert len(keys) == len(set(keys))
        assert not set(keys) & set(self.undone)

    @invariant()
    def done_is_final(self) -> None:
        for pause_id in self.taken:
            item = self.outbox.get(pause_id)
            assert item is not None
            assert item.state == "done"


TestOutboxMachine = OutboxMachine.TestCase
TestOutboxMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
