"""The list as a view: it never moves under the reader, is cheap when it is long, and shows every text literally."""

from __future__ import annotations

import gc
import random

import pytest
from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtTest import QAbstractItemModelTester, QSignalSpy, QTest
from pytestqt.qtbot import QtBot

from inbox_app.gateway.base import Batch, Pause, PausePage, Run
from inbox_app.models.inbox_table import InboxTable
from inbox_app.models.roles import ItemRole
from inbox_app.models.run_table import RunTable
from inbox_app.state.requests import Entry, Mark, Requests
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ROW_GROUP, ROW_NORMAL
from inbox_app.views.inbox_pane import InboxPane
from inbox_app.widgets.row_delegate import HeadLook, RowLook
from tests.support.builders import NOW, pause, run

STRICT = QAbstractItemModelTester.FailureReportingMode.Fatal


def clock() -> float:
    return NOW


class Listed:
    """A list pane over the state, without a window."""

    def __init__(self, theme: Theme, qtbot: QtBot, pauses: list[Pause], *, cursor: str | None = None) -> None:
        self.pane = InboxPane(theme)
        qtbot.addWidget(self.pane)
        self.requests = Requests(clock)
        self.model = InboxTable(self.pane, clock)
        self.tester = QAbstractItemModelTester(self.model, STRICT)
        self.pane.table.setModel(self.model)
        self.pane.resize(360, 500)
        self.take(Batch(opened=pauses, reset=True, total=len(pauses), next_cursor=cursor))
        self.pane.show_waiting(len(pauses), len(pauses), 0, filled=bool(pauses))
        with qtbot.waitActive(self.pane):
            self.pane.show()
            self.pane.activateWindow()

    def take(self, batch: Batch) -> None:
        self.model.apply(self.requests.apply(batch, reading=self.pane.current_id))

    def select(self, pause_id: str) -> None:
        row = self.model.find(pause_id)
        assert row is not None
        self.pane.table.select_row(row)

    def looks(self) -> list[RowLook | HeadLook]:
        return [self.model.index(row, 0).data(ItemRole.LOOK) for row in range(self.model.rowCount())]


def test_heads_are_low_rows_that_cannot_be_selected(theme: Theme, qtbot: QtBot) -> None:
    listed = Listed(theme, qtbot, [pause(1), pause(2), pause(3, eligible=False)])
    table = listed.pane.table
    heads = [row for row in range(listed.model.rowCount()) if listed.model.is_head(row)]
    assert [table.rowHeight(row) for row in heads] == [0, ROW_GROUP]  # the first stands above the rows
    assert table.rowHeight(1) == ROW_NORMAL
    assert all(listed.model.flags(listed.model.index(row, 0)) == Qt.ItemFlag.NoItemFlags for row in heads)
    for _ in range(6):
        qtbot.keyClick(table, Qt.Key.Key_Down)
        assert table.current_row not in heads
    assert listed.pane.current_id == pause(3).id


def test_rows_keep_their_heights_when_groups_come_and_go(theme: Theme, qtbot: QtBot) -> None:
    first = pause(1, expires_at=NOW + 60)
    listed = Listed(theme, qtbot, [first, pause(2)])
    listed.take(Batch(closed=[first.id]))
    listed.take(Batch(opened=[pause(3, eligible=False)]))
    listed.model.apply(listed.requests.show_new())
    two, three = [0, ROW_NORMAL, ROW_GROUP, ROW_NORMAL], [0, *[ROW_NORMAL, ROW_GROUP] * 2, ROW_NORMAL]
    assert heights(listed) == two
    listed.take(Batch(opened=[pause(4, expires_at=NOW + 60)]))
    listed.model.apply(listed.requests.show_new())
    assert heights(listed) == three
    listed.take(Batch(closed=[pause(4).id]))
    assert heights(listed) == two


def heights(listed: Listed) -> list[int]:
    return [listed.pane.table.rowHeight(row) for row in range(listed.model.rowCount())]


