"""The command that shows and switches built-in tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.driver import Desk
from tests.support.platform import KEY, platform_server
from tests.unit.engine.workshop import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = Repo(tmp_path / "repo")
    repo.file("knowledge/rules.md", "# Rules\n")
    repo.tool("ask", tools=("load_knowledge",), ts="return await ctx.callTool('load_knowledge', {name: 'rules'});")
    return repo.root


def row(out: str, name: str) -> list[str]:
    return next(line.split() for line in out.splitlines() if line.split()[:1] == [name])


def test_a_tool_is_switched_off_and_on_again(desk: Desk, repo: Path) -> None:
    shown = desk("tools", repo)
    assert row(shown.out, "load_knowledge") == ["load_knowledge", "on"]
    assert "needs a provider: add webTools to amodal.json" in shown.out
    off = desk("tools", repo, "--disable", "load_knowledge", "--as", "ann")
    assert (off.code, row(off.out, "load_knowledge")[:3]) == (0, ["load_knowledge", "off", "ann"])
    failed = desk("run", repo, "ask", "--json")
    assert failed.code == 1
    assert "switched off by an operator" in failed.out
    checked = desk("check", repo)
    assert row(checked.out, "load_knowledge")[:2] == ["load_knowledge", "ann"]
    assert desk("check", repo, "--json").json["switched_off"][0]["tool"] == "load_knowledge"
    on = desk("tools", repo, "--enable", "load_knowledge", "--json").json["tools"]
    assert [(one["name"], one["enabled"]) for one in on] == [("load_knowledge", True)]
    assert desk("run", repo, "ask").code == 0


def test_only_built_in_tools_can_be_switched(desk: Desk, repo: Path) -> None:
    own = desk("tools", repo, "--disable", "ask", "--json")
    assert (own.code, own.error["code"]) == (1, "VALIDATION_ERROR")
    assert "only built-in tools can be switched" in own.error["message"]
    other = desk("tools", repo, "--disable", "web_serch", "--json")
    assert (other.code, other.error["code"]) == (1, "NOT_FOUND")
    assert 'Did you mean "web_search"?' in other.error["message"]
    assert desk("tools", repo, "--enable", "memory", "--disable", "memory").code == 2
    assert desk("tools").code == 2


def test_those_of_the_platform(desk: Desk, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with platform_server() as server:
        monkeypatch.setenv("AMODAL_API_BASE", server.url)
        monkeypatch.setenv("AMODAL_API_KEY", KEY)
        assert row(desk("tools", "--remote", "--agent-id", "agent_1").out, "fetch_url") == ["fetch_url", "off"]
        on = desk("tools", "--remote", "--agent-id", "agent_1", "--enable", "fetch_url")
        assert (on.code, server.switches["fetch_url"]) == (0, True)
        unknown = desk("tools", "--remote", "--agent-id", "agent_2", "--json")
        assert (unknown.code, unknown.error["code"]) == (1, "NOT_FOUND")
        assert "tools_route" in unknown.error["message"]
    assert desk("tools", repo, "--remote").code == 2
    assert desk("tools", repo, "--agent-id", "x").code == 2
