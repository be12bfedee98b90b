"""What a handler is, what it finds on ctx, and what happens to one that cannot be loaded."""

from __future__ import annotations

import asyncio

import pytest

from runtime_core.hosts import process
from runtime_core.hosts.base import HandlerLoadError, HostUnavailable, Language
from tests.unit.hosts.conftest import Bench, same
from tests.unit.hosts.driver import DURABLE, RunDriver, entry, write_tools

ECHO = same(
    "export default async (params, ctx) => ({ params, session: ctx.sessionId, scope: ctx.scopeId })",
    "async def handler(params, ctx): return {'params': params, 'session': ctx.session_id, 'scope': ctx.scopeId}",
)


def test_a_handler_gets_its_parameters_and_session(bench: Bench, language: str) -> None:
    outcome = bench.inline(language, ECHO[language], {"a": [1, "ü\n\u2028"]}, session_id="dur_1", scope_id="berlin")
    assert outcome.result == {"params": {"a": [1, "ü\n\u2028"]}, "session": "dur_1", "scope": "berlin"}


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("ts", "export default function (p) { return 'made' }"),
        ("ts", "export default { handler: async () => 'made' }"),
        ("ts", "export default { name: 'made', handle() { return this.name } }"),
        ("py", "def handler(params, ctx): return 'made'"),
        ("py", "class Tool:\n    async def __call__(self, params, ctx): return 'made'\nhandler = Tool()"),
    ],
)
def test_every_form_of_a_handler_runs(bench: Bench, kind: str, source: str) -> None:
    assert bench.inline(kind, source).result == "made"


PRESENT = same(
    "export default async (p, ctx) => Object.keys(ctx).sort()",
    "async def handler(p, ctx): return sorted(vars(ctx))",
)
BASE = ["emit", "emitReasoning", "env", "fs", "log", "scopeId", "sessionId", "setLabel", "signal"]


@pytest.mark.parametrize("methods", [set[str](), {"callTool"}, set(DURABLE)], ids=["none", "one", "durable"])
def test_ctx_has_exactly_the_members_of_the_run(bench: Bench, language: str, methods: set[str]) -> None:
    found = bench.inline(language, PRESENT[language], methods=frozenset(methods)).result
    if language == "py":
        assert "call_tool" in found or "callTool" not in methods
        found = [name for name in found if "_" not in name]
    assert found == sorted([*BASE, *methods])


DETACHED = same(
    "export default async (p, ctx) => { const { callTool, log, random, now, fs: { readRepoFile } } = ctx;"
    " log('x'); return [await callTool('t', {a: 1}), typeof random(), typeof (ctx.now ?? Date.now)(),"
    " await readRepoFile('amodal/tools/ok/handler.py').then((t) => t.length > 5)] }",
    "async def handler(p, ctx):\n"
    "    call_tool, log, random, now, read = ctx.call_tool, ctx.log, ctx.random, ctx.now, ctx.fs.read_repo_file\n"
    "    log('x')\n"
    "    text = await read('amodal/tools/ok/handler.py')\n"
    "    return [await call_tool('t', {'a': 1}), 'number' if isinstance(random(), float) else '',\n"
    "            'number' if isinstance(now(), int) else '', len(text) > 5]",
)


def test_members_work_taken_off_the_object(bench: Bench, language: str) -> None:
    driver = bench.driver(language, DETACHED[language])
    assert bench.wait(driver.leg()).result == [{"a": 1}, "number", "number", True]
    assert driver.notes_of("log") == ["x"]


ENV = same(
    "export default async (p, ctx) => [ctx.env('KEY') ?? null, ctx.env('OTHER') ?? null, ctx.env('toString') ?? null]",
    "async def handler(p, ctx): return [ctx.env('KEY'), ctx.env('OTHER'), ctx.env('toString')]",
)


def test_env_holds_the_listed_names_and_nothing_in_a_durable_run(bench: Bench, language: str) -> None:
    assert bench.inline(language, ENV[language], env={"KEY": "v"}).result == ["v", None, None]
    durable = bench.driver(language, ENV[language], env={"KEY": "v"})
    assert bench.wait(durable.leg()).result == [None, None, None]


NOTES = same(
    "export default async (p, ctx) => { ctx.log(1); ctx.emit({type: 'plan', n: 1}); ctx.emitReasoning('because');"
    " ctx.setLabel({running: 'Doing'}); console.log('seen', {a: 1}) }",
    "async def handler(p, ctx):\n"
    "    ctx.log(1); ctx.emit({'type': 'plan', 'n': 1}); ctx.emit_reasoning('because')\n"
    "    ctx.set_label(running='Doing'); print('seen', {'a': 1})",
)


