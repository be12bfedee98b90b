"""The embedded gateway on a real runtime: another loop, batches, errors with codes, and a close that always ends."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from inbox_app.gateway.base import Answer, Batch, GatewayError, Start, Votes
from inbox_app.gateway.embedded import EmbeddedGateway

DESK = Path(__file__).parents[2] / "e2e" / "fixtures" / "desk"
ASK = Start(tool="ask_name", input="{}", repository=str(DESK))

Story = Callable[[EmbeddedGateway], Awaitable[Any]]


def told(data: Path, story: Story, **options: Any) -> Any:
    """Open a gateway, do something with it, close it; no thread of it may be left."""

    async def main() -> Any:
        gateway = EmbeddedGateway(data, **options)
        await gateway.open()
        try:
            return await story(gateway)
        finally:
            await gateway.close()

    before = set(threading.enumerate())
    result = asyncio.run(asyncio.wait_for(main(), 50))
    left = [thread.name for thread in set(threading.enumerate()) - before if thread.name == "runtime"]
    assert left == []
    return result


async def until(batches: Any, found: Callable[[Batch], Any]) -> Batch:
    async for batch in batches:
        if found(batch):
            return batch
    raise AssertionError("the batches ended")


def test_a_run_from_question_to_end(tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        assert gateway.executes
        started = await gateway.start(ASK)
        assert started.kind == "awaiting-input"
        assert list(gateway.working) == []
        assert started.pause is not None
        assert started.run_id == started.pause.run_id
        page = await gateway.pending()
        assert (page.total, [pause.id for pause in page.items]) == (1, [started.pause.id])
        assert page.items[0].requested_by == "u_rosa"

        done = await gateway.answer(
            Answer(started.pause.run_id, 12345678901234567890, started.pause.id, started.pause.fingerprint, key="k1")
        )
        assert done.kind == "complete"
        detail = await gateway.run(started.pause.run_id)
        assert detail.run.status == "completed"
        assert [(item.outcome, item.value, item.by) for item in detail.decisions] == [
            ("answered", 12345678901234567890, "u_rosa")
        ]
        root = detail.calls[0]
        assert (root.id, root.parent, root.name) == ("", None, "ask_name")
        assert detail.raw["run"]["session_id"] == started.run_id
        ended = await gateway.runs(finished=True)
        assert [run.id for run in ended.items] == [started.run_id]
        assert (await gateway.runs(finished=False)).total == 0

    told(tmp_path, story, identity="u_rosa")


@pytest.mark.parametrize(
    ("grace_s", "statuses"), [(30.0, {"running", "completed"}), (0.0, {"needs-attention"})], ids=["grace", "none"]
)
def test_a_call_has_its_grace_when_the_gateway_closes(tmp_path: Path, grace_s: float, statuses: set[str]) -> None:
    """A call that ends in time is recorded; one that is cut off is asked about and never made again by itself."""

    async def main() -> str:
        executor = EmbeddedGateway(tmp_path, wait_s=0.0)
        await executor.open()
        started = await executor.start(Start("ask_name", '{"ms": 1500}', str(DESK)))
        assert started.run_id is not None
        batches = executor.watch()
        opened = await until(batches, lambda batch: batch.opened)
        executor.follow(started.run_id)
        await executor.answer(Answer(started.run_id, "Rosa", opened.opened[0].id))
        await until(
            batches, lambda batch: any(call.name == "pause_here" for call in batch.calls.get(started.run_id or "", ()))
        )
        assert list(executor.working) == ["ask_name"]
        await executor.close(grace_s=grace_s)
        assert list(executor.working) == []
        looking = EmbeddedGateway(tmp_path, execute=False)
        await looking.open()
        found = await looking.run(started.run_id)
        await looking.close()
        calls = {call.name: call.state for call in found.calls}
        if grace_s:
            assert calls["pause_here"] == "ok"
            return found.run.status
        again = EmbeddedGateway(tmp_path)
        await again.open()
        await again.recovered()
        found = await again.run(started.run_id)
        await again.close()
        (asked,) = found.pauses
        assert asked.cut_off is not None
        assert (asked.cut_off.kind, asked.cut_off.name) == ("tool", "pause_here")
        assert asked.cut_off.began_at is not None
        return found.run.status

    assert asyncio.run(asyncio.wait_for(main(), 50)) in statuses


def test_a_preview_tells_what_would_follow_and_refuses_as_an_answer_would(tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        pause = (await gateway.start(ASK)).pause
        assert pause is not None
        found = await gateway.preview(Answer(pause.run_id, "Ada", pause.id))
        assert (found.kind, found.run_id, found.pause_id, found.calls) == ("complete", pause.run_id, pause.id, ())
        assert found.result["answer"]["value"] == "Ada"
        with pytest.raises(GatewayError) as refused:
            await gateway.preview(Answer(pause.run_id, 1, pause.id, "another fingerprint"))
        assert refused.value.code == "content_changed"
        assert [waiting.id for waiting in (await gateway.pending()).items] == [pause.id]

    told(tmp_path, story)


def test_changes_arrive_in_batches(tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        batches = gateway.watch()
        first = await anext(batches)
        assert first.reset
        assert (first.total, first.opened) == (0, ())
        started = asyncio.create_task(gateway.start(ASK))
        opened = await until(batches, lambda batch: batch.opened)
        [pause] = opened.opened
        assert opened.total == 1
        assert pause.eligible
        assert (await started).pause == pause

        gateway.follow(pause.run_id)
        answering = asyncio.create_task(gateway.answer(Answer(pause.run_id, "Rosa")))
        closed: set[str] = set()
        calls: dict[str, str] = {}
        statuses: list[str] = []

        def gather(batch: Batch) -> bool:
            closed.update(batch.closed)
            calls.update({call.id: call.state for call in batch.calls.get(pause.run_id, ())})
            statuses.extend(run.status for run in batch.runs)
            return "completed" in statuses and calls.get("") == "ok"

        await until(batches, gather)
        assert closed == {pause.id}
        assert (await answering).kind == "complete"

        watching = asyncio.ensure_future(anext(batches, None))
        await gateway.close()
        assert await watching is None

    told(tmp_path, story)


def test_the_loop_of_the_caller_is_not_blocked(tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        hanging = Start(tool="misbehave", input='{"how": "hang"}', repository=str(DESK))
        running = asyncio.create_task(gateway.start(hanging))
        ticks = 0
        while not running.done():
            await asyncio.sleep(0.01)
            ticks += 1
            await gateway.pending()
        assert ticks > 20
        outcome = await running
        assert (outcome.kind, "misbehave" in outcome.reason) == ("failed", True)

    told(tmp_path, story)


def test_closing_while_a_handler_hangs(tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> str:
        batches = gateway.watch()
        await anext(batches)
        slow = Start(tool="pause_here", input='{"ms": 60000}', repository=str(DESK))
        inline = asyncio.create_task(gateway.start(slow))
        asking = await gateway.start(Start(tool="ask_name", input='{"ms": 60000}', repository=str(DESK)))
        assert asking.run_id is not None
        gateway.follow(asking.run_id)
        answering = asyncio.create_task(gateway.answer(Answer(asking.run_id, "Rosa")))
        await until(
            batches, lambda batch: any(call.name == "pause_here" for calls in batch.calls.values() for call in calls)
        )
        await asyncio.wait_for(gateway.close(), 10)
        assert (await inline).kind == "failed"
        with pytest.raises(GatewayError, match="closed before"):
            await answering
        return asking.run_id

    run_id = told(tmp_path, story)

    async def later(gateway: EmbeddedGateway) -> None:
        await gateway.recovered()
        detail = await gateway.run(run_id)
        assert detail.decisions[0].value == "Rosa"
        assert not detail.run.finished

    told(tmp_path, later)


def test_refusals_carry_their_code(tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        for asked, code in (
            (gateway.run("dur_nothing"), "NOT_FOUND"),
            (gateway.cancel("dur_nothing"), "NOT_FOUND"),
            (gateway.answer(Answer("dur_nothing", "x")), "NOT_FOUND"),
            (gateway.start(Start(tool="nothing", input="{}", repository=str(DESK))), "tool_not_found"),
            (gateway.start(Start(tool="nothing", input="{}", repository=str(tmp_path))), "CONFIG_NOT_FOUND"),
        ):
            with pytest.raises(GatewayError) as refused:
                await asked
            assert refused.value.code == code
            assert refused.value.message

    told(tmp_path / "data", story)


def test_all_repositories_are_checked_when_it_opens(tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        shutil.copytree(DESK, root)
        (root / "amodal" / "tools" / "echo" / "handler.ts").unlink()
    before = threading.active_count()
    with pytest.raises(GatewayError) as refused:
        told(tmp_path / "data", lambda gateway: gateway.pending(), repositories=roots)
    assert refused.value.code == "CONFIG_NOT_FOUND"
    assert {problem["repository"] for problem in refused.value.details["problems"]} == {str(root) for root in roots}
    assert str(roots[0]) in refused.value.message
    assert threading.active_count() <= before


def test_a_second_gateway_is_a_client_of_the_first(tmp_path: Path) -> None:
    async def story(first: EmbeddedGateway) -> None:
        second = EmbeddedGateway(tmp_path, identity="u_mina")
        await second.open()
        try:
            assert (first.executes, second.executes) == (True, False)
            batches = first.watch()
            await anext(batches)
            started = await second.start(ASK)
            assert started.pause is not None
            seen = await until(batches, lambda batch: batch.opened)
            assert seen.opened[0].id == started.pause.id
            assert seen.opened[0].requested_by == "u_mina"
            done = await second.answer(Answer(started.pause.run_id, "x"))
            assert done.kind == "complete"
        finally:
            await second.close()

    told(tmp_path, story)


def test_it_must_execute_or_refuse(tmp_path: Path) -> None:
    async def story(_: EmbeddedGateway) -> None:
        with pytest.raises(GatewayError) as refused:
            await EmbeddedGateway(tmp_path, execute=True).open()
        assert refused.value.code == "data_folder_busy"
        assert str(tmp_path) in refused.value.message

    told(tmp_path, story)


def test_closed_twice_and_used_after(tmp_path: Path) -> None:
    async def story(gateway: EmbeddedGateway) -> None:
        await gateway.close()
        await gateway.close()
        gateway.follow("dur_1")
        with pytest.raises(GatewayError):
            await gateway.pending()

    told(tmp_path, story)
    asyncio.run(EmbeddedGateway(tmp_path).close())


HANDLER = """
async def handler(params, ctx):
    first = await ctx.request_input({
        "question": "Charge?", "inputType": "yesno", %s
    })
    return await ctx.call_tool("charge", {"amount": %s, "answer": first["value"]})
