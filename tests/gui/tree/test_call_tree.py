"""The model keeps Qt's rules whatever arrives, and says everything in words too."""

from __future__ import annotations

import gc
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from inbox_app.gateway.base import Call
from inbox_app.models import call_words
from inbox_app.models.call_tree import OUTPUT, STATE, TIME, CallTree
from inbox_app.models.call_words import duration
from inbox_app.state.calls import is_error
from tests.support.builders import NOW, call

CODES = [
    "depth-exceeded", "undeclared", "unknown-tool", "confirmation-unsupported", "invalid-params", "execution-failed",
    "subagent-undeclared", "subagent-unknown", "subagent-failed",
]  # fmt: skip


def model_of(*calls: Call) -> CallTree:
    model = CallTree(lambda: NOW)
    model.load(calls)
    return model


def outline(model: CallTree, parent: QModelIndex | None = None, level: int = 0) -> list[str]:
    parent = parent or QModelIndex()
    found: list[str] = []
    for row in range(model.rowCount(parent)):
        index = model.index(row, 0, parent)
        found += [f"{'  ' * level}{index.data()}", *outline(model, index, level + 1)]
    return found


ids = st.sampled_from(["", "0", "1", "0/0", "0/1", "1/0", "x", "y", "gone"])
some_calls = st.lists(
    st.builds(
        call,
        ids,
        parent=st.none() | ids,
        name=st.sampled_from(["a", "b"]),
        kind=st.sampled_from(["tool", "input", "odd kind"]),
        state=st.sampled_from(["running", "waiting", "ok", "failed", "cancelled", "unknown"]),
        started_at=st.sampled_from([0.0, NOW - 9, NOW - 3, NOW + 60]),
        seconds=st.none() | st.floats(-5, 5),
        code=st.none() | st.sampled_from(CODES),
        replayed=st.booleans(),
    ),
    max_size=25,
)


