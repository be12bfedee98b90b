"""What has changed, or is gone, between a question about a call and its answer: decision 20."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine.shelf import LOOK_S
from runtime_core.journal.base import Answer
from tests.support.web import Web, web_server
from tests.unit.engine.workshop import Bench, Repo, bench, play

REFUND = {"method": "POST", "endpoint": "/refunds?dry=no", "data": {"amount": 1}}
ASK = {
    "ts": "return { said: await ctx.callSubagent('desk', 'refund it', params) };",
    "py": "return {'said': await ctx.call_subagent('desk', 'refund it', params)}",
}
PAY = {
    "ts": "export default { id: 'pay', exposure: { kind: 'requires-confirmation' },\n"
    "  base: { name: 'pay', description: 'Pays.' }, async handle() { return 'paid %d'; } };\n",
    "py": "async def handle(ctx):\n    return 'paid %d'\n\n\n"
    "tool = {'id': 'pay', 'exposure': {'kind': 'requires-confirmation'},\n"
    "    'base': {'name': 'pay', 'description': 'Pays.'}, 'handle': handle}\n",
}
OPERATION = {"operationId": "refund", "requestBody": {"content": {"application/json": {"schema": {}}}}}


@pytest.fixture(params=["ts", "py"])
def language(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["confirm", "review"])
def tier(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["request", "erp__refund"])
def tool(request: pytest.FixtureRequest) -> str:
    return request.param


def _shop(root: Path, url: str, tier: str = "confirm", tool: str = "request", language: str = "ts") -> Repo:
    """An agent whose model sends one request, and then says what came back."""
    repo = Repo(root / "repo", models={"main": {"provider": "scripted", "model": "script.json"}})
    _spec(repo, url)
    _policy(repo, tier)
    _document(repo, "post", "/refunds")
    repo.agent("desk", tools=["request"], connections=["erp"])
    repo.durable("review", agents=("desk",), **{language: ASK[language]})  # pyright: ignore[reportArgumentType]
    args = {"connection": "erp"} | REFUND if tool == "request" else {"body": {"amount": 1}}
    repo.script(
        {"agent": "desk", "match": "refund it", "tool_calls": [{"name": tool, "args": args}]},
        {"agent": "desk", "text": "Heard: {{last_tool_result}}"},
    )
    return repo


def _spec(repo: Repo, url: str, **more: Any) -> None:
    repo.file("connections/erp/spec.json", {"baseUrl": url, "openapi": {"source": "openapi.json"}, **more})


def _policy(repo: Repo, tier: str) -> None:
    confirm = True if tier == "confirm" else tier
    repo.file("connections/erp/policy.json", {"endpoints": {"POST /refunds": {"confirm": confirm}}})


def _document(repo: Repo, method: str, path: str) -> None:
    repo.file("connections/erp/openapi.json", {"openapi": "3.1.0", "paths": {path: {method: OPERATION}}})


async def _asked(on: Bench) -> dict[str, Any]:
    """The question, once it is open."""
    running = asyncio.create_task(on.run("review"))
    asked = dict((await on.until("pause-opened", pause_kind="approval")).wire)
    return asked | {"running": running}


async def _stopped(on: Bench, asked: dict[str, Any]) -> dict[str, Any]:
    """The gate after an answer that says yes, and what the model was told."""
    reply = await on.answer(asked["session_id"], "yes")
    said = (await asked["running"])["result"]["said"]
    return (await on.detail(asked["session_id"]))["run"] | {"said": said, "reply": reply}


def test_a_person_sees_where_a_request_goes(tmp_path: Path, tool: str) -> None:
    with web_server() as web:
        repo = _shop(tmp_path, f"{web.url}/v1", tool=tool)

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                asked = await _asked(on)
                shown = asked["context"]["request"]
                query = "?dry=no" if tool == "request" else ""
                assert shown["url"] == f"{web.url}/v1/refunds{query}"
                assert (shown["connection"], shown["method"], shown["data"]) == ("erp", "POST", {"amount": 1})
                seen = await on.runtime.preview(Answer(asked["session_id"], '"yes"', who="ann"))
                assert [call["request"] for call in seen["calls"]] == [shown]
                await on.answer(asked["session_id"], "yes")
                await asked["running"]
                assert [one.path for one in web.seen] == [f"/v1/refunds{query}"]

        play(story())


def test_what_stands_behind_the_host_of_a_variable_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with web_server() as web:
        monkeypatch.setenv("HOOK", f"{web.url}/T0/s3cret")
        repo = _shop(tmp_path, "env:HOOK")

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                asked = await _asked(on)
                assert asked["context"]["request"]["url"] == f"{web.url}/***/refunds?dry=no"
                await on.answer(asked["session_id"], "yes")
                await asked["running"]
                assert [one.path for one in web.seen] == ["/T0/s3cret/refunds?dry=no"]

        play(story())


def test_an_allowed_request_goes_to_no_other_server(tmp_path: Path, tier: str, tool: str, language: str) -> None:
    with web_server() as web, web_server() as other:
        repo = _shop(tmp_path, web.url, tier, tool, language)

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                asked = await _asked(on)
                _spec(repo, other.url)
                gate = await _stopped(on, asked)
                assert (gate["status"], gate["error"]["code"]) == ("failed", "content_changed")
                assert gate["reply"]["outcome"]["code"] == "content_changed"
                assert f"url was {web.url}/refunds" in gate["error"]["message"]
                assert f"is {other.url}/refunds" in gate["error"]["message"]
                assert "Nothing was sent" in (gate["said"] if tier == "confirm" else gate["error"]["message"])
                assert _received(web, other) == []

        play(story())


@pytest.mark.parametrize(("method", "path"), [("delete", "/refunds"), ("post", "/orders"), ("get", "/refunds")])
def test_an_allowed_operation_becomes_no_other_request(tmp_path: Path, method: str, path: str) -> None:
    with web_server() as web:
        repo = _shop(tmp_path, web.url, tool="erp__refund")

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                asked = await _asked(on)
                _document(repo, method, path)
                gate = await _stopped(on, asked)
                assert (gate["status"], gate["error"]["code"]) == ("failed", "content_changed")
                assert _received(web) == []

        play(story())


def test_no_answer_allows_what_the_policy_forbids_by_now(tmp_path: Path, tier: str, tool: str) -> None:
    with web_server() as web:
        repo = _shop(tmp_path, web.url, tier, tool)

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                asked = await _asked(on)
                _policy(repo, "never")
                gate = await _stopped(on, asked)
                assert gate["status"] == "failed"
                assert "The policy of the connection does not allow POST /refunds" in gate["error"]["message"]
                assert _received(web) == []

        play(story())


def test_an_answer_covers_a_stricter_question_too(tmp_path: Path) -> None:
    with web_server() as web:
        repo = _shop(tmp_path, web.url)

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                asked = await _asked(on)
                _policy(repo, "review")
                assert (await _stopped(on, asked))["status"] == "completed"
                assert len(_received(web)) == 1

        play(story())


@pytest.mark.parametrize(
    ("lacks", "tier", "tool"),
    [
        ("connection", "confirm", "request"),
        ("connection", "review", "erp__refund"),
        ("document", "confirm", "erp__refund"),
        ("secret", "review", "request"),
        ("secret", "confirm", "erp__refund"),
    ],
)
def test_what_is_missing_can_be_put_back_and_the_answer_still_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str, tier: str, tool: str
) -> None:
    with web_server() as web:
        repo = _shop(tmp_path, web.url, tier, tool)
        monkeypatch.setenv("ERP_TOKEN", "t-123456")
        _spec(repo, web.url, auth={"type": "bearer", "token": "env:ERP_TOKEN"})
        folder, document = repo.root / "connections/erp", repo.root / "connections/erp/openapi.json"

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                asked = await _asked(on)
                gate = asked["session_id"]
                if lacks == "connection":
                    shutil.move(folder, tmp_path / "erp")
                elif lacks == "document":
                    document.rename(tmp_path / "openapi.json")
                else:
                    monkeypatch.delenv("ERP_TOKEN")
                stopped = await _stopped(on, asked)
                assert stopped["status"] == "needs-attention"
                assert "Nothing was sent" in stopped["error"]["message"]
                if tier == "confirm":
                    assert f"it is needs-attention as run {gate}" in stopped["said"]
                    assert "a person decides" in stopped["said"]
                (attention,) = (await on.detail(gate))["pauses"]
                assert [one["value"] for one in attention["options"]] == ["run-again"]
                assert set(attention["context"]) == {"tool", "repository", "params"}
                assert attention["context"]["params"] == asked["context"]["arguments"]
                assert (await on.answer(gate, "run-again"))["outcome"]["kind"] == "needs-attention"
                assert _received(web) == []

                if lacks == "connection":
                    shutil.move(tmp_path / "erp", folder)
                elif lacks == "document":
                    (tmp_path / "openapi.json").rename(document)
                else:
                    monkeypatch.setenv("ERP_TOKEN", "t-123456")
                assert (await on.answer(gate, "run-again"))["outcome"]["kind"] == "complete"
                assert [(one.method, json.loads(one.body)) for one in web.seen] == [("POST", {"amount": 1})]

        play(story())


def test_an_answer_for_a_tool_of_the_repository_starts_nothing_else(tmp_path: Path, language: str) -> None:
    """The tool was changed, which the question tells, and then removed."""
    repo = Repo(tmp_path / "repo", models={"main": {"provider": "scripted", "model": "script.json"}})

    def write(number: int) -> None:
        repo.file(f"amodal/tools/pay/tool.{language}", PAY[language] % number)

    write(1)
    repo.agent("desk", tools=["pay"])
    repo.durable("review", agents=("desk",), **{language: ASK[language]})  # pyright: ignore[reportArgumentType]
    repo.script(
        {"agent": "desk", "match": "refund it", "tool_calls": [{"name": "pay", "args": {}}]},
        {"agent": "desk", "text": "Heard: {{last_tool_result}}"},
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as on:
            asked = await _asked(on)
            gate = asked["session_id"]
            write(2)
            await asyncio.sleep(LOOK_S)
            (listed,) = (await on.runtime.pending(who="ann"))["approvals"]
            assert listed["code_changed"] is True
            moved = shutil.move(repo.root / "amodal/tools/pay", tmp_path / "pay")
            assert (await _stopped(on, asked))["status"] == "needs-attention"
            shutil.move(moved, repo.root / "amodal/tools/pay")
            assert (await on.answer(gate, "run-again"))["result"] == "paid 2"

    play(story())


def _received(*servers: Web) -> list[tuple[str, str]]:
    return [(one.method, one.path) for server in servers for one in server.seen]
