"""Conversations in the journal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.chats import ChatCall, ChatEntry, ChatRow
from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import play

ROW = ChatRow("chat_1", "/desk", "default", "", "chat", "ann", 10.0, 10.0)
ASKED = ChatEntry(1, "user", '{"text":"late?"}', 11.0)
SAID = ChatEntry(1, "assistant", '{"text":"two"}', 12.0)
CALL = ChatCall(1, "0", "tool", "look", "running", 11.5, input="{}", input_size=2)


def told(tmp_path: Path, story: Any) -> None:
    async def all_of_it() -> None:
        journal = await SqliteJournal.open(tmp_path / "runtime.db")
        try:
            await story(journal)
        finally:
            await journal.close()

    play(all_of_it())


def test_what_was_said_comes_back_in_order_with_its_calls_and_tokens(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_chat(ROW)
        later = replace(ROW, updated_at=12.0, provider="scripted", model="x")
        await journal.record_chat(later, [ASKED], [CALL], {"input_tokens": 5})
        done = replace(CALL, state="ok", ended_at=12.0, output='{"late":2}', output_size=10)
        await journal.record_chat(later, [SAID], [done], {"input_tokens": 1, "output_tokens": 2})
        assert list(await journal.chat_entries("chat_1")) == [ASKED, SAID]
        assert list(await journal.chat_calls("chat_1")) == [done]
        known = await journal.chat("chat_1")
        assert known is not None
        assert (known.messages, known.usage) == (2, {"input_tokens": 6, "output_tokens": 2})
        assert (known.updated_at, known.model) == (12.0, "x")
        assert await journal.last_chat_turn("chat_1") == 1
        assert await journal.first_words(["chat_1", "chat_2"]) == {"chat_1": ASKED.body}

    told(tmp_path, story)


def test_calls_stand_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_chat(ROW)
        await journal.record_chat(ROW, [], [replace(CALL, slot=at) for at in ("10", "2", "2/1", "1")], {})
        assert [call.slot for call in await journal.chat_calls("chat_1")] == ["1", "2", "2/1", "10"]

    told(tmp_path, story)


def test_large_values_are_kept_whole(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        long = '"' + "x" * 200_000 + '"'
        await journal.create_chat(ROW)
        entry = replace(ASKED, body=f'{{"text":{long}}}')
        await journal.record_chat(ROW, [entry], [replace(CALL, output=long)], {})
        assert list(await journal.chat_entries("chat_1")) == [entry]
        assert (await journal.chat_calls("chat_1"))[0].output == long

    told(tmp_path, story)


def test_conversations_are_listed_by_their_last_use_in_pages(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        for number in range(5):
            await journal.create_chat(replace(ROW, id=f"chat_{number}", updated_at=float(number)))
        await journal.create_chat(replace(ROW, id="chat_auto", source="automation"))
        seen: list[str] = []
        cursor = None
        for _ in range(3):
            page = await journal.chats(["chat"], 2, cursor)
            assert page.total == 5
            seen += [row.id for row in page.items]
            cursor = page.next_cursor
        assert seen == ["chat_4", "chat_3", "chat_2", "chat_1", "chat_0"]
        assert cursor is None

    told(tmp_path, story)


def test_the_latest_conversation_of_a_scope_is_that_of_a_person_with_the_agent(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        for number, more in enumerate(
            [{"scope": "north"}, {"scope": "north"}, {"scope": "south"}, {"scope": "north", "agent": "other"}]
        ):
            await journal.create_chat(replace(ROW, id=f"chat_{number}", updated_at=float(number), **more))
        await journal.create_chat(replace(ROW, id="chat_auto", scope="north", updated_at=9.0, source="automation"))
        found = await journal.latest_chat("/desk", "default", "north")
        assert found is not None
        assert found.id == "chat_1"
        assert await journal.latest_chat("/desk", "default", "east") is None

    told(tmp_path, story)


def test_a_deleted_conversation_is_gone_and_takes_nothing_more(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.create_chat(ROW)
        await journal.record_chat(ROW, [ASKED], [CALL], {})
        assert await journal.rename_chat("chat_1", "Late parcels")
        known = await journal.chat("chat_1")
        assert known is not None
        assert known.title == "Late parcels"
        assert await journal.delete_chat("chat_1")
        assert not await journal.delete_chat("chat_1")
        assert not await journal.rename_chat("chat_1", "x")
        assert await journal.chat("chat_1") is None
        assert list(await journal.chat_entries("chat_1")) == []
        assert list(await journal.chat_calls("chat_1")) == []
        with pytest.raises(RuntimeFault, match="no conversation chat_1"):
            await journal.record_chat(ROW, [SAID], [], {})

    told(tmp_path, story)


def test_a_draft_stands_for_a_message_until_it_is_whole(tmp_path: Path) -> None:
    def draft(text: str) -> ChatEntry:
        return ChatEntry(1, "draft", f'{{"text":"{text}"}}', 11.5)

    async def story(journal: SqliteJournal) -> None:
        await journal.create_chat(ROW)
        await journal.record_chat(ROW, [ASKED, draft("t")], [], {})
        event = ChatEntry(1, "event", '{"type":"warning"}', 11.6)
        await journal.record_chat(ROW, [event], [], {})
        assert [one.role for one in await journal.chat_entries("chat_1")] == ["user", "draft", "event"]
        await journal.record_chat(ROW, [draft("tw")], [], {})
        assert list(await journal.chat_entries("chat_1")) == [ASKED, event, draft("tw")]
        await journal.record_chat(ROW, [SAID], [], {})
        assert list(await journal.chat_entries("chat_1")) == [ASKED, event, SAID]
        known = await journal.chat("chat_1")
        assert known is not None
        assert known.messages == 2

    told(tmp_path, story)
