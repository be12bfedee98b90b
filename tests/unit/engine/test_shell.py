"""`ctx.exec`: off until the manifest asks for it and a person trusts the code, then bounded in every direction."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine.shell import CommandRefused, Shell
from runtime_core.hosts import command
from runtime_core.hosts.sandbox import landlock_version
from runtime_core.journal.base import Answer
from runtime_core.repo.bundle import Bundle, BundleError
from runtime_core.repo.revision import FILE_LIMIT
from runtime_core.wire.codes import COMMAND_CODES
from runtime_core.wire.settings import Settings
from tests.unit.engine.workshop import Bench, Repo, bench, play

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no shell commands there")

RUNS = {
    "ts": "try { return await ctx.exec(...params.args) } catch (e) { return { code: e.code, message: e.message } }",
    "py": "try: return await ctx.exec(*params['args'])\n"
    "except Exception as e: return {'code': e.code, 'message': str(e)}",
}
SLEEP = f"sleep 77.{os.getpid()}"
BOXED = pytest.mark.skipif(not landlock_version(), reason="needs a kernel with Landlock")


@pytest.fixture(params=["ts", "py"])
def language(request: pytest.FixtureRequest) -> str:
    return request.param


def _repo(tmp_path: Path, language: str = "py", **sandbox: Any) -> Repo:
    repo = Repo(tmp_path / "repo", sandbox={"shellExec": True, **sandbox})
    return _with_tool(repo, language)


def _with_tool(repo: Repo, language: str) -> Repo:
    repo.tool("sh", ts=RUNS["ts"] if language == "ts" else None, py=RUNS["py"] if language == "py" else None)
    return repo


def _exec(tmp_path: Path, *calls: list[Any], **sandbox: Any) -> list[dict[str, Any]]:
    """The results of one command after the other, or what their handler would get, in a trusted repository."""
    root = tmp_path / "repo"
    root.mkdir(exist_ok=True)
    bundle = Bundle(root, "bench", "1", "r1", {}, {}, {"sandbox": {"shellExec": True, **sandbox}})

    async def trusted() -> bool:
        return True

    async def story() -> list[dict[str, Any]]:
        shell = Shell(bundle, False, trusted, asyncio.Semaphore(), tmp_path / "homes")
        return [json.loads(await _outcome(shell, args)) for args in calls]

    return play(story())


async def _outcome(shell: Shell, args: list[Any]) -> str:
    try:
        return await shell.run(json.dumps(args))
    except CommandRefused as refused:
        return refused.error


def _handled(tmp_path: Path, repo: Repo, *calls: list[Any], trust: bool = True) -> list[dict[str, Any]]:
    """The same through a handler."""

    async def story() -> list[dict[str, Any]]:
        async with bench(repo, tmp_path / "data") as it:
            if trust:
                await it.runtime.trust(repo.root, who="ann")
            return [(await it.run("sh", {"args": args}))["result"] for args in calls]

    return play(story())


def test_a_command_returns_what_it_wrote_and_how_it_ended(tmp_path: Path, language: str) -> None:
    found = _handled(
        tmp_path,
        _repo(tmp_path, language),
        ["echo out; echo err >&2; pwd; exit 3"],
        ["kill -9 $$"],
        ["cat; echo end"],
    )
    root = str((tmp_path / "repo").resolve())
    assert found[0] == {"stdout": f"out\n{root}\n", "stderr": "err\n", "exitCode": 3}
    assert found[1]["exitCode"] == 128 + 9
    assert found[2] == {"stdout": "end\n", "stderr": "", "exitCode": 0}


def test_a_repository_that_does_not_ask_or_is_not_trusted_runs_nothing(tmp_path: Path, language: str) -> None:
    silent = _with_tool(Repo(tmp_path / "silent"), language)
    asking = _repo(tmp_path, language)
    touch = ["touch made"]
    (disabled,) = _handled(tmp_path, silent, touch)
    (untrusted,) = _handled(tmp_path, asking, touch, trust=False)
    assert disabled["code"] == "exec-disabled"
    assert '"shellExec": true' in disabled["message"]
    assert untrusted["code"] == "untrusted"
    assert f"operator-inbox check {asking.root}" in untrusted["message"]
    assert "--trust" in untrusted["message"]
    assert {disabled["code"], untrusted["code"]} < set(COMMAND_CODES)
    assert not (silent.root / "made").exists()
    assert not (asking.root / "made").exists()


def test_the_settings_may_switch_commands_on_but_not_trust(tmp_path: Path) -> None:
    repo = _with_tool(Repo(tmp_path / "repo"), "py")

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=Settings(shell_exec=True)) as it:
            assert (await it.run("sh", {"args": ["true"]}))["result"]["code"] == "untrusted"
            assert not await it.runtime.trusted(repo.root)
            assert len(await it.runtime.trust(repo.root, who="ann")) == 1
            assert (await it.run("sh", {"args": ["true"]}))["result"]["exitCode"] == 0

    play(story())


def test_trust_is_for_the_code_as_it_was_and_lasts(tmp_path: Path) -> None:
    repo = _repo(tmp_path)

    async def used(trust: bool) -> tuple[bool, object]:
        async with bench(repo, tmp_path / "data") as it:
            if trust:
                needs = await it.runtime.trust(repo.root, who="ann")
                assert "shell commands" in needs[0]
            result = (await it.run("sh", {"args": ["true"]}))["result"]
            return await it.runtime.trusted(repo.root), result.get("code", result.get("exitCode"))

    assert play(used(trust=True)) == (True, 0)
    assert play(used(trust=False)) == (True, 0)
    handler = repo.root / "amodal" / "tools" / "sh" / "handler.py"
    before = handler.read_text()
    handler.write_text(before + "\n# changed\n")
    assert play(used(trust=False)) == (False, "untrusted")
    handler.write_text(before)
    assert play(used(trust=False)) == (True, 0)


def test_trust_is_for_the_scripts_that_commands_run_as_well(tmp_path: Path, language: str) -> None:
    repo = _repo(tmp_path, language)
    repo.file("scripts/job.sh", "echo first; echo more > found.json; echo more > run.log")
    repo.file("scripts/part.py", "print('part')")
    run = ["sh scripts/job.sh"]
    outcome: dict[str, Any]
    (outcome,) = _handled(tmp_path, repo, run)
    assert outcome["stdout"] == "first\n"
    (outcome,) = _handled(tmp_path, repo, run, trust=False)  # what it wrote is data
    assert outcome["stdout"] == "first\n"
    python = [f"{sys.executable} -c 'import sys; sys.path[0] = \"scripts\"; import part'"]
    for _ in range(2):  # no byte code is left beside a script
        (outcome,) = _handled(tmp_path, repo, python, trust=False)
        assert outcome["stdout"] == "part\n"
    repo.file("scripts/part.py", "print('other')")
    (outcome,) = _handled(tmp_path, repo, python, trust=False)
    assert outcome["code"] == "untrusted"
    repo.file("scripts/part.py", "print('part')")
    repo.file("scripts/job.sh", "echo other")
    (outcome,) = _handled(tmp_path, repo, run, trust=False)
    assert outcome["code"] == "untrusted"
    assert "--trust" in outcome["message"]
    (outcome,) = _handled(tmp_path, repo, run)
    assert outcome["stdout"] == "other\n"


def test_a_script_that_changes_while_the_runtime_is_open_is_not_run(tmp_path: Path) -> None:
    repo = _repo(tmp_path)
    repo.file("job", "echo first")

    async def story() -> list[object]:
        async with bench(repo, tmp_path / "data") as it:
            await it.runtime.trust(repo.root, who="ann")
            before = await it.run("sh", {"args": ["sh job"]})
            repo.file("job", "echo other")
            return [before["result"]["stdout"], (await it.run("sh", {"args": ["sh job"]}))["result"]["code"]]

    assert play(story()) == ["first\n", "untrusted"]


def test_a_repository_with_more_than_can_be_looked_through_is_not_trusted_with_commands(tmp_path: Path) -> None:
    repo = _repo(tmp_path)
    with (repo.root / "image").open("wb") as file:
        file.truncate(FILE_LIMIT + 1)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as it:
            with pytest.raises(BundleError, match="image"):
                await it.runtime.trust(repo.root, who="ann")
            refused = (await it.run("sh", {"args": ["true"]}))["result"]
            assert refused["code"] == "untrusted"
            assert "image: The file has" in refused["message"]

    play(story())


def test_what_needs_no_trust_is_trusted(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.tool("t", py="return 1")

    async def story() -> tuple[bool, object]:
        async with bench(repo, tmp_path / "data") as it:
            return await it.runtime.trusted(repo.root), await it.runtime.trust(repo.root, who="ann")

    assert play(story()) == (True, [])


def test_arguments_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    (tmp_path / "repo" / "inside").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "repo" / "file").write_text("")
    (tmp_path / "repo" / "inside" / "up").symlink_to("..")
    wrong: list[list[Any]] = [
        [],
        [None],
        ["  "],
        [["ls"]],
        ["ls", 3],
        *(["ls", {"cwd": cwd}] for cwd in ("..", "inside/../..", "/", "none", "file", 3)),
        *(["ls", {"timeout": timeout}] for timeout in (0, -1, "5", True)),
    ]
    found = _exec(tmp_path, *wrong, ["pwd", {"cwd": "inside/up/inside", "timeout": 5000.5}])
    assert [result.get("code") for result in found[:-1]] == ["invalid-params"] * len(wrong)
    assert found[-1]["stdout"] == f"{(tmp_path / 'repo' / 'inside').resolve()}\n"


def test_a_link_out_of_the_repository_is_no_folder_to_start_in(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "out").symlink_to(tmp_path)
    (found,) = _exec(tmp_path, ["pwd", {"cwd": "out"}])
    assert found["code"] == "invalid-params"
    assert "outside of the repository" in found["message"]


def test_nothing_of_the_application_is_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPERATOR_SECRET", "secret")
    (found,) = _exec(tmp_path, ["env; echo $HOME; cd; pwd"])
    names = {line.partition("=")[0] for line in found["stdout"].splitlines() if "=" in line}
    assert names <= {
        "PATH",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "HOME",
        "TMPDIR",
        "PYTHONPYCACHEPREFIX",
        "PWD",
        "SHLVL",
        "_",
        "OLDPWD",
    }
    home = Path(found["stdout"].splitlines()[-1])
    assert home.name.startswith("operator-command-")
    assert not home.exists()


@BOXED
def test_a_command_writes_in_the_repository_and_in_its_own_folder_only(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    found = _exec(
        tmp_path,
        ["echo a > inside.txt && mkdir d && mv inside.txt d/ && echo b > $TMPDIR/b && cat $TMPDIR/b d/inside.txt"],
        *([f"{attempt} {outside}/kept"] for attempt in ("echo x >", "rm", "chmod 600 /nowhere; truncate -s0", "mv $0")),
        [f"ln -s {outside} link && echo x > link/made"],
        [f"kill -0 {os.getpid()}"],
        ["cat /etc/hostname /etc/passwd > /dev/null"],
    )
    assert found[0]["stdout"] == "b\na\n"
    assert [result["exitCode"] == 0 for result in found[1:]] == [False] * 6 + [True]
    assert [path.name for path in outside.iterdir()] == ["kept"]
    assert (outside / "kept").read_text() == "kept"


def test_a_command_has_a_deadline_and_takes_what_it_started_along(tmp_path: Path) -> None:
    late, capped, background = _exec(
        tmp_path,
        [f"echo begun; sh -c '{SLEEP}' & {SLEEP}", {"timeout": 200}],
        [SLEEP, {"timeout": 60_000}],
        [f"{SLEEP} & echo done"],
        maxTimeout=700,
    )
    assert late == {"stdout": "begun\n", "stderr": "The command was ended after 0.2 s.\n", "exitCode": 124}
    assert "0.7 s" in capped["stderr"]
    assert background == {"stdout": "done\n", "stderr": "", "exitCode": 0}
    assert _sleepers() == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere what leaves its group is out of reach")
def test_what_leaves_the_group_of_a_command_ends_with_it_and_holds_up_nothing(tmp_path: Path) -> None:
    left, late = _exec(
        tmp_path,
        [f"setsid {SLEEP} & (setsid sh -c '{SLEEP} & {SLEEP}' &) ; echo done; sleep 0.3", {"timeout": 20_000}],
        [f"setsid {SLEEP} & echo begun; {SLEEP}", {"timeout": 500}],
    )
    assert left == {"stdout": "done\n", "stderr": "", "exitCode": 0}
    assert (late["stdout"], late["exitCode"]) == ("begun\n", 124)
    assert _sleepers() == []


def test_what_holds_the_outputs_open_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "programs" / "shell.py"
    program.parent.mkdir()
    program.write_text(
        f"import os, time\nif not os.fork(): os.setsid(); os.execvp('sleep', {SLEEP.split()})\nos.write(1, b'done')"
    )
    monkeypatch.setattr(command, "PROGRAMS", program.parent)
    try:
        (found,) = _exec(tmp_path, ["true", {"timeout": 20_000}])
        assert found == {"stdout": "done", "stderr": "", "exitCode": 0}
    finally:
        for pid in _sleepers():
            os.kill(int(pid), 9)


def test_the_folders_of_commands_that_were_killed_are_removed_at_the_start(tmp_path: Path) -> None:
    left = tmp_path / "data" / "hosts" / "commands" / "operator-command-x"
    left.mkdir(parents=True)

    async def story(_: Bench) -> None:
        assert not left.exists()

    _play(_repo(tmp_path), tmp_path, story)


def test_much_output_is_cut_and_the_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "OUTPUT_LIMIT", 1000)
    much, whole = _exec(
        tmp_path, ["head -c 3000000 /dev/zero | tr '\\0' 'x'; echo more >&2; exit 5"], ["printf '\\377é'"]
    )
    assert (len(much["stdout"]), much["stderr"], much["exitCode"], much["truncated"]) == (1000, "more\n", 5, True)
    assert whole == {"stdout": "\ufffdé", "stderr": "", "exitCode": 0}


def test_a_cancelled_run_ends_its_command(tmp_path: Path) -> None:
    repo = _repo(tmp_path)
    repo.durable("top", tools=("sh",), py=f"return await ctx.call_tool('sh', {{'args': ['touch begun; {SLEEP}']}})")

    async def story(it: Bench) -> None:
        await it.runtime.trust(repo.root, who="ann")
        reply = await it.run("top", wait_s=0)
        await _until((repo.root / "begun").exists)
        await it.runtime.cancel(reply["session_id"], who="ann")
        await _until(lambda: not _sleepers())

    _play(repo, tmp_path, story)


def test_a_killed_runtime_leaves_no_command_behind(tmp_path: Path) -> None:
    """The input of the program around the command ends with the process that started it."""
    from runtime_core.hosts.command import run_command

    pid = os.fork()
    if pid == 0:
        try:
            asyncio.run(run_command(tmp_path, tmp_path, f"touch begun; {SLEEP} & {SLEEP}", 60, tmp_path))
        finally:
            os._exit(1)
    _wait((tmp_path / "begun").exists)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    _wait(lambda: not _sleepers())


def test_a_durable_tool_rejects_commands_and_its_child_keeps_its_effect(tmp_path: Path) -> None:
    repo = _repo(tmp_path)
    repo.durable(
        "top",
        tools=("sh",),
        py="try: await ctx.exec('true')\n"
        "except Exception as e: code = e.code\n"
        "got = await ctx.call_tool('sh', {'args': ['echo -n x >> log; cat log']})\n"
        "await ctx.request_input({'question': 'go on?'})\n"
        "return [code, got['stdout']]",
    )

    async def story(it: Bench) -> None:
        await it.runtime.trust(repo.root, who="ann")
        reply = await it.run("top")
        spans = await it.spans(reply["session_id"])
        assert [span["kind"] for span in spans.values() if span["id"].startswith("1/")] == ["exec"]
        ended = await it.runtime.answer(Answer(reply["session_id"], '"yes"', "ann"))
        assert ended["result"] == ["durable-forbidden", "x"]

    _play(repo, tmp_path, story)


def _play(repo: Repo, tmp_path: Path, story: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def opened() -> None:
        async with bench(repo, tmp_path / "data") as it:
            await story(it)

    play(opened())


def _sleepers() -> list[str]:
    """The commands of this module that still run."""
    found: list[str] = []
    for folder in Path("/proc").iterdir():
        try:
            line = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
        except OSError:
            continue
        if line.decode("utf-8", "replace").replace("\0", " ").startswith(SLEEP):
            found.append(folder.name)
    return found


def _wait(condition: Callable[[], bool]) -> None:
    ended = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < ended
        time.sleep(0.01)


async def _until(condition: Callable[[], bool]) -> None:
    await asyncio.to_thread(_wait, condition)
