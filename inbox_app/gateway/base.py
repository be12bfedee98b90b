"""How the application knows a runtime, whether in this process or behind HTTP.

Plain data and one protocol; no Qt, no pydantic, no wire names. Times are seconds since the epoch. JSON values keep
the digits they were written with where the gateway can; a value of type `Json` is plain data to be shown or sent back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from inbox_app.gateway.automations import AutomationGateway
    from inbox_app.gateway.builds import BuildGateway
    from inbox_app.gateway.catalog import Catalog
    from inbox_app.gateway.chats import ChatGateway
    from inbox_app.gateway.evals import EvalGateway

Json: TypeAlias = Any

Health = Literal["live", "catching-up", "polling", "signed-out", "unreachable"]


@dataclass(frozen=True, slots=True)
class Option:
    """One choice. ``value`` is sent exactly as it is here; ``recommended`` is a word to show, never a default."""

    value: Json
    label: str
    sub: str = ""
    recommended: bool = False


@dataclass(frozen=True, slots=True)
class Votes:
    """Of a question that takes several people. ``by``: who answered so far; ``me``: the identity of this operator."""

    needed: int
    by: tuple[str, ...] = ()
    me: str = ""

    @property
    def given(self) -> int:
        return len(self.by)

    @property
    def mine(self) -> bool:
        """Whether this operator has answered."""
        return bool(self.me) and self.me in self.by


@dataclass(frozen=True, slots=True)
class CutOff:
    """A call that was in flight when its process died: it may have run. ``params`` None if they were not told."""

    kind: str
    name: str
    began_at: float | None
    params: Json = None

    @property
    def gives_text(self) -> bool:
        """Whether its result is a text and nothing else."""
        return self.kind == "subagent"


@dataclass(frozen=True, slots=True)
class Link:
    """Where a question points to, as its author wrote it: ``url`` may be anything."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Pause:
    """One waiting question. ``input_type`` is ``text``, ``choice``, ``yesno`` or a word this application does not know.

    ``options`` is None if none were given (an empty tuple if an empty list was). ``path`` holds the names from the top
    tool down to the asker. ``eligible`` says whether this operator may answer, ``reason`` why not. ``on_expire`` is
    ``"fail"`` or ``{"value": …}``. ``cut_off``: the call an attention is about. ``schema`` (JSON Schema) is for the
    edits, or for the text if there is nothing to edit. ``code_changed``: since this was asked. ``stopped``: its run
    is diverged and takes no answer. ``raw`` is the pause object as the runtime gave it, unknown fields included.
    """

    id: str
    run_id: str
    connection: str
    kind: Literal["input", "approval", "attention"]
    tool: str
    question: str
    input_type: str
    options: tuple[Option, ...] | None
    context: Json
    has_context: bool
    allow_edits: bool
    path: tuple[str, ...]
    requested_by: str
    asked_at: float
    expires_at: float | None = None
    on_expire: Json = None
    fingerprint: str | None = None
    eligible: bool = True
    reason: str = ""
    votes: Votes | None = None
    cut_off: CutOff | None = None
    schema: Json = None
    code_changed: bool = False
    stopped: bool = False
    title: str = ""
    links: tuple[Link, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)

    def is_over(self, now: float) -> bool:
        """Whether the deadline has passed."""
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True, slots=True)
class Decision:
    """How one pause of a run ended. ``outcome``: answered, refused, expired, cancelled, superseded.

    ``at`` is when it was closed. ``voters``: everybody whose answer counted, where it took several people.
    """

    pause_id: str
    question: str
    outcome: str
    value: Json
    edits: Json
    has_edits: bool
    context: Json
    note: str
    by: str
    at: float | None
    asked_at: float
    path: tuple[str, ...] = ()
    on_expire: Json = None
    voters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """One call of a divergence, as a handler writes it; ``arguments`` is shortened JSON, "" if it is not known."""

    call: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Divergence:
    """A replay that met another call than the recorded one. ``code``: replay-diverged or content_changed.

    ``tool`` names the handler, ``call`` its call (the id of `Call`). ``attempted`` None: it made none. ``path`` is
    where the arguments differ first, "" if it is not known; ``was`` and ``now`` are shortened JSON, "" for nothing.
    ``old`` and ``new`` are the digests of the code that recorded the call and of the code that ran now.
    """

    code: str
    tool: str
    call: str
    recorded: Side | None
    attempted: Side | None
    path: str
    was: str
    now: str
    old: str
    new: str

    @property
    def is_same_code(self) -> bool:
        return self.old == self.new


