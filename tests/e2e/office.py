"""A runtime on a loop of its own, which all tests of a module share: each starts its own runs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from runtime_core.runtime import Runtime
from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import Bench, Repo

T = TypeVar("T")


class Office:
    """``bench`` belongs to the loop: its coroutines are handed to `wait`."""

    def __init__(self, repo: Repo, data: Path, model: str | None = None) -> None:
        self.repo = repo
        self.data = data
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.runtime = Runtime(data, execute=True, model=model)
        self.wait(self.runtime.open())
        self.bench = self.wait(self._bench())

    async def _bench(self) -> Bench:
        return Bench(self.runtime, self.repo)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def run(self, tool: str, params: Any = None, **more: Any) -> dict[str, Any]:
        return self.wait(self.bench.run(tool, params, **more))

    def begin(self, tool: str, params: Any = None, **more: Any) -> Future[dict[str, Any]]:
        """Start a tool without waiting for its end."""
        return asyncio.run_coroutine_threadsafe(self.bench.run(tool, params, **more), self._loop)

    def pending(self) -> dict[str, Any]:
        """The one question that waits, once there is one."""
        end = time.monotonic() + 15
        while not (found := self.wait(self.runtime.pending(who="ann"))["approvals"]):
            assert time.monotonic() < end, "nothing was asked"
            self.wait(asyncio.sleep(0.01))
        (pause,) = found
        return pause

    def parked(self, tool: str, params: Any = None, **more: Any) -> str:
        """The session of a new run that waits for an answer."""
        reply = self.run(tool, params, **more)
        assert reply["outcome"]["kind"] == "awaiting-input", reply
        return reply["sessionId"]

    def answer(self, run_id: str, value: Any, **more: Any) -> dict[str, Any]:
        return self.wait(self.bench.answer(run_id, value, **more))

    def refused(self, run_id: str, value: Any, **more: Any) -> RuntimeFault:
        with pytest.raises(RuntimeFault) as caught:
            self.answer(run_id, value, **more)
        return caught.value

    def detail(self, run_id: str) -> dict[str, Any]:
        return self.wait(self.bench.detail(run_id))

    def status(self, run_id: str) -> str:
        return self.detail(run_id)["run"]["status"]

    def made(self, run_id: str, tool: str) -> int:
        """How many calls of a tool are in the tree of a run."""
        return sum(span["name"] == tool for span in self.detail(run_id)["spans"] if span["kind"] == "tool")

    def close(self) -> None:
        self.wait(self.runtime.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def office(repo: Repo, data: Path, *, model: str | None = None) -> Generator[Office]:
    opened = Office(repo, data, model)
    try:
        yield opened
    finally:
        opened.close()
