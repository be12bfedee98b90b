"""Tools and agents defined in code, in both languages: read, run and asked by hosts (contract 1.3, 2.6, 3.1)."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine import definitions
from runtime_core.engine.definitions import Definitions
from runtime_core.hosts import process
from runtime_core.hosts.base import Form, HostRepo, HostUnavailable, Language
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.journal.base import Answer
from runtime_core.repo.bundle import BundleError
from runtime_core.runtime import Runtime
from tests.unit.engine.workshop import Bench, Repo, bench, play

SCHEMA = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'
HEAD = f""""exposure": {{"kind": "KIND"}},
  "base": {{"name": "NAME", "description": "Calculates.", "parametersJsonSchema": {SCHEMA}}}"""
TS = 'export default {"id": "NAME", HEAD, async handle(ctx) {\n BODY\n} }'
PY = 'async def handle(ctx):\n    BODY\ntool = {"id": "NAME", HEAD, "handle": handle}'
DOUBLE = {"ts": "return { twice: ctx.input.n * 2 };", "py": "return {'twice': ctx.input['n'] * 2}"}


@pytest.fixture(params=["ts", "py"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def write(repo: Repo, kind: str, body: Mapping[str, str] = DOUBLE, name: str = "double", exposure: str = "open") -> str:
    """A tool in code, in a folder with a hyphen; returns its file."""
    file = f"amodal/tools/the-{name.replace('_', '-')}/tool.{kind}"
    text = (TS if kind == "ts" else PY).replace("HEAD", HEAD).replace("NAME", name).replace("KIND", exposure)
    repo.file(file, text.replace("BODY", body[kind]))
    return file


def agent(repo: Repo, kind: str, condition: Mapping[str, str], name: str = "helper") -> str:
    """An agent whose tool ``double`` has a condition, and whose tool ``other`` has none."""
    file = f"agents/{name}/agent.{kind}"
    repo.file(f"agents/{name}/AGENT.md", "You help.")
    start = "export default" if kind == "ts" else "agent ="
    repo.file(file, f'{start} {{"tools": [{{"name": "double", "conditional": {condition[kind]}}}, "other"]}}')
    return file


def scripted(repo: Repo) -> str:
    """A model that calls double and says what came of it."""
    call = {"agent": "helper", "match": "^Go", "tool_calls": [{"name": "double", "args": {"n": 4}}], "repeat": True}
    return repo.script(call, {"agent": "helper", "text": "{{last_tool_result}}", "repeat": True})


def on(repo: Repo, data: Path, story: Callable[[Bench], Any], **more: Any) -> Any:
    async def act() -> Any:
        async with bench(repo, data, **more) as desk:
            return await story(desk)

    return play(act())


MEMBERS = {"ts": "return Object.keys(ctx);", "py": "return list(vars(ctx))"}
ENV = {"ts": "return String(ctx.env('PATH'));", "py": "return str(ctx.env('PATH'))"}
ABSENT = "callTool callSubagent requestInput waitForApproval sleepUntil step now random"


def test_a_tool_in_code_has_the_members_of_the_matrix_and_is_never_durable(
    repo: Repo, kind: str, tmp_path: Path
) -> None:
    write(repo, kind)
    write(repo, kind, MEMBERS, "members")
    write(repo, kind, ENV, "surroundings")

    async def story(desk: Bench) -> None:
        done = await desk.run("double", {"n": 21})
        assert (done["result"], done["session_id"]) == ({"twice": 42}, None)
        members = set((await desk.run("members", {"n": 1}))["result"])
        assert members >= {"input", "exec", "env", "fs", "log", "signal", "sessionId", "scopeId"}
        assert not members & set(ABSENT.split())
        assert (await desk.run("surroundings", {"n": 1}))["result"] in ("undefined", "None")

    on(repo, tmp_path / "data", story)


def test_the_code_beside_a_definition_wins_and_cannot_call_others(repo: Repo, kind: str, tmp_path: Path) -> None:
    write(repo, kind)
    repo.tool("both", tools=("double",), ts="throw 1;" if kind == "ts" else None, py="raise" if kind == "py" else None)
    probe = {"ts": "return { calls: 'callTool' in ctx };", "py": "return {'calls': hasattr(ctx, 'call_tool')}"}
    code = repo.root / write(repo, kind, probe, "both")
    code.rename(repo.root / f"amodal/tools/both/tool.{kind}")
    assert on(repo, tmp_path / "data", lambda desk: desk.run("both", {"n": 1}))["result"] == {"calls": False}


PAUSING = """
const before = await ctx.callTool('double', {n: 3});
const {value} = await ctx.requestInput({question: 'More?'});
return [before.twice, (await ctx.callTool('double', {n: 5})).twice, value];
"""


def test_a_durable_tool_calls_it_checks_its_params_and_replays_it(repo: Repo, kind: str, tmp_path: Path) -> None:
    file = write(repo, kind)
    repo.durable("top", tools=("double",), ts=PAUSING)
    repo.durable(
        "wrong", tools=("double",), ts="try { await ctx.callTool('double', {}); } catch (e) { return e.code; }"
    )

    async def story(desk: Bench) -> None:
        assert (await desk.run("wrong"))["result"] == "invalid-params"
        run = (await desk.run("top"))["session_id"]
        preview = await desk.runtime.preview(Answer(run, '"yes"', who="ann"))
        assert [(call["kind"], call["name"]) for call in preview["calls"]] == [("tool", "double")]
        edited = (repo.root / file).read_text().replace("* 2", "* 100")
        (repo.root / file).write_text(edited)
        done = await desk.answer(run, "yes")
        assert done["result"] == [6, 500, "yes"]
        verdicts = [verdict async for verdict in desk.runtime.replay_check(repo.root)]
        assert [verdict.kind for verdict in verdicts] == ["ok", "ok"]

    on(repo, tmp_path / "data", story)


def test_a_run_goes_on_with_the_code_it_began_with_also_where_that_defines_tools(
    repo: Repo, kind: str, tmp_path: Path
) -> None:
    file = write(repo, kind)
    repo.durable("top", tools=("double",), ts=PAUSING)
    data = tmp_path / "data"
    started = on(repo, data, lambda desk: desk.run("top"))
    repo.durable("top", tools=("double",), ts="await ctx.requestInput({question: 'Other?'}); return 'new';")

    async def story(desk: Bench) -> None:
        run = started["session_id"]
        (repo.root / file).unlink()
        write(repo, kind, {"ts": "throw new Error('new code');", "py": "raise ValueError('new code')"})
        assert (await desk.answer(run, "yes"))["outcome"]["kind"] == "diverged"
        old = (await desk.detail(run))["run"]["error"]["recorded_revision"]
        (repo.root / file).unlink()
        assert (await desk.runtime.resume(run, old, who="ann"))["result"] == [6, 10, "yes"]

    on(repo, data, story)


def test_an_inline_composite_may_not_call_what_needs_a_person_and_a_durable_tool_may(
    repo: Repo, kind: str, tmp_path: Path
) -> None:
    write(repo, kind, exposure="requires-confirmation")
    call = "try { return (await ctx.callTool('double', {n: 1})).twice; } catch (e) { return e.code; }"
    repo.tool("inline", tools=("double",), ts=call)
    repo.durable("durable", tools=("double",), ts=call)

    async def story(desk: Bench) -> None:
        assert (await desk.run("inline"))["result"] == "confirmation-unsupported"
        assert (await desk.run("durable"))["result"] == 2

    on(repo, tmp_path / "data", story)


def test_what_is_kept_from_models_is_not_offered_to_them(repo: Repo, kind: str, tmp_path: Path) -> None:
    file = write(repo, kind)
    text = (repo.root / file).read_text()
    false = "false" if kind == "ts" else "False"
    repo.agent("helper", tools=["double"])
    repo.tool("ask", agents=("helper",), ts="return await ctx.callSubagent('helper', 'Go');")

    async def story(desk: Bench) -> None:
        assert (await desk.run("ask"))["result"] == '{"twice":8}'
        (repo.root / file).write_text(text.replace('{"id"', f'{{"llm_callable": {false}, "id"'))
        assert "not available" in (await desk.run("ask"))["result"]
        assert (await desk.run("double", {"n": 1}))["result"] == {"twice": 2}

    on(repo, tmp_path / "data", story, model=scripted(repo))


SCOPED = {"ts": "(ctx) => ctx.scopeId === 'shop' && ctx.context.tier === 'gold'", "py": "gold"}
SURFACE = {"ts": "(ctx) => { console.log(JSON.stringify(ctx)); }", "py": "lambda ctx: print(ctx)"}


def asking(repo: Repo, kind: str, condition: Mapping[str, str]) -> str:
    write(repo, kind)
    repo.tool("other", ts="return 1;")
    repo.durable("ask", agents=("helper",), ts="return await ctx.callSubagent('helper', 'Go');")
    return agent(repo, kind, condition)


def test_a_predicate_decides_by_the_surface_for_each_turn(repo: Repo, kind: str, tmp_path: Path) -> None:
    python = "lambda ctx: ctx.scope_id == 'shop' and ctx['context'].get('tier') == 'gold' and ctx.humanPresent"
    asking(repo, kind, {"ts": SCOPED["ts"], "py": python})

    async def story(desk: Bench) -> None:
        for scope, context, is_offered in (
            ("shop", '{"tier": "gold"}', True),
            ("shop", None, False),
            ("", '{"tier": "gold"}', False),
        ):
            done = await desk.run("ask", scope=scope, context=context)
            assert ('"twice"' in done["result"]) is is_offered

    on(repo, tmp_path / "data", story, model=scripted(repo))


def test_a_predicate_is_told_who_asks_and_what_it_prints_is_noted(repo: Repo, kind: str, tmp_path: Path) -> None:
    asking(repo, kind, {"ts": SURFACE["ts"], "py": "lambda ctx: print(sorted(ctx.items(), key=str))"})
    on(repo, tmp_path / "data", lambda desk: desk.run("ask", scope="shop", who="ann"), model=scripted(repo))
    said = (tmp_path / "data/logs/handlers.log").read_text()
    for word in ("userId", "ann", "agentName", "helper", "isSubagent", "humanPresent", "claims", "shop", "ask/helper"):
        assert word in said


THROWING = {"ts": "(ctx) => ctx.claims.role.name", "py": "lambda ctx: ctx['claims']['role']"}
HANGING = {"ts": "(ctx) => { while (true); }", "py": "lambda ctx: [0 for _ in iter(int, 1)]"}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "PREDICATE_S", 1.0)
    monkeypatch.setattr(process, "HUNG_PINGS", 2)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("condition", [THROWING, HANGING], ids=["throws", "hangs"])
def test_a_predicate_that_fails_hides_its_tool_with_a_warning(
    repo: Repo, kind: str, tmp_path: Path, condition: Mapping[str, str]
) -> None:
    file = asking(repo, kind, condition)

    async def story(desk: Bench) -> None:
        for _ in range(2):
            done = await desk.run("ask")
            assert done["outcome"]["kind"] == "complete"
            assert "not available" in done["result"]
        assert (await desk.run("double", {"n": 1}))["result"] == {"twice": 2}

    on(repo, tmp_path / "data", story, model=scripted(repo))
    said = (tmp_path / "data/logs/handlers.log").read_text()
    assert f"{file} [tools: double] is left out because its condition failed" in said


# ---- loading -----------------------------------------------------------------------------------------------


class Watched(HandlerHosts):
    """Hosts that keep what they were asked to describe; ``lame`` ones can start no process."""

    def __init__(self, cache: Path, *, lame: bool = False) -> None:
        super().__init__(cache)
        self.described: list[str] = []
        self.lame = lame
        self.asked = asyncio.Event()

    async def describe(
        self,
        repo: HostRepo,
        language: Language,
        entry: str,
        form: Form = "handler",
        config: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        self.described.append(entry)
        if self.lame:
            raise HostUnavailable("There is no engine on this machine.")
        self.asked.set()
        return await super().describe(repo, language, entry, form, config)


def loading(hosts: Watched, story: Callable[[Definitions], Any]) -> Any:
    async def act() -> Any:
        try:
            return await story(Definitions(hosts))
        finally:
            await hosts.close()

    return play(act())


def test_a_repository_without_code_starts_no_process(repo: Repo, tmp_path: Path) -> None:
    repo.tool("plain", ts="return 1;")
    repo.agent("helper")
    hosts = Watched(tmp_path / "cache")
    loading(hosts, lambda reader: reader.load(repo.root))
    assert hosts.described == []
    assert not hosts.processes


def test_definitions_are_read_once_for_each_revision(repo: Repo, kind: str, tmp_path: Path) -> None:
    file = write(repo, kind)
    hosts = Watched(tmp_path / "cache")

    async def story(reader: Definitions) -> None:
        before = (repo.root / file).read_text()
        for text, description in ((before, "Calculates."), (before.replace("Calculates", "Counts"), "Counts.")) * 2:
            (repo.root / file).write_text(text)
            bundle = await reader.load(repo.root)
            assert bundle.tools["double"].description == description

    loading(hosts, story)
    assert hosts.described == [file] * 2


BROKEN = {
    "syntax": ({"ts": "export default {\n  id: 'x',\n  base: {{,\n}", "py": "tool = {\n  'id': 'x',\n"}, "Syntax"),
    "throws": ({"ts": "\nthrow new Error('boom');", "py": "\nraise ValueError('boom')"}, "boom"),
    "hangs": ({"ts": "while (true);", "py": "while True: pass"}, "blocked"),
    "cyclic": (
        {"ts": "const a = {}; a.a = a; export default a;", "py": "tool = {}\ntool['a'] = tool"},
        "cannot be read",
    ),
    "exits": ({"ts": "Deno.exit(3);", "py": "import os\nos._exit(3)"}, "exit"),
}


@pytest.mark.usefixtures("impatient")
def test_those_that_cannot_be_read_are_named_and_the_others_work(repo: Repo, kind: str, tmp_path: Path) -> None:
    for how, (text, _) in BROKEN.items():
        repo.file(f"amodal/tools/{how}/tool.{kind}", text[kind])
    write(repo, kind)
    bundle = loading(Watched(tmp_path / "cache"), lambda reader: reader.load(repo.root))
    assert set(bundle.tools) == {"double"}
    warnings = {warning.file.split("/")[2]: warning for warning in bundle.problems}
    assert set(warnings) == set(BROKEN)
    for how, (_, words) in BROKEN.items():
        assert warnings[how].severity == "warning"
        assert words in str(warnings[how])
        assert "/repo" not in str(warnings[how])
    assert warnings["syntax"].line is not None
    assert warnings["throws"].line == 2


def test_a_machine_without_an_engine_may_have_one_the_next_time(repo: Repo, kind: str, tmp_path: Path) -> None:
    write(repo, kind)
    repo.tool("plain", ts="return 1;")
    hosts = Watched(tmp_path / "cache", lame=True)

    async def story(reader: Definitions) -> None:
        bundle = await reader.load(repo.root)
        assert set(bundle.tools) == {"plain"}
        assert "no engine" in bundle.problems[0].message
        assert bundle.passing
        hosts.lame = False
        bundle = await reader.load(repo.root)
        assert set(bundle.tools) == {"plain", "double"}
        assert not bundle.passing

    loading(hosts, story)


def test_definitions_that_keep_changing_are_not_mixed_up(repo: Repo, tmp_path: Path) -> None:
    file = write(repo, "py")

    class Restless(Watched):
        async def describe(
            self,
            repo: HostRepo,
            language: Language,
            entry: str,
            form: Form = "handler",
            config: Mapping[str, Any] | None = None,
        ) -> Any:
            found = await super().describe(repo, language, entry, form, config)
            path = repo.root / file
            path.write_text(f"{path.read_text()}# again\n")
            return found

    with pytest.raises(BundleError, match="change faster"):
        loading(Restless(tmp_path / "cache"), lambda reader: reader.load(repo.root))


def test_a_copy_of_old_code_is_read_from_there(repo: Repo, kind: str, tmp_path: Path) -> None:
    file = write(repo, kind)
    copy = tmp_path / "copy"
    (repo.root).rename(copy)
    bundle = loading(Watched(tmp_path / "cache"), lambda reader: reader.load(repo.root, copy))
    assert (bundle.root, bundle.code, bundle.tools["double"].entry) == (repo.root, copy, file)


def test_cancelling_a_load_leaves_no_process(repo: Repo, tmp_path: Path) -> None:
    repo.file("amodal/tools/bad/tool.ts", "while (true);")
    hosts = Watched(tmp_path / "cache")

    async def story(reader: Definitions) -> None:
        task = asyncio.create_task(reader.load(repo.root))
        await hosts.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    loading(hosts, story)
    assert not hosts.processes


def test_a_secret_that_is_set_later_makes_its_connection_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to start anew for it, and nothing is loaded again as long as there is none."""
    root = tmp_path / "repo"
    (root / "connections" / "crm").mkdir(parents=True)
    (root / "amodal.json").write_text('{"name": "x", "version": "1"}')
    spec = {"baseUrl": "https://crm.example", "auth": {"type": "bearer", "token": "env:SET_LATER_ON"}}
    (root / "connections" / "crm" / "spec.json").write_text(json.dumps(spec))
    for path in (root / "amodal.json", root / "connections" / "crm" / "spec.json"):
        os.utime(path, (1, 1))  # long ago, so that what was read is taken for what is there

    async def story() -> None:
        runtime = Runtime(tmp_path / "data")
        await runtime.open()
        try:
            first = await runtime.add_repository(root)
            assert first.connections["crm"].unavailable is not None
            assert await runtime.add_repository(root) is first
            monkeypatch.setenv("SET_LATER_ON", "sk-77")
            later = await runtime.add_repository(root)
            assert later.connections["crm"].unavailable is None
            assert await runtime.add_repository(root) is later
        finally:
            await runtime.close()

    asyncio.run(story())
