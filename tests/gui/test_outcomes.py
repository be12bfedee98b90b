"""Five ways a question ends, told apart by word and icon wherever one is shown."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from inbox_app.gateway.base import Batch, Decision
from inbox_app.models import call_words
from inbox_app.models.inbox_table import InboxTable
from inbox_app.models.outcome_words import outcome
from inbox_app.models.pause_facts import calls_of
from inbox_app.state.requests import Requests
from inbox_app.theme.theme import Theme
from inbox_app.views.call_pane import CallPane
from inbox_app.views.decision_list import DecisionList
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.row_delegate import RowLook
from tests.support import scenes
from tests.support.builders import NOW, call, decision, detail, pause, run

FIVE = ("answered", "refused", "expired", "cancelled", "superseded")


def test_words_and_icons_differ() -> None:
    found = [outcome(name) for name in FIVE]
    assert all(found)
    assert len({one.word for one in found if one}) == 5
    assert len({one.icon for one in found if one}) == 5
    assert outcome("something new") is None


def test_in_the_list_of_decisions(theme: Theme, qtbot: QtBot) -> None:
    made = DecisionList(theme)
    qtbot.addWidget(made)
    made.show_decisions(scenes.decided().decisions)
    made.show()
    said = [label.text() for label in made.findChildren(PlainLabel)]
    for words in (
        'Answered by local:tom: "yes"',
        'Refused by local:ann: "no"',
        'Expired: nobody answered in time, "no" was taken as the answer',
        "Cancelled with the run",
        "Superseded: the run stopped asking",
    ):
        assert words in said
    assert len({box._name for box in made.findChildren(IconBox)}) == 5


def test_everybody_who_gave_the_answer_is_named(theme: Theme, qtbot: QtBot) -> None:
    made = DecisionList(theme)
    qtbot.addWidget(made)
    made.show_decisions([decision("p", value="yes", by="ann", voters=("tom", "ann"))])
    assert 'Answered by tom, ann: "yes"' in [label.text() for label in made.findChildren(PlainLabel)]


def test_in_the_call_tree(theme: Theme, qtbot: QtBot) -> None:
    """The calls of all five look alike to the runtime; how their questions ended comes from the decisions."""
    pane = CallPane(theme)
    qtbot.addWidget(pane)
    pane.load([call("", parent=None), *(call(str(at), kind="approval") for at in range(5)), call("5")])
    pane.show_outcomes({str(at): name for at, name in enumerate(FIVE)})
    calls = pane.model.calls
    states = [call_words.state(calls, calls.node(calls.number(str(at)) or 0)) for at in range(5)]
    assert [state.word for state in states] == list(FIVE)
    assert len({state.icon for state in states}) == 5
    assert call_words.state(calls, calls.node(calls.number("5") or 0)).word == "ran now"


@pytest.mark.parametrize(
    ("code", "word"), [("pause-expired", "expired"), ("pause_superseded", "superseded"), ("run_cancelled", "cancelled")]
)
def test_in_the_call_tree_before_the_decisions_are_known(theme: Theme, qtbot: QtBot, code: str, word: str) -> None:
    pane = CallPane(theme)
    qtbot.addWidget(pane)
    state = "failed" if code == "pause-expired" else "cancelled"
    pane.load([call("", parent=None), call("1", kind="input", state=state, code=code)])
    calls = pane.model.calls
    assert call_words.state(calls, calls.node(calls.number("1") or 0)).word == word


@pytest.mark.parametrize("ended", FIVE)
def test_in_the_row_of_a_question_that_closes_while_it_is_read(qtbot: QtBot, theme: Theme, ended: str) -> None:
    requests = Requests(lambda: NOW)
    asked = pause(1)
    requests.apply(Batch(opened=[asked], reset=True))
    requests.apply(Batch(closed=[asked.id], outcomes={asked.id: ended}), reading=asked.id)
    table = InboxTable(theme, lambda: NOW)
    row = requests.rows[1]
    look = table.look(row)
    assert isinstance(look, RowLook)
    found = outcome(ended)
    assert found is not None
    assert look.word == ("Elsewhere" if ended == "answered" else found.word)
    assert look.icon == ("user-x" if ended == "answered" else found.icon)


def test_a_row_says_what_silence_does_and_when_its_time_is_over(theme: Theme, qtbot: QtBot) -> None:
    now = NOW
    requests = Requests(lambda: now)
    requests.apply(Batch(opened=[pause(1, expires_at=NOW + 42, on_expire={"value": "no"})], reset=True))
    table = InboxTable(theme, lambda: now)
    look = table.look(requests.rows[1])
    assert isinstance(look, RowLook)
    assert look.when == "42s left"
    assert 'then "no"' in look.detail
    now = NOW + 50
    look = table.look(requests.rows[1])
    assert isinstance(look, RowLook)
    assert (look.word, look.icon, look.when) == ("Expired", "timer-off", "8s over")


def test_a_row_of_a_question_for_several_says_how_far_it_is(theme: Theme, qtbot: QtBot) -> None:
    requests = Requests(lambda: NOW)
    requests.apply(Batch(opened=[scenes.several()], reset=True))
    look = InboxTable(theme, lambda: NOW).look(requests.rows[1])
    assert isinstance(look, RowLook)
    assert (look.word, look.word_icon) == ("1 of 2", "users")


def test_unknown_outcomes_are_shown_as_they_are(theme: Theme, qtbot: QtBot) -> None:
    odd: Decision = decision("p", outcome="vetoed\u202e")
    made = DecisionList(theme)
    qtbot.addWidget(made)
    made.show_decisions([odd])
    assert any("vetoed⟨U+202E⟩" in label.text() for label in made.findChildren(PlainLabel))
    assert made.focusPolicy() != Qt.FocusPolicy.NoFocus


@pytest.mark.parametrize(("status", "word"), [("needs-attention", "waiting"), ("diverged", "stopped")])
def test_nothing_runs_in_the_tree_of_a_run_that_stopped(theme: Theme, qtbot: QtBot, status: str, word: str) -> None:
    calls = [call("", parent=None, state="running", seconds=None), call("0", state="unknown", seconds=None)]
    found = calls_of(detail(run(1, status=status), calls=calls))
    pane = CallPane(theme)
    qtbot.addWidget(pane)
    pane.load(found)
    tree = pane.model.calls
    assert call_words.state(tree, tree.node(tree.number("") or 0)).word == word
    assert calls_of(detail(run(1, status="running"), calls=calls)) == calls
    if status == "diverged":
        assert call_words.taken(found[0], NOW + 1000) is None