def test_the_head_at_the_top_is_that_of_the_rows_below_it(theme: Theme, qtbot: QtBot) -> None:
    due = [pause(number, expires_at=NOW + 60 * number) for number in range(1, 6)]
    listed = Listed(theme, qtbot, [*due, *(pause(number) for number in range(10, 40))])
    table = listed.pane.table

    def top() -> str:
        look = table.top_head()
        return look.title if look else ""

    assert (top(), table.rowViewportPosition(1)) == ("Due soon", 0)
    bar = table.verticalScrollBar()
    bar.setValue(5 * ROW_NORMAL)
    assert top() == "Due soon"  # the head of the next group is seen below
    bar.setValue(5 * ROW_NORMAL + ROW_GROUP)
    assert top() == "Waiting"
    bar.setValue(0)
    before = table.rowViewportPosition(1)
    listed.pane.show_waiting(36, 35, 1, filled=True)
    assert table.rowViewportPosition(1) == before
    listed.take(Batch(opened=[pause(10)], reset=True))
    assert top() == "Waiting"


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_keep_selection_scroll_and_order(theme: Theme, qtbot: QtBot, seed: int) -> None:
    """Rows come above and below, are closed and changed: what is read stays where it is on the screen."""
    dice = random.Random(seed)
    start = [pause(number, asked_at=NOW - number) for number in range(100, 200)]
    listed = Listed(theme, qtbot, start)
    table = listed.pane.table
    read = start[50].id
    listed.select(read)
    table.scrollTo(table.currentIndex(), table.ScrollHint.PositionAtCenter)
    place = table.visualRect(table.currentIndex()).top()
    alive = {item.id for item in start}
    for step in range(60):
        fresh = [pause(1000 + step * 5 + number, asked_at=NOW - dice.randrange(1, 400)) for number in range(3)]
        gone = dice.sample(sorted(alive - {read}), k=1)
        alive -= set(gone)
        listed.take(Batch(opened=fresh, closed=gone))
        if step % 4 == 0:
            listed.model.apply(listed.requests.show_new())
            alive |= {row.id for row in listed.model.rows if isinstance(row, Entry)}
        assert listed.pane.current_id == read
        assert table.visualRect(table.currentIndex()).top() == place
    assert [row.id for row in listed.model.rows if isinstance(row, Entry)] == [
        row.id for row in listed.requests.rows if isinstance(row, Entry)
    ]


def test_a_question_that_arrives_takes_neither_focus_nor_selection(theme: Theme, qtbot: QtBot) -> None:
    listed = Listed(theme, qtbot, [pause(1), pause(2)])
    table = listed.pane.table
    table.setFocus()
    table.move_current(1)
    before = listed.pane.current_id
    rows = listed.model.rowCount()
    listed.take(Batch(opened=[pause(50), pause(51)]))
    assert listed.model.rowCount() == rows
    assert listed.pane.current_id == before
    assert table.hasFocus()


def test_enter_opens_and_space_and_letters_do_nothing(theme: Theme, qtbot: QtBot) -> None:
    listed = Listed(theme, qtbot, [pause(1), pause(2)])
    table = listed.pane.table
    table.move_current(1)
    opened, before = QSignalSpy(table.opened), listed.pane.current_id
    qtbot.keyClick(table, Qt.Key.Key_End)
    assert listed.pane.current_id == pause(2).id
    qtbot.keyClick(table, Qt.Key.Key_Home)
    assert listed.pane.current_id == pause(1).id
    for key in "refund 1":
        QTest.keyClicks(table, key)
    assert listed.pane.current_id == before
    assert opened.count() == 0
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert opened.count() == 1


@pytest.mark.parametrize("text", ["<b>Refund?</b>", "<img src='file:///etc/passwd'>", "Pay & go &amp; stop", "a\n\nb"])
def test_a_question_is_listed_literally_in_one_line(theme: Theme, qtbot: QtBot, text: str) -> None:
    listed = Listed(theme, qtbot, [pause(1, question=text)])
    look = listed.looks()[1]
    assert isinstance(look, RowLook)
    assert look.title == text.split("\n")[0]
    assert text.split("\n")[0] in listed.model.index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)


def test_hidden_characters_of_a_question_show(theme: Theme, qtbot: QtBot) -> None:
    listed = Listed(theme, qtbot, [pause(1, question="Pay \u202eko\u200b?")])
    look = listed.looks()[1]
    assert isinstance(look, RowLook)
    assert "U+202E" in look.title
    assert "U+200B" in look.title


