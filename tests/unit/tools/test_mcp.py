"""Tools of MCP servers in a runtime: for handlers of both languages and for models, trusted and not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from runtime_core.runtime import Runtime
from tests.unit.engine.workshop import Repo, bench, play

SERVER = Path(__file__).parents[2] / "fixtures" / "mcp" / "bare.py"
COMMAND: dict[str, Any] = {"transport": "stdio", "command": sys.executable, "args": [str(SERVER)]}

TS = """
try { await ctx.callTool("desk__ping", {n: "x"}); } catch (error) {
  const got = await ctx.callTool("desk__ping", {n: 1});
  try { await ctx.callTool("desk__ping", {n: "x"}); } catch (second) {
    try { await ctx.callTool("desk__nowhere", {}); } catch (third) {
      return [got, error.code, second.code, third.code, third.message];
    }
  }
}
"""
PY = """
try:
    await ctx.call_tool("desk__ping", {"n": "x"})
except CompositeCallError as error:
    got = await ctx.call_tool("desk__ping", {"n": 1})
    try:
        await ctx.call_tool("desk__ping", {"n": "x"})
    except CompositeCallError as second:
        try:
            await ctx.call_tool("desk__nowhere", {})
        except CompositeCallError as third:
            return [got, error.code, second.code, third.code, str(third)]
"""


def _repository(root: Path, **entry: Any) -> Repo:
    return Repo(root, mcp={"servers": {"desk": {**COMMAND, **entry}}})


async def _trust(runtime: Runtime, repo: Repo) -> None:
    assert any("MCP server desk" in need for need in await runtime.trust(repo.root, who="ann"))


@pytest.mark.parametrize("handler", [{"ts": TS}, {"py": PY}], ids=["ts", "py"])
def test_handlers_that_are_durable_call_tools_of_servers(tmp_path: Path, handler: dict[str, str]) -> None:
    repo = _repository(tmp_path / "repo")
    repo.durable("ask", tools=("desk__ping", "desk__nowhere"), **handler)

    async def story() -> Any:
        async with bench(repo, tmp_path / "data") as desk:
            await _trust(desk.runtime, repo)
            return (await desk.run("ask"))["result"]

    got, first, second, third, message = play(story())
    assert got == 'ping {"n": 1}'
    assert (first, second, third) == ("execution-failed", "invalid-params", "execution-failed")
    assert 'The MCP server "desk" has no tool "nowhere". It has: ping' in message


def test_a_handler_that_is_not_durable_may_not_call_them(tmp_path: Path) -> None:
    repo = _repository(tmp_path / "repo")
    body = 'await ctx.call_tool("desk__ping", {})'
    py = f"try:\n    {body}\nexcept CompositeCallError as error:\n    return error.code"
    repo.tool("ask", tools=("desk__ping",), py=py)

    async def story() -> Any:
        async with bench(repo, tmp_path / "data") as desk:
            await _trust(desk.runtime, repo)
            return (await desk.run("ask"))["result"]

    assert play(story()) == "confirmation-unsupported"


def test_without_trust_nothing_is_started_and_the_reason_says_how_to_give_it(tmp_path: Path) -> None:
    repo = _repository(tmp_path / "repo", args=["-c", f"open({str(tmp_path / 'started')!r}, 'w')"])
    repo.durable("ask", tools=("desk__ping",), py='return await ctx.call_tool("desk__ping", {})')

    async def story() -> Any:
        async with bench(repo, tmp_path / "data") as desk:
            assert not await desk.runtime.trusted(repo.root)
            return (await desk.run("ask"))["outcome"]

    outcome = play(story())
    assert outcome["kind"] == "failed"
    assert "--trust" in str(outcome)
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("is_connection", [False, True], ids=["server", "connection"])
def test_trust_covers_what_has_no_secret_yet_as_far_as_it_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_connection: bool
) -> None:
    """A command that lacks a value when trust is given is named then, and starts once it has the value."""
    entry = {**COMMAND, "env": {"A": "env:DESK_TOKEN"}}
    repo = Repo(tmp_path / "repo", **({} if is_connection else {"mcp": {"servers": {"desk": entry}}}))
    if is_connection:
        repo.file("connections/desk/spec.json", {"protocol": "mcp", **entry})
    repo.durable("ask", tools=("desk__ping",), py='return await ctx.call_tool("desk__ping", {})')
    monkeypatch.delenv("DESK_TOKEN", raising=False)

    async def story() -> Any:
        async with bench(repo, tmp_path / "data") as desk:
            await _trust(desk.runtime, repo)
            first = (await desk.run("ask"))["outcome"]
            monkeypatch.setenv("DESK_TOKEN", "set")
            assert await desk.runtime.trusted(repo.root)
            return first, (await desk.run("ask"))["result"]

    first, second = play(story())
    assert "DESK_TOKEN" in str(first)
    assert second == "ping {}"


def test_what_was_not_shown_is_not_trusted(tmp_path: Path) -> None:
    """A program of the repository beside its code: changed, it is another than the one that was agreed to."""
    repo = _repository(tmp_path / "repo", args=["crm/server.py"])
    repo.file("crm/server.py", SERVER.read_text())
    repo.durable("ask", tools=("desk__ping",), py='return await ctx.call_tool("desk__ping", {})')

    async def story() -> Any:
        async with bench(repo, tmp_path / "data") as desk:
            await _trust(desk.runtime, repo)
            repo.file("crm/server.py", f"open({str(tmp_path / 'started')!r}, 'w')")
            assert not await desk.runtime.trusted(repo.root)
            return (await desk.run("ask"))["outcome"]

    assert "--trust" in str(play(story()))
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("agent", [{"mcp": ["desk"]}, {"tools": ["desk__ping"]}], ids=["server", "tool"])
def test_a_model_is_offered_the_tools_of_its_servers(tmp_path: Path, agent: dict[str, Any]) -> None:
    repo = _repository(tmp_path / "repo")
    repo.agent("asker", **agent)
    repo.durable("ask", agents=("asker",), py='return await ctx.call_subagent("asker", "ask")')
    model = repo.script({"tool_calls": [{"name": "desk__ping", "args": {"n": 2}}]}, {"text": "done"})

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", model=model) as desk:
            await _trust(desk.runtime, repo)
            run = await desk.run("ask")
            return {span["name"]: span for span in (await desk.spans(run["session_id"])).values()}

    assert play(story())["desk__ping"]["output"] == 'ping {"n": 2}'


def test_a_server_that_cannot_be_reached_takes_nothing_else_away(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo", mcp={"servers": {"desk": {"url": "http://127.0.0.1:9/mcp"}}})
    repo.agent("asker", mcp=["desk"], tools=["own"])
    repo.tool("own", py="return 'still here'")
    repo.durable("ask", agents=("asker",), py='return await ctx.call_subagent("asker", "ask")')
    model = repo.script({"tool_calls": [{"name": "own", "args": {}}]}, {"text": "done"})

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", model=model) as desk:
            run = await desk.run("ask")
            return run["result"], str(await desk.spans(run["session_id"]))

    result, spans = play(story())
    assert result == "done"
    assert "still here" in spans
