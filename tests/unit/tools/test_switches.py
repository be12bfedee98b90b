"""Tools that an operator has switched off: no model is offered them, and no call of them is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime_core.journal.sqlite import SqliteJournal
from tests.unit.engine.workshop import Repo, bench, play

PARCELS = {"name": "parcels", "entity": {"name": "Parcel", "key": "{id}", "schema": {"id": {"type": "string"}}}}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.file("amodal/stores/parcels.json", PARCELS)
    repo.file("knowledge/rules.md", "# Rules\n")
    return repo


async def _switch(data: Path, repo: Repo, tool: str, *, is_on: bool) -> None:
    """As another process on the data folder does."""
    journal = await SqliteJournal.open(data / "runtime.db")
    await journal.switch(str(repo.root), tool, "ann", is_on=is_on)
    await journal.close()


def test_a_call_of_a_handler_fails_as_long_as_the_tool_is_off(tmp_path: Path, repo: Repo) -> None:
    names = ("load_knowledge", "store__parcels__set", "store__parcels__query")
    repo.durable(
        "ask",
        tools=names,
        ts="""
        const said = [];
        for (const [name, params] of [
          ['load_knowledge', {name: 'rules'}],
          ['store__parcels__set', {key: '1', value: {id: '1'}}],
          ['store__parcels__query', {}],
        ]) {
          try { await ctx.callTool(name, params); said.push('ok'); }
          catch (error) { said.push(`${error.code}: ${error.message}`); }
        }
        return said;
        """,
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as it:
            assert (await it.run("ask"))["result"] == ["ok", "ok", "ok"]
            for name in names[:2]:
                await _switch(tmp_path / "data", repo, name, is_on=False)
            said = (await it.run("ask"))["result"]
            assert said[2] == "ok"
            for name, text in zip(names, said[:2], strict=False):
                assert text.startswith(f'execution-failed: Tool "{name}" is switched off by an operator')
                assert f"--enable {name}" in text
            for name in names[:2]:
                await _switch(tmp_path / "data", repo, name, is_on=True)
            assert (await it.run("ask"))["result"] == ["ok", "ok", "ok"]

    play(story())


def test_a_model_cannot_call_it(tmp_path: Path, repo: Repo) -> None:
    repo.agent("clerk", tools=["load_knowledge", "present"])
    repo.tool("send", ts="return await ctx.callSubagent('clerk', 'look');", agents=("clerk",))
    call = {"name": "load_knowledge", "args": {"name": "rules"}}
    model = repo.script(
        {"agent": "clerk", "match": "look", "tool_calls": [call], "repeat": True},
        {"agent": "clerk", "text": "{{last_tool_result}}", "repeat": True},
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data", model=model) as it:
            assert "# Rules" in (await it.run("send"))["result"]
            await _switch(tmp_path / "data", repo, "load_knowledge", is_on=False)
            assert "load_knowledge" in (await it.run("send"))["result"]
            assert "# Rules" not in (await it.run("send"))["result"]

    play(story())
