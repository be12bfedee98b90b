"""The journal: the only place of truth about durable runs (engines.md 4.1-4.3, contract decisions 3, 4, 9).

Every method is one transaction. Everything a leg writes is fenced by the epoch of its claim, so that a leg that was
replaced can never write again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from runtime_core.wire.automations import AutomationRow, AutomationStart, Firing, FiringState
from runtime_core.wire.builds import Build, Switch
from runtime_core.wire.chats import ChatCall, ChatEntry, ChatRow
from runtime_core.wire.evals import EvalRow
from runtime_core.wire.json import JsonText
from runtime_core.wire.memory import Note
from runtime_core.wire.runs import Entry, Event, LegRow, PauseRow, RunRow, RunStatus, RunWarning, Span, Standing
from runtime_core.wire.stores import Found, Partition, StoredDocument, StoreQuery, StoreWrite

T = TypeVar("T")


class Fenced(Exception):  # noqa: N818 - a signal to stop, not a fault
    """The run was claimed, cancelled or finished by somebody else: the leg must stop without writing."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to advance one run until it parks or ends. ``revision``: the code it does so with, noted as its leg."""

    run: RunRow
    epoch: int
    owner: str
    revision: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it was posted: ``value``, ``edits`` JSON text, ``who`` the user id from the credential."""

    run_id: str
    value: JsonText
    who: str
    edits: JsonText | None = None
    note: str | None = None
    pause_id: str | None = None
    fingerprint: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The entry an answer leaves: a result (``ok``), an error, or nothing (``again``: the call is made once more)."""

    state: Literal["ok", "error", "again"]
    value: JsonText | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: Sequence[T]
    total: int
    next_cursor: str | None


