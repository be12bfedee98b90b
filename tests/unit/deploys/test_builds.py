"""Builds of a runtime: here and on the platform, kept with their logs, and what they say of waiting runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime_core.connections.secrets import EnvironmentSecrets
from runtime_core.deploys.builds import Order
from runtime_core.deploys.following import Pace
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.runtime import Runtime
from runtime_core.wire.builds import Build, Changes, Line
from runtime_core.wire.codes import RuntimeFault
from tests.support.platform import KEY, Answer, Cuts, PlatformServer, Streams, platform_server
from tests.support.web import Says, Seen
from tests.unit.engine.workshop import Bench, Repo, bench, play

PACE = Pace(first_s=0.01, longest_s=0.02, quiet_s=5, retries=2, settled_looks=2)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", ts="return await ctx.requestInput({question: 'Go on?', inputType: 'text'});")
    repo.tool("weigh", py="return {'kg': 1}")
    repo.agent("clerk")
    return repo


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[PlatformServer]:
    with platform_server() as server:
        monkeypatch.setenv("AMODAL_API_BASE", f"{server.url}/api/")
        monkeypatch.setenv("AMODAL_API_KEY", KEY)
        monkeypatch.delenv("AMODAL_AGENT_ID", raising=False)
        monkeypatch.setattr("runtime_core.deploys.platform.Pace", lambda: PACE)
        yield server


GUARD = """
def create_hook(config):
    return Guard()


class Guard:
    def run(self, point, payload, ctx):
        return {"action": "allow"}
"""
COUNT = """
async def handle(ctx):
    return {}


