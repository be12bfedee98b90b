"""What is printed for people: hidden characters become visible, columns stand under each other, trees stay finite."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbox_app import cli_runs, cli_text
from inbox_app.cli_arguments import answer_value
from inbox_app.cli_session import Options
from inbox_app.gateway.base import Call, Decision, Pause, Run, RunDetail, Votes
from tests.support import builders


def call(identity: str, parent: str | None, **changes: object) -> Call:
    facts: dict[str, object] = {
        "kind": "tool",
        "name": f"n{identity}",
        "state": "ok",
        "started_at": 0.0,
        "ended_at": 1.5,
    }
    return Call(id=identity, parent=parent, **(facts | changes))  # pyright: ignore[reportArgumentType]


@given(st.text())
def test_nothing_hidden_gets_through(text: str) -> None:
    for lines in (False, True):
        shown = cli_text.visible(text, lines=lines)
        kept = {"\n", "\t"} if lines else set[str]()
        assert not [
            char for char in shown if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} and char not in kept
        ]


def test_disguises_are_spelled_out() -> None:
    assert cli_text.visible("rm \u202ecod.x") == "rm <U+202E>cod.x"
    assert cli_text.visible("\x1b[31mred\x07") == "<U+001B>[31mred<U+0007>"
    assert cli_text.visible("a\u00a0b\u2003c\U000e0100") == "a<U+00A0>b<U+2003>c<U+E0100>"
    assert cli_text.visible("a\nb\rc") == "a b<U+000D>c"
    assert cli_text.visible("R&D <b>ü 漢字 🌍 עברית") == "R&D <b>ü 漢字 🌍 עברית"


@given(st.text(), st.integers(1, 30))
def test_fitting_never_exceeds_the_width(text: str, width: int) -> None:
    assert cli_text.columns(cli_text.fit(text, width)) <= width


def test_columns_are_aligned_with_wide_characters() -> None:
    lines = cli_text.table(["A", "B"], [["漢字", "x"], ["abc", "y"]]).split("\n")
    assert lines == ["A     B", "漢字  x", "abc   y"]


def test_durations() -> None:
    shown = [cli_text.span_of(seconds) for seconds in (-1, 0.0123, 1, 59.4, 60, 3599, 3600, 90000)]
    assert shown == ["0 ms", "12 ms", "1 s", "59 s", "1 min", "59 min", "1 h", "1 d"]


def test_a_tree() -> None:
    calls = [
        call("", None),
        call("1", ""),
        call("1/1", "1", state="failed", code="undeclared", message="not listed"),
        call("2", "", replayed=True),
        call("9/9", "9", name="lost"),
    ]
    lines = next(iter(cli_text.tree_lines(calls, 2.0))).split("\n")
    assert [line[:8].rstrip() for line in lines] == ["CALL", "n", "├─ n1", "│  └─ n1", "└─ n2", "lost"]
    assert "failed: undeclared" in lines[3]
    assert lines[3].endswith("not listed")
    assert lines[4].endswith("replayed")


def test_a_deep_tree_needs_no_recursion() -> None:
    calls = [call("/".join("1" * depth), "/".join("1" * (depth - 1)) if depth else None) for depth in range(1200)]
    assert next(iter(cli_text.tree_lines(calls, 2.0))).count("\n") == 1200


def test_values_as_they_are_typed() -> None:
    values = ("fail", "run-again", "two words", "true", "42", True, 1, None, "", "@a", "-x", "it's", {"a": 1}, "a\nb")
    shown = [cli_text.value_word(value) for value in values]
    assert shown[:6] == ["fail", "run-again", "'two words'", """'"true"'""", """'"42"'""", "true"]
    assert shown[6:11] == ["1", "null", "''", """'"@a"'""", """'"-x"'"""]
    assert shown[11:] == ["""'it'"'"'s'""", """'{"a":1}'""", """'"a\\nb"'"""]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_what_is_typed_for_a_value_is_read_as_that_value(value: object) -> None:
    assert answer_value(cli_text.argument(value)) == value


def pause(question: str, **changes: Any) -> Pause:
    facts: dict[str, Any] = {
        "id": "p1",
        "run_id": "dur_1",
        "connection": "",
        "kind": "input",
        "tool": "ask",
        "question": question,
        "input_type": "text",
        "options": None,
        "context": None,
        "has_context": False,
        "allow_edits": False,
        "path": ("ask",),
        "requested_by": "local:ana",
        "asked_at": 0.0,
    }
    return Pause(**(facts | changes))


def test_long_questions_are_cut_in_the_list_and_whole_in_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    long = "Why? " * 200_000
    table = cli_text.waiting_table([pause(long), pause("Short?")], 1.0).split("\n")
    assert max(map(len, table)) == 120
    assert table[1].endswith("…")
    assert table[2].endswith("  Short?")
    monkeypatch.setenv("COLUMNS", "20")
    narrow = cli_text.waiting_table([pause(long)], 1.0).split("\n")[1]
    assert len(narrow[narrow.index("Why?") :]) == 60
    assert next(cli_text.question_lines(pause(long))) == long


def test_a_cut_question_keeps_that_it_is_not_yours() -> None:
    row = cli_text.waiting_table([pause("Why? " * 100, eligible=False, reason="ask ana")], 1.0).split("\n")[1]
    assert "(not yours to answer: ask ana) Why?" in row


def test_marks_that_take_no_room_are_cut_too() -> None:
    assert len(cli_text.fit("a" + "\u0301" * 100_000, 60)) < 1000


def test_a_deadline_is_shown_with_what_happens_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_text.time, "time", lambda: 100.0)
    failing = pause("Q", expires_at=400.0, on_expire="fail")
    written = pause("Q", expires_at=100.0, on_expire={"value": "dock 1"}, eligible=False, reason="over")
    assert "(in 5 min): then the call fails" in "\n".join(cli_text.question_lines(failing))
    assert '(over): then the run goes on with "dock 1"' in "\n".join(cli_text.question_lines(written))
    table = cli_text.waiting_table([failing, pause("P", run_id="dur_2")], 100.0).split("\n")
    assert table[0].split() == ["SESSION", "TOOL", "WAITING", "EXPIRES", "ANSWER", "QUESTION"]
    assert "in 5 min" in table[1]
    assert "EXPIRES" not in cli_text.waiting_table([pause("P")], 100.0)


def test_votes_are_counted_where_a_question_is_shown() -> None:
    asked = pause("Q", votes=Votes(3, ("ann", "bo\u202eb")))
    assert "2 of 3 answers given (ann, bo<U+202E>b)" in "\n".join(cli_text.question_lines(asked))
    assert "(2 of 3 answers) Q" in cli_text.waiting_table([asked], 1.0)


def test_the_five_outcomes_read_differently() -> None:
    def line(outcome: str, **more: Any) -> str:
        facts: dict[str, Any] = {
            "value": None,
            "edits": None,
            "has_edits": False,
            "context": None,
            "note": "",
            "by": "",
        }
        decision = Decision("p1", "Q", outcome, at=None, asked_at=0.0, **(facts | more))
        return next(iter(cli_text.decision_lines(decision)))

    assert line("answered", value=1, voters=("ann", "bob"), by="bob") == "  answered 1 by ann, bob"
    assert line("refused", value="no", voters=("ann", "bob"), by="bob") == '  refused "no" by bob'
    assert line("expired", on_expire="fail", voters=("ann",)) == "  expired: the call fails"
    assert line("expired", on_expire={"value": "x"}) == '  expired: the run goes on with "x"'
    assert line("cancelled", by="eve") == "  cancelled by eve"
    assert line("superseded") == "  superseded: the run went on or ended without an answer"


def test_what_retention_took_and_what_is_odd_about_a_run_is_said() -> None:
    run = Run(
        "dur_a",
        "Built-in",
        "release",
        "completed",
        1.0,
        2.0,
        2.0,
        "ann",
        pruned_at=3.0,
        warnings=("large\u202e", "many"),
        raw={"usage": {"input_tokens": 4010, "output_tokens": 12, "total_tokens": 4022}},
    )
    lines = list(cli_text.run_lines(RunDetail(run, (), (), ()), tree=False))
    (pruned,) = (line for line in lines if line.startswith("pruned "))
    assert pruned.endswith("calls, questions and answers are gone, the run and its result stay")
    assert [line for line in lines if line.startswith("warning ")] == ["warning   large<U+202E>", "warning   many"]
    assert "tokens    4,022 (4,010 read, 12 written)" in lines


def test_the_way_to_answer_repeats_the_model_of_the_run() -> None:
    options = Options(Path("desk"), as_json=False, model="scripted:m.json")
    (line,) = cli_runs.answer_lines(builders.pause(), options, is_named=False)
    assert line.endswith("--data desk --model scripted:m.json")
