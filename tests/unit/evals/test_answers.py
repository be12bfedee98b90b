"""Which line of an eval answers which question."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_core.evals.operator import Scripted
from runtime_core.repo.bundle import ScriptedAnswer


def pause(question: str = "Refund 120.00 EUR?", tool: str = "refund", **more: Any) -> dict[str, Any]:
    return {"question": question, "title": None, "tool_name": tool, "path": ["desk", tool], **more}


def answers(*lines: tuple[str, Any]) -> Scripted:
    return Scripted([ScriptedAnswer(asked, {"value": value}) for asked, value in lines])


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ("refund 120", True),
        ("EUR?", True),
        ("", True),
        ("refund", True),
        ("desk", True),
        ("Second look", True),
        ("Mail", False),
        ("des", False),
    ],
)
def test_a_line_names_a_part_of_the_question_its_title_or_who_asks(asked: str, fits: bool) -> None:
    said = answers((asked, 1))(pause(title="A second look"))
    assert said == {"value": 1} if fits else "nobody answers" in str(said)


def test_nobody_answers_is_said_with_the_question() -> None:
    said = answers(("Mail", 1))(pause("x" * 500))
    assert isinstance(said, str)
    assert len(said) < 350
    assert "desk > refund" in said


def test_a_deadline_passes_where_the_line_says_so() -> None:
    assert Scripted([ScriptedAnswer("", None)])(pause()) is None


@given(st.lists(st.sampled_from(["refund", "mail", ""]), max_size=6), st.lists(st.sampled_from(["refund", "mail"])))
def test_lines_are_used_in_order_and_the_last_one_stays(lines: list[str], asked: list[str]) -> None:
    """The n-th question gets the first unused line that fits it; when all that fit are used, the last of them again."""
    scripted = answers(*((line, number) for number, line in enumerate(lines)))
    used: set[int] = set()
    for question in asked:
        fitting = [number for number, line in enumerate(lines) if line in question]
        said = scripted(pause(f"Do {question}?", tool="asker", path=["asker"]))
        if not fitting:
            assert isinstance(said, str)
            continue
        wanted = next((number for number in fitting if number not in used), fitting[-1])
        used.add(wanted)
        assert said == {"value": wanted}
