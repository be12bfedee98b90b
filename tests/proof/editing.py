"""Handlers of parked runs and what somebody does to them while they wait, in both languages.

A base is code with a question in it; an edit replaces parts of the code. Labels of questions and tools are unique in
a base, so that a refusal can be told by the name it gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.proof.writing import Language

Refusal = Literal["replay-diverged", "content_changed", "attention"]
Change = tuple[str, str]
"""What is replaced, and by what."""


@dataclass(frozen=True, slots=True)
class Base:
    """``child``: the code of the durable tool it calls as ``below``; ``lib``: of the module it imports."""

    ts: str
    py: str
    result: Any
    child_ts: str = ""
    child_py: str = ""
    lib_ts: str = ""
    lib_py: str = ""

    def code(self, language: Language) -> str:
        return self.ts if language == "ts" else self.py


@dataclass(frozen=True, slots=True)
class Edit:
    """``refused``: with which code, naming ``names``; None: the run ends with ``result``.

    ``ts`` and ``py`` change the handler, ``child`` and ``lib`` the code below it; ``delete`` takes the tool away,
    ``settings`` change its tool.json, ``child_settings`` that of ``below``.
    """

    what: str
    base: Base
    ts: Change | None = None
    py: Change | None = None
    child: Mapping[Language, Change] | None = None
    lib: Mapping[Language, Change] | None = None
    delete: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    child_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    refused: Refusal | None = None
    names: tuple[str, ...] = ()
    result: Any = None
    new_effects: tuple[str, ...] = ("last",)
    """Tools that run after the answer if the edit is harmless."""

    def change(self, language: Language) -> Change | None:
        return self.ts if language == "ts" else self.py


LINE = Base(
    ts="""
const a = await ctx.callTool('first', {id: 'a', n: 1});
const noted = await ctx.step('note', () => 'noted');
const options = [{value: 'x', label: 'X'}];
const said = (await ctx.requestInput({question: 'Go on?', inputType: 'choice', options, context: {n: 1}})).value;
const b = await ctx.callTool('last', {id: 'b'});
return [a, noted, said, b];""",
    py="""
a = await ctx.call_tool('first', {'id': 'a', 'n': 1})
noted = await ctx.step('note', lambda: 'noted')
options = [{'value': 'x', 'label': 'X'}]
asked = {'question': 'Go on?', 'inputType': 'choice', 'options': options, 'context': {'n': 1}}
said = (await ctx.request_input(asked))['value']
b = await ctx.call_tool('last', {'id': 'b'})
return [a, noted, said, b]""",
    result=["first a", "noted", "x", "last b"],
)
LOOP = Base(
    ts="""
for (let i = 0; i < 2; i++) await ctx.callTool('first', {id: 'turn ' + i});
const said = (await ctx.requestInput('Go on?')).value;
return [said, await ctx.callTool('last', {id: 'b'})];""",
    py="""
for i in range(2): await ctx.call_tool('first', {'id': 'turn ' + str(i)})
said = (await ctx.request_input('Go on?'))['value']
return [said, await ctx.call_tool('last', {'id': 'b'})]""",
    result=["x", "last b"],
)
BRANCHES = Base(
    ts="""
const both = await Promise.all([ctx.callTool('first', {id: 'a'}), ctx.callTool('second', {id: 'b'})]);
const said = (await ctx.requestInput('Go on?')).value;
return [both, said, await ctx.callTool('last', {id: 'c'})];""",
    py="""
import asyncio
both = await asyncio.gather(ctx.call_tool('first', {'id': 'a'}), ctx.call_tool('second', {'id': 'b'}))
said = (await ctx.request_input('Go on?'))['value']
return [list(both), said, await ctx.call_tool('last', {'id': 'c'})]""",
    result=[["first a", "second b"], "x", "last c"],
)
CAUGHT = Base(
    ts="""
