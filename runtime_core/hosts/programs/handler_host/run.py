"""One run of a handler: numbers its calls, replays recorded results in recorded order, holds what must wait."""

from __future__ import annotations

import asyncio
import contextvars
import enum
import inspect
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from .turns import Turns, current_run, in_step
from .values import CallError, CompositeCallError, TooLarge, Writer, digest, error_in, error_out, to_json, well_formed

Message = dict[str, Any]
_now_s = time.monotonic


@dataclass
class Port:
    """What a run needs of its process."""

    loop: asyncio.AbstractEventLoop
    turns: Turns
    send: Callable[[Message], None]
    flush: Callable[[], None]
    forget: Callable[[Run], None]
    real_call_later: Callable[..., asyncio.TimerHandle]
    value_limit: int
    line_limit: int
    stuck_s: float


class Phase(enum.Enum):
    """What may be made beside the recorded calls."""

    REPLAYING = "nothing"
    REPLAYED = "calls that had begun in an earlier leg"
    LIVE = "everything"


class Signal(asyncio.Event):
    """``ctx.signal``: set when the run is cancelled or the time of the handler is up."""

    reason: str | None = None
    listeners = 0

    async def wait(self) -> Literal[True]:
        self.listeners += 1
        try:
            return await super().wait()
        finally:
            self.listeners -= 1

    @property
    def aborted(self) -> bool:
        return self.is_set()


