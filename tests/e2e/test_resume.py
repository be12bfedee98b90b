"""Resuming a run that stopped because its code changed, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.driver import Desk


def _write(repo: Path, tool: str) -> None:
    for name in ("first", "other"):
        folder = repo / "amodal/tools" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tool.json").write_text('{"description": "Says its name."}')
        (folder / "handler.ts").write_text(f"export default async () => '{name}';")
    folder = repo / "amodal/tools/top"
    folder.mkdir(parents=True, exist_ok=True)
    (repo / "amodal.json").write_text('{"name": "bench", "version": "1.0.0"}')
    uses = {"tools": ["first", "other"], "subagents": []}
    (folder / "tool.json").write_text(json.dumps({"description": "Asks.", "execution": "durable", "uses": uses}))
    (folder / "handler.ts").write_text(
        f"export default async (p, ctx) => [await ctx.callTool('{tool}', {{}}), (await ctx.requestInput('?')).value];"
    )


def test_a_diverged_run_is_shown_with_its_ways_on_and_resumed_on_the_old_code(desk: Desk, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    _write(repo, "first")
    session = desk("run", repo, "top", "--json").json["sessionId"]
    refused = desk("resume", session, "--json")
    assert (refused.code, refused.error["code"]) == (1, "not_diverged")
    assert refused.error["details"] == {"status": "awaiting-input"}
    _write(repo, "other")
    assert "the repository holds other code by now" in desk("show", session).out
    assert "(code changed)" in desk("list").out
    stopped = desk("answer", session, "x")
    assert "the repository holds other code now than when this was asked" in stopped.err
    assert stopped.code == 1
    assert 'callTool "first" is recorded, callTool "other" was attempted' in stopped.out
    shown = desk("show", session).out
    assert "resume on the old code" in shown
    assert f"resume {session} --old-code" in shown
    again = desk("resume", session)
    assert (again.code, again.out.split()[0]) == (1, "diverged")
    missing = desk("resume", session, "--revision", "0" * 64, "--json")
    assert (missing.code, missing.error["code"]) == (1, "revision_not_stored")
    (old,) = [one for one in desk("show", session, "--json").json["run"]["revisions"] if one["old"]]
    done = desk("resume", session, "--revision", old["revision"][:12], "--json")
    assert (done.code, done.json["result"]) == (0, ["first", "x"])


def test_old_code_and_a_revision_exclude_each_other(desk: Desk) -> None:
    ended = desk("resume", "dur_x", "--old-code", "--revision", "0" * 12)
    assert ended.code == 2
    assert "exclude each other" in ended.err
