"""What was said in a conversation, as the journal keeps it and as a model is given it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Final, cast

from runtime_core.agents.turns import File, Message, Model, ToolCall
from runtime_core.wire.chats import ChatCall, ChatEntry
from runtime_core.wire.json import JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import RunRow

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


def messages(entries: Iterable[ChatEntry], calls: Iterable[ChatCall] = ()) -> list[Message]:
    """The conversation for a model: without what no hook has let through to it, and with a result for every call. Of
    ``calls`` it is told which runs go on that were begun by calls without one."""
    runs = {(call.turn, call.slot): call.run_id for call in calls if call.run_id is not None}
    said: list[Message] = []
    for number, some in groupby(entries, key=lambda entry: entry.turn):
        bodies = [(entry, read(entry)) for entry in some]
        roles = {entry.role for entry, _ in bodies}
        if "passed" not in roles and any(body.get("held") is True for _, body in bodies):
            continue
        turn = [_message(entry, body) for entry, body in bodies if entry.role not in _TOLD_BESIDE]
        said += _answered(turn, lambda at, number=number: runs.get((number, str(at))))
    return said


def for_model(said: Sequence[Message], model: Model) -> tuple[list[Message], list[File]]:
    """The conversation with the files that the model takes, and the others of its last message.

    In the place of a file that it does not take stands its name: its tools may take it.
    """
    lacking = [file for file in (said[-1].files if said else ()) if not model.takes(file.mime_type)]
    return [_taken(message, model) for message in said], lacking


def waiting_run(message: Message) -> str | None:
    """The durable run that the result of a call was about, as it did not end within its turn (contract 7.4)."""
    if message.role != "tool" or not message.text.startswith('{"durable":true'):
        return None
    match loads(message.text):
        case {"durable": True, "session_id": str(run_id)}:
            return run_id
        case _:
            return None


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


def _answered(turn: Sequence[Message], run_of: Callable[[int], str | None]) -> list[Message]:
    """The messages of a turn; what a call without a result came to is said behind those that have one. ``run_of``:
    the run that a call began, by its number in the turn."""
    done: list[Message] = []
    waiting: deque[tuple[int, ToolCall]] = deque()
    made = 0
    for message in turn:
        if message.role == "tool" and waiting:
            waiting.popleft()
        elif message.role != "tool":
            done += [_unfinished(call, run_of(at)) for at, call in waiting]
            waiting = deque(enumerate(message.tool_calls, made))
            made += len(message.tool_calls)
        done.append(message)
    return done + [_unfinished(call, run_of(at)) for at, call in waiting]


def _unfinished(call: ToolCall, run_id: str | None) -> Message:
    if run_id is None:
        return Message("tool", UNFINISHED, call=call)
    told = {"durable": True, "status": "running", "session_id": run_id, "message": GOES_ON}
    return Message("tool", dumps(told), call=call)


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