@dataclass(frozen=True, slots=True)
class CodeVersion:
    """Code a run ran on, from leg ``leg`` on. ``stored``: it can be gone on with. ``old``: it recorded what is open."""

    revision: str
    leg: int
    at: float | None
    stored: bool
    old: bool


@dataclass(frozen=True, slots=True)
class Run:
    """One run. ``status`` is a word of the contract (decision 15); ``error`` has ``code`` and ``message``.

    ``divergence`` is what ``error`` says of a replay that met other code.

    Code versions are digests: ``revision`` when it started, ``leg_revision`` of its last leg, ``resume_on`` the one
    somebody chose to go on with. ``code_changed``: the present code is another than that of the last leg.
    ``pruned_at``: when retention took its journal away. ``warnings`` are sentences. ``versions``, oldest first, are
    told only of a run that is asked for.
    """

    id: str
    connection: str
    tool: str
    status: str
    created_at: float
    updated_at: float
    finished_at: float | None
    requested_by: str
    input: Json = None
    result: Json = None
    error: Mapping[str, Any] | None = None
    divergence: Divergence | None = None
    wake_at: float | None = None
    revision: str = ""
    leg_revision: str = ""
    resume_on: str = ""
    code_changed: bool = False
    pruned_at: float | None = None
    warnings: tuple[str, ...] = ()
    versions: tuple[CodeVersion, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)

    @property
    def old_code(self) -> str:
        """The digest of the code that recorded its open calls, if it is another than the present and stored."""
        return next((one.revision for one in self.versions if one.old and one.stored), "")

    @property
    def finished(self) -> bool:
        return self.status in {"completed", "failed", "cancelled", "expired"}


CallState = Literal["running", "waiting", "ok", "failed", "cancelled", "unknown", "stopped"]


@dataclass(frozen=True, slots=True)
class Call:
    """One node of a run's call tree. ``id`` is unique within the run, ``parent`` None for the run's own tool.

    ``kind``: tool, subagent, step, input, approval, sleep, timer. ``replayed``: recorded in an earlier leg, not run
    again. ``input`` and ``output`` are None when absent or too large to be sent along; the sizes (characters) are of
    the whole.
    """

    id: str
    parent: str | None
    kind: str
    name: str
    state: CallState
    started_at: float
    ended_at: float | None
    code: str | None = None
    message: str | None = None
    input: Json = None
    output: Json = None
    input_size: int = 0
    output_size: int = 0
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class RunDetail:
    """One run with everything about it; ``raw`` is the runtime's ``{"run", "pauses", "decisions", "spans"}``."""

    run: Run
    pauses: Sequence[Pause]
    decisions: Sequence[Decision]
    calls: Sequence[Call]
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the operator sends. ``edits`` counts only if ``has_edits``; ``key`` makes a repeat harmless."""

    run_id: str
    value: Json
    pause_id: str | None = None
    fingerprint: str | None = None
    edits: Json = None
    has_edits: bool = False
    note: str = ""
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """A tool to run. ``repository`` is the path of an agent repository (None: one the runtime has open).

    ``input`` is JSON text. ``lane`` ``invoke`` applies the rules of the HTTP route (contract 6.4), ``direct`` does not.
    ``context``: JSON text that stays with the run, unverified (decision 29). ``attachments``: files for a tool that is
    not durable, as the JSON text of ``ctx.attachments``.
    """

    tool: str
    input: str
    repository: str | None = None
    scope: str = ""
    lane: Literal["direct", "invoke"] = "direct"
    context: str | None = None
    attachments: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did after an answer, a start or a cancel.

    ``kind``: complete, failed, awaiting-input, sleeping, needs-attention, diverged, cancelled, expired or running
    (accepted, not finished). ``raw`` is the reply of the runtime: ``{"sessionId", "outcome", "result"}``.
    """

    kind: str
    run_id: str | None
    result: Json = None
    reason: str = ""
    pause: Pause | None = None
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True, slots=True)
class NextCall:
    """A call that a run would make. ``path`` holds the names from the top tool down to the caller; ``due`` is when a
    sleep or a timer would be over, ``request`` what would be sent if that is what a person is asked about.
    """

    kind: str
    name: str
    params: Json
    path: tuple[str, ...] = ()
    due: float | None = None
    request: Json = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would do next if a question got an answer.

    ``kind``: call (see ``calls``, in call order), question (``pause``), sleeping (``wake_at``), complete (``result``),
    failed, diverged or cannot-tell (``reason``). ``raw`` is the reply of the runtime.
    """

    kind: str
    run_id: str
    pause_id: str
    calls: Sequence[NextCall] = ()
    pause: Pause | None = None
    wake_at: float | None = None
    result: Json = None
    reason: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes since the last batch, already coalesced.

    ``reset`` means: forget what you know; ``opened`` is the first page of what waits, more comes with `Gateway.pending`
    and ``next_cursor``. ``total`` is the number of open pauses of the runtime, whenever it is known to have changed.

    ``opened``: pauses that are new or changed; ``closed``: ids of pauses that are no longer open, ``outcomes``: how
    they ended as far as the runtime says (words of `Decision`); ``runs``: runs whose status changed; ``calls``: run
    id -> calls that are new or changed (only for runs somebody follows).
    """

    opened: Sequence[Pause] = ()
    closed: Sequence[str] = ()
    outcomes: Mapping[str, str] = field(default_factory=dict[str, str])
    runs: Sequence[Run] = ()
    calls: Mapping[str, Sequence[Call]] = field(default_factory=dict[str, Sequence[Call]])
    reset: bool = False
    next_cursor: str | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class PausePage:
    items: Sequence[Pause]
    total: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class RunPage:
    items: Sequence[Run]
    total: int
    next_cursor: str | None = None


