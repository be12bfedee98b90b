"""``ctx.request`` of handlers in both languages, and the tool ``request`` of durable tools (contract 3.2 and 5.2)."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from runtime_core.wire.json import dumps, loads
from tests.e2e.office import Office
from tests.support.web import Says, Seen, Web, web_server
from tests.unit.engine.workshop import Repo

LANGUAGES = pytest.mark.parametrize("language", ["ts", "py"])
SECRET = "t0p-s3cret"


def _answer(seen: Seen) -> Says:
    if seen.path.startswith("/api/missing"):
        return Says({"reason": "no such ticket", "sent": seen.headers.get("authorization")}, status=404)
    if seen.path.startswith("/api/escaped"):
        sent = (seen.headers.get("authorization") or "").replace("-", "\\u002D")
        return Says(f'{{"sent": "{sent}", "path": "a\\/b"}}'.encode(), 400, {"Content-Type": "application/json"})
    if seen.path.startswith("/api/moved"):
        return Says(status=307, headers={"Location": "/api/elsewhere"})
    if seen.path.startswith("/api/text"):
        return Says("plain words")
    if seen.path.startswith("/api/big"):
        return Says(b'{"id": 12345678901234567890123}', headers={"Content-Type": "application/json"})
    body = loads(seen.body) if seen.body else None
    return Says({"method": seen.method, "path": seen.path, "body": body, "key": seen.headers.get("idempotency-key")})


ANY_TS = """
try {
  return { value: await ctx.request(...params.args) };
} catch (error) {
  return { name: error.name, code: error.code, message: error.message, status: error.status, body: error.body };
}
"""
ANY_PY = """
try:
    return {"value": await ctx.request(*params["args"])}
except Exception as error:
    names = ("name", "code", "status", "body")
    return {**{name: getattr(error, name, None) for name in names}, "message": str(error)}
"""
LEAKY_TS = """
const token = ctx.env('SUPPORT_TOKEN');
console.log('token', token);
ctx.log(`region ${ctx.env('REGION')}, token ${token}`);
await ctx.request('support-api', '/tickets', { headers: { 'X-Token': token } });
if (params.fails) throw new Error(`it did not like ${token}`);
return token.length;
"""
LEAKY_PY = """
token = ctx.env('SUPPORT_TOKEN')
print('token', token)
ctx.log(f"region {ctx.env('REGION')}, token {token}")
await ctx.request('support-api', '/tickets', headers={'X-Token': token})
if params.get('fails'):
    raise ValueError(f'it did not like {token}')
return len(token)
"""
ONE_TS = "return await ctx.request('support-api', '/x', { method: 'POST', data: { a: 1 } });"
ONE_PY = "return await ctx.request('support-api', '/x', method='POST', data={'a': 1})"
TWICE_TS = f"""
const write = async () => {{ {ONE_TS} }};
return {{ keys: [(await write()).key, (await write()).key], id: ctx.callId }};
"""
TWICE_PY = f"""
async def write():
    {ONE_PY}
return {{'keys': [(await write())['key'], (await write())['key']], 'id': ctx.call_id}}
"""
CODE_TS = """
export default {
  id: 'NAME', EXPOSURE base: { name: 'NAME', description: 'Writes.', parametersJsonSchema: { type: 'object' } },
  async handle(ctx) { return ctx.request('support-api', '/x', { method: 'PUT', data: ctx.input }); },
};
"""
CODE_PY = """
async def handle(ctx):
    return await ctx.request('support-api', '/x', {'method': 'PUT', 'data': ctx.input})

tool = {'id': 'NAME', EXPOSURE 'handle': handle,
        'base': {'name': 'NAME', 'description': 'Writes.', 'parametersJsonSchema': {'type': 'object'}}}
