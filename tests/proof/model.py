"""Every order of events of the protocol is tried, crashes included; then real journals are led along some of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.proof.conformance import conform
from tests.proof.options import options
from tests.proof.protocol import SAFEGUARDS, Action, State, actions, problem


@dataclass
class Explored:
    """``trace``: the shortest way to ``problem``, if there is one."""

    states: int = 0
    moves: int = 0
    problem: str = ""
    trace: Sequence[Action] = field(default_factory=list[Action])

    def __str__(self) -> str:
        way = "".join(f"\n  {name} {who}" for name, who in self.trace)
        return f"{self.states:,} states, {self.moves:,} moves: {self.problem or 'no problem'}{way}"


def explore(without: str | None = None) -> Explored:
    """Breadth first to the end, or to the first problem; ``without``: the safeguard that is taken out."""
    out = frozenset() if without is None else frozenset({without})
    done = Explored()
    start = State()
    came: dict[State, tuple[State, Action] | None] = {start: None}
    leads_to: dict[State, list[State]] = {start: []}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        for action, after in actions(state, out):
            done.moves += 1
            leads_to.setdefault(after, []).append(state)
            if after not in came:
                came[after] = (state, action)
                waiting.append(after)
                if what := problem(after):
                    done.states, done.problem, done.trace = len(came), what, _trace(came, after)
                    return done
    done.states = len(came)
    if stuck := _first_stuck(came, leads_to):
        done.problem, done.trace = "the run can never end by itself again", _trace(came, stuck)
    return done


def _first_stuck(came: dict[State, tuple[State, Action] | None], leads_to: dict[State, list[State]]) -> State | None:
    """The first state, none of a cancelled run, from which no way leads to the end of the handler."""
    ends = [state for state in came if state.status == "completed"]
    good = set(ends)
    waiting = deque(ends)
    while waiting:
        for before in leads_to[waiting.popleft()]:
            if before not in good:
                good.add(before)
                waiting.append(before)
    return next((state for state in came if state not in good and state.status != "cancelled"), None)


def _trace(came: dict[State, tuple[State, Action] | None], state: State) -> Sequence[Action]:
    trace: list[Action] = []
    while (step := came[state]) is not None:
        state, action = step
        trace.append(action)
    return trace[::-1]


def main(argv: Sequence[str]) -> None:
    """``--rounds``: how many ways through the model real journals are led along."""
    given = options("model", argv, short=50, long=2000)
    whole = explore()
    print(f"model: {whole}")
    is_bad = bool(whole.problem)
    for name, promise in SAFEGUARDS.items():
        found = explore(name)
        is_bad |= not found.problem
        print(f"without {name!r} ({promise}): {found}")
    with TemporaryDirectory() as folder:
        print(f"conformance, seed {given.seed}: {conform(Path(folder), given.rounds, given.seed)}")
    if is_bad:
        raise SystemExit(1)
