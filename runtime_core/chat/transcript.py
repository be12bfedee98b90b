"""What was said in a conversation, as the journal keeps it and as a model is given it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, cast

from runtime_core.agents.turns import File, Message, Model, ToolCall
from runtime_core.wire.chats import ChatCall, ChatEntry
from runtime_core.wire.json import JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import FINISHED, RunRow

UNFINISHED: Final = "The turn ended before this call had a result. Whether it was made is not known."
GOES_ON: Final = "The turn ended, and the run goes on without it. Do not call it again."
_TOLD_BESIDE: Final = frozenset({"passed", "event", "end"})
_WITHHELD: Final = "[This answer was withheld.]"


def body_of(message: Message, **more: Any) -> JsonText:
    """The body of the entry of a message. ``more``: ``cut``, if it was not said to its end; ``held``, if no model may
    see it before an entry ``passed``."""
    kept: dict[str, Any] = {"text": message.text, **more}
    if message.files:
        kept["files"] = [
            {"filename": file.filename, "mimeType": file.mime_type, "data": file.data} for file in message.files
        ]
    if message.tool_calls:
        kept["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.call is not None:
        kept["call"] = _call(message.call)
    if message.reasoning:
        kept["reasoning"] = message.reasoning
    if message.raw is not None:
        kept["raw"] = message.raw
    return dumps(kept)


def withheld(message: Message, reason: str) -> JsonText:
    """The body of an answer that a hook did not let out: nobody sees its words, now or later."""
    return body_of(Message("assistant", "", message.tool_calls), withheld=reason)


def read(entry: ChatEntry) -> dict[str, Any]:
    """The body of an entry; of one that is damaged, the words about that as its text."""
    body = cast("dict[str, Any]", loads(entry.body))
    return {"text": str(body.get("message", "")), **body} if "text" not in body else body


def messages(
    entries: Iterable[ChatEntry], calls: Iterable[ChatCall] = (), runs: Mapping[str, RunRow] | None = None
) -> list[Message]:
    """The conversation for a model: without what no hook has let through to it, and with a result for every call.

    ``calls`` and ``runs``, by their id: what has come of a call since.
    """
    made = {(call.turn, call.slot): call for call in calls if call.run_id is not None}
    said: list[Message] = []
    for number, some in groupby(entries, key=lambda entry: entry.turn):
        bodies = [(entry, read(entry)) for entry in some]
        roles = {entry.role for entry, _ in bodies}
        if "passed" not in roles and any(body.get("held") is True for _, body in bodies):
            continue
        turn = [_message(entry, body) for entry, body in bodies if entry.role not in _TOLD_BESIDE]
        said += _answered(turn, lambda at, number=number: _outcome(made.get((number, str(at))), runs or {}))
    return said


def for_model(said: Sequence[Message], model: Model) -> tuple[list[Message], list[File]]:
    """The conversation with the files that the model takes, and the others of its last message.

    In the place of a file that it does not take stands its name: its tools may take it.
    """
    lacking = [file for file in (said[-1].files if said else ()) if not model.takes(file.mime_type)]
    return [_taken(message, model) for message in said], lacking


def ended_since(call: ChatCall, runs: Mapping[str, RunRow]) -> RunRow | None:
    """The run that a call became, if it has ended after the turn was done with the call."""
    run = runs.get(call.run_id) if call.run_id is not None else None
    if run is None or run.status not in FINISHED:
        return None
    is_later = call.state in ("running", "waiting", "cancelled") or (run.finished_at or 0.0) > (call.ended_at or 0.0)
    return run if is_later else None


def ended_run(run: RunRow) -> JsonText:
    """What a model is told of a run in later turns, when it has ended."""
    told: dict[str, JsonValue] = {"durable": True, "status": run.status, "session_id": run.id}
    if run.status == "completed":
        return dumps({**told, "result": loads(run.result) if run.result is not None else None})
    error = loads(run.error) if run.error is not None else None
    return dumps({**told, "error": error.get("message") if isinstance(error, dict) else None})


def _taken(message: Message, model: Model) -> Message:
    lacking = [file.filename for file in message.files if not model.takes(file.mime_type)]
    if not lacking:
        return message
    files = [file for file in message.files if model.takes(file.mime_type)]
    note = f"[Files that you cannot see: {', '.join(lacking)}]"
    return Message("user", f"{message.text}\n\n{note}", files=files)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a call came to: ``later`` after it had a result, ``without`` if it had none."""

    later: JsonText | None
    without: str


def _outcome(call: ChatCall | None, runs: Mapping[str, RunRow]) -> _Outcome:
    if call is None or call.run_id not in runs:
        return _Outcome(None, UNFINISHED)
    if (run := ended_since(call, runs)) is not None:
        told = ended_run(run)
        return _Outcome(told, told)
    told = {"durable": True, "status": "running", "session_id": call.run_id, "message": GOES_ON}
    return _Outcome(None, dumps(told))


def _answered(turn: Sequence[Message], outcome_of: Callable[[int], _Outcome]) -> list[Message]:
    """The messages of a turn; what a call without a result came to is said behind those that have one. ``outcome_of``:
    that of a call, by its number in the turn."""
    done: list[Message] = []
    waiting: deque[tuple[int, ToolCall]] = deque()
    made = 0
    for message in turn:
        if message.role == "tool" and waiting:
            at, _ = waiting.popleft()
            done.append(replace(message, text=outcome_of(at).later or message.text))
            continue
        if message.role != "tool":
            done += [Message("tool", outcome_of(at).without, call=call) for at, call in waiting]
            waiting = deque(enumerate(message.tool_calls, made))
            made += len(message.tool_calls)
        done.append(message)
    return done + [Message("tool", outcome_of(at).without, call=call) for at, call in waiting]


def _message(entry: ChatEntry, body: dict[str, Any]) -> Message:
    files = [File(file["filename"], file["mimeType"], file["data"]) for file in body.get("files", ())]
    calls = [_to_call(call) for call in body.get("tool_calls", ())]
    call = _to_call(body["call"]) if "call" in body else None
    text = _WITHHELD if "withheld" in body else body["text"]
    role = cast("Any", "assistant" if entry.role == "draft" else entry.role)
    return Message(role, text, calls, files, call, body.get("reasoning", ""), body.get("raw"))


def _call(call: ToolCall) -> dict[str, str]:
    return {"name": call.name, "args": call.args, "id": call.id}


def _to_call(kept: dict[str, str]) -> ToolCall:
    return ToolCall(kept["name"], JsonText(kept["args"]), kept["id"])
