"""What abstract programs are in TypeScript and in Python.

A template is the code of one operation: ``$v`` is the variable that takes its value, ``$L`` its label, ``$n`` its
number, ``$s`` the end of all labels, ``<0>`` the code of the first operation in it and ``$0`` that one's variable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from tests.proof.authoring import LOST, Op, Program
from tests.unit.engine.workshop import Repo

Language = Literal["ts", "py"]
OTHER: Mapping[Language, Language] = {"ts": "py", "py": "ts"}

TYPESCRIPT = {
    "read": "const $v = await ctx.callTool('read', {id: $L});",
    "idem": "const $v = await ctx.callTool('idem', {id: $L});",
    "once": "const $v = await ctx.callTool('once', {id: $L});",
    "boom": "let $v;\ntry { $v = await ctx.callTool('boom', {id: $L}); } catch (e) { $v = said(e); }",
    "step": "const $v = await ctx.step($L, () => 'did ' + $L);",
    "badstep": """
let $v;
try { await ctx.step($L, () => { throw new Error('bad ' + $L); }); } catch (e) { $v = said(e); }""",
    "ask": "const $v = (await ctx.requestInput($L)).value;",
    "lost": "const $v = (await ctx.requestInput('$lost' + $L)).value;",
    "silent": """
const asked$v = {question: '$lost' + $L, timeoutMs: $n, onExpire: {value: 'nobody'}};
const $v = (await ctx.requestInput(asked$v)).value;""",
    "approve": "const $v = (await ctx.waitForApproval($L)).approved;",
    "nap": "await new Promise((done) => setTimeout(done, $n));\nconst $v = 'rested';",
    "until": "await ctx.sleepUntil(ctx.now() + $n);\nconst $v = 'woke';",
    "branch": "const $v = async () => {\n  <0>\n  return $0;\n};",
    "row": "const $v = [$each];",
    "all": "const $v = await Promise.all([$each]);",
    "race": "const $v = await Promise.race([$each]);",
    "limit": """
let $v, timer$v;
const late$v = new Promise((_, fail) => { timer$v = setTimeout(() => fail(new Error('late')), $n); });
try { $v = await Promise.race([$each, late$v]); } catch (e) { $v = said(e); } finally { clearTimeout(timer$v); }""",
    "group": """
let $v;
const broken$v = async () => { await ctx.callTool('boom', {id: $L}); };
try { $v = await Promise.all([$each, broken$v()]); } catch (e) { $v = 'broken'; }""",
    "loop": """
const $v = [];
for (let i = 0; i < $n; i++) {
  const s$v = $s + '.' + i;
  <0>
  $v.push($0);
}""",
    "try": """
let $v;
try {
  <0>
  $oops
  $v = $0;
} catch (e) {
  <1>
  $v = [said(e), $1];
} finally {
  <2>
}""",
    "oops0": "",
    "oops1": "if ($0 !== trace) throw new Error('oops');",
    "oops2": "await ctx.callTool('boom', {id: $L});",
    "either": """
let $v;
const asked$v = (await ctx.requestInput($L)).value;
trace.push($L);
if (asked$v === 'left') {
  <0>
  $v = $0;
} else {
  <1>
  $v = $1;
}""",
    "child": "const $v = (await ctx.callTool('$id', {s: $s})).value;",
    "trace": "trace.push($L);",
    "fails": "if (trace) throw new Error('the end');",
    "handler": """
const trace = [], s0 = params.s ?? '';
const said = (e) => e.code ?? e.message;
<0>
$fails
return {value: $0, trace};""",
}

PYTHON = {
    "read": "$v = await ctx.call_tool('read', {'id': $L})",
    "idem": "$v = await ctx.call_tool('idem', {'id': $L})",
    "once": "$v = await ctx.call_tool('once', {'id': $L})",
    "boom": "try: $v = await ctx.call_tool('boom', {'id': $L})\nexcept Exception as e: $v = said(e)",
    "step": "$v = await ctx.step($L, lambda: 'did ' + $L)",
    "badstep": """
def bad$v(): raise ValueError('bad ' + $L)
try: $v = await ctx.step($L, bad$v)
except Exception as e: $v = said(e)""",
    "ask": "$v = (await ctx.request_input($L))['value']",
    "lost": "$v = (await ctx.request_input('$lost' + $L))['value']",
    "silent": """
asked$v = {'question': '$lost' + $L, 'timeoutMs': $n, 'onExpire': {'value': 'nobody'}}
$v = (await ctx.request_input(asked$v))['value']""",
    "approve": "$v = (await ctx.wait_for_approval($L))['approved']",
    "nap": "await asyncio.sleep($n / 1000)\n$v = 'rested'",
    "until": "await ctx.sleep_until(ctx.now() + $n)\n$v = 'woke'",
    "branch": "async def $v():\n  <0>\n  return $0",
    "row": "$v = [$each]",
    "all": "$v = list(await asyncio.gather($each))",
    "race": """
race$v = [asyncio.ensure_future(each) for each in ($each,)]
await asyncio.wait(race$v, return_when=asyncio.FIRST_COMPLETED)
$v = next(each for each in race$v if each.done()).result()
for each in race$v: each.cancel()""",
    "limit": "try: $v = await asyncio.wait_for($each, $n / 1000)\nexcept TimeoutError: $v = 'late'",
    "group": """
