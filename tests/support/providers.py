"""A server on loopback that speaks the real protocols of providers, with the replies of a script.

The script is that of a ``scripted:`` file, so one conversation can be played by the scripted model and by every
provider::

    with provider_server([{"match": "parcel", "tool_calls": [{"name": "find", "args": {}}]}, {"text": "Late."}]) as far:
        model = ...  # --model, or what a manifest names:
        far.spec("anthropic")  # "anthropic:test@http://127.0.0.1:PORT"
        far.spec("openai")     # "openai:test@http://127.0.0.1:PORT/v1"
        far.spec("google")     # "google:test@http://127.0.0.1:PORT"
        far.seen[-1].body      # the last request as the provider saw it: tools, files, ids
        far.faults.append(Fault(status=429, headers={"retry-after": "0"}))  # instead of the next reply

The key is `KEY` and has to come with each request: set ``<PROVIDER>_API_KEY``, or give ``key=None`` for a server that
wants none. A reply with an ``agent`` fits a request whose system prompt contains ``agents[that name]``; `prompts_of`
makes these of a repository::

    with provider_server(SAMPLE / "models" / "conversation.json", agents=prompts_of(SAMPLE)) as far: ...
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

from runtime_core.agents.provider_messages import tool_name
from runtime_core.agents.scripted import ScriptedModel, ScriptedReply
from runtime_core.agents.turns import ModelError, Reply, Turn
from tests.support.protocols import AnthropicMessages, GoogleStream, OpenAIChat, OpenAIResponses, Refused, Spoken

KEY = "sk-test-0123456789abcdef"
_STATUS = {"rate_limited": 429, "unavailable": 503, "bad_key": 401, "no_reply": 400}
_PATHS: Mapping[str, Spoken] = {
    "/v1/messages": AnthropicMessages(),
    "/v1/chat/completions": OpenAIChat(),
    "/v1/responses": OpenAIResponses(),
}


@dataclass(frozen=True)
class Seen:
    """A request as it came: header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Fault:
    """What is done instead of a reply: answer with ``status``; or say ``after`` events of the reply and then nothing
    more until the other side has gone, cut the connection, or end as if that was all. ``is_mute``: not even answer."""

    status: int = 0
    message: str = "out of order"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    after: int = 0
    then: Literal["silence", "cut", "end"] = "silence"
    is_mute: bool = False


def prompts_of(repository: Path) -> Mapping[str, str]:
    """The prompt of each agent of a repository, to tell by it who asks."""
    files = sorted((repository / "agents").glob("*/AGENT.md"))
    return {file.parent.name: file.read_text(encoding="utf-8").strip() for file in files}


@dataclass
class Providers:
    """``faults`` are used up first; ``thinking``: what every reply thinks aloud before it says anything;
    ``is_cut_off``: replies of chat completions end at the limit of their length; ``left``: set when somebody went away
    in the middle of a reply."""

    address: str
    loop: asyncio.AbstractEventLoop
    key: str | None
    script: ScriptedModel
    agents: Mapping[str, str]
    seen: list[Seen] = field(default_factory=list[Seen])
    faults: list[Fault] = field(default_factory=list[Fault])
    thinking: str = ""
    is_cut_off: bool = False
    left: threading.Event = field(default_factory=threading.Event)

    def spec(self, provider: str, model: str = "test") -> str:
        """As after ``--model``."""
        return f"{provider}:{model}@{self.base_url(provider)}"

    def base_url(self, provider: str) -> str:
        return self.address if provider in ("anthropic", "google") else f"{self.address}/v1"

    def answer(self, spoken: Spoken, body: Any) -> Reply:
        """Raises `Refused`, `ModelError`."""
        asked = spoken.read(body)
        agent = next((name for name, words in self.agents.items() if words in asked.prompt), "default")
        turn = Turn(agent, asked.prompt, asked.messages)
        reply = asyncio.run_coroutine_threadsafe(self.script.reply(turn), self.loop).result()
        return replace(reply, tool_calls=[replace(call, name=tool_name(call.name)) for call in reply.tool_calls])


@contextmanager
def provider_server(
    script: Sequence[Mapping[str, Any]] | Path = (),
    *,
    key: str | None = KEY,
    agents: Mapping[str, str] | None = None,
) -> Generator[Providers]:
    """Serve all protocols on a free port of loopback."""
    replies = json.loads(script.read_text())["replies"] if isinstance(script, Path) else script
    model = ScriptedModel([ScriptedReply.model_validate(reply) for reply in replies], "the provider's script")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    address = f"http://127.0.0.1:{server.server_address[1]}"
    loop = asyncio.new_event_loop()
    server.providers = Providers(address, loop, key, model, agents or {})  # pyright: ignore[reportAttributeAccessIssue]
    threads = [
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True),
        threading.Thread(target=loop.run_forever, daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield server.providers  # pyright: ignore[reportAttributeAccessIssue]
    finally:
        server.shutdown()
        server.server_close()
        loop.call_soon_threadsafe(loop.stop)
        for thread in threads:
            thread.join()
        loop.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def providers(self) -> Providers:
        return self.server.providers  # pyright: ignore[reportAttributeAccessIssue]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        path = self.path.partition("?")[0]
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.providers.seen.append(Seen(path, headers, body))
        number = len(self.providers.seen)
        spoken = GoogleStream() if path.endswith(":streamGenerateContent") else _PATHS.get(path)
        if spoken is None:
            self._send(404, {"error": {"message": f"there is no {path}"}})
            return
        fault = self.providers.faults.pop(0) if self.providers.faults else Fault()
        if fault.is_mute:
            self._wait_until_left()
            return
        if fault.status:
            content = spoken.error(fault.status, fault.message) if fault.body is None else fault.body
            self._send(fault.status, content, fault.headers)
            return
        if self.providers.key is not None and self.providers.key not in _keys(headers):
            self._send(401, spoken.error(401, f"this key is not valid: {', '.join(_keys(headers)) or 'none given'}"))
            return
        try:
            reply = self.providers.answer(spoken, body)
        except Refused as refused:
            self._send(400, spoken.error(400, str(refused)))
        except ModelError as error:
            self._send(_STATUS[error.code], spoken.error(_STATUS[error.code], error.message))
        else:
            model = body.get("model") or path.rpartition("/")[2].partition(":")[0]
            events = spoken.reply(reply, number, model, self.providers.thinking)
            if self.providers.is_cut_off:
                events = (event.replace(b'"stop"', b'"length"') for event in events)
            self._stream(events, fault)

    def _send(self, status: int, content: Any, headers: Mapping[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[bytes], fault: Fault) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(events, 1):
            self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
            if number == fault.after and fault.then == "end":
                break
            if number == fault.after:
                if fault.then == "silence":
                    self._wait_until_left()
                self.close_connection = True
                return
        self.wfile.write(b"0\r\n\r\n")

    def _wait_until_left(self) -> None:
        self.rfile.read(1)
        self.providers.left.set()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle(self) -> None:
        with suppress(OSError):  # the client went away
            super().handle()


def _keys(headers: Mapping[str, str]) -> Sequence[str]:
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return [key for key in (bearer, headers.get("x-api-key"), headers.get("x-goog-api-key")) if key]