let made = 'nothing';
try { await ctx.callTool('boom', {id: 'a'}); } catch (e) { made = await ctx.callTool('first', {id: 'mend'}); }
const said = (await ctx.requestInput('Go on?')).value;
return [made, said, await ctx.callTool('last', {id: 'b'})];""",
    py="""
made = 'nothing'
try: await ctx.call_tool('boom', {'id': 'a'})
except Exception: made = await ctx.call_tool('first', {'id': 'mend'})
said = (await ctx.request_input('Go on?'))['value']
return [made, said, await ctx.call_tool('last', {'id': 'b'})]""",
    result=["first mend", "x", "last b"],
)
ASKING = Base(
    ts="""
const options = [{value: 'x', label: 'X'}];
const said = (await ctx.requestInput({question: 'Go on?', inputType: 'choice', options, context: {n: 1}})).value;
return [said, await ctx.callTool('last', {id: 'b'})];""",
    py="""
options = [{'value': 'x', 'label': 'X'}]
asked = {'question': 'Go on?', 'inputType': 'choice', 'options': options, 'context': {'n': 1}}
said = (await ctx.request_input(asked))['value']
return [said, await ctx.call_tool('last', {'id': 'b'})]""",
    result=["x", "last b"],
)
SLEEPING = Base(
    ts="""
await new Promise((done) => setTimeout(done, 5));
await ctx.sleepUntil('2020-01-01T00:00:00Z');
const said = (await ctx.requestInput('Go on?')).value;
return [said, await ctx.callTool('last', {id: 'b'})];""",
    py="""
import asyncio
await asyncio.sleep(0.005)
await ctx.sleep_until('2020-01-01T00:00:00Z')
said = (await ctx.request_input('Go on?'))['value']
return [said, await ctx.call_tool('last', {'id': 'b'})]""",
    result=["x", "last b"],
)
ABOVE = Base(
    ts="""
const a = await ctx.callTool('first', {id: 'a'});
const got = await ctx.callTool('$below', {});
return [a, got, await ctx.callTool('last', {id: 'b'})];""",
    py="""
a = await ctx.call_tool('first', {'id': 'a'})
got = await ctx.call_tool('$below', {})
return [a, got, await ctx.call_tool('last', {'id': 'b'})]""",
    child_ts="""
const c = await ctx.callTool('second', {id: 'c'});
return [c, (await ctx.requestInput('Go on?')).value];""",
    child_py="""
c = await ctx.call_tool('second', {'id': 'c'})
return [c, (await ctx.request_input('Go on?'))['value']]""",
    result=["first a", ["second c", "x"], "last b"],
)
FINISHED_CHILD = Base(
    ts="""
const got = await ctx.callTool('$below', {});
const said = (await ctx.requestInput('Go on?')).value;
return [got, said, await ctx.callTool('last', {id: 'b'})];""",
    py="""
got = await ctx.call_tool('$below', {})
said = (await ctx.request_input('Go on?'))['value']
return [got, said, await ctx.call_tool('last', {'id': 'b'})]""",
    child_ts="return await ctx.callTool('second', {id: 'c'});",
    child_py="return await ctx.call_tool('second', {'id': 'c'})",
    result=["second c", "x", "last b"],
)
HELPED = Base(
    ts="""
const a = await help(ctx);
const said = (await ctx.requestInput('Go on?')).value;
return [a, said, await ctx.callTool('last', {id: 'b'})];""",
    py="""
