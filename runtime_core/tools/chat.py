"""Chat controls: what a model asks and shows a person, how it ends its turn and sends a specialist (contract 5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any, Final, cast

from runtime_core.repo.bundle import Bundle
from runtime_core.tools.base import Caller, ReadyTool, ToolFailed
from runtime_core.wire.json import JsonText, dumps, loads

ASK_CHOICE: Final = "ask_choice"
STOP: Final = "stop_execution"
CALL_SUBAGENT: Final = "call_subagent"

_TEXT: Final = {"type": "string"}
_ANYTHING: Final[dict[str, Any]] = {}
_OPTION: Final = {
    "type": "object",
    "properties": {"label": _TEXT, "value": {"type": ["string", "number", "boolean"]}, "description": _TEXT},
    "required": ["label", "value"],
}


class ChatTools:
    """Implements `Provider`."""

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        return _TOOLS.get(name)

    def names(self, bundle: Bundle) -> Sequence[str]:
        return tuple(_TOOLS)


async def _ask_choice(params: JsonText, caller: Caller) -> JsonText:
    """The answer is the next thing that the person says."""
    asked = _object(params)
    event = {**asked, "type": "ask_choice", "ask_id": token_hex(8)}
    caller.note("emit", event)
    return dumps({"asked": True, "ask_id": event["ask_id"]})


async def _present(params: JsonText, caller: Caller) -> JsonText:
    shown = _object(params)
    caller.note("emit", {"type": "widget", "widget_type": shown["widget"], "data": shown.get("data")})
    return dumps({"widget": shown["widget"], "data": shown.get("data"), "rendered": True})


async def _stop(params: JsonText, caller: Caller) -> JsonText:
    """`agents.loop` reads this."""
    return dumps({"__stop": True, "reason": _object(params).get("reason", "")})


async def _call_subagent(params: JsonText, caller: Caller) -> JsonText:
    given = _object(params)
    agent, task = _first(given, "agent", "agent_name", "name", "subagent"), _first(given, "task", "prompt")
    if not isinstance(agent, str) or not isinstance(task, str):
        raise ToolFailed('give the name of the specialist as "agent" and what it is to do as "task", both as texts')
    input = _first(given, "input", "context")
    return dumps(await caller.subagent(agent, task, None if input is None else dumps(input)))


def _object(params: JsonText) -> dict[str, Any]:
    return cast("dict[str, Any]", loads(params))


def _first(given: Mapping[str, Any], *keys: str) -> Any:
    return next((given[key] for key in keys if given.get(key) is not None), None)


def _schema(required: Sequence[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


_TOOLS: Final = {
    tool.name: tool
    for tool in (
        ReadyTool(
            name=ASK_CHOICE,
            description="Ask the person to choose. Your turn ends; the choice is the next message.",
            parameters=_schema(
                ["question", "options"],
                question=_TEXT,
                options={"type": "array", "items": _OPTION, "minItems": 2},
                multi={"type": "boolean", "description": "Several options may be chosen."},
            ),
            category="chat",
            effect="read",
            call=_ask_choice,
        ),
        ReadyTool(
            name="present",
            description="Show the person data as a widget of the given kind.",
            parameters=_schema(["widget"], widget=_TEXT, data=_ANYTHING),
            category="chat",
            effect="read",
            call=_present,
        ),
        ReadyTool(
            name=STOP,
            description="End this turn at once, without an answer. Say why.",
            parameters=_schema([], reason=_TEXT),
            category="chat",
            effect="read",
            call=_stop,
        ),
        ReadyTool(
            name=CALL_SUBAGENT,
            description="Let a specialist do a task and get its answer as text. It sees only the task and the input.",
            parameters=_schema([], agent=_TEXT, task=_TEXT, input=_ANYTHING),
            category="chat",
            effect="once",
            call=_call_subagent,
            timeout_s=None,
        ),
    )
}
