"""A damaged value concerns its conversation only, of which all else is still shown."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from inbox_app.gateway.chat_events import session_of, turn_of
from tests.unit.chat.talking import talking
from tests.unit.chat.test_turns import calls, desk
from tests.unit.engine.workshop import play

SESSION = "UPDATE chat_session SET {} WHERE id = '{{id}}'"
SPAN = "UPDATE chat_span SET {} WHERE session_id = '{{id}}'"
LOST = "is damaged: a value of it is missing or not what was stored"


def body(role: str, text: str) -> str:
    return f"UPDATE chat_message SET body = '{text}' WHERE session_id = '{{id}}' AND role = '{role}'"


@pytest.mark.parametrize(
    "statement",
    [
        SESSION.format('usage = \'{{"input_tokens":"x"}}\''),
        SESSION.format("usage = '[1]'"),
        SESSION.format("usage = '{{'"),
        SESSION.format("created_at = 'now'"),
        SESSION.format("messages = 'many'"),
        SESSION.format("context = '{{'"),
        SESSION.format("title = x'00'"),
        SESSION.format("title = NULL") + ";" + body("user", "{{"),
        body("user", '{{"text":5}}'),
        body("user", '{{"text":"go","files":[{{}}]}}'),
        body("user", '{{"text":"go","files":5}}'),
        body("assistant", '{{"text":"","tool_calls":5}}'),
        body("assistant", '{{"text":"","tool_calls":[{{"name":"look"}}]}}'),
        body("tool", '{{"text":"","call":"look"}}'),
        body("end", '{{"reason":"model_stop","usage":{{"input_tokens":"x"}}}}'),
        body("end", "[]"),
        SPAN.format("slot = 'x'"),
        SPAN.format("turn = 'x'"),
        SPAN.format("state = 'odd'"),
        SPAN.format("started_at = 'x'"),
        SPAN.format("output_size = 'x', output = NULL"),
        SPAN.format("input = '{{', output = '{{'"),
    ],
)
def test_a_damaged_conversation_is_listed_and_shown(tmp_path: Path, statement: str) -> None:
    repo = desk(tmp_path / "desk", calls("look", match="^go", id=1), {"text": "done", "repeat": True})

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            await talker.say("go")
            damaged_id, talker.session_id = talker.session_id, None
            await talker.say("hello")
            db = sqlite3.connect(tmp_path / "data" / "runtime.db", isolation_level=None)
            db.executescript(statement.format(id=damaged_id))
            db.close()
            listed = (await talker.runtime.chats.history())["sessions"]
            assert {one["id"] for one in listed} == {damaged_id, talker.session_id}
            assert all(session_of(one).id for one in listed)
            assert damaged_id is not None
            shown = await talker.runtime.chats.session(damaged_id)
            json.dumps(shown)
            assert [turn_of(turn).number for turn in shown["turns"]] == [1]
            assert "done" in str(shown["messages"]) or LOST in str(shown["messages"])
            await talker.say("And this one goes on.")

    play(story())