"""


@pytest.fixture(scope="module")
def web() -> Generator[Web]:
    with web_server(_answer) as server:
        yield server


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, web: Web) -> Generator[Office]:
    patch = pytest.MonkeyPatch()
    patch.setenv("SUPPORT_TOKEN", SECRET)
    patch.setenv("REGION", "eu-west")
    repo = Repo(tmp_path_factory.mktemp("requests") / "repo")
    spec = {"baseUrl": f"{web.url}/api", "auth": {"type": "bearer", "token": "env:SUPPORT_TOKEN"}}
    repo.file("connections/support-api/spec.json", spec)
    tenant = {"contextInjection": {"tenant": {"in": "query", "field": "tenant", "required": True}}}
    repo.file("connections/of-tenants/spec.json", {"baseUrl": web.url, **tenant})
    repo.file("connections/broken/spec.json", {"baseUrl": "env:NOT_SET_ANYWHERE"})
    repo.agent("free", tools=["request"])
    repo.agent("bound", tools=["request"], connections=["of-tenants"])
    ask = {"name": "request", "args": {"connection": "support-api", "endpoint": "/missing"}}
    replies = [{"agent": agent, "match": "^Ask", "tool_calls": [ask], "repeat": True} for agent in ("free", "bound")]
    repo.script(*replies, {"text": "{{last_tool_result}}", "repeat": True})
    repo.file(
        "amodal.json",
        {"name": "r", "version": "1", "models": {"main": {"provider": "scripted", "model": "script.json"}}},
    )
    repo.tool("sends", ts="return ctx.callSubagent(params.agent, 'Ask.');", agents=("free", "bound"))
    repo.tool("any_ts", ts=ANY_TS)
    repo.tool("any_py", py=ANY_PY)
    repo.tool("marked_ts", ts=ONE_TS, confirm=True)
    repo.tool("marked_py", py=ONE_PY, confirm="review")
    repo.tool("twice_ts", ts=TWICE_TS, confirm=True)
    repo.tool("twice_py", py=TWICE_PY, confirm=True)
    repo.tool("uncaught_ts", ts=ONE_TS)
    repo.tool("uncaught_py", py=ONE_PY)
    for name, exposure in (("guarded", "requires-confirmation"), ("gated", "operator-gated"), ("open", "open")):
        ts = CODE_TS.replace("NAME", f"{name}_ts").replace("EXPOSURE", f"exposure: {{ kind: '{exposure}' }},")
        py = CODE_PY.replace("NAME", f"{name}_py").replace("EXPOSURE", f"'exposure': {{'kind': '{exposure}'}},")
        repo.file(f"amodal/tools/{name}-ts/tool.ts", ts)
        repo.file(f"amodal/tools/{name}-py/tool.py", py)
    leaky: dict[str, Any] = {"env": ["SUPPORT_TOKEN", "REGION"], "effect": "read"}
    repo.tool("leaky_ts", ts=LEAKY_TS, **leaky)
    repo.tool("leaky_py", py=LEAKY_PY, **leaky)
    for language in ("ts", "py"):
        repo.durable(
            f"calls_{language}", ts=f"return ctx.callTool('leaky_{language}', params);", tools=(f"leaky_{language}",)
        )
    repo.durable("durable_ts", ts="return await ctx.callTool('request', params);", tools=("request",))
    repo.durable("durable_py", py="return await ctx.call_tool('request', params)", tools=("request",))
    repo.tool("inline_ts", ts="return await ctx.callTool('request', params);", tools=("request", "any_ts"))
    office = Office(repo, tmp_path_factory.mktemp("requests-data"))
    yield office
    office.close()
    patch.undo()


def _any(office: Office, language: str, *args: Any, **more: Any) -> Any:
    return office.run(f"any_{language}", {"args": list(args)}, **more)["result"]


@LANGUAGES
def test_a_read_is_sent_and_its_json_comes_back(office: Office, web: Web, language: str) -> None:
    got = _any(office, language, "support-api", "/tickets/T-1", {"params": {"full": True, "tags": ["a", "b"]}})
    assert got["value"]["path"] == "/api/tickets/T-1?full=true&tags=a&tags=b"
    assert web.last.headers["authorization"] == f"Bearer {SECRET}"
    assert _any(office, language, "support-api", "text")["value"] == {"text": "plain words", "status": 200}


def test_numbers_keep_their_digits_where_the_language_keeps_them(office: Office) -> None:
    assert dumps(_any(office, "py", "support-api", "big")["value"]) == '{"id":12345678901234567890123}'


@LANGUAGES
def test_a_write_of_a_tool_that_may_only_read_never_leaves_the_machine(office: Office, web: Web, language: str) -> None:
    before = len(web.seen)
    for method in ("POST", "put", "PATCH", "DELETE"):
        refused = _any(office, language, "support-api", "/x", {"method": method})
        assert refused["code"] == "write-refused"
        assert 'exposure: { kind: "requires-confirmation" }' in refused["message"]
        assert '"confirm": true' in refused["message"]
    assert _any(office, language, "support-api", "/x", {"intent": "write"})["code"] == "write-refused"
    assert office.run(f"open_{language}", {})["outcome"]["kind"] == "failed"
    assert "write-refused" in str(office.run(f"uncaught_{language}"))
    assert len(web.seen) == before


@LANGUAGES
@pytest.mark.parametrize(
    ("endpoint", "options"),
    [
        ("/x", {"method": "DELETE", "intent": "read"}),
        ("/x", {"method": "PUT", "intent": "read"}),
        ("/x", {"method": "patch", "intent": "read"}),
        ("/x", {"headers": {"X-HTTP-Method-Override": "DELETE"}}),
        ("/x", {"headers": {"x-http-method": "PUT"}, "intent": "read"}),
        ("/x?_method=DELETE", {}),
        ("/x", {"params": {"_method": "DELETE"}, "intent": "read"}),
        ("/x", {"method": "POST", "intent": "read", "data": {"_method": "DELETE"}}),
        ("/x", {"method": "POST", "intent": "read", "data": "a=1&_method=DELETE"}),
    ],
)
def test_reading_intent_covers_a_post_and_nothing_behind_it(
    office: Office, web: Web, language: str, endpoint: str, options: dict[str, Any]
) -> None:
    before = len(web.seen)
    assert _any(office, language, "support-api", endpoint, options)["code"] == "write-refused"
    assert len(web.seen) == before


@LANGUAGES
@pytest.mark.parametrize("name", ["marked", "guarded", "gated"])
def test_a_marked_tool_may_write(office: Office, web: Web, language: str, name: str) -> None:
    result = office.run(f"{name}_{language}", {"a": 1})["result"]
    assert result["method"] == ("POST" if name == "marked" else "PUT")
    assert result["body"] == {"a": 1}
    assert web.last.json == {"a": 1}


@LANGUAGES
def test_a_secret_that_an_answer_escapes_is_in_nothing_that_a_handler_gets(office: Office, language: str) -> None:
    failed = _any(office, language, "support-api", "/escaped")
    assert failed["code"] == "http-400"
    assert loads(failed["body"]) == {"sent": "Bearer ***", "path": "a/b"}
    assert "s3cret" not in str(failed)


@LANGUAGES
def test_a_write_is_not_sent_to_where_it_is_redirected(office: Office, web: Web, language: str) -> None:
    before = len(web.seen)
    failed = _any(office, language, "support-api", "/moved", {"method": "POST", "data": {"q": 1}, "intent": "read"})
    assert failed["code"] == "redirected"
    assert "/api/elsewhere" in failed["message"]
    assert [seen.path for seen in web.seen[before:]] == ["/api/moved"]


@LANGUAGES
def test_every_write_of_a_tool_that_is_started_directly_has_a_key_of_its_own(office: Office, language: str) -> None:
    starts = [office.run(f"twice_{language}")["result"] for _ in range(2)]
    keys = [key for start in starts for key in start["keys"]]
    assert len({*keys}) == 4
    for start in starts:
        assert [key.rpartition("/")[0] for key in start["keys"]] == [start["id"]] * 2


@LANGUAGES
def test_a_post_may_be_declared_to_read(office: Office, language: str) -> None:
    got = _any(office, language, "support-api", "/search", {"method": "POST", "data": {"q": 1}, "intent": "read"})
    assert (got["value"]["method"], got["value"]["body"]) == ("POST", {"q": 1})


@LANGUAGES
def test_a_failure_has_status_and_body_and_no_secret(office: Office, language: str) -> None:
    failed = _any(office, language, "support-api", "/missing")
    assert (failed["name"], failed["code"], failed["status"]) == ("RequestError", "http-404", 404)
    assert loads(failed["body"]) == {"reason": "no such ticket", "sent": "Bearer ***"}
    assert "support-api" in failed["message"]
    assert SECRET not in dumps(failed)


@LANGUAGES
@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["crm", "/x"], "connection-unknown", "it has: broken, of-tenants, support-api"),
        (["broken", "/x"], "connection-unavailable", "NOT_SET_ANYWHERE"),
        (["of-tenants", "/x"], "connection-unavailable", "'tenant'"),
        (["support-api", "https://evil.example"], "invalid-params", "whole URL"),
        (["support-api", "/../x"], "invalid-params", '".."'),
        (["support-api"], "invalid-params", "ctx.request('crm', '/tickets')"),
        ([], "invalid-params", "name of a connection"),
        (["support-api", "/x", "POST"], "invalid-params", "options"),
        (["support-api", "/x", {"method": "BREW"}], "invalid-params", "method"),
        (["support-api", "/x", {"intent": "maybe"}], "invalid-params", "intent"),
        (["support-api", "/x", {"params": [1]}], "invalid-params", "params"),
        (["support-api", "/x", {"headers": {"a": None}}], "invalid-params", '"a"'),
        (["support-api", "/x", {"timeout": 0}], "invalid-params", "timeout"),
        (["support-api", "/x", {"body": {}}], "invalid-params", '"data"'),
        (["support-api", "/x", {"data": {}}], "invalid-params", "GET takes no data"),
    ],
)
def test_what_cannot_be_sent_says_why(
    office: Office, web: Web, language: str, args: list[Any], code: str, words: str
) -> None:
    before = len(web.seen)
    refused = _any(office, language, *args)
    assert refused["code"] == code
    assert words in refused["message"]
    assert len(web.seen) == before


@LANGUAGES
def test_the_context_of_the_run_is_sent_where_the_connection_says(office: Office, web: Web, language: str) -> None:
    _any(office, language, "of-tenants", "/x", context='{"tenant": "t&1"}')
    assert web.last.path == "/x?tenant=t%261"


@LANGUAGES
def test_a_durable_tool_writes_through_the_tool_request_with_the_key_of_its_call(
    office: Office, web: Web, language: str
) -> None:
    write = {"connection": "support-api", "method": "POST", "endpoint": "/x", "data": {"n": 1}, "intent": "write"}
    reply = office.run(f"durable_{language}", write)
    assert reply["result"]["status"] == 200
    key = reply["result"]["data"]["key"]
    assert key == f"{reply['sessionId']}/0"
    read = {"connection": "support-api", "endpoint": "/missing"}
    assert office.run(f"durable_{language}", read)["result"]["status"] == 404
    refused = office.run(f"durable_{language}", {"connection": "crm", "endpoint": "/x"})["result"]
    assert "no connection" in refused["error"]


def test_an_inline_composite_may_not_use_the_tool_request(office: Office, web: Web) -> None:
    before = len(web.seen)
    reply = office.run("inline_ts", {"connection": "support-api", "endpoint": "/x"})
    assert "confirmation-unsupported" in str(reply) or "so nobody can be asked" in str(reply)
    assert len(web.seen) == before


@LANGUAGES
def test_without_any_connection_the_tool_request_says_so(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    handlers: Any = {"ts": "return ctx.callTool('request', params);"}
    if language == "py":
        handlers = {"py": "return await ctx.call_tool('request', params)"}
    repo.durable("durable", tools=("request",), **handlers)
    repo.tool("inline", tools=("request",), **handlers)
    office = Office(repo, tmp_path / "data")
    asked = {"connection": "crm", "endpoint": "/x"}
    refused = office.run("durable", asked)["result"]["error"]
    inline = office.run("inline", asked)
    office.close()
    assert 'has no connection "crm"; it has: none. Add connections/crm/spec.json' in refused
    assert "so nobody can be asked" in str(inline)


def test_a_model_sees_status_and_body_and_only_the_connections_of_its_agent(office: Office, web: Web) -> None:
    seen = loads(office.run("sends", {"agent": "free"})["result"])
    assert seen == {"status": 404, "data": {"reason": "no such ticket", "sent": "Bearer ***"}}
    before = len(web.seen)
    refused = loads(office.run("sends", {"agent": "bound"})["result"])
    assert isinstance(refused, dict)
    assert 'may not use the connection "support-api"' in str(refused["error"])
    assert len(web.seen) == before


@LANGUAGES
def test_a_secret_of_a_handler_is_in_no_log_no_error_and_no_span(office: Office, web: Web, language: str) -> None:
    done = office.run(f"calls_{language}", {})
    assert done["result"] == len(SECRET)
    assert web.last.headers["x-token"] == SECRET
    failed = office.run(f"calls_{language}", {"fails": True})
    assert "it did not like ***" in failed["outcome"]["reason"]
    shown = dumps(office.detail(done["sessionId"])) + dumps(office.detail(failed["sessionId"]))
    assert '"X-Token":"***"' in shown.replace("\\", "")
    log = (office.data / "logs" / "handlers.log").read_text()
    assert "region eu-west, token ***" in log
    assert SECRET not in shown + log
    assert SECRET not in dumps(office.run(f"leaky_{language}", {"fails": True}))


def test_no_file_of_the_data_folder_holds_the_credential(office: Office) -> None:
    _any(office, "ts", "support-api", "/missing")
    office.run("calls_ts", {"fails": True})
    files = [path for path in Path(office.data).rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