base = {"name": "count", "description": "Count.", "parametersJsonSchema": {"type": "object"}}
tool = {"id": "count", "exposure": {"kind": "open"}, "base": base, "handle": handle}
"""


async def reloaded(it: Bench, told: list[Line | Build] | None = None) -> Build:
    return await it.runtime.builds.reload(it.repo.root, who="ann", tell=(told if told is not None else []).append)


def said(build: Build, stage: str) -> list[str]:
    return [line.text for line in build.log if line.stage == stage]


def test_hooks_and_tools_in_code_are_told_beside_the_handlers(repo: Repo, tmp_path: Path) -> None:
    repo.file("hooks/guard/hook.json", {"points": ["preToolUse"]})
    repo.file("hooks/guard/hook.py", GUARD)
    repo.file(
        "amodal/tools/count/tool.py",
        COUNT,
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as it:
            done = await reloaded(it)
            told = said(done, "handlers")
            assert "amodal/tools/count/tool.py: loads" in told
            assert told[-1] == "3 handlers load, 1 hook loads", told

    play(story())


def test_a_reload_loads_everything_and_keeps_its_log(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with bench(repo, tmp_path / "data") as it:
            told: list[Line | Build] = []
            done = await reloaded(it, told)
            assert done.state == "succeeded"
            assert "bench 1.0.0: 2 tools, 1 agent" in said(done, "load")
            assert said(done, "handlers")[-1] == "2 handlers load"
            assert said(done, "runs") == ["No waiting run is touched."]
            begun, *lines = told
            assert isinstance(begun, Build)
            assert (begun.id, begun.state) == (done.id, "running")
            assert tuple(lines) == done.log
            assert await it.runtime.builds.build(done.id) == done
            assert [one.id for one in await it.runtime.builds.of(str(repo.root))] == [done.id]
            assert await it.runtime.builds.of("/elsewhere") == []

    play(story())


def test_a_reload_says_what_changed_and_which_waiting_runs_it_touches(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with bench(repo, tmp_path / "data") as it:
            first = await reloaded(it)
            kept, broken = [(await it.run("ask"))["sessionId"] for _ in range(2)]
            await it.runtime.cancel(broken, who="ann")
            repo.tool("weigh", py="return {'kg': 2}")
            repo.tool("book", ts="return 1;")
            second = await reloaded(it)
            assert second.changes == Changes(added=("book",), changed=("weigh",))
            assert (second.previous, second.revision != first.revision) == (first.revision, True)
            assert [(run.run_id, run.verdict) for run in second.touched] == [(kept, "ok")]
            repo.durable("ask", ts="await ctx.now(); return await ctx.requestInput('Other?');")
            repo.agent("clerk", maxToolCalls=3)
            third = await reloaded(it)
            assert third.changes == Changes(changed=("ask",), agents_changed=("clerk",))
            assert [(run.run_id, run.verdict) for run in third.touched] == [(kept, "diverged")]
            assert any("would diverge" in text for text in said(third, "runs"))
            assert third.state == "succeeded"
            fourth = await reloaded(it)
            assert said(fourth, "changes") == ["Nothing has changed."]

    play(story())


def test_a_reload_fails_with_all_causes(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with bench(repo, tmp_path / "data") as it:
            first = await reloaded(it)
            repo.tool("weigh", py="return (")
            repo.file("amodal/tools/bad/tool.json", {"description": "x"})
            repo.file("amodal/tools/bad/handler.ts", "import x from 'left-pad-nowhere';\nexport default () => x;\n")
            failed = await reloaded(it)
            assert failed.state == "failed"
            kinds = {(one.kind, one.file) for one in failed.failures}
            assert kinds == {
                ("python", "amodal/tools/weigh/handler.py"),
                ("dependency", "amodal/tools/bad/handler.ts"),
            }
            assert said(failed, "done")[0].startswith("Build failed: 2 errors")
            repo.file("amodal.json", "{")
            worse = await reloaded(it)
            assert [one.kind for one in worse.failures] == ["manifest"]
            assert [one.state for one in await it.runtime.builds.of(None)] == ["failed", "failed", "succeeded"]
            assert first.state == "succeeded"

    play(story())


def test_a_reload_that_is_broken_off_is_not_left_running(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with bench(repo, tmp_path / "data") as it:
            begun = asyncio.Event()
            work = asyncio.create_task(
                it.runtime.builds.reload(repo.root, who="ann", tell=lambda told: begun.set())
            )  # fmt: skip
            await begun.wait()
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            assert [one.state for one in await it.runtime.builds.of(None)] == ["cancelled"]

    play(story())


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncGenerator[Runtime]:
    runtime = Runtime(tmp_path / "data", execute=False, secrets=EnvironmentSecrets())
    await runtime.open()
    try:
        yield runtime
    finally:
        await runtime.close()


def deployed(tmp_path: Path, order: Order, *, follow: bool = True) -> tuple[Build, list[Line | Build]]:
    async def story() -> tuple[Build, list[Line | Build]]:
        told: list[Line | Build] = []
        async with opened(tmp_path) as runtime:
            build = await runtime.builds.deploy(order, who="ann", tell=told.append, follow=follow)
            assert await runtime.builds.build(build.id) == build
            return build, told

    return play(story())


ORDER = Order(agent="agent_1")


def test_a_deploy_is_followed_and_kept(platform: PlatformServer, tmp_path: Path) -> None:
    platform.coming = ["cloning", f"using {KEY}", "done"]
    build, told = deployed(tmp_path, ORDER)
    assert (build.state, build.remote, build.branch, build.environment) == ("succeeded", "bld_7", "main", "production")
    assert [line.text for line in build.log] == ["cloning", "using ***", "done"]
    assert [one for one in told if isinstance(one, Line)] == list(build.log)
    assert build.ended_at is not None


def test_a_failed_deploy_says_why(platform: PlatformServer, tmp_path: Path) -> None:
    platform.ends = "failed"
    platform.coming = ["tsc", "amodal/tools/a/handler.ts(3,1): error TS1005: ';' expected."]
    build, _ = deployed(tmp_path, ORDER)
    assert build.state == "failed"
    assert [(one.kind, one.file, one.line) for one in build.failures] == [
        ("typescript", "amodal/tools/a/handler.ts", 3)
    ]
    assert [line.level for line in build.log] == ["info", "error"]


def test_a_deploy_that_names_no_build_cannot_be_followed(platform: PlatformServer, tmp_path: Path) -> None:
    platform.deployed = {"ok": True}
    build, _ = deployed(tmp_path, ORDER)
    assert build.state == "unknown"
    assert "named no build" in build.log[0].text


def test_a_deploy_needs_an_agent(platform: PlatformServer, tmp_path: Path) -> None:
    with pytest.raises(RuntimeFault, match="AMODAL_AGENT_ID"):
        deployed(tmp_path, Order())
    assert platform.seen == []


def test_the_next_deploy_of_a_repository_goes_where_the_last_one_went(platform: PlatformServer, tmp_path: Path) -> None:
    deployed(tmp_path, Order("/repo", "agent_9", "next", "staging"))

    async def story() -> tuple[Order, Order]:
        async with opened(tmp_path) as runtime:
            return await runtime.builds.target(Order("/repo")), await runtime.builds.target(Order("/other"))

    assert play(story()) == (
        Order("/repo", "agent_9", "next", "staging"),
        Order("/other", "", "main", "production"),
    )


def test_a_build_that_is_not_followed_can_be_followed_later(platform: PlatformServer, tmp_path: Path) -> None:
    build, _ = deployed(tmp_path, ORDER, follow=False)
    assert (build.state, build.log) == ("running", ())
    platform.log = ["cloning", "done"]

    async def story(name: str) -> Build:
        async with opened(tmp_path) as runtime:
            return await runtime.builds.follow(name, who="ann", tell=[].append)

    for name in ("bld_7", build.id):
        found = play(story(name))
        assert (found.id, found.state, len(found.log)) == (build.id, "succeeded", 2)

    async def count() -> int:
        async with opened(tmp_path) as runtime:
            return len(await runtime.builds.of(None))

    assert play(count()) == 1


def test_whoever_stops_following_loses_nothing(platform: PlatformServer, tmp_path: Path) -> None:
    platform.coming = [f"line {number}" for number in range(1000)]

    async def story() -> Build:
        async with opened(tmp_path) as runtime:
            heard = asyncio.Event()

            def tell(told: Line | Build) -> None:
                if isinstance(told, Line):
                    heard.set()

            work = asyncio.create_task(runtime.builds.deploy(ORDER, who="ann", tell=tell))
            await heard.wait()
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            return (await runtime.builds.of(None))[0]

    found = play(story())
    assert found.state == "running"
    assert play(kept_log(tmp_path, found.id))[0] == "line 0"


async def kept_log(tmp_path: Path, build_id: str) -> list[str]:
    async with opened(tmp_path) as runtime:
        return [line.text for line in (await runtime.builds.build(build_id)).log]


def test_trouble_on_the_way_keeps_what_came(platform: PlatformServer, tmp_path: Path) -> None:
    platform.queued += [
        Says({"buildId": "bld_7"}, 202),
        Streams(["one\n", "two\n"], "text/plain"),
        Says({}, 403),
    ]
    with pytest.raises(RuntimeFault) as caught:
        deployed(tmp_path, ORDER)
    assert caught.value.code == "platform_forbidden"

    async def story() -> Build:
        async with opened(tmp_path) as runtime:
            return await runtime.builds.build("bld_7")

    found = play(story())
    assert (found.state, [line.text for line in found.log]) == ("running", ["one", "two"])


async def followed(tmp_path: Path, *, follow: bool = True) -> Build:
    async with opened(tmp_path) as runtime:
        return await runtime.builds.follow("bld_7", who="ann", tell=[].append, follow=follow)


def kept(tmp_path: Path) -> Build:
    async def story() -> Build:
        async with opened(tmp_path) as runtime:
            return (await runtime.builds.of(None))[0]

    return play(story())


def test_an_ended_build_stays_as_it_is_when_following_it_again_breaks_off(
    platform: PlatformServer, tmp_path: Path
) -> None:
    platform.ends, platform.log = "failed", ["one", "error TS2322: no", "three"]
    ended, _ = deployed(tmp_path, ORDER)
    assert (ended.state, len(ended.failures)) == ("failed", 1)
    platform.queued += [Cuts("one\n")] * 20
    with pytest.raises(RuntimeFault):
        play(followed(tmp_path))
    assert kept(tmp_path) == ended


@pytest.mark.parametrize("told", [{"logs": ["one"]}, {"logs": [], "status": "building"}])
def test_an_ended_build_is_not_replaced_by_less(platform: PlatformServer, tmp_path: Path, told: dict[str, Any]) -> None:
    platform.log = ["one", "two"]
    ended, _ = deployed(tmp_path, ORDER)
    platform.queued.append(Says(told))
    assert play(followed(tmp_path, follow=False)) == ended == kept(tmp_path)


def test_what_is_known_of_a_running_build_becomes_more_and_not_less(platform: PlatformServer, tmp_path: Path) -> None:
    deployed(tmp_path, ORDER, follow=False)
    for answer, lines in (("one\ntwo\n", 2), ("one\n", 2), ("one\ntwo\nthree\n", 3)):
        platform.queued += [Cuts(answer)] * 20
        with pytest.raises(RuntimeFault):
            play(followed(tmp_path, follow=False))
        platform.queued.clear()
        assert (kept(tmp_path).state, len(kept(tmp_path).log)) == ("running", lines)


@pytest.mark.parametrize("answer", [Cuts("{", "application/json"), Says({}, 504)])
def test_an_order_that_may_have_been_carried_out_is_kept_as_unknown(
    platform: PlatformServer, tmp_path: Path, answer: Cuts | Says
) -> None:
    platform.queued.append(answer)
    with pytest.raises(RuntimeFault, match="Nobody knows whether it was done"):
        deployed(tmp_path, ORDER)
    assert kept(tmp_path).state == "unknown"
    assert kept(tmp_path).ended_at is not None


def test_an_order_that_was_refused_is_no_build(platform: PlatformServer, tmp_path: Path) -> None:
    platform.queued.append(Says({"error": "Nobody knows this branch"}, 400))
    with pytest.raises(RuntimeFault, match="Nobody knows this branch"):
        deployed(tmp_path, ORDER)

    async def story() -> int:
        async with opened(tmp_path) as runtime:
            return len(await runtime.builds.of(None))

    assert play(story()) == 0


def test_an_order_that_nobody_waited_for_is_kept_as_unknown(
    platform: PlatformServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on = threading.Event(), threading.Event()
    answer = platform.answer

    def late(seen: Seen) -> Answer:
        asked.set()
        go_on.wait(30)
        return answer(seen)

    monkeypatch.setattr(platform, "answer", late)

    async def story() -> None:
        async with opened(tmp_path) as runtime:
            work = asyncio.create_task(runtime.builds.deploy(ORDER, who="ann", tell=[].append))
            await asyncio.to_thread(asked.wait, 30)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work

    try:
        play(story())
    finally:
        go_on.set()
    found = kept(tmp_path)
    assert (found.state, found.agent, found.branch) == ("unknown", "agent_1", "main")
    assert "nobody knows whether it began this build" in found.log[0].text


def test_large_logs_are_kept(tmp_path: Path) -> None:
    log = tuple(Line(f"line {number} " + "x" * 100, "error", "stage", 1.5) for number in range(2000))
    usual = Build("build_1", "/repo", "platform", "failed", 1.0, remote="bld_1", log=log)

    async def story() -> Any:
        journal = await SqliteJournal.open(tmp_path / "runtime.db")
        await journal.save_build(usual)
        await journal.save_build(replace(usual, state="running"))
        await journal.save_build(usual)
        found = await journal.build("bld_1")
        await journal.close()
        return found

    assert play(story()) == usual


def test_a_local_build_whose_process_died_does_not_run_for_ever(tmp_path: Path) -> None:
    async def story() -> Any:
        async with opened(tmp_path) as runtime:
            journal = await SqliteJournal.open(tmp_path / "data" / "runtime.db")
            await journal.save_build(Build("build_1", "/repo", "local", "running", 1.0))
            await journal.close()
            return (await runtime.builds.build("build_1")).state

    assert play(story()) == "unknown"