@pytest.mark.parametrize(
    ("asked", "mark", "word", "icon"),
    [
        (pause(1), "", "New", "dot"),
        (pause(1), "draft", "Draft", "pencil"),
        (pause(1), "failed", "Failed to send", "triangle-alert"),
        (pause(1), "held", "Held 5s", "undo-2"),
        (pause(1), "sending", "Sending", "arrow-up-right"),
        (pause(1), "answered", "Answered", "circle-check"),
        (pause(1, eligible=False), "", "Not yours", "lock"),
        (pause(1, expires_at=NOW + 60), "draft", "Draft", "clock"),
        (pause(1, input_type="date"), "", "Unknown type", "dot"),
        (pause(1, kind="attention"), "", "Needs attention", "triangle-alert"),
    ],
)
def test_a_row_says_its_state_in_one_word_and_one_shape(
    theme: Theme, qtbot: QtBot, asked: Pause, mark: Mark, word: str, icon: str
) -> None:
    listed = Listed(theme, qtbot, [asked])
    listed.model.apply(listed.requests.mark(asked.id, mark, NOW + 4.2))
    look = listed.looks()[1]
    assert isinstance(look, RowLook)
    assert (look.word, look.icon) == (word, icon)


@pytest.mark.parametrize(
    ("outcome", "mark", "word", "icon"),
    [
        ("answered", "", "Elsewhere", "user-x"),
        ("answered", "answered", "Answered", "circle-check"),
        ("answered", "sending", "Sending", "arrow-up-right"),
        ("refused", "", "Refused", "ban"),
        ("refused", "answered", "Refused", "ban"),
        ("expired", "draft", "Expired", "timer-off"),
        ("cancelled", "sending", "Cancelled", "circle-x"),
        ("superseded", "", "Superseded", "copy-minus"),
        ("", "", "No longer open", "circle-minus"),
    ],
)
def test_a_closed_question_says_how_it_ended(
    theme: Theme, qtbot: QtBot, outcome: str, mark: Mark, word: str, icon: str
) -> None:
    asked = pause(1)
    listed = Listed(theme, qtbot, [asked])
    listed.model.apply(listed.requests.mark(asked.id, mark))
    outcomes = {asked.id: outcome} if outcome else {}
    listed.model.apply(listed.requests.apply(Batch(closed=[asked.id], outcomes=outcomes), reading=asked.id))
    look = listed.looks()[1]
    assert isinstance(look, RowLook)
    assert (look.word, look.icon) == (word, icon)


def test_a_deadline_replaces_the_age(theme: Theme, qtbot: QtBot) -> None:
    listed = Listed(
        theme, qtbot, [pause(1, expires_at=NOW + 18 * 60), pause(2, expires_at=NOW - 60), pause(3, asked_at=NOW - 840)]
    )
    assert [look.when for look in listed.looks() if isinstance(look, RowLook)] == ["1m over", "18m left", "14m"]


def test_more_rows_are_fetched_at_the_end_only(theme: Theme, qtbot: QtBot) -> None:
    listed = Listed(theme, qtbot, [pause(number) for number in range(1, 101)], cursor="100")
    calls: list[int] = []

    def fetch() -> None:
        calls.append(1)
        page = [pause(number) for number in range(101, 151)]
        listed.model.apply(listed.requests.append(PausePage(page, 150, None)))

    listed.model.more = lambda: listed.requests.next_cursor is not None
    listed.model.fetch = fetch
    assert calls == []
    listed.pane.table.scrollToBottom()
    qtbot.waitUntil(lambda: calls == [1])
    assert listed.requests.listed == 150


def test_ten_thousand_rows_ask_only_for_what_is_seen(theme: Theme, qtbot: QtBot) -> None:
    """An insert, a change and a scroll of a long list cost the rows on the screen, not the list."""
    listed = Listed(theme, qtbot, [pause(number, asked_at=NOW - number) for number in range(1, 10_001)])
    table = listed.pane.table
    listed.tester.deleteLater()
    qtbot.wait(1)
    asked = Counted(listed.model)
    table.verticalScrollBar().setValue(200_000)
    table.viewport().grab()
    listed.model.apply(listed.requests.set_new(pause(5000).id, new=False))
    listed.take(Batch(opened=[pause(20_000, asked_at=NOW)]))
    listed.model.apply(listed.requests.show_new())
    table.viewport().grab()
    assert 0 < asked.count < 1000


