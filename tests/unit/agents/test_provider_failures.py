"""What is said and done when a provider does not answer as it should."""

from __future__ import annotations

import asyncio
import errno
import gzip
import logging
import math
import os
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.exceptions import UserError

from runtime_core.agents import provider_lines
from runtime_core.agents.clock import left, limit, standing_still
from runtime_core.agents.fallback import Fallback
from runtime_core.agents.models import Models
from runtime_core.agents.provider_errors import told
from runtime_core.agents.provider_stream import Ear
from runtime_core.agents.providers import PROVIDERS, ModelSpec, Provider
from runtime_core.agents.turns import Heard, Model, ModelError, Reply, Turn, unheard
from runtime_core.wire.json import loads
from runtime_core.wire.settings import DefaultModels
from tests.support.providers import KEY, Fault, Providers, provider_server
from tests.support.web import Says, web_server
from tests.unit.agents.asking import FIND, a_turn, ask, failure, no_key, with_model

pytestmark = pytest.mark.usefixtures("quick")

At = Callable[[Providers, str], str]
ALL = ["anthropic", "google", "openai", "responses"]
HELLO: Mapping[str, Any] = {"text": "Hello there, person.", "repeat": True}


@pytest.mark.parametrize("protocol", ALL)
@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (401, "bad_key", "secret set"),
        (403, "bad_key", "refused the key"),
        (429, "rate_limited", "is asked too much: out of order"),
        (400, "refused", "refused the request: out of order"),
        (404, "refused", "is not known there"),
        (413, "refused", "too long for this model"),
        (422, "refused", "refused the request"),
        (500, "unavailable", "is not available"),
        (503, "unavailable", "is not available"),
        (529, "unavailable", "is not available"),
    ],
)
def test_a_status_is_told_in_words(protocol: str, status: int, code: str, words: str, at: At) -> None:
    with provider_server([HELLO]) as far:
        far.faults += [Fault(status) for _ in range(3)]
        spec = at(far, protocol)
        error = failure(spec)
    assert error.code == code
    assert words in error.message
    assert error.message.startswith(spec)
    assert "out of order" in error.message


@pytest.mark.parametrize("protocol", ALL)
@pytest.mark.parametrize(
    ("fault", "times"),
    [
        (Fault(503), 2),
        (Fault(429, headers={"Retry-After": "0"}), 2),
        (Fault(after=1, then="cut"), 1),
    ],
)
def test_what_passes_is_tried_again_twice(protocol: str, fault: Fault, times: int, at: At) -> None:
    with provider_server([HELLO]) as far:
        far.faults += [fault] * times
        heard: list[str] = []
        if fault.after and protocol == "google":  # its first event says something already
            return
        assert ask(at(far, protocol), heard=lambda _, piece: heard.append(piece)).text == HELLO["text"]
        assert "".join(heard) == HELLO["text"]
        assert len(far.seen) == times + 1


@pytest.mark.parametrize(
    ("fault", "requests"),
    [
        (Fault(503), 3),
        (Fault(503, headers={"Retry-After": "60"}), 1),
        (Fault(429), 1),
        (Fault(429, headers={"Retry-After": "60"}), 1),
        (Fault(429, body=b'{"error": {"message": "pay", "code": "insufficient_quota"}}'), 1),
        (Fault(400), 1),
        (Fault(401), 1),
    ],
)
def test_nobody_is_asked_again_in_vain(fault: Fault, requests: int) -> None:
    with provider_server([HELLO]) as far:
        far.faults += [fault] * 5
        error = failure(far.spec("openai"))
        assert len(far.seen) == requests
    if fault.headers:
        assert error.retry_after_s == 60


SPEAKING: Mapping[str, int] = {"anthropic": 4, "google": 1, "openai": 2, "responses": 4}
"""After how many events something was heard, and there is more to come."""


