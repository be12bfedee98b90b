"""Automations in the whole window: what is listed and told, made, switched, started and removed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget
from pytestqt.qtbot import QtBot

from inbox_app.automations.edit_dialog import AT, EVERY, TOOL, EditDialog
from inbox_app.automations.section import AutomationsSection
from inbox_app.gateway.automations import AutomationRequest, Firing, Preview, When
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.catalog import AgentInfo, ToolInfo
from inbox_app.widgets.dialogs import ConfirmDialog
from inbox_app.widgets.line_field import WRONG
from tests.gui.test_window import Scene, Start, start, texts
from tests.support.builders import NOW
from tests.support.drivers import controls
from tests.support.fake_automations import FakeAutomations, automation, firing
from tests.support.fake_builds import FakeCatalog, repository
from tests.support.fake_gateway import FakeGateway

__all__ = ["start"]

TOOLS = (ToolInfo("count_stock", "Count", "Counts.", durable=True), ToolInfo("look", "Look", "Looks."))
AGENTS = (AgentInfo("carrier", "Carrier", ""), AgentInfo("default", "Default", ""))


class Automations:
    """The section in a window, with the automations that it talks to."""

    def __init__(self, scene: Scene, fake: FakeAutomations, qtbot: QtBot) -> None:
        self.scene = scene
        self.fake = fake
        self.qtbot = qtbot
        found = scene.window.findChild(AutomationsSection)
        assert found is not None
        self.section = found

    @property
    def rows(self) -> list[str]:
        model = self.scene.window.list_pane.table.model()
        return [str(model.index(row, 0).data()) for row in range(model.rowCount())]

    def until(self, text: str) -> None:
        self.qtbot.waitUntil(lambda: any(text in shown for shown in texts(self.section.page)))

    def button(self, text: str, of: QWidget | None = None) -> QAbstractButton:
        root = of or self.section.page
        return next(one for one in root.findChildren(QAbstractButton) if one.text() == text and one.isVisible())

    def click(self, text: str, of: QWidget | None = None) -> None:
        button = self.button(text, of)
        self.qtbot.waitUntil(lambda: button.width() >= button.sizeHint().width())  # it was laid out
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def dialog(self, verb: str) -> EditDialog:
        self.scene.desk.act(verb)
        self.qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), EditDialog))
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, EditDialog)
        return dialog


Open = Callable[..., Automations]


@pytest.fixture
def shown(start: Start, qtbot: QtBot) -> Open:
    def make(fake: FakeAutomations | None = None) -> Automations:
        fake = fake or FakeAutomations(automation(), history=[firing(1)])
        gateway = FakeGateway()
        gateway.automations = fake
        gateway.catalog = FakeCatalog(repository(tools=TOOLS, agents=AGENTS), repository("support-desk"))
        scene = start(gateway=gateway, wait=False)
        qtbot.waitUntil(lambda: scene.desk.has_view("automations"))
        scene.press("g", "a")
        qtbot.waitUntil(lambda: scene.window.list_pane.table.model().rowCount() == len(fake.listed))
        return Automations(scene, fake, qtbot)

    return make


def test_what_is_due_next_comes_first_and_what_is_off_last(shown: Open) -> None:
    soon = automation("soon", label="Soon", next_at=NOW + 60 * 5)
    off = automation("off", label="A report", enabled=False, next_at=None)
    bad = automation("bad", label="Bad", enabled=False, next_at=None, problem="It has no prompt.")
    it = shown(FakeAutomations(off, automation(), bad, soon))
    assert [row.split(",")[0] for row in it.rows] == ["Soon", "Late parcels", "A report", "Bad"]
    assert [", in " in it.rows[0], "Completed" in it.rows[1], "off" in it.rows[2]] == [True] * 3
    assert "Cannot be started" in it.rows[3]
    it.until("At 09:30 on Monday through Friday")
    it.scene.press("j", "j", "j")
    it.until("It has no prompt.")
    assert not it.button("Start now").isEnabled()


def test_the_list_calls_agents_as_they_are_shown_and_names_one_of_several_repositories(
    shown: Open, qtbot: QtBot
) -> None:
    it = shown(FakeAutomations(automation(agent="carrier", prompt="Go", tool="")))
    gateway = it.scene.gateway
    qtbot.waitUntil(lambda: "Agent Carrier" in it.rows[0])
    assert gateway.catalog is not None
    words = f"Agent Carrier · {repository().name} · "
    qtbot.waitUntil(lambda: words in it.rows[0])


def test_it_is_switched_and_started_from_its_page(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    it.click("Switch off")
    it.until("Off: it is not started")
    assert it.fake.switched == [("auto_late", False)]
    it.click("Switch on")
    it.until("Next ")
    it.click("Start now")
    qtbot.waitUntil(lambda: it.section.page.firings.rowCount() == 2)
    assert it.fake.started == ["auto_late"]
    it.fake.refuse = GatewayError("not_executing", "Another process works with this data folder.")
    it.click("Start now")
    it.until("Another process works with this data folder.")


def test_what_the_clock_does_is_shown_without_asking(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    it.until("Late parcels")
    waits = firing(7, state="running", status="awaiting-input", ended_at=None)
    it.fake.listed = [automation(last=waits)]
    it.fake.starts = [waits]
    it.fake.tell("auto_late")
    qtbot.waitUntil(lambda: "Waits for an answer" in it.rows[0])


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (firing(2, late=True, due_at=NOW - 86_400, started_at=NOW - 82_800), "1h late"),
        (firing(3, source="manual"), "By hand, "),
        (firing(4, state="skipped", session_id="", status="", error="The last start has not ended."), "Skipped"),
        (firing(5, state="unknown", error="The program ended\u202e meanwhile."), "The program ended"),
        (firing(6, status="", session_id="chat_6"), "Conversation chat_6"),
    ],
)
def test_the_history_says_what_became_of_each_start(shown: Open, qtbot: QtBot, one: Firing, words: str) -> None:
    it = shown(FakeAutomations(automation(), history=[one]))
    qtbot.waitUntil(lambda: it.section.page.firings.rowCount() == 1)
    said = str(it.section.page.firings.index(0, 0).data())
    assert words in said
    assert "\u202e" not in said


def test_a_start_leads_to_its_run(shown: Open, qtbot: QtBot) -> None:
    it = shown(FakeAutomations(automation(), history=[firing(1)]))
    page = it.section.page
    qtbot.waitUntil(lambda: page.firings.rowCount() == 1)
    page.rows.select_row(0)
    page.rows.setFocus()
    qtbot.keyClick(page.rows, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: it.scene.desk.view == "history")


def test_a_start_of_an_agent_leads_to_its_conversation(shown: Open, qtbot: QtBot) -> None:
    it = shown(FakeAutomations(automation(), history=[firing(1, status="", session_id="chat_1")]))
    asked: list[str] = []
    it.section._around = replace(it.section._around, go_to_chat=asked.append)  # pyright: ignore[reportPrivateUsage]
    page = it.section.page
    qtbot.waitUntil(lambda: page.firings.rowCount() == 1)
    page.rows.select_row(0)
    page.rows.opened.emit()
    assert asked == ["chat_1"]


def test_one_is_made_with_a_preview_of_its_next_times(shown: Open, qtbot: QtBot) -> None:
    it = shown(FakeAutomations())
    it.fake.foresight = Preview(problem='The hour "99" is not understood.')
    dialog = it.dialog("automations.new")
    make = it.button("Make and switch on", dialog)
    assert not make.isEnabled()
    assert dialog.target.currentText() == "default"
    dialog.label.setText("  Late ")
    dialog.prompt.set_text("Which are late?")
    dialog.cron.setText("30 99 * * *")
    qtbot.waitUntil(lambda: any('The hour "99"' in text for text in texts(dialog)))
    assert not make.isEnabled()
    it.fake.foresight = Preview("At 09:30", (NOW + 60,))
    dialog.cron.setText("30 9 * * *")
    qtbot.waitUntil(make.isEnabled)
    assert any("Next times" in text for text in texts(dialog))
    it.click("Make and switch on", dialog)
    qtbot.waitUntil(lambda: QApplication.activeModalWidget() is None)
    path = "/agents/release-desk"
    expected = AutomationRequest(path, When(cron="30 9 * * *"), "Late", agent="default", prompt="Which are late?")
    assert it.fake.added == [expected]
    qtbot.waitUntil(lambda: it.scene.current == "auto_new")


def test_a_durable_tool_is_chosen_with_an_input_that_has_to_be_json(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    dialog = it.dialog("automations.new")
    dialog.kind.setCurrentIndex(TOOL)
    assert [dialog.target.itemText(at) for at in range(dialog.target.count())] == ["count_stock"]
    dialog.when.setCurrentIndex(EVERY)
    dialog.every.setText("15m")
    dialog.input.set_text("{")
    qtbot.waitUntil(lambda: any("The input is not JSON" in text for text in texts(dialog)))
    dialog.input.set_text('{"n": 1.50}')
    qtbot.waitUntil(it.button("Make and switch on", dialog).isEnabled)
    order = dialog.order
    assert (order.tool, order.input, order.when, order.prompt) == ("count_stock", '{"n": 1.50}', When(every="15m"), "")
    dialog.repository.setCurrentIndex(1)
    assert not it.button("Make and switch on", dialog).isEnabled()
    dialog.reject()


def test_what_was_refused_is_said_in_the_dialog_and_nothing_typed_is_lost(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    dialog = it.dialog("automations.edit")
    assert (dialog.label.text(), dialog.cron.text()) == ("Late parcels", "30 9 * * MON-FRI")
    dialog.prompt.set_text("Which are late today?")
    save = it.button("Save", dialog)
    qtbot.waitUntil(save.isEnabled)
    it.fake.refuse = GatewayError("VALIDATION_ERROR", "There is no agent here.")
    it.click("Save", dialog)
    qtbot.waitUntil(lambda: "There is no agent here." in texts(dialog))
    assert dialog.prompt.text() == "Which are late today?"
    it.fake.refuse = None
    it.click("Save", dialog)
    qtbot.waitUntil(lambda: QApplication.activeModalWidget() is None)
    ((automation_id, asked),) = it.fake.edited
    assert (automation_id, asked.prompt) == ("auto_late", "Which are late today?")
    it.until("Which are late today?")


def test_the_dialog_is_there_once_however_often_it_is_asked_for(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    it.scene.desk.act("automations.new")
    it.scene.desk.act("automations.edit")
    dialog = it.dialog("automations.new")
    it.section.add()
    qtbot.waitUntil(lambda: bool(it.fake.previewed) or dialog.isVisible())
    assert len(it.scene.window.findChildren(EditDialog)) == 1
    dialog.label.setText("First")
    dialog.prompt.set_text("Look.")
    dialog.cron.setText("30 9 * * *")
    qtbot.waitUntil(it.button("Make and switch on", dialog).isEnabled)
    it.click("Make and switch on", dialog)
    qtbot.waitUntil(lambda: QApplication.activeModalWidget() is None)
    assert [asked.label for asked in it.fake.added] == ["First"]
    again = it.dialog("automations.edit")
    assert again.label.text() == "First"
    again.reject()


def test_what_is_refused_after_its_dialog_was_closed_is_said_on_the_page(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    first = it.dialog("automations.edit")
    qtbot.waitUntil(it.button("Save", first).isEnabled)
    it.fake.hold = asyncio.Event()
    it.click("Save", first)
    qtbot.waitUntil(lambda: len(it.fake.edited) == 1)
    first.reject()
    other = it.dialog("automations.new")
    it.fake.refuse = GatewayError("VALIDATION_ERROR", "There is no agent here.")
    it.fake.hold.set()
    it.until("There is no agent here.")
    assert other.isVisible()
    assert "There is no agent here." not in texts(other)
    other.reject()


def test_a_time_that_has_passed_is_not_taken(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    it.fake.foresight = Preview("Once, on 2020-01-01 at 00:00")
    dialog = it.dialog("automations.new")
    dialog.prompt.set_text("Look.")
    dialog.when.setCurrentIndex(AT)
    dialog.at.setText("2020-01-01T00:00")
    qtbot.waitUntil(lambda: "This time has passed" in texts(dialog))
    assert not it.button("Make and switch on", dialog).isEnabled()
    dialog.reject()


def test_it_is_removed_when_that_was_confirmed(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    it.click("Remove…")
    qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), ConfirmDialog))
    dialog = QApplication.activeModalWidget()
    assert dialog is not None
    assert it.fake.removed == []
    it.click("Remove it", dialog)
    qtbot.waitUntil(lambda: it.fake.removed == ["auto_late"])
    qtbot.waitUntil(lambda: it.rows == [])
    it.scene.desk.act("automations.remove")
    assert QApplication.activeModalWidget() is None


def test_what_a_file_states_is_neither_edited_nor_removed(shown: Open) -> None:
    it = shown(FakeAutomations(automation(origin="file", label="")))
    it.until("From late")
    assert not it.section.page.edit.isVisible()
    assert not it.section.page.remove.isVisible()
    assert not it.scene.desk.can("automations.edit")
    assert it.rows[0].startswith("late")


def test_without_any_the_list_says_how_to_make_one_and_a_refusal_is_tried_again(shown: Open, qtbot: QtBot) -> None:
    fake = FakeAutomations()
    fake.refuse = GatewayError("data_folder_unusable", "The disk is full.")
    it = shown(fake)
    qtbot.waitUntil(lambda: "The disk is full." in texts(it.scene.window.list_pane))
    fake.refuse = None
    it.click("Try again", it.scene.window.list_pane)
    qtbot.waitUntil(lambda: "No automation yet" in texts(it.scene.window.list_pane))
    it.click("Make an automation", it.scene.window.list_pane)
    qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), EditDialog))
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, EditDialog)
    dialog.reject()


def test_every_control_has_a_name_and_is_reached_by_tab(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    dialog = it.dialog("automations.new")
    for root in (it.section.page, it.section.list_pane, dialog):
        for control in filter(QWidget.isVisible, controls(root)):
            assert control.accessibleName(), control
            takes_clicks_only = control.focusPolicy() == Qt.FocusPolicy.ClickFocus
            assert takes_clicks_only or control.focusPolicy() & Qt.FocusPolicy.TabFocus, control.accessibleName()
    dialog.reject()


def test_what_was_written_is_thrown_away_only_when_somebody_says_so(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    dialog = it.dialog("automations.new")
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: QApplication.activeModalWidget() is None)
    dialog = it.dialog("automations.new")
    dialog.prompt.set_text("Look.")
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), ConfirmDialog))
    qtbot.keyClick(QApplication.activeModalWidget(), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: QApplication.activeModalWidget() is dialog)
    assert dialog.prompt.text() == "Look."
    it.click("Cancel", dialog)
    qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), ConfirmDialog))
    it.click("Discard", QApplication.activeModalWidget())
    qtbot.waitUntil(lambda: QApplication.activeModalWidget() is None)
    assert it.fake.added == []
    it.dialog("automations.new")


def test_the_field_that_is_wrong_is_marked(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    dialog = it.dialog("automations.new")
    it.fake.foresight = Preview(problem="Mars is no time zone.", in_zone=True)
    dialog.cron.setText("30 9 * * *")
    dialog.timezone.setText("Mars")
    qtbot.waitUntil(lambda: dialog.timezone.property(WRONG) and not dialog.cron.property(WRONG))
    it.fake.foresight = Preview(problem="This is not understood.")
    dialog.cron.setText("30 9 * *")
    qtbot.waitUntil(lambda: dialog.cron.property(WRONG) and not dialog.timezone.property(WRONG))
