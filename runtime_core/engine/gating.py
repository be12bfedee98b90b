"""What comes of a call that a model selected and that a person has to allow (contract 9.1, decision 20).

The model's side of a gate. A gate is known by the run, the slot and the arguments of the call it is about: a call that
is made again, because the run restarted, finds the gate of its first attempt, asked, answered or done, and nothing is
asked or executed twice. Until somebody answers, the gate belongs to its call: it is cancelled when that is given up,
and when it was left behind by a process that died, at the latest before anybody answers. If nobody is there to do that,
its deadline ends it. An allowed call belongs to the person who allowed it: it is made as a run like any other, whether
or not a model still waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from runtime_core.agents.clock import standing_still
from runtime_core.engine.ears import NO_EARS, Ears
from runtime_core.engine.failures import CallFailed, failure_text
from runtime_core.engine.frames import Place
from runtime_core.engine.gate import ASKED, ENTRY, Order
from runtime_core.hosts.base import HandlerFailure
from runtime_core.hosts.remains import is_gone, this_process
from runtime_core.journal.base import Journal
from runtime_core.repo.bundle import Agent, Bundle, Tool
from runtime_core.repo.policy import Verdict
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.runs import FINISHED, PauseRow, RunRow, SlotPath, is_below, slot

DENIED: Final = "denied"
"""The ``verdict`` on a call that nobody allowed: the model is told the message as it stands."""
REFUSED: Final = "refused"
"""That on one that a policy forbids, or leaves to an operator: the model is told ``{"error": message}``."""

_MOVING: Final = frozenset({"runnable", "running"})
_SLOT: Final = slot("", ASKED)
_ENDPOINT_SHOWN: Final = 200
"""Characters of a path in a question; all of it stands below."""

NewGate = Callable[[Order], RunRow]
"""The row of a gate for a call in one run."""


@dataclass(slots=True)
class Gates:
    """All gates of one runtime. ``wait_s``: how long models wait. ``advance``: the run when it moves no more;
    ``withdraw``: cancel it if nobody has answered; ``rest``: until something may have changed."""

    journal: Journal
    wait_s: float
    advance: Callable[[str], Awaitable[RunRow]]
    withdraw: Callable[[str], Awaitable[object]]
    rest: Callable[[], Awaitable[None]]
    is_stopped: bool = False
    """The process ends: gates are left to the next one."""
    _waiting: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """The gates that models wait for in this process, by the run of the model."""
    _leaving: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def is_asking(self, run_id: str) -> bool:
        """Whether a model of this run waits for a person."""
        return run_id in self._waiting.values()

    async def ask(self, order: Order, parent: str | None, new: NewGate, ears: Ears = NO_EARS) -> JsonText:
        """Have a person decide about a call, and have it made. Raises `CallFailed`.

        ``parent``: the run whose journal holds the call; None: no journal does, as in a conversation.
        """
        if order.kind == "confirm":
            asker = await asyncio.to_thread(this_process) if parent is None else None
            order = replace(order, wait_s=self.wait_s, asker=asker)
        row = new(order)
        run_id = row.id
        try:
            known = await self._known(order, parent)
            if known is None:
                await ears.became(order.at, run_id)
                await self.journal.create_run(row)
            else:
                run_id = known.id
            if order.kind == "review":
                await self.advance(run_id)
                ears.asked(order, run_id)
                raise _left_to_an_operator(order, run_id)
            run = await self._followed(run_id, parent, lambda: ears.asked(order, run_id))
        except asyncio.CancelledError:
            if order.kind == "confirm" and (parent is None or not self.is_stopped):
                leaving = asyncio.get_running_loop().create_task(self._withdraw(run_id))
                self._leaving.add(leaving)
                leaving.add_done_callback(self._leaving.discard)
            raise
        finally:
            self._waiting.pop(run_id, None)
        question = await self._question(run_id)
        if question is not None and question.outcome == "answered":
            ears.allowed(order, run_id)
        return _result(order, run, question)

    async def stop(self) -> None:
        """Wait until the gates are cancelled whose calls were given up."""
        await asyncio.gather(*self._leaving, return_exceptions=True)

    async def tidy(self, run_id: str) -> None:
        """Cancel the gates of a run that no call of it waits for any more and that nobody has allowed."""
        waiting = [(gate, order) for gate, order in await self._gates(run_id) if _may_wait(gate)]
        if not waiting:
            return
        run = await self.journal.run(run_id)
        done = [slot(entry.path, entry.n) for entry in await self.journal.load(run_id) if entry.state != "started"]
        is_over = run is None or run.status in FINISHED
        for gate, order in waiting:
            if is_over or _covers(done, order.at):
                await self._withdraw(gate.id)

    async def sweep(self) -> None:
        """Cancel the gates of calls that no journal holds and whose process is gone."""
        waiting = [(gate, order.asker) for gate, order in await self._gates(None) if _may_wait(gate)]
        for gate, asker in waiting:
            is_left = asker is not None and await asyncio.to_thread(is_gone, asker)
            if is_left:
                await self._withdraw(gate.id)

    async def _known(self, order: Order, parent: str | None) -> RunRow | None:
        """The gate of an earlier attempt; one for another call in the same place is of no use any more."""
        if parent is None:
            return None
        found: RunRow | None = None
        for gate, before in await self._gates(parent):
            if before.at != order.at or gate.status in ("cancelled", "expired"):
                continue
            if (before.kind, before.tool, before.arguments) == (order.kind, order.tool, order.arguments):
                found = gate
            elif _may_wait(gate):
                await self._withdraw(gate.id)
        return found

    async def _gates(self, parent: str | None) -> list[tuple[RunRow, Order]]:
        gates = [(gate, Order.of(gate.params)) for gate in await self.journal.gates(parent)]
        return [(gate, order) for gate, order in gates if order is not None]

    async def _followed(self, run_id: str, parent: str | None, asked: Callable[[], None]) -> RunRow:
        """The gate when it has ended, or waits for something else than the answer of a person to its question.

        ``asked``: told once that its question can be answered.
        """
        while True:
            is_unanswered = await self._is_unanswered(run_id)  # before its run, which moves as soon as it is answered
            run = await self.journal.run(run_id)
            assert run is not None
            if run.status in _MOVING:
                run = await self.advance(run_id)
            if run.status == "awaiting-input" and is_unanswered:
                if run_id not in self._waiting:
                    self._waiting[run_id] = parent
                    asked()
            elif run.status not in _MOVING:
                return run
            if self.is_stopped:
                raise asyncio.CancelledError
            with standing_still():
                await self.rest()

    async def _question(self, run_id: str) -> PauseRow | None:
        return next((pause for pause in await self.journal.pauses(run_id) if pause.slot == _SLOT), None)

    async def _is_unanswered(self, run_id: str) -> bool:
        """Nobody has answered yet."""
        question = await self._question(run_id)
        return question is None or question.outcome is None

    async def _withdraw(self, run_id: str) -> None:
        """Cancel a gate, but for one that somebody has answered."""
        with suppress(RuntimeFault):  # it has ended meanwhile
            await self.withdraw(run_id)


def order_for(agent: Agent, at: Place, number: int, name: str, params: JsonText, asks: Verdict | str | None) -> Order:
    """The order for a call that the model of the agent at ``at`` selected, because of what a policy said about it, or
    of a guarded tool with the question it is to be asked with."""
    verdict = asks if isinstance(asks, Verdict) else Verdict("confirm")
    wants = _wish(agent, name, verdict)
    return Order(
        kind="review" if verdict.tier == "review" else "confirm",
        tool=name,
        arguments=dumps(loads(params)),  # as they come back out of the journal, however the model wrote them
        title=wants if isinstance(asks, str) else None,
        question=asks if isinstance(asks, str) else f"{wants}. Allow it?",
        agent=agent.name,
        path=at.names,
        at=slot(at.path, number),
        levels=at.levels,
        deepest=at.deepest,
        reason=verdict.reason,
        request=verdict.shown,
    )


def root_place(run: RunRow, bundle: Bundle) -> Place | None:
    """Where the handler of a run stands; None if its repository has no such durable tool."""
    if run.gate is not None:
        order = Order.of(run.params)
        return gate_place(order) if order is not None else None
    tool = bundle.tools.get(run.tool)
    return Place(tool, names=(tool.name,)) if tool is not None and tool.durable else None


def gate_place(order: Order) -> Place:
    """Where the handler of a gate stands, so that its call stands where that of the model would."""
    tool = Tool(order.tool, order.question, {}, ENTRY, "python", durable=True, tools=(order.tool,))
    return Place(
        tool,
        depth=-1,
        levels=order.levels,
        deepest=order.deepest,
        names=(*order.path,),
        agent=order.agent,
        allowed=order.request,
    )


def forbidden(tool: str, verdict: Verdict) -> CallFailed:
    """A call that its policy does not allow."""
    why = f": {verdict.reason}" if verdict.reason else "."
    what = _request_in_words(verdict.shown) or tool
    return _refused(tool, f"The policy of the connection does not allow {what}{why}")


def _wish(agent: Agent, tool: str, verdict: Verdict) -> str:
    sent = _request_in_words(verdict.shown)
    wants = f'The agent "{agent.display_name}" wants to {f"send {sent}" if sent else f"call {tool}"}'
    return f"{wants}: {verdict.reason.rstrip('.')}" if verdict.reason else wants


def _request_in_words(request: Any) -> str | None:
    match request:
        case {"method": str(method), "endpoint": str(endpoint), **more}:
            shown = endpoint if len(endpoint) <= _ENDPOINT_SHOWN else f"{endpoint[:_ENDPOINT_SHOWN]}…"
            return f"{method} {shown} through {more['connection']}" if "connection" in more else f"{method} {shown}"
        case _:
            return None


def _may_wait(gate: RunRow) -> bool:
    return gate.gate == "confirm" and gate.status not in FINISHED


def _covers(done: Sequence[SlotPath], at: SlotPath) -> bool:
    return any(at == path or is_below(at, path) for path in done)


def _left_to_an_operator(order: Order, run_id: str) -> CallFailed:
    why = f" ({order.reason.rstrip('.')})" if order.reason else ""
    what = _request_in_words(order.request) or order.tool
    return _refused(
        order.tool,
        f"{what} was not sent: its policy leaves it to an operator{why}, who decides about it separately as {run_id}. "
        "Do not try again.",
    )


def _refused(tool: str, message: str) -> CallFailed:
    return CallFailed("execution-failed", message, tool=tool, verdict=REFUSED)


def _result(order: Order, run: RunRow, question: PauseRow | None) -> JsonText:
    """What the call comes to that the gate ``run`` was made for. Raises `CallFailed`."""
    outcome = question.outcome if question is not None else None
    error: Any = loads(run.error) if run.error is not None else {}
    if outcome != "answered":
        match outcome:
            case "refused":
                why = question.note if question is not None else None
            case "expired":
                why = f"nobody answered within {order.wait_s or 0:g} s."
            case _:
                why = error.get("message")
        message = f"Tool call denied by user{f': {why}' if why else '.'}"
        raise CallFailed("execution-failed", message, tool=order.tool, verdict=DENIED)
    if run.status == "completed":
        return run.result or "null"
    if run.status in FINISHED:
        failure = HandlerFailure(str(error.get("name")), str(error.get("message")), error.get("code"))
        raise CallFailed("execution-failed", failure_text(order.tool, failure), tool=order.tool, cause=error)
    why = f" ({str(error['message']).rstrip('.')})" if error.get("message") else ""
    raise CallFailed(
        "execution-failed",
        f'Tool "{order.tool}" was allowed and has no result: it is {run.shown_status} as run {run.id}{why}, where a '
        "person decides what becomes of it. Do not call it again.",
        tool=order.tool,
    )
