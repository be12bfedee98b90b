"""Runs, pauses, calls and spans as every room of the runtime knows them (contract decisions 1, 9, 15 and 21)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from runtime_core.wire.json import JsonText, JsonValue, loads
from runtime_core.wire.stores import StoreWrite

RunStatus = Literal[
    "runnable",
    "running",
    "awaiting-input",
    "sleeping",
    "needs-attention",
    "completed",
    "failed",
    "diverged",
    "cancelled",
    "expired",
]
"""``runnable`` is internal and shown as ``running`` (decision 15)."""

JOURNAL_FORMAT: Final = 1
"""The way calls of a run are recorded (slots, digests, error objects). Runs of a later one are left alone."""

FINISHED: Final = frozenset({"completed", "failed", "cancelled", "expired"})
"""Statuses that never change again. ``diverged`` and ``needs-attention`` are unfinished (decision 24)."""
PARKED: Final[tuple[RunStatus, ...]] = ("awaiting-input", "sleeping", "needs-attention", "diverged")
"""A run that waits for something outside of its code."""
WAKING: Final = frozenset({"awaiting-input", "sleeping"})
"""A run that waits so goes on when its time has come (``wake_at``)."""

CallKind = Literal["tool", "subagent", "input", "approval", "sleep", "timer", "step", "request", "store", "exec"]
PAUSE_KINDS: Final = frozenset({"input", "approval"})

SLOT: Final = r"-?\d{1,18}(/-?\d{1,18})*"
SlotPath = str
"""Where a call stands: slot numbers joined by ``/``; ``""`` is the run's own handler, ``"3/1"`` the second call made by
the child in slot 3. It is also the id of the call's span; the parent's id is the path without its last part."""


def is_slot(text: str) -> bool:
    return re.fullmatch(SLOT, text) is not None


def slot(path: SlotPath, number: int) -> SlotPath:
    return f"{path}/{number}" if path else str(number)


def parent_slot(path: SlotPath) -> SlotPath:
    return path.rpartition("/")[0]


def is_below(path: SlotPath, above: SlotPath) -> bool:
    """Whether a call was made, over however many others, by the one at ``above``; by the run itself, if that is ""."""
    return path.startswith(f"{above}/") if above else bool(path)


def iso(at: float | None) -> str | None:
    """Seconds since the epoch as ISO 8601 in UTC with milliseconds and ``Z``."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


EARLIEST: Final = -62135596800.0
LATEST: Final = 253402300799.0
"""The first second of the year 1 and the last of the year 9999."""


