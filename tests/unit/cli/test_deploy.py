"""What `deploy` asks about is what it orders."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from inbox_app import cli_deploy
from inbox_app.cli import cli
from inbox_app.gateway.base import GatewayError
from runtime_core.connections.secrets import EnvironmentSecrets
from runtime_core.deploys.builds import Order
from runtime_core.runtime import Runtime
from tests.support.platform import KEY, PlatformServer, platform_server


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[PlatformServer]:
    with platform_server(log=["done"]) as server:
        monkeypatch.setenv("AMODAL_API_BASE", server.url)
        monkeypatch.setenv("AMODAL_API_KEY", KEY)
        monkeypatch.delenv("AMODAL_AGENT_ID", raising=False)
        monkeypatch.setattr(cli_deploy, "_is_asked", lambda: True)
        yield server


def ordered(platform: PlatformServer) -> list[dict[str, str]]:
    return [seen.json for seen in platform.seen if seen.method == "POST"]


def run(*arguments: str | Path, answer: str = "") -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments], input=answer)


def test_what_was_asked_about_is_ordered_whatever_is_deployed_meanwhile(
    platform: PlatformServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, data = tmp_path / "repo", tmp_path / "data"

    async def deploy_another() -> None:
        runtime = Runtime(data, execute=False, secrets=EnvironmentSecrets())
        await runtime.open()
        other = Order(str(root), "agent_9", "hotfix", "staging")
        await runtime.builds.deploy(other, who="bob", tell=[].append, follow=False)
        await runtime.close()

    asked: list[str] = []

    def confirm(text: str) -> bool:
        asked.append(text)
        asyncio.run(deploy_another())
        return True

    monkeypatch.setattr(click, "confirm", confirm)
    run("deploy", root, "--agent-id", "agent_1", "--data", data)
    assert asked == ["Deploy branch main of agent agent_1 to production?"]
    assert ordered(platform) == [
        {"agentId": "agent_9", "branch": "hotfix", "environment": "staging"},
        {"agentId": "agent_1", "branch": "main", "environment": "production"},
    ]


def test_nobody_is_asked_about_an_agent_that_is_not_known(platform: PlatformServer, tmp_path: Path) -> None:
    done = run("deploy", "--data", tmp_path / "data", answer="y\n")
    assert isinstance(done.exception, GatewayError)
    assert (done.exception.code, done.output) == ("platform_not_configured", "")
    assert platform.seen == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
def test_what_was_typed_before_the_question_is_no_answer_to_it(
    platform: PlatformServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: int
) -> None:
    left: list[bool] = []

    def confirm(text: str) -> bool:
        left.append(bool(select.select([0], [], [], 0)[0]))
        return False

    monkeypatch.setattr(click, "confirm", confirm)
    os.write(terminal, b"y\n")
    assert select.select([0], [], [], 10)[0]
    run("deploy", "--agent-id", "agent_1", "--data", tmp_path / "data")
    assert left == [False]


@pytest.fixture
def terminal() -> Iterator[int]:
    """The person's side of a terminal that is the standard input."""
    import pty

    before = os.dup(0)
    ours, theirs = pty.openpty()
    os.dup2(theirs, 0)
    yield ours
    os.dup2(before, 0)
    for descriptor in (before, ours, theirs):
        os.close(descriptor)


def test_no_is_no(platform: PlatformServer, tmp_path: Path) -> None:
    asked = "Deploy branch <U+202E>niam of agent agent_1 to prod?"
    where = ("--agent-id", "agent_1", "--environment", "prod", "--branch", "\u202eniam")
    done = run("deploy", *where, "--data", tmp_path / "data", answer="n\n")
    assert asked in done.output
    assert "nothing was deployed" in done.output
    assert platform.seen == []


@pytest.mark.parametrize("environment", ["production", " Prod", "eu-production", "euProd", "live_eu", "PROD2"])
def test_production_is_deployed_to_only_when_it_is_meant(
    platform: PlatformServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: str
) -> None:
    where = ("--agent-id", "agent_1", "--environment", environment, "--data", tmp_path / "data")
    unanswered = run("deploy", *where, "--json", answer="y\n")
    assert isinstance(unanswered.exception, GatewayError)
    assert "Give --yes" in unanswered.exception.message
    assert "reaches production" not in unanswered.output
    assert "nothing was deployed" in run("deploy", *where, answer="n\n").output
    monkeypatch.setattr(cli_deploy, "_is_asked", lambda: False)
    assert isinstance(run("deploy", *where, answer="y\n").exception, GatewayError)
    assert platform.seen == []
    run("deploy", *where, "--yes")
    assert [one["environment"] for one in ordered(platform)] == [environment.strip()]


@pytest.mark.parametrize("environment", ["staging", "delivery", "alive", "Olive"])
def test_elsewhere_nobody_is_asked(platform: PlatformServer, tmp_path: Path, environment: str) -> None:
    run("deploy", "--agent-id", "agent_1", "--environment", environment, "--data", tmp_path / "data", "--json")
    assert [one["environment"] for one in ordered(platform)] == [environment]
