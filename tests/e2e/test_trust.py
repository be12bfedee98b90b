"""Trust on the command line: what it is needed for, how it is given, how long it lasts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.driver import Desk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no shell commands there")

HANDLER = "async def handler(params, ctx):\n    return (await ctx.exec('echo trusted'))['stdout']\n"
ASKS = (
    "async def handler(params, ctx):\n"
    "    await ctx.request_input({'question': 'Go on?'})\n"
    "    return await ctx.call_tool('echo', {})\n"
)


def _repository(folder: Path) -> Path:
    tools = folder / "amodal" / "tools"
    for name, handler, settings in (
        ("echo", HANDLER, {}),
        ("ask", ASKS, {"execution": "durable", "uses": {"tools": ["echo"]}}),
    ):
        (tools / name).mkdir(parents=True)
        (tools / name / "handler.py").write_text(handler)
        (tools / name / "tool.json").write_text(json.dumps({"description": "It does.", **settings}))
    manifest = {"name": "shell", "version": "1", "sandbox": {"shellExec": True}}
    (folder / "amodal.json").write_text(json.dumps(manifest))
    return folder


def test_a_command_runs_after_the_code_was_trusted_and_not_after_it_has_changed(desk: Desk, tmp_path: Path) -> None:
    root = _repository(tmp_path / "repo")
    checked = desk("check", root)
    assert "has to be trusted, with --trust, before it may use shell commands (ctx.exec)" in checked.out
    assert desk("check", root, "--json").json["needs_trust"]

    refused = desk("run", root, "echo", "--json")
    assert refused.code == 1
    assert "--trust" in refused.out
    trusted = desk("run", root, "echo", "--trust", "--json")
    assert (trusted.code, trusted.json["result"]) == (0, "trusted\n")
    assert "as long as its code stays as it is" in trusted.err
    files = sorted((path, path.stat().st_mtime_ns) for path in desk.data.rglob("*"))
    checked = desk("check", root)
    assert "has to be trusted" not in checked.out
    assert "trusted by local:" in checked.out
    assert desk("check", root, "--json").json["trusted"]["by"].startswith("local:")
    assert sorted((path, path.stat().st_mtime_ns) for path in desk.data.rglob("*")) == files
    assert "shell commands" in trusted.err
    assert desk("run", root, "echo", "--json").code == 0
    (root / "amodal" / "tools" / "echo" / "handler.py").write_text(HANDLER + "# changed\n")
    assert desk("run", root, "echo", "--json").code == 1
    assert "has to be trusted" in desk("check", root).out
    assert desk("check", root, "--json").json["trusted"] is None


def test_trust_may_be_given_with_an_answer(desk: Desk, tmp_path: Path) -> None:
    root = _repository(tmp_path / "repo")
    session = desk("run", root, "ask", "--json").json["session_id"]
    answered = desk("answer", session, "yes", "--trust", "--json")
    assert (answered.code, answered.json["result"]) == (0, "trusted\n")


def test_trust_that_would_have_no_effect_is_wrong_usage(desk: Desk, tmp_path: Path) -> None:
    assert desk("--trust").code == 2
    assert desk("--trust", "list").code == 2
