"""What the engine sees of the processes that run handlers; the wire below it is `protocol.py`.

One process per repository revision and language. A *leg* is one invocation of a handler in such a process. Values
cross as JSON text and are never parsed on the way. All callbacks of a leg come on the loop that started it, in the
order in which the host sent them, and never from inside a call into the leg.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from runtime_core.wire.json import JsonText
from runtime_core.wire.runs import CallKind

Language = Literal["typescript", "python"]
Form = Literal["handler", "tool", "agent", "hook"]
"""What a file defines and how a function of it is called: a handler with (params, ctx), the function of a tool with
ctx, which holds the params as ``ctx.input``, a predicate of an agent with the params alone; what that returns counts as
true or false. A hook is made once in a process by ``createHook(config)``, and its ``run(point, payload, ctx)`` is
called; its params are ``{"config", "point", "payload", "caller"}``. Of the methods it may have ``store``: its calls are
of that kind then and called ``get`` or ``query``, with (store, key) or (store, filter)."""
NoteKind = Literal[
    "log", "emit", "reasoning", "label", "console", "unhandled", "params-changed", "lossy", "warning", "failed"
]


@dataclass(frozen=True, slots=True)
class HostRepo:
    """The code a host process is started for: ``revision`` is the digest over all code files.

    ``code`` is a folder with exactly the code files of that revision, from which the process reads them, whatever is
    in the repository by then; None: they are read from the repository itself.
    """

    root: Path
    revision: str
    code: Path | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A journaled call as replay needs it; ``ok`` is None for a call that was started and has no result yet.

    ``value`` is the result, or the error object, as JSON text; ``at_ms`` when it was handed out.
    """

    seq: int
    kind: CallKind
    name: str
    digest: str
    ok: bool | None = None
    value: JsonText | None = None
    at_ms: float = 0


@dataclass(frozen=True, slots=True)
class HandlerJob:
    """One invocation of a handler.

    ``methods`` are the camelCase ctx members to bind beside the ones every handler has (``log``, ``signal``, ``fs``,
    ``env``, ``emit``, ``emitReasoning``, ``setLabel``, ``sessionId``, ``scopeId``). ``recorded`` holds finished calls
    in the order in which their results were handed out, ``started`` those without a result. ``timeout_s`` counts only
    while no call of the handler is open (decision 25).
    """

    entry: str
    language: Language
    params: JsonText
    durable: bool
    methods: frozenset[str]
    session_id: str | None
    scope_id: str
    started_ms: float
    seed: str
    timeout_s: float = 30
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    recorded: Sequence[RecordedCall] = ()
    started: Sequence[RecordedCall] = ()
    call_id: str | None = None
    """``ctx.callId`` (decision 13): the same on every attempt; absent on ctx when None."""
    strict: bool = False
    """Changed parameters of a recorded call are a divergence, not a note."""
    holds: bool = False
    """When the recorded calls are used up, say so (`LegEvents.replayed`) and make no new call before `Leg.go`."""
    dry: bool = False
    """Only replay: the function of a ``step`` that is not recorded is not called, and notes are dropped."""
    form: Form = "handler"
    path: tuple[str | int, ...] = ()
    """Where the function stands in the definition; nothing for a handler."""
    attachments: JsonText | None = None
    """``ctx.attachments``; absent on ctx when None."""
    agent_id: str | None = None
    """``ctx.agentId``, the name of the repository; absent on ctx when None."""


@dataclass(frozen=True, slots=True)
class HandlerCall:
    """A call the handler made and the journal does not hold yet.

    ``args`` by kind: tool: the params; subagent: ``[task, input, opts]``; input and approval: what was passed (string
    or object); sleep: the time as ISO string or milliseconds; timer: milliseconds; request, store, exec: the argument
    array. For ``step`` the work is already done, unless the job is dry, and ``outcome`` holds (ok, value): it still has
    to be journaled and delivered like any other result. ``took_s``: how long the work took.
    """

    seq: int
    kind: CallKind
    name: str
    digest: str
    args: JsonText
    outcome: tuple[bool, JsonText] | None = None
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class HandlerFailure:
    """Why a handler did not return a value: ``{"name", "message", "code"?, "stack"?, "cause"?}`` of its error.

    ``begun``: False if its process went away and had certainly not called the handler before.
    ``cause``: name, message and code of what a call failed with whose failure the handler let through.
    Codes made below the engine: load-failed, no-handler, not-serializable, params-too-large, result-too-large,
    call-inside-step, cancelled, handler-exit, deadline, host-lost, host-hung, out-of-memory.
    """

    name: str
    message: str
    code: str | None = None
    stack: str | None = None
    cause: Mapping[str, str] | None = None
    begun: bool = True

    FROM_OUTSIDE: ClassVar[frozenset[str]] = frozenset({"deadline", "host-lost", "host-hung", "out-of-memory"})
    """Codes that say what became of a handler, so that no error of one may have them."""

    @property
    def lost(self) -> bool:
        """True if the process went away: a durable run continues from its journal in a fresh one."""
        return self.code in self.FROM_OUTSIDE - {"deadline"}


