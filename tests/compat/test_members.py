"""What a handler finds on ``ctx``, and what the members do (contract 3.1 and 3.2), in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from runtime_core.wire.json import dumps
from tests.compat.services import Request, Service, service
from tests.e2e.office import Office, office
from tests.unit.engine.workshop import Repo

NAMES = re.findall(
    r"\w+",
    "input callTool callSubagent requestInput waitForApproval sleepUntil step now random request store exec env fs "
    "attachments log signal scopeId sessionId emit setLabel emitReasoning agentId",
)
DURABLE_ONLY = {"requestInput", "waitForApproval", "sleepUntil", "step", "now", "random"}
EVERYWHERE = {"request", "store", "exec", "env", "fs", "log", "signal", "scopeId", "sessionId", "emitReasoning"}

LISTING = {
    "ts": f"return {dumps(NAMES)}.filter((name) => ctx[name] !== undefined);",
    "py": f"return [name for name in {NAMES!r} if hasattr(ctx, name)]",
}
LISTING_CODE = {
    "ts": f"export default {{ id: 'in_code', base: {{}}, async handle(ctx) {{ {LISTING['ts']} }} }};\n",
    "py": f"async def handle(ctx):\n    {LISTING['py']}\n\n\ntool = {{'id': 'in_code', 'base': {{}}}}\n",
}
PROBES: dict[str, dict[str, str]] = {
    "request": {
        "ts": """
const { connection, endpoint, options } = params;
try {
  return { got: await (options ? ctx.request(connection, endpoint, options) : ctx.request(connection, endpoint)) };
} catch (error) {
  return { code: error.code ?? null, message: error.message };
}""",
        "py": """
try:
    given = [params['connection'], params['endpoint'], *([params['options']] if 'options' in params else [])]
    return {'got': await ctx.request(*given)}
except Exception as error:
    return {'code': getattr(error, 'code', None), 'message': str(error)}""",
    },
    "store": {
        "ts": """
try {
  return { got: await ctx.store(params.store, params.payload) };
} catch (error) {
  return { message: error.message };
}""",
        "py": """
try:
    return {'got': await ctx.store(params['store'], params['payload'])}
except Exception as error:
    return {'message': str(error)}""",
    },
    "exec": {
        "ts": "return await ctx.exec('pwd; echo oh >&2; exit 3', { cwd: 'amodal', timeout: 9000 });",
        "py": "return await ctx.exec('pwd; echo oh >&2; exit 3', {'cwd': 'amodal', 'timeout': 9000})",
    },
    "env": {
        "ts": "return [ctx.env('LISTED') ?? null, ctx.env('OTHER') ?? null];",
        "py": "return [ctx.env('LISTED'), ctx.env('OTHER')]",
    },
    "fs": {
        "ts": """
const told = [];
for (const path of ['amodal/note.md', '/etc/hostname', '../other'])
  try { told.push(await ctx.fs.readRepoFile(path)); } catch (error) { told.push(error.message !== ''); }
return told;""",
        "py": """
told = []
for path in ['amodal/note.md', '/etc/hostname', '../other']:
    try:
        told.append(await ctx.fs.read_repo_file(path))
    except Exception as error:
        told.append(str(error) != '')
return told""",
    },
    "ids": {
        "ts": "return [ctx.scopeId, ctx.sessionId ?? null, ctx.signal.aborted, ctx.agentId];",
        "py": "return [ctx.scopeId, ctx.session_id, ctx.signal.aborted, ctx.agent_id]",
    },
    "notes": {
        "ts": """
const { log, emit, emitReasoning, setLabel } = ctx;
log('a line of the log');
emitReasoning('because');
setLabel({ running: 'Working' });
emit({ type: 'plan_summary', text: 'first this' });
return true;""",
        "py": """
log, emit, emit_reasoning, set_label = ctx.log, ctx.emit, ctx.emit_reasoning, ctx.set_label
log('a line of the log')
emit_reasoning('because')
set_label({'running': 'Working'})
emit({'type': 'plan_summary', 'text': 'first this'})
return True""",
    },
    "attached": {
        "ts": """
const files = (ctx.attachments ?? []).map((file) => file.filename);
return [files, params.nested ? await ctx.callTool('attached_child', {}) : null];""",
        "py": """
files = [file['filename'] for file in getattr(ctx, 'attachments', None) or []]
return [files, await ctx.call_tool('attached_child', {}) if params.get('nested') else None]""",
    },
    "attached_child": {
        "ts": "return 'attachments' in ctx && ctx.attachments !== undefined;",
        "py": "return hasattr(ctx, 'attachments')",
    },
}
REFUSED = {
    "ts": """
const told = [];
for (const attempt of [() => ctx.request('desk', '/x'), () => ctx.store('notes', {}), () => ctx.exec('ls')])
  try { await attempt(); told.push(null); } catch (error) { told.push([error.code, error.message]); }