class GatewayError(Exception):
    """A refusal or a failure with a code of the contract and a sentence for a person.

    ``details`` may hold ``status``, ``answered_by``, ``answered_at`` and ``value`` of a pause somebody else answered.
    """

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = dict(details or {})


class Gateway(Protocol):
    """A runtime. Every coroutine may raise `GatewayError`; none blocks the loop it is awaited on.

    The parts that not every runtime has (``chats`` and so on) are None where it has none.
    """

    @property
    def chats(self) -> ChatGateway | None: ...
    @property
    def catalog(self) -> Catalog | None: ...
    @property
    def evals(self) -> EvalGateway | None: ...
    @property
    def automations(self) -> AutomationGateway | None: ...
    @property
    def builds(self) -> BuildGateway | None: ...
    @property
    def connection(self) -> str:
        """The name shown to the operator."""
        ...

    @property
    def identity(self) -> str:
        """The user id that answers are recorded under."""
        ...

    @property
    def working(self) -> Sequence[str]:
        """The tools of the runs that this process advances right now: `close` cuts their calls off."""
        ...

    async def open(self) -> None: ...
    async def close(self) -> None:
        """Stop using the runtime; parked runs stay parked."""
        ...

    async def pending(self, limit: int = 100, cursor: str | None = None) -> PausePage: ...
    async def runs(self, *, finished: bool, limit: int = 100, cursor: str | None = None) -> RunPage:
        """Ended runs, latest first, or those still going on."""
        ...

    async def run(self, run_id: str) -> RunDetail: ...
    async def answer(self, answer: Answer) -> Outcome:
        """Send one answer and wait until the run ends, parks again, or 30 s have passed (kind ``running``)."""
        ...

    async def preview(self, answer: Answer) -> Preview:
        """What the run would do next with this answer, within seconds; nothing is executed or stored.

        An answer that would be refused is refused here as well.
        """
        ...

    async def cancel(self, run_id: str) -> Outcome: ...
    async def resume(self, run_id: str, revision: str | None) -> Outcome:
        """Let a run that stopped as ``diverged`` go on, and wait as `answer` does.

        ``revision``: the digest of stored code to go on with from now on; None: the repository's present code.
        """
        ...

    async def start(self, start: Start) -> Outcome:
        """Run a tool until it ends or parks. ``run_id`` is None for an inline tool."""
        ...

    def watch(self) -> AsyncIterator[Batch]:
        """All changes from now on; the first batch is a reset."""
        ...

    def follow(self, run_id: str | None) -> None:
        """Ask for the calls of one run in `watch` (None: of no run)."""
        ...
