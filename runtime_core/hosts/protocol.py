"""The wire between the runtime and a handler process: one JSON message per line (hosts.md section 6).

Towards the process, values are spliced in as the JSON text they are. From it, they come as JSON text inside a JSON
string, so the runtime never parses them and no digit is lost. Lines of the protocol start with RS and a nonce the
handler does not know; whatever else arrives on the stream was printed by a handler.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from json.encoder import encode_basestring_ascii as quote
from typing import Any, Final, TypeAlias, cast

from runtime_core.hosts.base import HandlerCall, HandlerFailure, HandlerJob, RecordedCall
from runtime_core.wire.json import JsonText, dumps

PROTO: Final = 1
VALUE_LIMIT: Final = 8 * 1024 * 1024
MESSAGE_LIMIT: Final = 64 * 1024 * 1024
DEFINITION_LIMIT: Final = 1024 * 1024
LINE_LIMIT: Final = 8192
LINES_PER_SECOND: Final = 1000
STUCK_S: Final = 5.0
"""How long local input and output between two calls of a replay may take before it counts as a divergence."""

Message: TypeAlias = dict[str, Any]


class Raw(str):
    """JSON text that goes into a message as it is."""

    __slots__ = ()


class OversizedMessageError(Exception):
    """A process wrote a line above `MESSAGE_LIMIT`."""


def encode(message: Mapping[str, object]) -> bytes:
    """One line for a handler process."""
    return (_text(message) + "\n").encode("utf-8", "backslashreplace")


def _text(value: object) -> str:
    if isinstance(value, Raw):
        return value.replace("\n", " ").replace("\r", " ")
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return "{" + ",".join(f"{dumps(key)}:{_text(item)}" for key, item in items) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_text(item) for item in cast("list[object]", value)) + "]"
    return dumps(value)


def run_message(number: int, job: HandlerJob) -> dict[str, object]:
    return {
        "t": "run",
        "run": number,
        "entry": job.entry,
        "form": job.form,
        "path": list(job.path),
        "params": Raw(job.params),
        "durable": job.durable,
        "dry": job.dry,
        "strict": job.strict,
        "holds": job.holds,
        "methods": sorted(job.methods),
        "session": job.session_id,
        "scope": job.scope_id,
        "agentId": job.agent_id,
        "callId": job.call_id,
        "env": dict(job.env),
        "attachments": None if job.attachments is None else Raw(job.attachments),
        "t0": job.started_ms,
        "seed": job.seed,
        "journal": _records(job.recorded),
        "started": _records(job.started),
    }


def _records(calls: Sequence[RecordedCall]) -> Raw:
    """A journal has thousands of them, so they are written without a detour."""
    return Raw(f"[{','.join(map(_record, calls))}]")


def _record(call: RecordedCall) -> str:
    head = f'{{"seq":{call.seq},"kind":"{call.kind}","name":{quote(call.name)},"digest":{quote(call.digest)}'
    if call.ok is None:
        return head + "}"
    return f'{head},"ok":{"true" if call.ok else "false"},"at":{call.at_ms!r},"value":{call.value or "null"}}}'


def read_call(message: Message) -> HandlerCall:
    outcome = (bool(message["ok"]), JsonText(message["value"])) if "ok" in message else None
    return HandlerCall(
        message["seq"],
        message["kind"],
        message["name"],
        message["digest"],
        JsonText(message["args"]),
        outcome,
        message.get("took", 0.0),
    )


def read_failure(error: Message) -> HandlerFailure:
    """What a handler threw; it cannot tell that its process was lost or its time was up."""
    code = error.get("code")
    code = None if code in HandlerFailure.FROM_OUTSIDE else code
    return HandlerFailure(error["name"], error["message"], code, error.get("stack"), error.get("cause"))


class Framer:
    """Splits what a process writes into messages (dict) and stray text (str). No byte is looked at twice."""

    def __init__(self, nonce: str) -> None:
        self._mark = b"\x1e" + nonce.encode()
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[Message | str]:
        """Raises `OversizedMessageError`."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._parts.append(data[start:end])
            line = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
            start = end + 1
            yield from self._read(line)
        if start < len(data):
            self._parts.append(data[start:])
            self._size += len(data) - start
            if self._size > MESSAGE_LIMIT:
                raise OversizedMessageError

    def rest(self) -> str:
        """Text without an end of line that was there when the stream ended."""
        return b"".join(self._parts).decode("utf-8", "replace")

    def _read(self, line: bytes) -> Iterator[Message | str]:
        before, mark, text = line.partition(self._mark)
        if before:
            yield before.decode("utf-8", "replace")
        if mark:
            try:
                yield cast("Message", json.loads(text))
            except ValueError:
                yield text.decode("utf-8", "replace")