"""
CHARGE = "async def handler(params, ctx):\n    return params\n"


def write_desk(root: Path, options: str = "", amount: str = "1.50") -> Path:
    """A repository with a durable tool that asks, and a tool it calls afterwards."""
    for name, text, more in (
        ("pay", HANDLER % (options, amount), {"execution": "durable", "uses": {"tools": ["charge"]}}),
        ("charge", CHARGE, {}),
    ):
        folder = root / "amodal" / "tools" / name
        folder.mkdir(parents=True, exist_ok=True)
        described = {"name": name, "description": name, "parameters": {"type": "object"}, **more}
        (folder / "tool.json").write_text(json.dumps(described))
        (folder / "handler.py").write_text(text)
    (root / "amodal.json").write_text('{"name": "desk", "version": "1.0.0"}')
    return root


def test_a_question_for_several_tells_progress_and_whose_answer_is_there(tmp_path: Path) -> None:
    desk = write_desk(tmp_path / "desk", '"quorum": 2')

    async def ann(gateway: EmbeddedGateway) -> None:
        started = await gateway.start(Start("pay", "{}", str(desk)))
        assert started.pause is not None
        assert started.pause.votes == Votes(2, (), "ann")
        counted = await gateway.answer(Answer(started.pause.run_id, "yes", started.pause.id))
        assert (counted.kind, counted.pause and counted.pause.id) == ("awaiting-input", started.pause.id)
        (mine,) = (await gateway.pending()).items
        assert mine.votes is not None
        assert (mine.votes.by, mine.votes.mine, mine.eligible) == (("ann",), True, False)

    async def tom(gateway: EmbeddedGateway) -> None:
        (asked,) = (await gateway.pending()).items
        assert asked.votes is not None
        assert not asked.votes.mine
        done = await gateway.answer(Answer(asked.run_id, "yes", asked.id))
        assert done.kind == "complete"
        (made,) = (await gateway.run(asked.run_id)).decisions
        assert (made.outcome, made.voters) == ("answered", ("ann", "tom"))

    told(tmp_path / "data", ann, identity="ann")
    told(tmp_path / "data", tom, identity="tom", repositories=[desk])


def test_a_question_expires_as_its_author_wrote(tmp_path: Path) -> None:
    desk = write_desk(tmp_path / "desk", '"timeoutMs": 300, "onExpire": {"value": "no"}')

    async def story(gateway: EmbeddedGateway) -> None:
        batches = gateway.watch()
        await anext(batches)
        started = await gateway.start(Start("pay", "{}", str(desk)))
        assert started.pause is not None
        assert started.pause.expires_at is not None
        assert started.pause.on_expire == {"value": "no"}
        closed = await until(batches, lambda batch: batch.closed)
        assert closed.outcomes == {started.pause.id: "expired"}
        with pytest.raises(GatewayError) as refused:
            await gateway.answer(Answer(started.pause.run_id, "yes", started.pause.id))
        assert refused.value.code == "pause_expired"
        (made,) = (await gateway.run(started.pause.run_id)).decisions
        assert (made.outcome, made.on_expire) == ("expired", {"value": "no"})

    told(tmp_path / "data", story)


def test_a_run_that_diverges_tells_what_differs_and_goes_on_with_its_old_code(tmp_path: Path) -> None:
    desk = write_desk(tmp_path / "desk")

    async def before(gateway: EmbeddedGateway) -> None:
        started = await gateway.start(Start("pay", "{}", str(desk)))
        assert started.pause is not None
        assert not started.pause.code_changed

    async def after(gateway: EmbeddedGateway) -> None:
        (asked,) = (await gateway.pending()).items
        assert asked.code_changed
        stopped = await gateway.answer(Answer(asked.run_id, "yes", asked.id))
        assert stopped.kind == "diverged"
        run = (await gateway.run(asked.run_id)).run
        assert run.divergence is not None
        assert run.divergence.code == "content_changed"
        assert (run.divergence.was, run.divergence.now) == ('"Charge?"', '"Refund?"')
        assert run.divergence.old == run.old_code == run.versions[0].revision
        assert run.divergence.new != run.old_code
        assert all(pause.stopped for pause in (await gateway.pending()).items)
        done = await gateway.resume(asked.run_id, run.old_code)
        while done.kind == "awaiting-input":
            assert done.pause is not None
            done = await gateway.answer(Answer(asked.run_id, "yes", done.pause.id))
        assert done.kind == "complete"

    told(tmp_path / "data", before)
    changed = desk / "amodal" / "tools" / "pay" / "handler.py"
    changed.write_text(changed.read_text().replace("Charge?", "Refund?"))
    told(tmp_path / "data", after, repositories=[desk])
