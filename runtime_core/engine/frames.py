"""Frames: one frame is one invocation of a handler, with the leg that runs it in a host process."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from runtime_core.connections.masking import masked, masked_json, secret_values
from runtime_core.engine.ears import NO_EARS, Ears
from runtime_core.engine.failures import HandlerFailed, trace_of
from runtime_core.engine.gate import ENTRY as GATE
from runtime_core.engine.gate import GateLeg
from runtime_core.engine.losses import started
from runtime_core.engine.notes import HandlerLog
from runtime_core.hosts.base import (
    Divergence,
    HandlerCall,
    HandlerFailure,
    HandlerJob,
    HostRepo,
    Hosts,
    HostUnavailable,
    Leg,
    LegEvents,
    NoteKind,
    RecordedCall,
)
from runtime_core.repo.bundle import Bundle, Tool
from runtime_core.tools.base import ReadyTool, Toolbox
from runtime_core.tools.chat import CALL_SUBAGENT
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.runs import Entry, SlotPath, slot

MAX_TOOL_DEPTH: Final = 4
MAX_AGENT_LEVELS: Final = 5

Outcome = tuple[bool, JsonText]
"""(ok, result), or (not ok, error object)."""

DURABLE_METHODS = frozenset(
    {
        "callTool",
        "callSubagent",
        "requestInput",
        "waitForApproval",
        "sleepUntil",
        "step",
        "now",
        "random",
        "request",
        "store",
        "exec",
    }
)
INLINE_METHODS = frozenset({"exec", "request", "store"})
COMPOSITE_METHODS = INLINE_METHODS | {"callTool", "callSubagent"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a handler or an agent stands in its run: ``depth`` in tools, ``levels`` of subagents down to it, of which
    there may be ``deepest``, names from the top."""

    tool: Tool
    path: SlotPath = ""
    depth: int = 0
    levels: int = 0
    deepest: int = MAX_AGENT_LEVELS
    names: tuple[str, ...] = ()
    agent: str | None = None
    """Whose model selected what the handler, a gate, calls."""
    allowed: Any = None
    """The request that a gate asks a person about."""
    attachments: JsonText | None = None
    """The files that the run was started with, at its top (contract 3.2)."""

    @property
    def is_gate(self) -> bool:
        return self.tool.entry == GATE

    def child(self, tool: Tool, number: int) -> Place:
        return replace(
            self,
            tool=tool,
            path=slot(self.path, number),
            depth=self.depth + 1,
            names=(*self.names, tool.name),
            agent=None,
            allowed=None,
            attachments=None,
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """What the handlers of one run, or of one turn of a conversation, have in common. ``session_id``: the durable run.

    ``dry``: they only replay, ``strict``: as `HandlerJob`.
    """

    bundle: Bundle
    hosts: Hosts
    session_id: str | None
    scope: str
    seed: str
    environment: Callable[[str], str | None]
    log: HandlerLog
    toolbox: Toolbox
    dry: bool = False
    strict: bool = False
    chat_id: str | None = None
    """The conversation that they work for, if it is one, and its turn."""
    turn: int = 0
    ears: Ears = NO_EARS
    hidden: set[str] = field(default_factory=set[str], repr=False)
    """Secrets that handlers of the run were given by ``ctx.env``: masked in what is kept beside its values."""

    @property
    def session(self) -> str:
        """What handlers see as ``ctx.sessionId``: rows that they store want a text."""
        return self.session_id or self.chat_id or f"inline_{self.seed}"

    @property
    def calls_id(self) -> str:
        """What the ids of all calls begin with (``ctx.callId``); slots are numbered anew in each turn."""
        return self.session if self.chat_id is None else f"{self.chat_id}.{self.turn}"

    def ready(self, name: str) -> ReadyTool | None:
        """The tool of this name that comes with the runtime; one that the repository writes goes before it."""
        return None if name in self.bundle.tools else self.toolbox.find(self.bundle, name)

    def note(self, place: Place, kind: NoteKind, value: Any) -> None:
        shown = loads(masked_json(dumps(value), self.hidden)) if self.hidden else value
        self.log.write(self.session_id or self.chat_id, place.names, kind, shown)
        self.ears.noted(place.path, kind, shown)

    def note_failure(self, place: Place, failure: HandlerFailure) -> None:
        trace = trace_of(failure, self.bundle.root)
        if trace is not None:
            self.note(place, "failed", trace)

    def masked(self, failure: HandlerFailure) -> HandlerFailure:
        """The failure without the secrets that handlers were given."""
        if not self.hidden:
            return failure
        cause = failure.cause
        return replace(
            failure,
            message=masked(failure.message, self.hidden),
            stack=None if failure.stack is None else masked(failure.stack, self.hidden),
            cause=None if cause is None else {key: masked(text, self.hidden) for key, text in cause.items()},
        )

    async def start(self, job: HandlerJob, events: LegEvents) -> Leg:
        """Begin a leg. Raises `HostUnavailable`."""
        if job.entry == GATE:
            return GateLeg(job, events)
        repo = HostRepo(self.bundle.root, self.bundle.revision, self.bundle.code)
        return await started(job.entry, lambda: self.hosts.start(repo, job, events))

    def makes_calls(self, call: HandlerCall) -> bool:
        """Whether what a call executes without a journal makes calls itself, so that they go on with it."""
        tool = self.bundle.tools.get(call.name) if call.kind == "tool" else None
        return call.kind == "subagent" or call.name == CALL_SUBAGENT or (tool is not None and tool.has_uses)

    def variables(self, tool: Tool) -> Mapping[str, str]:
        """What a handler sees as ``ctx.env``; may be asked from any thread."""
        found = {name: self.environment(name) for name in tool.env}
        return {name: value for name, value in found.items() if value is not None}

    def job(
        self, place: Place, params: JsonText, started_at: float, env: Mapping[str, str] | None = None
    ) -> HandlerJob:
        tool = place.tool
        self.hidden.update(secret_values(env or {}))
        methods = DURABLE_METHODS if tool.durable else COMPOSITE_METHODS if tool.has_uses else INLINE_METHODS
        return HandlerJob(
            entry=tool.entry,
            language=tool.language,
            params=params,
            durable=tool.durable,
            methods=methods,
            session_id=self.session,
            scope_id=self.scope,
            agent_id=self.bundle.name,
            started_ms=milliseconds(started_at),
            seed=f"{self.seed}/{place.path}",
            timeout_s=tool.timeout_s,
            env=env or {},
            call_id=f"{self.calls_id}/{place.path}" if place.path else None if tool.durable else self.calls_id,
            strict=self.strict,
            dry=self.dry,
            form="tool" if tool.layout == "code" else "handler",
            path=("handle",) if tool.layout == "code" else (),
            attachments=None if tool.durable else place.attachments,
        )


class InlineFrame:
    """A handler that is not journaled: its calls are served as they come."""

    def __init__(self, origin: Origin, place: Place, serve: Callable[[HandlerCall], Awaitable[Outcome]]) -> None:
        self._origin = origin
        self._place = place
        self._serve = serve
        self._tasks: dict[int, tuple[HandlerCall, asyncio.Task[None]]] = {}
        self._context = copy_context()
        loop = asyncio.get_running_loop()
        self._leg: asyncio.Future[Leg] = loop.create_future()
        self._end: asyncio.Future[JsonText] = loop.create_future()

    async def run(self, params: JsonText) -> JsonText:
        """The handler's result. Raises `HandlerFailed`. The handler is aborted when this is cancelled, and when one of
        its calls raises anything, which is then raised.
        """
        origin, tool = self._origin, self._place.tool
        env = await asyncio.to_thread(origin.variables, tool) if tool.env else None  # a keychain may have to be asked
        job = origin.job(self._place, params, time.time(), env)
        try:
            leg = await self._origin.start(job, self)
        except HostUnavailable as error:
            raise HandlerFailed(HandlerFailure(type(error).__name__, str(error), error.code)) from None
        self._leg.set_result(leg)
        try:
            return await self._end
        except HandlerFailed:
            raise
        except BaseException:
            leg.abort("cancelled")
            raise
        finally:
            for _, task in self._tasks.values():
                task.cancel()

    def called(self, call: HandlerCall) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(call), context=self._context.copy())
        self._tasks[call.seq] = (call, task)
        task.add_done_callback(lambda _: self._tasks.pop(call.seq, None))

    def given_up(self, seq: int) -> None:
        call, task = self._tasks.get(seq, (None, None))
        if call is not None and task is not None and self._origin.makes_calls(call):
            task.cancel()

    async def _answer(self, call: HandlerCall) -> None:
        try:
            ok, value = await self._serve(call)
        except Exception as error:  # noqa: BLE001 - the handler ends with it, instead of waiting for ever
            if not self._end.done():
                self._end.set_exception(error)
            return
        leg = await self._leg
        if not self._end.done():
            leg.deliver(call.seq, ok, value, milliseconds(time.time()))

    def noted(self, kind: NoteKind, value: Any) -> None:
        self._origin.note(self._place, kind, value)

    def returned(self, value: JsonText, warnings: Sequence[str]) -> None:
        for warning in warnings:
            self.noted("lossy", warning)
        if not self._end.done():
            self._end.set_result(value)

    def failed(self, failure: HandlerFailure) -> None:
        if not self._end.done():
            self._origin.note_failure(self._place, failure)
            self._end.set_exception(HandlerFailed(self._origin.masked(failure)))

    def diverged(self, divergence: Divergence) -> None:
        raise AssertionError("a handler that is not journaled cannot diverge")

    def replayed(self) -> None:
        raise AssertionError("a handler that is not journaled has nothing to replay")

    def settled(self) -> None:
        pass


