"""A turn as it is shown: told piece by piece and read from the store it is the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbox_app.gateway.chats import (
    ChatCall,
    ChatTurn,
    Choice,
    ChoiceOption,
    Ended,
    Note,
    Reasoning,
    Text,
    TurnItem,
)
from inbox_app.state.chats import (
    TOP,
    CallBlock,
    ItemBlock,
    TurnLog,
    Words,
    answer_text,
    chosen_by,
    stored,
)

IDS = ["a", "b", "c", "d", "e", "gone"]


def call(call_id: str, parent: str | None = None, **fields: object) -> ChatCall:
    base = ChatCall(call_id, parent, "tool", f"tool_{call_id}", "ok", started_at=1.0, ended_at=2.0)
    return replace(base, **fields)  # pyright: ignore[reportArgumentType]


def shape(log: TurnLog, branch: str = TOP) -> list[object]:
    """What a person sees of a branch: words joined, calls with what is in them."""
    found: list[object] = []
    for block in log.branches.get(branch, []):
        match block:
            case Words():
                found.append(("thought" if block.is_thought else "said", block.text))
            case CallBlock():
                found.append((log.calls[block.call_id], shape(log, block.call_id)))
            case ItemBlock():
                found.append(block.item)
    return found


def told(*events: TurnItem | Ended) -> TurnLog:
    log = TurnLog(1, "?", 0.0)
    for event in events:
        log.take(event)
    return log


EVENTS = st.lists(
    st.one_of(
        st.builds(Text, st.sampled_from(["Yes", " no", "\n", ""])),
        st.builds(Reasoning, st.sampled_from(["hm", "so"]), st.sampled_from([None, *IDS])),
        st.builds(
            call,
            st.sampled_from(IDS[:-1]),
            st.sampled_from([None, *IDS]),
            state=st.sampled_from(["running", "waiting", "ok", "failed"]),
        ),
        st.builds(Note, st.sampled_from(["Careful", "Stopped"]), call_id=st.sampled_from([None, *IDS])),
    ),
    max_size=30,
)


def as_stored(events: list[TurnItem]) -> list[TurnItem]:
    """What a store keeps: every call once, where it first appeared and as it is in the end; pieces joined."""
    last = {event.id: event for event in events if isinstance(event, ChatCall)}
    first = {event.id: event for event in reversed(events) if isinstance(event, ChatCall)}
    items: list[TurnItem] = []
    for event in events:
        if isinstance(event, ChatCall):
            if event.id in last:
                items.append(replace(last.pop(event.id), parent=first[event.id].parent))
        elif isinstance(event, Text) and items and isinstance(items[-1], Text):
            items[-1] = Text(items[-1].text + event.text)
        else:
            items.append(event)
    return items


@given(EVENTS)
def test_a_turn_that_was_listened_to_is_the_turn_that_is_read(events: list[TurnItem]) -> None:
    live = told(*events)
    live.finish("model_stop")
    read = stored(ChatTurn(1, "?", 0.0, items=as_stored(events), end="model_stop"))
    assert shape(live) == shape(read)


@given(EVENTS)
def test_every_call_is_shown_exactly_once(events: list[TurnItem]) -> None:
    log = told(*events)
    shown = [block.call_id for branch in log.branches.values() for block in branch if isinstance(block, CallBlock)]
    assert sorted(shown) == sorted(log.calls)
    reached: list[str] = []
    branches = [TOP]
    while branches:
        inside = [block.call_id for block in log.branches.get(branches.pop(), []) if isinstance(block, CallBlock)]
        reached += inside
        branches += inside
    assert sorted(reached) == sorted(log.calls)


def test_a_call_of_an_unknown_parent_stands_alone_until_the_parent_is_known() -> None:
    log = told(Text("I look."), call("child", "parent"), Text(" Well."))
    assert shape(log) == [("said", "I look."), (log.calls["child"], []), ("said", " Well.")]
    log.take(call("parent"))
    top = [block.call_id for block in log.branches[TOP] if isinstance(block, CallBlock)]
    assert top == ["parent"]
    assert [part[0].id for part in shape(log, "parent")] == ["child"]  # pyright: ignore[reportIndexIssue]


def test_a_call_below_two_that_are_within_each_other_finds_its_place() -> None:
    log = told(call("x", "p"), call("y", "p"), call("p", "y"))
    assert [*log.above("x")] == ["p", "y"]
    assert log.calls["y"].parent is None


def test_calls_that_are_said_to_be_within_each_other_are_shown_all_the_same() -> None:
    log = told(call("a", "b"), call("b", "a"), call("c", "c"))
    assert [block.call_id for block in log.branches[TOP] if isinstance(block, CallBlock)] != []
    assert set(log.above("a")) | set(log.above("b")) <= {"a", "b"}
    assert list(log.above("c")) == []


def test_what_runs_when_a_turn_ends_was_stopped_and_what_waits_goes_on_waiting() -> None:
    log = told(
        call("a", state="running", ended_at=None), call("b", state="waiting", ended_at=None), Ended("user_abort")
    )
    assert (log.calls["a"].state, log.calls["b"].state) == ("stopped", "waiting")
    assert log.calls["a"].ended_at is not None
    assert not log.is_running


def test_pieces_of_a_long_text_are_joined_where_nothing_stands_between_them() -> None:
    log = told(Text("One "), call("a"), call("b", "a"), Text("two "), call("a", state="failed"), Text("three."))
    assert [block.text for block in log.branches[TOP] if isinstance(block, Words)] == ["One ", "two three."]


PETS = Choice("q", "Which?", [ChoiceOption("cat", "A cat"), ChoiceOption(7, "Seven"), ChoiceOption("a, b", "Both")])


def test_a_choice_that_is_told_twice_is_given_once() -> None:
    again = replace(PETS, question="Which one?")
    assert shape(told(PETS, Text("Well?"), again, replace(PETS, ask_id="r"))) == [
        PETS,
        ("said", "Well?"),
        replace(PETS, ask_id="r"),
    ]


@pytest.mark.parametrize(("said", "chosen"), [("cat", [0]), ("7", [1]), ("a, b", [2]), ("A cat", None), ("", None)])
def test_what_was_chosen_is_told_from_what_was_said(said: str, chosen: list[int] | None) -> None:
    assert chosen_by(PETS, said) == chosen


@given(st.sets(st.integers(0, 2), min_size=1))
def test_several_that_were_chosen_are_found_again(chosen: set[int]) -> None:
    pets = replace(PETS, multi=True)
    assert chosen_by(pets, answer_text(pets, sorted(chosen))) == sorted(chosen)
