"""Runs whose handlers import packages: installed once a person trusts the code, and until then nothing is lost."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime_core.wire.codes import RuntimeFault
from tests.support.registries import Registry, registry
from tests.unit.engine.workshop import Bench, Repo, bench, play


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Registry]:
    for name in [name for name in os.environ if name.upper().startswith("NPM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with registry() as shop:
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", shop.url)
        yield shop


def asking(repo: Repo, name: str) -> None:
    repo.file(f"amodal/tools/{name}/package.json", {"dependencies": {"words": "1.0.0"}})


def publish(shop: Registry) -> None:
    shop.npm("words", "1.0.0", {"index.js": "export const word = 'hello';"}, type="module")


async def trust(desk: Bench) -> None:
    assert not await desk.runtime.trusted(desk.repo.root)
    needed = await desk.runtime.trust(desk.repo.root, who="ann")
    assert any("package.json" in one for one in needed)
    assert await desk.runtime.trusted(desk.repo.root)


def test_a_tool_that_is_not_durable_fails_with_the_reason(tmp_path: Path, shop: Registry) -> None:
    repo = Repo(tmp_path / "repo")
    repo.tool("say", ts="return (await import('words')).word")
    asking(repo, "say")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            untrusted = await desk.run("say")
            assert untrusted["outcome"]["code"] == "untrusted"
            await trust(desk)
            missing = await desk.run("say")
            assert missing["outcome"]["code"] == "dependencies-unavailable"
            assert "words" in missing["outcome"]["reason"]
            publish(shop)
            assert (await desk.run("say"))["result"] == "hello"

    play(story())


def test_a_durable_run_waits_for_its_packages(tmp_path: Path, shop: Registry) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", ts="await ctx.requestInput({question: 'Well?'});\nreturn (await import('words')).word")
    asking(repo, "ask")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            stuck = await desk.run("ask")
            assert stuck["outcome"]["kind"] == "needs-attention"
            assert "nobody has trusted" in json.dumps(stuck)
            await trust(desk)
            publish(shop)
            run_id = stuck["session_id"]
            asked = await desk.answer(run_id, "run-again")
            assert asked["outcome"]["kind"] == "awaiting-input"
            done = await desk.answer(run_id, "fine")
            assert done["result"] == "hello"

    play(story())


@pytest.mark.parametrize("language", ["ts", "py"])
def test_a_definition_in_code_is_read_once_its_packages_may_be_installed(
    tmp_path: Path, shop: Registry, language: str
) -> None:
    publish(shop)
    repo = Repo(tmp_path / "repo")
    repo.file(
        "amodal/tools/say/tool.ts",
        "import { word } from 'words';\n"
        "export default { id: 'say', exposure: { kind: 'open' }, base: { name: 'say', description: word,"
        " parametersJsonSchema: { type: 'object' } }, handle: async () => word };",
    )
    asking(repo, "say")
    call = {
        "ts": "try { return await ctx.callTool('say', {}) } catch (e) { return { code: e.code, cause: e.cause.code } }",
        "py": "try: return await ctx.call_tool('say', {})\n"
        "except Exception as e: return {'code': e.code, 'cause': e.cause['code']}",
    }
    repo.tool("caller", **{language: call[language]}, tools=("say",))  # pyright: ignore[reportArgumentType]

    async def story() -> dict[str, Any]:
        async with bench(repo, tmp_path / "data") as desk:
            with pytest.raises(RuntimeFault, match="--trust") as refused:
                await desk.run("say")
            assert refused.value.code == "untrusted"
            called = await desk.run("caller")
            assert called["result"] == {"code": "execution-failed", "cause": "untrusted"}
            bundle = await desk.runtime.add_repository(repo.root)
            assert any("--trust" in problem.message for problem in bundle.problems)
            await trust(desk)
            return await desk.run("say")

    assert play(story())["result"] == "hello"


def test_a_replay_finds_the_packages_too(tmp_path: Path, shop: Registry) -> None:
    publish(shop)
    repo = Repo(tmp_path / "repo")
    repo.durable(
        "ask",
        ts="const { word } = await import('words');\n"
        "const said = await ctx.requestInput({question: word});\nreturn word + said.value",
    )
    asking(repo, "ask")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            await trust(desk)
            run = await desk.run("ask")
            verdicts = [verdict async for verdict in desk.runtime.replay_check(repo.root)]
            assert [verdict.kind for verdict in verdicts] == ["ok"]
            assert (await desk.answer(run["session_id"], "!"))["result"] == "hello!"

    play(story())


def test_installing_does_not_count_as_the_time_of_the_tool(tmp_path: Path, shop: Registry) -> None:
    publish(shop)
    repo = Repo(tmp_path / "repo")
    repo.tool("say", ts="return (await import('words')).word", timeout=200)
    asking(repo, "say")
    shop.wait = lambda _: time.sleep(0.3)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            await trust(desk)
            assert (await desk.run("say"))["result"] == "hello"

    play(story())