class Journal(Protocol):
    async def create_run(self, run: RunRow) -> None: ...

    async def claim(self, run_id: str, owner: str) -> Claim | None:
        """Take a ``runnable`` run, or a ``running`` one left by a dead executor; None if there is nothing to do."""
        ...

    async def load(self, run_id: str) -> list[Entry]:
        """All entries in one read: finished ones in the order their results were handed out, then started ones."""
        ...

    async def append(
        self, claim: Claim, entries: Sequence[Entry], spans: Sequence[Span] = (), expired: Sequence[PauseRow] = ()
    ) -> Sequence[Entry]:
        """Insert or complete entries (a ``started`` one becomes ``ok`` or ``error``). Raises `Fenced`.

        The journal assigns ``order`` to finished entries, in the order given. ``expired``: questions, open or never
        opened, whose deadline passed while the leg went on; their entries are among those given. Writes of entries are
        made with them; returned are the entries as they are stored, with the values that the writes gave.
        """
        ...

    async def warn(self, run_id: str, warnings: Sequence[RunWarning]) -> None:
        """Keep warnings with a run; one of a kind it has already changes nothing."""
        ...

    async def spend(self, run_id: str, tokens: Mapping[str, int]) -> None:
        """Add to what the models of a run took, by the names of contract 7.2."""
        ...

    async def park(
        self,
        claim: Claim,
        status: RunStatus,
        *,
        pauses: Sequence[PauseRow] = (),
        entries: Sequence[Entry] = (),
        wake_at: float | None = None,
        error: JsonText | None = None,
        spans: Sequence[Span] = (),
    ) -> None:
        """Open the questions (those already open stay as they are), release the claim and set the status, in one go.

        ``status``: awaiting-input, sleeping, needs-attention or diverged. Open questions not given are superseded.
        ``entries`` hold the ``started`` entry of each new question's call: the answer completes it, so that kind, name
        and digest of the recorded call are those the handler made.
        """
        ...

    async def finish(
        self,
        claim: Claim,
        status: RunStatus,
        *,
        result: JsonText | None = None,
        error: JsonText | None = None,
        entries: Sequence[Entry] = (),
        spans: Sequence[Span] = (),
    ) -> None: ...

    async def answer(
        self,
        answer: Answer,
        judge: Callable[[RunRow, Sequence[PauseRow], Answer], PauseRow],
        recorded: Callable[[PauseRow], Recorded],
    ) -> tuple[PauseRow, bool]:
        """Store one answer: question closed, entry with the value, run runnable, event; all or nothing.

        ``judge`` gets the run and its pauses (open and closed, oldest first) inside the transaction and returns the
        pause that is answered (completed with value, outcome, who and when) or raises `RuntimeFault`. One that it
        returns open, with one more of ``votes``, waits for further people and its run stays as it is. ``recorded``
        says what becomes of the journal entry in the pause's slot. A repeat with the same ``key`` and body returns
        the stored pause and False; the same key with another body raises ``idempotency_mismatch``. An unknown run
        raises ``NOT_FOUND``.
        """
        ...

    async def cancel(self, run_id: str, who: str) -> RunRow:
        """End an unfinished run, close its questions as cancelled, fence its leg. Raises NOT_FOUND or a 409 fault."""
        ...

    async def withdraw(self, gate_id: str) -> bool:
        """Cancel a gate (decision 20) because nobody waits for it, unless somebody has answered; whether it was.

        Raises as `cancel`.
        """
        ...

    async def resume(self, run_id: str, revision: str | None, who: str) -> RunRow:
        """Make a run runnable that stopped as ``diverged``, or that cannot go on with the code it was to go on with.

        The run goes on, now and later, with the code of ``revision`` (None: the newest). Raises NOT_FOUND and, with
        ``details.status``, not_diverged.
        """
        ...

    async def trust(self, repo: str, revision: str, needs: JsonText, who: str) -> None:
        """Keep that somebody trusts the code of a repository; ``needs``: the list of what was agreed to."""
        ...

    async def trusted(self, repo: str, revision: str) -> Sequence[str]:
        """What was agreed to for the code of a repository; nothing where nobody trusts it."""
        ...

    async def wake_due(self, now: float) -> Sequence[str]:
        """Move ``sleeping`` runs (and parked ones with a timer) whose time has come to runnable; returns their ids.

        At most 1,000 at a time, earliest first; `next_wake` then still names a time that has come.
        """
        ...

    async def expire_due(self, now: float, recorded: Callable[[PauseRow], Recorded]) -> Sequence[str]:
        """Close the open questions whose deadline has come and make their runs runnable; returns the ids of those.

        Mirrors `answer`, one transaction: outcome ``expired``, the entry with what ``recorded`` says, event. Questions
        of a run that a leg advances are left to that leg. At most 1,000 at a time, earliest first.
        """
        ...

    async def next_wake(self) -> float | None:
        """When `wake_due` or `expire_due` will have something to do."""
        ...

    async def runnable(self, limit: int = 100) -> Sequence[str]:
        """Ids to advance, oldest first: ``runnable`` ones, and ``running`` ones that no live executor owns."""
        ...

    async def abandon_claims(self) -> Sequence[str]:
        """At the start of an executor: every ``running`` run was left by a dead process and becomes runnable."""
        ...

    async def run(self, run_id: str) -> RunRow | None: ...
    async def runs(self, statuses: Sequence[RunStatus], limit: int, cursor: str | None) -> Page[RunRow]: ...
    async def pauses(self, run_id: str) -> Sequence[PauseRow]: ...
    async def pending(self, limit: int, cursor: str | None) -> Page[PauseRow]:
        """Open questions, oldest first, paged by key."""
        ...

    async def gates(self, parent: str | None) -> Sequence[RunRow]:
        """The runs that ask a person for a run (decision 20), oldest first, ended ones too; None: those that have not
        ended and ask for a call which no journal holds."""
        ...

    async def legs(self, run_id: str) -> Sequence[LegRow]:
        """Where the code of the run changed, oldest first; empty for runs of a format that did not keep this."""
        ...

    async def warnings(self, run_id: str) -> Sequence[RunWarning]:
        """Oldest first."""
        ...

    async def waiting_in(self, repo: str, limit: int = 1000) -> Sequence[str]:
        """The runs of a repository that have open questions, those asked first first."""
        ...

    async def named_revisions(self) -> Set[str]:
        """The code that unfinished runs began with, ran on, or are to go on with."""
        ...

    async def standings(self, run_ids: Sequence[str]) -> Mapping[str, Standing]:
        """How these runs stand, without their values."""
        ...

    async def spans(self, run_id: str) -> Sequence[Span]: ...
    async def events(self, after: int, limit: int = 1000) -> Sequence[Event]: ...
    async def last_event(self) -> int:
        """The ``seq`` of the newest event, 0 if there never was one."""
        ...

    async def data_version(self) -> int:
        """Changes whenever another process has written, or a leg of this one has closed a question and goes on."""
        ...

    async def tidy(self, before: float | None) -> bool:
        """One small piece of housekeeping; False if there is nothing left to do.

        Runs that ended ``before`` (seconds since the epoch; None: none) keep their row and lose the rest.
        """
        ...

    async def write_documents(self, writes: Sequence[StoreWrite]) -> Sequence[JsonText]:
        """Make these writes of stores, all or none, each with the result of its tool (contract 5.1)."""
        ...

    async def document(self, partition: Partition, key: str) -> StoredDocument | None: ...

    async def documents(self, partition: Partition, query: StoreQuery) -> Found:
        """What the query finds. The index of a field that is ``indexed`` and has none yet is built first."""
        ...

    async def document_counts(self, repo: str, scope: str) -> Mapping[str, int]:
        """How many documents each store has that ever had one."""
        ...

    async def add_note(
        self, repo: str, scope: str, text: str, who: str, judge: Callable[[Sequence[Note]], None]
    ) -> Note:
        """Keep a text. ``judge`` gets the notes there are inside the transaction, and may refuse by raising."""
        ...

    async def remove_note(self, repo: str, scope: str, note_id: str) -> bool:
        """False if there is no such note."""
        ...

    async def notes(self, repo: str, scope: str, query: str = "") -> Sequence[Note]:
        """Those that hold every word of ``query``, in any case, oldest first."""
        ...

    async def create_chat(self, row: ChatRow) -> None: ...

    async def record_chat(
        self, row: ChatRow, entries: Sequence[ChatEntry], calls: Sequence[ChatCall], spent: Mapping[str, int]
    ) -> None:
        """Add to a conversation what was said, put what became of calls, and count the tokens that were ``spent``.

        ``row`` says when, and with which model. A message, a later draft and the end of a turn take the place of its
        draft. Raises `RuntimeFault` NOT_FOUND if the conversation was deleted.
        """
        ...

    async def chat(self, session_id: str) -> ChatRow | None: ...
    async def latest_chat(self, repo: str, agent: str, scope: str) -> ChatRow | None:
        """The conversation of a person with an agent in a scope that was used last."""
        ...

    async def chats(self, sources: Sequence[str], limit: int, cursor: str | None) -> Page[ChatRow]:
        """Those that one of ``sources`` speaks in, the one used last first."""
        ...

    async def first_words(self, session_ids: Sequence[str]) -> Mapping[str, JsonText]:
        """The body of the first message of conversations, where there is one."""
        ...

    async def chat_entries(self, session_id: str) -> Sequence[ChatEntry]: ...
    async def chat_calls(self, session_id: str) -> Sequence[ChatCall]:
        """In the order in which they were made."""
        ...

    async def last_chat_turn(self, session_id: str) -> int:
        """Its number, 0 if there was none."""
        ...

    async def rename_chat(self, session_id: str, title: str | None) -> bool:
        """False if there is no such conversation, as with `delete_chat`."""
        ...

    async def delete_chat(self, session_id: str) -> bool:
        """With everything that was said in it; the runs that began in it stay."""
        ...

    async def save_build(self, build: Build) -> None:
        """Keep a build as it is now, in place of what was kept of it."""
        ...

    async def build(self, name: str) -> Build | None:
        """The build with this id, or the latest one that the platform calls so."""
        ...

    async def builds(self, repo: str | None, limit: int) -> Sequence[Build]:
        """Of one repository or (None) of all, latest first."""
        ...

    async def switch(self, repo: str, tool: str, who: str, *, is_on: bool) -> None:
        """Switch a built-in tool of a repository."""
        ...

    async def switches(self, repo: str) -> Sequence[Switch]:
        """Those that somebody has touched; every other tool is on."""
        ...

    async def add_eval_result(self, row: EvalRow) -> int:
        """Keep how an eval went; the number of the result. Only the latest of each eval are kept."""
        ...

    async def eval_results(self, repo: str, name: str, limit: int) -> Sequence[EvalRow]:
        """Of one eval, latest first."""
        ...

    async def latest_eval_results(self, repo: str) -> Sequence[EvalRow]:
        """The last one of each eval of a repository."""
        ...

    async def add_automation(self, row: AutomationRow) -> None:
        """Changes nothing if the repository has one of that origin and name already."""
        ...

    async def change_automation(
        self, automation_id: str, change: Callable[[AutomationRow], AutomationRow]
    ) -> AutomationRow | None:
        """Put what ``change`` makes of an automation, inside the transaction, in its place; None if there is none."""
        ...

    async def postpone_automation(self, automation_id: str, seen: float, next_at: float) -> None:
        """Have it due at ``next_at`` instead of ``seen``, unless it was changed meanwhile."""
        ...

    async def remove_automation(self, automation_id: str) -> bool:
        """With its history; False if there is no such automation."""
        ...

    async def automation(self, automation_id: str) -> AutomationRow | None: ...
    async def automations(self, repo: str | None = None) -> Sequence[AutomationRow]:
        """Of one repository or (None) of all, by name."""
        ...

    async def due_automations(self, now: float) -> Sequence[AutomationRow]:
        """What is on and due, earliest first."""
        ...

    async def next_automation(self) -> float | None:
        """When the next one is due."""
        ...

    async def start_automation(self, start: AutomationStart) -> Firing | None:
        """Note a start, before anything is started, with the run that it creates; see `AutomationStart`."""
        ...

    async def automation_began(self, firing_id: int, session_id: str) -> None:
        """Note the conversation that a start began."""
        ...

    async def end_automation(
        self, firing_id: int, state: FiringState, at: float, error: str | None = None, session_id: str | None = None
    ) -> bool:
        """Note how a start ended; False if that was noted before."""
        ...

    async def open_firings(self, *, ended: bool = False) -> Sequence[Firing]:
        """Starts that have not ended, oldest first; ``ended``: only those whose durable run has."""
        ...

    async def firings(self, automation_id: str, limit: int) -> Sequence[Firing]:
        """The history of an automation, the latest start first."""
        ...

    async def latest_firings(self) -> Mapping[str, Firing]:
        """The last start of each automation, one that was not skipped if there is one."""
        ...

    async def close(self) -> None: ...
