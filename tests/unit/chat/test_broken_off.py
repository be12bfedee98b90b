"""Turns whose model does not come to an end of what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.support.providers import KEY, Fault, provider_server
from tests.unit.chat.talking import Talker, of_type, talking
from tests.unit.chat.test_turns import desk
from tests.unit.engine.workshop import play


@pytest.mark.parametrize("then", ["cut", "end", "silence"])
def test_what_was_said_until_a_reply_breaks_off_is_kept_once(
    then: Literal["cut", "end", "silence"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    repo = desk(tmp_path / "desk")

    async def story() -> None:
        with provider_server([{"text": "Two are late, and one is lost.", "repeat": True}]) as far:
            far.faults += [Fault(after=4, then=then)]
            async with talking(repo, tmp_path / "data", model=far.spec("openai")) as talker:
                pieces: list[str] = []
                async for one in talker.events("hi"):
                    pieces += [one["content"]] if one["type"] == "text_delta" else []
                    if then == "silence" and len(pieces) == 3:
                        await talker.runtime.chats.stop(str(talker.session_id))
                session = await talker.session()
                said = [(one["role"], one["text"]) for one in session["messages"]]
                assert said == [("user", "hi"), ("assistant", "".join(pieces))]
                assert [one["type"] for one in session["turns"][0]["events"]].count("text_delta") == 1
                assert Talker.text(await talker.say("go on")) == "Two are late, and one is lost."
                told = [one["content"] for one in far.seen[-1].body["messages"] if one["role"] == "assistant"]
                assert told == ["".join(pieces)]

    play(story())


def test_an_empty_answer_is_told_as_such(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"text": " "}, {"text": "Yes."})

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            warnings = of_type(await talker.say("Is it late?"), "warning")
            assert [one["message"] for one in warnings] == ["The model gave an empty answer."]
            assert of_type(await talker.say("Is it late?"), "warning") == []

    play(story())
