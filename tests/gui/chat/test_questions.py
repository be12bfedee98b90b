"""Questions of durable runs within a conversation: the inbox's own, in step with it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from inbox_app.chat.question import QuestionPart
from inbox_app.gateway.base import Batch, GatewayError, Outcome, Pause, RunDetail
from inbox_app.gateway.chats import ChatTurn, Text
from inbox_app.state.drafts import Draft
from inbox_app.widgets.option_row import OptionRow
from tests.gui.chat.conftest import Chat, Open
from tests.gui.test_window import texts
from tests.support.builders import NOW, decision, detail, option, pause, run
from tests.support.chat_scenes import call
from tests.support.fake_chats import FakeChats, conversation, session

RUN = "dur_ship"


def asked(number: int = 1, **fields: object) -> Pause:
    options = [option("leipzig", "Leipzig"), option("lyon", "Lyon"), option("none", "Do not ship")]
    known = {"input_type": "choice", "options": options, "question": f"Which warehouse ({number})?"} | fields
    return pause(number, id=f"{RUN}.{number}", run_id=RUN, asked_at=NOW - 60 + number, **known)  # pyright: ignore[reportArgumentType]


def waiting(*pauses: Pause, **fields: object) -> RunDetail:
    return detail(run(id=RUN, tool="ship", status="awaiting-input"), pauses=pauses, **fields)  # pyright: ignore[reportArgumentType]


def start(chat: Open, *pauses: Pause, **fields: object) -> Chat:
    turn = ChatTurn(
        1,
        "Ship it",
        NOW - 90,
        items=[Text("I ask."), call("1", name="ship", state="waiting", seconds=None, run_id=RUN)],
        end="model_stop",
    )
    it = chat(FakeChats(conversation(session(1), turn)), pauses=pauses, details=[waiting(*pauses)], **fields)
    it.open()
    it.wait(lambda: len(it.questions) == len(pauses))
    return it


def focus(it: Chat, qtbot: QtBot, at: int = 0) -> QuestionPart:
    part = it.questions[at]
    part.enter()
    qtbot.waitUntil(lambda: any(text.startswith("All read") for text in texts(part)))
    return part


def picked(part: QuestionPart) -> list[bool]:
    return [row.isChecked() for row in part.findChildren(OptionRow)]


def test_a_question_is_picked_by_key_and_sent_only_by_ctrl_enter(chat: Open, qtbot: QtBot) -> None:
    it = start(chat, asked())
    part = focus(it, qtbot)
    it.scene.press(Qt.Key.Key_Return, Qt.Key.Key_Space)
    assert picked(part) == [False, False, False]
    it.scene.press("2")
    assert picked(part) == [False, True, False]
    it.scene.press(Qt.Key.Key_Return, Qt.Key.Key_Space)
    assert it.gateway.answers == []
    qtbot.waitUntil(lambda: it.scene.desk.can_send)
    it.gateway.reply = Outcome("complete", RUN)
    it.enter(Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: [answer.value for answer in it.gateway.answers] == ["lyon"])
    qtbot.waitUntil(lambda: any("The run is complete" in text for text in texts(part)))
    assert not part.is_answerable
    assert it.chats.asked == []


def test_the_list_marks_where_a_person_is_asked_until_it_is_answered(chat: Open, qtbot: QtBot) -> None:
    it = start(chat, asked(raw={"parent_session_id": "chat_1"}))
    row = it.scene.window.list_pane.table.model().index(0, 0)
    qtbot.waitUntil(lambda: "Asks you" in row.data())
    it.gateway.push(Batch(closed=[asked().id], outcomes={asked().id: "answered"}, total=0))
    qtbot.waitUntil(lambda: "Asks you" not in row.data())


def test_digits_belong_to_what_is_written_when_the_keyboard_is_there(chat: Open, qtbot: QtBot) -> None:
    it = start(chat, asked())
    part = focus(it, qtbot)
    it.write("2 of them")
    it.enter(Qt.KeyboardModifier.ControlModifier)
    assert picked(part) == [False, False, False]
    qtbot.waitUntil(lambda: [one.message for one in it.chats.asked] == ["2 of them"])
    assert it.gateway.answers == []


def test_a_pick_here_is_the_draft_of_the_inbox_and_the_other_way_round(chat: Open, qtbot: QtBot) -> None:
    it = start(chat, asked())
    focus(it, qtbot)
    it.scene.press("3")
    kept = it.scene.drafts.get(asked().id)
    assert kept is not None
    assert kept.pick == 2
    it.button("Open in inbox").click()
    assert it.scene.desk.view == "inbox"
    assert it.scene.current == asked().id
    qtbot.waitUntil(lambda: [row.isChecked() for row in it.scene.window.reading.findChildren(OptionRow)][-1])
    it.scene.wait_awake(qtbot)
    it.scene.press("1")
    it.scene.desk.show_view("chat")
    qtbot.waitUntil(lambda: picked(it.questions[0]) == [True, False, False])


def test_sending_here_is_seen_in_the_inbox_and_can_be_undone(chat: Open, qtbot: QtBot) -> None:
    it = start(chat, asked(), undo_seconds=30.0)
    part = focus(it, qtbot)
    it.scene.press("1")
    qtbot.waitUntil(lambda: it.scene.desk.can_send)
    it.enter(Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: any(text.startswith("Sending “Leipzig” in") for text in texts(part)))
    it.scene.desk.show_view("inbox")
    it.scene.desk._on_go_to_pause(asked().id)
    qtbot.waitUntil(lambda: any("Sending “Leipzig”" in text for text in texts(it.scene.window.reading)))
    it.scene.desk.undo()
    it.scene.desk.show_view("chat")
    qtbot.waitUntil(lambda: it.questions[0].is_answerable)
    assert picked(it.questions[0]) == [True, False, False]
    assert it.gateway.answers == []


def test_answered_elsewhere_it_says_who_and_the_next_question_stands_below(chat: Open, qtbot: QtBot) -> None:
    first, second = asked(1), asked(2)
    it = start(chat, first)
    part = it.questions[0]
    made = decision(first.id, value="lyon", by="local:tom")
    it.gateway.details[RUN] = waiting(second, decisions=[made])
    it.gateway.push(Batch(closed=[first.id], opened=[second], outcomes={first.id: "answered"}, total=1))
    qtbot.waitUntil(lambda: any(text.startswith("Answered by local:tom") for text in texts(part)))
    assert not part.is_answerable
    qtbot.waitUntil(lambda: [one.pause_id for one in it.questions] == [first.id, second.id])
    below = it.questions[1]
    qtbot.waitUntil(lambda: below.y() > part.y() > 0)
    assert below.is_answerable


def test_what_was_answered_before_is_summed_up_and_the_result_of_the_run_shown(chat: Open, qtbot: QtBot) -> None:
    first = asked(1)
    it = start(chat, first)
    made = decision(first.id, value="lyon", by="local:tom")
    done = run(id=RUN, tool="ship", status="completed", result={"shipped": "lyon"})
    it.gateway.details[RUN] = detail(done, decisions=[made])
    it.gateway.push(Batch(closed=[first.id], runs=[done], outcomes={first.id: "answered"}, total=0))
    qtbot.waitUntil(lambda: not it.rows[0].startswith("ship, waiting"))
    it.row("1").toggled.emit("1")
    qtbot.waitUntil(lambda: "Result" in it.words)
    it.scene.desk.act("chat.new")
    it.open(1)
    qtbot.waitUntil(lambda: any(text.startswith("Answered by local:tom") for text in it.words))


def test_a_text_is_answered_in_the_conversation(chat: Open, qtbot: QtBot) -> None:
    it = start(chat, asked(input_type="text", options=None))
    part = focus(it, qtbot)
    it.scene.press(Qt.Key.Key_Tab, Qt.Key.Key_Tab)
    it.scene.press("by 2 trucks")
    qtbot.waitUntil(lambda: it.scene.desk.can_send)
    it.enter(Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: [answer.value for answer in it.gateway.answers] == ["by 2 trucks"])
    assert part.run_id == RUN


def test_an_answer_that_is_refused_says_why_and_is_kept(chat: Open, qtbot: QtBot) -> None:
    it = start(chat, asked())
    part = focus(it, qtbot)
    it.gateway.reply = GatewayError("answerer_not_allowed", "Only ops-leads can answer.")
    it.scene.press("1")
    qtbot.waitUntil(lambda: it.scene.desk.can_send)
    it.enter(Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: "Only ops-leads can answer." in texts(part))
    assert it.scene.drafts.get(asked().id) is not None


@pytest.mark.parametrize("edits", ['{"parcel": "p_78"}', "{"], ids=["valid", "broken"])
def test_what_was_edited_in_the_inbox_is_shown_and_sent(chat: Open, qtbot: QtBot, edits: str) -> None:
    asks = asked(allow_edits=True, context={"parcel": "p_77"})
    it = start(chat, asks)
    it.scene.desk._on_draft_changed(Draft(asks.id, asks.fingerprint, pick=0, edits=edits))
    it.scene.desk.show_view("inbox")
    it.scene.desk.show_view("chat")
    part = it.questions[0]
    if edits == "{":
        qtbot.waitUntil(lambda: any("The edit cannot be sent yet" in text for text in texts(part)))
        return
    focus(it, qtbot)
    qtbot.waitUntil(lambda: it.scene.desk.can_send)
    it.enter(Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: [answer.edits for answer in it.gateway.answers] == [{"parcel": "p_78"}])


def test_what_was_not_in_view_keeps_it_from_being_sent(chat: Open, qtbot: QtBot) -> None:
    it = start(chat, asked(context={f"field {at}": "x" for at in range(60)}))
    part = it.questions[0]
    part.enter()
    qtbot.waitUntil(lambda: any("lines not yet seen" in text for text in texts(part)))
    it.scene.press("1")
    it.enter(Qt.KeyboardModifier.ControlModifier)
    assert it.gateway.answers == []

    def seen() -> bool:
        found = [one for one in part.findChildren(type(it.button("Open in inbox"))) if one.text() == "Show them"]
        for one in found:
            if one.isVisible():
                one.click()
        return it.scene.desk.can_send

    qtbot.waitUntil(seen)


def test_escape_leaves_the_field_of_a_question_then_the_page(chat: Open, qtbot: QtBot) -> None:
    it = start(chat, asked())
    part = focus(it, qtbot)
    it.scene.press("r")
    assert isinstance(it.focused(), QLineEdit)
    it.scene.press(Qt.Key.Key_Escape)
    assert it.focused() is part
    it.scene.press(Qt.Key.Key_Escape)
    assert it.scene.table.hasFocus()


def test_what_is_being_answered_stays_where_it_is_while_the_agent_talks_on(chat: Open, qtbot: QtBot) -> None:
    it = start(chat, asked())
    it.say("Meanwhile")
    part = it.questions[0]
    part.enter()
    qtbot.waitUntil(lambda: not it.transcript.is_at_end)
    before = part.mapTo(it.transcript, part.rect().topLeft()).y()
    it.chats.tell(Text("Line.\n" * 60))
    qtbot.waitUntil(lambda: it.button("New below").isVisible())
    qtbot.waitUntil(lambda: it.transcript.logs[-1].branches[""] != [])
    assert part.mapTo(it.transcript, part.rect().topLeft()).y() == before


def test_an_answer_that_is_held_is_taken_back_in_its_card_or_elsewhere_not_twice(chat: Open, qtbot: QtBot) -> None:
    it = start(chat, asked(), undo_seconds=60.0)
    part = focus(it, qtbot)
    it.scene.press("2")
    qtbot.waitUntil(lambda: it.scene.desk.can_send)
    it.enter(Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: any(text.startswith("Sending “Lyon”") for text in texts(part)))
    assert it.scene.window.toast.isHidden()
    it.composer.take_keys()
    qtbot.waitUntil(it.scene.window.toast.isVisible)


def test_a_call_that_somebody_did_not_allow_reads_as_denied(chat: Open) -> None:
    made = call("1", name="refund", state="failed", error="Tool call denied by user", run_id=RUN)
    gate = replace(run(id=RUN, tool="refund", status="completed"), finished_at=NOW)
    details = [detail(gate, decisions=[decision(f"{RUN}.1", outcome="refused")])]
    it = chat(
        FakeChats(conversation(session(1), ChatTurn(1, "Go", NOW, items=[made], end="model_stop"))), details=details
    )
    it.open()
    it.wait(lambda: [row.split(", ")[1] for row in it.rows] == ["denied"])


def test_a_call_that_went_on_as_a_run_is_called_as_done_once_the_run_is(chat: Open) -> None:
    told = {"durable": True, "status": "running", "session_id": RUN}
    made = replace(
        call("1", label="Shipping", state="waiting", seconds=None, run_id=RUN, result=told), done_label="Shipped"
    )
    details = [detail(replace(run(id=RUN, tool="ship", status="completed"), finished_at=NOW))]
    it = chat(
        FakeChats(conversation(session(1), ChatTurn(1, "Go", NOW, items=[made], end="model_stop"))), details=details
    )
    it.open()
    it.wait(lambda: [row.split(", ")[:2] for row in it.rows] == [["Shipped", "done"]])


def test_what_is_typed_into_a_card_that_closes_meanwhile_becomes_no_command_and_no_message(
    chat: Open, qtbot: QtBot
) -> None:
    it = start(chat, asked(input_type="text", options=None))
    part = focus(it, qtbot)
    it.scene.press(Qt.Key.Key_Tab, Qt.Key.Key_Tab)
    it.scene.press("Send the ")
    it.gateway.details[RUN] = waiting(decisions=[decision(asked().id, value="x", by="local:tom")])
    it.gateway.push(Batch(closed=[asked().id], outcomes={asked().id: "answered"}, total=0))
    qtbot.waitUntil(lambda: any(text.startswith("Answered by local:tom") for text in texts(part)))
    it.scene.press("map, soon")
    it.enter(Qt.KeyboardModifier.ControlModifier)
    it.enter()
    where = it.focused()
    assert where is not None
    assert part.isAncestorOf(where)
    assert it.composer.text == ""
    assert it.chats.asked == []
    assert it.gateway.answers == []
    qtbot.waitUntil(lambda: it.focused() is part)
    it.scene.press("m")
    assert it.composer.has_focus
