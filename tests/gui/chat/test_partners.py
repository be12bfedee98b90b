"""Whom one talks to, and what becomes of conversations that go."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from inbox_app.chat import conversations, section
from inbox_app.gateway.catalog import AgentInfo, Repository
from inbox_app.gateway.chats import Ended, Text
from inbox_app.state.memory import Memory
from inbox_app.widgets.option_row import OptionRow
from inbox_app.widgets.row_delegate import LOOK_ROLE
from tests.gui.chat.conftest import Chat, Open
from tests.gui.chat.test_conversation import turn, two
from tests.support.fake_chats import FakeCatalog, FakeChats, conversation, support_desk
from tests.support.fake_chats import session as listed


def listed_now(it: Chat) -> int:
    return it.scene.window.list_pane.table.model().rowCount()


def section_of(it: Chat) -> section.ChatSection:
    found = it.scene.desk._section
    assert isinstance(found, section.ChatSection)
    return found


def test_a_conversation_that_is_deleted_elsewhere_stays_and_keeps_what_is_written(chat: Open) -> None:
    it = chat(two())
    it.open(1)
    it.write("Half a ")
    it.chats.details.pop("chat_1")
    section_of(it)._list.load()
    it.wait(lambda: "This conversation was deleted" in it.words)
    assert listed_now(it) == 1
    assert it.scene.current is None
    assert it.composer.has_focus
    it.scene.press("thought")
    it.enter()
    assert it.chats.asked == []
    assert it.composer.text == "Half a thought"
    it.button("Begin a new conversation").click()
    assert it.composer.text == "Half a thought"
    it.enter()
    it.wait(lambda: [(asked.session_id, asked.message) for asked in it.chats.asked] == [(None, "Half a thought")])


def test_what_is_said_to_a_conversation_that_is_there_no_more_comes_back(chat: Open) -> None:
    it = chat(two())
    it.scene.desk.act("chat.new")
    it.write("A draft")
    it.open(1)
    it.write("Words")
    it.chats.details.pop("chat_1")
    it.enter()
    it.wait(lambda: "This conversation was deleted" in it.words)
    assert it.chats.asked == []
    assert it.composer.text == "Words\nA draft"
    it.open(1)
    it.wait(lambda: it.said == ["Bonjour", "Salut."])
    assert it.composer.text == ""
    it.scene.desk.act("chat.new")
    assert it.composer.text == "Words\nA draft"


def test_a_conversation_of_a_later_page_is_not_taken_for_deleted(chat: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "PAGE", 1)
    it = chat(two())
    it.wait(lambda: listed_now(it) == 2)
    it.open(2)
    it.write("mine")
    section_of(it)._list.load()
    it.scene.window.list_pane.table.select_none()
    it.wait(lambda: listed_now(it) == 2)
    assert it.said == ["Bonjour", "Salut."]
    assert it.composer.text == "mine"


def test_deleting_goes_on_in_the_list_where_the_keyboard_is_and_nowhere_else(chat: Open) -> None:
    it = chat(FakeChats(*two().details.values(), conversation(listed(3, "Third"), turn(1, "Hola", Text("Si.")))))
    it.open(2)
    it.scene.window.list_pane.table.setFocus()
    section_of(it)._list.delete("chat_2")
    it.wait(lambda: it.scene.current == "chat_3")
    it.composer.take_keys()
    section_of(it)._list.delete("chat_3")
    it.wait(lambda: it.chats.deleted == ["chat_2", "chat_3"] and listed_now(it) == 1)
    assert it.scene.current is None
    assert it.transcript.logs == []


def test_where_no_repository_is_open_one_is_opened_from_the_page(chat: Open) -> None:
    it = chat(repositories=[])
    it.wait(lambda: "No repository is open" in it.words)
    assert not it.composer.isVisible()
    it.button("Open a repository").click()
    dialog = it.scene.window.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    opened: list[str] = []

    async def open_repository(path: str) -> Repository:
        opened.append(path)
        it.gateway.catalog = FakeCatalog(support_desk())
        return support_desk()

    it.gateway.catalog.open_repository = open_repository  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    dialog.fileSelected.emit("/somewhere")
    it.wait(it.composer.isVisible)
    assert opened == ["/somewhere"]
    dialog.reject()


def test_without_a_model_it_says_so_and_what_triggers_know_is_still_said(chat: Open) -> None:
    it = chat(repositories=[support_desk(model="")])
    says = "Default has no model. Set models.main in amodal.json, or in the settings and start again."
    it.wait(lambda: says in it.words)
    it.say("/status p_77")
    it.chats.tell(Text("Late."), Ended("model_stop"))
    it.wait(lambda: it.said == ["/status p_77", "Late."])


def test_at_first_somebody_is_chosen_who_can_answer(chat: Open) -> None:
    silent = replace(support_desk(model=""), path="/agents/silent")
    it = chat(repositories=[silent, support_desk("returns", "default")])
    it.say("Hello")
    assert (it.chats.asked[0].repository, it.chats.asked[0].agent) == (support_desk().path, "default")


def test_one_chooses_whom_to_talk_to(chat: Open) -> None:
    memory = Memory(None)
    it = chat(repositories=[support_desk("default", "returns")], memory=memory)
    row = next(one for one in it.scene.window.findChildren(OptionRow) if one.accessibleName() == "Returns")
    it.qtbot.mouseClick(row, Qt.MouseButton.LeftButton)
    it.say("Hello")
    assert it.chats.asked[0].agent == "returns"
    again = chat(repositories=[support_desk("default", "returns")], memory=memory)
    again.say("Hello")
    assert again.chats.asked[0].agent == "returns"


class Repaints(QObject):
    """Counts how often a widget is painted."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