async def broken$v(): await ctx.call_tool('boom', {'id': $L})
try:
  async with asyncio.TaskGroup() as group$v:
    for each in ($each, broken$v()): group$v.create_task(each)
  $v = 'whole'
except* Exception: $v = 'broken'""",
    "loop": """
$v = []
for i$v in range($n):
  s$v = $s + '.' + str(i$v)
  <0>
  $v.append($0)""",
    "try": """
try:
  <0>
  $oops
  $v = $0
except Exception as e:
  words$v = said(e)
  <1>
  $v = [words$v, $1]
finally:
  <2>""",
    "oops0": "",
    "oops1": "raise ValueError('oops')",
    "oops2": "await ctx.call_tool('boom', {'id': $L})",
    "either": """
asked$v = (await ctx.request_input($L))['value']
trace.append($L)
if asked$v == 'left':
  <0>
  $v = $0
else:
  <1>
  $v = $1""",
    "child": "$v = (await ctx.call_tool('$id', {'s': $s}))['value']",
    "trace": "trace.append($L)",
    "fails": "raise ValueError('the end')",
    "handler": """
import asyncio
trace, s0 = [], params.get('s', '')
def said(e): return getattr(e, 'code', None) or str(e)
<0>
$fails
return {'value': $0, 'trace': trace}""",
}

TEMPLATES: Mapping[Language, Mapping[str, str]] = {"ts": TYPESCRIPT, "py": PYTHON}
_BRANCHING = {"all", "race", "limit", "group"}
_UNTRACED = {"row", "all", "race", "limit", "group", "loop", "try", "branch", "either"}
_BLOCK = re.compile(r"^( *)<(\d)>$", re.MULTILINE)
_WORD = re.compile(r"\$(each|fails|lost|oops|id|\w)")


class _Writer:
    def __init__(self, language: Language) -> None:
        self._language: Language = language
        self._templates = TEMPLATES[language]
        self._count = 0

    def handler(self, program: Program) -> str:
        code, value = self.op(program.body, "s0")
        fails = self._templates["fails"] if program.fails else ""
        return _fill(self._templates["handler"], [code], {"fails": fails, "0": value})

    def op(self, op: Op, s: str) -> tuple[str, str]:
        """The code of an operation, and the variable its value is in."""
        self._count += 1
        name = f"v{self._count}"
        inner = () if op.kind == "child" else op.inner
        inner_s = f"s{name}" if op.kind == "loop" else s
        parts = [self._branch(part, s) if op.kind in _BRANCHING else self.op(part, inner_s) for part in inner]
        words = {"v": name, "L": f"'{op.id}' + {s}", "n": str(op.number), "s": s, "lost": LOST}
        words["id"] = tool_name(op.id, OTHER[self._language])
        words |= {str(at): value for at, (_, value) in enumerate(parts)}
        words["each"] = ", ".join(f"{value}()" if op.kind in _BRANCHING else value for _, value in parts)
        if op.kind == "try":
            words["oops"] = _fill(self._templates[f"oops{op.number}"], [], words)
        code = _fill(self._templates[op.kind], [code for code, _ in parts], words)
        if op.kind not in _UNTRACED:
            code = f"{code}\n{_fill(self._templates['trace'], [], words)}"
        if op.kind in _BRANCHING or op.kind == "row":
            code = "\n".join([*(part for part, _ in parts), code])
        return code, name

    def _branch(self, op: Op, s: str) -> tuple[str, str]:
        return self.op(Op("branch", inner=(op,)), s)


def _fill(template: str, blocks: list[str], words: Mapping[str, str]) -> str:
    filled = _WORD.sub(lambda found: words[found[1]], template.strip("\n"))

    def block(found: re.Match[str]) -> str:
        return "\n".join(found[1] + line for line in blocks[int(found[2])].splitlines())

    return "\n".join(line for line in _BLOCK.sub(block, filled).splitlines() if line.strip())


def write(repo: Repo, program: Program, language: Language) -> str:
    """Add a program as a durable tool, with its children in the other language; the tool's name."""
    name = tool_name(program.name, language)
    below = [write(repo, Program(op.id, op.inner[0]), OTHER[language]) for op in program.children]
    code = _Writer(language).handler(program)
    tools = (*EFFECTS, *below)
    if language == "ts":
        repo.durable(name, ts=code, tools=tools)
    else:
        repo.durable(name, py=code, tools=tools)
    return name


def tool_name(program: str, language: Language) -> str:
    return f"{program}_{language}"


EFFECTS = ("read", "idem", "once", "boom")


def write_effects(repo: Repo) -> None:
    """The tools that programs call; their effect is counted where they are started."""
    wait = "const late = params.id.length % 4; if (late) await new Promise((done) => setTimeout(done, late));"
    repo.tool("read", ts=f"{wait} return 'read ' + params.id;", effect="read")
    repo.tool("idem", py="await __import__('asyncio').sleep(0)\nreturn 'idem ' + params['id']", effect="idempotent")
    repo.tool("once", ts=f"{wait} return 'once ' + params.id;", effect="once")
    repo.tool("boom", py="raise ValueError('no ' + params['id'])", effect="idempotent")
