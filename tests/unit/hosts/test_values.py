"""What crosses the border unchanged, what is changed with a warning, what is refused with its path."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime_core.hosts.base import HandlerCall
from runtime_core.wire.json import dumps, loads
from tests.unit.hosts.conftest import Bench, same

PLAIN = [
    # language, expression, JSON text, part of a warning
    ("ts", "new Date(0)", '"1970-01-01T00:00:00.000Z"', None),
    ("ts", "new (class P { constructor() { this.a = 1 } get c() { return 3 } })()", '{"a":1}', None),
    ("ts", "undefined", "null", None),
    ("ts", "({a: undefined, b: [undefined]})", '{"b":[null]}', None),
    ("ts", "({a: NaN, b: Infinity})", '{"a":null,"b":null}', "$.a: NaN became null"),
    ("ts", "({f() {}, a: 1})", '{"a":1}', "$.f: a function was dropped"),
    ("ts", "({m: new Map([[1, 2]])})", '{"m":{}}', "$.m: the contents of a Map"),
    ("ts", "new Set([1])", "{}", "$: the contents of a Set"),
    ("ts", "({p: Promise.resolve(1)})", '{"p":{}}', "Promise"),
    ("ts", "new Uint8Array(2)", '{"0":0,"1":0}', None),
    ("ts", "(() => { const s = {x: 1}; return {a: s, b: s} })()", '{"a":{"x":1},"b":{"x":1}}', None),
    ("ts", "'a\\ud800b'", '"a\\ud800b"', None),
    ("ts", 'JSON.parse(\'{"__proto__":{"x":1},"a":1}\')', '{"__proto__":{"x":1},"a":1}', None),
    (
        "ts",
        "Object.assign(new Error('as value'), {code: 'E'})",
        '{"code":"E","name":"Error","message":"as value"}',
        None,
    ),
    ("ts", "2 ** 53 + 2", "9007199254740994", None),
    ("ts", "({b: 1, a: 2})", '{"b":1,"a":2}', None),
    ("py", "datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)", '"1970-01-01T00:00:00.000Z"', None),
    ("py", "datetime.date(2024, 1, 2)", '"2024-01-02"', None),
    (
        "py",
        "[P(), E.X, decimal.Decimal('1.10'), uuid.UUID(int=0), I.A]",
        '[{"a":1},"x","1.10","00000000-0000-0000-0000-000000000000",2]',
        None,
    ),
    ("py", "{'a': float('nan'), 'b': float('inf')}", '{"a":null,"b":null}', "$.a: nan became null"),
    ("py", "{1: 2, None: 3, False: 4}", '{"1":2,"null":3,"false":4}', None),
    ("py", "10 ** 30", "1" + "0" * 30, None),
    ("py", "2 ** 53", "9007199254740992", None),
    ("py", "'a\\ud800b'", '"a\\ud800b"', None),
    ("py", "(1, (2,))", "[1,[2]]", None),
    ("py", "Plain()", '{"b":1}', None),
    ("py", "None", "null", None),
    ("py", "ValueError('v')", '{"name":"ValueError","message":"v"}', None),
]

REFUSED = [
    ("ts", "({a: [0, 1, 2, {b: 10n}]})", "$.a[3].b", "BigInt"),
    ("ts", "(() => { const a = {}; a['x y'] = a; return a })()", '$["x y"]', "contains itself"),
    ("ts", "({toJSON() { throw new Error('no json') }})", "$", "no json"),
    ("ts", "({get a() { throw new Error('no get') }})", "$.a", "no get"),
    ("ts", "(() => { let a = []; for (let i = 0; i < 600; i++) a = [a]; return a })()", "$[0]", "deeper than 500"),
    ("py", "{'a': [0, {1, 2}]}", "$.a[1]", "set"),
    ("py", "{'a': b'x'}", "$.a", "bytes"),
    ("py", "{(1, 2): 3}", "$", "(1, 2)"),
    ("py", "{1: 'a', '1': 'b'}", "$", "the same as text"),
    ("py", "loop()", "$.s", "contains itself"),
    ("py", "{'f': print}", "$.f", "builtin_function_or_method"),
    ("py", "deep()", "$[0]", "deeper than 500"),
]

FRAME = """
import dataclasses, datetime, decimal, enum, uuid

