"""Calls of a handler: what reaches the runtime and what comes back."""

# ruff: noqa: E501 (handlers are written on one line)

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime_core.hosts.base import HandlerCall
from tests.unit.hosts.conftest import Bench, same
from tests.unit.hosts.driver import ToolError

TOOL_ARGS = same(
    "export default async (p, ctx) => { await ctx.callTool('a', {x: 1, u: undefined}); await ctx.callTool('b');"
    " await ctx.callSubagent('s', 'task', {k: 1}); await ctx.callSubagent('s', 'task', {k: 1}, {attachments: []});"
    " await ctx.request('crm', '/x', {method: 'POST'}); await ctx.store('rows', {id: 1}); await ctx.exec('ls') }",
    "async def handler(p, ctx):\n"
    "    await ctx.call_tool('a', {'x': 1}); await ctx.callTool('b')\n"
    "    await ctx.call_subagent('s', 'task', {'k': 1})\n"
    "    await ctx.call_subagent('s', 'task', {'k': 1}, attachments=[])\n"
    "    await ctx.request('crm', '/x', method='POST'); await ctx.store('rows', {'id': 1}); await ctx.exec('ls')",
)


def test_arguments_arrive_in_the_form_of_their_kind(bench: Bench, language: str) -> None:
    driver = bench.driver(language, TOOL_ARGS[language])
    bench.wait(driver.leg())
    assert [(call.seq, call.kind, call.name, json.loads(call.args)) for call in driver.calls] == [
        (0, "tool", "a", {"x": 1}),
        (1, "tool", "b", {}),
        (2, "subagent", "s", ["task", {"k": 1}, None]),
        (3, "subagent", "s", ["task", {"k": 1}, {"attachments": []}]),
        (4, "request", "crm", ["crm", "/x", {"method": "POST"}]),
        (5, "store", "rows", ["rows", {"id": 1}]),
        (6, "exec", "", ["ls"]),
    ]


QUESTIONS = [
    ("ctx.requestInput({question: 'q', inputType: 'choice', options: [{value: 1, label: 'l'}]})", None),
    (
        None,
        "ctx.request_input(question='q', input_type='choice', options=[{'value': 1, 'label': 'l'}])",
    ),
    (None, "ctx.request_input({'question': 'q', 'input_type': 'choice', 'options': [{'value': 1, 'label': 'l'}]})"),
    (None, "ctx.requestInput({'question': 'q', 'inputType': 'choice', 'options': [{'value': 1, 'label': 'l'}]})"),
]


def _handler(ts: str | None, py: str | None) -> tuple[str, str]:
    if ts is not None:
        return "ts", f"export default async (p, ctx) => {ts}"
    return "py", f"import datetime\nasync def handler(p, ctx): return await {py}"


@pytest.mark.parametrize(("ts", "py"), QUESTIONS)
def test_questions_have_the_same_form_in_both_languages(bench: Bench, ts: str | None, py: str | None) -> None:
    driver = bench.driver(*_handler(ts, py))
    parked = bench.wait(driver.leg()).parked
    assert json.loads(parked[0].args) == {
        "question": "q",
        "inputType": "choice",
        "options": [{"value": 1, "label": "l"}],
    }
    driver.answer(0, {"value": "1"})
    assert bench.wait(driver.leg()).result == {"value": "1"}


@pytest.mark.parametrize(
    ("ts", "py", "kind", "args"),
    [
        ("ctx.waitForApproval('Ship?')", None, "approval", "Ship?"),
        ("ctx.waitForApproval({prompt: 'Ship?', allowEdits: true})", None, "approval", {"prompt": "Ship?", "allowEdits": True}),
        (None, "ctx.wait_for_approval('Ship?')", "approval", "Ship?"),
        (None, "ctx.wait_for_approval('Ship?', allow_edits=True)", "approval", {"prompt": "Ship?", "allowEdits": True}),
        ("ctx.sleepUntil(new Date(1e12))", None, "sleep", "2001-09-09T01:46:40.000Z"),
        ("ctx.sleepUntil(1e12)", None, "sleep", 1e12),
        (None, "ctx.sleep_until(datetime.datetime(2001, 9, 9, 1, 46, 40, tzinfo=datetime.timezone.utc))", "sleep", "2001-09-09T01:46:40.000Z"),
        (None, "ctx.sleep_until('2001-09-09')", "sleep", "2001-09-09"),
        (
            None,
            "ctx.request_input('q?', context={'input_type': 1}, on_expire='fail', timeout_ms=5)",
            "input",
            {"question": "q?", "context": {"input_type": 1}, "onExpire": "fail", "timeoutMs": 5},
        ),
    ],
)  # fmt: skip
def test_pauses_reach_the_runtime_as_they_were_asked(
    bench: Bench, ts: str | None, py: str | None, kind: str, args: Any
) -> None:
    parked = bench.wait(bench.driver(*_handler(ts, py)).leg()).parked
    assert (parked[0].kind, json.loads(parked[0].args)) == (kind, args)


def test_a_sleep_returns_nothing(bench: Bench, language: str) -> None:
    source = same(
        "export default async (p, ctx) => [(await ctx.sleepUntil(1)) === undefined]",
        "async def handler(p, ctx): return [await ctx.sleep_until(1) is None]",
    )[language]
    driver = bench.driver(language, source)
    bench.wait(driver.leg())
    driver.answer(0, None)
    assert bench.wait(driver.leg()).result == [True]