def test_notes_arrive_in_order(bench: Bench, language: str) -> None:
    driver = bench.driver(language, NOTES[language], durable=False)
    assert bench.wait(driver.leg()).result is None
    assert [kind for kind, _ in driver.notes] == ["log", "emit", "reasoning", "label", "console"]
    assert driver.notes[0][1] == "1"
    assert driver.notes[1][1] == {"type": "plan", "n": 1}
    assert driver.notes[3][1] == {"running": "Doing"}
    assert driver.notes[4][1]["text"].startswith("seen {")


def test_a_call_id_is_on_ctx_where_there_is_one(bench: Bench, language: str) -> None:
    source = same(
        "export default async (p, ctx) => ctx.callId ?? 'none'",
        "async def handler(p, ctx): return getattr(ctx, 'call_id', 'none')",
    )[language]
    assert bench.inline(language, source, call_id="dur_1.3").result == "dur_1.3"
    assert bench.inline(language, source).result == "none"


# ---- loading -------------------------------------------------------------------------------------------

BROKEN = [
    ("ts", "export default async( => 1", "handler.ts:1:"),
    ("ts", "\nimport { x } from './missing.js';\nexport default async () => x", "handler.ts:2:"),
    ("ts", "const a = 1;\nthrow new Error('top-level boom');\nexport default async () => a", "handler.ts:2:"),
    ("ts", "import fs = require('fs');\nexport default async () => fs", "handler.ts"),
    ("py", "async def handler(p, c: return 1", "handler.py:1"),
    ("py", "\nfrom . import missing\nasync def handler(p, c): pass", "handler.py:2"),
    ("py", "a = 1\nraise RuntimeError('top-level boom')", "handler.py:2"),
    ("py", "import sys\nsys.exit(3)", "handler.py:2"),
]


@pytest.mark.parametrize(("kind", "source", "place"), BROKEN)
def test_a_file_that_cannot_be_loaded_is_named_with_its_line(bench: Bench, kind: str, source: str, place: str) -> None:
    driver = bench.driver(kind, source, durable=False)
    failure = bench.wait(driver.leg()).failure
    assert failure is not None
    assert failure.code == "load-failed"
    assert driver.entry in failure.message
    assert place in failure.message
    assert str(bench.root) not in failure.message
    assert bench.is_alive(kind)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("\nthrow new Error('top')", "top at {entry}:2:7"),
        ("await Promise.reject(new Error('top'))", "top at {entry}:1:22"),
        ("throw undefined", "it threw undefined"),
        ("import 'left-pad'", '"left-pad", which {entry} imports, is not there: npm packages'),
        ("import 'npm:left-pad'", '"npm:left-pad", which {entry} imports, is not there: npm packages'),
        ("import 'https://example.com/a.ts'", '"https://example.com/a.ts", which {entry} imports, is not there: npm'),
    ],
)
def test_what_is_wrong_with_a_file_is_told_in_plain_words(bench: Bench, source: str, why: str) -> None:
    driver = bench.driver("ts", source, durable=False)
    failure = bench.wait(driver.leg()).failure
    assert failure is not None
    assert failure.message.startswith(f"{driver.entry} cannot be loaded: {why.format(entry=driver.entry)}")
    assert "host.mjs" not in failure.message


