"""How evals are read, and what is said about those that are wrong (contract 11.1 and 11.2)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_core.repo.assertions import AssertionProblem, parse_assertion
from runtime_core.repo.bundle import Eval, ScriptedAnswer
from runtime_core.repo.loader import load_bundle
from tests.unit.repo.building import Repository

LATE = """# Eval: A Late Parcel Is Named

Checks that the agent reads the store
before it answers.

## Setup
App: parcels
Context: Stores may be empty
or filled by another eval.

## Query
"Which parcels are late?"

## Assertions
- contains: p_77
- tool_called: store__parcels__query
- Should say how late
  each parcel is
- Should NOT promise a delivery date
"""


@pytest.fixture(autouse=True)
def desk(repository: Repository) -> None:
    """What the evals of these tests speak of."""
    for agent in ("default", "clerk"):
        repository.agent(agent)
    for tool in ("refund_payment", "x"):
        repository.tool(tool, execution="durable")
    repository.store("parcels")


def only(repository: Repository, text: str) -> Eval:
    repository.write("evals/late.md", text)
    bundle = load_bundle(repository.root)
    assert not bundle.problems, bundle.problems
    return bundle.evals["late"]


def test_an_eval_is_its_sections(repository: Repository) -> None:
    found = only(repository, LATE)
    assert (found.title, found.description) == (
        "A Late Parcel Is Named",
        "Checks that the agent reads the store before it answers.",
    )
    assert (found.app, found.context) == ("parcels", "Stores may be empty or filled by another eval.")
    assert (found.query, found.agent) == ("Which parcels are late?", "default")
    assert [(one.kind, one.negated) for one in found.assertions] == [
        ("contains", False),
        ("tool_called", False),
        ("judged", False),
        ("judged", True),
    ]
    assert found.assertions[2].text == "Should say how late each parcel is"


def test_a_query_keeps_inner_quotes_lines_and_fenced_headings(repository: Repository) -> None:
    query = 'Say "yes".\n\n```\n## Query\n# Eval: other\n```'
    assert only(repository, f"# Eval: x\n## Query\n{query}\n## Assertions\n- contains: x\n").query == query


def test_what_a_headless_run_needs(repository: Repository) -> None:
    repository.write("models/late.json", {"replies": []})
    repository.write("files/receipt.txt", "x")
    found = only(
        repository,
        """## Query
