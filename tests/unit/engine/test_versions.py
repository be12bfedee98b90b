"""Code that changes while runs wait or go on: which code runs, what is kept, and how a stopped run goes on."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine.shelf import LOOK_S
from runtime_core.repo.bundle import BundleError
from runtime_core.repo.revision import revision_of
from runtime_core.repo.versions import UNUSED_S, Versions
from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import Bench, Repo, bench, play

LANGUAGES = ["typescript", "python"]
HELPER = {
    "typescript": ("amodal/_lib/words.ts", "export const word = '{}';\n"),
    "python": ("amodal/_lib/words.py", "word = '{}'\n"),
}
ASKING = {
    "typescript": """
const first = await ctx.callTool('{first}', {{n: 1}});
const said = (await ctx.requestInput('Where?')).value;
const {{ word }} = await import('../../_lib/words.js');
const facts = JSON.parse(await ctx.fs.readRepoFile('amodal/_lib/facts.json'));
return [first, said, word, facts.fact];
""",
    "python": """
import json
first = await ctx.call_tool('{first}', {{'n': 1}})
said = (await ctx.request_input('Where?'))['value']
from ..._lib.words import word
facts = json.loads(await ctx.fs.read_repo_file('amodal/_lib/facts.json'))
return [first, said, word, facts['fact']]
""",
}


def desk_repo(root: Path, language: str, *, first: str = "alpha", word: str = "old") -> Repo:
    """A tool that calls, asks, and then loads a shared file and reads another one."""
    repo = Repo(root)
    body = ASKING[language].format(first=first)
    repo.durable("ask", tools=("alpha", "beta"), **{"ts" if language == "typescript" else "py": body})
    repo.tool("alpha", ts="return 'alpha';")
    repo.tool("beta", ts="return 'beta';")
    name, content = HELPER[language]
    repo.file(name, content.format(word))
    repo.file("amodal/_lib/facts.json", {"fact": word})
    return repo


async def diverged(desk: Bench, root: Path, language: str) -> str:
    """A run that asked, was answered, and stopped because its code calls another tool first."""
    run_id = (await desk.run("ask"))["sessionId"]
    desk_repo(root, language, first="beta", word="new")
    reply = await desk.answer(run_id, "here")
    assert reply["outcome"]["kind"] == "diverged"
    return run_id


def revisions(detail: dict[str, Any], key: str) -> list[str]:
    return [one["revision"] for one in detail["run"]["revisions"] if one[key]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_stopped_run_ends_on_its_old_code_with_the_answer_it_had(tmp_path: Path, language: str) -> None:
    repo = desk_repo(tmp_path / "repo", language)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = await diverged(desk, repo.root, language)
            detail = await desk.detail(run_id)
            (old,) = revisions(detail, "old")
            assert old in revisions(detail, "stored")
            assert detail["run"]["error"]["recorded_revision"] == old
            done = await desk.runtime.resume(run_id, old, who="ann")
            assert done["result"] == ["alpha", "here", "old", "old"]
            assert (await desk.detail(run_id))["run"]["resume_on"] == old

    play(story())


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_stopped_run_goes_on_when_its_code_was_put_right(tmp_path: Path, language: str) -> None:
    repo = desk_repo(tmp_path / "repo", language)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = await diverged(desk, repo.root, language)
            again = await desk.runtime.resume(run_id, who="ann")
            assert again["outcome"]["kind"] == "diverged"
            desk_repo(repo.root, language, first="alpha", word="newer")
            done = await desk.runtime.resume(run_id, who="ann")
            assert done["result"] == ["alpha", "here", "newer", "newer"]
            assert (await desk.detail(run_id))["run"]["error"] is None

    play(story())


def test_old_code_is_there_after_a_restart_and_when_the_repository_is_gone(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo", "typescript")

    async def ask() -> str:
        async with bench(repo, tmp_path / "data") as desk:
            return (await desk.run("ask"))["sessionId"]

    async def go_on(run_id: str) -> None:
        async with bench(repo, tmp_path / "data") as desk:
            reply = await desk.answer(run_id, "here")
            assert reply["outcome"]["kind"] == "needs-attention"
            (old,) = revisions(await desk.detail(run_id), "old")
            done = await desk.runtime.resume(run_id, old, who="ann")
            assert done["result"] == ["alpha", "here", "old", "old"]
            assert [one["outcome"] for one in (await desk.detail(run_id))["decisions"]] == ["answered", "superseded"]

    run_id = play(ask())
    shutil.move(repo.root, tmp_path / "elsewhere")
    play(go_on(run_id))


def test_a_deleted_tool_goes_on_with_the_old_code(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo", "python")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            shutil.rmtree(repo.root / "amodal/tools/ask")
            assert (await desk.answer(run_id, "here"))["outcome"]["kind"] == "needs-attention"
            (old,) = revisions(await desk.detail(run_id), "old")
            assert (await desk.runtime.resume(run_id, old, who="ann"))["result"][:2] == ["alpha", "here"]

    play(story())


def test_a_question_stays_open_while_its_run_is_stopped_and_is_answered_afterwards(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    both = "return (await Promise.all(['one?', '{}'].map(q => ctx.requestInput(q)))).map(a => a.value);"
    repo.durable("ask", ts=both.format("two?"))

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            waiting = [pause["pause_id"] for pause in (await desk.detail(run_id))["pauses"]]
            repo.durable("ask", ts=both.format("TWO?"))
            reply = await desk.answer(run_id, 1, pause_id=waiting[0])
            assert reply["outcome"]["code"] == "content_changed"
            (listed,) = (await desk.runtime.pending(who="ann"))["approvals"]
            assert (listed["pause_id"], listed["status"], listed["eligible"]) == (waiting[1], "diverged", False)
            repo.durable("ask", ts=both.format("two?"))
            assert (await desk.runtime.resume(run_id, who="ann"))["outcome"]["pause_id"] == waiting[1]
            assert (await desk.answer(run_id, 2, pause_id=waiting[1]))["result"] == [1, 2]

    play(story())


def test_the_chosen_code_counts_for_all_later_legs_and_can_be_unchosen(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    code = "await ctx.callTool('{}', {{}}); for (const q of 'abc') await ctx.requestInput(q); return '{}';"

    def write(tool: str, mark: str) -> None:
        repo.durable("ask", tools=("one", "two"), ts=code.format(tool, mark))
        for name in ("one", "two"):
            repo.tool(name, ts="return 1;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            write("one", "old")
            kept, freed = [(await desk.run("ask"))["sessionId"] for _ in range(2)]
            write("two", "new")
            for run_id in (kept, freed):
                assert (await desk.answer(run_id, 1))["outcome"]["kind"] == "diverged"
                (old,) = revisions(await desk.detail(run_id), "old")
                assert (await desk.runtime.resume(run_id, old, who="ann"))["outcome"]["question"] == "b"
                assert "code_changed" not in (await desk.detail(run_id))["run"]
            await desk.answer(kept, 2)
            assert (await desk.answer(kept, 3))["result"] == "old"
            write("one", "newest")
            shutil.rmtree(tmp_path / "data/versions" / old)
            assert (await desk.answer(freed, 2))["outcome"]["kind"] == "needs-attention"
            assert (await desk.runtime.resume(freed, who="ann"))["outcome"]["question"] == "c"
            assert (await desk.answer(freed, 3))["result"] == "newest"

    play(story())


def test_a_process_that_does_not_execute_resumes_through_the_one_that_does(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo", "typescript")

    async def story() -> None:
        async with (
            bench(repo, tmp_path / "data", execute=True) as desk,
            bench(repo, tmp_path / "data", execute=False) as other,
        ):
            run_id = await diverged(desk, repo.root, "typescript")
            (old,) = revisions(await other.detail(run_id), "old")
            with pytest.raises(RuntimeFault) as missing:
                await other.runtime.resume(run_id, "0" * 64, who="ann")
            assert missing.value.code == "revision_not_stored"
            assert (await other.runtime.resume(run_id, old, who="ann"))["result"] == ["alpha", "here", "old", "old"]

    play(story())


def test_code_that_no_unfinished_run_names_is_removed_some_time_after_its_last_use(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo", "typescript")
    versions = tmp_path / "data/versions"

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            ended = (await desk.run("ask"))["sessionId"]
            await desk.answer(ended, "here")
            (gone,) = versions.iterdir()
            desk_repo(repo.root, "typescript", word="new")
            waits = (await desk.run("ask"))["sessionId"]
            named = (await desk.detail(waits))["run"]["revision"]
        for folder in versions.iterdir():
            os.utime(folder, (0, 0))
        async with bench(repo, tmp_path / "data") as desk:
            await desk.runtime.recover()
            async with asyncio.timeout(15):
                while len([*versions.iterdir()]) > 1:  # noqa: ASYNC110 - nothing tells of it
                    await asyncio.sleep(0.05)
            assert not gone.exists()
            assert [folder.name for folder in versions.iterdir()] == [named]
            assert (await desk.answer(waits, "there"))["result"] == ["alpha", "there", "new", "new"]

    play(story())


def test_resuming_is_refused_with_a_reason(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo", "typescript")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            stored = (await desk.detail(run_id))["run"]["revision"]
            for given in (None, stored):
                with pytest.raises(RuntimeFault) as refused:
                    await desk.runtime.resume(run_id, given, who="ann")
                assert (refused.value.code, refused.value.details) == ("not_diverged", {"status": "awaiting-input"})
            for given in ("0" * 64, "", "../hosts", stored[:12]):
                with pytest.raises(RuntimeFault) as missing:
                    await desk.runtime.resume(run_id, given, who="ann")
                assert missing.value.code == "revision_not_stored"
                assert missing.value.details == {"revisions": [stored]}
            with pytest.raises(RuntimeFault) as unknown:
                await desk.runtime.resume("dur_nothing", stored, who="ann")
            assert unknown.value.code == "NOT_FOUND"

    play(story())


def test_stored_code_that_was_tampered_with_is_not_used(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo", "typescript")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = await diverged(desk, repo.root, "typescript")
            (old,) = revisions(await desk.detail(run_id), "old")
            (tmp_path / "data/versions" / old / "amodal/_lib/facts.json").write_text('{"fact": "forged"}')
            with pytest.raises(RuntimeFault) as refused:
                await desk.runtime.resume(run_id, old, who="ann")
            assert refused.value.code == "revision_not_stored"

    play(story())


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_live_run_ends_on_the_code_it_began_with_and_a_new_one_has_the_new(tmp_path: Path, language: str) -> None:
    """Both the shared file and the child tool are loaded for the first time after the edit."""
    repo = desk_repo(tmp_path / "repo", language)
    late = {
        "typescript": {
            "ts": "await ctx.callTool('wait', {}); const { word } = await import('../../_lib/words.js');"
            "return [word, await ctx.callTool('child', {})];"
        },
        "python": {
            "py": "await ctx.call_tool('wait', {})\nfrom ..._lib.words import word\n"
            "return [word, await ctx.call_tool('child', {})]"
        },
    }[language]
    repo.durable("late", tools=("wait", "child"), **late)
    repo.tool(
        "wait",
        ts="for (;;) { try { await ctx.fs.readRepoFile('go.txt'); return null; } "
        "catch { await new Promise(r => setTimeout(r, 10)); } }",
        effect="read",
    )
    repo.tool("child", ts="return 'old child';", effect="read")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            going = asyncio.create_task(desk.run("late"))
            await desk.until("span", name="wait")
            desk_repo(repo.root, language, word="new")
            repo.tool("child", ts="return 'new child';", effect="read")
            young = asyncio.create_task(desk.run("late"))
            while len({change.run_id for change in desk.changes if change.wire.get("name") == "wait"}) < 2:
                await desk.until("span", name="wait", id="0")
                await asyncio.sleep(0.01)
            (repo.root / "go.txt").write_text("go")
            assert (await going)["result"] == ["old", "old child"]
            assert (await young)["result"] == ["new", "new child"]

    play(story())


def test_a_broken_edit_refuses_new_runs_and_leaves_those_that_go_on_alone(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo", "typescript")
    tool_file = repo.root / "amodal/tools/ask/tool.json"

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            good = tool_file.read_text()
            tool_file.write_text("{")
            with pytest.raises(BundleError) as refused:
                await desk.run("ask")
            assert "Runs that are going on keep the code" in refused.value.problems[-1].message
            assert (await desk.answer(run_id, "here"))["outcome"]["kind"] == "needs-attention"
            tool_file.write_text(good)
            assert (await desk.answer(run_id, "run-again"))["result"] == ["alpha", "here", "old", "old"]

    play(story())


def test_a_question_says_that_its_code_changed(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo", "typescript")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            run_id = (await desk.run("ask"))["sessionId"]

            async def marks() -> list[bool]:
                detail = await desk.detail(run_id)
                (listed,) = (await desk.runtime.pending(who="ann"))["approvals"]
                (run,) = (await desk.runtime.runs(finished=False))["runs"]
                return [bool(one.get("code_changed")) for one in (detail["run"], *detail["pauses"], listed, run)]

            assert await marks() == [False] * 4
            desk_repo(repo.root, "typescript", word="new")
            await asyncio.sleep(LOOK_S)
            assert await marks() == [True] * 4

    play(story())


def test_an_edit_is_told_to_whoever_looks_at_the_questions_that_wait(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo", "typescript")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            await desk.run("ask")
            opened = await desk.until("pause-opened")
            assert "code_changed" not in opened.wire
            desk_repo(repo.root, "typescript", word="new")
            told = await desk.until("pause-opened", code_changed=True)
            assert told.wire["pause_id"] == opened.wire["pause_id"]
            assert (await desk.until("run", code_changed=True)).wire["status"] == "awaiting-input"

    play(story())


def test_code_is_kept_as_a_whole_and_as_long_as_somebody_needs_it(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo", "typescript")
    versions = Versions(tmp_path / "versions")
    revision = revision_of(repo.root)
    kept = versions.keep(repo.root, revision)
    assert kept is not None
    assert revision_of(kept) == revision
    assert versions.keep(repo.root, "0" * 64) is None
    assert versions.stored() == [revision]
    later = kept.stat().st_mtime + UNUSED_S + 1
    assert versions.sweep(set(), later - UNUSED_S) == []
    assert versions.sweep({revision}, later) == []
    assert versions.find(revision) == kept
    assert versions.sweep(set(), later + 1) == [revision]
    assert versions.find(revision) is None
    assert [*(tmp_path / "versions").iterdir()] == []


def test_code_that_does_not_fit_its_name_is_copied_anew(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo", "python")
    revision = revision_of(repo.root)
    folder = tmp_path / "versions"
    kept = Versions(folder).keep(repo.root, revision)
    assert kept is not None
    (kept / "amodal/_lib/words.py").write_text("word = 'torn'")
    assert Versions(folder).find(revision) is None
    assert Versions(folder).keep(repo.root, revision) == kept
    assert revision_of(kept) == revision
