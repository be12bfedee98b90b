"""The scripted model's file (design 4)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from runtime_core.agents.scripted import ScriptedModel
from runtime_core.agents.turns import File, Message, ModelError, ModelUnusable, Reply, Turn, Usage


def load(tmp_path: Path, *replies: dict[str, Any]) -> ScriptedModel:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"replies": replies}))
    return ScriptedModel.load(path)


def ask(model: ScriptedModel, text: str = "hello", agent: str = "default", *more: Message) -> Reply:
    return asyncio.run(model.reply(Turn(agent, "You help.", (Message("user", text), *more))))


def refusal(path: Path) -> str:
    with pytest.raises(ModelUnusable) as caught:
        ScriptedModel.load(path)
    return str(caught.value)


def test_the_first_unused_fitting_reply_is_used(tmp_path: Path) -> None:
    model = load(
        tmp_path,
        {"agent": "other", "text": "not me"},
        {"match": "^refund", "text": "money"},
        {"text": "first"},
        {"agent": "default", "text": "second"},
    )
    assert ask(model).text == "first"
    assert ask(model, "refund please").text == "money"
    assert ask(model, "refund please").text == "second"
    assert ask(model, agent="other").text == "not me"


def test_repeat_keeps_a_reply(tmp_path: Path) -> None:
    model = load(tmp_path, {"text": "once"}, {"text": "always", "repeat": True}, {"text": "never"})
    assert [ask(model).text for _ in range(4)] == ["once", "always", "always", "always"]


def test_match_looks_at_the_last_user_or_tool_text(tmp_path: Path) -> None:
    model = load(tmp_path, {"match": "hello", "text": "wrong"}, {"match": "41", "text": "Done: {{last_tool_result}}!"})
    history = (Message("assistant", "hello"), Message("tool", '{"stores":41}'))
    assert ask(model, "hello", "default", *history).text == 'Done: {"stores":41}!'


def test_tool_calls_keep_their_digits_and_usage_is_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(
        '{"replies": [{"tool_calls": [{"name": "pay", "args": {"amount": 120.00, "id": 9007199254740993}},'
        ' {"name": "stop"}], "usage": {"input_tokens": 7}}]}'
    )
    reply = ask(ScriptedModel.load(path))
    assert [(call.name, call.args) for call in reply.tool_calls] == [
        ("pay", '{"amount":120.00,"id":9007199254740993}'),
        ("stop", "{}"),
    ]
    assert (reply.text, reply.usage) == ("", Usage(input_tokens=7))


@pytest.mark.parametrize("code", ["rate_limited", "unavailable", "bad_key"])
def test_a_scripted_failure(tmp_path: Path, code: str) -> None:
    model = load(tmp_path, {"error": code, "delay_ms": 1}, {"text": "after"})
    with pytest.raises(ModelError) as caught:
        ask(model)
    assert caught.value.code == code
    assert ask(model).text == "after"


def test_no_fitting_reply_shows_the_text_and_what_is_left(tmp_path: Path) -> None:
    model = load(tmp_path, {"text": "used"}, {"agent": "other", "match": "^refund", "text": "x"})
    ask(model)
    with pytest.raises(ModelError) as caught:
        ask(model, "where is my parcel?")
    message = caught.value.message
    for words in (str(tmp_path / "script.json"), '"default"', "where is my parcel?", '"other"', "/^refund/"):
        assert words in message


def test_a_text_is_said_in_pieces(tmp_path: Path) -> None:
    short, long = "It  is\nlate. ", "word " * 5000
    model = load(tmp_path, {"text": short}, {"text": long}, {"text": "", "tool_calls": [{"name": "stop"}]})
    for text, count in ((short, 3), (long, 385), ("", 0)):
        pieces = list[str]()
        turn = Turn("default", "", (Message("user", "x"),))
        reply = asyncio.run(model.reply(turn, lambda kind, piece, said=pieces: said.append(piece)))
        assert ("".join(pieces), reply.text, len(pieces)) == (text, text, count)


def test_which_files_it_takes_and_what_it_sees_of_them(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    replies = [{"match": r"a\.png, image/png\]$", "text": "Got {{files}}."}]
    path.write_text(json.dumps({"takes": ["application/pdf", "image/*"], "replies": replies}))
    model = ScriptedModel.load(path)
    kinds = ("application/pdf", "image/png", "video/mp4")
    assert [model.takes(kind) for kind in kinds] == [True, True, False]
    files = (File("a.pdf", "application/pdf", ""), File("a.png", "image/png", ""))
    turn = Turn("default", "", (Message("user", "Look.", files=files),))
    assert asyncio.run(model.reply(turn)).text == "Got a.pdf, a.png."
    assert load(tmp_path, {"text": "x"}).takes("video/mp4")


def test_parallel_turns_never_share_a_reply(tmp_path: Path) -> None:
    model = load(tmp_path, *({"text": str(number), "delay_ms": 1} for number in range(20)))

    async def all_at_once() -> list[Reply]:
        turn = Turn("default", "", (Message("user", "x"),))
        return await asyncio.gather(*(model.reply(turn) for _ in range(20)))

    assert {reply.text for reply in asyncio.run(all_at_once())} == set(map(str, range(20)))


@pytest.mark.parametrize("match", ["(a|aa)+$", "((a|aa)+)+$"])
def test_a_match_that_takes_for_ever_fails_its_turn_and_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, match: str
) -> None:
    monkeypatch.setattr("runtime_core.agents.scripted.MATCH_S", 0.3)
    model = load(tmp_path, {"match": match, "text": "never"}, {"text": "other"})

    async def beside() -> int:
        turn = asyncio.create_task(model.reply(Turn("default", "", (Message("user", "a" * 5000 + "!"),))))
        ticks = 0
        while not turn.done():
            await asyncio.sleep(0.01)
            ticks += 1
        with pytest.raises(ModelError, match=r"script\.json.*Write a simpler match") as caught:
            turn.result()
        assert caught.value.code == "unavailable"
        return ticks

    assert asyncio.run(beside()) > 3


def test_a_missing_or_broken_file_is_named_with_its_line(tmp_path: Path) -> None:
    assert str(tmp_path / "none.json") in refusal(tmp_path / "none.json")
    assert "does not exist" in refusal(tmp_path)
    path = tmp_path / "script.json"
    path.write_text('{"replies": [\n  {"text" "x"}\n]}')
    assert f"{path}:2:11" in refusal(path)


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ([], "whole file"),
        ({}, "replies"),
        ({"replies": [{"text": "a"}, {"text": 5}]}, "replies[1].text"),
        ({"replies": [{}]}, "replies[0]"),
        ({"replies": [{"text": "a", "macth": "x"}]}, "replies[0].macth"),
        ({"replies": [{"text": "a", "match": "("}]}, "replies[0].match"),
        ({"replies": [{"text": "a", "repeat": "yes"}]}, "replies[0].repeat"),
        ({"replies": [{"text": "a", "delay_ms": -1}]}, "replies[0].delay_ms"),
        ({"replies": [{"error": "tired"}]}, "replies[0].error"),
        ({"replies": [{"tool_calls": [{"args": {}}]}]}, "replies[0].tool_calls[0].name"),
        ({"replies": [{"tool_calls": [{"name": "x", "args": []}]}]}, "replies[0].tool_calls[0].args"),
        ({"replies": [{"text": "a", "usage": {"tokens": "7"}}]}, "replies[0].usage.tokens"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(tmp_path: Path, content: object, key: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(content))
    assert f"{path} [{key}]" in refusal(path)
