"""The call tree shows every call exactly once, whatever arrives."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from inbox_app.gateway.base import Call
from inbox_app.state.calls import NOT_PLACED, ROOT, Calls
from tests.support.builders import call


class Mirror:
    """A second tree kept up to date from the watcher's words alone, as Qt does it."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.rows: dict[int, int] = {ROOT: 0}
        self.moving: tuple[int, int] | None = None

    def inserting(self, parent: int, row: int) -> None:
        assert self.moving is None
        assert 0 <= row <= len(self.calls.children(parent))
        self.moving = parent, len(self.calls.children(parent))

    def inserted(self) -> None:
        assert self.moving is not None
        parent, before = self.moving
        assert len(self.calls.children(parent)) == before + 1
        self.moving = None

    def removing(self, parent: int, row: int) -> None:
        assert self.moving is None
        assert 0 <= row < len(self.calls.children(parent))
        self.moving = parent, len(self.calls.children(parent))

    def removed(self) -> None:
        assert self.moving is not None
        parent, before = self.moving
        assert len(self.calls.children(parent)) == before - 1
        self.moving = None

    def changed(self, number: int) -> None:
        assert number >= 2


def tree(*calls: Call) -> Calls:
    made = Calls()
    made.apply(calls, Mirror(made))
    return made


def outline(calls: Calls) -> list[str]:
    return ["/".join(calls.call(step).name for step in calls.path(number)) for number in calls.walk()]


def test_children_stand_in_the_order_of_their_slots() -> None:
    made = tree(
        call("", parent=None, name="top"),
        call("10", name="k", started_at=1),
        call("2", name="c", started_at=9),
        call("0", name="a", started_at=5),
    )
    assert outline(made) == ["top", "top/a", "top/c", "top/k"]


def test_children_with_other_ids_stand_in_the_order_they_started() -> None:
    made = tree(
        call("r", parent=None, name="top"),
        call("zz", parent="r", name="second", started_at=20),
        call("aa", parent="r", name="third", started_at=30),
        call("mm", parent="r", name="first", started_at=10),
    )
    assert outline(made) == ["top", "top/first", "top/second", "top/third"]


def test_a_child_that_comes_before_its_parent_is_moved_to_it() -> None:
    made = tree(call("", parent=None, name="top"), call("1/0", parent="1", name="child"))
    assert made.node(made.number("1/0") or 0).mark == "orphan"
    made.apply([call("1", name="parent")], Mirror(made))
    assert outline(made) == ["top", "top/parent", "top/parent/child"]
    assert not made.children(NOT_PLACED)
    assert [child for _, child in made.children(ROOT)] == [made.number("")]


def test_missing_parents_are_shown_as_not_placed() -> None:
    made = tree(
        call("", parent=None, name="top"),
        call("a", parent="gone", name="lost"),
        call("b", parent="0000", name="zeros"),
        call("c", parent=None, name="no parent"),
    )
    marks = {made.call(number).name: made.node(number).mark for number in made.walk()}
    assert marks == {"top": "", "lost": "orphan", "zeros": "orphan", "no parent": "orphan"}


def test_a_call_that_is_its_own_parent_is_marked() -> None:
    made = tree(call("", parent=None, name="top"), call("a", parent="a", name="self"))
    assert made.node(made.number("a") or 0).mark == "cycle"
    assert len(list(made.walk())) == 2


def test_a_long_circle_is_shown_once_beside_a_healthy_root() -> None:
    ring = [call(f"n{at}", parent=f"n{(at + 1) % 50}", name=f"n{at}") for at in range(50)]
    made = tree(call("", parent=None, name="top"), *ring)
    numbers = list(made.walk())
    assert len(numbers) == len(set(numbers)) == 51
    assert [made.node(number).mark for number in numbers].count("cycle") == 1