class Run:
    def __init__(self, message: Message, port: Port) -> None:
        self.id: int = message["run"]
        self.durable: bool = message["durable"]
        self._is_dry: bool = message["dry"]  # nothing is executed, nothing is said

        self.clock = int(message["t0"])
        self.generator = random.Random(message["seed"])
        self.signal = Signal()
        self.task: asyncio.Task[None] | None = None
        self._port = port

        self.seq = 0
        journal: list[Message] = message["journal"]
        self._queue = journal  # results to hand out, in the order in which they have to be handed out
        self._at = 0
        self._to_replay = len(journal)
        self._known = {record["seq"]: record for record in [*journal, *message["started"]]}
        self._last = max(self._known, default=-1)
        self._is_strict: bool = message["strict"]  # changed parameters of a recorded call are a divergence
        self._waits_for_go: bool = message["holds"]
        self._phase = Phase.REPLAYING if self._known or self._waits_for_go else Phase.LIVE
        self._held: list[tuple[Message, Callable[[Message], None]]] = []  # calls without a recorded result
        self._recorded = {record["seq"] for record in journal}
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._reads: dict[int, asyncio.Future[str]] = {}
        self._read_count = 0
        self._notes = 0

        self.handled = 0  # messages of this run
        self.is_loading = True
        self.is_restless = True
        self.is_aborted = False
        self.is_dead = False
        self._steps: set[asyncio.Task[None]] = set()
        self._is_pumping = False
        self._pump_task: asyncio.Task[None] | None = None
        self._is_stirring = False
        self._stuck: asyncio.TimerHandle | None = None

    @property
    def is_replaying(self) -> bool:
        return self._to_replay > 0

    @property
    def line_limit(self) -> int:
        return self._port.line_limit

    @property
    def has_open_calls(self) -> bool:
        return bool(self._pending or self._reads or self._steps)

    # ---- what the handler does -------------------------------------------------------------------------

    def call(
        self, kind: str, name: str, args: Any, work: Callable[[Message], None] | None = None
    ) -> asyncio.Future[Any]:
        """A plain function: the number is taken when it is called, not when the result is awaited."""
        future: asyncio.Future[Any] = self._port.loop.create_future()
        if self.is_dead:
            return future
        if in_step.get():
            raise CompositeCallError(
                "call-inside-step", f"a ctx call ({kind} {name}) was made inside ctx.step; make it outside"
            )
        if self.is_aborted:
            raise self._cancelled()
        writer = Writer()
        text = writer.text(args)
        if len(text) > self._port.value_limit:
            raise TooLarge("params-too-large", f"the parameters of {kind} {name}", len(text), self._port.value_limit)
        made: Message = {"seq": self.seq, "kind": kind, "name": name, "digest": ""}
        made["args"] = text
        if self.durable:
            made["digest"] = digest(args, writer, text)
        self.seq += 1
        if not self._matches(made):
            return future
        for what in writer.lost:
            self.note("lossy", f"{kind} {name} {what}")
        self._pending[made["seq"]] = future
        future.add_done_callback(partial(self._on_over, made["seq"]), context=contextvars.Context())
        if made["seq"] in self._recorded:
            if not self._is_pumping:
                self._port.loop.call_soon(self.start_pump, context=contextvars.Context())
            return future
        self._held.append((made, work or self._ask))
        if self._phase is Phase.LIVE:
            self._release()
        else:
            self.stir()
        return future

    def _release(self) -> None:
        """Make what may be made by now; the handler that replays may still turn out to be another one."""
        held, self._held = self._held, []
        for made, work in held:
            if self._phase is Phase.LIVE or made["seq"] in self._known:
                work(made)
            else:
                self._held.append((made, work))

    def _end_replay(self) -> bool:
        """Every recorded call was made again and has its result. True if that changed what may be made."""
        if self._phase is not Phase.REPLAYING:
            return False
        self._phase = Phase.REPLAYED if self._waits_for_go else Phase.LIVE
        if self._waits_for_go:
            self._port.send({"t": "replayed", "run": self.id})
        if not self._held:
            return self._waits_for_go
        self.enter_turn()
        self._release()
        return True

    def go(self) -> None:
        if self._phase is Phase.REPLAYED:
            self._phase = Phase.LIVE
        self._release()

    def step(self, name: str, work: Callable[[], Any]) -> asyncio.Future[Any]:
        context = contextvars.copy_context()

        def begin(made: Message) -> None:
            task = self._port.loop.create_task(self._do_step(made, work), context=context)
            self._steps.add(task)

        return self.call("step", str(name), None, None if self._is_dry else begin)

    async def _do_step(self, made: Message, work: Callable[[], Any]) -> None:
        in_step.set(True)
        began = _now_s()
        try:
            value = work()
            if inspect.isawaitable(value):
                value = await value
            text = to_json(value)
            if len(text) > self._port.value_limit:
                limit = self._port.value_limit
                raise TooLarge("result-too-large", f"the result of step {made['name']}", len(text), limit)
            outcome = {"ok": True, "value": text}
        except Exception as error:
            outcome = {"ok": False, "value": to_json(error_out(error, stack=False))}
        task = asyncio.current_task()
        if task is not None and not self.is_dead:
            self._steps.discard(task)
            self._ask(made | outcome | {"took": _now_s() - began})

    def read(self, path: str) -> asyncio.Future[str]:
        future: asyncio.Future[str] = self._port.loop.create_future()
        if self.is_dead:
            return future
        if self.is_aborted:
            raise self._cancelled()
        text = well_formed(str(path))
        number = self._read_count
        self._read_count += 1
        self._reads[number] = future
        self._port.send({"t": "read", "run": self.id, "id": number, "path": text})
        return future

    def note(self, kind: str, value: Any) -> None:
        if self.is_dead:
            return
        text = to_json(value)  # also in a replay: what cannot be written has to fail there as well
        number = self._notes
        self._notes += 1
        if not (self.is_replaying or self._is_dry):
            self._port.send({"t": "note", "run": self.id, "n": number, "kind": kind, "value": text})

    def enter_turn(self) -> None:
        """Says beforehand whose code runs outside of the turn of a message, in case it never comes back."""
        self._port.send({"t": "turn", "run": self.id})
        self._port.flush()
        self._port.turns.over().add_done_callback(self._on_turn_over, context=contextvars.Context())

    def _on_turn_over(self, _: asyncio.Future[None]) -> None:
        self._port.send({"t": "turn", "run": None})

    def _on_over(self, seq: int, call: asyncio.Future[Any]) -> None:
        """A call that was cancelled is waited for no more: one that was not made yet is never made."""
        if not call.cancelled() or self.is_dead or self.is_aborted:
            return
        self._held = [one for one in self._held if one[0]["seq"] != seq]
        self._port.send({"t": "cleared", "run": self.id, "seq": seq})
        self.stir()

    def _ask(self, made: Message) -> None:
        self._port.send({"t": "call", "run": self.id, **made})
        self.stir()

    def _matches(self, made: Message) -> bool:
        record = self._known.get(made["seq"])
        if record is None:
            return True
        is_fixed = self._is_strict or made["kind"] in {"input", "approval"}
        is_changed = record["digest"] != made["digest"]
        if record["kind"] != made["kind"] or record["name"] != made["name"] or (is_fixed and is_changed):
            self.diverge(made["seq"], made)
            return False
        if is_changed:
            what = {key: made[key] for key in ("seq", "kind", "name", "args")}
            what |= {"recorded": record["digest"], "made": made["digest"]}
            self._port.send({"t": "note", "run": self.id, "kind": "params-changed", "value": to_json(what)})
        return True

    # ---- what the runtime sends ------------------------------------------------------------------------

    def result(self, message: Message) -> None:
        if message["seq"] not in self._pending:
            self._recorded.add(message["seq"])  # it came before its call was made again
        self._held = [one for one in self._held if one[0]["seq"] != message["seq"]]
        self._queue.append(message)

    def file(self, message: Message) -> None:
        waiting = self._reads.pop(message["id"], None)
        if waiting is None or waiting.done():
            return
        if message["ok"]:
            waiting.set_result(message["value"])
        else:
            waiting.set_exception(error_in(message["value"]))

    def start_pump(self) -> None:
        if not self._is_pumping:
            self._pump_task = self._port.loop.create_task(self.pump(), context=contextvars.Context())

    async def pump(self, *, is_quiet: bool = False) -> None:
        """Hands out one result, waits until nothing is ready, then the next; stops at a call not made yet."""
        if self._is_pumping:
            return
        self._is_pumping = True
        if not is_quiet:
            await self._port.turns.over()
        while self._can_deliver():
            calm: asyncio.Future[None] = self._port.loop.create_future()
            self._hand_out(calm)
            await calm
        self._is_pumping = False
        if self._at == len(self._queue):
            self._queue = []
            self._at = 0
        self.settle()

    def _hand_out(self, calm: asyncio.Future[None]) -> None:
        """Without a task in between: a replay has thousands of results."""
        if self._can_deliver():
            self._stuck_off()
            self._deliver(self._queue[self._at])
            self._at += 1
            self._port.turns.then(partial(self._hand_out, calm))
        else:
            calm.set_result(None)

    def _can_deliver(self) -> bool:
        if self.is_dead or self._reads or self._at >= len(self._queue):
            return False
        return self._queue[self._at]["seq"] in self._pending

    def _deliver(self, result: Message) -> None:
        future = self._pending.pop(result["seq"])
        if self._to_replay:
            self._to_replay -= 1
        self.clock = max(self.clock, int(result["at"]))
        self.is_restless = True
        if future.done():
            return
        if result["ok"]:
            future.set_result(result["value"])
        else:
            future.set_exception(error_in(result["value"]))

    def settle(self) -> None:
        """Tells the parent that the handler waits; call it only when nothing is ready to run."""
        if self.is_dead or self.is_loading or self._steps or self._is_pumping or self._reads:
            return
        if self._at < len(self._queue) or self._is_unclaimed:
            if self._stuck is None:
                self._stuck = self._port.real_call_later(self._port.stuck_s, self._on_stuck, self._at, self.seq)
        elif self._end_replay() or self._phase is Phase.REPLAYED:
            return
        elif self.is_restless:
            self.is_restless = False
            self._port.send({"t": "waits", "run": self.id, "n": self.handled})

    def stir(self) -> None:
        """Something happened that no message asked for: look again when the turn is over."""
        self.is_restless = True
        if not self._is_stirring:
            self._is_stirring = True
            self._port.turns.then(partial(contextvars.Context().run, self._on_calm))

    def _on_calm(self) -> None:
        """In the moment when nothing is ready to run: a moment later a file may have come."""
        self._is_stirring = False
        self.settle()

    @property
    def _is_unclaimed(self) -> bool:
        """Some recorded call was not made yet."""
        return self._phase is Phase.REPLAYING and self.seq <= self._last

    def _on_stuck(self, at: int, seq: int) -> None:
        """A recorded call is not being made: after a while without any that is a divergence."""
        self._stuck = None
        if self.is_dead:
            return
        if (self._at, self.seq) != (at, seq):
            self.settle()
        elif (missing := self._queue[at]["seq"] if at < len(self._queue) else self.unmade()) is not None:
            self.diverge(missing, None)

    def _stuck_off(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    # ---- ends ------------------------------------------------------------------------------------------

    def unmade(self) -> int | None:
        """The first record whose call the handler never made, when it has ended."""
        return min((seq for seq in self._known if seq >= self.seq), default=None)

    def diverge(self, seq: int, made: Message | None, error: Message | None = None) -> None:
        self.end()
        self._port.send({"t": "diverged", "run": self.id, "seq": seq, "made": made, "error": error})

    def abort(self, reason: str) -> None:
        if self.is_dead or self.is_aborted:
            return
        self.is_aborted = True
        self._queue = []
        self._at = 0
        self._to_replay = 0
        self._phase = Phase.LIVE
        self._held = []
        self.signal.reason = reason
        waits_for = self._waits_for
        is_heard = self.signal.listeners > 0
        self.signal.set()
        if is_heard:
            self._port.turns.then(partial(self._break_off, waits_for))
        else:
            self._break_off(waits_for)

    def _break_off(self, waits_for: object) -> None:
        """Cancel a handler that ``ctx.signal`` did not wake, and fail every call that is still open."""
        if self.is_dead:
            return
        if self.task is not None and self._waits_for is waits_for:
            self.task.cancel(self.signal.reason)
        for call in [*self._pending.values(), *self._reads.values()]:
            if not call.done():
                call.set_exception(self._cancelled())
                call.exception()  # nobody may be waiting for it
        self._pending.clear()
        self._reads.clear()

    @property
    def _waits_for(self) -> object:
        return getattr(self.task, "_fut_waiter", None)

    def end(self) -> None:
        """From here on the handler gets nothing any more. Its frames are kept: no ``finally`` of it may run."""
        self.is_dead = True
        self._stuck_off()
        self._port.forget(self)

    def _cancelled(self) -> CallError:
        return CallError("AbortError", self.signal.reason or "the run was cancelled", "cancelled")


def enter(run: Run) -> contextvars.Context:
    """A fresh context in which everything belongs to ``run``."""
    context = contextvars.Context()
    context.run(current_run.set, run)
    return context
