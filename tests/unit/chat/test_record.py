"""What is kept of a turn while it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime_core.agents.turns import Message, Usage
from runtime_core.chat.calls import UNKNOWN
from runtime_core.chat.history import known_now, turns_of
from runtime_core.chat.record import TurnRecord
from runtime_core.chat.transcript import body_of, messages
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.chats import ChatCall, ChatRow
from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import play

ROW = ChatRow("chat_1", "/desk", "default", "", "chat", "ann", 1.0, 1.0)


@asynccontextmanager
async def recorded(folder: Path) -> AsyncGenerator[tuple[SqliteJournal, TurnRecord]]:
    journal = await SqliteJournal.open(folder / "runtime.db")
    try:
        await journal.create_chat(ROW)
        yield journal, TurnRecord(journal, ROW, 1)
    finally:
        await journal.close()


def test_what_is_being_said_when_the_process_dies_is_there(tmp_path: Path) -> None:
    async def story() -> None:
        async with recorded(tmp_path) as (journal, record):
            record.add("user", body_of(Message("user", "Late?")))
            record.draft = lambda: body_of(Message("assistant", "Two pa"), cut=True)
            record.say_more()
            keeping = asyncio.create_task(record.keep())
            async with asyncio.timeout(15):
                while len(await journal.chat_entries("chat_1")) < 2:  # noqa: ASYNC110 - another thread stores them
                    await asyncio.sleep(0.01)
            keeping.cancel()
            entries = await journal.chat_entries("chat_1")
            assert [one.text for one in messages(entries)] == ["Late?", "Two pa"]
            (turn,) = turns_of(entries, [], None, None)
            assert (turn["end"], turn["events"][0]["content"]) == ({"reason": "interrupted"}, "Two pa")

    play(story())


def test_what_came_of_a_call_whose_process_was_killed_is_not_known(tmp_path: Path) -> None:
    async def story() -> None:
        async with recorded(tmp_path) as (journal, record):
            record.add("user", body_of(Message("user", "Late?")))
            record.add("assistant", '{"text":"","tool_calls":[{"name":"look","args":"{}","id":""}]}')
            record.put(ChatCall(1, "0", "tool", "look", "running", 2.0, input="{}"))
            await record.flush()
            entries, calls = await journal.chat_entries("chat_1"), await journal.chat_calls("chat_1")
            (turn,) = turns_of(entries, known_now(entries, calls, {}, None), None, None)
            assert [(one["type"], one.get("error")) for one in turn["events"]] == [
                ("tool_call_start", None),
                ("tool_call_result", UNKNOWN),
            ]
            (live,) = turns_of(entries, calls, None, 1)
            assert [one["type"] for one in live["events"]] == ["tool_call_start"]

    play(story())


def test_what_could_not_be_stored_is_stored_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def breaks(*_: Any) -> None:
        raise RuntimeFault("data_folder_unusable", "The disk is full.")

    async def story() -> None:
        async with recorded(tmp_path) as (journal, record):
            monkeypatch.setattr(journal, "record_chat", breaks)
            record.add("user", body_of(Message("user", "one")))
            record.spend(Usage(3, 1))
            with pytest.raises(RuntimeFault):
                await record.flush()
            monkeypatch.undo()
            record.add("assistant", body_of(Message("assistant", "two")))
            await record.flush()
            assert [one.text for one in messages(await journal.chat_entries("chat_1"))] == ["one", "two"]
            known = await journal.chat("chat_1")
            assert known is not None
            assert known.usage == {"input_tokens": 3, "output_tokens": 1}

    play(story())


def test_whoever_gives_up_waiting_stores_nothing_twice(tmp_path: Path) -> None:
    async def story() -> None:
        async with recorded(tmp_path) as (journal, record):
            record.add("user", body_of(Message("user", "one")))
            storing = asyncio.create_task(record.flush())
            await asyncio.sleep(0)
            storing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await storing
            await record.flush()
            assert len(await journal.chat_entries("chat_1")) == 1

    play(story())
