"""The protocol of claims and answers as a small model: who may do what, one transaction at a time.

Functions that model a transaction of `runtime_core.journal.transactions` bear its name, and so do the safeguards that
can be taken out (`SAFEGUARDS`). Epochs never end, so a claim is only known to be the run's present one or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

SAFEGUARDS: Final = {
    "fence: epoch": "a leg writes only while its claim is the newest",
    "fence: status": "a leg writes only while the run is running",
    "append: intent": "a call that may not be repeated is noted before it is made",
    "answer: open question": "only an open question is answered",
    "answer: wake": "the run becomes runnable with its answer",
    "answer: record": "the call is completed with its answer",
    "answer: key": "a repeat with the same key is told what was stored",
    "answer: deadline": "an answer after the deadline does not count",
    "expire: open question": "only an open question expires",
    "expire: wake": "the run becomes runnable when its question expires",
    "cancel: unfinished": "only an unfinished run is cancelled",
    "cancel: questions": "a cancelled run has no open question",
    "abandon: wake": "what a dead executor left becomes runnable",
}

FINISHED: Final = frozenset({"completed", "cancelled"})

CALL, QUESTION, LAST = 0, 1, 2
"""The slots of the handler: a call that may not be repeated, a question, a call that may be."""


class Leg(NamedTuple):
    """A worker's work on the run. ``seen``: the journal as it read it, with what it added; () before it has.

    ``doing``: how far the present call is: "", "intended" or "made".
    """

    is_newest: bool
    seen: tuple[str, ...] = ()
    doing: str = ""


class State(NamedTuple):
    """``question``: "", "open", "by 0", "by 1", "expired" or "cancelled".

    ``people``: what each was told at last, "?" if the reply never came.
    """

    status: str = "runnable"
    owner: int | None = None
    entries: tuple[str, ...] = ("", "", "")
    question: str = ""
    doubt: bool = False
    overdue: bool = False
    legs: tuple[Leg | None, ...] = (None, None)
    people: tuple[str, ...] = ("", "")
    canceller: str = ""
    effects: int = 0
    wrong: str = ""


Action = tuple[str, int]
"""What is done, and by which worker or person."""

Without = frozenset[str]
DEAD: Final = -1


def actions(state: State, without: Without = frozenset()) -> Iterator[tuple[Action, State]]:
    """Everything that can happen next."""
    for worker, leg in enumerate(state.legs):
        if leg is None:
            yield from _named("claim", worker, claim(state, worker))
            continue
        yield ("crash", worker), crash(state, worker)
        name, after = advance(state, worker, leg, without)
        yield (name, worker), after
    for person in range(len(state.people)):
        yield from _answers(state, person, without)
    if state.canceller == "":
        yield ("cancel", 0), cancel(state, without)
    if state.question == "open" and not state.overdue:
        yield ("clock", 0), state._replace(overdue=True)
    if state.overdue:
        yield from _named("expire", 0, expire(state, without))
    if state.doubt:
        yield ("resolve", 0), resolve(state)
    if state.status == "running":
        yield ("abandon_claims", 0), abandon_claims(state, without)


def _named(name: str, who: int, after: State | None) -> Iterator[tuple[Action, State]]:
    if after is not None:
        yield (name, who), after


def _answers(state: State, person: int, without: Without) -> Iterator[tuple[Action, State]]:
    told = state.people[person]
    if told in ("", "?"):
        after = answer(state, person, without)
        yield ("answer", person), after
        if told == "":
            yield ("answer unheard", person), _told(after, person, "?")


# What a worker does ------------------------------------------------------------------------------------------------


def claim(state: State, worker: int) -> State | None:
    """A run that is running is claimed from the worker that has it, dead or only slow."""
    if state.status == "runnable" or (state.status == "running" and state.owner != worker):
        return _put(_stale(state)._replace(status="running", owner=worker), worker, Leg(is_newest=True))
    return None


def crash(state: State, worker: int) -> State:
    """The worker is gone with all it knew; it comes back under another name."""
    return _put(state, worker, None)._replace(owner=DEAD if state.owner == worker else state.owner)


def advance(state: State, worker: int, leg: Leg, without: Without) -> tuple[str, State]:
    """The one thing a leg does next, as the handler goes from top to bottom over what the journal holds."""
    seen = leg.seen
    if not seen:
        return "load", _put(state, worker, leg._replace(seen=state.entries))
    if seen[CALL] == "started" and not leg.doing:
        return "park in doubt", write(state, worker, without, park_in_doubt)
    if seen[CALL] != "ok":
        return _call(state, worker, leg, CALL, without)
    if seen[QUESTION] == "started" and state.question == "open" and state.overdue:
        return "append expired", append_expired(state, worker, without)
    if seen[QUESTION] in ("", "started"):
        return "park", write(state, worker, without, park)
    if seen[LAST] != "ok":
        return _call(state, worker, leg, LAST, without)
    return "finish", write(state, worker, without, finish)


def _call(state: State, worker: int, leg: Leg, slot: int, without: Without) -> tuple[str, State]:
    if leg.doing == "made":
        return "record", append(state, worker, slot, "ok", "", without)
    if slot == CALL and not leg.doing and "append: intent" not in without:
        return "intend", append(state, worker, slot, "started", "intended", without)
    return "make", _make(state, worker, leg, slot)


def _make(state: State, worker: int, leg: Leg, slot: int) -> State:
    """The call itself, outside of the journal: nothing can take it back."""
    if leg.is_newest and state.entries[slot] == "ok":
        state = _wrong(state, "a recorded call was made again")
    if slot == CALL:
        state = state._replace(effects=min(state.effects + 1, 2))
        if state.effects == 2:
            state = _wrong(state, "a call that may not be repeated was made twice")
    return _put(state, worker, leg._replace(doing="made"))


def append(state: State, worker: int, slot: int, value: str, doing: str, without: Without) -> State:
    def put(state: State) -> State:
        if state.entries[slot] == "ok":
            return _wrong(state, "a recorded call was to be changed")
        return state._replace(entries=_with(state.entries, slot, value))

    after = write(state, worker, without, put, keeps_leg=True)
    leg = after.legs[worker]
    return after if leg is None else _put(after, worker, leg._replace(seen=_with(leg.seen, slot, value), doing=doing))


def append_expired(state: State, worker: int, without: Without) -> State:
    """The leg comes to its question after the deadline, before anybody else has acted on it."""

    def close(state: State) -> State:
        return state._replace(question="expired", entries=_with(state.entries, QUESTION, "expired"))

    after = write(state, worker, without, close, keeps_leg=True)
    leg = after.legs[worker]
    return after if leg is None else _put(after, worker, leg._replace(seen=_with(leg.seen, QUESTION, "expired")))


def write(
    state: State, worker: int, without: Without, change: Callable[[State], State], *, keeps_leg: bool = False
) -> State:
    """Every write of a leg is fenced: a leg that was replaced, or whose run does not run, is stopped by it."""
    leg = state.legs[worker]
    assert leg is not None
    may = (leg.is_newest or "fence: epoch" in without) and (state.status == "running" or "fence: status" in without)
    if not may:
        return _put(state, worker, None)
    if not leg.is_newest:
        state = _wrong(state, "a worker that was replaced has written")
    elif state.status != "running":
        state = _wrong(state, "a leg has written to a run that does not run")
    changed = change(state)
    return changed if keeps_leg else _put(changed, worker, None)


def park(state: State) -> State:
    if state.question not in ("", "open"):
        return _wrong(state, f"a question that was {state.question} was asked again")
    return state._replace(
        status="awaiting-input", owner=None, question="open", entries=_with(state.entries, QUESTION, "started")
    )


def park_in_doubt(state: State) -> State:
    return state._replace(status="needs-attention", owner=None, doubt=True)


def finish(state: State) -> State:
    if state.entries[QUESTION] in ("", "started"):
        state = _wrong(state, "the run ended without its answer")
    return state._replace(status="completed", owner=None)


def abandon_claims(state: State, without: Without) -> State:
    """A new executor finds what a dead one left."""
    if "abandon: wake" in without:
        return state._replace(owner=None, status="abandoned")
    return state._replace(status="runnable", owner=None)


# What people and the clock do ----------------------------------------------------------------------------------------


def answer(state: State, person: int, without: Without) -> State:
    mine = f"by {person}"
    if state.question == mine and state.people[person] == "?" and "answer: key" not in without:
        return _told(state, person, "won")
    is_open = state.question == "open" or (state.question != "" and "answer: open question" in without)
    waits = state.status in ("awaiting-input", "runnable") or "answer: open question" in without
    if not is_open or not waits or (state.overdue and "answer: deadline" not in without):
        if state.question == mine:
            state = _wrong(state, f"person {person} was told to have lost and had won")
        return _told(state, person, "lost")
    if state.question != "open":
        state = _wrong(state, f"a question that was {state.question} was answered again")
    if state.overdue:
        state = _wrong(state, "an answer after the deadline was accepted")
    if "answer: record" not in without:
        state = state._replace(entries=_with(state.entries, QUESTION, mine))
    if "answer: wake" not in without:
        state = state._replace(status="runnable")
    return _told(state._replace(question=mine), person, "won")


def expire(state: State, without: Without) -> State | None:
    if state.status in FINISHED or state.status == "running":
        return None
    if state.question != "open" and ("expire: open question" not in without or not state.question):
        return None
    if state.question != "open":
        state = _wrong(state, f"a question that was {state.question} expired")
    if "expire: wake" not in without:
        state = state._replace(status="runnable")
    return state._replace(question="expired", entries=_with(state.entries, QUESTION, "expired"))


def resolve(state: State) -> State:
    """Somebody says what came of the call that was in flight."""
    return state._replace(status="runnable", doubt=False, entries=_with(state.entries, CALL, "ok"))


def cancel(state: State, without: Without) -> State:
    if state.status in FINISHED:
        if "cancel: unfinished" not in without:
            return state._replace(canceller="refused")
        state = _wrong(state, f"a run that was {state.status} was cancelled")
    question = "cancelled" if state.question == "open" and "cancel: questions" not in without else state.question
    return _stale(state)._replace(status="cancelled", owner=None, question=question, doubt=False, canceller="done")


# Properties ----------------------------------------------------------------------------------------------------------


def problem(state: State) -> str:
    """What must never be so, or ""."""
    if state.wrong:
        return state.wrong
    if state.status in FINISHED and state.question == "open":
        return "a run that ended has an open question"
    answered = state.question.startswith("by ")
    if answered and state.entries[QUESTION] != state.question:
        return "an accepted answer is not in the journal"
    winners = [f"by {number}" for number, person in enumerate(state.people) if person == "won"]
    if len(winners) > 1:
        return "two people were told to have won"
    if winners and winners[0] != state.question:
        return "somebody was told to have won and had not"
    return ""


def _put(state: State, worker: int, leg: Leg | None) -> State:
    return state._replace(legs=tuple(leg if n == worker else known for n, known in enumerate(state.legs)))


def _stale(state: State) -> State:
    """Claims made so far are not the newest any more."""
    return state._replace(legs=tuple(leg and leg._replace(is_newest=False) for leg in state.legs))


def _told(state: State, person: int, told: str) -> State:
    return state._replace(people=tuple(told if n == person else known for n, known in enumerate(state.people)))


def _with(entries: tuple[str, ...], slot: int, value: str) -> tuple[str, ...]:
    return tuple(value if n == slot else known for n, known in enumerate(entries))


def _wrong(state: State, what: str) -> State:
    return state._replace(wrong=state.wrong or what)