Refund it.
## Agent
clerk
## Answers
- Refund: yes
- "Which: dock": "west"
- issue_refund: deny
- note: expire
- amount: {"value": true, "edits": {"amount": 1.50}, "note": "less"}
- *: {"x": 1}
## Attachments
- files/receipt.txt
## Script
models/late.json
## Assertions
- contains: done
""",
    )
    assert (found.agent, found.attachments, found.script) == ("clerk", ("files/receipt.txt",), "models/late.json")
    assert [(one.asked, one.body) for one in found.answers[:4]] == [
        ("Refund", {"value": "yes"}),
        ("Which: dock", {"value": "west"}),
        ("issue_refund", {"value": "no"}),
        ("note", None),
    ]
    assert found.answers[4].body is not None
    assert set(found.answers[4].body) == {"value", "edits", "note"}
    assert found.answers[5] == ScriptedAnswer("", {"value": {"x": 1}})


def test_a_tool_with_situations_needs_no_assertion(repository: Repository) -> None:
    tool = '## Tool\nrefund_payment\n{"case_id": "rf-1",\n "amount": 1}\n'
    found = only(repository, f"{tool}## Situations\n- Denied approval\n- child failure\n")
    assert (found.tool, dict(found.input)) == ("refund_payment", {"case_id": "rf-1", "amount": 1})
    assert found.situations == ("denied approval", "child failure")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("# Eval: x\n## Assertions\n- contains: x\n", "", "has no query"),
        ("## Query\nx\n", "", 'lines such as "- contains: refund"'),
        ("## Query\nx\n## Tool\ny\n## Assertions\n- contains: x", "", "both a query and a tool"),
        ("## Query\nx\n## Assertions\n- contains: a\n- regex: /(/\n", ":5", "no regular expression"),
        ("## Query\nx\n## Assertions\n- length_between: [9, 3]\n", ":4", "no range"),
        ("## Query\nx\n## Assertions\n- max_latency: soon\n", ":4", "no time"),
        ("## Query\nx\n## Assertions\n- max_turns: 1.5\n", ":4", "not a number of turns"),
        ("## Query\nx\n## Assertions\n- contains:\n", ":4", "nothing to look for"),
        ("## Query\nx\n## Answers\n- Refund yes\n## Assertions\n- contains: x\n", ":4", "no answer"),
        ('## Query\nx\n## Answers\n- a: {"value": \n## Assertions\n- contains: x\n', ":4", "not JSON"),
        ('## Query\nx\n## Answers\n- a: {"value": 1, "edit": 2}\n## Assertions\n- contains: x\n', ":4", '"edit"'),
        ("## Query\nx\n## Script\nnone.json\n## Assertions\n- contains: x\n", ":4", "no file none.json"),
        ("## Query\nx\n## Attachments\n- ../x\n## Assertions\n- contains: x\n", ":4", "outside the repository"),
        ("## Tool\nx\n## Situations\n- missing date\n", ":4", 'Did you mean "missing data"'),
        ("## Query\nx\n## Situations\n- missing data\n", ":3", "Situations are for a tool"),
        ('## Tool\nx {"a": }\n## Situations\n- missing data\n', ":1", "not JSON"),
    ],
)
def test_a_wrong_eval_is_left_out_and_its_line_is_named(
    repository: Repository, text: str, line: str, said: str
) -> None:
    repository.write("evals/late.md", text)
    bundle = load_bundle(repository.root)
    assert bundle.evals == {}
    told = [str(problem) for problem in bundle.problems]
    assert any(one.startswith(f"evals/late.md{line}") and said in one and "not run" in one for one in told), told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("## Query\nx\n## Assertion\n- a\n## Assertions\n- contains: x\n", 'Did you mean "Assertions"'),
        ("## Query\nx\n## Assertions\n- contain: x\n", 'judged by a model. Did you mean "contains"'),
        ("## Query\nx\n## Assertions\nthe rest\n- contains: x\n", "no item"),
        ("## Query\nx\n## Query\ny\n## Assertions\n- contains: x\n", "twice"),
        ("## Query\nx\n## Assertions\n- tool_not_called: refund_paymnt\n", 'Did you mean "refund_payment"'),
        ("## Query\nx\n## Assertions\n- tool_called: store__parcel__get\n", 'no store "parcel"'),
        ("## Query\nx\n## Agent\nclark\n## Assertions\n- contains: x\n", 'no agent "clark"'),
        ("## Tool\nrefund\n## Situations\n- missing data\n", 'no tool "refund"'),
    ],
)
def test_slips_are_told_and_the_eval_counts(repository: Repository, text: str, said: str) -> None:
    repository.write("evals/late.md", text)
    bundle = load_bundle(repository.root)
    assert "late" in bundle.evals
    assert [problem.severity for problem in bundle.problems] == ["warning"]
    assert said in str(bundle.problems[0])


@pytest.mark.parametrize(
    ("text", "kind", "value", "negated"),
    [
        ("contains: a: b", "contains", "a: b", False),
        ("not contains: a", "contains", "a", True),
        ("regex: /p_\\d+/i", "regex", ("p_\\d+", "i"), False),
        ("regex: p_\\d+", "regex", ("p_\\d+", ""), False),
        ("not regex: /a/", "regex", ("a", ""), True),
        ("starts_with: Dear", "starts_with", "Dear", False),
        ("length_between: [0, 40]", "length_between", (0, 40), False),
        ("max_latency: 1500", "max_latency", 1.5, False),
        ("max_latency: 250ms", "max_latency", 0.25, False),
        ("max_latency: 2.5 s", "max_latency", 2.5, False),
        ("max_turns: 3", "max_turns", 3, False),
        ("tool_called: x", "tool_called", "x", False),
        ("tool_not_called: x", "tool_called", "x", True),
        ("not tool_called: x", "tool_called", "x", True),
        ("not tool_not_called: x", "tool_called", "x", False),
        ("Should not lie", "judged", None, True),
        ("Be: kind", "judged", None, False),
    ],
)
def test_forms_of_assertions(text: str, kind: str, value: Any, negated: bool) -> None:
    found = parse_assertion(text)
    assert (found.kind, found.value, found.negated, found.text) == (kind, value, negated, text)


def test_flags_of_a_pattern_have_to_exist() -> None:
    with pytest.raises(AssertionProblem, match="regular expression"):
        parse_assertion("regex: /a/x")
