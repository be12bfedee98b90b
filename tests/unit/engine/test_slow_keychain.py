"""A keychain that answers slowly, or not at all, holds up nobody but who needs what it keeps."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from runtime_core.connections.client import Connections
from runtime_core.runtime import Runtime
from runtime_core.wire.json import dumps
from tests.support.web import Says, Seen, web_server
from tests.unit.engine.workshop import Repo, bench, play

SERVER = Path(__file__).parents[2] / "fixtures" / "mcp" / "bare.py"
DOCUMENT = {"openapi": "3.0.3", "paths": {"/things": {"get": {"operationId": "listThings"}}}}
TOOLS = ("api__listThings", "desk__ping", "web_search", "request", "plain", "api__discover")
CALLS: tuple[tuple[str, Any], ...] = (
    ("api__listThings", {}),
    ("api__discover", {"query": "things"}),
    ("desk__ping", {"n": 1}),
    ("web_search", {"query": "q"}),
    ("request", {"connection": "api", "endpoint": "/things"}),
    ("plain", {}),
)


class Aside:
    """Secrets that must not be asked for on a loop, which would stand still meanwhile."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.asked = set[str]()

    def get(self, name: str) -> str | None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self.asked.add(name)
            return self.values.get(name)
        raise AssertionError(f"{name} is looked up on the loop")


def _answer(seen: Seen) -> Says:
    if seen.path.startswith("/spec"):
        return Says(DOCUMENT)
    if "generateContent" in seen.path:
        return Says({"candidates": [{"content": {"parts": [{"text": "found"}]}, "finishReason": "STOP"}]})
    return Says({"path": seen.path})


BODIES = {
    "ts": f"const out = []; for (const [name, given] of {json.dumps(CALLS)}) "
    "out.push(await ctx.callTool(name, given)); return out;",
    "py": f"return [await ctx.call_tool(name, given) for name, given in {CALLS!r}]",
}


@pytest.mark.parametrize("language", ["ts", "py"])
def test_nothing_is_looked_up_on_the_loop(tmp_path: Path, language: str) -> None:
    with web_server(_answer) as web:
        secrets = Aside(SPEC=f"{web.url}/spec", TOKEN="t0ken-1", DESK="d3sk-1", GOOGLE="g00gle-1", PLAIN="pl4in-1")
        provider = {"provider": "google", "apiKey": "env:GOOGLE", "baseUrl": web.url}
        server = {"transport": "stdio", "command": sys.executable, "args": [str(SERVER)], "env": {"DESK": "env:DESK"}}
        repo = Repo(tmp_path / "repo", webTools=provider, mcp={"servers": {"desk": server}})
        auth = {"type": "bearer", "token": "env:TOKEN"}
        spec = {"baseUrl": web.url, "auth": auth, "openapi": {"source": "env:SPEC"}}
        repo.file("connections/api/spec.json", spec)
        repo.tool("plain", py="return ctx.env('PLAIN')[:4]", env=["PLAIN"])
        body: Any = {language: BODIES[language]}
        repo.durable("all", tools=TOOLS, **body)

        async def story() -> Any:
            runtime = Runtime(tmp_path / "data", secrets=secrets)
            await runtime.open()
            try:
                await runtime.trust(repo.root, who="ann")
                return await runtime.run_tool(repo.root, "all", dumps({}), who="ann")
            finally:
                await runtime.close()

        reply = play(story())
    assert reply["outcome"]["kind"] == "complete", reply
    assert reply["result"][0] == {"path": "/things"}
    assert reply["result"][-1] == "pl4i"
    assert secrets.asked == {"SPEC", "TOKEN", "DESK", "GOOGLE", "PLAIN"}


class Locked:
    """Answers when it is unlocked, except at the first look."""

    def __init__(self) -> None:
        self.unlocked = threading.Event()
        self.is_first = True

    def get(self, name: str) -> str | None:
        if self.is_first:
            self.is_first = False
            return None
        self.unlocked.wait(30)
        return "sk-77"


def test_a_repository_is_there_while_a_locked_keychain_is_waited_for(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    spec = {"baseUrl": "https://crm.example", "auth": {"type": "bearer", "token": "env:SET_LATER_ON"}}
    repo.file("connections/crm/spec.json", spec)
    for path in (repo.root / "amodal.json", repo.root / "connections" / "crm" / "spec.json"):
        os.utime(path, (1, 1))  # long ago, so that what was read is taken for what is there
    secrets = Locked()

    async def story() -> None:
        runtime = Runtime(tmp_path / "data", secrets=secrets)
        await runtime.open()
        try:
            first = await runtime.add_repository(repo.root)
            assert first.connections["crm"].unavailable is not None
            assert await runtime.add_repository(repo.root) is first
            secrets.unlocked.set()
            while (await runtime.add_repository(repo.root)).connections["crm"].unavailable is not None:
                pass  # it waits a moment itself
        finally:
            secrets.unlocked.set()
            await runtime.close()

    play(story())


def test_a_run_on_stored_code_takes_a_connection_into_use_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = Repo(tmp_path / "repo")
    spec = {"baseUrl": "https://crm.example", "auth": {"type": "bearer", "token": "env:SET_LATER_ON"}}
    repo.file("connections/crm/spec.json", spec)
    repo.durable("nothing", py="return 1")
    monkeypatch.delenv("SET_LATER_ON", raising=False)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            await desk.run("nothing")
            [bundle] = desk.runtime.bundles
            shelf = desk.runtime._engine.shelf
            stored = await shelf.stored(repo.root, bundle.revision)
            assert stored.connections["crm"].unavailable is not None
            assert await shelf.stored(repo.root, bundle.revision) is stored
            monkeypatch.setenv("SET_LATER_ON", "sk-77")
            assert (await shelf.stored(repo.root, bundle.revision)).connections["crm"].unavailable is None

    play(story())


def test_a_part_that_cannot_be_closed_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(_: Connections) -> None:
        raise OSError("no such file")

    monkeypatch.setattr(Connections, "close", fails)

    async def story() -> None:
        for _ in range(2):
            runtime = Runtime(tmp_path / "data", execute=True)
            await runtime.open()
            await runtime.close()

    play(story())