def test_the_same_id_for_another_call_is_kept_and_marked() -> None:
    made = tree(
        call("", parent=None, name="top"),
        call("1", name="first"),
        call("1", name="other"),
        call("1", name="other", state="failed"),
    )
    assert len(made) == 3
    assert [made.call(number).state for number in made.walk()] == ["ok", "ok", "failed"]
    assert [made.node(number).mark for number in made.walk()] == ["", "", "duplicate"]


def test_a_repeated_call_replaces_what_was_known_of_it() -> None:
    first = call("1", name="work", state="running", seconds=None)
    made = tree(call("", parent=None, name="top"), first)
    assert made.open_count == 1
    made.apply([replace(first, state="failed", ended_at=first.started_at + 1, code="x")])
    assert made.call(made.number("1") or 0).code == "x"
    assert made.counts == {"errors": 1, "waiting": 0, "replayed": 0}
    assert made.open_count == 0


def test_what_is_above_a_waiting_call_knows_it() -> None:
    made = tree(
        call("", parent=None, state="running"),
        call("0", state="running"),
        call("0/0", parent="0", state="waiting", kind="input"),
        call("1", state="ok"),
    )
    above = [made.call(number).id for number in made.walk() if made.above_waiting(number)]
    assert above == ["", "0"]


def test_five_thousand_levels_are_no_limit() -> None:
    chain = [call("", parent=None)] + [call(f"d{at}", parent=f"d{at - 1}" if at else "") for at in range(5000)]
    for order in (chain, chain[:1] + chain[:0:-1]):
        made = tree(*order)
        deepest = made.number("d4999")
        assert deepest is not None
        assert len(made.path(deepest)) == 5001
        assert len(list(made.walk())) == 5001
        assert made.below(made.number("") or 0) == 1000


def test_find_looks_at_names_codes_and_messages() -> None:
    made = tree(
        call("", parent=None, name="Refund"),
        call("0", name="other", code="subagent-failed"),
        call("1", name="more", message="the REFUND was refused"),
    )
    assert [made.call(number).id for number in made.find("refund")] == ["", "1"]
    assert [made.call(number).id for number in made.find("SUBAGENT")] == ["0"]
    assert made.find("") == []


def test_clocks_that_disagree_are_measured_and_nothing_is_moved() -> None:
    made = tree(
        call("", parent=None, started_at=1000.0),
        call("0", started_at=700.0, seconds=1.0),
        call("1", started_at=1001.0, seconds=-0.5),
    )
    assert made.worst_skew[0] == 300.0
    assert made.call(made.number("0") or 0).started_at == 700.0
    assert made.skew(made.number("1") or 0) == 0.5


ids = st.sampled_from(["", "0", "1", "0/0", "0/1", "1/0", "x", "y", "z", "gone"])
calls_strategy = st.lists(
    st.builds(
        call,
        ids,
        parent=st.one_of(st.none(), ids),
        name=st.sampled_from(["a", "b"]),
        state=st.sampled_from(["running", "waiting", "ok", "failed"]),
        started_at=st.integers(1, 5).map(float),
    ),
    max_size=30,
)


@given(calls_strategy, st.integers(0, 2**32))
def test_any_batch_shows_each_call_once_and_in_the_same_shape(calls: list[Call], seed: int) -> None:
    made = Calls()
    mirror = Mirror(made)
    random = Random(seed)
    rest = list(calls)
    while rest:
        size = random.randint(1, len(rest))
        made.apply(rest[:size], mirror)
        del rest[:size]
    numbers = list(made.walk())
    assert len(numbers) == len(set(numbers)) == len(made)
    identities = {(item.id, item.parent, item.kind, item.name) for item in calls}
    shown = {(item.id, item.parent, item.kind, item.name) for item in map(made.call, numbers)}
    assert shown == identities
    for number in numbers:
        siblings = made.children(made.node(number).parent)
        assert siblings[made.row(number)][1] == number
    assert made.counts["errors"] == sum(made.call(number).state == "failed" for number in numbers)