def test_a_file_that_blocks_its_process_while_it_is_loaded_is_told_so(
    bench: Bench, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TICK_S", 0.05)
    source = same("while (true) {}", "while True: pass")[language]
    hung = bench.inline(language, source).failure
    assert hung is not None
    assert hung.code == "host-hung"
    assert "blocked its process for 5 s while it was being loaded" in hung.message
    late = bench.inline(language, source, timeout_s=0.1).failure
    assert late is not None
    assert late.code == "deadline"
    assert "was still being loaded after 0.1 s" in late.message


def test_a_file_without_a_handler_says_how_to_write_one(bench: Bench, language: str) -> None:
    source = same("export const x = 1", "x = 1")[language]
    failure = bench.inline(language, source).failure
    assert failure is not None
    assert failure.code == "no-handler"
    assert "export a function as default" in failure.message or "define async def handler" in failure.message


UNUSABLE = [
    ("ts", "export const x = 1", "no default export"),
    ("ts", "export default 5", "not a function"),
    ("ts", "export default async function* (params, ctx) { yield 1 }", "generator"),
    ("py", "x = 1", "no function handler"),
    ("py", "handler = 5", "not a function"),
    ("py", "async def handler(params, ctx):\n    yield 1", "generator"),
    ("py", "def handler(params, ctx):\n    yield 1", "generator"),
    ("py", "async def handler(params): return 1", "it takes (params)"),
    ("py", "async def handler(params, ctx, more): return 1", "it takes (params, ctx, more)"),
    ("py", "async def handler(params, *, ctx): return 1", "it takes (params, *, ctx)"),
]


@pytest.mark.parametrize(("kind", "source", "words"), UNUSABLE)
def test_a_handler_that_cannot_be_called_is_found_without_calling_it(
    bench: Bench, kind: str, source: str, words: str
) -> None:
    language: Language = "typescript" if kind == "ts" else "python"
    found = bench.wait(bench.hosts.describe(bench.repo, language, bench.write(kind, source)))
    assert words in found["problem"]
    failure = bench.inline(kind, source).failure
    assert failure is not None
    assert failure.code == "no-handler"
    assert words in failure.message


USABLE = [
    ("ts", "export default async (params) => 1"),
    ("ts", "export default { handler: () => 1 }"),
    ("py", "def handler(params, ctx): return 1"),
    ("py", "async def handler(*args): return 1"),
    ("py", "async def handler(params, ctx, more=1): return 1"),
]


@pytest.mark.parametrize(("kind", "source"), USABLE)
def test_a_handler_that_can_be_called(bench: Bench, kind: str, source: str) -> None:
    language: Language = "typescript" if kind == "ts" else "python"
    assert bench.wait(bench.hosts.describe(bench.repo, language, bench.write(kind, source)))["problem"] is None
    assert bench.inline(kind, source).result == 1


UNUSABLE_TOOLS = [
    ("ts", "export const tool = { handle: () => 1 }", "no default export"),
    ("ts", "export default { handler: () => 1 }", "handle is not a function"),
    ("ts", "export default { handle: function* () {} }", "generator"),
    ("py", "async def handle(ctx): pass", "there is no tool"),
    ("py", "tool = {'handle': 5}", "handle is not a function"),
    ("py", "tool = []", "handle is not a function"),
    ("py", "async def handle(params, ctx): pass\ntool = {}", "it takes (params, ctx)"),
]


@pytest.mark.parametrize(("kind", "source", "words"), UNUSABLE_TOOLS)
def test_a_tool_whose_function_cannot_be_called(bench: Bench, kind: str, source: str, words: str) -> None:
    language: Language = "typescript" if kind == "ts" else "python"
    file = bench.write(kind, source)
    assert words in bench.wait(bench.hosts.describe(bench.repo, language, file, "tool"))["problem"]
    driver = RunDriver(bench.hosts, bench.repo, file, durable=False, form="tool", path=("handle",))
    failure = bench.wait(driver.leg()).failure
    assert failure is not None
    assert failure.code == "no-handler"
    assert words in failure.message


TOOLS = [
    ("ts", "export default { n: 2, handle(ctx) { return ctx.input.x * this.n } }"),
    ("ts", "class Double { async handle(ctx) { return ctx.input.x * 2 } }; export default new Double();"),
    ("py", "def handle(ctx): return ctx.input['x'] * 2\ntool = {'id': 'x'}"),
    ("py", "tool = {'handle': lambda ctx: ctx.input['x'] * 2}"),
]


@pytest.mark.parametrize(("kind", "source"), TOOLS)
def test_the_function_of_a_tool_is_called_with_its_input(bench: Bench, kind: str, source: str) -> None:
    language: Language = "typescript" if kind == "ts" else "python"
    file = bench.write(kind, source)
    assert bench.wait(bench.hosts.describe(bench.repo, language, file, "tool"))["problem"] is None
    driver = RunDriver(bench.hosts, bench.repo, file, {"x": 21}, durable=False, form="tool", path=("handle",))
    assert bench.wait(driver.leg()).result == 42


PREDICATES = [
    ("ts", "(ctx) => ctx.claims.role", False),
    ("ts", "(ctx) => ctx.agentName", True),
    ("ts", "async (ctx) => ctx.agentName === ''", False),
    ("py", "lambda ctx: ctx['claims'].get('role')", False),
    ("py", "lambda ctx: ctx.agent_name", True),
    ("py", "lambda ctx: hasattr(ctx, 'other')", False),
]


@pytest.mark.parametrize(("kind", "source", "expected"), PREDICATES)
def test_what_a_predicate_returns_counts_as_true_or_false(bench: Bench, kind: str, source: str, expected: bool) -> None:
    start = "export default" if kind == "ts" else "agent ="
    file = bench.write(kind, f"{start} {{'tools': ['x', {{'conditional': {source}}}]}}")
    surface = {"claims": {}, "agentName": "helper"}
    path = ("tools", 1, "conditional")
    driver = RunDriver(bench.hosts, bench.repo, file, surface, durable=False, form="agent", path=path)
    assert bench.wait(driver.leg()).result is expected


SPIN = same(
    "export default (params) => { while (params.spin); }", "def handler(params, ctx):\n    while params['spin']: pass"
)
SPINNING = {"ts": "while (true);", "py": "while True: pass"}
SOUND = {"ts": "export default { handle: () => 1 }", "py": "tool = {'handle': lambda ctx: 1}"}


def test_a_definition_is_to_blame_only_for_what_it_does_itself(
    bench: Bench, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TICK_S", 0.05)
    kind: Language = "typescript" if language == "ts" else "python"
    with pytest.raises(HandlerLoadError, match="blocked its process"):
        bench.wait(bench.hosts.describe(bench.repo, kind, bench.write(language, SPINNING[language]), "tool"))
    spin, sound = bench.write(language, SPIN[language]), bench.write(language, SOUND[language])
    assert bench.wait(RunDriver(bench.hosts, bench.repo, spin, {"spin": False}, durable=False).leg()).failure is None

    async def beside() -> None:
        spinning = RunDriver(bench.hosts, bench.repo, spin, {"spin": True}, durable=False).leg()
        said = bench.hosts.describe(bench.repo, kind, sound, "tool")
        _, other = await asyncio.gather(spinning, said, return_exceptions=True)
        assert isinstance(other, HostUnavailable)

    bench.wait(beside())


def test_a_missing_file_fails_to_load(bench: Bench, language: str) -> None:
    driver = RunDriver(bench.hosts, bench.repo, f"amodal/tools/nowhere/handler.{language}", durable=False)
    failure = bench.wait(driver.leg()).failure
    assert failure is not None
    assert failure.code == "load-failed"


def test_shared_files_and_state_of_modules_stay_within_one_process(bench: Bench) -> None:
    write_tools(
        bench.root,
        {
            "amodal/_lib/policy.py": "limit = 7\n",
            "amodal/_lib/shared.ts": "export const limit: number = 7;\n",
            "lib_user.py": "from ..._lib.policy import limit\nasync def handler(p, c): return limit",
            "lib_user.ts": "import { limit } from '../../_lib/shared.js'; export default async () => limit;",
        },
    )
    for language in ("ts", "py"):
        driver = RunDriver(bench.hosts, bench.repo, entry(f"lib_user.{language}"), durable=False)
        assert bench.wait(driver.leg()).result == 7


def test_nothing_is_written_into_the_repository(bench: Bench) -> None:
    for language in ("ts", "py"):
        assert bench.is_alive(language)
    found = {path.name for path in bench.root.rglob("*")}
    assert not found & {"__pycache__", "deno.lock", ".build", "node_modules"}


def test_a_definition_is_described_with_its_functions_as_slots(bench: Bench) -> None:
    ts = bench.write(
        "ts", "export const other = 1; export default { name: 'x', n: 1.5, when: (c) => true, list: [() => 1] }"
    )
    found = bench.wait(bench.hosts.describe(bench.repo, "typescript", ts))
    assert found == {
        "value": {"name": "x", "n": 1.5, "when": {"$fn": "when"}, "list": [{"$fn": True}]},
        "exports": ["default", "other"],
        "problem": "the default export is not a function",
    }
    py = bench.write("py", "async def handle(ctx): pass\ntool = {'id': 'x', 'handle': handle}")
    assert bench.wait(bench.hosts.describe(bench.repo, "python", py, "tool"))["value"] == {
        "id": "x",
        "handle": {"$fn": "handle"},
    }
    with pytest.raises(HandlerLoadError, match="boom"):
        bench.wait(bench.hosts.describe(bench.repo, "typescript", bench.write("ts", "throw new Error('boom')")))
