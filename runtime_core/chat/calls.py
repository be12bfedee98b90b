"""The calls of a turn, at any depth, as they are told on the stream and kept (contract 7.2 to 7.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, cast

from runtime_core.agents.turns import Usage
from runtime_core.chat.events import (
    Event,
    error_of,
    event,
    given_to,
    label,
    parent_id,
    result_text,
    tool_id,
    without_secrets,
)
from runtime_core.chat.record import TurnRecord
from runtime_core.engine.gate import Order
from runtime_core.hosts.base import NoteKind
from runtime_core.repo.bundle import Bundle
from runtime_core.tools.chat import CALL_SUBAGENT, STOP
from runtime_core.tools.knowledge import NAME as LOAD_KNOWLEDGE
from runtime_core.wire.chats import ChatCall
from runtime_core.wire.json import JsonValue, dumps, loads
from runtime_core.wire.runs import SlotPath, Span, parent_slot

INTERNAL: Final = frozenset({"ask_choice", "present", STOP})
"""What they do is told by events of their own; their cards are only for those who want to see everything."""
STOPPED: Final = "Stopped"
UNKNOWN: Final = "Whether this was done is not known: its process ended meanwhile."
_EMITTED: Final = frozenset({"ask_choice", "widget", "show_preview", "plan_summary", "proposal", "update_plan"})
"""What handlers may put on the stream; nothing that could pass for an event of the runtime."""
_OPEN: Final = frozenset({"running", "waiting"})


@dataclass(slots=True)
class TurnCalls:
    """Implements `Ears` and takes the spans of a turn. Every call is told once that it begins, after the one that made
    it, and once what it came to. ``on_spent``: told of the tokens of specialists."""

    bundle: Bundle
    tell: Callable[[Event], None]
    record: TurnRecord
    on_spent: Callable[[Usage], None]
    _calls: dict[SlotPath, ChatCall] = field(default_factory=dict[SlotPath, ChatCall])
    _runs: dict[SlotPath, str] = field(default_factory=dict[SlotPath, str])
    _ended: set[SlotPath] = field(default_factory=set[SlotPath])

    def on_span(self, span: Span) -> None:
        known = self._calls.get(span.slot)
        call = _of(span, self.record.turn, self._runs.get(span.slot))
        if known is None:
            self._tell(start_event(call, self.bundle))
            self._tell(self._specialist_start(call))
        self._calls[span.slot] = call
        if call.state not in _OPEN and span.slot not in self._ended:  # a handler that runs again makes its calls again
            self._ended.add(span.slot)
            self._tell_skill(call)
            self._tell(self._specialist_end(call))
            self._tell(result_event(call))
        self.record.put(call)

    def heard(self, at: SlotPath, agent: str, kind: Literal["text", "reasoning"], piece: str) -> None:
        if kind == "text":
            self._tell(_specialist(self._id(at), agent, "thought", text=piece))
        else:
            self._tell(event("reasoning", text=piece, tool_id=self._id(at)))

    def noted(self, at: SlotPath, kind: NoteKind, value: Any) -> None:
        call = self._id(at) if at else None
        name = self._calls[at].name if at in self._calls else ""
        match kind, value:
            case "log", _ if call is not None:
                self._tell(event("tool_log", tool_name=name, message=_text(value), tool_id=call))
            case "console", {"text": str(text)} if call is not None:
                self._tell(event("tool_log", tool_name=name, message=text, tool_id=call))
            case "reasoning", _:
                self._keep(event("reasoning", text=_text(value), tool_id=call))
            case "warning" | "lossy", _:
                self._keep(event("warning", message=_text(value), tool_id=call))
            case "label", _ if call is not None:
                self._keep(event("tool_label_update", tool_id=call, **_phrases(value)))
            case "emit", {"type": str(emitted)} if emitted in _EMITTED:
                fields = {name: one for name, one in cast("dict[str, Any]", value).items() if name != "timestamp"}
                self._keep(event(emitted, tool_id=call, **{k: v for k, v in fields.items() if k not in _OWN}))
            case _:
                pass

    def spent(self, usage: Usage) -> None:
        self.on_spent(usage)

    async def became(self, at: SlotPath, run_id: str) -> None:
        call = self._goes_on_as(at, run_id)
        await self.kept()
        if call is not None and call.state == "running":  # what waits for a person is told when it can be answered
            self._tell(update_event(call))

    async def kept(self) -> None:
        await self.record.flush()

    def asked(self, order: Order, run_id: str) -> None:
        self._goes_on_as(order.at, run_id)
        request = cast("dict[str, Any]", order.request if isinstance(order.request, dict) else {})
        self._tell(
            event(
                "confirmation_required",
                endpoint=request.get("endpoint", order.tool),
                method=request.get("method", ""),
                reason=order.reason or order.question,
                escalated=order.kind == "review",
                params=loads(order.arguments),
                connection_name=request.get("connection"),
                correlation_id=run_id,
                session_id=run_id,
                tool_id=self._id(order.at),
                tool_name=order.tool,
            )
        )

    def allowed(self, order: Order, run_id: str) -> None:
        self._tell(event("approved", resource_type="tool_call", preview_id=self._id(order.at), session_id=run_id))

    def _goes_on_as(self, at: SlotPath, run_id: str) -> ChatCall | None:
        self._runs[at] = run_id
        call = self._calls.get(at)
        if call is None:
            return None
        self._calls[at] = kept = replace(call, run_id=run_id)
        self.record.put(kept)
        return kept

    def _id(self, at: SlotPath) -> str:
        return tool_id(self.record.turn, at)

    def _tell(self, told: Event | None) -> None:
        if told is not None:
            self.tell(told)

    def _keep(self, told: Event) -> None:
        self.tell(told)
        self.record.add("event", dumps(told))

    def _specialist_start(self, call: ChatCall) -> Event | None:
        agent = self._agent_at(parent_slot(call.slot))
        if agent is None:
            return None
        given = given_to(call.kind, call.name, call.input)
        return self._row_of(call, agent, "tool_call_start", tool_args=given)

    def _specialist_end(self, call: ChatCall) -> Event | None:
        """What the card of a specialist is told: the end of a call that it made, or its own."""
        failure, output = failure_of(call), result_text(call.output, call.output_size)
        ended = {"error": failure} if failure is not None else {"result": output}
        if (own := self._agent_at(call.slot)) is not None:
            kind = "error" if failure is not None else "complete"
            self._tell(_specialist(self._id(call.slot), own, kind, **ended))
        above = self._agent_at(parent_slot(call.slot))
        return None if above is None else self._row_of(call, above, "tool_call_end", **ended)

    def _tell_skill(self, call: ChatCall) -> None:
        """The agent has read a skill."""
        if call.name != LOAD_KNOWLEDGE or failure_of(call) is not None:
            return
        for asked in given_to(call.kind, call.name, call.input).values():
            if asked in self.bundle.skills and asked not in self.bundle.knowledge:
                self._tell(event("skill_activated", skill_name=asked, skill=asked))

    def _row_of(self, call: ChatCall, agent: str, kind: str, **more: Any) -> Event:
        above, name = self._id(parent_slot(call.slot)), shown_name(call)
        return _specialist(above, agent, kind, tool_id=self._id(call.slot), tool_name=name, **more)

    def _agent_at(self, at: SlotPath) -> str | None:
        """The specialist that the call at this slot sent, if it sent one."""
        call = self._calls.get(at)
        if call is None or (call.kind != "subagent" and call.name != CALL_SUBAGENT):
            return None
        return str(given_to(call.kind, call.name, call.input).get("agent", call.name))


_OWN: Final = frozenset({"type", "tool_id", "at", "kind"})


def start_event(call: ChatCall, bundle: Bundle | None) -> Event:
    given = given_to(call.kind, call.name, call.input)
    shown = without_secrets(given)  # what a label says cannot be told apart later
    tool = bundle.tools.get(call.name) if bundle is not None and call.kind == "tool" else None
    return event(
        "tool_call_start",
        call.started_at,
        tool_name=shown_name(call),
        tool_id=tool_id(call.turn, call.slot),
        parameters=given,
        kind=call.kind,
        depth=call.slot.count("/"),
        parent_tool_id=parent_id(call.turn, call.slot),
        running_label=label(tool.running_label, shown) if tool is not None else None,
        completed_label=label(tool.completed_label, shown) if tool is not None else None,
        internal=True if call.name in INTERNAL else None,
    )


def update_event(call: ChatCall) -> Event:
    """A call goes on as a durable run, or waits for what a person says to one (an event of ours)."""
    return event(
        "tool_call_update", tool_id=tool_id(call.turn, call.slot), state=call.state, durable_session_id=call.run_id
    )


def result_event(call: ChatCall) -> Event:
    failure = failure_of(call)
    ended = call.ended_at if call.ended_at is not None else call.started_at
    is_given = call.state == "ok"
    return event(
        "tool_call_result",
        ended,
        tool_id=tool_id(call.turn, call.slot),
        status="success" if failure is None else "error",
        result=result_text(call.output, call.output_size) if is_given else None,
        error=failure,
        code=call.code,
        state=call.state,
        duration_ms=max(0, round((ended - call.started_at) * 1000)),
        durable_session_id=call.run_id,
    )


def failure_of(call: ChatCall) -> str | None:
    """Why a call counts as failed."""
    if call.state == "ok":
        return error_of(call.output)
    if call.state == "failed":
        return call.message or "it failed"
    return UNKNOWN if call.state == "unknown" else STOPPED


def shown_name(call: ChatCall) -> str:
    return CALL_SUBAGENT if call.kind == "subagent" else call.name or call.kind


def _of(span: Span, turn: int, run_id: str | None) -> ChatCall:
    shared = {name: getattr(span, name) for name in ChatCall.__slots__ if name not in ("turn", "run_id")}
    return ChatCall(turn=turn, run_id=run_id, **shared)


def _specialist(parent: str, agent: str, kind: str, **more: Any) -> Event:
    return event("subagent_event", parent_tool_id=parent, agent_name=agent, event_type=kind, **more)


def _phrases(value: JsonValue) -> dict[str, str]:
    """What ``ctx.setLabel`` was given: ``{running?, completed?}``, or one text for both."""
    given = value if isinstance(value, dict) else {"running": value, "completed": value}
    named = {"running_label": given.get("running"), "completed_label": given.get("completed")}
    return {name: phrase for name, phrase in named.items() if isinstance(phrase, str)}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)
