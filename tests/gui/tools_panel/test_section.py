"""The run panel in the window: what is listed, how a tool is started, what becomes of it, and of repositories."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QDialog, QWidget
from pytestqt.qtbot import QtBot

from inbox_app.gateway import schemas
from inbox_app.gateway.base import Batch, Gateway, GatewayError, Json, Outcome
from inbox_app.gateway.catalog import Repository, ToolInfo
from inbox_app.state.drafts import Drafts
from inbox_app.state.memory import Memory
from inbox_app.state.outbox import Outbox
from inbox_app.state.repositories import opened, remember
from inbox_app.theme.theme import Theme
from inbox_app.tools_panel.files_part import FilesPart
from inbox_app.tools_panel.launches import Launch
from inbox_app.tools_panel.section import ToolsSection
from inbox_app.views.desk import Desk
from inbox_app.views.main_window import MainWindow
from inbox_app.views.request_pane import RequestPane
from tests.support.builders import NOW, pause, run
from tests.support.drivers import Wheel, controls, turn_until
from tests.support.fake_builds import FakeCatalog
from tests.support.fake_gateway import FakeGateway
from tests.support.tool_scenes import DIGITS, FILLED, repositories, tools

DESK = "/home/ann/refund-desk"
CONTROL = Qt.KeyboardModifier.ControlModifier


class Panel:
    """A window that shows the tools of a gateway."""

    def __init__(self, theme: Theme, qtbot: QtBot, wheel: Wheel, gateway: Gateway, memory: Memory | None) -> None:
        self.memory = memory or Memory(None)
        self.window = MainWindow(theme)
        self.desk = Desk(
            self.window,
            RequestPane(theme),
            theme,
            wheel.tasks.spawn,
            Drafts(None),
            Outbox(),
            memory=self.memory,
            clock=lambda: NOW,
        )
        wheel.tasks.on_error = self.desk.report
        with qtbot.waitActive(self.window):
            self.window.show()
            self.window.activateWindow()
        self.desk.connect_to(lambda: gateway)
        qtbot.waitUntil(lambda: self.desk.has_view("tools"))
        self.desk.show_view("tools")
        found = self.window.findChild(ToolsSection)
        assert found is not None
        self.section = found

    @property
    def ids(self) -> list[str]:
        model = self.section.list_pane.table.model()
        rows = [model.index(row, 0).data() for row in range(model.rowCount())]
        return [str(row).partition(",")[0] for row in rows]

    def select(self, name: str) -> None:
        self.section.open(name)

    def put(self, value: Json) -> None:
        self.section.tool_page.form.set_value(value)

    def start(self) -> None:
        """As a person does it: the keyboard in the form, then Ctrl+Enter."""
        self.section.enter()
        QTest.keyClick(QApplication.focusWidget() or self.window, Qt.Key.Key_Return, CONTROL)

    def button(self, name: str) -> QAbstractButton:
        return next(
            one for one in self.window.findChildren(QAbstractButton) if one.accessibleName() == name and one.isVisible()
        )

    def press(self, name: str) -> None:
        """As soon as it can be."""
        button = self.button(name)
        turn_until(button.isEnabled)
        button.click()

    def says(self, text: str) -> bool:
        return any(text in said for said in texts(self.window))


def texts(root: QWidget) -> list[str]:
    found = [widget for widget in root.findChildren(QWidget) if widget.isVisible()]
    return [text for widget in found for text in (widget.accessibleName(), str(widget.property("text") or "")) if text]


def focused() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


def drop(shown: Panel, file: Path) -> None:
    """A file is dragged from elsewhere and let go over the files of the tool."""
    target = shown.section.tool_page.findChild(FilesPart)
    assert target is not None
    dragged = QMimeData()
    dragged.setUrls([QUrl.fromLocalFile(str(file))])
    where, no_keys, left = QPointF(5, 5), Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
    for event in (
        QDragEnterEvent(where.toPoint(), Qt.DropAction.CopyAction, dragged, left, no_keys),
        QDropEvent(where, Qt.DropAction.CopyAction, dragged, left, no_keys),
    ):
        QApplication.sendEvent(target, event)
        assert event.isAccepted()


Open = Callable[..., Panel]


@pytest.fixture
def panel(theme: Theme, qtbot: QtBot, wheel: Wheel) -> Iterator[Open]:
    schemas.load()
    made: list[Panel] = []

    def make(gateway: Gateway | None = None, memory: Memory | None = None) -> Panel:
        made.append(Panel(theme, qtbot, wheel, gateway or desk_gateway(), memory))
        qtbot.waitUntil(lambda: bool(made[-1].ids))
        return made[-1]

    yield make
    for one in made:
        closing = wheel.tasks.spawn(one.desk.close(), "close")
        turn_until(closing.done)
        one.window.close()


def desk_gateway(*listed: Repository) -> FakeGateway:
    gateway = FakeGateway()
    gateway.catalog = FakeCatalog(*(listed or repositories()))
    gateway.start_reply = Outcome("complete", "run_1", {"refunded": True})
    return gateway


def catalog_of(gateway: FakeGateway) -> FakeCatalog:
    assert isinstance(gateway.catalog, FakeCatalog)
    return gateway.catalog


def test_tools_with_an_invoke_trigger_are_listed_and_the_others_when_wanted(panel: Open, qtbot: QtBot) -> None:
    shown = panel()
    assert shown.ids == [
        "refund-desk",
        "close_case",
        "refund_payment",
        "label-desk",
        "It needs your trust",
        "print_label",
        "old-desk",
        "It cannot be used",
    ]
    shown.press("Invocable only")
    assert shown.ids[:5] == ["refund-desk", "close_case", "refund_payment", "find_order", "rebuild_index"]
    again = panel(memory=shown.memory)
    assert "find_order" in again.ids


def test_a_tool_is_started_as_the_route_does_and_its_result_is_shown(panel: Open, qtbot: QtBot) -> None:
    gateway = desk_gateway()
    shown = panel(gateway)
    shown.select("refund_payment")
    shown.put(FILLED)
    shown.start()
    qtbot.waitUntil(lambda: shown.says("Completed"))
    [start] = gateway.starts
    assert (start.tool, start.repository, start.lane, start.attachments) == ("refund_payment", DESK, "invoke", None)
    assert json.loads(start.input)["order_id"] == DIGITS
    assert '"amount": 120.0' in start.input
    shown.press("Open run")
    assert shown.desk.view == "history"


def test_it_is_started_once_however_often_it_is_asked_for(panel: Open, qtbot: QtBot) -> None:
    gateway = desk_gateway()
    gateway.started.clear()
    shown = panel(gateway)
    shown.select("close_case")
    for _ in range(3):
        shown.start()
    shown.desk.act("tools.start")
    qtbot.waitUntil(lambda: bool(gateway.starts))
    assert not next(
        one for one in shown.window.findChildren(QAbstractButton) if "Start close_case" in one.text()
    ).isEnabled()
    shown.select("refund_payment")
    assert not shown.says("Starting. ")
    gateway.started.set()
    shown.select("close_case")
    qtbot.waitUntil(lambda: shown.says("Completed"))
    assert len(gateway.starts) == 1
    shown.press("Start again")
    qtbot.waitUntil(lambda: len(gateway.starts) == 2)


def test_the_second_press_of_a_double_click_starts_nothing(panel: Open, qtbot: QtBot) -> None:
    gateway = desk_gateway()
    shown = panel(gateway)
    shown.select("close_case")
    page = shown.section.tool_page
    shown.start()
    qtbot.waitUntil(lambda: shown.says("Completed"))
    page.show_launch(Launch(NOW, NOW), None)
    page.show_launch(Launch(NOW, NOW, Outcome("complete", "run_1")), None)
    shown.start()
    shown.button("Start again").click()
    assert len(gateway.starts) == 1
    shown.press("Start again")
    qtbot.waitUntil(lambda: len(gateway.starts) == 2)


def test_the_button_keeps_the_focus_while_it_sleeps(panel: Open, qtbot: QtBot) -> None:
    shown = panel()
    shown.select("close_case")
    shown.button("Start close_case").setFocus()
    QTest.keyClick(focused(), Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: shown.says("Completed"))
    qtbot.waitUntil(lambda: shown.button("Start again").hasFocus())


def test_what_cannot_be_sent_is_shown_and_not_started(panel: Open, qtbot: QtBot) -> None:
    gateway = desk_gateway()
    shown = panel(gateway)
    shown.select("refund_payment")
    shown.section.enter()
    QTest.keyClicks(focused(), "12,5")
    shown.start()
    assert shown.says("order_id is not a number")
    assert gateway.starts == []


def test_what_does_not_fit_the_schema_starts_only_when_asked_for_twice(panel: Open, qtbot: QtBot) -> None:
    gateway = desk_gateway()
    shown = panel(gateway)
    shown.select("refund_payment")
    shown.put({"amount": 700})
    shown.start()
    assert gateway.starts == []
    assert shown.says("700 is greater than the maximum of 500")
    assert shown.says("is required")
    assert shown.says("The handler gets it as it is")
    shown.start()
    shown.button("Start anyway").click()
    assert gateway.starts == []
    shown.press("Start anyway")
    qtbot.waitUntil(lambda: len(gateway.starts) == 1)
    assert json.loads(gateway.starts[0].input) == {"amount": 700}


def test_a_question_of_the_run_leads_to_the_inbox_and_the_end_is_told(panel: Open, qtbot: QtBot) -> None:
    gateway = desk_gateway()
    asked = pause(7, question="Really close it?")
    gateway.pauses.append(asked)
    gateway.start_reply = Outcome("awaiting-input", asked.run_id, pause=asked)
    shown = panel(gateway)
    shown.select("close_case")
    shown.start()
    qtbot.waitUntil(lambda: shown.says("Really close it?"))
    shown.press("Answer its question")
    assert shown.desk.view == "inbox"
    assert shown.desk.pause is not None
    assert shown.desk.pause.id == asked.id
    done = replace(run(id=asked.run_id, status="completed", tool="close_case"), result={"closed": 1})
    gateway.push(Batch(closed=[asked.id], runs=[done]))
    shown.desk.show_view("tools")
    qtbot.waitUntil(lambda: shown.says("Completed"))
    assert not shown.says("Answer its question")


def test_a_refusal_is_told_with_its_code_and_a_start_can_be_tried_again(panel: Open, qtbot: QtBot) -> None:
    gateway = desk_gateway()
    gateway.start_reply = GatewayError("tool_not_invocable", "It has no invoke trigger.")
    shown = panel(gateway)
    shown.select("close_case")
    shown.start()
    qtbot.waitUntil(lambda: shown.says("tool_not_invocable: It has no invoke trigger."))
    gateway.start_reply = Outcome("failed", "run_2", reason='Tool "close_case" failed: no')
    shown.press("Start again")
    qtbot.waitUntil(lambda: shown.says('Tool "close_case" failed: no'))


def test_a_tool_without_a_trigger_is_started_directly_with_its_files(panel: Open, qtbot: QtBot, tmp_path: Path) -> None:
    gateway = desk_gateway()
    shown = panel(gateway)
    shown.select("find_order")
    assert shown.says("It is started directly")
    scan = tmp_path / "scan.txt"
    scan.write_text("hello")
    drop(shown, scan)
    assert shown.says("scan.txt")
    shown.start()
    qtbot.waitUntil(lambda: len(gateway.starts) == 1)
    [start] = gateway.starts
    assert start.lane == "direct"
    assert start.attachments is not None
    assert json.loads(start.attachments) == [{"filename": "scan.txt", "mimeType": "text/plain", "data": "aGVsbG8="}]
    qtbot.waitUntil(lambda: shown.says("Completed"))
    scan.unlink()
    shown.press("Start again")
    qtbot.waitUntil(lambda: shown.says("cannot be read"))
    assert len(gateway.starts) == 1


def test_what_is_written_is_kept_and_the_last_input_comes_back(panel: Open, qtbot: QtBot) -> None:
    gateway = desk_gateway()
    shown = panel(gateway)
    shown.select("refund_payment")
    shown.put(FILLED)
    shown.start()
    qtbot.waitUntil(lambda: shown.says("Completed"))
    shown.press("Clear")
    shown.section.enter()
    QTest.keyClicks(focused(), "12,5")
    shown.select("close_case")
    again = panel(gateway, memory=shown.memory)
    again.select("refund_payment")
    qtbot.waitUntil(lambda: again.says("Use the last input"))
    assert "12,5" in again.section.tool_page.form.text()
    again.press("Use the last input")
    assert again.section.tool_page.form.value() == FILLED
    again.press("Bring back what was there")
    assert "12,5" in again.section.tool_page.form.text()


def test_scope_and_context_go_along(panel: Open, qtbot: QtBot) -> None:
    gateway = desk_gateway()
    shown = panel(gateway)
    shown.select("close_case")
    shown.press("Show scope and context")
    for name, text in (("Scope", "eu"), ("Context as JSON", '{"a": 1')):
        field: Any = next(one for one in shown.window.findChildren(QWidget) if one.accessibleName() == name)
        field.setFocus()
        QTest.keyClicks(field, text)
    shown.start()
    assert gateway.starts == []
    assert shown.says("Context: ")
    QTest.keyClicks(focused(), "}")
    shown.start()
    qtbot.waitUntil(lambda: len(gateway.starts) == 1)
    assert (gateway.starts[0].scope, gateway.starts[0].context) == ("eu", '{"a": 1}')


def test_a_changed_tool_keeps_what_was_filled_in(panel: Open, qtbot: QtBot) -> None:
    gateway = desk_gateway()
    shown = panel(gateway)
    shown.select("refund_payment")
    shown.put({"amount": 5, "order_id": 1, "reason": "x"})
    schema: Json = {"type": "object", "properties": {"amount": {"type": "string"}, "order_id": {"type": "integer"}}}
    catalog = catalog_of(gateway)
    changed = replace(tools()[0], schema=schema, description="Now with words.")
    catalog.listed[0] = replace(catalog.listed[0], tools=[changed, *tools()[1:]])
    shown.section.shown()
    qtbot.waitUntil(lambda: shown.says("Now with words."))
    assert shown.section.tool_page.form.value() == {"amount": 5, "order_id": 1, "reason": "x"}
    catalog.listed.clear()
    shown.section.shown()
    qtbot.waitUntil(lambda: shown.says("No repository is open"))
    assert shown.says("No tool is selected")


def test_a_broken_repository_is_shown_with_its_problems_and_removed(panel: Open, qtbot: QtBot) -> None:
    memory = Memory(None)
    remember(memory, "/home/ann/old-desk")
    shown = panel(memory=memory)
    shown.select("/home/ann/old-desk")
    assert shown.says("a comma is missing")
    shown.press("Remove from the list…")
    dialog = next(one for one in QApplication.topLevelWidgets() if isinstance(one, QDialog) and one.isVisible())
    next(one for one in dialog.findChildren(QAbstractButton) if one.text() == "Remove").click()
    qtbot.waitUntil(lambda: "old-desk" not in shown.ids)
    assert list(opened(memory)) == []


def test_trust_is_given_to_what_was_shown_only(panel: Open, qtbot: QtBot) -> None:
    gateway = desk_gateway()
    catalog = catalog_of(gateway)
    shown = panel(gateway)

    def agree() -> None:
        shown.press("Trust it…")
        dialog = next(one for one in QApplication.topLevelWidgets() if isinstance(one, QDialog) and one.isVisible())
        assert any("npx shop-server" in text for text in texts(dialog))
        next(one for one in dialog.findChildren(QAbstractButton) if one.text() == "Trust it").click()

    shown.select("/home/ann/label-desk")
    kept = catalog.listed[1]
    catalog.listed[1] = replace(kept, revision="with the same needs", problems=("What is new.",))
    agree()
    qtbot.waitUntil(lambda: shown.says("Its code has changed"))
    assert catalog.trusted == []
    qtbot.waitUntil(lambda: shown.says("What is new."))
    agree()
    qtbot.waitUntil(lambda: catalog.trusted == ["/home/ann/label-desk"])
    qtbot.waitUntil(lambda: "It needs your trust" not in shown.ids)


@pytest.mark.parametrize("name", ["refund_payment", "find_order", "/home/ann/old-desk", "/home/ann/label-desk"])
def test_every_control_has_a_name(panel: Open, qtbot: QtBot, name: str) -> None:
    shown = panel()
    shown.select(name)
    nameless = [
        type(one).__name__
        for one in controls(shown.section.page)
        if one.isVisible() and not one.accessibleName() and not one.property("text")
    ]
    assert nameless == []


def test_outside_text_is_not_taken_for_markup(panel: Open, qtbot: QtBot) -> None:
    evil = ToolInfo("x", "", "<b>bold</b>\u202e", {"properties": {"<i>a</i>": {"description": "<u>d</u>"}}}, True, True)
    shown = panel(desk_gateway(Repository("/r", "<h1>r</h1>", tools=[evil])))
    shown.select("x")
    for text in ("<b>bold</b>⟨U+202E⟩", "<i>a</i>", "<u>d</u>"):
        assert text in texts(shown.section.page)
