"""Changes arrive as few batches, a watcher starts with a reset, and nothing falls between the two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from inbox_app.gateway.base import Batch
from inbox_app.gateway.feed import Feed


class Runtime:
    """Only what a feed uses: pending questions, and a listener that is told of changes."""

    def __init__(self) -> None:
        self.waiting: dict[str, dict[str, Any]] = {}
        self.listener: Callable[[Any], None] | None = None
        self.reading = asyncio.Event()
        self.reading.set()

    async def pending(self, *, who: str, limit: int = 100, cursor: str | None = None) -> dict[str, Any]:
        page = [{**item, "eligible": who == "rosa", "reason": ""} for item in list(self.waiting.values())[:limit]]
        total = len(self.waiting)
        await self.reading.wait()
        return {"approvals": page, "total": total, "next_cursor": None}

    def subscribe(self, listener: Callable[[Any], None], *, who: str | None = None) -> Callable[[], None]:
        self.listener = listener

        def unsubscribe() -> None:
            self.listener = None

        return unsubscribe

    def opens(self, pause: str) -> None:
        self.waiting[pause] = {"pause_id": pause, "session_id": "dur_1", "question": "?"}
        self.tells("pause-opened", self.waiting[pause])

    def closes(self, pause: str, outcome: str = "answered") -> None:
        self.tells("pause-closed", {**self.waiting.pop(pause), "outcome": outcome})

    def tells(self, kind: str, wire: dict[str, Any], run_id: str = "dur_1") -> None:
        if self.listener is not None:
            self.listener(SimpleNamespace(kind=kind, run_id=run_id, wire=wire))


def watched(story: Callable[[Runtime, Feed, asyncio.Queue[Batch | None]], Any]) -> None:
    async def main() -> None:
        runtime = Runtime()
        feed = Feed(runtime, "Built-in", "rosa")  # pyright: ignore[reportArgumentType]
        batches: asyncio.Queue[Batch | None] = asyncio.Queue()
        await story(runtime, feed, batches)
        feed.close()
        assert runtime.listener is None

    asyncio.run(asyncio.wait_for(main(), 10))


def test_a_burst_is_one_batch() -> None:
    async def story(runtime: Runtime, feed: Feed, batches: asyncio.Queue[Batch | None]) -> None:
        runtime.opens("p0")
        await feed.attach(batches.put_nowait)
        first = await batches.get()
        assert first is not None
        assert first.reset
        assert [pause.id for pause in first.opened] == ["p0"]
        assert first.total == 1
        for number in range(1, 300):
            runtime.opens(f"p{number}")
        runtime.closes("p0")
        runtime.closes("p7", "expired")
        runtime.tells("run", {"session_id": "dur_1", "status": "running"})
        runtime.tells("run", {"session_id": "dur_1", "status": "completed"})
        batch = await batches.get()
        assert batch is not None
        assert not batch.reset
        assert len(batch.opened) == 298
        assert set(batch.closed) == {"p0", "p7"}
        assert batch.outcomes == {"p0": "answered", "p7": "expired"}
        assert [run.status for run in batch.runs] == ["completed"]
        assert batch.total == 298
        assert batches.empty()

    watched(story)


def test_what_happens_while_the_first_page_is_read_comes_after_it() -> None:
    async def story(runtime: Runtime, feed: Feed, batches: asyncio.Queue[Batch | None]) -> None:
        runtime.opens("p0")
        runtime.reading.clear()
        attaching = asyncio.create_task(feed.attach(batches.put_nowait))
        await asyncio.sleep(0)
        runtime.opens("p1")
        runtime.closes("p0")
        await asyncio.sleep(0.1)
        assert batches.empty()
        runtime.reading.set()
        await attaching
        first, second = await batches.get(), await batches.get()
        assert first is not None
        assert second is not None
        assert first.reset
        assert [pause.id for pause in first.opened] == ["p0"]
        assert ([pause.id for pause in second.opened], second.closed) == (["p1"], ("p0",))

    watched(story)


def test_calls_come_for_the_followed_run_only() -> None:
    async def story(runtime: Runtime, feed: Feed, batches: asyncio.Queue[Batch | None]) -> None:
        await feed.attach(batches.put_nowait)
        await batches.get()
        runtime.tells("span", {"id": "", "name": "a"}, "dur_1")
        feed.follow("dur_2")
        runtime.tells("span", {"id": "1", "name": "b", "state": "running"}, "dur_2")
        runtime.tells("span", {"id": "1", "name": "b", "state": "ok"}, "dur_2")
        runtime.tells("span", {"id": "", "name": "a"}, "dur_1")
        batch = await batches.get()
        assert batch is not None
        assert {run: [(call.id, call.state) for call in calls] for run, calls in batch.calls.items()} == {
            "dur_2": [("1", "ok")]
        }
        assert batch.total is None

    watched(story)


def test_closing_ends_every_watcher() -> None:
    async def story(runtime: Runtime, feed: Feed, batches: asyncio.Queue[Batch | None]) -> None:
        await feed.attach(batches.put_nowait)
        await batches.get()
        runtime.opens("p1")
        feed.close()
        assert await batches.get() is None
        await asyncio.sleep(0.1)
        assert batches.empty()

    watched(story)
