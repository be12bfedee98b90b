"""The whole window against a gateway that tests control: what is shown, what keys do, what is sent and what is not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QSplitter,
    QWidget,
)
from pytestqt.qtbot import QtBot

from inbox_app.commands.base import ViewName
from inbox_app.commands.registry import COMMANDS
from inbox_app.gateway.base import Batch, Gateway, Pause
from inbox_app.state.drafts import Drafts
from inbox_app.state.memory import Memory
from inbox_app.state.outbox import Outbox
from inbox_app.theme.theme import Theme
from inbox_app.views.desk import Desk
from inbox_app.views.main_window import MainWindow
from inbox_app.views.request_head import RequestHead
from inbox_app.views.request_pane import RequestPane
from inbox_app.widgets.dialogs import ConfirmDialog, KeysDialog
from inbox_app.widgets.key_hint import KeyHint
from inbox_app.widgets.plain_label import PlainLabel
from tests.support import scenes
from tests.support.builders import NOW, decision, detail, pause, run
from tests.support.drivers import Wheel, controls, press, turn_until
from tests.support.fake_gateway import FakeGateway

Start = Callable[..., "Scene"]


STARTED = time.monotonic()


def clock() -> float:
    """The time of the scenes, going on."""
    return NOW + time.monotonic() - STARTED


def fast_clock() -> float:
    """Cards wake twenty times as fast."""
    return time.monotonic() * 20


class Scene:
    """A window on the screen with everything behind it."""

    def __init__(
        self, theme: Theme, qtbot: QtBot, wheel: Wheel, gateway: FakeGateway, undo_seconds: float, memory: Memory | None
    ) -> None:
        self.gateway = gateway
        self.window = MainWindow(theme)
        self.drafts = Drafts(None)
        self.memory = memory or Memory(None)
        reading = RequestPane(theme, clock=clock, steady_clock=fast_clock)
        self.desk = Desk(
            self.window,
            reading,
            theme,
            wheel.tasks.spawn,
            self.drafts,
            Outbox(undo_seconds),
            memory=self.memory,
            clock=clock,
        )
        wheel.tasks.on_error = self.desk.report
        with qtbot.waitActive(self.window):
            self.window.show()
            self.window.activateWindow()
        self.desk.connect_to(self.connect)
        self.connects = 0

    def wait_awake(self, qtbot: QtBot) -> None:
        qtbot.waitUntil(lambda: not any(text.startswith("Reading") for text in texts(self.window.reading)))

    def connect(self) -> Gateway:
        self.connects += 1
        return self.gateway

    @property
    def table(self) -> QWidget:
        return self.window.list_pane.table

    @property
    def current(self) -> str | None:
        return self.window.list_pane.current_id

    def press(self, *keys: Qt.Key | str, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        press(self.window, *keys, modifier=modifier)


@pytest.fixture
def start(theme: Theme, qtbot: QtBot, wheel: Wheel) -> Iterator[Start]:
    opened: list[Scene] = []

    def make(
        pauses: Sequence[Pause] = (),
        *,
        undo_seconds: float = 5.0,
        wait: bool = True,
        gateway: FakeGateway | None = None,
        memory: Memory | None = None,
    ) -> Scene:
        scene = Scene(theme, qtbot, wheel, gateway or FakeGateway(pauses, page=100), undo_seconds, memory)
        opened.append(scene)
        if wait:
            qtbot.waitUntil(lambda: scene.window.inbox.table.model().rowCount() > 0)
        return scene

    yield make
    for scene in opened:
        closing = wheel.tasks.spawn(scene.desk.close(), "close")
        turn_until(closing.done)
        scene.window.close()


def test_what_waits_is_listed_counted_and_the_first_is_shown(start: Start, qtbot: QtBot) -> None:
    scene = start(scenes.waiting())
    assert scene.window.sidebar.findChildren(QAbstractButton)[0].accessibleName() == "Inbox 11"
    first = scenes.waiting()[0]
    assert scene.desk.pause is not None
    assert scene.desk.pause.id == first.id
    assert scene.gateway.followed[-1] == first.run_id
    assert scene.table.hasFocus()


def test_a_runtime_that_stops_leaves_the_list_and_says_so(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1), pause(2)])
    scene.gateway.push(None)
    qtbot.waitUntil(lambda: "1 unreachable" in texts(scene.window))
    assert scene.window.inbox.table.isVisible()


def test_keys_move_open_and_leave(start: Start, qtbot: QtBot) -> None:
    scene = start(scenes.waiting())
    ids = [item.id for item in scenes.waiting()]
    scene.press("j")
    assert scene.current == ids[1]
    scene.press(Qt.Key.Key_Down)
    assert scene.current == ids[2]
    scene.press("k")
    assert scene.current == ids[1]
    scene.press(Qt.Key.Key_Return)
    assert not scene.table.hasFocus()
    scene.press(Qt.Key.Key_Escape)
    assert scene.table.hasFocus()
    scene.press("g", "h")
    assert scene.desk.view == "history"
    scene.press("g", "i")
    assert scene.desk.view == "inbox"
    assert scene.current == ids[1]


def test_letters_typed_into_a_field_are_text(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1, input_type="text"), pause(2)])
    field = next(iter(fields(scene.window.reading)))
    field.setFocus()
    before, view = scene.current, scene.desk.view
    scene.press("jk.gh?zyn1")
    typed = field.text() if isinstance(field, QLineEdit) else field.toPlainText()
    assert typed == "jk.gh?zyn1"
    assert (scene.current, scene.desk.view) == (before, view)


def test_new_items_wait_for_the_dot_and_move_nothing(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1), pause(2)])
    before, focused = scene.current, QApplication.focusWidget()
    scene.gateway.push(Batch(opened=[pause(50), pause(51), pause(52)], total=5))
    qtbot.waitUntil(lambda: scene.desk.new_count == 3)
    assert "3 new items" in names(scene.window.inbox)
    assert scene.current == before
    assert QApplication.focusWidget() is focused
    scene.press(".")
    assert scene.desk.new_count == 0
    assert scene.window.inbox.table.model().rowCount() == 6
    assert scene.current == before


def test_what_is_due_soon_comes_at_once_and_what_expired_unseen_is_told(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1), pause(2)])
    before, focused = scene.current, QApplication.focusWidget()
    near = [pause(number, question=f"Stop {number}?", expires_at=clock() + 9) for number in (50, 51, 52)]
    scene.gateway.push(Batch(opened=near, total=5))
    qtbot.waitUntil(lambda: scene.window.inbox.table.model().rowCount() == 7)
    assert scene.desk.new_count == 0
    assert scene.current == before
    assert QApplication.focusWidget() is focused
    scene.gateway.push(Batch(closed=[near[0].id], outcomes={near[0].id: "expired"}, total=4))
    qtbot.waitUntil(lambda: "A question expired before you opened it." in texts(scene.window.notice))
    scene.desk._on_go_to_pause(near[1].id)
    ended = {near[1].id: "expired", near[2].id: "answered"}
    scene.gateway.push(Batch(closed=list(ended), outcomes=ended, total=2))
    qtbot.waitUntil(lambda: scene.window.inbox.table.model().rowCount() == 5)
    assert "A question expired before you opened it." in texts(scene.window.notice)
    last = pause(53, question="Last?", expires_at=clock() + 9)
    scene.gateway.push(Batch(opened=[last], total=3))
    scene.gateway.push(Batch(closed=[last.id], outcomes={last.id: "expired"}, total=2))
    qtbot.waitUntil(lambda: "2 questions expired before you opened them." in texts(scene.window.notice))
    assert any(text.startswith("“Last?”") for text in texts(scene.window.notice))


def test_a_batch_while_typing_changes_neither_text_nor_caret(start: Start, qtbot: QtBot) -> None:
    asked = pause(1, input_type="text")
    scene = start([asked, pause(2)])
    field = next(iter(fields(scene.window.reading)))
    field.setFocus()
    scene.press("half a sen")
    scene.gateway.push(Batch(opened=[pause(60), pause(61)], closed=[pause(2).id], total=3))
    qtbot.waitUntil(lambda: scene.desk.new_count == 2)
    scene.press("tence")
    assert (field.text() if isinstance(field, QLineEdit) else field.toPlainText()) == "half a sentence"
    assert field.hasFocus()


def test_a_draft_marks_its_row_and_comes_back(start: Start, qtbot: QtBot) -> None:
    asked = pause(1, input_type="text")
    scene = start([asked, pause(2)])
    next(iter(fields(scene.window.reading))).setFocus()
    scene.press("not yet")
    qtbot.waitUntil(lambda: scene.drafts.get(asked.id) is not None)
    assert "Draft" in scene.window.inbox.table.model().index(1, 0).data()
    scene.press(Qt.Key.Key_Escape, Qt.Key.Key_Escape, "j")
    assert scene.desk.pause is not None
    assert scene.desk.pause.id != asked.id
    scene.press("k")
    field = next(iter(fields(scene.window.reading)))
    assert (field.text() if isinstance(field, QLineEdit) else field.toPlainText()) == "not yet"


def test_an_answer_is_held_sent_once_and_leaves_the_list_when_left(start: Start, qtbot: QtBot) -> None:
    asked = pause(1)
    scene = start([asked, pause(2)], undo_seconds=0.0)
    scene.wait_awake(qtbot)
    scene.press("y")
    qtbot.waitUntil(lambda: scene.desk.can_send)
    scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: len(scene.gateway.answers) == 1)
    answer = scene.gateway.answers[0]
    assert (answer.run_id, answer.pause_id, answer.value) == (asked.run_id, asked.id, "yes")
    scene.gateway.push(Batch(closed=[asked.id], total=1))
    qtbot.waitUntil(lambda: "Answered" in scene.window.inbox.table.model().index(1, 0).data())
    qtbot.waitUntil(lambda: "1 waiting" in texts(scene.window.inbox))
    scene.press("j")
    qtbot.waitUntil(lambda: scene.window.inbox.table.model().rowCount() == 2)
    assert scene.current == pause(2).id
    assert len(scene.gateway.answers) == 1


def test_undo_takes_back_also_from_another_question(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1), pause(2)], undo_seconds=30.0)
    scene.wait_awake(qtbot)
    scene.press("n")
    qtbot.waitUntil(lambda: scene.desk.can_send)
    scene.press(Qt.Key.Key_Return, modifier=Qt.KeyboardModifier.ControlModifier)
    assert scene.desk.can_undo
    assert not scene.window.toast.isVisible()
    scene.press("j")
    qtbot.waitUntil(scene.window.toast.isVisible)
    scene.press("z")
    assert not scene.window.toast.isVisible()
    assert not scene.desk.can_undo
    assert scene.gateway.answers == []
    assert "Draft" in scene.window.inbox.table.model().index(1, 0).data()


def test_a_question_answered_elsewhere_stays_readable(start: Start, qtbot: QtBot) -> None:
    asked = pause(1)
    gateway = FakeGateway([asked, pause(2)])
    scene = start(gateway=gateway)
    gateway.details[asked.run_id] = detail(
        run(id=asked.run_id, status="running"), decisions=[decision(asked.id, value=True, by="local:tom")]
    )
    gateway.push(Batch(closed=[asked.id], total=1))
    qtbot.waitUntil(lambda: "No longer open" in scene.window.inbox.table.model().index(1, 0).data())
    qtbot.waitUntil(lambda: any("Answered by" in text and "tom" in text for text in texts(scene.window.reading)))
    assert scene.current == asked.id


def test_a_new_start_of_the_runtime_keeps_the_question_being_read(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1), pause(2), pause(3)])
    scene.press("j")
    before = scene.current
    scene.gateway.push(Batch(opened=[pause(9), pause(3), pause(2), pause(1)], reset=True, total=4))
    qtbot.waitUntil(lambda: scene.window.inbox.table.model().rowCount() == 5)
    assert scene.current == before
    assert scene.desk.pause is not None
    assert scene.desk.pause.id == before


def test_a_run_is_cancelled_only_by_its_button(start: Start, qtbot: QtBot) -> None:
    asked = pause(1)
    scene = start([asked, pause(2)])
    scene.press(Qt.Key.Key_X, modifier=Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    dialog = scene.window.findChild(ConfirmDialog)
    assert isinstance(dialog, ConfirmDialog)
    said = " ".join(texts(dialog))
    assert all(part in said for part in (asked.run_id, asked.path[0], asked.question))
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert scene.gateway.cancelled == []
    button = next(button for button in dialog.findChildren(QPushButton) if button.text() == "Cancel the run")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: scene.gateway.cancelled == [asked.run_id])


def test_no_key_but_the_send_key_sends(start: Start, qtbot: QtBot) -> None:
    """Enter, Space and every single letter, on every control, with a pick made and the card armed."""
    scene = start([pause(1), pause(2), pause(3, input_type="text")], undo_seconds=0.0)
    scene.wait_awake(qtbot)
    scene.press("y")
    qtbot.waitUntil(lambda: scene.desk.can_send)
    targets = [widget for widget in controls(scene.window) if widget.isVisible() and not is_send(widget)]
    assert len(targets) > 5
    for target in targets:
        target.setFocus()
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            QTest.keyClick(target, key)
            close_dialogs(scene.window)
    for letter in "abcdefhilmoprsuvwx0123456789-=,;'":
        scene.press(letter)
        close_dialogs(scene.window)
    qtbot.wait(50)
    assert scene.gateway.answers == []


def test_a_key_for_the_tree_opens_the_page_it_is_on(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1), pause(2)])
    scene.window.resize(800, 600)
    qtbot.waitUntil(lambda: not scene.window.reading.isVisible())
    scene.press("t")
    tree = scene.window.reading.calls.view
    assert tree.isVisible()
    assert tree.hasFocus()
    scene.press(Qt.Key.Key_Escape)
    assert scene.table.isVisible()
    assert scene.table.hasFocus()
    scene.press(Qt.Key.Key_Return)
    assert scene.window.reading.isVisible()


def test_the_keys_never_go_to_what_is_out_of_sight(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1), pause(2)])
    assert not scene.window.reading.calls.view.isVisible()
    scene.window.reading.calls.view.setFocus()
    assert scene.table.hasFocus()
    scene.window.resize(800, 600)
    scene.press(Qt.Key.Key_Return)
    scene.window.inbox.table.setFocus()
    focused = QApplication.focusWidget()
    assert focused is not None
    assert focused.isVisible()
    assert scene.window.reading.isVisible()


def test_the_place_of_a_question_that_is_closed_is_not_told(start: Start, qtbot: QtBot) -> None:
    asked = [pause(1), pause(2), pause(3)]
    scene = start(asked)
    scene.window.resize(800, 600)
    scene.press("j", "j", Qt.Key.Key_Return)
    assert "3 of 3 waiting" in texts(scene.window.page_bar)
    assert scene.current is not None
    scene.gateway.push(Batch(closed=[scene.current], outcomes={scene.current: "answered"}, total=2))
    qtbot.waitUntil(lambda: "answered, 2 waiting" in texts(scene.window.page_bar))
    scene.press("k")
    qtbot.waitUntil(lambda: "2 of 2 waiting" in texts(scene.window.page_bar))


def test_a_narrow_window_has_two_pages_and_a_way_back(start: Start, qtbot: QtBot) -> None:
    scene = start(scenes.waiting())
    window = scene.window
    window.resize(800, 600)
    assert window.inbox.isVisible()
    assert not window.reading.isVisible()
    scene.press(Qt.Key.Key_Return)
    assert window.reading.isVisible()
    assert not window.inbox.isVisible()
    assert "1 of 11 waiting" in texts(window.page_bar)
    focused = QApplication.focusWidget()
    assert focused is not None
    assert focused.isVisible()
    assert not isinstance(focused, QPushButton)
    scene.press("j")
    assert "2 of 11 waiting" in texts(window.page_bar)
    scene.press(Qt.Key.Key_Escape)
    assert window.inbox.isVisible()
    assert scene.table.hasFocus()
    window.resize(1280, 800)
    assert window.inbox.isVisible()
    assert window.reading.isVisible()


def test_a_question_that_is_closed_waits_no_longer(start: Start, qtbot: QtBot) -> None:
    asked = pause(1, expires_at=NOW + 3600)
    scene = start([asked, pause(2)])
    scene.press("j")
    scene.press("k")
    assert {"Waiting", "Due"} <= set(texts(scene.window.reading))
    scene.gateway.push(Batch(closed=[asked.id], outcomes={asked.id: "answered"}, total=1))
    qtbot.waitUntil(lambda: "Waited" in texts(scene.window.reading))
    assert not {"Waiting", "Due"} & set(texts(scene.window.reading))
    scene.press("j")
    assert "Waiting" in texts(scene.window.reading)


def test_in_a_low_window_nothing_of_the_head_is_cut_through(start: Start, qtbot: QtBot) -> None:
    long = "Should the nightly job of the eu-west region start again from its last checkpoint? " * 3
    scene = start([pause(1, question=long, expires_at=NOW + 3600), pause(2)])
    scene.window.setMinimumSize(640, 400)
    scene.window.resize(640, 400)
    scene.press(Qt.Key.Key_Return)
    head = scene.window.reading.findChild(RequestHead)
    assert head is not None
    qtbot.waitUntil(lambda: head.height() >= head.minimumSizeHint().height() > 0 and head.width() > 500)
    shown = [label for label in labels(head) if label.isVisible()]
    assert all(label.height() >= label.fontMetrics().ascent() for label in shown)
    assert all(not first.geometry().intersects(second.geometry()) for first, second in combinations(shown, 2))
    assert any("Waiting" in label.text() and "Asked by" in label.text() for label in shown)
    assert "Waiting" not in texts(head)
    assert head.is_title_cut
    scene.window.resize(800, 700)
    qtbot.waitUntil(lambda: "Waiting" in texts(head))
    assert not any("Asked by refund_payment" in text for text in texts(head))


def test_the_theme_is_chosen_from_its_menu_and_remembered(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1)])
    menu = next(menu for menu in scene.window.findChildren(QMenu) if menu.title() == "&Theme")
    names = [action.text() for action in menu.actions()]
    assert names == ["As the system", "Light", "Dark", "High contrast"]
    menu.actions()[2].trigger()
    assert scene.desk.theme == scene.memory.theme == "dark"
    assert [action.isChecked() for action in menu.actions()] == [False, False, True, False]


def test_a_question_that_was_read_is_not_new_after_a_restart(start: Start, qtbot: QtBot) -> None:
    first, second = pause(1), pause(2)
    scene = start([first, second])
    assert (scene.memory.is_read(first.id), scene.memory.is_read(second.id)) == (True, False)
    again = start([first, second], memory=scene.memory)
    table = again.window.inbox.table.model()
    assert [table.index(row, 0).data().split(", ")[1] for row in (1, 2)] == ["Read", "New"]
    again.gateway.push(Batch(closed=[first.id], total=1))
    qtbot.waitUntil(lambda: not again.memory.is_read(first.id))


def test_help_lists_every_command_that_has_keys(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1)])
    scene.press("?")
    dialog = scene.window.findChild(KeysDialog)
    assert isinstance(dialog, KeysDialog)
    shown = texts(dialog)
    assert all(command.translated() in shown for command in COMMANDS if command.shortcuts)
    assert {"In a list", "In the call tree", "Next, previous find"} <= set(shown)
    hints = {hint.accessibleName() for hint in dialog.findChildren(KeyHint)}
    assert {"↑", "↓", "F", "N", "Shift+N"} <= hints
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_commands_have_titles_ids_and_no_shared_keys() -> None:
    assert len({command.id for command in COMMANDS}) == len(COMMANDS)
    assert all(command.title for command in COMMANDS)
    keys = [QKeySequence(keys).toString() for command in COMMANDS for keys in command.shortcuts]
    assert all(keys)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("view", ["inbox", "history"])
def test_every_control_has_a_name_and_is_reached_by_key(start: Start, qtbot: QtBot, view: ViewName) -> None:
    scene = start(gateway=FakeGateway(scenes.waiting(), ended=scenes.ended(), details=scenes.details()))
    scene.desk.show_view(view)
    scene.gateway.push(Batch(opened=[pause(77)], total=12))
    qtbot.waitUntil(lambda: scene.desk.new_count == 1)
    nameless = [
        f"{type(widget).__name__} in {type(widget.parent()).__name__}"
        for widget in controls(scene.window)
        if widget.isVisible() and not spoken(widget)
    ]
    assert nameless == []


def test_tabbing_round_the_window_comes_back_and_presses_nothing(start: Start, qtbot: QtBot) -> None:
    scene = start(scenes.waiting())
    seen: list[QWidget] = []
    for _ in range(80):
        focused = QApplication.focusWidget()
        assert focused is not None
        if focused in seen:
            break
        seen.append(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    assert scene.table in seen
    assert len(seen) >= 4
    assert QApplication.focusWidget() in seen
    assert scene.gateway.answers == []


@pytest.mark.parametrize("text", ["<b>bold</b> & <img src='file:///x'>", "<table><tr><td>x", "a &amp; b"])
def test_foreign_text_is_shown_literally_everywhere(start: Start, qtbot: QtBot, text: str) -> None:
    asked = pause(1, question=text, tool=text, path=(text, text), requested_by=text)
    scene = start([asked])
    assert any(text in shown for shown in texts(scene.window.reading))
    rich = [
        label.text() for label in scene.window.findChildren(QLabel) if label.textFormat() != Qt.TextFormat.PlainText
    ]
    assert rich == []
    assert all(isinstance(label, PlainLabel) or label.__class__ is not QLabel for label in labels(scene.window))


def test_many_pages_are_read_on_demand_and_counted_honestly(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(number) for number in range(1, 251)])
    assert "250 waiting" in texts(scene.window.inbox)
    assert "100 of 250 listed" in texts(scene.window.inbox)
    scene.window.inbox.table.scrollToBottom()
    qtbot.waitUntil(lambda: scene.window.inbox.table.model().rowCount() == 201)
    scene.window.inbox.table.scrollToBottom()
    qtbot.waitUntil(lambda: scene.window.inbox.table.model().rowCount() == 251)
    assert "250 waiting" in texts(scene.window.inbox)


def texts(root: QWidget) -> list[str]:
    return [label.text() for label in labels(root) if label.isVisible()]


def labels(root: QWidget) -> list[QLabel]:
    return root.findChildren(QLabel)


def names(root: QWidget) -> list[str]:
    return [widget.accessibleName() for widget in root.findChildren(QWidget) if widget.isVisible()]


def spoken(widget: QWidget) -> str:
    """What a screen reader would say, walking out of the parts that Qt puts into its own widgets."""
    if isinstance(widget, QLabel):
        return widget.text()
    inner = widget.objectName().startswith("qt_") or type(widget).__module__.startswith("PySide6")
    parent = widget.parentWidget()
    if widget.accessibleName() or not inner or parent is None:
        return widget.accessibleName()
    return spoken(parent)


def fields(root: QWidget) -> list[QLineEdit | QPlainTextEdit]:
    found: list[QLineEdit | QPlainTextEdit] = [*root.findChildren(QLineEdit), *root.findChildren(QPlainTextEdit)]
    return [field for field in found if field.isVisible() and not field.isReadOnly()]


def is_send(widget: QWidget) -> bool:
    return isinstance(widget, QAbstractButton) and widget.text().startswith("Send")


def close_dialogs(window: QWidget) -> None:
    for dialog in (*window.findChildren(ConfirmDialog), *window.findChildren(KeysDialog)):
        dialog.close()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_wide_again_the_panes_have_the_widths_they_were_given(start: Start, qtbot: QtBot) -> None:
    scene = start([pause(1), pause(2)])
    panes = scene.window.findChild(QSplitter)
    assert isinstance(panes, QSplitter)
    panes.handle(2).moveSplitter(640)
    given = panes.sizes()
    assert given[1] > 400
    scene.window.resize(820, 700)
    qtbot.waitUntil(lambda: not scene.window.reading.isVisible())
    scene.press(Qt.Key.Key_Return)
    scene.window.resize(1280, 700)
    qtbot.waitUntil(lambda: panes.sizes() == given)
