"""The list of waiting questions under random changes: order, counts, what is held back, and edits that add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from inbox_app.gateway.base import Batch, Pause, PausePage
from inbox_app.state.edits import Changed, Edit, Inserted, Removed, Replaced
from inbox_app.state.requests import DUE_SOON_S, Entry, Header, Mark, Requests, Row
from tests.support.builders import NOW, pause


def entries(requests: Requests) -> list[Entry]:
    return [row for row in requests.rows if isinstance(row, Entry)]


def loaded(*pauses: Pause, clock: float = NOW) -> Requests:
    requests = Requests(lambda: clock)
    requests.apply(Batch(opened=pauses, reset=True, total=len(pauses)))
    return requests


def apply_edits(rows: list[Row], edits: Iterable[Edit[Row]]) -> None:
    """Bring a list of rows up to date."""
    for edit in edits:
        match edit:
            case Inserted(at, new):
                rows[at:at] = new
            case Removed(at, count):
                del rows[at : at + count]
            case Changed(at, row):
                rows[at] = row
            case Replaced(new):
                rows[:] = new


def test_groups_follow_deadline_and_eligibility_and_say_their_order() -> None:
    later, sooner = pause(1, expires_at=NOW + 1800), pause(2, expires_at=NOW + 600)
    old, young = pause(3, asked_at=NOW - 900), pause(4, asked_at=NOW - 60)
    far = pause(5, expires_at=NOW + DUE_SOON_S + 1, asked_at=NOW - 300)
    others = pause(6, eligible=False, expires_at=NOW + 60)
    requests = loaded(later, old, others, young, sooner, far)
    shown = [row.group if isinstance(row, Header) else row.id for row in requests.rows]
    assert shown == ["due", sooner.id, later.id, "waiting", young.id, far.id, old.id, "others", others.id]


def test_new_questions_wait_behind_the_bar_until_asked_for() -> None:
    first, second = pause(1), pause(2)
    requests = loaded(first)
    assert requests.apply(Batch(opened=[second], total=2)) == []
    assert (requests.listed, requests.new_count, requests.total) == (1, 1, 2)
    requests.show_new()
    assert (requests.listed, requests.new_count) == (2, 0)


def test_into_an_empty_list_a_new_question_goes_at_once() -> None:
    requests = loaded()
    requests.apply(Batch(opened=[pause(1), pause(2)], total=2))
    assert (requests.listed, requests.new_count) == (2, 0)


def test_when_the_last_listed_question_goes_what_is_held_back_comes() -> None:
    first, second = pause(1), pause(2)
    requests = loaded(first)
    requests.apply(Batch(opened=[second], total=2))
    requests.apply(Batch(closed=[first.id], total=1), reading=first.id)
    assert (requests.listed, requests.new_count) == (0, 1)
    requests.leave(first.id)
    assert (requests.listed, requests.new_count) == (1, 0)
    requests.apply(Batch(opened=[first], total=2))
    requests.apply(Batch(closed=[second.id], total=1))
    assert (requests.listed, requests.new_count) == (1, 0)


def test_the_question_being_read_stays_until_it_is_left() -> None:
    read, other = pause(1), pause(2)
    requests = loaded(read, other)
    requests.apply(Batch(closed=[read.id, other.id], total=0), reading=read.id)
    assert [entry.gone for entry in entries(requests)] == [True]
    assert requests.listed == 0
    requests.leave(read.id)
    assert requests.rows == []


def test_the_next_question_of_an_answered_run_asks_again() -> None:
    first = pause(1, run_id="dur_a", id="dur_a.0")
    again = pause(2, run_id="dur_a", id="dur_a.1")
    requests = loaded(first, pause(3))
    requests.apply(Batch(closed=[first.id], opened=[again]))
    requests.show_one(again.id)
    found = requests.get(again.id)
    assert found is not None
    assert found.again


def test_time_alone_moves_no_row() -> None:
    now = [NOW]
    requests = Requests(lambda: now[0])
    near = pause(1, expires_at=NOW + DUE_SOON_S + 60)
    requests.apply(Batch(opened=[pause(2), near], reset=True, total=2))
    now[0] += 120
    assert requests.apply(Batch(total=2)) == []
    requests.show_new()
    assert requests.rows[0] == Header("due")


def test_what_is_due_soon_is_listed_at_once_or_as_soon_as_it_is() -> None:
    now = [NOW]
    requests = Requests(lambda: now[0])
    requests.apply(Batch(opened=[pause(1)], reset=True, total=1))
    near, later, not_mine = pause(2, expires_at=NOW + 9), pause(3, expires_at=NOW + DUE_SOON_S + 60), pause(4)
    requests.apply(Batch(opened=[near, later, replace(not_mine, eligible=False, expires_at=NOW + 9)], total=4))
    assert [entry.id for entry in entries(requests)] == [near.id, pause(1).id]
    assert (requests.new_count, requests.list_due()) == (2, [])
    now[0] += 120
    assert len(requests.list_due()) == 1
    assert [entry.id for entry in entries(requests)] == [near.id, later.id, pause(1).id]
    assert requests.new_count == 1


def test_a_page_of_many_is_a_few_edits() -> None:
    many = [pause(number) for number in range(1, 2001)]
    requests = Requests(lambda: NOW)
    requests.apply(Batch(opened=many[:1000], reset=True, total=2000, next_cursor="1000"))
    edits = requests.append(PausePage(many[1000:], 2000, None))
    assert [type(edit) for edit in edits] == [Inserted]
    assert requests.listed == 2000


def test_closing_neighbours_is_one_edit() -> None:
    many = [pause(number) for number in range(1, 11)]
    requests = loaded(*many)
    edits = requests.apply(Batch(closed=[item.id for item in many[2:6]], total=6))
    assert edits == [Removed(3, 4)]


def is_due(item: Pause) -> bool:
    return item.eligible and item.expires_at is not None and item.expires_at - NOW <= DUE_SOON_S


class RequestsMachine(RuleBasedStateMachine):
    """Compares the list with a plain book of what is open, listed and held."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = Requests(lambda: NOW)
        self.mirror: list[Row] = []
        self.open: dict[str, Pause] = {}
        self.listed: set[str] = set()
        self.gone: set[str] = set()
        self.reading: str | None = None
        self.number = 0

    def fresh(self, eligible: bool, due: bool) -> Pause:
        self.number += 1
        return pause(self.number, eligible=eligible, expires_at=NOW + 60.0 * self.number if due else None)

    def take(self, batch: Batch) -> None:
        apply_edits(self.mirror, self.requests.apply(batch, reading=self.reading))

    def nothing_listed(self) -> None:
        """Nobody reads anything: what is held back would wait unseen."""
        if not self.listed and not self.gone:
            self.listed = set(self.open)

    @initialize(count=st.integers(0, 5))
    def start(self, count: int) -> None:
        first = [self.fresh(True, number % 2 == 0) for number in range(count)]
        self.open = {item.id: item for item in first}
        self.listed = set(self.open)
        self.take(Batch(opened=first, reset=True, total=count))

    @rule(kinds=st.lists(st.tuples(st.booleans(), st.booleans()), max_size=4))
    def arrive(self, kinds: list[tuple[bool, bool]]) -> None:
        fresh = [self.fresh(*kind) for kind in kinds]
        self.open |= {item.id: item for item in fresh}
        self.listed |= {item.id for item in fresh if is_due(item)}
        self.nothing_listed()
        self.take(Batch(opened=fresh, total=len(self.open)))

    @rule(data=st.data())
    def change(self, data: st.DataObject) -> None:
        if self.open:
            chosen = data.draw(st.sampled_from(sorted(self.open)))
            self.open[chosen] = replace(self.open[chosen], question=f"Changed {data.draw(st.integers(0, 9))}?")
            self.take(Batch(opened=[self.open[chosen]]))

    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        if self.open:
            chosen = data.draw(st.lists(st.sampled_from(sorted(self.open)), unique=True, max_size=3))
            for pause_id in chosen:
                del self.open[pause_id]
                if pause_id in self.listed:
                    self.listed.discard(pause_id)
                    if pause_id == self.reading:
                        self.gone.add(pause_id)
            self.nothing_listed()
            self.take(Batch(closed=chosen, total=len(self.open)))

    @rule()
    def show_new(self) -> None:
        self.listed = set(self.open)
        apply_edits(self.mirror, self.requests.show_new())

    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        if not self.listed:
            return
        before, self.reading = self.reading, data.draw(st.sampled_from(sorted(self.listed)))
        if before is not None and before != self.reading:
            self.gone.discard(before)
            self.nothing_listed()
            apply_edits(self.mirror, self.requests.leave(before))
        apply_edits(self.mirror, self.requests.set_new(self.reading, new=False))

    @rule(data=st.data(), mark=st.sampled_from(["", "draft", "held", "failed"]))
    def mark(self, data: st.DataObject, mark: Mark) -> None:
        if self.open:
            chosen = data.draw(st.sampled_from(sorted(self.open)))
            apply_edits(self.mirror, self.requests.mark(chosen, mark))

    @invariant()
    def edits_add_up(self) -> None:
        assert self.mirror == list(self.requests.rows)

    @invariant()
    def counts_are_what_is_there(self) -> None:
        assert {entry.id for entry in entries(self.requests)} == self.listed | self.gone
        assert self.requests.listed == len(self.listed)
        assert self.requests.new_count == len(set(self.open) - self.listed)
        numbers = [self.requests.number_of(entry.id) for entry in entries(self.requests)]
        assert numbers == list(range(1, len(numbers) + 1))

    @invariant()
    def heads_lead_groups_in_order(self) -> None:
        rows = self.requests.rows
        heads = [row.group for row in rows if isinstance(row, Header)]
        assert heads == [group for group in ("due", "waiting", "others") if group in heads]
        group = None
        for row in rows:
            if isinstance(row, Header):
                group = row.group
            else:
                assert row.group == group
        for name in heads:
            keys = [
                (entry.pause.expires_at or 0.0) if name == "due" else -entry.pause.asked_at
                for entry in entries(self.requests)
                if entry.group == name
            ]
            assert keys == sorted(keys)

    @invariant()
    def what_is_shown_is_current(self) -> None:
        for entry in entries(self.requests):
            if not entry.gone:
                assert entry.pause.question == self.open[entry.id].question


TestRequestsMachine = RequestsMachine.TestCase
TestRequestsMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
