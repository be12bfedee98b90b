"""The nested calls of one run, as a tree that survives everything a runtime may send.

Calls arrive in any order and more than once. Every call is shown exactly once: below its parent, or in the group
*not placed* with a mark that says why. Nodes are known by small numbers that never change while the run is shown.
Nothing here recurses, so depth is no limit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias

from inbox_app.gateway.base import Call

ROOT: Final = 0
NOT_PLACED: Final = 1

Mark = Literal["", "orphan", "cycle", "duplicate", "group"]
"""``orphan``: the parent is unknown or missing; ``cycle``: the parent is the node or below it; ``duplicate``: the id
is already taken by another call; ``group``: the node is the group *not placed* itself."""

Key: TypeAlias = tuple[float, float, int]
"""Where a call stands among its siblings: slot number, start, arrival. Unique by the last part."""

LAST: Final[Key] = (float("inf"), float("inf"), 0)
NO_CALL: Final = Call("", None, "group", "", "ok", 0.0, None)


@dataclass(slots=True)
class Node:
    number: int
    call: Call
    parent: int
    key: Key
    mark: Mark = ""
    children: list[tuple[Key, int]] = field(default_factory=list[tuple[Key, int]])


class Watcher(Protocol):
    """Told before and after every change of structure, in the order a Qt model needs."""

    def inserting(self, parent: int, row: int) -> None: ...
    def inserted(self) -> None: ...
    def removing(self, parent: int, row: int) -> None: ...
    def removed(self) -> None: ...
    def changed(self, number: int) -> None: ...


class _Nobody:
    def inserting(self, parent: int, row: int) -> None: ...
    def inserted(self) -> None: ...
    def removing(self, parent: int, row: int) -> None: ...
    def removed(self) -> None: ...
    def changed(self, number: int) -> None: ...


_NOBODY: Final = _Nobody()


class Calls:
    """The tree. `apply` takes calls that are new or changed; reading is by node number."""

    def __init__(self) -> None:
        self._nodes: list[Node] = [
            Node(ROOT, NO_CALL, ROOT, LAST),
            Node(NOT_PLACED, NO_CALL, ROOT, LAST, mark="group"),
        ]
        self._by_id: dict[str, int] = {}
        self._doubles: dict[tuple[str, str | None, str, str], int] = {}
        self._looking: dict[str, list[int]] = {}
        self._counts = {"errors": 0, "waiting": 0, "replayed": 0}
        self._above_waiting: set[int] | None = None
        self._open = 0
        self._worst = (0.0, ROOT)
        self.outcomes: Mapping[str, str] = {}
        """How questions ended (words of `Decision`), by the call that asked, as far as that is known."""

    def __len__(self) -> int:
        return len(self._nodes) - 2

    @property
    def counts(self) -> Mapping[str, int]:
        """How many calls failed (``errors``), wait for a person (``waiting``), were not run again (``replayed``)."""
        return self._counts

    @property
    def open_count(self) -> int:
        """How many calls have not ended."""
        return self._open

    @property
    def worst_skew(self) -> tuple[float, int]:
        """The largest `skew` ever seen in this run, and the call that has it."""
        return self._worst

    def node(self, number: int) -> Node:
        return self._nodes[number]

    def call(self, number: int) -> Call:
        return self._nodes[number].call

    def number(self, call_id: str) -> int | None:
        return self._by_id.get(call_id)

    def children(self, number: int) -> Sequence[tuple[Key, int]]:
        return self._nodes[number].children

    def row(self, number: int) -> int:
        """The position of a node among its siblings."""
        node = self._nodes[number]
        return bisect_left(self._nodes[node.parent].children, (node.key, number))

    def path(self, number: int) -> list[int]:
        """The numbers from the top down to the node itself, the invisible root left out."""
        steps: list[int] = []
        while number != ROOT:
            steps.append(number)
            number = self._nodes[number].parent
        return steps[::-1]

    def every(self) -> Iterator[Call]:
        """Every call, in the order they arrived."""
        return (node.call for node in self._nodes[2:])

    def walk(self) -> Iterator[int]:
        """Every call in the order the tree shows them, the group's own row left out."""
        stack = [ROOT]
        while stack:
            number = stack.pop()
            if number not in (ROOT, NOT_PLACED):
                yield number
            stack.extend(child for _, child in reversed(self._nodes[number].children))

    def find(self, text: str) -> list[int]:
        """Calls whose name, code or message holds the text, whatever the case, in the order of the tree."""
        wanted = text.casefold()
        if not wanted:
            return []
        return [number for number in self.walk() if wanted in _words(self._nodes[number].call)]

    def matching(self, wanted: Callable[[Call], bool]) -> set[int]:
        """The numbers of the calls that are wanted and of everything above them."""
        kept: set[int] = set()
        for node in self._nodes[2:]:
            if wanted(node.call):
                self._add_path(node.number, kept)
        return kept

    def above_waiting(self, number: int) -> bool:
        """Whether something below this node waits for a person."""
        if self._above_waiting is None:
            above: set[int] = set()
            for node in self._nodes[2:]:
                if is_waiting(node.call):
                    self._add_path(node.parent, above)
            self._above_waiting = above
        return number in self._above_waiting

    def below(self, number: int, most: int = 1000) -> int:
        """How many calls there are below a node; stops counting at ``most``."""
        found = 0
        stack = [number]
        while stack and found < most:
            children = self._nodes[stack.pop()].children
            found += len(children)
            stack.extend(child for _, child in children)
        return min(found, most)

    def count_to_level(self, level: int, most: int) -> int:
        """How many calls there are down to a level, the first being 1; stops counting at ``most``."""
        found = 0
        row = [ROOT]
        for _ in range(level):
            row = [child for number in row for _, child in self._nodes[number].children]
            found += len(row)
            if found >= most or not row:
                break
        return min(found, most)

    def skew(self, number: int) -> float:
        """Seconds by which a call starts before its parent did or ends before it started; 0 if it does neither."""
        node = self._nodes[number]
        behind = 0.0
        if node.parent not in (ROOT, NOT_PLACED):
            behind = self._nodes[node.parent].call.started_at - node.call.started_at
        if node.call.ended_at is not None:
            behind = max(behind, node.call.started_at - node.call.ended_at)
        return behind if behind > 0.001 else 0.0

    def apply(self, calls: Sequence[Call], watcher: Watcher = _NOBODY) -> None:
        for call in calls:
            self._take(call, watcher)
        self._above_waiting = None

    def _take(self, call: Call, watcher: Watcher) -> None:
        known = self._by_id.get(call.id)
        if known is None:
            number = self._add(call, watcher)
            self._by_id[call.id] = number
            self._place(number, watcher)
            self._adopt(call.id, watcher)
            return
        shown = self._nodes[known].call
        if (shown.parent, shown.kind, shown.name) == (call.parent, call.kind, call.name):
            self._replace(known, call, watcher)
            return
        identity = (call.id, call.parent, call.kind, call.name)
        double = self._doubles.get(identity)
        if double is not None:
            self._replace(double, call, watcher)
            return
        number = self._add(call, watcher)
        self._doubles[identity] = number
        self._attach(number, NOT_PLACED, "duplicate", watcher)

    def _add(self, call: Call, watcher: Watcher) -> int:
        number = len(self._nodes)
        self._nodes.append(Node(number, call, ROOT, (_slot(call), call.started_at, number)))
        self._count(call, 1)
        return number

    def _replace(self, number: int, call: Call, watcher: Watcher) -> None:
        node = self._nodes[number]
        if node.call == call:
            return
        self._count(node.call, -1)
        self._count(call, 1)
        node.call = call
        self._note_skew(number)
        watcher.changed(number)

    def _place(self, number: int, watcher: Watcher) -> None:
        call = self._nodes[number].call
        if call.parent is None:
            if call.id == "" or not any(child != NOT_PLACED for _, child in self._nodes[ROOT].children):
                self._attach(number, ROOT, "", watcher)
            else:
                self._attach(number, NOT_PLACED, "orphan", watcher)
            return
        parent = self._by_id.get(call.parent)
        if parent == number:
            self._attach(number, NOT_PLACED, "cycle", watcher)
        elif parent is None:
            self._looking.setdefault(call.parent, []).append(number)
            self._attach(number, NOT_PLACED, "orphan", watcher)
        else:
            self._attach(number, parent, "", watcher)

    def _adopt(self, call_id: str, watcher: Watcher) -> None:
        """Move calls that waited for this one to where they belong; those above it in a circle are marked."""
        parent = self._by_id[call_id]
        for number in self._looking.pop(call_id, ()):
            if self._is_above(number, parent):
                self._nodes[number].mark = "cycle"
                watcher.changed(number)
                continue
            self._detach(number, watcher)
            self._attach(number, parent, "", watcher)

    def _is_above(self, number: int, below: int) -> bool:
        while below != ROOT:
            if below == number:
                return True
            below = self._nodes[below].parent
        return False

    def _attach(self, number: int, parent: int, mark: Mark, watcher: Watcher) -> None:
        if parent == NOT_PLACED and not self._nodes[NOT_PLACED].children:
            self._insert(NOT_PLACED, ROOT, watcher)
        self._nodes[number].mark = mark
        self._insert(number, parent, watcher)

    def _insert(self, number: int, parent: int, watcher: Watcher) -> None:
        node = self._nodes[number]
        siblings = self._nodes[parent].children
        place = (node.key, number)
        row = len(siblings) if not siblings or siblings[-1] < place else bisect_left(siblings, place)
        watcher.inserting(parent, row)
        siblings.insert(row, place)
        node.parent = parent
        self._note_skew(number)
        watcher.inserted()

    def _detach(self, number: int, watcher: Watcher) -> None:
        parent = self._nodes[number].parent
        row = self.row(number)
        watcher.removing(parent, row)
        del self._nodes[parent].children[row]
        watcher.removed()
        if parent == NOT_PLACED and not self._nodes[NOT_PLACED].children:
            self._detach(NOT_PLACED, watcher)

    def _add_path(self, number: int, into: set[int]) -> None:
        while number != ROOT and number not in into:
            into.add(number)
            number = self._nodes[number].parent

    def _note_skew(self, number: int) -> None:
        skew = self.skew(number)
        if skew > self._worst[0]:
            self._worst = (skew, number)

    def _count(self, call: Call, by: int) -> None:
        self._open += by * (call.ended_at is None)
        self._counts["errors"] += by * is_error(call)
        self._counts["waiting"] += by * is_waiting(call)
        self._counts["replayed"] += by * is_replayed(call)


def is_error(call: Call) -> bool:
    return call.state in ("failed", "unknown")


def is_waiting(call: Call) -> bool:
    """Whether the call itself waits; a tool that waits does so for something below it."""
    return call.state == "waiting" and call.kind not in ("tool", "subagent")


def is_replayed(call: Call) -> bool:
    return call.replayed and call.state == "ok"


def _words(call: Call) -> str:
    return "\n".join((call.name, call.code or "", call.message or "")).casefold()


def _slot(call: Call) -> float:
    """The slot number in an id such as ``3/1`` below the call ``3``; other ids are ordered by their start."""
    above, _, last = call.id.rpartition("/")
    if last.isascii() and last.isdigit() and len(last) < 16 and above == (call.parent or ""):
        return float(last)
    return float("inf") if call.id else -1.0