class FrameOwner(Protocol):
    """The driver of the run, as its durable frames see it."""

    def on_called(self, frame: DurableFrame, call: HandlerCall) -> None: ...
    def on_noted(self, frame: DurableFrame, kind: NoteKind, value: Any) -> None: ...
    def on_returned(self, frame: DurableFrame, value: JsonText) -> None: ...
    def on_failed(self, frame: DurableFrame, failure: HandlerFailure) -> None: ...
    def on_diverged(self, frame: DurableFrame, divergence: Divergence) -> None: ...
    def on_given_up(self, frame: DurableFrame, seq: int) -> None: ...
    def on_replayed(self, frame: DurableFrame) -> None: ...
    def on_settled(self) -> None: ...


class DurableFrame:
    """A journaled handler: the run's own, or a durable child (``caller`` and ``call`` say whose).

    ``is_resumed``: it began in an earlier leg of its run. A frame outlives its leg: when the process is lost, `start`
    begins a new leg from the journal, and results wait until the handler has asked for them again. ``is_over``: nobody
    waits for it any more, so what its calls come to is of no use.
    """

    def __init__(
        self,
        owner: FrameOwner,
        place: Place,
        params: JsonText,
        started_at: float,
        caller: DurableFrame | None = None,
        call: HandlerCall | None = None,
        *,
        is_resumed: bool = False,
    ) -> None:
        self.place = place
        self.params = params
        self.started_at = started_at
        self.caller = caller
        self.call = call
        self.is_resumed = is_resumed
        self.is_over = False
        self._owner = owner
        self._leg: Leg | None = None
        self._asked: set[int] = set()
        self._results: deque[tuple[int, bool, JsonText, float]] = deque()
        self._closed = False
        self._is_aborted = False

    @property
    def path(self) -> SlotPath:
        return self.place.path

    @property
    def is_settled(self) -> bool:
        return self._leg is not None and not self._results and self._leg.is_settled

    async def start(
        self, origin: Origin, finished: Sequence[Entry], started: Sequence[Entry], *, holds: bool = False
    ) -> None:
        """Begin a leg that replays these entries. ``holds``: it makes no new call before `go`.

        Raises `HostUnavailable`.
        """
        self._leg = None
        self._asked.clear()
        self._results.clear()
        job = replace(
            origin.job(self.place, self.params, self.started_at),
            recorded=[_recorded(entry) for entry in finished],
            started=[_recorded(entry) for entry in started],
            holds=holds,
        )
        leg = await origin.start(job, self)
        if self._closed:
            leg.drop()
            return
        self._leg = leg
        self._hand_out()

    def go(self) -> None:
        """Let it make new calls."""
        if self._leg is not None and not self._closed:
            self._leg.go()

    def deliver(self, entry: Entry) -> None:
        """Hand out a stored result."""
        assert entry.value is not None
        assert entry.ended_at is not None
        self._results.append((entry.n, entry.state == "ok", entry.value, milliseconds(entry.ended_at)))
        self._hand_out()

    def _hand_out(self) -> None:
        while self._leg is not None and self._results and self._results[0][0] in self._asked:
            self._leg.deliver(*self._results.popleft())

    def drop(self) -> None:
        self._closed = True
        if self._leg is not None:
            self._leg.drop()

    def abort(self, reason: str) -> None:
        """What it prints while it cleans up is still noted."""
        self._closed = self._is_aborted = True
        if self._leg is not None:
            self._leg.abort(reason)

    def called(self, call: HandlerCall) -> None:
        if self._closed:
            return
        self._asked.add(call.seq)
        self._owner.on_called(self, call)
        self._hand_out()

    def given_up(self, seq: int) -> None:
        if not self._closed:
            self._asked.add(seq)  # a call given up while it is replayed is not made again, and its result passes
            self._owner.on_given_up(self, seq)
            self._hand_out()

    def noted(self, kind: NoteKind, value: Any) -> None:
        if self._is_aborted or not self._closed:
            self._owner.on_noted(self, kind, value)

    def returned(self, value: JsonText, warnings: Sequence[str]) -> None:
        if not self._closed:
            for warning in warnings:
                self.noted("lossy", warning)
            self._closed = True
            self._owner.on_returned(self, value)

    def failed(self, failure: HandlerFailure) -> None:
        if failure.code == "deadline":
            self._is_aborted = True
        if not self._closed:
            self._owner.on_failed(self, failure)

    def diverged(self, divergence: Divergence) -> None:
        if not self._closed:
            self._owner.on_diverged(self, divergence)

    def replayed(self) -> None:
        if not self._closed:
            self._owner.on_replayed(self)

    def settled(self) -> None:
        if not self._closed:
            self._owner.on_settled()


def milliseconds(at: float) -> float:
    return round(at * 1000)


def now() -> float:
    """Whole milliseconds, so that a handler sees the same time live and in replay."""
    return milliseconds(time.time()) / 1000


def _recorded(entry: Entry) -> RecordedCall:
    if entry.state == "started":
        return RecordedCall(entry.n, entry.kind, entry.name, entry.digest)
    return RecordedCall(
        entry.n,
        entry.kind,
        entry.name,
        entry.digest,
        entry.state == "ok",
        entry.value,
        milliseconds(entry.ended_at or entry.started_at),
    )
