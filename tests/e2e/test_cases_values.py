"""What went wrong elsewhere with values: types and digits lost, odd questions that nobody could answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from runtime_core.journal.base import Answer
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps, loads
from tests.e2e.office import Office, office
from tests.unit.engine.workshop import Repo

TS = {
    "echo": "return (await ctx.requestInput('Value?')).value;",
    "ask": "return (await ctx.requestInput(params)).value;",
    "change": """
const said = await ctx.waitForApproval({prompt: 'Fine?', context: params, allowEdits: true});
return said.edits === undefined ? 'as it is' : said.edits;""",
    "odd": "return (await ctx.callTool('number', params));",
    "strict": """
const schema = {type: 'object', required: ['n'], properties: {n: {minimum: 3}, unit: {enum: ['kg', 'g']}}};
const said = await ctx.waitForApproval({prompt: 'Fine?', context: {n: 5, unit: 'kg'}, allowEdits: true, schema});
return said.edits;""",
}
PY = {
    "echo": "return (await ctx.request_input('Value?'))['value']",
    "ask": "return (await ctx.request_input(params))['value']",
    "change": """
said = await ctx.wait_for_approval({'prompt': 'Fine?', 'context': params, 'allowEdits': True})
return said['edits'] if 'edits' in said else 'as it is'""",
    "odd": "return await ctx.call_tool('number', params)",
    "strict": """
schema = {'type': 'object', 'required': ['n'], 'properties': {'n': {'minimum': 3}, 'unit': {'enum': ['kg', 'g']}}}
said = await ctx.wait_for_approval(
    {'prompt': 'Fine?', 'context': {'n': 5, 'unit': 'kg'}, 'allowEdits': True, 'schema': schema})
