"""Nothing is told before it is stored: neither to a handler nor to the person who waits for it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.runtime import Change
from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import Repo, bench, play

HANDLERS = {
    "ts": """
const first = await ctx.callTool('first', {});
const note = await ctx.step('note', () => 2);
return [first, note, await ctx.callTool('last', {})];
""",
    "py": """
first = await ctx.call_tool("first", {})
note = await ctx.step("note", lambda: 2)
return [first, note, await ctx.call_tool("last", {})]
""",
}
SLOW_S = 0.2


@pytest.mark.parametrize("language", HANDLERS)
def test_a_handler_goes_on_when_its_result_is_stored(tmp_path: Path, language: str) -> None:
    """The journal takes its time: whatever the handler does next comes after it."""
    repo = Repo(tmp_path / "repo")
    source: dict[str, Any] = {language: HANDLERS[language]}
    repo.durable("top", tools=("first", "last"), **source)
    repo.tool("first", ts="return 1;", effect="read")
    repo.tool("last", ts="return 3;", effect="read")
    happened: list[str] = []

    def on_change(change: Change) -> None:
        if change.kind == "span" and change.wire["id"] in ("1", "2") and change.wire["id"] not in happened:
            happened.append(change.wire["id"])

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            desk.runtime.subscribe(on_change)
            append, finish = desk.runtime._journal.append, desk.runtime._journal.finish

            async def slow_append(claim: Any, entries: Any, *more: Any, **named: Any) -> Any:
                await asyncio.sleep(SLOW_S)
                stored = await append(claim, entries, *more, **named)
                happened.extend(f"stored {entry.n}" for entry in entries)
                return stored

            async def slow_finish(*given: Any, **named: Any) -> None:
                await asyncio.sleep(SLOW_S)
                await finish(*given, **named)
                happened.append("ended")

            desk.runtime._journal.append = slow_append
            desk.runtime._journal.finish = slow_finish
            assert (await desk.run("top"))["result"] == [1, 2, 3]
            happened.append("told")

    play(story())
    steps = ["stored 0", "stored 1", "2", "stored 2", "ended", "told"]
    assert [step for step in happened if step in steps] == steps


def test_a_run_that_the_folder_keeps_from_going_on_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is stored all the same."""
    repo = Repo(tmp_path / "repo")
    repo.durable("top", ts="return (await ctx.requestInput('Sure?')).value;")

    async def full(*_: object) -> None:
        raise RuntimeFault("data_folder_unusable", "runtime.db: the disk is full. Free some space; nothing was stored.")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("top"))["sessionId"]
            with monkeypatch.context() as patched:
                patched.setattr(SqliteJournal, "claim", full)
                outcome = (await desk.answer(run_id, 1))["outcome"]
            assert outcome["kind"] == "running"
            assert outcome["reason"] == "runtime.db: the disk is full. Free some space."
            assert (await desk.detail(run_id))["decisions"][0]["value"] == 1

    play(story())