def instant(value: JsonValue) -> float | None:
    """A date, an ISO 8601 time (UTC unless it says otherwise) or milliseconds since the epoch, as seconds since then.

    None for anything else, and for a time that no calendar holds.
    """
    at = float("nan")
    if isinstance(value, str):
        with suppress(ValueError):
            read = datetime.fromisoformat(value)
            at = (read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        at = float(value) / 1000 if abs(value) < LATEST * 1000 else at
    return at if EARLIEST <= at <= LATEST else None


Gate = Literal["confirm", "review"]
"""Whether the model whose call it is waits for the answer or not (decision 20)."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One durable run. Times are seconds since the epoch; ``params``, ``result``, ``error`` and ``context`` JSON text.

    ``error`` is ``{"code", "message", ...}``. ``repo`` is the absolute path of the agent repository, ``revision`` the
    digest of its code when the run started, ``leg_revision`` that of its last leg; ``resume_on`` is the digest a person
    chose for the next legs (None: the newest). ``pruned_at``: when retention took the journal of an ended run away.
    ``gate``: of a run that only asks a person whether one call may be made. ``usage``: the tokens that the models of
    its specialists took, by the names of contract 7.2.
    """

    id: str
    tool: str
    repo: str
    revision: str
    status: RunStatus
    epoch: int
    params: JsonText
    created_by: str
    created_at: float
    updated_at: float
    finished_at: float | None = None
    wake_at: float | None = None
    scope: str = ""
    parent_session: str | None = None
    context: JsonText | None = None
    result: JsonText | None = None
    error: JsonText | None = None
    seed: str = ""
    leg_revision: str | None = None
    resume_on: str | None = None
    pruned_at: float | None = None
    gate: Gate | None = None
    usage: JsonText | None = None
    damage: str | None = None

    @property
    def shown_status(self) -> str:
        return "running" if self.status == "runnable" else self.status

    @property
    def standing(self) -> Standing:
        return Standing(self.status, self.repo, self.revision, self.leg_revision, self.resume_on)

    @property
    def input(self) -> JsonValue:
        """Of a run that only asks a person: the arguments of the call that it asks about."""
        match loads(self.params):
            case {"ask": {"context": {"arguments": given}}} if self.gate is not None:
                return given
            case given:
                return given

    def to_wire(self) -> dict[str, Any]:
        return {
            "session_id": self.id,
            "sessionId": self.id,
            "tool_name": self.tool,
            "status": self.shown_status,
            "input": self.input,
            "result": loads(self.result) if self.result is not None else None,
            "error": loads(self.error) if self.error is not None else None,
            "requested_by": self.created_by,
            "scope_id": self.scope,
            "parent_session_id": self.parent_session,
            "gate": self.gate,
            "repository": self.repo,
            "revision": self.revision,
            "leg_revision": self.leg_revision,
            "resume_on": self.resume_on,
            "created_at": iso(self.created_at),
            "updated_at": iso(self.updated_at),
            "finished_at": iso(self.finished_at),
            "wake_at": iso(self.wake_at) if self.status in WAKING else None,
            "pruned_at": iso(self.pruned_at),
            "usage": loads(self.usage) if self.usage is not None else None,
            **({"damage": self.damage} if self.damage is not None else {}),
        }


PauseOutcome = Literal["answered", "refused", "expired", "cancelled", "superseded"]
"""How a pause ended. A refusal is an answer that says no: ``no``, ``false`` or a not-approved approval."""


@dataclass(frozen=True, slots=True)
class Vote:
    """What one person answered to a question that takes several; ``value`` and ``edits`` JSON text, as posted."""

    who: str
    value: JsonText
    edits: JsonText | None
    note: str | None
    at: float


@dataclass(frozen=True, slots=True)
class PauseRow:
    """One question of a run, open while ``outcome`` is None.

    ``spec`` is what the handler asked (see `approvals.questions`), ``names`` those from the top tool down to the asker.
    ``expires_at`` is set when the question is first asked and stays. ``votes``, oldest first, only where the question
    takes several people. ``answered_at``: when it was closed, whoever or whatever closed it.
    """

    id: str
    run_id: str
    slot: SlotPath
    kind: Literal["input", "approval", "attention"]
    tool: str
    names: tuple[str, ...]
    spec: JsonText
    fingerprint: str
    asked_at: float
    requested_by: str
    expires_at: float | None = None
    outcome: PauseOutcome | None = None
    answer: JsonText | None = None
    edits: JsonText | None = None
    note: str | None = None
    answered_by: str | None = None
    answered_at: float | None = None
    scope: str = ""
    parent_session: str | None = None
    votes: tuple[Vote, ...] = ()

    def to_wire(self, *, status: str = "awaiting-input") -> dict[str, Any]:
        """The pause object of decisions 1 and 21; unset arguments of the question are present as null.

        ``on_expire``: ``"fail"`` or ``{"value": …}``, null without a deadline. ``votes``: ``{"needed", "given",
        "by"}``, ``by`` the user ids in the order they answered; null if one person is enough. An attention about a call
        that was cut off has ``call``: ``{"kind", "name", "started_at"}``. A closed pause also has
        ``outcome`` (`PauseOutcome`), ``value`` (null if nobody answered), ``note``, ``answered_by`` (for a cancelled
        one: who cancelled) and ``answered_at`` (when it closed), and ``edits`` if there were any.
        """
        spec = loads(self.spec)
        assert isinstance(spec, dict)
        wire: dict[str, Any] = {
            "session_id": self.run_id,
            "sessionId": self.run_id,
            "pause_id": self.id,
            "kind": self.kind,
            "pause_kind": self.kind,
            "tool_name": self.tool,
            "status": status,
            "question": spec.get("question", ""),
            "input_type": spec.get("inputType", "text"),
            "inputType": spec.get("inputType", "text"),
            "options": spec.get("options"),
            "context": spec.get("context"),
            "allow_edits": spec.get("allowEdits", False),
            "allowEdits": spec.get("allowEdits", False),
            "eligible_answerers": spec.get("eligibleAnswerers"),
            "exclude_answerers": spec.get("excludeAnswerers"),
            "path": list(self.names),
            "fingerprint": self.fingerprint,
            "requested_by": self.requested_by,
            "scope_id": self.scope,
            "parent_session_id": self.parent_session,
            "created_at": iso(self.asked_at),
            "expires_at": iso(self.expires_at),
            "on_expire": spec.get("onExpire", "fail") if self.expires_at is not None else None,
            "votes": self._votes(spec.get("quorum")),
            "schema": spec.get("schema"),
            "title": spec.get("title"),
            "links": spec.get("links"),
        }
        if isinstance(call := spec.get("call"), dict):
            wire["call"] = {"kind": call.get("kind"), "name": call.get("name"), "started_at": call.get("startedAt")}
        if self.outcome is not None:
            wire["outcome"] = self.outcome
            wire["value"] = loads(self.answer) if self.answer is not None else None
            if self.edits is not None:
                wire["edits"] = loads(self.edits)
            wire["note"] = self.note
            wire["answered_by"] = self.answered_by
            wire["answered_at"] = iso(self.answered_at)
        return wire

    def _votes(self, quorum: JsonValue) -> dict[str, Any] | None:
        if not isinstance(quorum, int) or quorum < 2:
            return None
        return {"needed": quorum, "given": len(self.votes), "by": [vote.who for vote in self.votes]}


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands: ``status`` and the code it is about, as in `RunRow`."""

    status: RunStatus
    repo: str
    revision: str
    leg_revision: str | None
    resume_on: str | None


@dataclass(frozen=True, slots=True)
class LegRow:
    """From leg ``epoch`` on, until the next row, a run was executed with the code of this digest."""

    epoch: int
    revision: str
    at: float


@dataclass(frozen=True, slots=True)
class RunWarning:
    """What is odd about a run and stops nothing, once of each ``kind``, as a sentence."""

    kind: str
    text: str
    at: float

    def to_wire(self) -> dict[str, Any]:
        return {"kind": self.kind, "message": self.text, "at": iso(self.at)}


@dataclass(frozen=True, slots=True)
class Entry:
    """One journaled call of a durable handler (contract decision 9).

    Key: (run, ``path``, ``n``): ``path`` is the slot path of the handler that made the call, ``n`` its slot number.
    ``state`` is ``started`` (intent, not finished), ``ok`` or ``error``; ``value`` the result, or the error object
    ``{"name", "message", "code"?}``, as JSON text. ``order`` is the position in which results were handed out.
    ``write``: of a finished call that still has to be made, in the transaction that stores the entry; its result
    becomes the ``value`` (decision 8).
    """

    path: SlotPath
    n: int
    kind: CallKind
    name: str
    digest: str
    state: Literal["started", "ok", "error"]
    value: JsonText | None
    started_at: float
    ended_at: float | None = None
    order: int | None = None
    epoch: int = 0
    write: StoreWrite | None = None


SpanState = Literal["running", "waiting", "ok", "failed", "cancelled", "unknown"]
"""``unknown``: the call was in flight when the process died; whether it ran cannot be known."""


@dataclass(frozen=True, slots=True)
class Span:
    """One call of a run at any depth, journaled or not. ``slot`` is its id; ``leg`` the epoch in which it ran last.

    A span is *replayed* when ``leg`` is smaller than the run's epoch. ``input`` and ``output`` are JSON text, cut away
    (None) above `SPAN_VALUE_LIMIT` characters; the sizes are always those of the whole text.
    """

    run_id: str
    slot: SlotPath
    kind: str
    name: str
    state: SpanState
    started_at: float
    ended_at: float | None = None
    code: str | None = None
    message: str | None = None
    input: JsonText | None = None
    output: JsonText | None = None
    input_size: int = 0
    output_size: int = 0
    leg: int = 0

    def to_wire(self) -> dict[str, Any]:
        return {
            "id": self.slot,
            "parent_id": parent_slot(self.slot) if self.slot else None,
            "kind": self.kind,
            "name": self.name,
            "state": self.state,
            "code": self.code,
            "message": self.message,
            "started_at": iso(self.started_at),
            "ended_at": iso(self.ended_at),
            "input": loads(self.input) if self.input is not None else None,
            "output": loads(self.output) if self.output is not None else None,
            "input_size": self.input_size,
            "output_size": self.output_size,
            "leg": self.leg,
        }


SPAN_VALUE_LIMIT: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Event:
    """One row of the event outbox; ``seq`` never repeats and survives a restart (decision 16)."""

    seq: int
    run_id: str
    type: str
    body: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    at: float = 0.0