def test_the_field_names_whom_one_writes_to_and_takes_the_keyboard(chat: Open) -> None:
    it = chat(repositories=[support_desk("default", "returns")])
    assert it.field.placeholderText() == "Write to Default"
    it.scene.window.list_pane.setFocus()
    repaints = Repaints(it.field.viewport())
    it.composer.show_hint("Write to nobody")
    it.wait(lambda: repaints.count > 0)
    row = next(one for one in it.scene.window.findChildren(OptionRow) if one.accessibleName() == "Returns")
    it.qtbot.mouseClick(row, Qt.MouseButton.LeftButton)
    assert it.field.placeholderText() == "Write to Returns"
    assert it.composer.has_focus


def test_an_agent_whose_description_is_its_name_is_named_once(chat: Open) -> None:
    agents = [AgentInfo("bakery", "Bakery", "Bakery", "m:x"), AgentInfo("returns", "Returns", "Takes back.", "m:x")]
    it = chat(repositories=[Repository("/bakery", "bakery", agents=agents)])
    rows = [one for one in it.scene.window.findChildren(OptionRow) if one.isVisible()]
    assert [(row.accessibleName(), row.accessibleDescription()) for row in rows] == [
        ("Bakery", ""),
        ("Returns", "Takes back."),
    ]


def test_the_list_says_who_answers_and_in_which_of_several_repositories(chat: Open) -> None:
    it = chat(two())
    it.wait(lambda: listed_now(it) == 2)
    model = it.scene.window.list_pane.table.model()
    assert model.index(0, 0).data(LOOK_ROLE).detail == "Default"
    it.gateway.catalog = FakeCatalog(support_desk(), Repository("/bakery", "Bakery"))
    section_of(it)._partners.load()
    it.wait(lambda: model.index(0, 0).data(LOOK_ROLE).detail == "Default · support-desk")


def test_agents_are_offered_by_their_names_the_default_one_first(chat: Open) -> None:
    shown = {"a-last": "Zoe", "default": "Desk", "z-first": "anna"}
    agents = [AgentInfo(name, display, "", "m:x") for name, display in shown.items()]
    it = chat(repositories=[Repository("/shop", "shop", agents=agents)])
    rows = [one for one in it.scene.window.findChildren(OptionRow) if one.isVisible()]
    assert [row.accessibleName() for row in rows] == ["Desk", "anna", "Zoe"]
