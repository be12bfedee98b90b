"""A conversation as a model is given it, from what was kept."""

from __future__ import annotations

from dataclasses import replace

from runtime_core.agents.scripted import ScriptedModel
from runtime_core.agents.turns import File, Message, ToolCall
from runtime_core.chat.transcript import UNFINISHED, body_of, for_model, messages, withheld
from runtime_core.wire.chats import ChatCall, ChatEntry, ChatRole
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.runs import RunRow, RunStatus

CALL = ToolCall("look", JsonText('{"id":1}'), "c1")
ASKED = Message("user", "Late?", files=[File("a.png", "image/png", "aGk=")])
CALLS = Message("assistant", "I look.", [CALL], reasoning="hm", raw=JsonText('{"x":1}'))
RESULT = Message("tool", '{"late":2}', call=CALL)
SAID = Message("assistant", "Two.")


def entries(*said: Message | tuple[ChatRole, JsonText], turn: int = 1) -> list[ChatEntry]:
    kept: list[tuple[ChatRole, JsonText]] = [
        (one.role, body_of(one)) if isinstance(one, Message) else one for one in said
    ]
    return [ChatEntry(turn, role, body, 1.0) for role, body in kept]


END: tuple[ChatRole, JsonText] = ("end", JsonText('{"reason":"model_stop"}'))


def test_what_was_said_comes_back_whole() -> None:
    kept = entries(ASKED, CALLS, ("event", JsonText('{"type":"warning","message":"odd"}')), RESULT, SAID, END)
    assert messages(kept) == [
        Message("user", "Late?", [], [File("a.png", "image/png", "aGk=")]),
        Message("assistant", "I look.", [CALL], [], reasoning="hm", raw=JsonText('{"x":1}')),
        Message("tool", '{"late":2}', [], [], call=CALL),
        Message("assistant", "Two.", [], []),
    ]


def test_every_call_of_a_turn_that_was_cut_has_a_result() -> None:
    second = ToolCall("count", JsonText("{}"))
    kept = entries(ASKED, Message("assistant", "", [CALL, second]), RESULT) + entries(SAID, END, turn=2)
    said = messages(kept)
    assert [(one.role, one.call, one.text) for one in said if one.role == "tool"] == [
        ("tool", CALL, '{"late":2}'),
        ("tool", second, UNFINISHED),
    ]
    assert [one.role for one in said] == ["user", "assistant", "tool", "tool", "assistant"]


def test_a_call_that_began_a_run_before_its_turn_was_cut_names_the_run() -> None:
    first, second = ToolCall("look", JsonText("{}")), ToolCall("ship", JsonText("{}"))
    kept = entries(ASKED, Message("assistant", "", [first]), Message("tool", "{}", call=first))
    kept += entries(Message("assistant", "", [second]), turn=1)
    began = ChatCall(1, "1", "tool", "ship", "running", 1.0, run_id="dur_1")
    *_, told = messages(kept, [began], {"dur_1": run("running")})
    assert told.call == second
    assert '"status":"running","session_id":"dur_1"' in told.text
    *_, known = messages(kept, [began], {"dur_1": run("completed")})
    assert loads(known.text) == {"durable": True, "status": "completed", "session_id": "dur_1", "result": "shipped"}
    for calls in ([], [began]):  # its run was never made
        *_, unknown = messages(kept, calls)
        assert unknown.text == UNFINISHED


def test_what_became_of_a_run_is_said_of_the_call_that_began_it_and_of_no_other() -> None:
    parked = JsonText('{"durable":true,"status":"awaiting-input","session_id":"dur_1"}')
    kept = entries(ASKED, Message("assistant", "", [CALL, CALL]), Message("tool", parked), Message("tool", parked))
    calls = [
        ChatCall(1, "0", "tool", "look", "ok", 1.0, 2.0, output=parked),  # its handler says what a run would
        ChatCall(1, "1", "tool", "look", "ok", 1.0, 2.0, output=parked, run_id="dur_1"),
    ]
    forged, told = messages(kept, calls, {"dur_1": run("completed")})[-2:]
    assert forged.text == parked
    assert loads(told.text) == {"durable": True, "status": "completed", "session_id": "dur_1", "result": "shipped"}


def run(status: RunStatus) -> RunRow:
    begun = RunRow("dur_1", "ship", "/desk", "r1", status, 1, JsonText("{}"), "ann", 1.0, 1.0)
    return replace(begun, result=JsonText('"shipped"'), finished_at=9.0) if status == "completed" else begun


def test_what_a_hook_kept_from_the_model_stays_away_from_it() -> None:
    held: tuple[ChatRole, JsonText] = ("user", body_of(Message("user", "my card is 4111"), held=True))
    after = entries(ASKED, SAID, END, turn=2)
    blocked: tuple[ChatRole, JsonText] = ("end", dumps({"reason": "error", "blocked": "input"}))
    for kept in (entries(held, blocked), entries(held, END), entries(held)):  # the last one died meanwhile
        assert [one.text for one in messages(kept + after)] == ["Late?", "Two."]
    passed: tuple[ChatRole, JsonText] = ("passed", JsonText("{}"))
    assert [one.text for one in messages(entries(held, passed) + after)] == ["my card is 4111", "Late?", "Two."]


def test_the_words_of_an_answer_that_a_hook_held_back_are_not_kept() -> None:
    kept = withheld(Message("assistant", "the secret", [CALL], reasoning="secret", raw=JsonText('"secret"')), "no")
    assert "the secret" not in kept
    assert '"secret"' not in kept
    (said, result) = messages(entries(("assistant", kept)))
    assert (said.text, said.tool_calls) == ("[This answer was withheld.]", [CALL])
    assert result.text == UNFINISHED


def test_files_that_the_model_does_not_take_are_named_instead() -> None:
    class Blind(ScriptedModel):
        def takes(self, mime_type: str) -> bool:
            return mime_type == "image/png"

    note = File("note.pdf", "application/pdf", "aGk=")
    said, lacking = for_model([Message("user", "See", files=[*ASKED.files, note])], Blind([]))
    assert lacking == [note]
    assert said[0].files == [*ASKED.files]
    assert said[0].text == "See\n\n[Files that you cannot see: note.pdf]"


def test_a_damaged_message_is_words_about_the_damage() -> None:
    (said,) = messages([ChatEntry(1, "user", JsonText('{"code":"value-damaged","message":"It is damaged."}'), 1.0)])
    assert said.text == "It is damaged."
