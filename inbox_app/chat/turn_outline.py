"""Which parts a turn has on the screen now, in order: what is folded away, hidden or cut off is not among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, cast

from inbox_app.chat.run_watch import RunKnown
from inbox_app.gateway.base import Decision, Pause
from inbox_app.gateway.chats import CallState, ChatCall, Choice, Note, Shown
from inbox_app.state.chats import TOP, Block, ItemBlock, TurnLog, Words

MOST_ROWS: Final = 300
"""Calls of one turn that are shown at first, and that each wish for more adds."""


@dataclass(slots=True)
class Unfolded:
    """What a person opened in a turn; kept while the turn is out of sight."""

    calls: set[str] = field(default_factory=set[str])
    thoughts: set[int] = field(default_factory=set[int])
    rows: int = MOST_ROWS


@dataclass(frozen=True, slots=True)
class Asked:
    """What the person said."""


@dataclass(frozen=True, slots=True)
class Values:
    call: ChatCall


@dataclass(frozen=True, slots=True)
class Question:
    """``decision``: what became of it. ``following``: what its run asks now."""

    pause: Pause
    is_open: bool
    decision: Decision | None
    following: Pause | None


@dataclass(frozen=True, slots=True)
class Answered:
    run_id: str
    decision: Decision


@dataclass(frozen=True, slots=True)
class More:
    count: int


@dataclass(frozen=True, slots=True)
class End:
    pass


Content: TypeAlias = Asked | Words | ChatCall | Values | Question | Answered | Choice | Shown | Note | More | End


@dataclass(frozen=True, slots=True)
class Item:
    """``key`` stays the same for the same thing, so that its widget can."""

    key: str
    level: int
    content: Content


def outline(
    log: TurnLog, unfolded: Unfolded, run_of: Callable[[str], RunKnown], *, show_internal: bool, kept: Set[str]
) -> Iterator[Item]:
    """``run_of`` tells what is known of the run that a call became.

    ``kept``: ids of questions whose card is there; an answered one keeps it, others are summed up.
    """
    yield Item("asked", 0, Asked())
    left = unfolded.rows
    hidden = 0
    stack: list[tuple[Iterator[Block | Item], int]] = [(iter(tuple(log.branches[TOP])), 0)]
    while stack:
        blocks, level = stack[-1]
        block = next(blocks, None)
        if block is None:
            stack.pop()
        elif isinstance(block, Item):
            yield block
        elif isinstance(block, Words):
            yield Item(f"w{block.key}", level, block)
        elif isinstance(block, ItemBlock):
            yield Item(f"i{block.key}", level, block.item)
        elif not show_internal and _is_hidden(log.calls[block.call_id]):
            pass
        elif left <= 0:
            hidden += 1
        else:
            left -= 1
            call = log.calls[block.call_id]
            known = run_of(call.run_id) if call.run_id is not None else None
            call = as_run(call, known)
            yield Item(f"c{call.id}", level, call)
            if call.id in unfolded.calls:
                yield Item(f"v{call.id}", level + 1, Values(call))
            if known is not None:
                stack.append((_of_run(call, known, level + 1, kept), level + 1))
            if inside := log.branches.get(call.id):
                stack.append((iter(tuple(inside)), level + 1))
    if hidden:
        yield Item("more", 0, More(hidden))
    if log.end:
        yield Item("end", 0, End())


def _is_hidden(call: ChatCall) -> bool:
    """The agent's own business, as long as it goes well."""
    return call.internal and call.state != "failed"


def as_run(call: ChatCall, known: RunKnown | None) -> ChatCall:
    """A call with what became of its run, where the turn itself was only told that the run goes on."""
    run = known.detail.run if known is not None and known.detail is not None else None
    result = cast("dict[str, object]", call.result if isinstance(call.result, dict) else {})
    told = result.get("durable") is True and result.get("session_id") == call.run_id
    if known is None or run is None:
        return call
    if call.state == "failed" and run.status == "completed" and known.was_refused:
        return replace(call, state="denied")
    if call.state in ("ok", "failed") and not told:
        return call
    if not run.finished:
        state: CallState = "running" if run.status == "running" else "waiting"
        return replace(call, state=state, result=None, ended_at=None)
    error = str((run.error or {}).get("message") or run.status) if run.status != "completed" else ""
    state = "ok" if run.status == "completed" else "failed" if run.status == "failed" else "stopped"
    label = call.done_label or call.label if state == "ok" else call.label
    return replace(call, state=state, label=label, result=run.result, error=error, ended_at=run.finished_at)


def _of_run(call: ChatCall, known: RunKnown, level: int, kept: Set[str]) -> Iterator[Item]:
    """The questions of a run, in the order they were asked."""
    decisions = known.detail.decisions if known.detail is not None else ()
    asked = {decision.pause_id: decision.asked_at for decision in decisions}
    asked |= {pause.id: pause.asked_at for pause in known.asked.values()}
    for pause_id in sorted(asked, key=lambda one: (asked[one], one)):
        decision, pause, is_open = known.decision(pause_id), known.asked.get(pause_id), pause_id in known.open
        if pause is not None and (is_open or decision is None or pause_id in kept):
            question = Question(pause, is_open, decision, known.following(pause_id))
            yield Item(f"q{pause_id}", level, question)
        elif decision is not None:
            yield Item(f"a{pause_id}", level, Answered(call.run_id or "", decision))
