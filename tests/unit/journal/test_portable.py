"""Runs as JSON Lines: out and in again without a difference, all or nothing, also beside an executor."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_core.doctor.contents import first_problem
from runtime_core.journal.driver import Connection
from runtime_core.journal.exporting import export, whole_file
from runtime_core.journal.formats import FORMAT
from runtime_core.journal.importing import Imported, Judge, import_runs
from runtime_core.journal.parts import HELD, PARTS
from runtime_core.journal.schema import fresh
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.chats import ChatEntry
from runtime_core.wire.codes import RuntimeFault
from tests.fixtures.golden.make import tell_of_the_rest
from tests.unit.journal.stories import answered, asking, claimed, parked, pause_row, play, run_row, step
from tests.unit.journal.test_retention import GOLDEN, SHAPES, ended, in_shape, large, tidied


def lines(folder: Path, *runs: str) -> list[str]:
    """The export of a folder, without its header, which has a time."""
    out: list[str] = []
    export(folder / "runtime.db", runs, "1.0", out.append)
    assert json.loads(out[0])["format"] == 3
    return out[1:]


def file_of(folder: Path, *runs: str) -> bytes:
    out: list[str] = []
    export(folder / "runtime.db", runs, "1.0", out.append)
    return "".join(out).encode()


def take(folder: Path, content: bytes, judge: Judge = first_problem) -> Imported:
    folder.mkdir(exist_ok=True)
    return import_runs(folder / "runtime.db", io.BytesIO(content), "runs.jsonl", judge)


def unjudged(_: Connection) -> None:
    """For runs that no runtime has made."""


def refused(folder: Path, content: bytes) -> RuntimeFault:
    with pytest.raises(RuntimeFault) as caught:
        take(folder, content)
    assert "Nothing was imported." in caught.value.message
    assert lines(folder) == ['{"type":"end","runs":0,"lines":0}\n']
    assert [path.name for path in folder.glob(".import-*")] == []
    return caught.value


VALUES = st.sampled_from(["1", "1.50", '"\\ud83d\\ude00 \\n"', '{"a": [1e400, -0]}', large("a"), large("b"), '"é"'])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(SHAPES), VALUES), max_size=6))
def test_out_and_in_again_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory, runs: Sequence[tuple[str, str]]
) -> None:
    here, there = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("there")

    async def story(journal: SqliteJournal) -> None:
        for number, (shape, value) in enumerate(runs):
            await in_shape(journal, f"dur_{number}", shape, value, 1.25)

    play(here, story)
    before = lines(here)
    taken = take(there, file_of(here), unjudged)
    assert (taken.runs, taken.known) == (len(runs), 0)
    assert lines(there) == before
    taken = take(there, file_of(here), unjudged)
    assert (taken.runs, taken.known) == (0, len(runs))
    assert lines(there) == before


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("v*.db")), ids=lambda path: path.name)
def test_files_of_every_format_travel(golden: Path, tmp_path: Path) -> None:
    shutil.copy(golden, tmp_path / "runtime.db")
    content = file_of(tmp_path)
    assert take(tmp_path / "there", content).runs == 4
    assert lines(tmp_path / "there") == switched_off(lines(tmp_path))

    async def go_on(journal: SqliteJournal) -> None:
        assert (await journal.pending(10, None)).total == 3
        await answered(journal, "1", "dur_parked", pause_id="dur_parked.0")
        assert await journal.wake_due(100.0) == ["dur_sleeping"]
        claim = await claimed(journal, "dur_parked")
        assert [(entry.n, entry.state) for entry in await journal.load("dur_parked")] == [(0, "ok"), (1, "started")]
        await journal.finish(claim, "completed", result="1")

    play(tmp_path / "there", go_on)


def switched_off(content: Sequence[str]) -> list[str]:
    """Automations are off where they arrive."""
    return [line.replace('"enabled":1', '"enabled":0') if '"type":"automation"' in line else line for line in content]


async def rest(journal: SqliteJournal) -> None:
    await tell_of_the_rest(journal, '"' + "x" * 70_000 + '"')


def test_what_belongs_to_no_run_travels(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    play(here, rest)
    kinds = ("chat", "chat_message", "chat_span", "automation", "automation_run", "eval_result", "build", "tool_switch")
    taken = take(there, file_of(here))
    assert {kind: taken.held[kind] for kind in kinds} == {**dict.fromkeys(kinds, 1), "chat_message": 2}
    assert lines(there) == switched_off(lines(here))
    taken = take(there, file_of(here))
    assert not any(taken.held.values())
    assert lines(there) == switched_off(lines(here))


def test_of_two_states_of_a_conversation_the_later_one_stays(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    play(here, rest)
    early = file_of(here)
    take(there, early)

    async def go_on(journal: SqliteJournal) -> None:
        row = (await journal.chats(["chat"], 1, None)).items[0]
        await journal.record_chat(
            replace(row, updated_at=9.0), [ChatEntry(2, "user", '{"content": "And?"}', 9.0)], [], {}
        )

    play(here, go_on)
    taken = take(there, file_of(here))
    assert (taken.held["chat"], taken.held["chat_message"]) == (1, 3)
    assert lines(there) == switched_off(lines(here))
    assert take(here, early).held["chat"] == 0
    assert sum('"type":"chat_message"' in line for line in lines(here)) == 3


def test_an_automation_that_is_here_stays_as_it_is_and_keeps_its_own_history(tmp_path: Path) -> None:
    play(tmp_path, rest)
    content = file_of(tmp_path).replace(b'"name":"nightly"', b'"name":"weekly"')
    before = lines(tmp_path)
    taken = take(tmp_path, content)
    assert (taken.held["automation"], taken.held["automation_run"]) == (0, 0)
    assert lines(tmp_path) == before


def test_what_belongs_to_something_damaged_is_left_out_with_it(tmp_path: Path) -> None:
    play(tmp_path, rest)
    db = sqlite3.connect(tmp_path / "runtime.db")
    db.execute("UPDATE chat_session SET title = CAST(x'ff' AS TEXT)")
    db.execute("UPDATE durable_blob SET bytes = x'00'")
    db.commit()
    db.close()
    out: list[str] = []
    done = export(tmp_path / "runtime.db", [], "1", out.append)
    assert [name.split()[0] for name in done.lost] == ["chat", "automation", "eval_result", "build"]
    taken = take(tmp_path / "there", "".join(out).encode())
    assert {kind for kind, count in taken.held.items() if count} == {"tool_switch"}


def test_every_column_travels() -> None:
    """Except for who executes, what only counts inside of one file, and when an automation is due next."""
    db = fresh(FORMAT)
    for kind, part in {**PARTS, **HELD}.items():
        columns = {row[1] for row in db.execute(f"PRAGMA table_info({part.table})")}
        if part.joined:
            columns |= {"repo", "scope", "store"}
        left = _LEFT_BEHIND.get(kind, set())
        assert set(part.columns) == columns - left, kind
    db.close()


_LEFT_BEHIND = {
    "run": {"lease_owner"},
    "entry": {"id"},
    "document": {"id", "part"},
    "chat_message": {"id"},
    "automation": {"next_at"},
    "automation_run": {"id"},
    "eval_result": {"id"},
}


def test_the_order_of_completion_stays(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        await journal.append(await claimed(journal), [step(n) for n in (2, 0, 1)])

    play(tmp_path, story)
    take(tmp_path / "there", file_of(tmp_path))

    async def check(journal: SqliteJournal) -> list[int]:
        return [entry.n for entry in await journal.load("dur_a")]

    assert play(tmp_path / "there", check) == [2, 0, 1]


def test_a_run_that_was_being_executed_goes_on_where_it_arrives(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row())
        await claimed(journal)

    play(tmp_path, story)
    take(tmp_path / "there", file_of(tmp_path))

    async def check(journal: SqliteJournal) -> tuple[Any, Any]:
        claim = await claimed(journal)
        return claim.epoch, await journal.runnable()

    assert play(tmp_path / "there", check) == (2, [])


@pytest.mark.parametrize("parent", ["chat_1", "dur_b"])
def test_what_a_turn_asks_elsewhere_is_withdrawn_where_it_arrives(tmp_path: Path, parent: str) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_run(run_row("dur_b"))
        await journal.create_run(run_row("dur_a", gate="confirm", parent_session=parent))
        await journal.park(
            await claimed(journal), "awaiting-input", pauses=[pause_row()], entries=[asking(pause_row())]
        )

    play(tmp_path, story)
    taken = take(tmp_path / "there", file_of(tmp_path))

    async def check(journal: SqliteJournal) -> tuple[Any, ...]:
        run, (question,) = await journal.run("dur_a"), await journal.pauses("dur_a")
        assert run is not None
        return run.status, question.outcome, question.answered_by

    is_withdrawn = parent == "chat_1"  # the model of a run goes on where the run does
    assert ("dur_a" in taken.unfinished) is not is_withdrawn
    here = play(tmp_path / "there", check)
    assert here == (("cancelled", "cancelled", "runtime") if is_withdrawn else ("awaiting-input", None, None))
    assert play(tmp_path, check)[0] == "awaiting-input"


def test_only_what_is_named_and_an_unknown_name_is_refused(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        for name in "abc":
            await journal.create_run(run_row(f"dur_{name}"))

    play(tmp_path, story)
    found = [json.loads(line) for line in lines(tmp_path, "dur_c", "dur_a", "dur_c")]
    assert [line.get("id") for line in found] == ["dur_c", "dur_a", None]
    assert found[-1] == {"type": "end", "runs": 2, "lines": 2}
    with pytest.raises(RuntimeFault, match="There is no session dur_x"):
        lines(tmp_path, "dur_x")


def test_a_run_without_its_journal_travels_as_what_is_left(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await ended(journal, "dur_a", large("a"))
        await tidied(journal, time.time() + 1)

    play(tmp_path, story)
    take(tmp_path / "there", file_of(tmp_path))
    run, end = (json.loads(line) for line in lines(tmp_path / "there"))
    assert run["pruned_at"]
    assert run["result"] == large("a")
    assert end["lines"] == 1


def test_a_run_that_is_there_with_another_content_refuses_all(tmp_path: Path) -> None:
    for folder, tool in (("here", "a"), ("there", "b")):
        (tmp_path / folder).mkdir()

        async def story(journal: SqliteJournal, tool: str = tool) -> None:
            await journal.create_run(run_row("dur_same", tool=tool, created_at=1.0, updated_at=1.0))
            await journal.create_run(run_row(f"dur_{tool}", created_at=1.0, updated_at=1.0))

        play(tmp_path / folder, story)
    before = lines(tmp_path / "there")
    with pytest.raises(RuntimeFault, match=r"Session dur_same of runs\.jsonl is in this data folder already") as caught:
        take(tmp_path / "there", file_of(tmp_path / "here"))
    assert caught.value.details == {"session_id": "dur_same"}
    assert lines(tmp_path / "there") == before


def test_a_process_that_has_the_folder_open_sees_what_arrives(tmp_path: Path) -> None:
    play(tmp_path, parked)
    content = file_of(tmp_path)
    there = tmp_path / "there"
    there.mkdir()

    async def story(journal: SqliteJournal) -> None:
        version, seen = await journal.data_version(), await journal.last_event()
        take(there, content)
        assert await journal.data_version() != version
        (event,) = await journal.events(seen)
        assert (event.run_id, event.type, event.body["status"]) == ("dur_a", "session_created", "awaiting-input")
        await answered(journal)

    play(there, story)


Change = Callable[[list[dict[str, Any]]], None]


def changed(line: int, **fields: Any) -> Change:
    def change(all_lines: list[dict[str, Any]]) -> None:
        for name, value in fields.items():
            if value is None:
                del all_lines[line - 1][name]
            else:
                all_lines[line - 1][name] = value

    return change


def swapped(first: int, second: int) -> Change:
    def change(all_lines: list[dict[str, Any]]) -> None:
        all_lines[first - 1], all_lines[second - 1] = all_lines[second - 1], all_lines[first - 1]

    return change


def without(line: int) -> Change:
    def change(all_lines: list[dict[str, Any]]) -> None:
        del all_lines[line - 1]

    return change


def again(line: int, *, before: int) -> Change:
    def change(all_lines: list[dict[str, Any]]) -> None:
        all_lines.insert(before - 1, all_lines[line - 1])

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed(1, format=4), "line 1: has format 4, written by version 1.0 of this program"),
        (changed(1, format="1"), "line 1: is not the header"),
        (changed(1, type="run"), "line 1: is not the header"),
        (changed(2, status="asleep"), "line 2: status must be one of runnable, "),
        (changed(2, status="completed"), "line 2: status is completed, which does not go with finished_at"),
        (changed(2, params="{"), "line 2: params is not JSON text: "),
        (changed(2, params=3), "line 2: params must be a text"),
        (changed(2, mood="good"), "line 2: mood is no field of a run"),
        (changed(2, tool=None), "line 2: tool is missing"),
        (changed(2, tool=""), "line 2: tool must not be empty"),
        (changed(2, epoch=1.5), "line 2: epoch must be a whole number"),
        (changed(2, epoch=10**30), "line 2: epoch must be a whole number"),
        (changed(2, created_at="now"), "line 2: created_at must be a time in seconds"),
        (changed(2, created_by="\ud800"), "line 2: created_by holds half of a surrogate pair"),
        (changed(2, journal_format=9), "line 2: journal_format is 9: it was recorded by a newer version"),
        (changed(3, state="ok"), "line 3: state is ok, so value and ended_at must be there"),
        (changed(3, run_id="dur_b"), "line 3: run_id is dur_b, but the lines before it are those of dur_a"),
        (changed(3, path="a/b"), "line 3: path must be a place"),
        (changed(4, names='["a", 1]'), "line 4: names must be the text of a list of texts"),
        (changed(4, spec="[]"), "line 4: spec must be the text of an object"),
        (changed(4, spec="{}"), "line 4: spec must hold the question and its inputType"),
        (changed(4, spec='{"question": "Water?", "inputType": "text"}'), "line 4: spec does not fit its fingerprint"),
        (changed(4, kind="approval"), "line 4: spec does not fit its fingerprint"),
        (changed(4, fingerprint="0" * 64), "line 4: spec does not fit its fingerprint"),
        (changed(4, outcome="answered", answered_at=9e9), "line 4: outcome is answered, so answer and answered_at"),
        (changed(4, answered_at=9e9), "line 4: outcome is missing"),
        (changed(4, type="answer"), "line 4: type 'answer' is none of run, leg, "),
        (swapped(2, 3), "line 2: run_id is dur_a, but the lines before it are those of None"),
        (without(5), "is not complete"),
        (changed(2, epoch=-1), "line 2: epoch must not be negative"),
        (changed(2, created_at=1e12), "line 2: created_at must be a time in seconds"),
        (without(3), "but there are 1 runs in 2 lines before it"),
        (again(2, before=6), "line 6: stands after the end of the file"),
        (again(4, before=5), "line 5: this question stands twice"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_imported(change: Change, said: str, tmp_path: Path) -> None:
    play(tmp_path, parked)
    all_lines = [json.loads(line) for line in file_of(tmp_path).decode().splitlines()]
    assert [line["type"] for line in all_lines] == ["header", "run", "entry", "question", "end"]
    change(all_lines)
    content = "".join(json.dumps(line) + "\n" for line in all_lines).encode()
    assert said in refused(tmp_path / "there", content).message


def left_out(kind: str) -> Change:
    def change(all_lines: list[dict[str, Any]]) -> None:
        all_lines[:] = [line for line in all_lines if line["type"] != kind]
        all_lines[-1]["lines"] = len(all_lines) - 2

    return change


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("chat", {"usage": '{"input_tokens":"x"}'}, "usage must be the text of an object of whole numbers"),
        ("chat", {"usage": "[]"}, "usage must be the text of an object of whole numbers"),
        ("chat_message", {"role": "ghost"}, "role must be one of user, "),
        ("chat_message", {"body": "[]"}, "body must be the text of an object"),
        ("chat_message", {"body": '{"text":5}'}, "body has an unreadable value: text"),
        ("chat_message", {"body": '{"text":"","files":[{}]}'}, "body has an unreadable value: files"),
        ("chat_message", {"body": '{"text":"","tool_calls":5}'}, "body has an unreadable value: tool_calls"),
        (
            "chat_message",
            {"role": "end", "body": '{"reason":"error","usage":{"input_tokens":-1}}'},
            "body has an unreadable value: usage",
        ),
        ("chat_span", {"slot": "x"}, "slot must be a place"),
        ("chat_span", {"slot": "9" * 5000}, "slot must be a place"),
        ("chat_span", {"state": "odd"}, "state must be one of running, "),
        ("eval_result", {"body": "[]"}, "body must be the text of an object"),
        ("eval_result", {"passed": 5}, "passed must be 0 or 1"),
        ("build", {"state": "odd"}, "state must be one of running, "),
        ("build", {"body": '{"log":[5]}'}, "body is not what is kept of a build"),
        ("build", {"body": '{"changes":{"added":5}}'}, "body is not what is kept of a build"),
    ],
)
def test_what_would_not_be_readable_is_named_and_not_imported(
    kind: str, change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    play(tmp_path, rest)
    all_lines = [json.loads(line) for line in file_of(tmp_path).decode().splitlines()]
    next(line for line in all_lines if line["type"] == kind).update(change)
    content = "".join(json.dumps(line) + "\n" for line in all_lines).encode()
    assert said in refused(tmp_path / "there", content).message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (left_out("question"), "Runs wait, and nothing can wake them: dur_a."),
        (left_out("entry"), "The calls that ask are missing for: dur_a.0."),
        (changed(2, status="sleeping"), "Runs wait, and nothing can wake them: dur_a."),
        (changed(4, outcome="answered", answer="1", answered_at=9e9), "nothing can wake them: dur_a."),
        (changed(2, epoch=0), "Calls were recorded by legs that never were, in: dur_a."),
    ],
)
def test_a_run_that_could_never_go_on_is_named_and_nothing_is_imported(
    change: Change, said: str, tmp_path: Path
) -> None:
    play(tmp_path, parked)
    all_lines = [json.loads(line) for line in file_of(tmp_path).decode().splitlines()]
    change(all_lines)
    content = "".join(json.dumps(line) + "\n" for line in all_lines).encode()
    assert said in refused(tmp_path / "there", content).message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "runs.jsonl is empty"),
        (b"{", "line 1: is not JSON"),
        (b"[]\n", "line 1: is not an object"),
        (b"\xff\n", "line 1: is not JSON: not UTF-8 text"),
        (b"PK\x03\x04", "line 1: is not JSON"),
    ],
)
def test_what_is_no_export_at_all_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path / "there", content).message


def test_a_question_id_of_another_run_refuses_all(tmp_path: Path) -> None:
    play(tmp_path, parked)
    content = (
        file_of(tmp_path).replace(b'"id":"dur_a"', b'"id":"dur_z"').replace(b'"run_id":"dur_a"', b'"run_id":"dur_z"')
    )
    before = lines(tmp_path)
    with pytest.raises(RuntimeFault, match="does not fit what is in this data folder"):
        take(tmp_path, content)
    assert lines(tmp_path) == before


def test_a_folder_that_may_not_be_written_can_be_exported_and_no_file_is_left_in_it(tmp_path: Path) -> None:
    play(tmp_path, parked)
    before = sorted(os.listdir(tmp_path))
    lines(tmp_path)
    assert sorted(os.listdir(tmp_path)) == before
    with pytest.raises(RuntimeFault, match="There is no journal at"):
        lines(tmp_path / "nowhere")
    assert sorted(os.listdir(tmp_path)) == before


def test_a_file_is_complete_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "runs.jsonl"
    with whole_file(target) as file:
        file.write("one")
        assert not target.exists()
    assert target.read_text() == "one"
    assert target.stat().st_mode & 0o777 == 0o600
    with pytest.raises(TypeError), whole_file(target) as file:
        file.writelines(["two", 2])  # pyright: ignore[reportArgumentType]
    assert target.read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["runs.jsonl"]


def test_a_link_is_followed_and_a_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "runs.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(real)
    for content in ("one", "two"):
        with whole_file(link) as file:
            file.write(content)
        assert (link.is_symlink(), real.read_text()) == (True, content)
        assert real.stat().st_mode & 0o777 == (0o600 if content == "one" else 0o644)
        real.chmod(0o644)
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["runs.jsonl"]


@pytest.mark.skipif(os.name == "nt", reason="there are no such files")
def test_what_is_no_file_is_written_into(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(tmp_path / "pipe") as file:
        file.write("one")
    assert os.read(reader, 10) == b"one"
    os.close(reader)
    with pytest.raises(OSError, match="No space left"), whole_file(Path("/dev/full")) as file:
        file.write("one")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe"]


def test_a_question_that_was_asked_again_after_its_deadline_moves(tmp_path: Path) -> None:
    """Its deadline is that of the first time."""
    play(tmp_path, parked)
    all_lines = [json.loads(line) for line in file_of(tmp_path).decode().splitlines()]
    changed(4, expires_at=1.0)(all_lines)
    there = tmp_path / "there"
    take(there, "".join(json.dumps(line) + "\n" for line in all_lines).encode())
    assert [json.loads(line)["expires_at"] for line in lines(there) if '"question"' in line[:20]] == [1.0]
