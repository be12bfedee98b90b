"""One set of handler processes per test module: a test writes its handlers into a repository they already serve."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from runtime_core.hosts.supervisor import HandlerHosts
from tests.unit.hosts.driver import Outcome, RunDriver, entry, write_tools

T = TypeVar("T")


class Bench:
    """A repository, its handler processes, and a loop in a thread they live on."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repo"
        self.cache = folder / "cache"
        self.repo = write_tools(self.root, {"ok.ts": "export default async () => 'ok'"})
        write_tools(self.root, {"ok.py": "async def handler(params, ctx): return 'ok'"})
        self.hosts = HandlerHosts(self.cache)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._count = 0

    def wait(self, work: Coroutine[Any, Any, T], timeout_s: float = 50) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def write(self, language: str, source: str) -> str:
        """A handler of its own; returns its entry."""
        self._count += 1
        name = f"tool_{self._count}.{language}"
        write_tools(self.root, {name: source})
        return entry(name)

    def driver(self, language: str, source: str, params: Any = None, **options: Any) -> RunDriver:
        return RunDriver(self.hosts, self.repo, self.write(language, source), params, **options)

    def inline(self, language: str, source: str, params: Any = None, **options: Any) -> Outcome:
        return self.wait(self.driver(language, source, params, durable=False, **options).leg())

    def is_alive(self, language: str) -> bool:
        """The process still serves, without having been replaced."""
        driver = RunDriver(self.hosts, self.repo, entry(f"ok.{language}"), durable=False)
        return self.wait(driver.leg()).result == "ok"

    def close(self) -> None:
        self.wait(self.hosts.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    bench = Bench(tmp_path_factory.mktemp("hosts"))
    yield bench
    bench.close()


@pytest.fixture(params=["ts", "py"])
def language(request: pytest.FixtureRequest) -> str:
    return request.param


def same(ts: str, py: str) -> dict[str, str]:
    """One handler in both languages."""
    return {"ts": ts, "py": py}
