"""What providers are asked, through their real clients, and what is made of their replies."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from runtime_core.agents.turns import File, Message, Model, ToolCall, Turn
from tests.support.protocols import SIGNATURE
from tests.support.providers import KEY, Providers, provider_server
from tests.unit.agents.asking import FIND, ODD, a_turn, answered, ask, no_key, with_model

At = Callable[[Providers, str], str]

ALL = ["anthropic", "google", "openai", "responses"]
LOOKING: Mapping[str, Any] = {
    "match": "Where",
    "text": "I am looking.",
    "tool_calls": [{"name": FIND.name, "args": {"id": 9007199254740993}}, {"name": ODD.name, "args": {}}],
    "usage": {"input_tokens": 50, "output_tokens": 7, "cached_tokens": 20},
}
LATE: Mapping[str, Any] = {"text": "It is late: {{last_tool_result}}"}
HELLO: Mapping[str, Any] = {"text": "Hello there, person.", "repeat": True}


def parts(body: Any) -> str:
    """All of a request as text, to look for something wherever a protocol has its place for it."""
    return json.dumps(body)


@pytest.mark.parametrize("protocol", ALL)
def test_a_reply_is_heard_in_pieces_and_holds_text_calls_and_tokens(protocol: str, at: At) -> None:
    heard: list[tuple[str, str]] = []
    with provider_server([LOOKING]) as far:
        far.thinking = "First I look into the store."
        reply = ask(at(far, protocol), heard=lambda kind, piece: heard.append((kind, piece)))
    assert reply.text == "I am looking."
    assert reply.reasoning == "First I look into the store."
    assert "".join(piece for kind, piece in heard if kind == "text") == reply.text
    assert "".join(piece for kind, piece in heard if kind == "reasoning") == reply.reasoning
    assert len(heard) > 4
    called = [(call.name, json.loads(call.args)) for call in reply.tool_calls]
    assert called == [(FIND.name, {"id": 9007199254740993}), (ODD.name, {})]
    assert len({call.id for call in reply.tool_calls}) == 2
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (50, 7, 20)


@pytest.mark.parametrize("protocol", ALL)
def test_prompt_tools_and_the_limit_of_output_are_sent(protocol: str, at: At) -> None:
    with provider_server([HELLO]) as far:
        ask(at(far, protocol))
    sent = parts(far.seen[-1].body)
    for words in ("You help people.", "Where is it?", FIND.name, "Finds parcels.", "16384"):
        assert words in sent
    assert ODD.name not in sent
    assert '"strict": true' not in sent


@pytest.mark.parametrize("protocol", ALL)
def test_results_go_back_with_their_calls_in_whatever_order_they_came(protocol: str, at: At) -> None:
    async def talk(model: Model) -> str:
        turn = a_turn()
        turn = answered(turn, await model.reply(turn), '{"state":"late"}', '{"sent":true}')
        return (await model.reply(turn)).text

    with provider_server([LOOKING, LATE]) as far:
        said = with_model(at(far, protocol), talk)
    assert said.startswith("It is late: {")
    sent = parts(far.seen[-1].body)
    assert "late" in sent
    assert "sent" in sent


@pytest.mark.parametrize("protocol", ["anthropic", "google", "responses"])
def test_thoughts_go_back_signed_to_the_model_that_had_them_and_to_no_other(protocol: str, at: At) -> None:
    async def talk(model: Model) -> Turn:
        return answered(a_turn(), await model.reply(a_turn()), "{}", "{}")

    with provider_server([LOOKING, HELLO]) as far:
        far.thinking = "Secret thoughts."
        spec = at(far, protocol)
        turn = with_model(spec, talk)
        far.thinking = ""
        ask(spec, turn)
        assert SIGNATURE in parts(far.seen[-1].body)
        ask(far.spec("openai", "another"), turn)
        sent = parts(far.seen[-1].body)
        assert SIGNATURE not in sent
        assert "Secret thoughts" not in sent
        assert "I am looking." in sent
        assert FIND.name in sent


HISTORY = (
    Message("assistant", "", (ToolCall("a", "{}"), ToolCall("a", "{}"), ToolCall("b", '{"x":1}'))),
    Message("tool", '{"first":1}', call=ToolCall("a", "{}")),
    Message("tool", '{"second":2}', call=ToolCall("a", "{}")),
    Message("tool", '{"third":3}', call=ToolCall("b", '{"x":1}')),
    Message("assistant", "", ()),
    Message("user", "And now?"),
)
"""As the scripted model and triggers leave it: nothing has an id."""


@pytest.mark.parametrize("protocol", ALL)
def test_calls_that_no_provider_made_are_told_with_ids_of_their_own(protocol: str, at: At) -> None:
    with provider_server([{"match": "^And now", "text": "Done.", "repeat": True}]) as far:
        spec = at(far, protocol)
        assert ask(spec, a_turn("Where is it?", *HISTORY)).text == "Done."
        ask(spec, a_turn("Where is it?", *HISTORY, Message("assistant", "Done."), Message("user", "And now again?")))
        before, after = (parts(one.body) for one in far.seen)
    for result in ("first", "second", "third"):
        assert result in before
    shared = before[: before.index("And now")]
    assert after.startswith(shared) or protocol == "google"


@pytest.mark.parametrize("protocol", ALL)
def test_calls_that_were_cut_off_are_told_as_such(protocol: str, at: At) -> None:
    calls = (ToolCall("a", "{}"), ToolCall("b", "not JSON"))
    history = (Message("assistant", "x", calls), Message("tool", "{}", call=calls[0]), Message("user", "And now?"))
    with provider_server([HELLO]) as far:
        assert ask(at(far, protocol), a_turn("Where?", *history)).text == HELLO["text"]
    assert "There is no result" in parts(far.seen[-1].body)


def test_a_reply_kept_in_a_form_that_nobody_reads_any_more_is_told_plainly() -> None:
    said = Message("assistant", "Before.", (), raw='[{"kind":"from another time"}]')
    with provider_server([HELLO]) as far:
        ask(far.spec("anthropic"), a_turn("Where?", said, Message("user", "And now?")))
    assert "Before." in parts(far.seen[-1].body)


PNG = base64.b64encode(b"\x89PNG\r\n").decode()


def file(name: str, mime_type: str, content: bytes = b"\x89PNG\r\n") -> File:
    return File(name, mime_type, base64.b64encode(content).decode())


@pytest.mark.parametrize("protocol", ALL)
def test_files_are_parts_of_the_message(protocol: str, at: At) -> None:
    files = (
        file("photo.png", "image/png"),
        file("list.csv", "text/csv; charset=utf-8", "größe,1".encode()),
        file("odd.txt", "text/plain", b"\xff\xfe\x00"),
        file("sound.zip", "application/zip"),
    )
    with provider_server([HELLO]) as far:
        ask(at(far, protocol), a_turn(files=files))
    sent = json.dumps(far.seen[-1].body, ensure_ascii=False)
    assert PNG in sent
    for words in ("photo.png", "größe,1", "odd.txt", "it is not UTF-8 text", "this model is not shown such files"):
        assert words in sent


@pytest.mark.parametrize("protocol", ALL)
def test_a_script_sees_files_through_a_provider_as_it_would_alone(protocol: str, at: At) -> None:
    script = {"match": r"\[file: photo\.png, image/png\]", "text": "I see {{files}}."}
    with provider_server([script]) as far:
        files = [file("photo.png", "image/png"), file("sound.zip", "application/zip")]
        assert ask(at(far, protocol), a_turn(files=files)).text == "I see photo.png."


@pytest.mark.parametrize(("protocol", "takes"), [("anthropic", True), ("google", True), ("openai", False)])
def test_who_is_shown_a_pdf(protocol: str, takes: bool, at: At) -> None:
    async def asked(model: Model) -> bool:
        await model.reply(a_turn(files=[file("paper.pdf", "application/pdf")]))
        return model.takes("application/pdf")

    with provider_server([HELLO]) as far:
        assert with_model(at(far, protocol), asked) == takes
    assert (PNG in parts(far.seen[-1].body)) == takes


def test_a_provider_without_pictures_takes_text_all_the_same() -> None:
    def asked(spec: str) -> tuple[bool, bool]:
        async def both(model: Model) -> tuple[bool, bool]:
            return model.takes("image/png"), model.takes("text/markdown; charset=utf-8")

        return with_model(spec, both)

    assert asked("deepseek:deepseek-chat") == (False, True)
    assert asked("anthropic:x") == (True, True)


def test_an_empty_message_is_still_one() -> None:
    with provider_server([HELLO]) as far:
        assert ask(far.spec("anthropic"), a_turn("  ")).text == HELLO["text"]


@pytest.mark.parametrize("protocol", ALL)
def test_only_what_a_provider_needs_to_know_is_sent(
    protocol: str, at: At, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "OPENAI_ORG_ID"):
        monkeypatch.setenv(name, "sk-of-somebody-else")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Private: sk-of-somebody-else")
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/elsewhere")
    with provider_server([HELLO]) as far:
        ask(at(far, protocol))
    (seen,) = far.seen
    assert "sk-of-somebody-else" not in str(seen)
    assert sum(KEY in value for value in seen.headers.values()) == 1
    assert seen.headers["user-agent"] == "operator-inbox"
    assert not [name for name in seen.headers if name.startswith(("x-stainless", "x-goog-api-client"))]


def test_a_server_of_ones_own_needs_no_key() -> None:
    with provider_server([HELLO], key=None) as far:
        for provider in ("openai", "anthropic", "ollama"):
            assert ask(far.spec(provider), secret=no_key).text == HELLO["text"]
    assert not [seen for seen in far.seen if {"authorization", "x-api-key"} & set(seen.headers)]


def test_an_address_a_repository_names_gets_no_key_but_the_one_it_names() -> None:
    wanted: list[str] = []

    def secret(name: str) -> str:
        wanted.append(name)
        return KEY

    with provider_server([HELLO], key=None) as far:
        main: dict[str, object] = {"provider": "openai", "model": "m", "baseUrl": far.base_url("openai")}
        ask(None, manifest={"models": {"main": main}}, secret=secret)
        assert KEY not in str(far.seen[-1])
        ask(None, manifest={"models": {"main": {**main, "credentials": "env:THEIRS"}}}, secret=secret)
        assert far.seen[-1].headers["authorization"] == f"Bearer {KEY}"
    assert wanted == ["THEIRS"]


def test_an_address_can_be_left_to_whoever_runs_it() -> None:
    with provider_server([HELLO], key=None) as far:
        values = {"WHERE": far.base_url("openai")}
        main = {"provider": "openai", "model": "m", "baseUrl": "env:WHERE"}
        assert ask(None, manifest={"models": {"main": main}}, secret=values.get).text == HELLO["text"]
