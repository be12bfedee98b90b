"""What the calls of handlers do that are executed, and their error codes (contract 3.2 and 4)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from runtime_core.agents.loop import OutcomeUnknown
from runtime_core.agents.turns import File, Model, ModelUnusable
from runtime_core.connections.masking import masked_json
from runtime_core.engine.agent_calls import subagent
from runtime_core.engine.attachments import files_in, without_data
from runtime_core.engine.failures import CallFailed, HandlerFailed, broken_off, tool_failed
from runtime_core.engine.faults import Fault, Faults, check_fault
from runtime_core.engine.frames import MAX_TOOL_DEPTH, InlineFrame, Origin, Outcome, Place
from runtime_core.engine.gate import Order
from runtime_core.engine.gating import forbidden, order_for
from runtime_core.engine.hooks import Hooks
from runtime_core.engine.losses import LOST_LIMIT
from runtime_core.engine.shell import CommandRefused, Shell
from runtime_core.engine.surface import Surface
from runtime_core.hosts.base import HandlerCall, HandlerFailure, NoteKind
from runtime_core.repo.bundle import Agent, Effect, Tool
from runtime_core.repo.policy import Verdict
from runtime_core.spans.book import SpanBook
from runtime_core.tools.base import Caller, Member, MemberCall, MemberRefused, Prepare, ReadyTool, ToolFailed
from runtime_core.tools.chat import CALL_SUBAGENT
from runtime_core.tools.offers import offered
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.runs import CallKind, slot
from runtime_core.wire.stores import StoreWrite

log = logging.getLogger(__name__)

ModelOf = Callable[[Agent], Awaitable[Model | None]]
"""The model of an agent; None if this process has none for it. Raises `ModelUnusable`."""

OwnRun = Callable[[Place, JsonText, bool], Awaitable[JsonText]]
"""Runs a durable tool as a run of its own and returns its result. One that does not finish is a failure (decision 10),
unless a model has selected it, which is told how it stands (contract 7.4). Raises `CallFailed`."""

Gate = Callable[[Order], Awaitable[JsonText]]
"""Has a person decide about a call, and makes it; its result. Raises `CallFailed` (decision 20)."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Executes the calls of all handlers and models of one run, or of one turn of a conversation, and keeps their
    spans."""

    origin: Origin
    spans: SpanBook
    model: ModelOf
    own_run: OwnRun
    gate: Gate
    shell: Shell
    surface: Surface
    hooks: Hooks
    members: Mapping[str, Member]
    faults: Faults = field(default_factory=dict[str, Fault])

    async def lacks_model(self, name: str) -> bool:
        """Whether this process has no model for a specialist of the run, which the one that began it may have had."""
        agent = self.origin.bundle.agents.get(name)
        try:
            return agent is not None and await self.model(agent) is None
        except ModelUnusable:
            return False

    async def perform(self, place: Place, call: HandlerCall) -> Outcome:
        """Execute one call of the handler at ``place``. Raises `OutcomeUnknown`."""
        if call.kind == "tool":
            return await self.tool(place, call)
        if call.kind == "exec":
            return await self.traced(place, call.seq, "exec", "exec", call.args, partial(self.shell.run, call.args))
        if (member := self.members.get(call.kind)) is not None:
            asked = MemberCall(self.caller(place, call.seq), place.tool.name, place.tool.may_write)
            return await self.traced(
                place, call.seq, call.kind, call.name, call.args, partial(member, call.args, asked)
            )
        work = partial(self._subagent, place, call)
        return await self.traced(place, call.seq, "subagent", call.name, without_data(call.args), work)

    async def tool(self, place: Place, call: HandlerCall) -> Outcome:
        return await self.traced(place, call.seq, "tool", call.name, call.args, partial(self._tool, place, call))

    async def traced(
        self,
        place: Place,
        number: int,
        kind: CallKind,
        name: str,
        given: JsonText,
        work: Callable[[], Awaitable[JsonText]],
    ) -> Outcome:
        """Do the work of a call and keep its span; whatever goes wrong in it is the failure of this call alone.

        Raises `OutcomeUnknown`, and `RuntimeFault` if the data folder does not do its work.
        """
        at = slot(place.path, number)
        self.spans.start(at, kind, name, masked_json(given, self.origin.hidden))
        try:
            if not self._is_harmless(kind, name):
                await self.origin.ears.kept()
            outcome = True, await work()
        except (CallFailed, CommandRefused, MemberRefused) as failed:
            outcome = False, failed.error
        except OutcomeUnknown:
            self.spans.doubt(at)
            raise
        except asyncio.CancelledError:
            self.spans.cancel(at)
            raise
        except Exception as error:  # whatever it is: its handler would wait for ever
            if isinstance(error, RuntimeFault) and error.is_storage:
                self.spans.cancel(at)
                raise
            log.error("%s: the call of %s broke off", self.origin.session_id or "-", name or kind, exc_info=error)
            outcome = False, broken_off(kind, name, error)
        self.spans.finish(at, *outcome)
        return outcome

    def _is_harmless(self, kind: CallKind, name: str) -> bool:
        """Whether a call does nothing itself that cannot be undone."""
        return kind == "subagent" or (kind == "tool" and _standing_effect(self.origin, name) == "read")

    async def _tool(self, place: Place, call: HandlerCall) -> JsonText:
        if self.faults.get(call.name) == "missing":
            return "null"
        ready = self.origin.ready(call.name)
        if ready is not None:
            await self.origin.toolbox.look(self.origin.bundle)
            self.check_ready(place, ready, call.args)
            return await self._use(ready, call.args, self.caller(place, call.seq))
        tool = self.child_tool(place, call.name, call.args)
        return await self._run(place.child(tool, call.seq), call.args)

    def check_ready(self, place: Place, tool: ReadyTool, params: JsonText) -> None:
        """Whether the handler at ``place`` may use a tool that comes with the runtime. Raises `CallFailed`."""
        _check_declared(place, tool.name)
        check_fault(self.faults, tool.name)
        if tool.category == "connection" and not place.tool.durable:
            raise CallFailed(
                "confirmation-unsupported",
                f'"{tool.name}" calls another system, and "{place.tool.name}" is not durable, so nobody can be asked. '
                "Make the calling tool durable and ask there, or use ctx.request in a tool of its own.",
                tool=tool.name,
            )
        _check_depth(place, tool.name)
        self._check_on(tool)
        self._check(tool, params)

    def _check_on(self, tool: ReadyTool) -> None:
        bundle = self.origin.bundle
        if self.origin.toolbox.is_off(bundle, tool.name):
            raise CallFailed(
                "execution-failed",
                f'Tool "{tool.name}" is switched off by an operator for the repository {bundle.name}. Switch it on '
                f"with: operator-inbox tools {bundle.root} --enable {tool.name}",
                tool=tool.name,
                cause={"name": "SwitchedOff", "message": f'"{tool.name}" is switched off'},
            )

    def prepared(self, place: Place, call: HandlerCall, tool: ReadyTool, prepare: Prepare) -> StoreWrite:
        """What a tool that only writes a store is to write. Raises `CallFailed`."""
        self.check_ready(place, tool, call.args)
        try:
            return prepare(call.args, self.caller(place, call.seq))
        except ToolFailed as failed:
            raise _ready_failed(tool, failed) from None

    async def _use(self, tool: ReadyTool, params: JsonText, caller: Caller) -> JsonText:
        try:
            async with asyncio.timeout(tool.timeout_s):
                return await tool.call(params, caller)
        except ToolFailed as failed:
            raise _ready_failed(tool, failed) from None
        except RuntimeFault as fault:
            raise _ready_failed(tool, ToolFailed(fault.message, fault.code)) from fault
        except TimeoutError:
            text = f'Tool "{tool.name}" failed: it did not finish within {tool.timeout_s:g} s.'
            raise CallFailed("execution-failed", text, tool=tool.name) from None

    def caller(self, place: Place, number: int, agent: Agent | None = None) -> Caller:
        origin = self.origin
        agent = agent or origin.bundle.agents.get(place.agent or "")
        at = replace(place, path=slot(place.path, number))
        return Caller(
            bundle=origin.bundle,
            scope=origin.scope,
            who=self.surface.who,
            note=lambda kind, value: origin.note(at, cast("NoteKind", kind), value),
            subagent=partial(subagent, self, place, number, agent),
            session_id=origin.session_id or origin.chat_id,
            call_id=f"{origin.calls_id}/{at.path}",
            context=self.surface.context,
            agent=agent,
            allowed=place.allowed,
        )

    async def _run(self, child: Place, params: JsonText) -> JsonText:
        """A handler that was lost with its process through no known fault of its own runs again if it may.

        If it may not, and had begun, what became of it is unknown: the call in the journal waits for a person
        (decision 13).
        """
        if child.tool.durable:
            return await self.own_run(child, params, False)
        lost = HandlerFailure("Error", "")
        is_once = child.tool.effect == "once"
        for _ in range(LOST_LIMIT):
            try:
                return await self.inline(child, params)
            except HandlerFailed as failed:
                lost = failed.failure
                if lost.code != "host-lost" or (is_once and lost.begun):
                    break
            except OutcomeUnknown as unknown:
                lost = HandlerFailure("Error", str(unknown), "host-lost")
                if is_once:
                    break
        if lost.code == "host-lost" and lost.begun and is_once and self.origin.session_id is not None:
            raise OutcomeUnknown(lost.message)
        raise tool_failed(child.tool.name, lost)

    async def inline(self, place: Place, params: JsonText) -> JsonText:
        """Run a handler that is not journaled. Raises `HandlerFailed`, `OutcomeUnknown`."""
        return await InlineFrame(self.origin, place, partial(self.perform, place)).run(params)

    def child_tool(self, place: Place, name: str, params: JsonText) -> Tool:
        """The tool a handler may call by this name with these parameters. Raises `CallFailed`."""
        _check_declared(place, name)
        check_fault(self.faults, name)
        tool = self._known_tool(name)
        if tool.exposure != "open" and not place.tool.durable:
            raise CallFailed(
                "confirmation-unsupported",
                f'Tool "{name}" has the exposure "{tool.exposure}", and "{place.tool.name}" is not durable, so nobody '
                "can be asked. Make the calling tool durable and ask there.",
                tool=name,
            )
        _check_depth(place, name)
        self._check(tool, params)
        return tool

    def _known_tool(self, name: str) -> Tool:
        tool = self.origin.bundle.tools.get(name)
        if tool is None and name in self.origin.bundle.waiting:
            code, reason = self.origin.bundle.waiting[name]
            message = f'Tool "{name}" failed: it cannot be read: {reason}.'
            cause = {"name": "DependenciesUnavailable", "message": reason, "code": code}
            raise CallFailed("execution-failed", message, tool=name, cause=cause)
        if tool is None:
            raise CallFailed(
                "unknown-tool", f'The repository {self.origin.bundle.name} has no tool "{name}".', tool=name
            )
        return tool

    def _check(self, tool: Tool | ReadyTool, params: JsonText) -> None:
        from runtime_core.repo.params import check_params  # with jsonschema: not for commands that only look

        problem = check_params(tool, params)
        if problem is not None:
            raise CallFailed(
                "invalid-params", f'The parameters do not fit tool "{tool.name}": {problem}', tool=tool.name
            )

    async def _subagent(self, place: Place, call: HandlerCall) -> JsonText:
        check_fault(self.faults, call.name, agent=True)
        task, given, files = _subagent_args(call.args, call.name)
        return dumps(await subagent(self, place, call.seq, None, call.name, task, given, files))

    async def for_model(self, agent: Agent, at: Place, number: int, name: str, params: JsonText) -> JsonText:
        """Execute a tool call that the model of the agent at ``at`` selected. Raises `CallFailed`, `OutcomeUnknown`."""
        ready = self.origin.ready(name)
        if ready is not None:
            await self.origin.toolbox.look(self.origin.bundle)
            self._check_on(ready)
            self._check(ready, params)
            caller = self.caller(at, number, agent)
            verdict = await _judged(ready, params, caller)
            if verdict.tier != "allow":
                return await self._guarded(agent, at, number, name, params, verdict)
            return await self._use(ready, params, caller)
        tool = self._known_tool(name)
        self._check(tool, params)
        if tool.exposure != "open":
            return await self._guarded(agent, at, number, name, params, tool.prompt)
        child = replace(at.child(tool, number), depth=0, attachments=at.attachments)
        return await (self.own_run(child, params, True) if tool.durable else self._run(child, params))

    async def _guarded(
        self, agent: Agent, at: Place, number: int, name: str, params: JsonText, asks: Verdict | str | None
    ) -> JsonText:
        if isinstance(asks, Verdict) and asks.tier == "never":
            raise forbidden(name, asks)
        self.spans.wait(slot(at.path, number), "tool", name, params)
        return await self.gate(order_for(agent, at, number, name, params, asks))


async def _judged(tool: ReadyTool, params: JsonText, caller: Caller) -> Verdict:
    if tool.judge is None:
        return Verdict("allow")
    try:
        return await tool.judge(params, caller)
    except ToolFailed as failed:
        raise _ready_failed(tool, failed) from None


def _ready_failed(tool: ReadyTool, failed: ToolFailed) -> CallFailed:
    cause = {"name": "ToolExecutionError", "message": failed.message, "code": failed.code}
    text = f'Tool "{tool.name}" failed: {failed.message}'
    return CallFailed("execution-failed", text, tool=tool.name, cause=cause)


def effect_of(origin: Origin, call: HandlerCall) -> Effect:
    """Whether a call may be made again after a crash: read, idempotent or once (decision 13)."""
    if call.kind == "tool":
        ready = origin.ready(call.name)
        return ready.effect_with(call.args) if ready is not None else _own_effect(origin, call.name)
    return _agent_effect(origin, call.name, frozenset())


def _agent_effect(origin: Origin, name: str, above: frozenset[str]) -> Effect:
    """That of a specialist: ``read`` if all its tools are known and are, and all whom it may send."""
    agent = origin.bundle.agents.get(name)
    if agent is None or name in above:
        return "read"
    if not origin.toolbox.knows(origin.bundle, (*agent.connections, *agent.mcp)):
        return "once"
    names = offered(agent, origin.bundle, origin.toolbox)
    tools = [_standing_effect(origin, tool) for tool in names if tool != CALL_SUBAGENT]
    sent = [_agent_effect(origin, other, above | {name}) for other in agent.subagents]
    return "read" if all(effect == "read" for effect in (*tools, *sent)) else "once"


def _own_effect(origin: Origin, name: str) -> Effect:
    tool = origin.bundle.tools.get(name)
    return tool.effect if tool is not None else "once"


def _standing_effect(origin: Origin, name: str) -> Effect:
    """That of a tool which a model may call, whatever its params are. What a gate guards the gate repeats never."""
    ready = origin.ready(name)
    if ready is None:
        return "read" if _is_guarded(origin, name) else _own_effect(origin, name)
    return "once" if callable(ready.effect) else ready.effect


def _is_guarded(origin: Origin, name: str) -> bool:
    tool = origin.bundle.tools.get(name)
    return tool is not None and tool.exposure != "open"


def _check_declared(place: Place, name: str) -> None:
    if name not in place.tool.tools:
        raise CallFailed(
            "undeclared",
            f'Tool "{place.tool.name}" calls "{name}" without declaring it: '
            f'add "{name}" to uses.tools in its tool.json.',
            tool=name,
        )


def _check_depth(place: Place, name: str) -> None:
    if place.depth >= MAX_TOOL_DEPTH:
        chain = " > ".join((*place.names, name))
        raise CallFailed(
            "depth-exceeded",
            f"Tools call each other at most {MAX_TOOL_DEPTH} levels deep; this would be one more: {chain}.",
            tool=name,
        )


def _subagent_args(args: JsonText, name: str) -> tuple[str, JsonText | None, Sequence[File]]:
    """Task, input and files of ``ctx.callSubagent``."""
    values = loads(args)
    assert isinstance(values, list)
    task: Any = values[0] if values else None
    if not isinstance(task, str):
        raise CallFailed("subagent-failed", f'The task for subagent "{name}" must be a text.', agent=name)
    given, options = (*values[1:3], None, None)[:2]
    files: Any = cast("dict[str, Any]", options).get("attachments") if isinstance(options, dict) else None
    try:
        return task, None if given is None else dumps(given), files_in(dumps(files)) if files is not None else ()
    except RuntimeFault as fault:
        raise CallFailed("subagent-failed", f'The call of subagent "{name}": {fault.message}', agent=name) from None