@dataclass(frozen=True, slots=True)
class Divergence:
    """The handler made another call than the journal holds at ``seq``.

    ``made`` is None if it does not make it; ``failure`` is how it ended instead, if it did not return.
    """

    seq: int
    recorded: RecordedCall
    made: HandlerCall | None
    failure: HandlerFailure | None = None


class LegEvents(Protocol):
    """What a leg tells the engine. After ``returned``, ``failed`` or ``diverged`` nothing more comes, but for what a
    handler prints while it cleans up, as it may after ``failed`` with ``deadline``.
    """

    def called(self, call: HandlerCall) -> None: ...
    def noted(self, kind: NoteKind, value: Any) -> None: ...
    def returned(self, value: JsonText, warnings: Sequence[str]) -> None: ...
    def failed(self, failure: HandlerFailure) -> None: ...
    def diverged(self, divergence: Divergence) -> None: ...
    def given_up(self, seq: int) -> None:
        """The handler waits no more for this call, which may have been made or not, be over or not."""
        ...

    def replayed(self) -> None:
        """Every recorded call was made again and has its result (only for a job that ``holds``)."""
        ...

    def settled(self) -> None:
        """The host has handled everything it was sent and waits: the moment to look whether the run can park."""


class Leg(Protocol):
    """A running invocation."""

    @property
    def is_settled(self) -> bool: ...

    def deliver(self, seq: int, ok: bool, value: JsonText, at_ms: float) -> None:
        """Hand out the result of call ``seq``; commit it first. ``value`` is the error object when not ok."""
        ...

    def go(self) -> None:
        """New calls may be made from now on."""
        ...

    def abort(self, reason: str) -> None:
        """Set ``ctx.signal``; open and later ctx calls fail with ``cancelled``. Dropped after 5 s."""
        ...

    def drop(self) -> None:
        """Forget the leg without the handler noticing: a pause. No more events. One that is aborted has its grace."""
        ...


class Hosts(Protocol):
    """The handler processes of one runtime."""

    async def start(self, repo: HostRepo, job: HandlerJob, events: LegEvents) -> Leg:
        """Start a leg, and its process if there is none. Raises `HostUnavailable` if no process can be started."""
        ...

    async def describe(
        self,
        repo: HostRepo,
        language: Language,
        entry: str,
        form: Form = "handler",
        config: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """``{"value": what the file defines, "exports": [names], "problem": str or None}``.

        ``value`` is the default export, or what Python calls ``tool`` or ``agent``, with functions as {"$fn": name}.
        ``problem`` says why the file has no function of that form that could be called. A hook is made, with its
        ``config``.

        Raises `HandlerLoadError`, `HostUnavailable`.
        """
        ...

    async def retire(self, repo: HostRepo) -> None:
        """Let the processes of a revision finish their legs and end."""
        ...

    async def close(self) -> None: ...


class HostUnavailable(Exception):  # noqa: N818
    """No process for a language can be started on this machine; the message says what to install."""

    def __init__(self, message: str, *, code: str = "host-unavailable") -> None:
        super().__init__(message)
        self.code = code


class DependenciesUnavailable(HostUnavailable):
    """The packages that a handler needs are not there and cannot be installed; the message says why.

    ``code`` is dependencies-unavailable, or untrusted if a person has to agree first.
    """

    def __init__(self, message: str, *, code: str = "dependencies-unavailable") -> None:
        super().__init__(message, code=code)


class HandlerLoadError(Exception):
    """A handler file cannot be loaded; the message names file and line."""
