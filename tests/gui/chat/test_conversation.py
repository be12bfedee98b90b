"""Talking to an agent in the window: what is said, shown, stopped, kept and given back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QWidget
from pytestqt.qtbot import QtBot

from inbox_app.chat import files, more_part, section, transcript, turn_outline, turn_view
from inbox_app.chat.call_part import CallPart
from inbox_app.chat.choice_part import ChoicePart
from inbox_app.chat.said_parts import AskedPart, ThoughtPart
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.chats import (
    Began,
    ChatEvent,
    ChatRequest,
    ChatTurn,
    Choice,
    ChoiceOption,
    Ended,
    Note,
    Reasoning,
    Shown,
    Text,
    Tokens,
)
from inbox_app.state.memory import Memory
from inbox_app.widgets.data_table import DataTable
from inbox_app.widgets.dialogs import ConfirmDialog
from inbox_app.widgets.file_chip import FileChip
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.option_row import OptionRow
from inbox_app.widgets.payload_view import PayloadView
from inbox_app.widgets.prose import Prose
from tests.gui.chat.conftest import Chat, Open
from tests.support.builders import NOW
from tests.support.chat_scenes import call
from tests.support.drivers import controls
from tests.support.fake_chats import FakeChats, conversation
from tests.support.fake_chats import session as listed


def turn(number: int, asked: str, *items: object, end: str = "model_stop") -> ChatTurn:
    return ChatTurn(number, asked, NOW - 100 + number, items=items, end=end)  # pyright: ignore[reportArgumentType]


def two() -> FakeChats:
    return FakeChats(
        conversation(listed(1, "First"), turn(1, "Hello", Text("Good day."))),
        conversation(listed(2, "Second"), turn(1, "Bonjour", Text("Salut."))),
    )


def test_what_is_said_is_shown_piece_by_piece_and_listed(chat: Open) -> None:
    it = chat()
    it.say("Where is p_77?")
    it.chats.tell(Text("It is "), Text("late."))
    it.wait(lambda: it.said == ["Where is p_77?", "It is late."])
    assert it.button("Stop").isEnabled()
    it.chats.tell(Text(" Sorry."), Ended("model_stop", Tokens(300, 12)))
    it.wait(lambda: it.said[-1] == "It is late. Sorry.")
    it.wait(lambda: "300 tokens in, 12 out" in it.words)
    assert it.composer.text == ""
    it.wait(lambda: it.scene.current == "chat_new_1")
    it.say("And p_78?")
    assert [asked.session_id for asked in it.chats.asked] == [None, "chat_new_1"]


def test_calls_nest_change_in_place_and_open_to_their_values(chat: Open) -> None:
    it = chat()
    it.say("Go")
    it.chats.tell(
        call("1", name="review", label="Reviewing", state="running", seconds=None),
        call("2", "1", name="lookup", parameters={"id": "p_77"}, state="running", seconds=None),
        call("9", "unknown", name="stray"),
    )
    it.wait(lambda: [row.split(",")[0] for row in it.rows] == ["Reviewing", "lookup", "stray"])
    assert it.row("2").x() > it.row("1").x() == it.row("9").x()
    it.chats.tell(call("2", "1", name="lookup", parameters={"id": "p_77"}, state="failed", error="No such parcel"))
    it.wait(lambda: it.rows[1].startswith("lookup, failed"))
    it.row("2").setFocus()
    it.scene.press(Qt.Key.Key_Return)
    it.wait(lambda: "No such parcel" in it.said)
    assert "Parameters" in it.words
    it.scene.press(Qt.Key.Key_Left)
    it.wait(lambda: "No such parcel" not in it.said)
    it.scene.press(Qt.Key.Key_Left)
    assert it.focused() is it.row("1")


def test_the_arrow_keys_go_through_calls_and_turns_and_back_to_what_is_written(chat: Open) -> None:
    chats = FakeChats(conversation(listed(1), turn(1, "a", call("1"), call("2", "1")), turn(2, "b", call("3"))))
    it = chat(chats)
    it.open()
    it.composer.take_keys()
    seen: list[str] = []
    for _ in range(3):
        it.scene.press(Qt.Key.Key_Up)
        row = it.focused()
        assert isinstance(row, CallPart)
        seen.append(row.call.id)
    assert seen == ["3", "2", "1"]
    for _ in range(3):
        it.scene.press(Qt.Key.Key_Down)
    assert it.composer.has_focus
    it.scene.press(Qt.Key.Key_Tab, modifier=Qt.KeyboardModifier.ShiftModifier)
    assert it.focused() is it.row("3")


def test_while_the_agent_is_at_work_nothing_is_sent_and_it_can_be_stopped(chat: Open) -> None:
    it = chat()
    it.say("Long work")
    it.chats.tell(call("1", state="running", seconds=None))
    it.wait(lambda: bool(it.rows))
    it.write("more")
    it.enter()
    assert len(it.chats.asked) == 1
    assert any("at work" in word for word in it.words)
    assert it.composer.text == "more"
    it.scene.press(Qt.Key.Key_Period, modifier=Qt.KeyboardModifier.ControlModifier)
    it.wait(lambda: it.chats.aborted == ["chat_new_1"])
    it.wait(lambda: "Stopped by you" in it.words)
    assert it.rows[0].startswith("1, stopped")
    it.enter()
    it.wait(lambda: [asked.message for asked in it.chats.asked] == ["Long work", "more"])


def test_a_message_that_is_not_taken_comes_back(chat: Open) -> None:
    it = chat()
    it.chats.refuse = GatewayError("VALIDATION_ERROR", "Too much.")
    it.write("Precious words")
    it.enter()
    it.wait(lambda: it.composer.text == "Precious words")
    assert "Too much." in it.words
    assert it.transcript.logs == []
    it.chats.refuse = None
    it.enter()
    it.wait(lambda: [asked.message for asked in it.chats.asked] == ["Precious words"])


def test_a_turn_that_breaks_keeps_what_was_said_and_says_why(chat: Open) -> None:
    it = chat()
    it.say("Hello")
    it.chats.tell(Text("Good"), Note("No key is stored.", error=True), Ended("error"))
    it.wait(lambda: it.said == ["Hello", "Good", "No key is stored."])
    assert not any("Ended by an error" in word for word in it.words)


def test_every_conversation_keeps_its_own_draft_also_after_a_restart(chat: Open) -> None:
    memory = Memory(None)
    it = chat(two(), memory=memory)
    it.open(1)
    it.write("for the first")
    it.open(2)
    assert it.composer.text == ""
    it.write("for the second")
    it.open(1)
    assert it.composer.text == "for the first"
    again = chat(two(), memory=memory)
    again.open(2)
    assert again.composer.text == "for the second"


def test_a_conversation_goes_on_while_another_one_is_read(chat: Open) -> None:
    it = chat(two())
    it.open(1)
    it.say("Work")
    it.open(2)
    it.wait(lambda: it.said == ["Bonjour", "Salut."])
    assert it.button("Send") is not None
    it.chats.tell(Text("Done."))
    it.open(1)
    it.wait(lambda: it.said[-1] == "Done.")
    assert it.button("Stop").isEnabled()


def test_shift_enter_breaks_the_line_and_ctrl_enter_sends(chat: Open) -> None:
    it = chat()
    it.write("one")
    it.enter(Qt.KeyboardModifier.ShiftModifier)
    it.scene.press("two")
    assert it.composer.text == "one\ntwo"
    it.enter(Qt.KeyboardModifier.ControlModifier)
    it.wait(lambda: [asked.message for asked in it.chats.asked] == ["one\ntwo"])


def test_nothing_is_sent_of_blanks(chat: Open) -> None:
    it = chat()
    it.write("   ")
    it.enter()
    assert not it.button("Send").isEnabled()
    assert it.transcript.logs == []


def test_files_are_named_can_be_taken_out_and_go_along(
    chat: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 100)
    it = chat()
    for name, size in (("a.txt", 60), ("b.txt", 30), ("large.bin", 50)):
        (tmp_path / name).write_bytes(b"x" * size)
    it.composer.add_paths([str(tmp_path / name) for name in ("a.txt", "b.txt", "large.bin", "missing")])
    chips = lambda: [chip for chip in it.composer.findChildren(FileChip) if chip.isVisible()]  # noqa: E731
    it.wait(lambda: [chip.accessibleName() for chip in chips()] == ["a.txt 60 B", "b.txt 30 B"])
    it.wait(lambda: any(word.endswith("\nmissing is not a file.") for word in it.words))
    remove = next(one for one in it.composer.findChildren(QAbstractButton) if one.accessibleName() == "Remove a.txt")
    remove.click()
    assert [chip.accessibleName() for chip in chips()] == ["b.txt 30 B"]
    it.say("Look")
    sent = it.chats.asked[0].files
    assert [(file.filename, file.mime_type, len(file.data)) for file in sent] == [("b.txt", "text/plain", 30)]
    assert it.composer.files == ()


def test_pictures_are_pasted_and_files_dropped_as_files(chat: Open, tmp_path: Path) -> None:
    it = chat()
    image = QImage(4, 4, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.red)
    data = QMimeData()
    data.setImageData(image)
    it.field.insertFromMimeData(data)
    assert [file.filename for file in it.composer.files] == ["pasted-1.png"]
    (tmp_path / "note.md").write_text("hi")
    dropped = QMimeData()
    dropped.setUrls([QUrl.fromLocalFile(str(tmp_path / "note.md"))])
    it.field.insertFromMimeData(dropped)
    it.wait(lambda: [file.filename for file in it.composer.files] == ["pasted-1.png", "note.md"])
    assert it.composer.text == ""


def test_one_of_several_is_said_by_a_press_and_read_only_afterwards(chat: Open) -> None:
    options = [ChoiceOption("kettle", "Kettle"), ChoiceOption({"id": 7}, "Toaster")]
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", Choice("q", "Which order?", options)))))
    it.open()
    part = it.transcript.findChild(ChoicePart)
    assert isinstance(part, ChoicePart)
    rows = part.findChildren(OptionRow)
    assert [row.accessibleDescription() for row in rows] == ["Says “kettle”", 'Says “{"id": 7}”']
    it.qtbot.mouseClick(rows[1], Qt.MouseButton.LeftButton)
    it.wait(lambda: [(asked.message, asked.is_choice) for asked in it.chats.asked] == [('{"id": 7}', True)])
    assert [(row.isVisible(), row.isChecked()) for row in rows] == [(False, False), (True, True)]
    it.qtbot.mouseClick(rows[1], Qt.MouseButton.LeftButton)
    it.chats.tell(Ended("model_stop"))
    it.wait(lambda: not it.button("Send").isEnabled())
    assert len(it.chats.asked) == 1


def test_several_are_ticked_and_said_by_continue(chat: Open) -> None:
    options = [ChoiceOption(name, name.title()) for name in ("one", "two", "three")]
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", Choice("q", "Which?", options, multi=True)))))
    it.open()
    part = it.transcript.findChild(ChoicePart)
    assert isinstance(part, ChoicePart)
    rows = part.findChildren(OptionRow)
    assert not it.button("Continue").isEnabled()
    for at in (2, 1, 0, 1):
        it.qtbot.mouseClick(rows[at], Qt.MouseButton.LeftButton)
    it.button("Continue").click()
    it.wait(lambda: [asked.message for asked in it.chats.asked] == ["one, three"])


def test_data_is_shown_as_a_table_or_by_its_fields(chat: Open) -> None:
    rows = [{"id": 3544790567247868102, "name": "a\u200b"}, {"id": 2, "more": None}]
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", Shown("Orders", rows), Shown("Card", {"a": 1})))))
    it.open()
    table = it.transcript.findChild(DataTable)
    assert isinstance(table, DataTable)
    model = table.model()
    cells = [[model.index(row, column).data() for column in range(3)] for row in range(2)]
    assert cells == [["3544790567247868102", "a⟨U+200B⟩", ""], ["2", "", "null"]]
    assert "Card" in it.words


def test_thoughts_are_folded_and_opened_by_key(chat: Open) -> None:
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", Reasoning("I wonder."), Text("Yes.")))))
    it.open()
    assert it.said == ["Hi", "Yes."]
    it.composer.take_keys()
    it.scene.press(Qt.Key.Key_Up, Qt.Key.Key_Right)
    it.wait(lambda: it.said == ["Hi", "I wonder.", "Yes."])


def test_calls_that_are_nobodys_business_are_shown_on_request(chat: Open) -> None:
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", call("1", internal=True), call("2")))))
    it.open()
    it.wait(lambda: len(it.rows) == 1)
    it.scene.desk.act("chat.calls")
    it.wait(lambda: len(it.rows) == 2)


def test_a_conversation_is_renamed_in_place_and_deleted_after_asking(chat: Open) -> None:
    it = chat(two())
    it.open(1)
    it.scene.window.list_pane.table.setFocus()
    it.scene.press(Qt.Key.Key_F2)
    it.scene.press("Better")
    it.scene.press(Qt.Key.Key_Return)
    it.wait(lambda: it.chats.renamed == [("chat_1", "Better")])
    it.wait(lambda: "Better" in it.words)
    it.scene.press(Qt.Key.Key_Delete)
    dialog = it.scene.window.findChild(ConfirmDialog)
    assert isinstance(dialog, ConfirmDialog)
    assert it.chats.deleted == []
    it.button("Delete").click()
    it.wait(lambda: it.chats.deleted == ["chat_1"])
    it.wait(lambda: it.scene.window.list_pane.table.model().rowCount() == 1)
    assert it.said != ["Hello", "Good day."]


def test_of_a_long_conversation_only_what_is_near_is_made_and_the_readers_place_is_kept(chat: Open) -> None:
    turns = [turn(number, f"Question {number}", Text("Words. " * 60)) for number in range(1, 401)]
    it = chat(FakeChats(conversation(listed(1), *turns)))
    it.open()
    it.wait(lambda: "Question 400" in it.said)
    assert len(it.transcript.viewport().children()) < 40
    bar = it.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    it.wait(lambda: "Question 400" not in it.said)
    it.say("One more")
    it.wait(lambda: "One more" in it.said)
    bar.setValue(bar.maximum() // 2)
    it.wait(lambda: "One more" not in it.said)
    before = places(it)
    it.chats.tell(Text("An answer below. " * 50))
    it.wait(lambda: it.button("New below").isVisible())
    assert places(it) == before
    it.button("New below").click()
    it.wait(lambda: any(text.startswith("An answer below.") for text in it.said))
    assert it.transcript.is_at_end


def places(it: Chat) -> dict[str, int]:
    """Where the questions of the conversation are on the screen."""
    found = [prose for prose in it.transcript.findChildren(Prose) if prose.isVisible() and prose.text.startswith("Q")]
    return {prose.text: prose.mapTo(it.transcript, prose.rect().topLeft()).y() for prose in found}


def test_whatever_ends_a_turn_the_field_is_given_back(chat: Open) -> None:
    class Broken(FakeChats):
        async def send(self, asked: ChatRequest) -> AsyncIterator[ChatEvent]:
            self.details["chat_x"] = conversation(replace(listed(1), id="chat_x"))
            yield Began("chat_x")
            yield Text("Half a")
            raise RuntimeError("the wire is cut")

    it = chat(Broken())
    it.write("Hello")
    it.enter()
    it.wait(lambda: "Ended by an error" in it.words)
    assert it.said == ["Hello", "Half a"]
    it.wait(lambda: any("the wire is cut" in word for word in it.words))
    it.write("again")
    assert it.button("Send").isEnabled()


def test_a_turn_that_goes_on_elsewhere_is_followed_and_the_place_kept(
    chat: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(section, "TICK_MS", 50)
    turns = [turn(number, f"Question {number}", Text("Words. " * 60)) for number in range(1, 31)]
    going = turn(31, "Elsewhere", Text("So far"), end="")
    it = chat(FakeChats(conversation(listed(1, busy=True), *turns, going)))
    it.open()
    it.wait(lambda: "So far" in it.said)
    assert not it.button("Send").isEnabled()
    bar = it.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    it.wait(lambda: "So far" not in it.said)
    before = places(it)
    done = turn(31, "Elsewhere", Text("So far, so good."))
    it.chats.details["chat_1"] = conversation(listed(1), *turns, done)
    it.wait(lambda: it.transcript.logs[-1].end == "model_stop")
    assert places(it) == before
    it.write("Now")
    assert it.button("Send").isEnabled()


def test_everything_has_a_name_and_is_reached_by_key(chat: Open) -> None:
    options = [ChoiceOption("a", "A"), ChoiceOption("b", "B")]
    items = [Reasoning("hm"), call("1"), call("2", "1"), Text("Yes."), Choice("q", "Which?", options, multi=True)]
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", *items))))
    it.open()
    page = it.scene.desk._section.page  # pyright: ignore[reportOptionalMemberAccess]
    shown = [one for one in controls(page) if one.isVisible() and one.isEnabled()]
    assert [one for one in shown if not one.accessibleName()] == []
    it.composer.take_keys()
    reached: list[QWidget | None] = []
    for _ in range(60):
        it.scene.press(Qt.Key.Key_Tab)
        reached.append(it.focused())
    by_arrows = {*it.transcript.findChildren(CallPart), *it.transcript.findChildren(ThoughtPart)}
    by_tab = [one for one in shown if one.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert [one.accessibleName() for one in by_tab if one not in reached and one not in by_arrows] == []
    assert by_arrows & set(reached)


def test_a_result_of_a_megabyte_is_there_to_its_last_character(chat: Open) -> None:
    result = {"text": "x" * 1_000_000, "last": "end\u200b"}
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", call("1", result=result)))))
    it.open()
    it.row("1").toggled.emit("1")
    view = next(one for one in it.transcript.findChildren(PayloadView) if one.accessibleName() == "Result")
    it.wait(lambda: view.is_complete)
    view.select_all()
    assert view.selected_text().endswith('"last": "end\u200b"\n}')
    it.wait(lambda: any("1 hidden character" in word for word in it.words))


def test_text_that_is_said_is_copied_as_it_was_written(chat: Open, qtbot: QtBot) -> None:
    said = "One\u202e two\n```python\nprint()\n```\n<b>three</b> " + "w" * 5000
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", Text(said)))))
    it.open()
    prose = next(one for one in it.transcript.findChildren(Prose) if one.text.startswith("One"))
    prose.setFocus()
    it.scene.press(Qt.Key.Key_A, modifier=Qt.KeyboardModifier.ControlModifier)
    assert prose.selected_text() == said
    assert "⟨U+202E⟩" in prose.accessibleDescription()
    prose.show_text(said + " and more")
    assert prose.selected_text() == said


def test_the_keyboard_stays_in_the_conversation_when_what_it_was_in_goes(chat: Open) -> None:
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", call("1"), call("2", internal=True), Text("Yes.")))))
    it.open()
    it.scene.desk.act("chat.calls")
    it.wait(lambda: len(it.rows) == 2)
    it.row("2").enter()
    assert it.focused() is it.row("2")
    it.scene.desk.act("chat.calls")
    it.wait(lambda: len(it.rows) == 1)
    assert it.focused() is it.row("1")
    it.composer.take_keys()
    it.scene.press(Qt.Key.Key_Up)
    assert it.focused() is it.row("1")
    it.scene.desk.act("chat.calls")
    it.wait(lambda: len(it.rows) == 2)
    it.scene.press(Qt.Key.Key_Down)
    assert it.focused() is it.row("2")


def test_while_the_agent_is_at_work_the_hint_says_so(chat: Open) -> None:
    it = chat()
    assert any(word.startswith("Enter sends") for word in it.words)
    it.say("Work")
    it.wait(lambda: any(word.startswith("The agent is at work") for word in it.words))
    assert not any(word.startswith("Enter sends") for word in it.words)
    it.chats.tell(Ended("model_stop"))
    it.wait(lambda: any(word.startswith("Enter sends") for word in it.words))


def test_an_internal_call_that_failed_is_everybodys_business(chat: Open) -> None:
    bad = call("1", name="present", state="failed", error="No such widget", internal=True)
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", bad, call("2", internal=True)))))
    it.open()
    it.wait(lambda: [row.split(",")[0] for row in it.rows] == ["present"])


def test_what_was_chosen_is_named_as_it_was_shown(chat: Open) -> None:
    options = [ChoiceOption("k", "Kettle"), ChoiceOption("t", "Toaster")]
    asked = turn(1, "Hi", Choice("q", "Which?", options))
    it = chat(FakeChats(conversation(listed(1), asked, turn(2, "t"), turn(3, "t"))))
    it.open()
    labels: list[list[str]] = []
    for part in it.transcript.findChildren(AskedPart):
        labels.append([one.text() for one in part.findChildren(MarkedLabel)])
    assert sorted(labels) == [[], [], ["Toaster"]]
    assert it.said == ["Hi", "t", "t"]


def test_of_very_many_calls_some_more_are_shown_at_a_time(chat: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_outline, "MOST_ROWS", 10)
    monkeypatch.setattr(turn_view, "MOST_ROWS", 10)
    monkeypatch.setattr(more_part, "MOST_ROWS", 10)
    calls = [call(str(number), internal=number >= 32) for number in range(40)]
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", *calls))))
    monkeypatch.setattr(transcript, "Unfolded", lambda: turn_outline.Unfolded(rows=10))
    it.open()
    for shown, words in ((10, "Show 10 more of 22 calls"), (20, "Show 10 more of 12 calls"), (30, "Show 2 more calls")):
        it.wait(lambda shown=shown: len(it.transcript.findChildren(CallPart)) == shown)
        it.button(words).click()
    it.wait(lambda: len(it.transcript.findChildren(CallPart)) == 32)


def test_new_below_is_said_only_of_what_is_new_and_below(chat: Open) -> None:
    it = chat()
    it.say("Go")
    it.chats.tell(Text("Words. " * 600))
    it.wait(lambda: it.transcript.verticalScrollBar().maximum() > 0)
    it.transcript._hold()
    it.transcript.renew(it.transcript.logs[-1])  # as every second
    it.transcript._arrange()
    assert it.transcript._new_below.isHidden()
    it.chats.tell(Text("More words. " * 100))
    it.wait(it.transcript._new_below.isVisible)


def test_what_ended_by_an_error_is_tried_again_with_its_files(chat: Open, tmp_path: Path) -> None:
    it = chat()
    (tmp_path / "a.txt").write_text("x")
    it.composer.add_paths([str(tmp_path / "a.txt")])
    it.wait(lambda: len(it.composer.files) == 1)
    it.say("Hello")
    it.chats.tell(Note("Too many requests.", error=True), Ended("error"))
    it.wait(lambda: it.button("Try again").isVisible())
    it.button("Try again").click()
    it.wait(lambda: len(it.chats.asked) == 2)
    assert it.chats.asked[1].message == "Hello"
    assert [file.filename for file in it.chats.asked[1].files] == ["a.txt"]
    it.chats.tell(Text("Good day."), Ended("model_stop"))
    it.wait(lambda: it.said[-1] == "Good day.")
    assert not [
        one for one in it.transcript.findChildren(QAbstractButton) if one.text() == "Try again" and one.isVisible()
    ]


def test_what_ended_by_an_error_earlier_comes_back_where_its_files_have_to_be_attached_again(chat: Open) -> None:
    failed = replace(turn(1, "Look at this", Note("No.", error=True), end="error"), files=("a.txt",))
    it = chat(FakeChats(conversation(listed(1), failed)))
    it.open()
    it.wait(lambda: it.button("Try again").isVisible())
    it.button("Try again").click()
    assert it.composer.text == "Look at this"
    assert any(word.startswith("Attach the files") for word in it.words)
    assert it.chats.asked == []


def test_a_long_line_is_broken_between_words_and_copied_as_it_was(chat: Open) -> None:
    words = "wonderful " * 500
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", Text(words.strip())))))
    it.open()
    it.wait(lambda: len(it.said) == 2)
    prose = next(one for one in it.transcript.findChildren(Prose) if one.text.startswith("wonderful"))
    assert len(prose._lines) > 1
    assert all(line.text.endswith("wonderful ") for line in prose._lines[:-1])
    it.qtbot.keyClick(prose, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert prose.selected_text() == words.strip()


def test_a_long_result_that_was_cut_off_is_shown_as_it_is(chat: Open) -> None:
    cut = '{"rows": ["' + "x" * 3000 + "\n[... truncated]"
    it = chat(FakeChats(conversation(listed(1), turn(1, "Hi", call("1", result=cut)))))
    it.open()
    it.row("1").toggled.emit("1")
    it.wait(lambda: cut in it.said)
