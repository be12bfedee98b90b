"""What handlers say: one line each in the log of the data folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runtime_core.engine import notes
from tests.unit.engine.workshop import Repo, bench, play


def lines(data: Path) -> list[list[str]]:
    """Session, tools, kind and text of each line."""
    return [line.split(" ", 4)[1:] for line in (data / "logs" / "handlers.log").read_text().splitlines()]


def test_what_handlers_say_is_in_the_log_of_the_data_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    repo, data = Repo(tmp_path / "repo"), tmp_path / "data"
    repo.durable("top", ts="ctx.log('a\\nb\\u001b[31m ü'); return await ctx.callTool('leaf', {});", tools=("leaf",))
    repo.tool("leaf", py="print('hello')\nreturn {'a': float('nan')}")
    stray = "Promise.reject(new Error('floating')); await new Promise(r => setTimeout(r, 20));"
    repo.tool("alone", ts=stray + " console.log('x', 1); return [undefined, NaN];")

    async def story() -> str:
        async with bench(repo, data) as desk:
            run_id = (await desk.run("top"))["sessionId"]
            await desk.run("alone")
            return run_id

    run_id = play(story())
    found = lines(data)
    assert [run_id, "top", "log", "a\\nb\\x1b[31m ü"] in found
    assert [run_id, "top/leaf", "console", "stdout: hello"] in found
    assert [run_id, "top/leaf", "lossy", "$.a: nan became null"] in found
    assert ["-", "alone", "console", "log: x 1"] in found
    assert ["-", "alone", "lossy", "$[1]: NaN became null"] in found
    assert any(line[:3] == ["-", "alone", "unhandled"] and "floating" in line[3] for line in found)
    assert capsys.readouterr().err == ""
    assert not [record for record in caplog.records if "hello" in record.getMessage()]


def test_only_the_executor_writes_the_log(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.tool("says", ts="ctx.log(params.text); return 1;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data", execute=True) as executor:
            async with bench(repo, tmp_path / "data", execute=False) as client:
                await client.run("says", {"text": "client"})
            await executor.run("says", {"text": "executor"})

    play(story())
    assert [line[3] for line in lines(tmp_path / "data")] == ["executor"]


def test_the_log_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "FILE_BYTES", 1000)
    log = notes.HandlerLog(tmp_path / "logs" / "handlers.log", lambda: True)
    for number in range(200):
        log.write(None, ("t",), "log", f"{number} {'x' * 100}")
    log.close()
    files = sorted((tmp_path / "logs").iterdir())
    assert len(files) == 1 + notes.OLD_FILES
    assert all(file.stat().st_size <= 1000 for file in files)
    assert lines(tmp_path)[-1][3].startswith("199 ")


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such modes")
def test_nobody_else_reads_the_log(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir(mode=0o755)
    log = notes.HandlerLog(tmp_path / "logs" / "handlers.log", lambda: True)
    log.write(None, ("t",), "log", "a text")
    log.close()
    assert (tmp_path / "logs").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "logs" / "handlers.log").stat().st_mode & 0o777 == 0o600


def test_a_log_that_cannot_be_written_stops_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").write_text("a file in the way")
    log = notes.HandlerLog(tmp_path / "logs" / "handlers.log", lambda: True)
    log.write(None, ("t",), "log", "a text")
    log.close()
    assert capsys.readouterr().err == ""
