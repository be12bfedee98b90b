"""Dry replays of stored runs: with an answer nobody has given yet (decision 18), or as they are."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from runtime_core.approvals.answering import decided, recorded
from runtime_core.approvals.eligibility import pause_wire
from runtime_core.engine.divergence import find, span_name
from runtime_core.engine.dry_hosts import DryHosts
from runtime_core.engine.failures import failure_text
from runtime_core.engine.frames import Origin
from runtime_core.engine.gate import Order
from runtime_core.engine.gating import root_place
from runtime_core.engine.notes import HandlerLog
from runtime_core.engine.quota import end_refusal
from runtime_core.engine.rehearsal import Ending, NextCall, Rehearsal, Script, unknown
from runtime_core.engine.repeats import deviation, stand_of
from runtime_core.hosts.base import HandlerFailure, Hosts
from runtime_core.journal.base import Answer, Journal
from runtime_core.repo.bundle import Bundle, BundleError
from runtime_core.spans.book import entry_key
from runtime_core.tools.base import Toolbox
from runtime_core.wire.codes import RuntimeFault, no_session
from runtime_core.wire.json import loads
from runtime_core.wire.runs import PARKED, Entry, PauseRow, RunRow, RunStatus, SlotPath, is_below, iso
from runtime_core.wire.settings import Settings

PREVIEW_S: Final = 5.0
CHECK_S: Final = 15.0
_PAGE: Final = 100

Code = Callable[[RunRow], Awaitable[Bundle]]
"""The code that the next leg of a run would use. Raises `BundleError`."""

Judge = Callable[[RunRow, Sequence[PauseRow], Answer], PauseRow]


@dataclass(frozen=True, slots=True)
class ReplayVerdict:
    """What came of a replay of one stored run; ``reason`` is empty if it is ``ok``."""

    run: RunRow
    kind: Literal["ok", "diverged", "cannot-tell", "skipped"]
    reason: str = ""

    def to_wire(self) -> dict[str, Any]:
        run = self.run
        return {
            "session_id": run.id,
            "tool_name": run.tool,
            "status": run.shown_status,
            "verdict": self.kind,
            "reason": self.reason,
        }


class DryRuns:
    """Replays runs of one journal; never writes to it. ``judge`` refuses the answers that would be refused."""

    def __init__(
        self,
        journal: Journal,
        hosts: DryHosts,
        code: Code,
        judge: Judge,
        log: HandlerLog,
        settings: Settings,
        toolbox: Toolbox,
    ) -> None:
        self._toolbox = toolbox
        self._journal = journal
        self._hosts = hosts
        self._code = code
        self._judge = judge
        self._log = log
        self._strict = settings.strict
        self._limits = settings.limits

    async def preview(self, answer: Answer) -> dict[str, Any]:
        """What the run would do next if it got this answer, as ``{"session_id", "sessionId", "pause_id", "outcome",
        "calls", "questions", "result"}``.

        ``calls`` are those it would make, in call order, each ``{"kind", "name", "params", "path", "due", "request"}``
        with the names from the top tool down to the caller, ``due`` only for a sleep or timer, and ``request`` only if
        that is what a person is asked about; ``questions`` the pauses it would open. ``outcome.kind``: ``call``,
        ``question`` (with ``pause``, which may be one that is open already), ``sleeping`` (``wake_at``), ``complete``,
        ``failed``, ``diverged`` or ``cannot-tell`` (each with ``code`` and ``reason``). Raises `RuntimeFault` as
        `Runtime.answer` would; nothing is executed or stored.
        """
        run, known, entries = await self._read(answer.run_id)
        pause = self._judge(run, known, answer)
        if pause.outcome is None:  # it takes more people: told as if this answer decided
            pause = decided(pause, answer, time.time())
        script = _answered(run, entries, known, pause)
        try:
            bundle = await self._code(run)
        except BundleError as error:
            ending = unknown("repository-unavailable", f"{run.repo} cannot be opened: {error}")
        else:
            ending = await self._play(script, bundle, PREVIEW_S, moment=time.time(), strict=self._strict)
            ending = self._limited(run, ending)
        if _version(await self._journal.run(run.id)) != _version(run):
            ending = unknown("run-changed", f"Session {run.id} went on meanwhile. Look at it again.")
        return _wire(script, pause, ending, answer.who)

    async def check_all(
        self, bundle: Bundle, limit: int | None, *, is_touched: bool = False
    ) -> AsyncGenerator[ReplayVerdict]:
        """Whether this code does what the runs of its repository did; changed parameters count.

        Latest first, at most ``limit``. ``is_touched``: only of those that wait and will go on with it, having had
        other code.
        """
        home = _real(bundle.root)
        left = float("inf") if limit is None else limit
        cursor: str | None = None
        statuses = PARKED if is_touched else get_args(RunStatus)
        while left > 0:
            page = await self._journal.runs(statuses, _PAGE, cursor)
            for run in page.items:
                if is_touched and (run.resume_on is not None or (run.leg_revision or run.revision) == bundle.revision):
                    continue
                if left > 0 and _real(run.repo) == home:
                    left -= 1
                    yield await self._check(run, bundle)
            cursor = page.next_cursor
            if cursor is None:
                return

    async def _check(self, run: RunRow, bundle: Bundle) -> ReplayVerdict:
        try:
            run, known, entries = await self._read(run.id)
        except RuntimeFault as fault:
            return ReplayVerdict(run, "cannot-tell", fault.message)
        if run.pruned_at is not None:
            return ReplayVerdict(run, "skipped", f"its journal was removed at {iso(run.pruned_at)}")
        ending = await self._play(_script(run, entries, known), bundle, CHECK_S, strict=True)
        if ending.kind in ("diverged", "unknown"):
            return ReplayVerdict(run, "diverged" if ending.kind == "diverged" else "cannot-tell", _message(ending))
        stand = stand_of(run, known)
        if stand is not None and not stand.is_repeatable:  # the limits of today judge only what limits have ended
            ending = self._limited(run, ending)
        problem = deviation(stand, ending) if stand is not None else None
        if stand is None or problem is None:
            return ReplayVerdict(run, "ok")
        if not stand.is_repeatable:
            return ReplayVerdict(run, "cannot-tell", f"{run.tool} was ended from outside, which no replay repeats")
        return ReplayVerdict(run, "diverged", f"{run.tool} {problem}")

    def _limited(self, run: RunRow, ending: Ending) -> Ending:
        """A run fails that ends with more than may be recorded."""
        if ending.kind not in ("returned", "failed"):
            return ending
        refusal = end_refusal(run.tool, ending.value or "null", self._limits)
        return ending if refusal is None else replace(ending, kind="failed", value=refusal)

    async def close(self) -> None:
        await self._hosts.close()

    async def _read(self, run_id: str) -> tuple[RunRow, Sequence[PauseRow], Sequence[Entry]]:
        """A run with its questions and entries, all of the same moment. Raises `RuntimeFault` NOT_FOUND."""
        run = await self._journal.run(run_id)
        while run is not None:
            if run.damage is not None:
                raise RuntimeFault("data_folder_unusable", run.damage, session_id=run_id)
            known, entries = await self._journal.pauses(run_id), await self._journal.load(run_id)
            before, run = run, await self._journal.run(run_id)
            if run is not None and _version(run) == _version(before):
                return run, known, entries
        raise no_session(run_id)

    async def _play(
        self, script: Script, bundle: Bundle, limit_s: float, *, moment: float | None = None, strict: bool
    ) -> Ending:
        run = script.run
        place = root_place(run, bundle)
        if place is None:
            lacks = "is not durable any more" if run.tool in bundle.tools else "is not there any more"
            return unknown("tool-unavailable", f'The tool "{run.tool}" of {run.repo} {lacks}.')

        async def replay(hosts: Hosts) -> Ending:
            environment, toolbox = _no_variable, self._toolbox
            origin = Origin(
                bundle, hosts, run.id, run.scope, run.seed, environment, self._log, toolbox, dry=True, strict=strict
            )
            return await Rehearsal(script, origin, place, moment=moment).play(limit_s)

        ending = await self._hosts.play(replay)
        if ending.met is not None:
            met = ending.met
            found = await find(self._journal, run, bundle.revision, met.names, met.path, met.divergence)
            return replace(ending, value=found.to_json())
        if ending.changed and bundle.revision == (run.leg_revision or run.revision):
            return unknown(
                "not-replayable",
                f"{ending.changed[0]}, is made with other parameters than before, by the same code: "
                "the handler does not repeat itself.",
            )
        return ending


def _script(run: RunRow, entries: Sequence[Entry], known: Sequence[PauseRow]) -> Script:
    """Entries with a negative number are no calls of a handler."""
    calls = [entry for entry in entries if entry.n >= 0]
    finished = [entry for entry in calls if entry.state != "started"]
    started = [entry for entry in calls if entry.state == "started"]
    return Script(run, finished, started, {pause.slot: pause for pause in known if pause.outcome is None})


def _answered(run: RunRow, entries: Sequence[Entry], known: Sequence[PauseRow], pause: PauseRow) -> Script:
    """The journal as the answer that closes ``pause`` would leave it."""
    script = _script(run, entries, [other for other in known if other.id != pause.id])
    at = entry_key(pause.slot)
    intent = next((entry for entry in script.started if (entry.path, entry.n) == at), None)
    effect = recorded(pause)
    script = replace(script, started=[entry for entry in script.started if entry is not intent])
    if intent is None or effect.state == "again":
        return script
    done = replace(intent, state=effect.state, value=effect.value, ended_at=pause.answered_at)
    return replace(script, finished=[*script.finished, done])


def _real(root: Path | str) -> str:
    return os.path.realpath(root)


def _version(run: RunRow | None) -> tuple[object, ...]:
    return (run.epoch, run.status, run.updated_at) if run is not None else ()


def _wire(script: Script, pause: PauseRow, ending: Ending, who: str) -> dict[str, Any]:
    run = script.run
    questions = [_pause_wire(asked, who) for asked in ending.questions]
    asked = [one for one in script.asked.values() if not _is_given_up(one.slot, ending)]
    still_open = [_pause_wire(one, who) for one in sorted(asked, key=lambda one: one.asked_at)]
    order = Order.of(run.params) if run.gate is not None else None
    return {
        "session_id": run.id,
        "sessionId": run.id,
        "pause_id": pause.id,
        "outcome": _outcome(run, ending, [*questions, *still_open]),
        "calls": [_call_wire(call, order) for call in ending.calls],
        "questions": questions,
        "result": loads(ending.value) if ending.kind == "returned" and ending.value is not None else None,
    }


def _is_given_up(at: SlotPath, ending: Ending) -> bool:
    return any(at == path or is_below(at, path) for path in ending.given_up)


def _outcome(run: RunRow, ending: Ending, waiting: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if ending.kind == "returned":
        return {"kind": "complete"}
    if ending.kind != "waits":
        assert ending.value is not None
        error: Any = loads(ending.value)
        reason = error["message"]
        if ending.kind == "failed":
            reason = failure_text(run.tool, HandlerFailure(error["name"], reason, error["code"]))
        kind = {"failed": "failed", "diverged": "diverged", "unknown": "cannot-tell"}[ending.kind]
        return {"kind": kind, "code": error["code"], "reason": reason}
    if any(call.due is None for call in ending.calls):
        return {"kind": "call"}
    if waiting:
        return {"kind": "question", "pause": waiting[0]}
    if ending.wake_at is not None:
        return {"kind": "sleeping", "wake_at": iso(ending.wake_at)}
    reason = f"{run.tool} would wait for something that is no call of its run, and nobody can say what."
    return {"kind": "cannot-tell", "code": "not-replayable", "reason": reason}


def _message(ending: Ending) -> str:
    error: Any = loads(ending.value or "{}")
    return error["message"]


def _call_wire(call: NextCall, order: Order | None) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "kind": call.kind,
        "name": span_name(call.kind, call.name),
        "params": loads(call.params),
        "path": list(call.names),
        **({"request": order.request} if order is not None and order.request is not None else {}),
    }
    return wire if call.due is None else {**wire, "due": iso(call.due)}


def _pause_wire(pause: PauseRow, who: str) -> dict[str, Any]:
    return pause_wire(pause, who, status="needs-attention" if pause.kind == "attention" else "awaiting-input")


def _no_variable(_: str) -> str | None:
    return None
