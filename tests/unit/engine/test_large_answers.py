"""Large answers of other systems are read beside the loop, on which all runs move."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from runtime_core.wire import json as wire
from tests.support.web import Says, Seen, web_server
from tests.unit.engine.workshop import Repo, bench, play

ITEMS = [{"id": number, "ssn": "123-45-6789", "note": "n" * 80} for number in range(10_000)]
LARGE = 500_000
BODIES = {
    "ts": "const all = await ctx.request('crm', '/all'); "
    "try { await ctx.request('crm', '/missing'); } catch (error) { return [all.length, error.status]; }",
    "py": "all = await ctx.request('crm', '/all')\n"
    "try:\n    await ctx.request('crm', '/missing')\nexcept Exception as error:\n    return [len(all), error.status]",
}


def _answer(seen: Seen) -> Says:
    return Says(ITEMS, status=404 if seen.path == "/missing" else 200)


class Watch:
    """Notes how long the texts are that are parsed on a loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.longest = 0
        self._real: Any = wire._DECODER
        monkeypatch.setattr(wire, "_DECODER", self)

    def decode(self, text: str) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._real.decode(text)
        self.longest = max(self.longest, len(text))
        return self._real.decode(text)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)


def _crm(root: Path, url: str) -> Repo:
    repo = Repo(root)
    repo.file("connections/crm/spec.json", {"baseUrl": url, "openapi": {"source": "openapi.json"}})
    document = {"openapi": "3.0.3", "paths": {"/all": {"get": {"operationId": "all"}}}}
    repo.file("connections/crm/openapi.json", document)
    hidden = {"entity": "item", "field": "ssn", "policy": "never_retrieve"}
    repo.file("connections/crm/policy.json", {"fieldRestrictions": [hidden]})
    return repo


@pytest.mark.parametrize("language", ["ts", "py"])
def test_what_handlers_ask_for(tmp_path: Path, language: str, watch: Watch) -> None:
    with web_server(_answer) as web:
        repo = _crm(tmp_path / "repo", web.url)
        body: Any = {language: BODIES[language]}
        repo.tool("ask", **body)

        async def story() -> Any:
            async with bench(repo, tmp_path / "data") as desk:
                return (await desk.run("ask"))["result"]

        assert play(story()) == [len(ITEMS), 404]
    assert watch.longest < LARGE


def test_what_models_ask_for(tmp_path: Path, watch: Watch) -> None:
    calls = [
        *({"name": "request", "args": {"connection": "crm", "endpoint": path}} for path in ("/all", "/missing")),
        {"name": "crm__all", "args": {}},
    ]
    with web_server(_answer) as web:
        repo = _crm(tmp_path / "repo", web.url)
        repo.agent("reader", tools=["request", "crm__all"])
        repo.durable("ask", py="return await ctx.call_subagent('reader', 'Read')", agents=("reader",))
        replies = [{"tool_calls": [call]} for call in calls]
        model = repo.script(*replies, {"text": "{{last_tool_result}}"})

        async def story() -> Any:
            async with bench(repo, tmp_path / "data", model=model) as desk:
                run = await desk.run("ask")
                return run["result"], await desk.spans(run["session_id"])

        said, spans = play(story())
    sizes = [span["output_size"] for span in spans.values() if span["kind"] == "tool" and span["id"]]
    assert all(LARGE < size < len(json.dumps(ITEMS)) for size in sizes), sizes
    assert len(sizes) == len(calls)
    assert "123-45" not in said
    assert watch.longest < LARGE
