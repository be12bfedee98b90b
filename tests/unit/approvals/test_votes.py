"""Questions that take several people: equal answers add up, one refusal refuses, nobody counts twice (decision 7)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime_core.approvals.answering import judge, recorded
from runtime_core.approvals.eligibility import pause_wire
from runtime_core.approvals.questions import question
from runtime_core.journal.base import Answer
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.runs import PauseRow
from tests.unit.journal.stories import answered, claimed, parked, pause_row, play, refused, run_row

RUN = run_row(status="awaiting-input")


def asking(kind: Any = "input", slot: str = "0", **rules: Any) -> PauseRow:
    spec = question(kind, json.dumps({"question": "Q", "quorum": 2, **rules}))
    return pause_row(slot=slot, kind=kind, spec=spec)


def vote(pause: PauseRow, who: str, value: str = '"yes"', **more: Any) -> PauseRow:
    return judge(RUN, [pause], Answer("dur_a", value, who, **more))


def refusal(pause: PauseRow, who: str, value: str = '"yes"', **more: Any) -> RuntimeFault:
    with pytest.raises(RuntimeFault) as caught:
        vote(pause, who, value, **more)
    return caught.value


def test_the_answer_that_reaches_the_quorum_closes_the_question() -> None:
    first = vote(asking(quorum=3), "ann", note="fine")
    assert (first.outcome, first.answer) == (None, None)
    assert first.to_wire()["votes"] == {"needed": 3, "given": 1, "by": ["ann"]}
    last = vote(vote(first, "bob"), "eve")
    assert (last.outcome, last.answer, last.answered_by) == ("answered", '"yes"', "eve")
    assert last.to_wire()["votes"] == {"needed": 3, "given": 3, "by": ["ann", "bob", "eve"]}
    returned = json.loads(recorded(last).value or "")
    assert (returned["value"], returned["respondedBy"]) == ("yes", "eve")
    assert [(one["respondedBy"], one["value"], one.get("note")) for one in returned["votes"]] == [
        ("ann", "yes", "fine"),
        ("bob", "yes", None),
        ("eve", "yes", None),
    ]


def test_one_person_is_enough_without_a_quorum_or_with_one_of_one() -> None:
    for pause in (pause_row(), asking(quorum=1)):
        assert vote(pause, "ann").outcome == "answered"
        assert pause.to_wire()["votes"] is None


def test_the_same_person_does_not_count_twice() -> None:
    first = vote(asking(), "ann")
    for value in ('"yes"', '"no"'):
        fault = refusal(first, "ann", value)
        assert (fault.code, fault.details["votes"]["by"]) == ("already_voted", ["ann"])
        assert "ann has already answered" in fault.message
        assert "1 of 2" in fault.message
    wire = pause_wire(first, "ann", status="awaiting-input")
    assert wire["eligible"] is False
    assert "ann has already answered" in wire["reason"]
    assert pause_wire(first, "bob", status="awaiting-input")["eligible"] is True


def test_without_a_pause_id_the_next_question_one_has_not_answered_is_meant() -> None:
    first, second = vote(asking(slot="0"), "ann"), asking(slot="1")
    assert judge(RUN, [first, second], Answer("dur_a", '"yes"', "ann")).id == second.id
    assert judge(RUN, [first, second], Answer("dur_a", '"yes"', "bob")).id == first.id


@pytest.mark.parametrize(
    ("kind", "one", "other", "agree"),
    [
        ("input", '{"a": 1, "b": [2]}', '{"b":[2],"a":1}', True),
        ("input", "1.50", "1.5", False),
        ("input", '"yes"', "true", False),
        ("input", "null", "false", False),
        ("approval", '"yes"', "true", True),
        ("approval", '"approved"', '{"approved": true, "note": "n"}', True),
    ],
)
def test_answers_agree_if_they_are_equal_as_json_or_both_approve(kind: Any, one: str, other: str, agree: bool) -> None:
    first = vote(asking(kind), "ann", one)
    if agree:
        assert vote(first, "bob", other).outcome == "answered"
    else:
        fault = refusal(first, "bob", other)
        assert (fault.code, fault.details["votes"]) == ("votes_differ", {"needed": 2, "given": 1, "by": ["ann"]})
        assert f"ann answered {one}" in fault.message


@pytest.mark.parametrize(("one", "other"), [(None, "{}"), ("{}", None), ('{"a":1}', '{"a":2}')])
def test_edits_have_to_agree_too(one: str | None, other: str | None) -> None:
    first = vote(asking("approval", allowEdits=True), "ann", edits=one)
    assert refusal(first, "bob", edits=other).code == "votes_differ"
    assert vote(first, "bob", edits=one).edits == one


@pytest.mark.parametrize(
    ("kind", "rules", "no"), [("approval", {}, '"no"'), ("input", {"inputType": "yesno"}, "false")]
)
def test_one_refusal_refuses(kind: Any, rules: dict[str, Any], no: str) -> None:
    for pause in (asking(kind, **rules), vote(asking(kind, **rules), "ann")):
        closed = vote(pause, "bob", no)
        assert (closed.outcome, closed.answered_by, closed.answer) == ("refused", "bob", no)


@pytest.mark.parametrize(("who", "rules"), [("", {}), ("eve", {"excludeAnswerers": ["eve"]}), ("joe", {})])
def test_who_may_not_answer_does_not_count(who: str, rules: dict[str, Any]) -> None:
    pause = asking(**({"eligibleAnswerers": ["ann", "bob", "eve"]} if who else {}), **rules)
    assert refusal(pause, who).code == "answerer_not_allowed"


def test_votes_outlive_the_process_and_a_repeat_counts_once(tmp_path: Path) -> None:
    async def ask(journal: SqliteJournal) -> None:
        await parked(journal, asking())
        pause, fresh = await answered(journal, '"yes"', who="ann", key="k1", note="x" * 10)
        assert (fresh, pause.outcome, len(pause.votes)) == (True, None, 1)

    async def answer(journal: SqliteJournal) -> None:
        before = await journal.last_event()
        pause, fresh = await answered(journal, '"yes"', who="ann", key="k1", note="x" * 10)
        assert (fresh, [one.who for one in pause.votes]) == (False, ["ann"])
        assert await journal.last_event() == before
        assert (await refused(answered(journal, '"no"', who="ann", key="k1"))).code == "idempotency_mismatch"
        assert (await refused(answered(journal, '"yes"', who="ann", key="k2"))).code == "already_voted"
        run = await journal.run("dur_a")
        assert run is not None
        assert run.status == "awaiting-input"
        page = await journal.pending(10, None)
        assert [one.who for one in page.items[0].votes] == ["ann"]
        pause, fresh = await answered(journal, '"yes"', who="bob", key="k3")
        assert (fresh, pause.outcome) == (True, "answered")
        pause, fresh = await answered(journal, '"yes"', who="bob", key="k3")
        assert (fresh, [one.who for one in pause.votes]) == (False, ["ann", "bob"])
        assert [entry.state for entry in await journal.load("dur_a")] == ["ok"]

    play(tmp_path, ask)
    play(tmp_path, answer)


def test_a_vote_is_told_without_moving_the_run(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await parked(journal, asking())
        after = await journal.last_event()
        await answered(journal, '"yes"', who="ann")
        (event,) = await journal.events(after)
        pause: Any = event.body["pause"]
        assert (event.body["status"], pause["votes"]["by"]) == ("awaiting-input", ["ann"])

    play(tmp_path, story)


@pytest.mark.parametrize("changed", [False, True])
def test_a_question_that_is_asked_again_keeps_votes_and_deadline_if_it_is_the_same(
    tmp_path: Path, changed: bool
) -> None:
    first = replace(asking(), expires_at=5e9)
    again = replace(first, expires_at=6e9, fingerprint="another" if changed else first.fingerprint)

    async def park(journal: SqliteJournal, *asked: PauseRow) -> None:
        claim = await claimed(journal)
        await journal.park(claim, "awaiting-input" if asked else "sleeping", pauses=asked, wake_at=4e9)

    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        await park(journal, first)
        await answered(journal, '"yes"', who="ann")
        for asked in ([], [again]):
            await journal.wake_due(4e9)
            await park(journal, *asked)
        (pause,) = (await journal.pending(10, None)).items
        assert [one.who for one in pause.votes] == ([] if changed else ["ann"])
        assert pause.expires_at == (6e9 if changed else 5e9)

    play(tmp_path, story)
