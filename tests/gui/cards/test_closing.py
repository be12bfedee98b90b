"""Questions that close while they are read, or take more than one answer: deadlines, votes, runs that stopped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit

from inbox_app.gateway import values
from inbox_app.gateway.base import Json, Outcome, Pause, Votes
from inbox_app.state.drafts import Draft
from inbox_app.state.outbox import Outbox
from inbox_app.widgets.option_row import OptionRow
from inbox_app.widgets.plain_label import PlainLabel
from tests.gui.cards.conftest import Bench
from tests.support import scenes
from tests.support.builders import NOW, decision, pause


def words(bench: Bench) -> str:
    return bench.pane.bar._text.text()


def shown(bench: Bench) -> str:
    return " | ".join(label.text() for label in bench.pane.findChildren(PlainLabel) if label.isVisible())


def pass_deadline(bench: Bench) -> None:
    bench.now += 60
    bench.qtbot.waitUntil(lambda: words(bench).startswith("Expired"))


def due(**changes: object) -> Pause:
    return pause(id="p", expires_at=NOW + 0.05, **changes)  # pyright: ignore[reportArgumentType]


def test_a_question_locks_the_moment_its_deadline_passes_and_keeps_what_was_typed(bench: Bench) -> None:
    bench.show(due(input_type="text"))
    bench.wake()
    field = next(area for area in bench.pane.findChildren(QPlainTextEdit) if area.isVisible())
    field.setFocus()
    bench.press("until tuesday")
    pass_deadline(bench)
    assert field.isReadOnly()
    assert field.toPlainText() == "until tuesday"
    assert words(bench).endswith("the call fails, nothing is approved. Your text is kept under History")
    bench.press("x")
    bench.send()
    assert bench.wishes == []
    assert bench.drafts[-1].text == "until tuesday"
    assert not bench.pane.is_answerable


@pytest.mark.parametrize(
    ("on_expire", "says"),
    [
        ("fail", "the call fails, nothing is approved"),
        (None, "the call fails, nothing is approved"),
        ({"value": "no"}, '"no" is taken as the answer'),
        ({"value": None}, "null is taken as the answer"),
        (values.parse('{"value": {"ok": false, "n": 1.50}}'), '{"ok": false, "n": 1.50} is taken as the answer'),
        ({"other": 1}, "the call fails, nothing is approved"),
    ],
)
def test_what_silence_does_is_said_before_and_after(bench: Bench, on_expire: Json, says: str) -> None:
    bench.show(due(on_expire=on_expire))
    assert says in shown(bench)
    pass_deadline(bench)
    assert words(bench).endswith(says)
    assert "kept" not in words(bench)


def test_a_machine_that_slept_past_the_deadline_notices(bench: Bench) -> None:
    """The clock jumps; what is read was due long ago."""
    bench.show(pause(id="p", expires_at=NOW + 3600))
    bench.now += 7200
    bench.pane.update_pause(pause(id="p", expires_at=NOW + 3600))
    assert words(bench).startswith("Expired")


def test_a_question_that_is_over_when_it_is_opened_cannot_be_answered(bench: Bench) -> None:
    bench.show(pause(expires_at=NOW - 5))
    bench.press("y")
    bench.send()
    assert bench.wishes == []
    assert words(bench).startswith("Expired")


def test_an_answer_that_is_on_its_way_at_the_deadline_is_for_the_runtime_to_judge(bench: Bench) -> None:
    bench.show(due())
    bench.wake()
    bench.press("y")
    bench.send()
    outbox = Outbox(0)
    outbox.hold(bench.wishes[-1], NOW)
    (sending,) = outbox.due(NOW)
    bench.pane.set_outbox_state(sending)
    bench.now += 60
    bench.qtbot.wait(120)
    assert words(bench).startswith("Sending")
    late = outbox.failed("p", "pause_expired", "too late", {"status": "awaiting-input"})
    bench.pane.set_outbox_state(late)
    assert "your answer came too late and was not counted. Your pick is kept" in words(bench)
    bench.pane.close_pause(decision("p", outcome="expired", on_expire={"value": "no"}))
    assert "your answer came too late and was not counted. Your pick is kept" in words(bench)


def test_seconds_count_when_few_are_left(bench: Bench) -> None:
    bench.show(pause(expires_at=NOW + 40))
    assert "in 40s" in shown(bench)
    bench.now += 25
    bench.qtbot.waitUntil(lambda: "in 15s" in shown(bench))


def test_nothing_prepared_is_not_said_to_be_kept(bench: Bench) -> None:
    bench.show(pause(id="p"))
    bench.pane.close_pause(decision("p", value="no", by="tom"))
    assert "kept" not in words(bench)


# Several people


def several(*by: str, needed: int = 2, **changes: object) -> Pause:
    return pause(id="p", votes=Votes(needed, by, "local:test"), **changes)  # pyright: ignore[reportArgumentType]


def test_progress_is_shown_with_names_and_the_rule(bench: Bench) -> None:
    bench.show(several("local:tom", needed=3))
    text = shown(bench)
    assert "1 of 3 equal answers given: local:tom" in text
    assert "3 different people have to give the same answer" in text
    bench.pane.update_pause(several("local:tom", "local:ann", needed=3))
    assert "2 of 3 equal answers given: local:tom, local:ann" in shown(bench)
    assert bench.pane.is_answerable


def test_an_own_vote_is_marked_and_closes_the_card_but_not_the_question(bench: Bench) -> None:
    bench.show(several("local:tom", needed=3))
    bench.wake()
    bench.press("y")
    bench.send()
    outbox = Outbox(0)
    outbox.hold(bench.wishes[-1], NOW)
    outbox.due(NOW)
    after = several("local:tom", "local:test", needed=3, eligible=False, reason="You have already answered.")
    done = outbox.succeeded("p", Outcome("awaiting-input", "dur_1", pause=after), "local:test", NOW)
    assert done is not None
    assert done.is_one_of_several
    bench.pane.set_outbox_state(done)
    assert words(bench) == "Your answer is counted, 2 of 3. 1 more to decide"
    bench.pane.update_pause(after)
    assert words(bench) == "Your answer is counted, 2 of 3. 1 more to decide"
    assert "local:test (you)" in shown(bench)
    assert not bench.pane.is_answerable


@pytest.mark.parametrize("code", ["votes_differ", "already_voted"])
def test_a_vote_that_does_not_count_is_explained(bench: Bench, code: str) -> None:
    bench.show(several("local:tom"))
    bench.wake()
    bench.press("n")
    bench.send()
    outbox = Outbox(0)
    outbox.hold(bench.wishes[-1], NOW)
    outbox.due(NOW)
    bench.pane.set_outbox_state(outbox.failed("p", code, 'local:tom answered "yes". Yours was not counted.'))
    assert 'local:tom answered "yes". Yours was not counted.' in words(bench)


# Code that changed, runs that stopped


def test_a_question_says_that_the_code_changed_since(bench: Bench) -> None:
    asked = pause(id="p")
    bench.show(asked)
    assert "The code changed since this was asked" not in shown(bench)
    bench.pane.update_pause(replace(asked, code_changed=True))
    assert "The code changed since this was asked" in shown(bench)
    assert bench.pane.is_answerable


def test_a_question_of_a_run_that_stopped_waits_and_leads_to_the_run(bench: Bench) -> None:
    asked = pause(id="dur_1.0", run_id="dur_1")
    wanted: list[str] = []
    bench.pane.go_to_run.connect(wanted.append)
    bench.show(asked, Draft(asked.id, asked.fingerprint, pick=0))
    bench.wake()
    bench.pane.update_pause(replace(asked, stopped=True))
    assert "The run stopped" in words(bench)
    bench.send()
    assert bench.wishes == []
    QTest.mouseClick(bench.pane.bar._right, Qt.MouseButton.LeftButton)
    assert wanted == ["dur_1"]
    bench.pane.update_pause(asked)
    bench.wake()
    assert [row.isChecked() for row in bench.pane.findChildren(OptionRow)] == [True, False]
    bench.send()
    assert len(bench.wishes) == 1


def test_an_answer_refused_because_the_run_stopped_says_so(bench: Bench) -> None:
    bench.show(pause(id="p"))
    bench.wake()
    bench.press("y")
    bench.send()
    outbox = Outbox(0)
    outbox.hold(bench.wishes[-1], NOW)
    outbox.due(NOW)
    bench.pane.set_outbox_state(outbox.failed("p", "not_awaiting_input", "it is diverged", {"status": "diverged"}))
    assert "The run stopped" in words(bench)


def test_an_answer_that_met_other_code_leads_to_what_differs(bench: Bench) -> None:
    wanted: list[str] = []
    bench.pane.go_to_run.connect(wanted.append)
    bench.show(pause(id="dur_1.0", run_id="dur_1"))
    bench.wake()
    bench.press("y")
    bench.send()
    outbox = Outbox(0)
    outbox.hold(bench.wishes[-1], NOW)
    outbox.due(NOW)
    bench.pane.set_outbox_state(outbox.succeeded("dur_1.0", Outcome("diverged", "dur_1"), "local:test", NOW))
    assert words(bench).endswith("The run stopped: its code no longer fits")
    bench.unlock()
    QTest.mouseClick(bench.pane.bar._right, Qt.MouseButton.LeftButton)
    assert wanted == ["dur_1"]


def test_every_end_has_its_own_words_and_icon_in_the_bar(bench: Bench) -> None:
    seen: set[tuple[str, str]] = set()
    for outcome in ("answered", "expired", "cancelled", "superseded"):
        bench.show(pause(id="p"))
        bench.pane.close_pause(decision("p", outcome=outcome, value="yes"))
        state = bench.pane.bar._state
        assert state is not None
        seen.add((state.icon, state.text))
    assert len(seen) == 4
    assert len({icon for icon, _ in seen}) == 4


def test_warnings_of_the_run_stand_below_the_card(bench: Bench) -> None:
    asked = pause(id="dur_1.0", run_id="dur_1")
    bench.show(asked)
    made = scenes.decided()
    bench.pane.set_detail(replace(made, run=replace(made.run, id="dur_1", status="awaiting-input")))
    assert "2 warnings of this run" in shown(bench)
    assert "500 of 1,000" in shown(bench)
