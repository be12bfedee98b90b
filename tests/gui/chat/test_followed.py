"""A conversation that somebody has elsewhere, with the same data folder: the window follows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inbox_app.chat import conversations, section
from inbox_app.gateway.chats import ChatSession, Choice, ChoiceOption, Note, Text
from tests.gui.chat.conftest import Open
from tests.gui.chat.test_conversation import turn, two
from tests.support.chat_scenes import call
from tests.support.fake_chats import FakeChats, conversation
from tests.support.fake_chats import session as listed


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(section, "TICK_MS", 50)


def later(of: ChatSession, **fields: object) -> ChatSession:
    return replace(of, updated_at=of.updated_at + 1, **fields)  # pyright: ignore[reportArgumentType]


def test_the_keyboard_stays_in_a_row_of_a_turn_that_goes_on_elsewhere(chat: Open) -> None:
    going = turn(1, "Hello", Text("Hi"), call("a", state="running", seconds=None), end="")
    it = chat(FakeChats(conversation(listed(1, busy=True), going)))
    it.open()
    row = it.row("a")
    row.enter()
    more = turn(1, "Hello", Text("Hi, you"), call("a"), Note("Slow."), call("b", "a"), end="")
    it.chats.details["chat_1"] = conversation(listed(1, busy=True), more)
    it.wait(lambda: len(it.rows) == 2)
    assert it.said == ["Hello", "Hi, you", "Slow."]
    assert it.focused() is row
    done = turn(1, "Hello", Text("Hi, you"), call("a"), Note("Quick."), call("b", "a"), Text("Done."))
    it.chats.details["chat_1"] = conversation(listed(1), done)
    it.wait(lambda: it.said == ["Hello", "Hi, you", "Quick.", "Done."])
    assert it.focused() is row
    it.wait(lambda: it.transcript.logs[0].end == "model_stop")


def test_what_is_said_elsewhere_is_shown_in_a_conversation_that_was_quiet(chat: Open) -> None:
    it = chat(two())
    it.open(1)
    it.wait(lambda: it.said == ["Hello", "Good day."])
    first = it.chats.details["chat_1"]
    choice = Choice("q", "Which?", [ChoiceOption("a", "A"), ChoiceOption("b", "B")])
    going = turn(2, "From the terminal", Text("I ask"), choice, end="")
    it.chats.details["chat_1"] = conversation(later(first.session), *first.turns, going)
    it.wait(lambda: it.said == ["Hello", "Good day.", "From the terminal", "I ask"])
    done = turn(2, "From the terminal", Text("I ask you"), choice)
    it.chats.details["chat_1"] = conversation(later(later(first.session), messages=4), *first.turns, done)
    it.wait(lambda: it.said[-1] == "I ask you")
    assert [log.end for log in it.transcript.logs] == ["model_stop", "model_stop"]


def test_a_conversation_that_is_begun_elsewhere_is_listed(chat: Open) -> None:
    it = chat(two())
    it.open(2)
    it.chats.details["chat_0"] = conversation(listed(0, "From the terminal"), turn(1, "Hi", Text("Ho")))
    it.wait(lambda: it.scene.window.list_pane.table.model().rowCount() == 3)
    assert it.scene.current == "chat_2"


def test_an_older_conversation_that_is_read_keeps_its_row(chat: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "PAGE", 1)
    it = chat(two())
    it.open(2)
    first = it.chats.details["chat_1"]
    it.chats.details["chat_1"] = conversation(later(first.session, title="Once more"), *first.turns)
    it.wait(lambda: "Once more" in it.scene.window.list_pane.table.model().index(0, 0).data())
    assert it.scene.window.list_pane.table.model().rowCount() == 2
    assert it.scene.current == "chat_2"
    assert it.scene.desk.can("chat.rename")
    assert it.scene.desk.can("chat.delete")
