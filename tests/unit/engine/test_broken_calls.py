"""Calls in which something of ours breaks: they fail alone, and their handlers never wait for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine import asking
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.repo.bundle import Hook
from runtime_core.tools.documents import Documents
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.runs import RunRow
from tests.unit.engine.test_hooks import Desk, desk, kind, source
from tests.unit.engine.test_stores import shop
from tests.unit.engine.workshop import Repo, bench, play

__all__ = ["desk", "kind"]

BODIES = {
    "tool": {
        "ts": "try { return await ctx.callTool('store__parcels__get', {key: 'p1'}); } "
        "catch (error) { return [error.code, error.cause.code, error.message]; }",
        "py": "try:\n    return await ctx.call_tool('store__parcels__get', {'key': 'p1'})\n"
        "except CompositeCallError as error:\n    return [error.code, error.cause['code'], str(error)]",
    },
    "member": {
        "ts": "try { return await ctx.store('parcels', {parcel_id: 'p1', carrier: 'air', weight: 1}); } "
        "catch (error) { return [error.code, error.message]; }",
        "py": "try:\n    return await ctx.store('parcels', {'parcel_id': 'p1', 'carrier': 'air', 'weight': 1})\n"
        "except Exception as error:\n    return [error.code, str(error)]",
    },
    "composite": {"ts": "return await ctx.callTool('leaf', {});", "py": "return await ctx.call_tool('leaf', {})"},
    "leaf": {"ts": "return 'leaf';", "py": "return 'leaf'"},
}


class Breaking:
    """Documents, and runs of durable tools that code without a journal calls, break while ``fault`` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fault: Exception | None = None
        for name in ("payload", "write"):
            monkeypatch.setattr(Documents, name, self._broken(getattr(Documents, name)))
        monkeypatch.setattr(SqliteJournal, "create_run", self._broken(SqliteJournal.create_run))

    def _broken(self, real: Any) -> Any:
        async def method(owner: Any, *args: Any) -> Any:
            if self.fault is not None and not (isinstance(args[0], RunRow) and args[0].tool != "leaf"):
                raise self.fault
            return await real(owner, *args)

        return method


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Breaking:
    return Breaking(monkeypatch)


def _shop(root: Path, language: str) -> Repo:
    bodies: Any = {name: {language: body[language]} for name, body in BODIES.items()}
    repo = shop(root)
    repo.durable("lasting", **bodies["tool"], tools=("store__parcels__get",))
    repo.tool("passing", **bodies["tool"], tools=("store__parcels__get",))
    repo.tool("member", **bodies["member"], confirm=True, timeout=5)
    repo.durable("leaf", **bodies["leaf"])
    repo.tool("composite", **bodies["composite"], tools=("leaf",), effect="idempotent")
    repo.durable("above", py="return await ctx.call_tool(params['tool'], {})", tools=("member", "composite"))
    return repo


@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_fault_of_ours_fails_the_call_and_tells_no_secret(tmp_path: Path, language: str, broken: Breaking) -> None:
    repo = _shop(tmp_path / "repo", language)
    broken.fault = OverflowError("the s3cret is too large")

    async def story() -> tuple[list[Any], str]:
        async with bench(repo, tmp_path / "data") as desk:
            replies = [await desk.run(tool) for tool in ("lasting", "passing", "member")]
            replies.append(await desk.run("above", {"tool": "member"}))
            return [reply["result"] for reply in replies], str(await desk.spans(replies[0]["session_id"]))

    results, spans = play(story())
    for code, cause, message in results[:2]:
        assert (code, cause) == ("execution-failed", "INTERNAL_ERROR")
        assert "OverflowError" in message
    for code, message in results[2:]:
        assert code == "INTERNAL_ERROR"
        assert message == "ctx.store failed: a fault of the runtime, not of its parameters (OverflowError)"
    assert "s3cret" not in str(results) + spans


@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_storage_that_fails_stops_a_run_until_it_works_and_ends_what_is_not_durable(
    tmp_path: Path, language: str, broken: Breaking
) -> None:
    repo = _shop(tmp_path / "repo", language)
    busy = RuntimeFault("data_folder_busy", "The data folder is locked.")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            broken.fault = busy
            with pytest.raises(RuntimeFault, match="locked"):
                await desk.run("composite")
            reply = await desk.run("above", {"tool": "composite"}, wait_s=3)
            assert reply["outcome"]["kind"] not in ("complete", "failed")
            broken.fault = None
            await desk.until("run", status="completed", tool_name="above")
            assert (await desk.detail(reply["session_id"]))["run"]["result"] == "leaf"

    play(story())


READS = (
    "const rows = await ctx.store.get('parcels', 'p1'); return { action: 'allow' };",
    "await ctx.store.get('parcels', 'p1')\nreturn {'action': 'allow'}",
)


def _reading(desk: Desk, kind: str) -> Hook:
    before = source(kind, *READS).replace("run(point, payload, ctx) {", "async run(point, payload, ctx) {")
    return desk.hook(kind, before, is_closed=True, capabilities=frozenset({"store:read"}))


def test_a_hook_whose_read_fails_is_over_and_told_why(desk: Desk, kind: str, broken: Breaking) -> None:
    broken.fault = RuntimeFault("data_folder_unusable", "runtime.db: the file is damaged.")
    reason = str(desk.ask(_reading(desk, kind)))
    assert "the file is damaged" in reason
    assert "failPolicy closed" in reason


def test_a_hook_whose_read_takes_for_ever_is_over_in_time(
    desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(documents: Documents, *args: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(Documents, "payload", never)
    monkeypatch.setattr(asking, "WHOLE_S", 0.5)
    assert "longer than 0.5 s" in str(desk.ask(_reading(desk, kind)))