class Counted:
    """How often the look of a row was asked for."""

    def __init__(self, model: InboxTable) -> None:
        self.count = 0
        look = model.look

        def counted(row: object) -> object:
            self.count += 1
            return look(row)  # pyright: ignore[reportArgumentType]

        model.look = counted  # pyright: ignore[reportAttributeAccessIssue]


def test_history_is_latest_first_and_grows_at_the_top(theme: Theme, qtbot: QtBot) -> None:
    pane = InboxPane(theme)
    qtbot.addWidget(pane)
    model = RunTable(pane, clock)
    tester = QAbstractItemModelTester(model, STRICT)
    model.put([run(1, ended_at=NOW - 30), run(2, ended_at=NOW - 10)])
    model.put([run(3, ended_at=NOW - 20), run(4, status="running"), run(1, ended_at=NOW - 5, status="failed")])
    assert listed_runs(model) == ["going", "4", "ended", "1", "2", "3"]
    assert "Failed" in model.index(3, 0).data()
    tester.deleteLater()


def listed_runs(model: RunTable) -> list[str]:
    return [row.id[-1] if isinstance(row, Run) else row.group for row in model.rows]


def test_a_run_that_goes_on_is_listed_until_it_asks_or_ends(theme: Theme, qtbot: QtBot) -> None:
    pane = InboxPane(theme)
    qtbot.addWidget(pane)
    model = RunTable(pane, clock)
    tester = QAbstractItemModelTester(model, STRICT)
    words = ("running", "sleeping", "diverged", "needs-attention", "needs-attention", "awaiting-input")
    going = [run(number, status=word) for number, word in enumerate(words, 1)]
    model.put(going, asked={going[4].id})
    assert listed_runs(model) == ["going", "1", "2", "3", "4"]
    assert [model.data(model.index(at, 0)).split(", ")[1] for at in range(1, 5)] == [
        "Running", "Sleeping", "Diverged", "Needs attention",
    ]  # fmt: skip
    model.put([run(2, status="awaiting-input"), run(3, ended_at=NOW + 1)])
    assert listed_runs(model) == ["going", "1", "4", "ended", "3"]
    tester.deleteLater()


def test_the_run_being_read_stays_where_it_is_until_it_is_left(theme: Theme, qtbot: QtBot) -> None:
    pane = InboxPane(theme)
    qtbot.addWidget(pane)
    model = RunTable(pane, clock)
    read = run(1, status="running")
    model.put([read, run(2, ended_at=NOW - 5)])
    model.put([run(1, ended_at=NOW + 1)], reading=read.id)
    assert listed_runs(model) == ["going", "1", "ended", "2"]
    assert "Completed" in model.index(1, 0).data()
    model.put(())
    assert listed_runs(model) == ["ended", "1", "2"]


def test_runs_of_one_tool_are_told_apart_by_their_input(theme: Theme, qtbot: QtBot) -> None:
    pane = InboxPane(theme)
    qtbot.addWidget(pane)
    model = RunTable(pane, clock)
    model.put([run(1, input={"order": "7731", "amount": 120, "note": "a\u200bb"}), run(2, input=["x"]), run(3)])
    looks = [model.data(model.index(at, 0), ItemRole.LOOK) for at in range(1, 4)]
    assert [look.detail for look in looks] == [
        'local:maria · order: "7731", amount: 120, note: "a⟨U+200B⟩b"',
        'local:maria · ["x"]',
        "local:maria",
    ]


def test_models_survive_collection_and_odd_questions(theme: Theme, qtbot: QtBot) -> None:
    odd = [
        pause(1, question="", path=(), tool=""),
        pause(2, question="\u0000\ud800", asked_at=float(2**40)),
        pause(3, question="x" * 200_000, expires_at=0.0),
        pause(4, input_type="", requested_by=""),
    ]
    listed = Listed(theme, qtbot, odd)
    gc.collect()
    assert all(look is not None for look in listed.looks())
    assert isinstance(listed.model, QAbstractItemModel)
    assert not listed.pane.table.viewport().grab().isNull()