return said['edits']""",
}

EXACT = [
    "true", "false", "null", "0", "1", "-1", "0.1", '""', '" "', '"0"', '"false"', '"null"', "[]", "{}", "[null]",
    '{"": 1}', '"é"', '"e\u0301"', '"\ufb00"', '"\u0130"', '[false, 0, "", null, "0", "false", [], {}]',
    '{"a": {"b": [1, {"c": null}]}, "list": ["x", ["y"]]}', '"\\ud83d\\ude00 \\u0000"', "9007199254740991",
    "[" * 190 + "]" * 190, '"' + "long text " * 90_000 + '"', "[" + ",".join(["1"] * 90_000) + "]",
]  # fmt: skip
"""Values that are the same in every language."""
DIGITS = [
    "-0", "-0.0", "1.0", "1.50", "1e3", "0.2345678901234568", "9007199254740993", "9223372036854775807",
    "-9223372036854775808", "18446744073709551616", "1E400", "1e-400", "0.30000000000000004", "1" * 400,
]  # fmt: skip
"""Numbers that lose something in a language that has floats only."""


@pytest.fixture(scope="module", params=["ts", "py"])
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp(f"values_{request.param}")
    repo = Repo(folder / "repo")
    for name, code in (TS if request.param == "ts" else PY).items():
        repo.durable(name, **{request.param: code}, tools=("number",) if name == "odd" else ())
    numbers = {
        "ts": "return {NaN, Infinity, minus: -Infinity, list: [NaN]}[params.which];",
        "py": "return {'NaN': float('nan'), 'Infinity': float('inf'), 'minus': float('-inf'), 'list': [float('nan')]}"
        "[params['which']]",
    }
    repo.tool("number", **{request.param: numbers[request.param]})  # pyright: ignore[reportArgumentType]
    with office(repo, folder / "data") as opened:
        yield opened


def is_typescript(desk: Office) -> bool:
    return (desk.repo.root / "amodal/tools/echo/handler.ts").exists()


def answered(desk: Office, run_id: str, text: str, **more: Any) -> dict[str, Any]:
    return desk.wait(desk.runtime.answer(Answer(run_id, text, "ann", **more)))


def test_c01_and_c17_every_value_reaches_the_handler_and_the_record_as_it_was_sent(desk: Office) -> None:
    for text in EXACT:
        run_id = desk.parked("echo")
        done = answered(desk, run_id, text)
        assert dumps(done["result"]) == dumps(loads(text)), text[:100]
        (decision,) = desk.detail(run_id)["decisions"]
        assert dumps(decision["value"]) == dumps(loads(text)), text[:100]


def test_c04_the_record_keeps_every_digit_whatever_the_handler_can_hold(desk: Office) -> None:
    for text in DIGITS:
        run_id = desk.parked("echo")
        done = answered(desk, run_id, text)
        (decision,) = desk.detail(run_id)["decisions"]
        assert dumps(decision["value"]) == text
        if is_typescript(desk) or text == "-0":  # Python has no such integer
            assert done["outcome"]["kind"] in ("complete", "failed"), text
        else:
            assert dumps(done["result"]) == text


def test_c01_options_are_answered_with_their_exact_value(desk: Office) -> None:
    values = [False, 0, "", None, "0", "false", [], {}]
    options = [{"value": value, "label": f"Option {number}"} for number, value in enumerate(values)]
    for value in values:
        run_id = desk.parked("ask", {"question": "Which?", "inputType": "choice", "options": options})
        (pause,) = desk.detail(run_id)["pauses"]
        assert [option["value"] for option in pause["options"]] == values
        result = desk.answer(run_id, value)["result"]
        assert (result, type(result)) == (value, type(value))


def test_c02_an_edit_changes_what_was_edited_and_nothing_else(desk: Office) -> None:
    given = '{"n": 3, "ok": false, "items": [1, "1"], "when": null, "x": 1.50}'
    run_id = desk.wait(desk.runtime.run_tool(desk.repo.root, "change", given, who="ann"))["sessionId"]
    (pause,) = desk.detail(run_id)["pauses"]
    edited = {**pause["context"], "n": 4}
    done = answered(desk, run_id, '"yes"', edits=dumps(edited))
    (decision,) = desk.detail(run_id)["decisions"]
    for value in (done["result"], decision["edits"]):
        assert value == {"n": 4, "ok": False, "items": [1, "1"], "when": None, "x": value["x"]}
        assert list(map(type, value["items"])) == [int, str]
        assert float(value["x"]) == 1.5
    assert dumps(decision["edits"]["x"]) == dumps(pause["context"]["x"])


@pytest.mark.parametrize("edits", ["{}", "null", "[]", '""', "false"])
def test_edits_of_nothing_are_not_no_edits(desk: Office, edits: str) -> None:
    run_id = desk.parked("change", {"a": 1})
    assert answered(desk, run_id, '"yes"', edits=edits)["result"] == loads(edits)
    run_id = desk.parked("change", {"a": 1})
    assert answered(desk, run_id, '"yes"')["result"] == "as it is"


@pytest.mark.parametrize("which", ["NaN", "Infinity", "minus", "list"])
def test_c05_what_is_no_json_number_never_gets_out_as_one(desk: Office, which: str) -> None:
    reply = desk.run("odd", {"which": which})
    shown = dumps([reply, desk.detail(reply["sessionId"])])

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in {shown}")

    json.loads(shown, parse_constant=refuse)
    assert reply["outcome"]["kind"] in ("complete", "failed")


@pytest.mark.parametrize("edits", ['{"n": 2}', "{}", '{"n": 5, "unit": "t"}', "[]", '{"n": "5"}'])
def test_c08_limits_of_a_form_hold_whoever_sends_it(desk: Office, edits: str) -> None:
    run_id = desk.parked("strict")
    if edits == '{"n": "5"}':  # a text has no minimum
        assert answered(desk, run_id, '"yes"', edits=edits)["result"] == {"n": "5"}
        return
    with pytest.raises(RuntimeFault) as refused:
        answered(desk, run_id, '"yes"', edits=edits)
    assert refused.value.code == "edits_invalid"
    assert desk.status(run_id) == "awaiting-input"
    assert answered(desk, run_id, '"yes"', edits='{"n": 3}')["result"] == {"n": 3}


@pytest.mark.parametrize("options", [{"options": []}, {}, {"options": None}], ids=["none", "missing", "null"])
def test_c10_a_choice_of_nothing_can_be_answered_and_cancelled(desk: Office, options: dict[str, Any]) -> None:
    asked = {"question": "Which?", "inputType": "choice", **options}
    run_id = desk.parked("ask", asked)
    assert not desk.detail(run_id)["pauses"][0]["options"]
    assert desk.answer(run_id, {"own": [1]})["result"] == {"own": [1]}
    run_id = desk.parked("ask", asked)
    desk.wait(desk.runtime.cancel(run_id, who="ann"))
    assert desk.status(run_id) == "cancelled"


def test_c16_an_unknown_kind_of_question_keeps_what_nobody_knows(desk: Office) -> None:
    asked = {"question": "When?", "inputType": "date-range", "from": "2026-01-01", "nested": {"deep": [1, None]}}
    run_id = desk.parked("ask", asked)
    stored = desk.wait(desk.bench.runtime.pending(who="ann"))["approvals"]
    (pause,) = [pause for pause in stored if pause["session_id"] == run_id]
    assert (pause["input_type"], pause["inputType"]) == ("date-range", "date-range")
    assert desk.answer(run_id, {"from": 1, "to": 2})["result"] == {"from": 1, "to": 2}


@pytest.mark.parametrize("asked", [{}, {"question": {"text": "?"}}, {"question": None}, {"question": ""}])
def test_c16_a_question_without_words_fails_the_call_and_says_so(desk: Office, asked: dict[str, Any]) -> None:
    reply = desk.run("ask", asked)
    assert (reply["outcome"]["kind"], reply["outcome"]["code"]) == ("failed", "invalid-params")
    assert "question" in reply["outcome"]["reason"]
    assert desk.detail(reply["sessionId"])["pauses"] == []