CATCHES = same(
    "export default async (p, ctx) => { try { await ctx.callTool('t', p) } catch (e) {"
    " return [e instanceof CompositeCallError, e.name, e.code ?? null, e.message, e instanceof TypeError] } }",
    "async def handler(p, ctx):\n"
    "    try: await ctx.call_tool('t', p)\n"
    "    except Exception as e:\n"
    "        return [isinstance(e, CompositeCallError), getattr(e, 'name', type(e).__name__),\n"
    "                getattr(e, 'code', None), str(e), isinstance(e, TypeError)]",
)


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (ToolError("CompositeCallError", "no such child", "undeclared"), [True, "CompositeCallError", "undeclared", "no such child", False]),
        (ToolError("Custom", "mine", "E_X"), [False, "Custom", "E_X", "mine", False]),
        (ToolError("TypeError", "bad"), [False, "TypeError", None, "bad", True]),
    ],
)  # fmt: skip
def test_an_error_of_a_call_can_be_caught_and_told_apart(
    bench: Bench, language: str, error: ToolError, seen: list[Any]
) -> None:
    def refuse(call: HandlerCall) -> Any:
        raise error

    driver = bench.driver(language, CATCHES[language], execute=refuse)
    found = bench.wait(driver.leg()).result
    if language == "py" and seen[0]:
        seen = [True, "CompositeCallError", *seen[2:]]
    assert found == seen


def test_an_uncaught_error_of_a_call_is_the_error_of_the_handler(bench: Bench, language: str) -> None:
    def refuse(call: HandlerCall) -> Any:
        raise ToolError("CompositeCallError", "no such child", "undeclared")

    source = same(
        "export default async (p, ctx) => await ctx.callTool('t', {})",
        "async def handler(p, ctx): await ctx.call_tool('t', {})",
    )[language]
    failure = bench.wait(bench.driver(language, source, execute=refuse).leg()).failure
    assert failure is not None
    assert (failure.name, failure.code, failure.message) == ("CompositeCallError", "undeclared", "no such child")


THROWS = [
    ("ts", "throw 'plain text'", "Error", "plain text", None),
    ("ts", "throw Object.assign(new TypeError('bad'), {code: 'E_X'})", "TypeError", "bad", "E_X"),
    ("ts", "const f = () => f(); f()", "RangeError", "Maximum call stack", None),
    ("ts", "throw null", "Error", "null", None),
    ("py", "raise ValueError('bad')", "ValueError", "bad", None),
    ("py", "raise KeyError('k')", "KeyError", "k", None),
    ("py", "f = lambda: f()\n    f()", "RecursionError", "maximum recursion depth", None),
    ("py", "raise BaseException('odd')", "BaseException", "odd", None),
]


@pytest.mark.parametrize(("kind", "body", "name", "message", "code"), THROWS)
def test_what_a_handler_throws_is_its_failure(
    bench: Bench, kind: str, body: str, name: str, message: str, code: str | None
) -> None:
    source = same(f"export default async (p, ctx) => {{ {body} }}", f"async def handler(p, ctx):\n    {body}")[kind]
    failure = bench.inline(kind, source).failure
    assert failure is not None
    assert (failure.name, failure.code) == (name, code)
    assert message in failure.message
    assert not failure.lost
    if name not in {"Error"}:
        assert failure.stack is not None
        assert "handler." in failure.stack
    assert bench.is_alive(kind)


TOO_LARGE = same(
    "export default async (p, ctx) => { if (p.call) await ctx.callTool('t', {a: 'x'.repeat(9e6)});"
    " return 'x'.repeat(9e6) }",
    "async def handler(p, ctx):\n"
    "    if p['call']: await ctx.call_tool('t', {'a': 'x' * 9_000_000})\n"
    "    return 'x' * 9_000_000",
)


@pytest.mark.parametrize(("call", "code"), [(True, "params-too-large"), (False, "result-too-large")])
def test_values_above_the_limit_are_refused_in_the_process(bench: Bench, language: str, call: bool, code: str) -> None:
    driver = bench.driver(language, TOO_LARGE[language], {"call": call})
    failure = bench.wait(driver.leg()).failure
    assert failure is not None
    assert failure.code == code
    assert "8388608" in failure.message
    assert driver.calls == []


def large(_: HandlerCall) -> str:
    return "é" * 5_000_000


def test_a_large_result_of_a_call_arrives_whole(bench: Bench, language: str) -> None:
    source = same(
        "export default async (p, ctx) => (await ctx.callTool('t', {})).length",
        "async def handler(p, ctx): return len(await ctx.call_tool('t', {}))",
    )[language]
    assert bench.inline(language, source, execute=large).result == 5_000_000


def test_calls_in_one_go_keep_their_order_and_their_results(bench: Bench, language: str) -> None:
    source = same(
        "export default async (p, ctx) => Promise.all([...Array(500).keys()].map((i) => ctx.callTool('t', {i})))",
        "import asyncio\n"
        "async def handler(p, ctx): return await asyncio.gather(*[ctx.call_tool('t', {'i': i}) for i in range(500)])",
    )[language]
    driver = bench.driver(language, source)
    assert bench.wait(driver.leg()).result == [{"i": i} for i in range(500)]
    assert [json.loads(call.args)["i"] for call in driver.calls] == list(range(500))
