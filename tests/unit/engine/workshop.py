"""Agent repositories written by tests, and runtimes on them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from runtime_core.journal.base import Answer
from runtime_core.runtime import Change, Runtime
from runtime_core.wire.json import dumps
from runtime_core.wire.settings import Settings

T = TypeVar("T")


def play(story: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(45):
            return await story

    return asyncio.run(bounded())


class Repo:
    """An agent repository in a folder."""

    def __init__(self, root: Path, **manifest: Any) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self._write("amodal.json", {"name": "bench", "version": "1.0.0", **manifest})

    @classmethod
    def at(cls, root: Path) -> Repo:
        """One that is there already; nothing is written."""
        repo = cls.__new__(cls)
        repo.root = root
        return repo

    def tool(
        self,
        name: str,
        *,
        ts: str | None = None,
        py: str | None = None,
        tools: tuple[str, ...] = (),
        agents: tuple[str, ...] = (),
        **settings: Any,
    ) -> None:
        """``ts`` and ``py`` are the body of the handler."""
        folder = f"amodal/tools/{name}"
        if tools or agents:
            settings["uses"] = {"tools": list(tools), "subagents": list(agents)}
        self._write(f"{folder}/tool.json", {"description": f"The tool {name}.", **settings})
        if ts is not None:
            self._write(f"{folder}/handler.ts", f"export default async function (params, ctx) {{\n{ts}\n}}\n")
        if py is not None:
            body = "\n".join(f"    {line}" for line in py.strip("\n").splitlines())
            self._write(f"{folder}/handler.py", f"async def handler(params, ctx):\n{body}\n")

    def durable(self, name: str, **settings: Any) -> None:
        self.tool(name, execution="durable", triggers=[{"kind": "invoke"}], **settings)

    def agent(self, name: str, **settings: Any) -> None:
        self._write(f"agents/{name}/AGENT.md", f"You are {name}.\n")
        self._write(f"agents/{name}/agent.json", {"tools": [], **settings})

    def file(self, name: str, content: Any) -> None:
        self._write(name, content)

    def script(self, *replies: dict[str, Any], **more: Any) -> str:
        """A model file in the repository; returns what ``--model`` takes."""
        self._write("script.json", {"replies": list(replies), **more})
        return f"scripted:{self.root / 'script.json'}"

    def _write(self, name: str, content: Any) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))


class Bench:
    """A runtime on a data folder and one repository, with the changes it told."""

    def __init__(self, runtime: Runtime, repo: Repo) -> None:
        self.runtime = runtime
        self.repo = repo
        self.changes: list[Change] = []
        self._told = asyncio.Event()
        runtime.subscribe(self._on_change, who="ann")

    def _on_change(self, change: Change) -> None:
        self.changes.append(change)
        self._told.set()

    async def until(self, kind: str, **wire: Any) -> Change:
        """The first change of this kind, past or to come, whose wire holds these values."""
        async with asyncio.timeout(15):
            while True:
                for change in self.changes:
                    if change.kind == kind and wire.items() <= change.wire.items():
                        return change
                self._told.clear()
                await self._told.wait()

    async def run(self, tool: str, params: Any = None, **more: Any) -> dict[str, Any]:
        more.setdefault("who", "ann")
        return await self.runtime.run_tool(self.repo.root, tool, dumps({} if params is None else params), **more)

    async def answer(self, run_id: str, value: Any, **more: Any) -> dict[str, Any]:
        more.setdefault("who", "ann")
        return await self.runtime.answer(Answer(run_id, dumps(value), **more))

    async def detail(self, run_id: str) -> dict[str, Any]:
        return await self.runtime.run(run_id, who="ann")

    async def spans(self, run_id: str) -> dict[str, dict[str, Any]]:
        return {span["id"]: span for span in (await self.detail(run_id))["spans"]}


@asynccontextmanager
async def bench(
    repo: Repo,
    data: Path,
    *,
    execute: bool | None = None,
    model: str | None = None,
    settings: Settings | None = None,
) -> AsyncGenerator[Bench]:
    runtime = Runtime(data, execute=execute, model=model, settings=settings)
    await runtime.open()
    try:
        yield Bench(runtime, repo)
    finally:
        await runtime.close()