@pytest.mark.parametrize("then", ["cut", "end"])
@pytest.mark.parametrize("protocol", ALL)
def test_a_reply_that_breaks_off_is_none_and_what_was_heard_is_not_said_twice(
    protocol: str, then: Literal["cut", "end"], at: At
) -> None:
    heard: list[str] = []
    with provider_server([HELLO]) as far:
        far.faults += [Fault(after=SPEAKING[protocol], then=then)]
        error = failure(at(far, protocol), heard=lambda _, piece: heard.append(piece))
        assert len(far.seen) == 1
    assert error.code == "unavailable"
    assert "".join(heard) == "Hello the"


@pytest.mark.parametrize("protocol", ALL)
def test_a_wrong_key_is_named_but_not_shown(protocol: str, at: At, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "sk-wrong-987654321"
    with provider_server([HELLO]) as far:
        spec = at(far, protocol)
        error = failure(spec, secret={f"{name}_API_KEY": wrong for name in ("ANTHROPIC", "GOOGLE", "OPENAI")}.get)
    assert error.code == "bad_key"
    assert "***" in error.message
    assert f"operator-inbox secret set {spec.partition(':')[0].upper()}_API_KEY" in error.message
    assert wrong not in f"{error!r} {error} {error.__cause__!r} {error.__context__!r}"
    assert wrong not in caplog.text


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google", "mistral"])
def test_a_missing_key_is_named_with_the_command_that_stores_it(provider: str) -> None:
    error = failure(f"{provider}:x", secret=no_key)
    assert error.code == "bad_key"
    assert error.message.startswith(f"{provider}:x cannot be asked: there is no {provider.upper()}_API_KEY.")
    assert f"operator-inbox secret set {provider.upper()}_API_KEY" in error.message


def test_a_keychain_that_does_not_answer_is_named_as_the_problem() -> None:
    async def story() -> None:
        models = Models("openai:x", DefaultModels(), no_key, lambda: "The keychain did not answer. Unlock it.")
        model = await models.choose("run_1", {}, Path("/nowhere"))
        assert model is not None
        with pytest.raises(ModelError) as caught:
            await model.reply(a_turn())
        said = "OPENAI_API_KEY is not in the environment. The keychain did not answer. Unlock it."
        assert (caught.value.code, caught.value.message) == ("bad_key", f"openai:x cannot be asked: {said}")

    asyncio.run(story())


def test_google_tells_a_wrong_key_in_its_own_way() -> None:
    body = b'{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": ['
    body += b'{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}}'
    with provider_server([HELLO]) as far:
        far.faults += [Fault(400, body=body)]
        assert failure(far.spec("google")).code == "bad_key"


def test_an_address_that_got_no_key_says_how_it_would_get_one() -> None:
    with provider_server([HELLO]) as far:
        main = {"provider": "openai", "model": "m", "baseUrl": far.base_url("openai")}
        error = failure(None, manifest={"models": {"main": main}})
    assert '"credentials": "env:NAME" in amodal.json [models.main]' in error.message


def test_a_key_does_not_go_through_the_network_in_plain_sight() -> None:
    main = {"provider": "openai", "model": "x", "baseUrl": "http://192.0.2.1/v1", "credentials": "env:MINE"}
    error = failure(None, manifest={"models": {"main": main}})
    assert error.code == "refused"
    assert "Use https://" in error.message


@pytest.mark.parametrize("key", [None, KEY])
def test_a_server_of_ones_own_is_asked_without_a_key_that_would_be_in_plain_sight(key: str | None) -> None:
    with provider_server([HELLO], key=key) as far:
        spec = far.spec("openai").replace("127.0.0.1", "0.0.0.0")
        if key is None:
            assert ask(spec).text == HELLO["text"]
        else:
            assert "None was sent: it would go through the network in plain sight" in failure(spec).message
        assert "authorization" not in far.seen[-1].headers


@pytest.mark.parametrize("key", [f"{KEY}\r\n", f" {KEY}", f"{KEY[:5]}\n{KEY[5:]}", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_named_but_not_shown(key: str) -> None:
    error = failure("anthropic:x", secret={"ANTHROPIC_API_KEY": key}.get)
    assert error.code == "bad_key"
    assert "ANTHROPIC_API_KEY holds a space, a line break or another character" in error.message
    assert key.strip()[:5] not in error.message


def test_a_key_of_spaces_is_none() -> None:
    assert "there is no ANTHROPIC_API_KEY" in failure("anthropic:x", secret={"ANTHROPIC_API_KEY": " \n"}.get).message


@pytest.mark.parametrize("protocol", ALL)
def test_a_key_that_a_model_repeats_is_not_passed_on(protocol: str, at: At) -> None:
    heard: list[str] = []
    call = {"name": FIND.name, "args": {"id": KEY}}
    with provider_server([{"text": f"Is it {KEY}? Yes, sk", "tool_calls": [call]}]) as far:
        far.thinking = f"I was given {KEY}."
        reply = ask(at(far, protocol), heard=lambda kind, piece: heard.append(piece) if kind == "text" else None)
    assert reply.text == "".join(heard) == "Is it ***? Yes, sk"
    assert loads(reply.tool_calls[0].args) == {"id": "***"}
    assert KEY not in f"{reply!r}"


@given(st.lists(st.sampled_from(["sk", "-test-", "0123", "456789", "abcdef", KEY, " ", "s", "k"]), max_size=30))
def test_a_key_is_found_in_whatever_pieces_it_comes(pieces: list[str]) -> None:
    heard: list[str] = []
    ear = Ear(lambda _, piece: heard.append(piece), KEY)
    for piece in pieces:
        ear.say("text", piece)
    ear.end()
    assert "".join(heard) == "".join(ear.text) == "".join(pieces).replace(KEY, "***")


@pytest.mark.parametrize("provider", ["anthropic", "google", "openai"])
def test_no_key_follows_a_redirect(provider: str) -> None:
    with provider_server([HELLO]) as far, web_server() as thief:
        far.faults += [Fault(307, headers={"Location": f"{thief.url}/v1"}, body=b"") for _ in range(3)]
        error = failure(far.spec(provider))
    assert not thief.seen
    assert thief.url in error.message


@pytest.mark.parametrize("provider", ["anthropic", "google", "openai"])
def test_a_server_that_does_not_run_is_named_with_its_address(provider: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        error = failure(f"{provider}:x@{address}")
    assert error.code == "unavailable"
    assert error.message.startswith(f"{provider}:x@{address} cannot be reached: {os.strerror(errno.ECONNREFUSED)}. ")
    assert "Check that the server runs" in error.message


def test_ollama_that_does_not_run_is_no_matter_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        base_url = f"http://localhost:{taken.getsockname()[1]}/v1"
    monkeypatch.setitem(PROVIDERS, "ollama", Provider(base_url, needs_key=False))  # pyright: ignore[reportArgumentType]
    assert failure("ollama:x").message.endswith(". Check that ollama runs on this computer.")


def test_whatever_a_provider_says_ends_as_a_sentence() -> None:
    error = UserError("it takes no pictures")
    message = told(error, ModelSpec("openai", "x", "--model"), None).message
    assert message == "openai:x cannot be asked this: it takes no pictures."


def test_a_name_nobody_has_is_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*given: object, **more: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = failure("openai:x@https://no-such-host.invalid/v1")
    assert error.code == "unavailable"
    assert "cannot be reached: Name or service not known. Check" in error.message


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5h://127.0.0.1:9", "socks://127.0.0.1:9"])
def test_a_proxy_does_not_stand_before_this_computer(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy)
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    with provider_server([HELLO]) as far:
        assert ask(far.spec("openai")).text == HELLO["text"]


@pytest.mark.parametrize("proxy", ["socks5h://127.0.0.1:9", "socks://127.0.0.1:9"])
def test_a_proxy_that_is_not_spoken_is_named_as_the_problem(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    error = failure("openai:x@https://h.example/v1")
    assert error.code == "unavailable"
    assert "cannot be asked from here: the proxy that the environment names (ALL_PROXY" in error.message


def test_nobody_asks_the_metadata_service_of_a_cloud() -> None:
    error = failure("openai:x@http://169.254.169.254/v1", secret=no_key)
    assert "metadata service" in error.message


@pytest.mark.parametrize("provider", ["anthropic", "google", "openai"])
@pytest.mark.parametrize("body", ["<html>Welcome</html>", "data: {not json}\n\n", "event: x\ndata: 5\n\n", ""])
def test_somebody_who_does_not_speak_the_protocol_is_found_out(provider: str, body: str) -> None:
    says = Says(body, headers={"Content-Type": "text/event-stream"})
    with web_server(lambda seen: says) as web:
        base = web.url + ("/v1" if provider == "openai" else "")
        error = failure(f"{provider}:x@{base}")
    assert error.code in ("unavailable", "no_reply")
    assert error.message.startswith(f"{provider}:x@")


@pytest.mark.parametrize("provider", ["anthropic", "google", "openai"])
def test_a_reply_without_an_end_has_one(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_lines, "_REPLY_LIMIT", 1024 * 1024)
    says = Says("data: " + "x" * 2 * 1024 * 1024, headers={"Content-Type": "text/event-stream"})
    with web_server(lambda seen: says) as web:
        error = failure(f"{provider}:x@{web.url}")
    assert error.code == "unavailable"
    assert "the answer is larger than 1 MB" in error.message


def test_nothing_packed_is_asked_for_or_unpacked() -> None:
    says = Says(gzip.compress(b"data: {}"), headers={"Content-Type": "text/event-stream", "Content-Encoding": "gzip"})
    with web_server(lambda seen: says) as web:
        assert "packed, which was not asked for" in failure(f"openai:x@{web.url}").message
        assert web.last.headers["accept-encoding"] == "identity"


def test_silence_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_lines, "SILENCE_S", 0.3)
    with provider_server([HELLO]) as far:
        far.faults += [Fault(after=1) for _ in range(3)]
        error = failure(far.spec("anthropic"))
        assert len(far.seen) == 1
    assert (error.code, "did not answer in time" in error.message) == ("unavailable", True)


def test_the_next_model_is_asked_while_there_is_time_if_one_is_silent() -> None:
    async def twice(model: Model) -> list[str]:
        first = await model.reply(a_turn())
        async with limit(6):
            second = await model.reply(a_turn())
        return [first.text, second.text]

    with provider_server([HELLO]) as far, provider_server([{"text": "I am here.", "repeat": True}]) as near:
        far.faults += [Fault(), Fault(is_mute=True)]
        first = {"provider": "openai", "model": "m", "baseUrl": far.base_url("openai"), "credentials": "env:A"}
        main = {**first, "fallback": {**first, "baseUrl": near.base_url("openai")}}
        assert with_model(None, twice, manifest={"models": {"main": main}}) == [HELLO["text"], "I am here."]
        assert far.left.wait(10)


def test_the_time_that_is_left_is_that_of_the_first_limit() -> None:
    async def story() -> None:
        assert left() == math.inf
        async with limit(60), limit(None), limit(900):
            assert 0 < left() <= 60
            with standing_still():
                assert left() == math.inf
            assert 0 < left() <= 60

    asyncio.run(story())


@pytest.mark.parametrize("protocol", ALL)
def test_whoever_stops_listening_hangs_up_at_once(protocol: str, at: At) -> None:
    async def stop(model: Model) -> None:
        heard = asyncio.Event()
        asking = asyncio.create_task(model.reply(a_turn(), lambda kind, piece: heard.set()))
        await heard.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.to_thread(far.left.wait, 10)

    with provider_server([HELLO]) as far:
        far.faults += [Fault(after=SPEAKING[protocol])]
        with_model(at(far, protocol), stop)


def test_a_limit_of_output_that_a_model_refuses_is_left_out_from_then_on() -> None:
    refusal = Fault(400, "max_tokens: 16384 > 8192, which is the maximum")

    async def twice(model: Model) -> None:
        await model.reply(a_turn())
        await model.reply(a_turn())

    with provider_server([HELLO]) as far:
        far.faults += [refusal]
        with_model(far.spec("openai"), twice)
    assert ["max_tokens" in seen.body for seen in far.seen] == [True, False, False]


def test_a_conversation_that_is_too_long_does_not_take_the_limit_away() -> None:
    refusal = Fault(400, "prompt is too long: 250000 tokens > 200000 maximum")

    async def twice(model: Model) -> None:
        with pytest.raises(ModelError, match="too long for this model"):
            await model.reply(a_turn())
        await model.reply(a_turn())

    with provider_server([HELLO]) as far:
        far.faults += [refusal, refusal]
        with_model(far.spec("anthropic"), twice)
    assert far.seen[-1].body["max_tokens"] == 16384


def test_a_reply_that_was_cut_off_says_so() -> None:
    with provider_server([HELLO]) as far:
        far.is_cut_off = True
        heard: list[str] = []
        reply = ask(far.spec("openai"), heard=lambda _, piece: heard.append(piece))
    assert reply.text.startswith(f"{HELLO['text']}\n\n[The reply was cut off")
    assert "".join(heard) == reply.text
    assert reply.is_cut_off


def test_looking_for_a_key_and_the_first_request_hold_nobody_up() -> None:
    def slow(name: str) -> str:
        time.sleep(0.3)
        return KEY

    async def beside(model: Model) -> float:
        asking = asyncio.create_task(model.reply(a_turn()))
        ticks = 0
        while not asking.done():
            await asyncio.sleep(0.01)
            ticks += 1
        await asking
        return ticks

    with provider_server([HELLO]) as far:
        assert with_model(far.spec("anthropic"), beside, secret=slow) > 5


# --- Fallbacks ---


class Said:
    """Implements `Model`: says something, and fails then or answers."""

    provider = "test"

    def __init__(self, name: str, code: str = "", piece: str = "") -> None:
        self.name = name
        self._code = code
        self._piece = piece
        self.asked = 0

    def takes(self, mime_type: str) -> bool:
        return True

    async def reply(self, turn: Turn, heard: Heard = unheard) -> Reply:
        self.asked += 1
        if self._piece:
            heard("text", self._piece)
        if self._code:
            raise ModelError(self._code, f"{self.name} is {self._code}.")
        return Reply(self.name)


@pytest.mark.parametrize("code", ["rate_limited", "unavailable", "bad_key"])
def test_another_model_is_asked_when_one_cannot_answer(code: str) -> None:
    first, second, third = Said("a", code), Said("b", code), Said("c")
    assert asyncio.run(Fallback([first, second, third]).reply(a_turn())).text == "c"
    assert (first.asked, second.asked, third.asked) == (1, 1, 1)


@pytest.mark.parametrize("first", [Said("a", "refused"), Said("a", "no_reply"), Said("a", "unavailable", "I think")])
def test_no_other_model_is_asked_what_is_refused_or_begun(first: Said) -> None:
    second = Said("b")
    with pytest.raises(ModelError, match=r"^a is "):
        asyncio.run(Fallback([first, second]).reply(a_turn()))
    assert second.asked == 0


def test_the_last_failure_names_everybody_who_was_asked() -> None:
    chain = Fallback([Said("a", "bad_key"), Said("b", "unavailable"), Said("c", "rate_limited")])
    with pytest.raises(ModelError) as caught:
        asyncio.run(chain.reply(a_turn()))
    assert caught.value.code == "rate_limited"
    assert caught.value.message.endswith("3 were asked. a is bad_key. b is unavailable. c is rate_limited.")


def test_a_chain_of_a_manifest_ends_with_the_one_that_answers() -> None:
    with provider_server([HELLO]) as far, provider_server([{"text": "I am here.", "repeat": True}]) as near:
        far.faults += [Fault(401)]
        main = {"provider": "anthropic", "model": "m", "baseUrl": far.address, "credentials": "env:A"}
        after = {"provider": "openai", "model": "n", "baseUrl": near.base_url("openai"), "credentials": "env:B"}
        reply = ask(None, manifest={"models": {"main": {**main, "fallback": after}}})
    assert reply.text == "I am here."