return [told, ctx.env('LISTED') ?? null, await ctx.fs.readRepoFile('amodal/note.md')];""",
    "py": """
told = []
for attempt in (lambda: ctx.request('desk', '/x'), lambda: ctx.store('notes', {}), lambda: ctx.exec('ls')):
    try:
        await attempt()
        told.append(None)
    except Exception as error:
        told.append([error.code, str(error)])
return [told, ctx.env('LISTED'), await ctx.fs.read_repo_file('amodal/note.md')]""",
}


def answer(request: Request) -> tuple[int, Any]:
    if request.path == "/text":
        return 200, "plain words"
    if request.path == "/broken":
        return 503, {"error": "come back later"}
    return 200, {"method": request.method, "path": request.path, "query": dict(request.query), "body": request.json}


@pytest.fixture(scope="module")
def remote() -> Iterator[Service]:
    with service(answer) as found:
        yield found


@pytest.fixture(scope="module", params=["ts", "py"])
def language(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def desk(language: str, remote: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp(f"members_{language}")
    repo = Repo(folder / "repo", sandbox={"shellExec": True})
    repo.file("amodal/note.md", "a note")
    repo.file(
        "amodal/connections/desk/spec.json",
        {"baseUrl": remote.url, "auth": {"type": "bearer", "token": "env:DESK_TOKEN"}},
    )
    repo.file(
        "amodal/stores/notes.json",
        {"name": "notes", "key": "n_{id}", "schema": {"id": {"type": "string"}, "text": {"type": "string"}}},
    )
    for name, bodies in PROBES.items():
        repo.tool(
            name,
            **{language: bodies[language]},  # pyright: ignore[reportArgumentType]
            tools=("attached_child",) if name == "attached" else (),
            env=["LISTED"],
        )
    repo.tool("request_marked", **{language: PROBES["request"][language]}, confirm=True)  # pyright: ignore[reportArgumentType]
    repo.tool("request_review", **{language: PROBES["request"][language]}, confirm="review")  # pyright: ignore[reportArgumentType]
    repo.tool("plain", **{language: LISTING[language]})  # pyright: ignore[reportArgumentType]
    repo.tool("composite", **{language: LISTING[language]}, tools=("plain",))  # pyright: ignore[reportArgumentType]
    repo.durable("durable", **{language: LISTING[language]}, tools=("plain",))
    repo.file(f"amodal/tools/in-code/tool.{language}", LISTING_CODE[language])
    repo.durable("refused", **{language: REFUSED[language]}, env=["LISTED"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DESK_TOKEN", "token-of-the-desk")
        patch.setenv("LISTED", "seen")
        patch.setenv("OTHER", "unseen")
        with office(repo, folder / "data") as opened:
            opened.wait(opened.runtime.trust(repo.root, who="ann"))
            yield opened


@pytest.fixture
def asked(remote: Service) -> Service:
    remote.forget()
    return remote


def members(desk: Office, tool: str) -> set[str]:
    return set(desk.run(tool)["result"])


def test_members_of_a_tool_in_code(desk: Office) -> None:
    found = members(desk, "in_code")
    assert found >= {"input", "request", "store", "exec", "log", "signal"}
    assert not found & (DURABLE_ONLY | {"callTool", "callSubagent"})


def test_members_of_an_inline_tool(desk: Office) -> None:
    found = members(desk, "plain")
    assert found >= EVERYWHERE | {"emit", "setLabel", "agentId"}
    assert not found & (DURABLE_ONLY | {"input", "callTool", "callSubagent"})


def test_members_of_an_inline_composite(desk: Office) -> None:
    found = members(desk, "composite")
    assert found >= EVERYWHERE | {"emit", "setLabel", "callTool", "callSubagent"}
    assert not found & (DURABLE_ONLY | {"input"})


def test_members_of_a_durable_tool(desk: Office) -> None:
    found = members(desk, "durable")
    assert found >= DURABLE_ONLY | {"callTool", "callSubagent", "fs", "log", "signal", "scopeId", "sessionId"}
    assert "input" not in found


def test_what_a_durable_handler_may_not_use_rejects_and_says_what_to_do(desk: Office, asked: Service) -> None:
    told, value, note = desk.run("refused")["result"]
    assert [code for code, _ in told] == ["durable-forbidden"] * 3
    for member, (_, message) in zip(("request", "store", "exec"), told, strict=True):
        assert member in message
        assert re.search(r"call_?[tT]ool|child tool", message), message
    assert (value, note) == (None, "a note")
    assert asked.asked == []


def test_a_request_is_sent_with_credentials_and_returns_the_body(desk: Office, asked: Service) -> None:
    done = desk.run("request", {"connection": "desk", "endpoint": "/things/7"})["result"]
    assert done == {"got": {"method": "GET", "path": "/things/7", "query": {}, "body": None}}
    (sent,) = asked.asked
    assert sent.headers["authorization"] == "Bearer token-of-the-desk"


def test_a_request_has_query_headers_and_body(desk: Office, asked: Service) -> None:
    options = {"method": "POST", "intent": "read", "params": {"page": 2}, "data": {"q": ["a"]}, "headers": {"X-A": "b"}}
    done = desk.run("request", {"connection": "desk", "endpoint": "/search", "options": options})["result"]
    assert done["got"] == {"method": "POST", "path": "/search", "query": {"page": "2"}, "body": {"q": ["a"]}}
    assert asked.asked[0].headers["x-a"] == "b"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "post"])
def test_a_write_of_a_tool_that_is_not_marked_never_leaves(desk: Office, asked: Service, method: str) -> None:
    given = {"connection": "desk", "endpoint": "/things", "options": {"method": method, "data": {"a": 1}}}
    done = desk.run("request", given)["result"]
    assert "requires-confirmation" in done["message"]
    assert "confirm" in done["message"]
    assert asked.asked == []


@pytest.mark.parametrize("tool", ["request_marked", "request_review"])
def test_a_write_of_a_marked_tool_is_sent_and_nobody_is_asked(desk: Office, asked: Service, tool: str) -> None:
    given = {"connection": "desk", "endpoint": "/things", "options": {"method": "POST", "data": {"a": 1}}}
    assert desk.run(tool, given)["result"]["got"]["body"] == {"a": 1}
    assert [request.method for request in asked.writes] == ["POST"]
    assert desk.wait(desk.runtime.pending(who="ann"))["approvals"] == []


def test_other_replies_than_json(desk: Office) -> None:
    text = desk.run("request", {"connection": "desk", "endpoint": "/text"})["result"]
    assert text == {"got": {"text": "plain words", "status": 200}}
    broken = desk.run("request", {"connection": "desk", "endpoint": "/broken"})["result"]
    assert "503" in broken["message"]
    assert "come back later" in broken["message"]


@pytest.mark.parametrize("endpoint", ["//elsewhere.example/x", "https://elsewhere.example/x", "/../up", "/a\r\nX: y"])
def test_a_request_never_leaves_its_connection(desk: Office, asked: Service, endpoint: str) -> None:
    assert "got" not in desk.run("request", {"connection": "desk", "endpoint": endpoint})["result"]
    assert asked.asked == []


def test_an_unknown_connection_is_named(desk: Office) -> None:
    assert '"dusk"' in desk.run("request", {"connection": "dusk", "endpoint": "/"})["result"]["message"]


def test_a_document_is_stored_by_the_template_of_its_key(desk: Office) -> None:
    given = {"store": "notes", "payload": {"id": "1", "text": "first"}}
    assert desk.run("store", given)["result"] == {"got": {"key": "n_1"}}
    given["payload"] = {"id": "1", "text": "second"}  # pyright: ignore[reportArgumentType]
    assert desk.run("store", given)["result"] == {"got": {"key": "n_1"}}
    assert "text" in desk.run("store", {"store": "notes", "payload": {"id": "1"}})["result"]["message"]
    assert '"nets"' in desk.run("store", {"store": "nets", "payload": {}})["result"]["message"]


def test_a_command_has_its_folder_and_its_exit_code_is_a_value(desk: Office) -> None:
    done = desk.run("exec")["result"]
    assert (done["exitCode"], done["stderr"]) == (3, "oh\n")
    assert done["stdout"].strip() == str((desk.repo.root / "amodal").resolve())


def test_variables_are_seen_where_they_are_listed(desk: Office) -> None:
    assert desk.run("env")["result"] == ["seen", None]


def test_files_of_the_repository_are_read_and_no_others(desk: Office) -> None:
    assert desk.run("fs")["result"] == ["a note", True, True]


def test_scope_session_and_signal(desk: Office) -> None:
    scope, session, is_aborted, agent = desk.run("ids", scope="north")["result"]
    assert (scope, is_aborted, agent) == ("north", False, "bench")
    assert session
    assert session != desk.run("ids")["result"][1]


def test_what_is_told_works_taken_off_the_object_and_is_kept(desk: Office) -> None:
    assert desk.run("notes")["result"] is True
    kept = (desk.data / "logs" / "handlers.log").read_text()
    for words in ("a line of the log", "because", "Working", "plan_summary"):
        assert words in kept


def test_attachments_are_there_for_the_top_level_only(desk: Office) -> None:
    file = {"filename": "a.txt", "mimeType": "text/plain", "data": "YQ=="}
    assert desk.run("attached", {"nested": True}, attachments=dumps([file]))["result"] == [["a.txt"], False]
    assert desk.run("attached")["result"] == [[], None]
