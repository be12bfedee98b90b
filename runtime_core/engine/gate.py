"""A gate: a durable run that asks a person whether a call of a model may be made, and makes it (decision 20).

Its handler is this module, in this process. Its journal holds the question (slot 0) and the call (slot 1), so that it
is listed, answered, expired, cancelled, resumed and shown as any other run, and what was begun and has no result is
never made twice. What is to be done stands in the params of the run and changes no more.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final, cast

from runtime_core.approvals.questions import approved
from runtime_core.hosts.base import HandlerCall, HandlerFailure, HandlerJob, LegEvents
from runtime_core.wire.json import JsonText, digest, dumps, loads
from runtime_core.wire.runs import CallKind, Gate, SlotPath

ENTRY: Final = "(gate)"
"""In the place of a handler's file."""

ASKED: Final = 0
MADE: Final = 1


@dataclass(frozen=True, slots=True)
class Order:
    """The call of a model that a person is asked about.

    ``path``: the names from the top tool down to the agent; ``at``: the slot of the call in the run of the model;
    ``request``: what would be sent, for a call of a connection. ``wait_s``: how long the model waits (None: it does
    not). ``levels`` and ``deepest`` as in `Place`. ``asker``: the process (`hosts.remains`) that asks for a call which
    no journal holds, so that nobody else can take the answer.
    """

    kind: Gate
    tool: str
    arguments: JsonText
    title: str | None
    question: str
    agent: str
    path: tuple[str, ...]
    at: SlotPath
    levels: int
    deepest: int
    wait_s: float | None = None
    reason: str | None = None
    request: Any = None
    asker: str | None = None

    def to_json(self) -> JsonText:
        """The params of the gate. ``ask`` is what its handler calls ``ctx.waitForApproval`` with, in every leg."""
        context: dict[str, Any] = {"tool": self.tool, "arguments": loads(self.arguments)}
        more = {"request": self.request, "reason": self.reason, "agent": self.agent, "called_by": list(self.path)}
        context |= {key: value for key, value in more.items() if value is not None}
        ask: dict[str, Any] = {"question": self.question, "inputType": "yesno", "context": context}
        if self.title is not None:
            ask["title"] = self.title
        if self.wait_s is not None:
            ask["timeoutMs"] = round(self.wait_s * 1000)
        place: dict[str, Any] = {"at": self.at, "levels": self.levels, "deepest": self.deepest}
        if self.asker is not None:
            place["asker"] = self.asker
        return dumps({"ask": ask, "kind": self.kind, "wait_s": self.wait_s, **place})

    @classmethod
    def of(cls, params: JsonText) -> Order | None:
        """What `to_json` made of it; None for anything else, as an imported file may hold."""
        try:
            given: dict[str, Any] = cast("dict[str, Any]", loads(params))
            ask = given.pop("ask")
            context = ask["context"]
            return cls(
                tool=context["tool"],
                arguments=dumps(context["arguments"]),
                title=ask.get("title"),
                question=ask["question"],
                agent=context["agent"],
                path=tuple(context["called_by"]),
                reason=context.get("reason"),
                request=context.get("request"),
                **given,
            )
        except (AttributeError, KeyError, TypeError):
            return None


class GateLeg:
    """Implements `Leg`: one pass through the handler of a gate."""

    def __init__(self, job: HandlerJob, events: LegEvents) -> None:
        ask: Any = cast("dict[str, Any]", loads(job.params))["ask"]
        self._ask: JsonText = dumps(ask)
        self._tool: str = ask["context"]["tool"]
        self._arguments: JsonText = dumps(ask["context"]["arguments"])
        self._events = events
        self._results = {call.seq: (call.ok, call.value or "null") for call in job.recorded}
        self._known = {call.seq for call in job.started}
        self._holds = job.holds
        self._told = False
        self._made: set[int] = set()
        self._is_over = False
        self._is_settled = False
        self._go_on()

    @property
    def is_settled(self) -> bool:
        return self._is_settled

    def deliver(self, seq: int, ok: bool, value: JsonText, at_ms: float) -> None:
        self._results[seq] = ok, value
        self._go_on()

    def go(self) -> None:
        self._holds = False
        self._go_on()

    def abort(self, reason: str) -> None:
        self._results = {ASKED: (False, dumps({"name": "AbortError", "code": "cancelled", "message": reason}))}
        self._go_on()

    def drop(self) -> None:
        self._is_over = True
        self._is_settled = False

    def _go_on(self) -> None:
        """Callbacks never come from inside a call into the leg."""
        self._is_settled = False
        asyncio.get_running_loop().call_soon(self._step)

    def _step(self) -> None:
        if self._is_over:
            return
        asked = self._results.get(ASKED)
        made = self._results.get(MADE)
        if asked is None:
            self._call(ASKED, "approval", "", self._ask)
        elif not asked[0]:
            self._fail(asked[1])
        elif not approved(said := loads(asked[1])):
            self._return(_denial(said))
        elif made is None:
            self._call(MADE, "tool", self._tool, self._arguments)
        elif made[0]:
            self._return(made[1])
        else:
            self._fail(made[1])

    def _call(self, seq: int, kind: CallKind, name: str, args: JsonText) -> None:
        if seq not in self._made and (not self._holds or seq in self._known):
            self._made.add(seq)
            self._events.called(HandlerCall(seq, kind, name, digest(loads(args)), args))
        if self._holds and not self._told:
            self._told = True
            self._events.replayed()
        elif not self._is_over:
            self._is_settled = True
            self._events.settled()

    def _return(self, value: JsonText) -> None:
        self._is_over = True
        self._events.returned(value, ())

    def _fail(self, value: JsonText) -> None:
        self._is_over = True
        error: Any = loads(value)
        cause = error.get("cause")
        told = {key: str(cause[key]) for key in ("name", "message", "code") if cause.get(key)} if cause else None
        message = str(error.get("message", "")).removeprefix(f'Tool "{self._tool}" failed: ')
        self._events.failed(HandlerFailure(error.get("name", "Error"), message, error.get("code"), cause=told))


def _denial(said: Any) -> JsonText:
    return dumps({"denied": True, "note": said.get("note"), "by": said.get("respondedBy")})
