"""Turns of conversations on a runtime: what is told while they go on, and what is kept of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.unit.chat.talking import talking
from tests.unit.engine.workshop import Repo, play


def desk(root: Path, **manifest: Any) -> Repo:
    repo = Repo(root, **manifest)
    repo.agent("default", tools=["look"])
    repo.tool("look", ts="return {late: params.id};", effect="read")
    return repo


def test_an_answer_is_told_in_pieces_and_kept(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk")
    script = repo.script({"text": "Two are late."})

    async def story() -> None:
        async with talking(repo, tmp_path / "data", script) as talker:
            told = await talker.say("Which are late?")
            assert [one["type"] for one in told] == ["init", *["text_delta"] * (len(told) - 2), "done"]
            assert talker.text(told) == "Two are late."
            assert told[-1]["reason"] == "model_stop"
            session = await talker.session()
            assert [(one["role"], one["text"]) for one in session["messages"]] == [
                ("user", "Which are late?"),
                ("assistant", "Two are late."),
            ]
            assert session["title"] == "Which are late?"

    play(story())
