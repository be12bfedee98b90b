"""Conversations through the embedded gateway: what the window is told while a turn goes on, and what it reads later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from inbox_app.gateway.base import Answer, GatewayError
from inbox_app.gateway.chats import (
    Began,
    ChatCall,
    ChatEvent,
    ChatFile,
    ChatRequest,
    Choice,
    Ended,
    Note,
    Text,
)
from inbox_app.gateway.embedded import EmbeddedGateway
from runtime_core.wire.settings import Confirmations, Settings
from tests.unit.engine.workshop import Repo, play

SUPPORT = Path(__file__).parents[3] / "resources" / "samples" / "support-desk"


class Window:
    """Talks with the default agent of a repository, in one conversation."""

    def __init__(self, gateway: EmbeddedGateway, repository: Path) -> None:
        self.gateway = gateway
        self.repository = repository
        self.session_id: str | None = None

    async def events(self, message: str, *files: ChatFile) -> AsyncGenerator[ChatEvent]:
        request = ChatRequest(message, str(self.repository), session_id=self.session_id, files=files)
        stream = self.gateway.chats.send(request)
        try:
            async for event in stream:
                if isinstance(event, Began):
                    self.session_id = event.session_id
                yield event
        finally:
            await stream.aclose()

    async def say(self, message: str, *files: ChatFile) -> list[ChatEvent]:
        return [event async for event in self.events(message, *files)]


@asynccontextmanager
async def window(data: Path, repository: Path = SUPPORT, *, wait_s: float = 300) -> AsyncGenerator[Window]:
    settings = Settings(confirmations=Confirmations(wait_s=wait_s))
    gateway = EmbeddedGateway(data, repositories=[repository], settings=settings, execute=True)
    await gateway.open()
    try:
        yield Window(gateway, repository)
    finally:
        await gateway.close()


def calls(told: list[ChatEvent]) -> dict[str, ChatCall]:
    """Every call as it was told last."""
    return {event.id: event for event in told if isinstance(event, ChatCall)}


def words(told: list[ChatEvent]) -> str:
    return "".join(event.text for event in told if isinstance(event, Text))


def test_cards_nest_and_come_back_as_they_were(tmp_path: Path) -> None:
    async def story() -> None:
        async with window(tmp_path) as desk:
            told = await desk.say("Review t-1042")
            assert isinstance(told[0], Began)
            assert isinstance(told[-1], Ended)
            assert (told[-1].reason, told[-1].usage.input) == ("model_stop", 1900)
            made = calls(told)
            assert {call.state for call in made.values()} == {"ok"}
            (top,) = (call for call in made.values() if call.parent is None)
            assert (top.name, top.label) == ("review_ticket", "Reviewed t-1042")
            reviewers = [call for call in made.values() if call.kind == "subagent"]
            assert {call.parameters["agent"] for call in reviewers} == {"tone-reviewer", "policy-reviewer"}
            assert {call.parent for call in reviewers} == {top.id}
            looked_up = next(call for call in made.values() if made.get(call.parent or "") in reviewers)
            assert looked_up.name == "load_ticket"
            assert desk.session_id is not None
            detail = await desk.gateway.chats.session(desk.session_id)
            (turn,) = detail.turns
            kept = {item.id: item for item in turn.items if isinstance(item, ChatCall)}
            assert set(kept) == set(made)
            assert {id: (call.state, call.parent, call.label, call.result) for id, call in kept.items()} == {
                id: (call.state, call.parent, call.label, call.result) for id, call in made.items()
            }
            said = [item.text for item in turn.items if isinstance(item, Text)]
            assert said[0] == "I have both reviewers look at it."
            assert "".join(said) == words(told)
            assert (turn.end, turn.asked) == ("model_stop", "Review t-1042")
            assert detail.session.title == "Review t-1042"
            assert detail.session.messages == 3

    play(story())


def test_the_question_of_a_durable_call_belongs_to_its_card(tmp_path: Path) -> None:
    async def story() -> None:
        async with window(tmp_path) as desk:
            (card,) = calls(await desk.say("Yes, send it")).values()
            assert (card.name, card.state) == ("ship_replacement", "waiting")
            assert card.run_id is not None
            (pause,) = (await desk.gateway.pending()).items
            assert pause.run_id == card.run_id
            outcome = await desk.gateway.answer(Answer(pause.run_id, "porto", pause_id=pause.id))
            assert outcome.kind == "complete"
            assert outcome.result == {"ticket_id": "t-1042", "warehouse": "porto", "parcel": "POR-7731"}

    play(story())


def test_a_confirmation_is_asked_within_the_turn(tmp_path: Path) -> None:
    async def story() -> None:
        async with window(tmp_path) as desk:
            told: list[ChatEvent] = []
            async for event in desk.events("Close account C-511"):
                told.append(event)
                if isinstance(event, ChatCall) and event.state == "waiting" and event.run_id is not None:
                    await desk.gateway.answer(Answer(event.run_id, "no", note="He called again"))
            (card,) = calls(told).values()
            assert (card.state, card.error) == ("failed", "Tool call denied by user: He called again")
            assert words(told) == "The account stays open."

    play(story())


def test_a_choice_and_a_block_are_shown(tmp_path: Path) -> None:
    async def story() -> None:
        async with window(tmp_path) as desk:
            (choice,) = (event for event in await desk.say("Which ones?") if isinstance(event, Choice))
            assert [option.value for option in choice.options] == ["Review t-1042", "Close account C-511"]
            (card,) = calls(await desk.say("Reply to her")).values()
            assert card.error == 'The hook "promise-guard" blocked this: a reply may not promise a refund'

    play(story())


def test_files_reach_a_specialist_each(tmp_path: Path) -> None:
    async def story() -> None:
        async with window(tmp_path) as desk:
            files = [ChatFile(f"page-{number}.txt", "text/plain", b"paid") for number in range(3)]
            made = calls(await desk.say("Read these", *files))
            sent = [call.parameters["files"] for call in made.values() if call.kind == "subagent"]
            assert sent == [["page-0.txt"], ["page-1.txt"], ["page-2.txt"]]
            assert desk.session_id is not None
            detail = await desk.gateway.chats.session(desk.session_id)
            assert detail.turns[0].files == ("page-0.txt", "page-1.txt", "page-2.txt")

    play(story())


def test_whoever_stops_listening_ends_the_turn(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "desk", models={"main": {"provider": "scripted", "model": "script.json"}})
    repo.agent("default", tools=["wait"])
    repo.tool("wait", ts="await new Promise(r => setTimeout(r, 60000));", timeout=100_000)
    repo.script({"text": "A moment.", "tool_calls": [{"name": "wait"}]})

    async def story() -> None:
        async with window(tmp_path / "data", repo.root) as desk:
            events = desk.events("Wait")
            async for event in events:
                if isinstance(event, ChatCall):
                    break
            await events.aclose()
            assert desk.session_id is not None
            detail = await desk.gateway.chats.session(desk.session_id)
            (turn,) = detail.turns
            assert (turn.end, detail.session.busy) == ("user_abort", False)
            assert [(item.state, item.error) for item in turn.items if isinstance(item, ChatCall)] == [
                ("stopped", "Stopped")
            ]

    play(story())


def test_conversations_are_listed_renamed_and_deleted(tmp_path: Path) -> None:
    async def story() -> None:
        async with window(tmp_path) as desk:
            await desk.say("Hello")
            assert desk.session_id is not None
            chats = desk.gateway.chats
            await chats.rename(desk.session_id, "  Greetings  ")
            page = await chats.sessions()
            assert [(one.id, one.title) for one in page.items] == [(desk.session_id, "Greetings")]
            await chats.delete(desk.session_id)
            assert (await chats.sessions()).total == 0
            with pytest.raises(GatewayError, match="no conversation"):
                await chats.session(desk.session_id)

    play(story())


def test_what_is_wrong_with_a_request_is_raised_and_what_goes_wrong_later_is_a_note(tmp_path: Path) -> None:
    async def story() -> None:
        async with window(tmp_path) as desk:
            with pytest.raises(GatewayError, match='no agent "nobody"'):
                async for _ in desk.gateway.chats.send(ChatRequest("x", str(SUPPORT), agent="nobody")):
                    pass
        repo = Repo(tmp_path / "desk")
        repo.agent("default")
        async with window(tmp_path / "data", repo.root) as desk:
            told = await desk.say("Hello")
            (note,) = (event for event in told if isinstance(event, Note))
            assert note.error
            assert "models.main" in note.text
            assert isinstance(told[-1], Ended)
            assert told[-1].reason == "error"

    play(story())


def test_a_turn_goes_on_while_the_loop_of_the_window_does_something_else(tmp_path: Path) -> None:
    async def story() -> None:
        async with window(tmp_path) as desk:
            talking = asyncio.create_task(desk.say("Review t-1042"))
            while not talking.done():
                await desk.gateway.pending()
            assert isinstance(talking.result()[-1], Ended)

    play(story())


def test_an_agent_is_at_work_as_long_as_its_turn_goes_on(tmp_path: Path) -> None:
    async def go() -> tuple[list[str], list[str]]:
        async with window(tmp_path) as talk:
            during: list[str] = []
            async for event in talk.events("Review t-1042"):
                if isinstance(event, ChatCall):
                    during = during or list(talk.gateway.working)
            return during, list(talk.gateway.working)

    during, after = asyncio.run(go())
    assert "default" in during
    assert after == []


def test_nothing_is_said_to_a_conversation_that_is_there_no_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with window(tmp_path) as at:
            at.session_id = "chat_gone"
            with pytest.raises(GatewayError) as refused:
                await at.say("Hello")
            assert refused.value.code == "NOT_FOUND"
            assert (await at.gateway.chats.sessions()).total == 0

    play(scenario())