a = await help(ctx)
said = (await ctx.request_input('Go on?'))['value']
return [a, said, await ctx.call_tool('last', {'id': 'b'})]""",
    lib_ts="export async function help(ctx: any) { return await ctx.callTool('first', {id: 'a'}); }\n",
    lib_py="async def help(ctx):\n    return await ctx.call_tool('first', {'id': 'a'})\n",
    result=["first a", "x", "last b"],
)


def both(ts: str, py: str, new: str) -> dict[str, Change]:
    """The same new text in place of two old ones."""
    return {"ts": (ts, new), "py": (py, new)}


_TS_FIRST = "const a = await ctx.callTool('first', {id: 'a', n: 1});\n"
_PY_FIRST = "a = await ctx.call_tool('first', {'id': 'a', 'n': 1})\n"
_TS_STEP = "const noted = await ctx.step('note', () => 'noted');\n"
_PY_STEP = "noted = await ctx.step('note', lambda: 'noted')\n"
_TS_EXTRA = "await ctx.callTool('extra', {id: 'new'});\n"
_PY_EXTRA = "await ctx.call_tool('extra', {'id': 'new'})\n"
_TS_ASK = "const said = (await ctx.requestInput('Go on?')).value;\n"
_PY_ASK = "said = (await ctx.request_input('Go on?'))['value']\n"
_TS_STEPPED = "await ctx.step('new', () => { ctx.log('stepped'); return 1; });\n"
_PY_STEPPED = "await ctx.step('new', lambda: ctx.log('stepped'))\n"

EDITS = [
    # Calls
    Edit(
        "call added before all others",
        LINE,
        (_TS_FIRST, _TS_EXTRA + _TS_FIRST),
        (_PY_FIRST, _PY_EXTRA + _PY_FIRST),
        refused="replay-diverged",
        names=("first", "extra"),
    ),
    Edit(
        "call added between two",
        LINE,
        (_TS_STEP, _TS_EXTRA + _TS_STEP),
        (_PY_STEP, _PY_EXTRA + _PY_STEP),
        refused="replay-diverged",
        names=("note", "extra"),
    ),
    Edit(
        "call added at the end",
        LINE,
        ("return [", _TS_EXTRA + "return ["),
        ("return [", _PY_EXTRA + "return ["),
        result=LINE.result,
        new_effects=("last", "extra"),
    ),
    Edit(
        "call added beside the first",
        LINE,
        (
            "await ctx.callTool('first', {id: 'a', n: 1})",
            "(await Promise.all([ctx.callTool('first', {id: 'a', n: 1}), ctx.callTool('extra', {id: 'new'})]))[0]",
        ),
        (
            "await ctx.call_tool('first', {'id': 'a', 'n': 1})",
            "(await __import__('asyncio').gather(ctx.call_tool('first', {'id': 'a', 'n': 1}), "
            "ctx.call_tool('extra', {'id': 'new'})))[0]",
        ),
        refused="replay-diverged",
        names=("note", "extra"),
    ),
    Edit(
        "call added beside the question",
        BRANCHES,
        (
            "await ctx.requestInput('Go on?')",
            "(await Promise.all([ctx.requestInput('Go on?'), ctx.callTool('extra', {id: 'new'})]))[0]",
        ),
        (
            "await ctx.request_input('Go on?')",
            "(await asyncio.gather(ctx.request_input('Go on?'), ctx.call_tool('extra', {'id': 'new'})))[0]",
        ),
        result=BRANCHES.result,
        new_effects=("extra", "last"),
    ),
    Edit(
        "call removed",
        LINE,
        (_TS_FIRST, "const a = 'first a';\n"),
        (_PY_FIRST, "a = 'first a'\n"),
        refused="replay-diverged",
        names=("first", "note"),
    ),
    Edit(
        "last recorded call removed",
        LINE,
        (_TS_STEP, "const noted = 'noted';\n"),
        (_PY_STEP, "noted = 'noted'\n"),
        refused="replay-diverged",
        names=("note", "requestInput"),
    ),
    Edit(
        "call renamed",
        LINE,
        ("'first', {id: 'a'", "'extra', {id: 'a'"),
        ("'first', {'id': 'a'", "'extra', {'id': 'a'"),
        refused="replay-diverged",
        names=("first", "extra"),
    ),
    Edit(
        "two calls exchanged",
        LINE,
        (_TS_FIRST + _TS_STEP, _TS_STEP + _TS_FIRST),
        (_PY_FIRST + _PY_STEP, _PY_STEP + _PY_FIRST),
        refused="replay-diverged",
        names=("first", "note"),
    ),
    Edit(
        "parallel calls exchanged",
        BRANCHES,
        (
            "ctx.callTool('first', {id: 'a'}), ctx.callTool('second', {id: 'b'})",
            "ctx.callTool('second', {id: 'b'}), ctx.callTool('first', {id: 'a'})",
        ),
        (
            "ctx.call_tool('first', {'id': 'a'}), ctx.call_tool('second', {'id': 'b'})",
            "ctx.call_tool('second', {'id': 'b'}), ctx.call_tool('first', {'id': 'a'})",
        ),
        refused="replay-diverged",
        names=("first", "second"),
    ),
    Edit("argument changed", LINE, ("n: 1})", "n: 2})"), ("'n': 1})", "'n': 2})"), result=LINE.result),
    Edit(
        "kind of a call changed",
        LINE,
        ("ctx.callTool('first', {id: 'a', n: 1})", "ctx.step('first', () => 'first a')"),
        ("ctx.call_tool('first', {'id': 'a', 'n': 1})", "ctx.step('first', lambda: 'first a')"),
        refused="replay-diverged",
        names=('callTool "first"', 'step "first"'),
    ),
    Edit(
        "branch added",
        BRANCHES,
        ("{id: 'b'})]", "{id: 'b'}), ctx.callTool('extra', {id: 'new'})]"),
        ("{'id': 'b'}))", "{'id': 'b'}), ctx.call_tool('extra', {'id': 'new'}))"),
        refused="replay-diverged",
        names=("requestInput", "extra"),
    ),
    Edit(
        "branch removed",
        BRANCHES,
        ("ctx.callTool('second', {id: 'b'})", "'second b'"),
        (", ctx.call_tool('second', {'id': 'b'})", ""),
        refused="replay-diverged",
        names=("second", "requestInput"),
    ),
    Edit(
        "loop longer",
        LOOP,
        ("i < 2", "i < 3"),
        ("range(2)", "range(3)"),
        refused="replay-diverged",
        names=("requestInput", "first"),
    ),
    Edit(
        "loop shorter",
        LOOP,
        ("i < 2", "i < 1"),
        ("range(2)", "range(1)"),
        refused="replay-diverged",
        names=("first", "requestInput"),
    ),
    Edit(
        "exception swallowed",
        CAUGHT,
        ("made = await ctx.callTool('first', {id: 'mend'})", "made = 'first mend'"),
        ("made = await ctx.call_tool('first', {'id': 'mend'})", "made = 'first mend'"),
        refused="replay-diverged",
        names=("first", "requestInput"),
    ),
    Edit(
        "exception no longer caught",
        CAUGHT,
        ("try { await ctx.callTool('boom', {id: 'a'}); } catch (e) {", "await ctx.callTool('boom', {id: 'a'}); {"),
        (
            "try: await ctx.call_tool('boom', {'id': 'a'})\nexcept Exception: made",
            "await ctx.call_tool('boom', {'id': 'a'})\nmade",
        ),
        refused="replay-diverged",
        names=("first",),
    ),
    Edit(
        "exception newly thrown",
        LINE,
        (_TS_STEP, "if (a) throw new Error('no');\n" + _TS_STEP),
        (_PY_STEP, "if a: raise ValueError('no')\n" + _PY_STEP),
        refused="replay-diverged",
        names=("note",),
    ),
    Edit(
        "early return",
        LINE,
        (_TS_STEP, "if (a) return a;\n" + _TS_STEP),
        (_PY_STEP, "if a: return a\n" + _PY_STEP),
        refused="replay-diverged",
        names=("note",),
    ),
    Edit(
        "early return before anything",
        LINE,
        (_TS_FIRST, "if (ctx) return 1;\n" + _TS_FIRST),
        (_PY_FIRST, "if ctx: return 1\n" + _PY_FIRST),
        refused="replay-diverged",
        names=("first",),
    ),
    # Steps
    Edit(
        "step added",
        LINE,
        (_TS_STEP, _TS_STEPPED + _TS_STEP),
        (_PY_STEP, _PY_STEPPED + _PY_STEP),
        refused="replay-diverged",
        names=('step "note"', 'step "new"'),
    ),
    Edit(
        "step renamed",
        LINE,
        ("step('note'", "step('other'"),
        ("step('note'", "step('other'"),
        refused="replay-diverged",
        names=('step "note"', 'step "other"'),
    ),
    Edit(
        "body of a step changed",
        LINE,
        ("=> 'noted'", "=> { ctx.log('stepped'); return 'else'; }"),
        ("lambda: 'noted'", "lambda: ctx.log('stepped')"),
        result=LINE.result,
    ),
    # Questions
    Edit(
        "words of a question changed", ASKING, ("Go on?", "Really?"), ("Go on?", "Really?"), refused="content_changed"
    ),
    Edit(
        "options of a question changed",
        ASKING,
        ("'X'", "'Y'"),
        ("'X'", "'Y'"),
        refused="content_changed",
    ),
    Edit(
        "context of a question changed",
        ASKING,
        ("{n: 1}", "{n: 2}"),
        ("{'n': 1}", "{'n': 2}"),
        refused="content_changed",
    ),
    Edit(
        "rules of a question changed",
        ASKING,
        ("inputType:", "eligibleAnswerers: ['eve'], inputType:"),
        ("'inputType':", "'eligibleAnswerers': ['eve'], 'inputType':"),
        refused="content_changed",
    ),
    Edit(
        "deadline of a question changed",
        ASKING,
        ("inputType:", "expiresAt: '2999-01-01T00:00:00Z', inputType:"),
        ("'inputType':", "'expiresAt': '2999-01-01T00:00:00Z', 'inputType':"),
        refused="content_changed",
    ),
    Edit(
        "new question first",
        BRANCHES,
        (_TS_ASK, "await ctx.requestInput('Sure?');\n" + _TS_ASK),
        (_PY_ASK, "await ctx.request_input('Sure?')\n" + _PY_ASK),
        refused="content_changed",
    ),
    Edit(
        "step after the answered question",
        BRANCHES,
        (_TS_ASK, _TS_ASK + "await ctx.step('new', () => 1);\n"),
        (_PY_ASK, _PY_ASK + "await ctx.step('new', lambda: 1)\n"),
        result=BRANCHES.result,
    ),
    Edit(
        "question removed",
        BRANCHES,
        (_TS_ASK, "const said = 'x';\n"),
        (_PY_ASK, "said = 'x'\n"),
        refused="replay-diverged",
        names=("requestInput", "last"),
    ),
    Edit(
        "question made an approval",
        BRANCHES,
        ("(await ctx.requestInput('Go on?')).value", "await ctx.waitForApproval('Go on?')"),
        ("(await ctx.request_input('Go on?'))['value']", "await ctx.wait_for_approval('Go on?')"),
        refused="replay-diverged",
        names=("requestInput", "waitForApproval"),
    ),
    # Time
    Edit("sleep longer", SLEEPING, ("done, 5", "done, 60000"), ("0.005", "60"), result=SLEEPING.result),
    Edit("moment changed", SLEEPING, ("2020-01", "2021-01"), ("2020-01", "2021-01"), result=SLEEPING.result),
    Edit(
        "sleep removed",
        SLEEPING,
        ("await new Promise((done) => setTimeout(done, 5));\n", ""),
        ("await asyncio.sleep(0.005)\n", ""),
        refused="replay-diverged",
        names=("timer", "sleepUntil"),
    ),
    # Children
    Edit(
        "finished durable child made inline",
        FINISHED_CHILD,
        child_settings={"execution": None},
        result=FINISHED_CHILD.result,
    ),
    Edit(
        "code of a finished child changed",
        FINISHED_CHILD,
        child={"ts": ("second", "extra"), "py": ("second", "extra")},
        result=FINISHED_CHILD.result,
    ),
    Edit(
        "waiting durable child made inline",
        ABOVE,
        child_settings={"execution": None},
        child={
            "ts": ("(await ctx.requestInput('Go on?')).value", "'x'"),
            "py": ("(await ctx.request_input('Go on?'))['value']", "'x'"),
        },
        refused="attention",
        names=("$below",),
    ),
    Edit(
        "call added in a waiting child",
        ABOVE,
        child={"ts": ("const c", _TS_EXTRA + "const c"), "py": ("c =", _PY_EXTRA + "c =")},
        refused="replay-diverged",
        names=("$below", "second", "extra"),
    ),
    Edit(
        "call added before a waiting child",
        ABOVE,
        ("const got", _TS_EXTRA + "const got"),
        ("got =", _PY_EXTRA + "got ="),
        refused="replay-diverged",
        names=("$below", "extra"),
    ),
    Edit(
        "question of a waiting child changed",
        ABOVE,
        child={"ts": ("Go on?", "Sure?"), "py": ("Go on?", "Sure?")},
        refused="content_changed",
        names=("$below",),
    ),
    Edit(
        "end of a waiting child changed",
        ABOVE,
        child={
            "ts": (
                "return [c, (await ctx.requestInput('Go on?')).value];",
                "const said = (await ctx.requestInput('Go on?')).value;\n" + _TS_EXTRA + "return [c, said];",
            ),
            "py": (
                "return [c, (await ctx.request_input('Go on?'))['value']]",
                "said = (await ctx.request_input('Go on?'))['value']\n" + _PY_EXTRA + "return [c, said]",
            ),
        },
        result=ABOVE.result,
        new_effects=("extra", "last"),
    ),
    # The code around
    Edit(
        "helper calls something else",
        HELPED,
        lib={"ts": ("first", "extra"), "py": ("first", "extra")},
        refused="replay-diverged",
        names=("first", "extra"),
    ),
    Edit(
        "helper only tidied",
        HELPED,
        lib={"ts": ("return await", "// tidy\n  return await"), "py": ("return await", "# tidy\n    return await")},
        result=HELPED.result,
    ),
    Edit("variable renamed", LOOP, ("said", "words"), ("said", "words"), result=LOOP.result),
    Edit(
        "comment added", LINE, (_TS_STEP, "// why\n" + _TS_STEP), (_PY_STEP, "# why\n" + _PY_STEP), result=LINE.result
    ),
    Edit(
        "shape of the result changed",
        LINE,
        ("return [a, noted, said, b];", "return {a, b};"),
        ("return [a, noted, said, b]", "return {'a': a, 'b': b}"),
        result={"a": "first a", "b": "last b"},
    ),
    # The tool itself
    Edit("syntax error", LINE, ("return [", "return [["), ("return [", "return [["), refused="attention"),
    Edit(
        "helper cannot be loaded",
        HELPED,
        lib={"ts": ("export", "throw new Error('no');\nexport"), "py": ("async", "raise ValueError('no')\nasync")},
        refused="attention",
    ),
    Edit("tool deleted", LINE, delete=True, refused="attention"),
    Edit("tool made inline", LINE, settings={"execution": None}, refused="attention"),
    Edit("right to call taken away", LINE, settings={"uses": {"tools": ["last"], "subagents": []}}, result=LINE.result),
    Edit(
        "hangs before the recorded calls",
        LINE,
        (_TS_FIRST, "await new Promise(() => {});\n" + _TS_FIRST),
        (_PY_FIRST, "await __import__('asyncio').Event().wait()\n" + _PY_FIRST),
        refused="replay-diverged",
        names=("first",),
    ),
]