@dataclasses.dataclass
class P:
    a: int = 1

class E(enum.Enum):
    X = "x"

class I(enum.IntEnum):
    A = 2

class Plain:
    def __init__(self): self.b = 1

def loop():
    a = {}
    a["s"] = a
    return a

def deep():
    a = []
    for _ in range(600): a = [a]
    return a

"""


def _source(language: str, expression: str) -> str:
    return same(
        f"export default async () => {expression}",
        f"{FRAME}\nasync def handler(p, ctx): return {expression}",
    )[language]


@pytest.mark.parametrize(("kind", "expression", "text", "warning"), PLAIN)
def test_a_value_becomes_json(bench: Bench, kind: str, expression: str, text: str, warning: str | None) -> None:
    outcome = bench.inline(kind, _source(kind, expression))
    assert outcome.value == text
    if warning is None:
        assert list(outcome.warnings) == []
    else:
        assert warning in outcome.warnings[0]


@pytest.mark.parametrize(("kind", "expression", "path", "reason"), REFUSED)
def test_a_value_that_is_no_json_is_refused_with_its_path(
    bench: Bench, kind: str, expression: str, path: str, reason: str
) -> None:
    failure = bench.inline(kind, _source(kind, expression)).failure
    assert failure is not None
    assert failure.code == "not-serializable"
    assert f"at {path}" in failure.message
    assert reason in failure.message


CATCH_ARGUMENT = same(
    "export default async (p, ctx) => { try { await ctx.callTool('t', {a: 1n}) } catch (e) { return [e.code, await ctx.callTool('t', {a: NaN})] } }",  # noqa: E501
    "async def handler(p, ctx):\n"
    "    try: await ctx.call_tool('t', {'a': {1}})\n"
    "    except TypeError as e: return [e.code, await ctx.call_tool('t', {'a': float('nan')})]",
)


def test_parameters_follow_the_same_rules(bench: Bench, language: str) -> None:
    driver = bench.driver(language, CATCH_ARGUMENT[language])
    assert bench.wait(driver.leg()).result == ["not-serializable", {"a": None}]
    (note,) = driver.notes_of("lossy")
    assert "$.a" in note


DIGITS = '{"big":123456789012345678901234567890,"amount":1.10,"exp":1E5,"text":"é\\ud83d\\ude00\\u2028"}'
PASS_ON = same(
    "export default async (p, ctx) => { await ctx.callTool('t', {text: p.text}); return p.text }",
    "async def handler(p, ctx):\n    got = await ctx.call_tool('t', p); assert got == p; return p",
)


def exactly(call: HandlerCall) -> Any:
    return json.loads(call.args)


def test_digits_survive_a_python_handler(bench: Bench) -> None:
    driver = bench.driver("py", PASS_ON["py"])
    driver.params = DIGITS
    driver.execute = exactly
    outcome = bench.wait(driver.leg())
    assert outcome.value is not None
    assert dumps(loads(outcome.value)) == dumps(loads(DIGITS))
    assert dumps(loads(driver.calls[0].args)) == dumps(loads(DIGITS))


def test_text_survives_whatever_it_contains(bench: Bench, language: str) -> None:
    text = '\u0000 \u001e \u2028 \u2029 \ufeff é 😀 \r\n \\ " </script> ' + "\x1e{}\n"
    driver = bench.driver(language, PASS_ON[language], {"text": text})
    assert json.loads(bench.wait(driver.leg()).value or "") in (text, {"text": text})
    assert json.loads(driver.calls[0].args)["text"] == text


def test_parameters_may_be_written_over_several_lines(bench: Bench, language: str) -> None:
    driver = bench.driver(language, PASS_ON[language], durable=False)
    driver.params = '{\r\n  "text":\n  "x"\n}'
    assert bench.wait(driver.leg()).failure is None
