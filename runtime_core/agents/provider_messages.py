"""A turn in the form that the clients of providers take, and their replies in ours."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from runtime_core.agents.providers import bare, is_text
from runtime_core.agents.turns import File, Message, Reply, ToolCall, Turn, Usage
from runtime_core.wire.json import JsonError, JsonText, dumps, loads

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_core.agents.provider_stream import Ear

_FITTING: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""The names of tools that every provider takes."""
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]+")
_NO_RESULT: Final = "There is no result: the conversation was interrupted before the call ended."
_NOTHING: Final = "(an empty message)"


def tool_name(name: str) -> str:
    """The name of a tool as providers take it, the same one for the same tool."""
    if _FITTING.fullmatch(name):
        return name
    return f"t_{_UNFIT.sub('_', name)[:52]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def request(turn: Turn, model: str, takes: Callable[[str], bool]) -> tuple[list[ModelMessage], ModelRequestParameters]:
    """What to send. ``model`` tells whose replies go back in their own form; ``takes``: types of files it is shown."""
    told: list[ModelMessage] = []
    calls = _Calls()
    for at, message in enumerate(turn.messages):
        if message.role == "tool":
            calls.take(message)
            continue
        _add(told, calls.results())
        calls = _Calls()
        if message.role == "user":
            _add(told, [UserPromptPart(_user_content(message, takes))])
        else:
            response = _own(message, model) or _foreign(message, at)
            if response.parts:
                told.append(response)
            calls = _Calls(message.tool_calls, [part.tool_call_id for part in response.tool_calls])
    _add(told, calls.results())
    last = told[-1] if told else None
    if isinstance(last, ModelRequest):
        last.instructions = turn.prompt or None
    tools = [
        ToolDefinition(
            name=tool_name(one.name),
            parameters_json_schema={"type": "object", "properties": {}, **one.parameters},
            description=one.description,
            strict=False,
        )
        for one in turn.tools
    ]
    return told, ModelRequestParameters(function_tools=tools)


def reply(response: ModelResponse, turn: Turn, model: str, ear: Ear) -> Reply:
    """With the words as they were heard."""
    names = {tool_name(one.name): one.name for one in turn.tools}
    used = response.usage
    return Reply(
        "".join(ear.text),
        [
            ToolCall(
                names.get(part.tool_name, part.tool_name), JsonText(ear.without_key(_args(part))), part.tool_call_id
            )
            for part in response.tool_calls
        ],
        Usage(used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens),
        "".join(ear.reasoning),
        ear.without_key(ModelMessagesTypeAdapter.dump_json([replace(response, metadata={"model": model})]).decode()),
        is_cut_off=response.finish_reason == "length",
    )


def _args(part: ToolCallPart) -> JsonText:
    if isinstance(part.args, str):
        return part.args or "{}"
    return json.dumps(part.args or {}, separators=(",", ":"))  # what is no JSON, as NaN, is told to the model later


def _add(told: list[ModelMessage], parts: Sequence[UserPromptPart | ToolReturnPart]) -> None:
    """What is not the model's own goes together, as providers ask for all results in one message."""
    last = told[-1] if told else None
    if isinstance(last, ModelRequest):
        last.parts = [*last.parts, *parts]
    elif parts:
        told.append(ModelRequest(list(parts)))


class _Calls:
    """The calls of one reply with the ids that they are told with, and their results as far as these have come."""

    def __init__(self, calls: Sequence[ToolCall] = (), ids: Sequence[str] = ()) -> None:
        self._calls = list(zip(calls, ids, strict=True))
        self._results: dict[str, str] = {}
        self._strays: list[str] = []

    def take(self, message: Message) -> None:
        """Keep a result for the call with its id, or for the first that is the same one."""
        call = message.call or ToolCall("", "{}")
        for asked, id in self._calls:
            is_its = asked is call or (asked.id == call.id if asked.id else asked == call)
            if is_its and id not in self._results:
                self._results[id] = message.text
                return
        self._strays.append(f"A result of {call.name}: {message.text}")

    def results(self) -> Sequence[UserPromptPart | ToolReturnPart]:
        """In the order of the calls. No provider takes a conversation with calls that have no result; a result without
        its call is told as a text."""
        told = [ToolReturnPart(tool_name(call.name), self._results.get(id, _NO_RESULT), id) for call, id in self._calls]
        return [*told, *map(UserPromptPart, self._strays)]


def _own(message: Message, model: str) -> ModelResponse | None:
    """The reply as its model gave it, if this is that model and would take it back: a call with a name or arguments
    that nobody accepts would be refused with every later turn."""
    if message.raw is None:
        return None
    try:
        (response,) = ModelMessagesTypeAdapter.validate_json(message.raw)
    except (ValidationError, ValueError):  # written by another version of the library
        return None
    if not isinstance(response, ModelResponse) or (response.metadata or {}).get("model") != model:
        return None
    calls = response.tool_calls
    ids = {part.tool_call_id for part in calls}  # some servers give the same one twice
    is_taken = all(tool_name(part.tool_name) == part.tool_name and _is_object(_args(part)) for part in calls)
    return response if is_taken and len(ids) == len(calls) == len(message.tool_calls) else None


def _foreign(message: Message, at: int) -> ModelResponse:
    """What another model said or nobody did. Ids are short, as one provider wants them, and told by the place alone."""
    calls = [
        ToolCallPart(tool_name(call.name), _object(call.args), f"c{at:05d}{number:03d}")
        for number, call in enumerate(message.tool_calls)
    ]
    return ModelResponse([*([TextPart(message.text)] if message.text.strip() else []), *calls])


def _object(args: JsonText) -> JsonText:
    """Arguments that are none are told as what they were: providers take objects only."""
    return args if _is_object(args) else dumps({"arguments": args})


def _is_object(args: JsonText) -> bool:
    try:
        return isinstance(loads(args), dict)
    except JsonError:
        return False


def _user_content(message: Message, takes: Callable[[str], bool]) -> str | Sequence[UserContent]:
    text = message.text if message.text.strip() else ""
    if not message.files:
        return text or _NOTHING
    content: list[UserContent] = [text] if text else []
    for file in message.files:
        content += _file(file, takes)
    return content


def _file(file: File, takes: Callable[[str], bool]) -> Sequence[UserContent]:
    mime_type = bare(file.mime_type)
    head = f'File "{file.filename}" ({mime_type})'
    if not file.data:
        return (f"{head}: it is empty.",)
    if takes(mime_type) and not is_text(mime_type):
        return (f"{head}:", BinaryContent(base64.b64decode(file.data), media_type=mime_type))
    if is_text(mime_type):
        try:
            return (f"{head}:\n{base64.b64decode(file.data).decode('utf-8-sig')}",)
        except UnicodeDecodeError:
            return (f"{head}: left out, it is not UTF-8 text.",)
    return (f"{head}: left out, this model is not shown such files.",)