@given(some_calls, st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_any_batches_keep_the_rules_and_end_in_the_same_tree(qapp: object, calls: list[Call], seed: int) -> None:
    random = Random(seed)
    model = CallTree(lambda: NOW)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    rest = list(calls)
    while rest:
        size = random.randint(1, len(rest))
        model.apply(rest[:size])
        del rest[:size]
        gc.collect(0)
        if random.random() < 0.2:
            model.show_only(is_error if random.random() < 0.5 else None)
    model.show_only(None)
    shown = outline(model)
    for row in shown:
        assert row.strip()
    assert len([row for row in shown if "Not placed" not in row]) == len(model.calls)
    for column in range(model.columnCount()):
        for number in model.calls.walk():
            index = model.index_of(number, column)
            assert index.isValid()
            index.data()
            index.data(Qt.ItemDataRole.AccessibleTextRole)
    del tester


def test_a_row_says_what_happened_in_words() -> None:
    model = model_of(
        call("", parent=None, name="top", state="running", started_at=NOW - 1086, seconds=None),
        call("0", name="load", kind="step", replayed=True, seconds=0.3, output_size=2048),
        call("1", name="ask", kind="input", state="waiting", started_at=NOW - 65, seconds=None),
    )
    rows = [
        [str(model.index_of(number, column).data()) for column in (STATE, TIME, OUTPUT)]
        for number in model.calls.walk()
    ]
    assert rows == [["waiting below", "18m 06s", ""], ["replayed", "300 ms", "2 KB"], ["waiting", "1m 05s", ""]]
    spoken = model.index_of(3).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "load, step, replayed, level 2, 300 ms, not run again"


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_named(code: str) -> None:
    model = model_of(call("", parent=None), call("0", state="failed", code=code))
    assert code in str(model.index_of(3, STATE).data())


def test_calls_without_a_place_are_a_group_of_their_own() -> None:
    model = model_of(
        call("", parent=None, name="top"),
        call("o", parent="7f3a", name="orphan"),
        call("s", parent="s", name="self"),
        call("s", parent="", name="again"),
    )
    assert outline(model) == [
        "top",
        "Not placed: 3 calls without their place in the tree",
        "  orphan",
        "  self",
        "  again",
    ]
    words = {
        str(model.index_of(number).data()): str(model.index_of(number, STATE).data()) for number in model.calls.walk()
    }
    assert words["orphan"] == "parent 7f3a missing"
    assert words["self"] == "its parent is below it"
    assert words["again"] == "second call with id s"


def test_a_filter_keeps_the_way_to_what_it_finds() -> None:
    model = model_of(
        call("", parent=None, name="top"),
        call("0", name="fine"),
        call("1", name="way"),
        call("1/0", parent="1", name="broken", state="failed", code="x"),
    )
    model.show_only(is_error)
    assert outline(model) == ["top", "  way", "    broken"]
    model.apply([call("0", name="fine", state="failed", code="y")])
    assert outline(model) == ["top", "  fine", "  way", "    broken"]
    model.show_only(None)
    assert len(outline(model)) == 4


@pytest.mark.parametrize(
    ("seconds", "word"),
    [
        (0, "0 ms"),
        (0.0031, "3 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0s"),
        (1.25, "1.2s"),
        (42, "42s"),
        (-0.02, "-20 ms"),
    ],
)
def test_short_times_are_told_apart(seconds: float, word: str) -> None:
    assert call_words.duration(seconds) == word


def test_no_output_is_a_dash() -> None:
    tree = CallTree(lambda: NOW)
    tree.load([call("", parent=None, name="top", output_size=0), call("1", name="full", output_size=8)])
    top = tree.index(0, 0)
    assert top.siblingAtColumn(OUTPUT).data() == "–"
    assert tree.index(0, OUTPUT, top).data() == "8 B"


def test_hostile_names_are_shown_literally() -> None:
    model = model_of(call("", parent=None, name="<b>x</b>\u202ey"))
    assert model.index_of(2).data() == "<b>x</b>⟨U+202E⟩y"


def test_fifty_thousand_calls_and_a_wide_parent() -> None:
    wide = [call(str(at), name=f"n{at}") for at in range(20_000)]
    deep = [call(f"7/{at}", parent="7", name=f"m{at}") for at in range(30_000)]
    model = model_of(call("", parent=None), *deep, *wide)
    top = model.index(0, 0)
    assert model.rowCount(top) == 20_000
    assert model.rowCount(model.index(7, 0, top)) == 30_000
    last = model.index(29_999, 0, model.index(7, 0, top))
    assert last.data() == "m29999"
    assert last.parent().parent() == top


def test_a_tool_that_waits_for_its_child_is_not_counted_as_waiting() -> None:
    model = model_of(
        call("", parent=None, name="top", state="waiting", seconds=None),
        call("0", kind="approval", state="waiting", seconds=None),
    )
    assert [str(model.index_of(number, STATE).data()) for number in model.calls.walk()] == ["waiting below", "waiting"]
    assert model.calls.counts["waiting"] == 1


def test_rows_and_the_time_axis_go_up_to_the_same_moment(qapp: object) -> None:
    at = [NOW]
    model = CallTree(lambda: at[0])
    model.load([call("", parent=None, name="top", state="running", started_at=NOW - 42, seconds=None)])
    row = model.index(0, TIME)

    def axis() -> str:
        return duration(model.timeline.end - model.timeline.start)

    at[0] += 10
    assert row.data() == axis() == "42s"
    model.refresh_times()
    assert row.data() == axis() == "52s"


@pytest.mark.parametrize(
    ("count", "word"), [(1, "ran now, 1 call"), (2, "ran now, 2 calls"), (1200, "ran now, 1,200 calls")]
)
def test_what_a_closed_row_stands_for_is_counted(count: int, word: str) -> None:
    assert call_words.count_below("ran now", count) == word
