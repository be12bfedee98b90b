"""A turn of a conversation as it is shown: what was said in order, and calls as trees.

`TurnLog.take` is fed with events while a turn goes on and with stored items afterwards; both give the same blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from inbox_app.gateway.chats import (
    Began,
    ChatCall,
    ChatEvent,
    ChatTurn,
    Choice,
    Ended,
    Note,
    Reasoning,
    Shown,
    Text,
    Tokens,
)

TOP: Final = ""
"""The branch of what the model itself did; every other branch is named after the call it is within."""


@dataclass(eq=False, slots=True)
class Words:
    """Pieces of text that belong together. ``is_thought``: the agent says it to itself, between ``began`` and ``last``
    (seconds since the epoch; both 0 if nobody listened)."""

    key: int
    is_thought: bool = False
    began: float = 0.0
    last: float = 0.0
    pieces: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


@dataclass(frozen=True, slots=True)
class CallBlock:
    key: int
    call_id: str


@dataclass(frozen=True, slots=True)
class ItemBlock:
    """Something that never changes once it is there."""

    key: int
    item: Choice | Shown | Note


Block: TypeAlias = Words | CallBlock | ItemBlock


class TurnLog:
    """One turn. ``number`` counts from 1; ``end`` is "" while it goes on; ``told`` counts what was told of it."""

    def __init__(
        self,
        number: int,
        asked: str,
        at: float,
        files: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.number = number
        self.asked = asked
        self.at = at
        self.files = tuple(files)
        self.end = ""
        self.usage = Tokens()
        self.told = 0
        self.calls: dict[str, ChatCall] = {}
        self.branches: dict[str, list[Block]] = {TOP: []}
        self._clock = clock
        self._blocks: dict[str, CallBlock] = {}
        self._orphans: dict[str, list[str]] = {}
        self._next_key = 0

    @property
    def is_running(self) -> bool:
        return not self.end

    def take(self, event: ChatEvent, *, live: bool = True) -> None:
        """``live``: it is being said now, so how long a thought takes can be told."""
        self.told += 1
        match event:
            case Began():
                pass
            case Text():
                self._say(TOP, event.text, None, live=live)
            case Reasoning():
                self._say(self._branch_of(event.call_id), event.text, event, live=live)
            case ChatCall():
                self._put_call(event)
            case Note():
                self._add(self._branch_of(event.call_id), ItemBlock(self._key(), event))
            case Choice() if self._is_asked(event):
                pass  # told again
            case Choice() | Shown():
                self._add(TOP, ItemBlock(self._key(), event))
            case Ended():
                self.finish(event.reason, event.usage, self._clock())

    def finish(self, reason: str, usage: Tokens | None = None, at: float | None = None) -> None:
        """The turn is over: what still ran in it was stopped. A call that waits for a person goes on waiting."""
        self.end = reason or "error"
        self.usage = usage or self.usage
        for call in self.calls.values():
            if call.state == "running":
                self.calls[call.id] = replace(call, state="stopped", ended_at=call.ended_at or at)

    def go_on_as(self, log: TurnLog) -> None:
        """Take over what was read of the same turn later; what is the same keeps its key."""
        for branch, blocks in log.branches.items():
            known = self.branches.get(branch, [])
            for at, block in enumerate(blocks):
                before = known[at] if at < len(known) else None
                match before, block:
                    case Words(), Words() if before.is_thought == block.is_thought:
                        block.key = before.key
                    case ItemBlock(), ItemBlock() if before.item == block.item:
                        blocks[at] = before
                    case _, ItemBlock():
                        blocks[at] = replace(block, key=self._key())
                    case _, Words():
                        block.key = self._key()
                    case _:
                        pass
        self.told += 1
        self.calls, self.branches = log.calls, log.branches
        self._blocks, self._orphans = log._blocks, log._orphans
        self.end, self.usage = log.end, log.usage

    def above(self, call_id: str) -> Iterator[str]:
        """The calls that a call is within, the nearest first, each once, whatever is said of who is within whom."""
        seen = {call_id}
        call = self.calls.get(call_id)
        while call is not None and call.parent in self.calls and call.parent not in seen:
            seen.add(call.parent)
            yield call.parent
            call = self.calls[call.parent]

    def _is_asked(self, choice: Choice) -> bool:
        known = (block.item for block in self.branches[TOP] if isinstance(block, ItemBlock))
        return any(isinstance(item, Choice) and item.ask_id == choice.ask_id != "" for item in known)

    def _say(self, branch: str, text: str, thought: Reasoning | None, *, live: bool) -> None:
        blocks = self.branches.setdefault(branch, [])
        last = blocks[-1] if blocks else None
        now = self._clock() if live else 0.0
        if not isinstance(last, Words) or last.is_thought != (thought is not None):
            last = Words(self._key(), thought is not None, now)
            blocks.append(last)
        last.last = now
        last.pieces.append(text)

    def _put_call(self, call: ChatCall) -> None:
        known = self.calls.get(call.id)
        if known is not None:
            self.calls[call.id] = replace(call, parent=known.parent)
            return
        self.calls[call.id] = call
        block = self._blocks[call.id] = CallBlock(self._key(), call.id)
        if call.parent is not None and call.parent not in self.calls:
            self._orphans.setdefault(call.parent, []).append(call.id)
        parent = call.parent
        if parent == call.id:
            self.calls[call.id] = replace(call, parent=None)
            parent = None
        self._add(self._branch_of(parent), block)
        for orphan in self._orphans.pop(call.id, ()):
            self._adopt(call.id, orphan)

    def _adopt(self, parent: str, orphan: str) -> None:
        """A call whose parent was not known is put where it belongs, unless the parent is within it."""
        if orphan in self.above(parent) or orphan == parent:
            self.calls[orphan] = replace(self.calls[orphan], parent=None)
            return
        block = self._blocks[orphan]
        self.branches[TOP].remove(block)
        self._add(parent, block)

    def _branch_of(self, call_id: str | None) -> str:
        return call_id if call_id is not None and call_id in self.calls else TOP

    def _add(self, branch: str, block: Block) -> None:
        self.branches.setdefault(branch, []).append(block)

    def _key(self) -> int:
        self._next_key += 1
        return self._next_key


def stored(turn: ChatTurn, clock: Callable[[], float] = time.time) -> TurnLog:
    """A turn that was read. One that goes on elsewhere has no end yet."""
    log = TurnLog(turn.number, turn.asked, turn.at, turn.files, clock)
    for item in turn.items:
        log.take(item, live=False)
    if turn.end:
        log.finish(turn.end, turn.usage)
    else:
        log.usage = turn.usage
    return log


def answer_text(choice: Choice, chosen: Sequence[int]) -> str:
    """What is said for options of a choice, by number from 0: their values, in the order of the options."""
    return ", ".join(value_text(choice, at) for at in sorted(chosen))


def chosen_by(choice: Choice, said: str) -> list[int] | None:
    """The options that a message stands for; None if it is an answer in other words."""
    if not choice.multi:
        found = [at for at in range(len(choice.options)) if value_text(choice, at) == said]
        return found[:1] or None
    parts = said.split(", ")
    found = [at for at in range(len(choice.options)) if set(value_text(choice, at).split(", ")) <= set(parts)]
    return found if found and answer_text(choice, found) == said else None


def chosen_labels(before: TurnLog | None, said: str) -> str:
    """What the options are called that a message stands for, if the turn before it gave a choice."""
    asked = (block.item for block in before.branches[TOP] if isinstance(block, ItemBlock)) if before is not None else ()
    for choice in (item for item in asked if isinstance(item, Choice)):
        chosen = chosen_by(choice, said)
        if chosen is not None:
            return ", ".join(choice.options[at].label or value_text(choice, at) for at in chosen)
    return ""


def value_text(choice: Choice, at: int) -> str:
    """The value of an option as a message: a text as it is, anything else as JSON."""
    from inbox_app.gateway import values

    value = choice.options[at].value
    return value if isinstance(value, str) else values.compact(value)
