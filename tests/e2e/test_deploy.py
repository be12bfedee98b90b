"""The commands of the deploy loop: builds of the platform, on loopback, and their local counterpart."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.driver import LIMIT_S, Desk, until
from tests.support.platform import KEY, PlatformServer, platform_server
from tests.unit.engine.workshop import Repo


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[PlatformServer]:
    with platform_server(growth=9) as server:
        monkeypatch.setenv("AMODAL_API_BASE", server.url)
        monkeypatch.setenv("AMODAL_API_KEY", KEY)
        monkeypatch.setenv("AMODAL_AGENT_ID", "agent_1")
        monkeypatch.delenv("AMODAL_BUILD_ID", raising=False)
        yield server


def test_a_deploy_shows_its_log_and_succeeds(desk: Desk, platform: PlatformServer) -> None:
    platform.coming = ["cloning", "npm ci \u202e"]
    done = desk("deploy", "--branch", "next", "--environment", "staging")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "build bld_7: agent agent_1, branch next, to staging",
        "cloning",
        "npm ci <U+202E>",
        "build succeeded",
    ]
    assert platform.seen[0].json == {"agentId": "agent_1", "branch": "next", "environment": "staging"}
    whole = desk("logs", "bld_7", "--json").json["build"]
    assert (whole["state"], whole["remote"], len(whole["log"])) == ("succeeded", "bld_7", 2)


def test_a_deploy_that_fails_says_why_and_what_to_do(desk: Desk, platform: PlatformServer) -> None:
    platform.ends = "failed"
    platform.coming = ["amodal/tools/a/handler.ts(3,1): error TS1005: ';' expected.", "npm error code ETARGET"]
    done = desk("deploy", "--yes")
    assert done.code == 1
    assert "TypeScript (amodal/tools/a/handler.ts:3):" in done.out
    assert "Dependencies:" in done.out
    assert done.out.endswith("build failed\n")


@pytest.mark.parametrize(
    ("change", "code"),
    [({"AMODAL_API_BASE": ""}, "platform_not_configured"), ({"AMODAL_API_KEY": "wrong"}, "platform_unauthorized")],
)
def test_what_keeps_it_from_being_ordered(
    desk: Desk, platform: PlatformServer, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], code: str
) -> None:
    for name, value in change.items():
        monkeypatch.setenv(name, value)
    refused = desk("deploy", "--yes", "--json")
    assert (refused.code, refused.error["code"]) == (1, code)
    assert KEY not in refused.err


def test_a_build_can_be_followed_later_also_by_its_variable(
    desk: Desk, platform: PlatformServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered = desk("deploy", "--yes", "--no-follow")
    assert (ordered.code, "ordered; follow it with:" in ordered.out) == (0, True)
    platform.coming = ["one", "two"]
    monkeypatch.setenv("AMODAL_BUILD_ID", "bld_7")
    followed = desk("logs", "--follow")
    assert (followed.code, followed.out.splitlines()) == (0, ["one", "two", "build succeeded"])
    unknown = desk("logs", "bld_8", "--json")
    assert (unknown.code, unknown.error["code"]) == (1, "NOT_FOUND")


@pytest.mark.skipif(os.name == "nt", reason="signals are of other systems")
@pytest.mark.parametrize("command", [("deploy", "--yes"), ("logs", "bld_7", "--follow")])
def test_an_interrupt_ends_the_following_and_says_how_to_go_on(
    desk: Desk, platform: PlatformServer, command: tuple[str, ...]
) -> None:
    platform.growth, platform.coming = 1, [f"line {number}" for number in range(500)]
    process = desk.start(*command)
    until(lambda: len(platform.seen) > 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert b"line 0" in out
    assert b"the build goes on" in err
    assert b"logs bld_7 --follow" in err
    kept = desk("logs", "bld_7", "--json").json["build"]
    assert kept["state"] == "running"


def test_a_reload_shows_a_log_and_what_changed(desk: Desk, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.tool("weigh", py="return 1")
    first = desk("reload", repo.root)
    assert (first.code, first.err) == (0, "")
    assert "load: bench 1.0.0: 1 tool, 0 agents" in first.out.splitlines()
    assert "handlers: amodal/tools/weigh/handler.py: loads" in first.out.splitlines()
    repo.tool("book", py="return (")
    failed = desk("reload", repo.root)
    assert failed.code == 1
    assert "changes: tools added: book" in failed.out.splitlines()
    assert "Python (amodal/tools/book/handler.py" in failed.out
    wire = desk("reload", repo.root, "--json").json["build"]
    assert (wire["state"], wire["kind"], [one["kind"] for one in wire["failures"]]) == ("failed", "local", ["python"])
    shown = desk("logs", wire["id"])
    assert shown.code == 1
    assert "changes: tools added: book" in shown.out.splitlines()


def test_a_folder_that_is_no_repository(desk: Desk, tmp_path: Path) -> None:
    failed = desk("reload", tmp_path)
    assert failed.code == 1
    assert "Manifest (amodal.json):" in failed.out
