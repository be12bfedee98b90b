"""Turns of conversations on a runtime: what is told while they go on, and what is kept of them."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runtime_core.runtime import Runtime
from runtime_core.wire.chats import ChatEntry, ChatRow
from runtime_core.wire.codes import RuntimeFault
from tests.unit.chat.talking import Talker, of_type, talking
from tests.unit.engine.workshop import Repo, play

Said = dict[str, Any]


def desk(root: Path, *replies: Said, **manifest: Any) -> Repo:
    repo = Repo(root, models={"main": {"provider": "scripted", "model": "script.json"}}, **manifest)
    repo.agent("default", tools=["look", "save", "stop_execution"])
    repo.tool("look", py="return {'late': params.get('id')}", effect="read")
    repo.tool("save", py="raise ValueError('the shelf is full')")
    repo.script(*replies)
    return repo


def calls(name: str, text: str = "", match: str | None = None, **args: Any) -> Said:
    found: Said = {"text": text, "tool_calls": [{"name": name, "args": args}]}
    return {**found, "match": match} if match is not None else found


def test_an_answer_is_told_in_pieces_and_kept(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"text": "Two are late.", "usage": {"input_tokens": 7, "output_tokens": 3}})

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("Which are late?")
            pieces = of_type(told, "text_delta")
            assert [one["content"] for one in pieces] == ["Two ", "are ", "late."]
            assert (told[-1]["reason"], told[-1]["usage"]["total_tokens"]) == ("model_stop", 10)
            session = await talker.session()
            assert [(one["role"], one["text"]) for one in session["messages"]] == [
                ("user", "Which are late?"),
                ("assistant", "Two are late."),
            ]
            assert (session["title"], session["model"].endswith("script.json")) == ("Which are late?", True)
            assert session["token_usage"]["total_tokens"] == 10

    play(story())


def test_the_next_turn_knows_what_was_said_before_also_after_a_restart(tmp_path: Path) -> None:
    repo = desk(
        tmp_path / "desk",
        calls("look", "I look.", match="^late", id=3),
        {"match": "late", "text": "Number 3."},
        {"match": "^and", "text": "{{last_tool_result}}"},
    )

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            assert Talker.text(await talker.say("late?")) == "I look.Number 3."
            session_id = talker.session_id
        async with talking(repo, tmp_path / "data") as talker:
            talker.session_id = session_id
            assert Talker.text(await talker.say("and?")) == '{"late":3}'
            session = await talker.session()
            (made,) = session["messages"][1]["toolCalls"]
            assert (made["toolName"], made["args"], made["parameters"]) == ("look", {"id": 3}, {"id": 3})
            assert json.loads(made["result"]) == {"late": 3}
            assert [turn["end"]["reason"] for turn in session["turns"]] == ["model_stop", "model_stop"]

    play(story())


def test_what_is_wrong_with_a_call_is_told_on_its_card_and_to_the_model(tmp_path: Path) -> None:
    repo = desk(
        tmp_path / "desk",
        calls("save", match="^go"),
        calls("unknown", match="shelf is full"),
        {"match": "not available", "text": "Nothing works."},
    )

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("go")
            assert [(one["status"], one["error"]) for one in of_type(told, "tool_call_result")] == [
                ("error", 'Tool "save" failed: the shelf is full'),
                ("error", 'Tool "unknown" is not available to the agent "default".'),
            ]
            assert Talker.text(told) == "Nothing works."

    play(story())


def test_of_a_long_result_the_beginning_is_told(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", calls("long"), {"text": "Long."})
    repo.agent("default", tools=["long"])
    repo.tool("long", py="return 'x' * 200_000")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            (ended,) = of_type(await talker.say("go"), "tool_call_result")
            assert ended["result"] == "x" * 50_000 + "\n[... truncated]"
            (made,) = (await talker.session())["messages"][1]["toolCalls"]
            assert made["result"] == ended["result"]

    play(story())


def test_a_trigger_answers_before_the_model_and_is_part_of_the_conversation(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"match": "^after", "text": "{{last_tool_result}}"})
    trigger = {"kind": "regex", "pattern": r"^look\s+(?<id>p_\d+)( (?<more>\w+))?$", "flags": "i"}
    repo.tool("aaa", py="return {'message': 'Seen ' + params['id'], 'given': params}", triggers=[trigger])
    repo.tool("bbb", py="return 1", triggers=[trigger])

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("LOOK p_77")
            assert [one["type"] for one in told] == [
                "init",
                "tool_call_start",
                "tool_call_result",
                "text_delta",
                "done",
            ]
            assert (told[1]["tool_name"], told[1]["parameters"]) == ("aaa", {"id": "p_77"})
            assert Talker.text(told) == "Seen p_77"
            assert json.loads(Talker.text(await talker.say("after"))) == {
                "message": "Seen p_77",
                "given": {"id": "p_77"},
            }

    play(story())


def test_no_trigger_is_tried_on_an_option_that_the_agent_gave(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"match": "", "text": "Nothing done."})
    repo.tool("boom", py="raise SystemExit", triggers=[{"kind": "regex", "pattern": r"^boom (?<t>\S+)$"}])

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("boom prod", is_choice=True)
            assert of_type(told, "tool_call_start") == []
            assert Talker.text(told) == "Nothing done."
            assert of_type(await talker.say("boom prod"), "tool_call_start") != []

    play(story())


def test_a_trigger_may_leave_the_answer_to_the_model(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"match": "shelf", "text": "It failed."}, {"text": "So: {{last_tool_result}}"})
    for name, body in (("find", "return [1, 2]"), ("lose", "raise ValueError('the shelf is empty')")):
        repo.tool(name, py=body, triggers=[{"kind": "regex", "pattern": f"^{name}", "continueToLLM": True}])

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            assert Talker.text(await talker.say("find it")) == 'So: {"result":[1,2]}'
            told = await talker.say("lose it")
            assert of_type(told, "tool_call_result")[0]["status"] == "error"
            assert Talker.text(told) == "It failed."

    play(story())


def test_a_durable_trigger_waits_until_its_run_asks(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk")
    repo.durable("ask", py="return (await ctx.request_input('Which dock?'))['value']")
    repo.tool(
        "ask",
        py="return (await ctx.request_input('Which dock?'))['value']",
        execution="durable",
        triggers=[{"kind": "regex", "pattern": "^dock$"}],
    )

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("dock")
            (ended,) = of_type(told, "tool_call_result")
            envelope = json.loads(ended["result"])
            assert (envelope["status"], envelope["question"]) == ("awaiting_operator", "Which dock?")
            assert ended["durable_session_id"] == envelope["session_id"]
            (update,) = of_type(told, "tool_call_update")
            assert update["durable_session_id"] == envelope["session_id"]
            run = (await talker.desk.detail(envelope["session_id"]))["run"]
            assert run["parent_session_id"] == talker.session_id

    play(story())


@pytest.mark.parametrize("answer", ["north", None])
def test_the_agent_knows_later_what_became_of_a_run(tmp_path: Path, answer: str | None) -> None:
    repo = desk(
        tmp_path / "desk",
        calls("dock", match="^go"),
        {"match": "awaiting_operator", "text": "I ask."},
        {"match": "^and", "text": "{{last_tool_result}}", "repeat": True},
    )
    repo.agent("default", tools=["dock"])
    repo.durable("dock", py="return (await ctx.request_input('Which dock?'))['value']")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            (ended,) = of_type(await talker.say("go"), "tool_call_result")
            run_id = ended["durable_session_id"]
            assert json.loads(Talker.text(await talker.say("and now?")))["status"] == "awaiting_operator"
            if answer is not None:
                await talker.desk.answer(run_id, answer)
            else:
                await talker.runtime.cancel(run_id, who="ann")
            known = json.loads(Talker.text(await talker.say("and now?")))
            assert known["session_id"] == run_id
            if answer is not None:
                assert (known["status"], known["result"]) == ("completed", "north")
            else:
                assert known["status"] == "cancelled"
                assert "ann" in known["error"]

    play(story())


def test_a_skill_that_is_read_is_told(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", calls("load_knowledge", document="late-parcels"), {"text": "I know how."})
    repo.agent("default", tools=["load_knowledge"], skills=["late-parcels"])
    repo.file("skills/late-parcels/SKILL.md", "---\nname: late-parcels\ndescription: What to do.\n---\nWait.")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            (told,) = of_type(await talker.say("go"), "skill_activated")
            assert told["skill_name"] == "late-parcels"

    play(story())


def test_a_model_may_stop_and_may_use_up_what_it_may_take(tmp_path: Path) -> None:
    repo = desk(
        tmp_path / "desk",
        calls("stop_execution", match="^stop", reason="it is done"),
        {"match": "^first", "text": "Yes.", "usage": {"input_tokens": 90, "output_tokens": 20}},
    )

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("stop")
            assert told[-1]["reason"] == "model_stop"
            assert of_type(told, "warning")[0]["message"] == "The agent ended its turn: it is done"
            assert (await talker.say("first", max_session_tokens=100))[-1]["reason"] == "model_stop"
            told = await talker.say("second", max_session_tokens=100)
            assert told[-1]["reason"] == "budget_exceeded"
            assert "has used up the 100 tokens" in of_type(told, "warning")[0]["message"]

    play(story())


def test_a_choice_ends_the_turn_and_is_made_with_the_next_message(tmp_path: Path) -> None:
    options = [{"label": "North", "value": "n"}, {"label": "South", "value": "s"}]
    repo = desk(
        tmp_path / "desk",
        calls("ask_choice", text="Two docks are free.", match="^go", question="Which dock?", options=options),
        {"match": "^s$", "text": "South it is."},
    )
    repo.agent("default", tools=["ask_choice"])

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("go")
            (asked,) = of_type(told, "ask_choice")
            assert [option["value"] for option in asked["options"]] == ["n", "s"]
            assert (Talker.text(told), told[-1]["reason"]) == ("Two docks are free.", "model_stop")
            assert of_type(told, "warning") == []
            assert Talker.text(await talker.say("s")) == "South it is."
            session = await talker.session()
            assert [turn["end"]["reason"] for turn in session["turns"]] == ["model_stop", "model_stop"]

    play(story())


@pytest.mark.parametrize("code", ["rate_limited", "unavailable", "bad_key"])
def test_a_failing_model_ends_the_turn_with_a_code(tmp_path: Path, code: str) -> None:
    repo = desk(tmp_path / "desk", {"match": "^go", "error": code}, {"text": "Here again."})

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("go")
            assert (of_type(told, "error")[0]["code"], told[-1]["reason"]) == (code, "error")
            assert Talker.text(await talker.say("now")) == "Here again."

    play(story())


def test_what_was_said_until_a_person_stops_it_is_kept(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", calls("wait", "A moment.", match="^go"), {"text": "Here."})
    repo.agent("default", tools=["wait"])
    repo.tool("wait", py="import asyncio\nawait asyncio.sleep(60)", timeout=100_000)

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            stream = talker.events("go")
            told: list[Said] = []
            async for one in stream:
                told.append(one)
                if one["type"] == "tool_call_start":
                    assert await talker.runtime.chats.stop(str(talker.session_id))
            assert (told[-2]["type"], told[-2]["error"], told[-1]["reason"]) == (
                "tool_call_result",
                "Stopped",
                "user_abort",
            )
            session = await talker.session()
            assert session["messages"][1]["text"] == "A moment."
            assert session["turns"][0]["end"]["reason"] == "user_abort"
            assert Talker.text(await talker.say("now")) == "Here."

    play(story())


def test_a_durable_run_goes_on_when_its_turn_is_stopped(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", calls("work", match="^go"), {"match": "^and", "text": "{{last_tool_result}}"})
    repo.agent("default", tools=["work"])
    repo.durable("work", py="return await ctx.call_tool('slow', {})", tools=("slow",))
    repo.tool("slow", py="import asyncio\nawait asyncio.sleep(0.3)\nreturn 'done'")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            await talker.runtime.recover()  # it advances whatever is there
            run_id = ""
            async for one in talker.events("go"):
                if one["type"] == "tool_call_update":
                    run_id = one["durable_session_id"]
                    await talker.runtime.chats.stop(str(talker.session_id))
            await talker.desk.until("run", session_id=run_id, status="completed")
            assert (await talker.desk.detail(run_id))["run"]["result"] == "done"
            known = json.loads(Talker.text(await talker.say("and?")))
            assert (known["session_id"], known["status"], known["result"]) == (run_id, "completed", "done")

    play(story())


def test_a_runtime_that_closes_ends_its_turns_as_interrupted(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"text": "Late.", "delay_ms": 60_000})

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            stream = talker.events("go")
            await anext(stream)
            closing = asyncio.create_task(talker.runtime.chats.close())
            assert [one["reason"] async for one in stream] == ["interrupted"]
            await closing

    play(story())


def test_whoever_closes_the_stream_stops_the_turn(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"match": "^go", "text": "Late.", "delay_ms": 60_000}, {"text": "Here."})

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            stream = talker.events("go")
            await anext(stream)
            await stream.aclose()
            (turn,) = (await talker.session())["turns"]
            assert turn["end"]["reason"] == "user_abort"
            assert list(talker.runtime.chats.working) == []
            assert Talker.text(await talker.say("now")) == "Here."

    play(story())


def test_a_turn_is_told_to_end_although_its_end_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = desk(tmp_path / "desk", {"text": "Fine.", "repeat": True})
    is_full = True

    async def story() -> None:
        nonlocal is_full
        async with talking(repo, tmp_path / "data") as talker:
            store = talker.runtime.chats._journal.record_chat  # pyright: ignore[reportPrivateUsage]

            async def record(row: ChatRow, entries: Sequence[ChatEntry], *more: Any) -> None:
                if is_full and any(entry.role == "end" for entry in entries):
                    raise OSError("the disk is full")
                await store(row, entries, *more)

            monkeypatch.setattr(talker.runtime.chats._journal, "record_chat", record)  # pyright: ignore[reportPrivateUsage]
            told = await talker.say("go")
            assert [one["message"] for one in of_type(told, "error")] == [
                "The end of this turn cannot be kept: OSError: the disk is full"
            ]
            is_full = False
            assert Talker.text(await talker.say("again")) == "Fine."

    play(story())


def test_one_turn_at_a_time(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"match": "^slow", "text": "Late.", "delay_ms": 60_000}, {"text": "Here."})

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            stream = talker.events("slow")
            await anext(stream)
            with pytest.raises(RuntimeFault, match="still answers") as refused:
                await talker.say("me too")
            assert refused.value.code == "chat_busy"
            assert (await talker.session())["busy"]
            await stream.aclose()
            assert Talker.text(await talker.say("me too")) == "Here."

    play(story())


def test_a_conversation_that_is_deleted_in_a_turn_is_gone(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"text": "Late.", "delay_ms": 60_000})

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            stream = talker.events("go")
            await anext(stream)
            await talker.runtime.chats.delete(str(talker.session_id))
            assert [one["type"] async for one in stream] == ["done"]
            with pytest.raises(RuntimeFault, match="no conversation"):
                await talker.session()

    play(story())


def test_only_the_process_that_executes_talks_and_others_look_on(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"text": "Here."})

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            await talker.say("go")
            other = Runtime(tmp_path / "data", execute=False)
            await other.open()
            try:
                (known,) = (await other.chats.history())["sessions"]
                assert known["id"] == talker.session_id
                assert (await other.chats.session(known["id"]))["turns"][0]["end"]["reason"] == "model_stop"
                with pytest.raises(RuntimeFault) as refused:
                    await anext(other.chats.send(talker.request("x")))
                assert refused.value.code == "not_executing"
            finally:
                await other.close()

    play(story())


def test_which_conversation_goes_on(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"text": "Here.", "repeat": True})
    repo.agent("other")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:

            async def said_in(**more: Any) -> str:
                return (await talker.say("x", **{"session_id": None, **more}))[0]["session_id"]

            plain, north = await said_in(), await said_in(scope="north")
            assert plain != await said_in()
            assert north == await said_in(scope="north")
            assert north != await said_in(scope="north", agent="other")
            assert north != await said_in(scope="north", source="automation")
            assert plain == await said_in(session_id=plain, root=None)
            assert plain not in (unknown := await said_in(session_id="chat_nowhere"), "chat_nowhere")
            assert unknown.startswith("chat_")
            assert plain != await said_in(session_id=plain, scope="south")
            with pytest.raises(RuntimeFault, match='is with the agent "default"'):
                await said_in(session_id=plain, agent="other")

    play(story())


def test_a_repository_may_require_a_scope(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk", {"text": "Here."}, scope={"requireScope": True})

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            with pytest.raises(RuntimeFault) as refused:
                await talker.say("x")
            assert refused.value.code == "scope_required"
            assert Talker.text(await talker.say("x", scope="north")) == "Here."

    play(story())


@pytest.mark.parametrize(
    "more",
    [
        {"message": " "},
        {"message": "x" * 2_000_000},
        {"attachments": '[{"filename":"a"}]'},
        {"agent": "nobody"},
        {"max_session_tokens": 0},
        {"context": "[1]"},
        {"root": None},
    ],
)
def test_a_request_that_makes_no_sense_is_refused_and_leaves_nothing(tmp_path: Path, more: Said) -> None:
    repo = desk(tmp_path / "desk")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            with pytest.raises(RuntimeFault) as refused:
                await talker.say(**{"message": "x", **more})
            assert refused.value.code == "VALIDATION_ERROR"
            assert (await talker.runtime.chats.history())["total"] == 0

    play(story())


def test_files_reach_handlers_and_what_the_model_cannot_see_is_named(tmp_path: Path) -> None:
    repo = desk(tmp_path / "desk")
    repo.agent("default", tools=["names"])
    repo.tool("names", py="return [file['filename'] for file in ctx.attachments]")
    script = {
        "takes": ["image/*"],
        "replies": [calls("names", match=r"Files that you cannot see: b.pdf\]"), {"text": "{{last_tool_result}}"}],
    }
    repo.file("script.json", script)
    data = base64.b64encode(b"hi").decode()
    files = [
        {"filename": "a.png", "mimeType": "image/png", "data": data},
        {"filename": "b.pdf", "mimeType": "application/pdf", "data": data},
    ]

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("read", attachments=json.dumps(files))
            assert Talker.text(told) == '{"result":["a.png","b.pdf"]}'
            (warning,) = of_type(told, "warning")
            assert warning["message"].endswith("b.pdf.")
            assert (await talker.session())["messages"][0]["files"] == ["a.png", "b.pdf"]

    play(story())


def test_what_specialists_take_counts_and_what_they_say_is_heard(tmp_path: Path) -> None:
    repo = desk(
        tmp_path / "desk",
        {"agent": "reviewer", "text": "All fine.", "usage": {"input_tokens": 5, "output_tokens": 2}},
        {**calls("call_subagent", agent="reviewer", task="Review"), "usage": {"input_tokens": 10}},
        {"text": "{{last_tool_result}}"},
    )
    repo.agent("default", tools=[], subagents=["reviewer"])
    repo.agent("reviewer")

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("go")
            assert told[-1]["usage"]["total_tokens"] == 17
            events = of_type(told, "subagent_event")
            assert {one["agent_name"] for one in events} == {"reviewer"}
            assert "".join(one["text"] for one in events if one["event_type"] == "thought") == "All fine."
            assert (events[-1]["event_type"], events[-1]["result"]) == ("complete", "All fine.")
            assert (await talker.session())["token_usage"]["total_tokens"] == 17

    play(story())


def test_the_card_of_a_specialist_names_its_files_however_large_they_are(tmp_path: Path) -> None:
    repo = desk(
        tmp_path / "desk",
        {"agent": "reader", "text": "Read.", "repeat": True},
        calls("read", match="^go"),
        {"text": "Done."},
    )
    repo.agent("default", tools=["read"])
    repo.agent("reader")
    body = "return await ctx.call_subagent('reader', 'Read it.', None, {'attachments': ctx.attachments})"
    repo.tool("read", py=body, agents=("reader",))
    data = base64.b64encode(b"x" * 300_000).decode()
    files = json.dumps([{"filename": "a.txt", "mimeType": "text/plain", "data": data}])

    async def story() -> None:
        async with talking(repo, tmp_path / "data") as talker:
            told = await talker.say("go", attachments=files)
            sent = of_type(told, "tool_call_start")[1]
            assert sent["parameters"] == {"agent": "reader", "task": "Read it.", "files": ["a.txt"]}
            assert of_type(told, "tool_call_result")[0]["result"] == "Read."

    play(story())
