"""Conversations as a person would meet them, for pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from inbox_app.gateway.base import Batch, GatewayError, Json, Pause, RunDetail
from inbox_app.gateway.catalog import Repository
from inbox_app.gateway.chats import (
    CallState,
    ChatCall,
    ChatTurn,
    Choice,
    ChoiceOption,
    Note,
    Reasoning,
    Shown,
    Text,
    Tokens,
    TurnItem,
)
from inbox_app.theme.theme import Theme
from tests.support import scenes
from tests.support.builders import NOW, decision, detail, option, pause, run
from tests.support.fake_chats import FakeCatalog, FakeChats, conversation, session, support_desk
from tests.support.fake_gateway import FakeGateway
from tests.support.stage import ARMED_S, Stage, stage

PARCEL = "Where is parcel p_77? The customer says it should have been here on Monday."
FOUND = """Parcel p_77 left Leipzig on Monday and has not been scanned since. That is late by the carrier's own rule.

The customer is entitled to a replacement:

```
order   3544790567247868102
parcel  p_77
value   120.00 EUR
```

I asked whether to ship one from the second warehouse."""


def call(
    call_id: str,
    parent: str | None = None,
    *,
    name: str = "",
    state: CallState = "ok",
    label: str = "",
    seconds: float | None = 1.0,
    kind: str = "tool",
    run_id: str | None = None,
    parameters: Json = None,
    result: Json = None,
    error: str = "",
    internal: bool = False,
    said: str = "",
    begun: float = NOW - 40,
) -> ChatCall:
    return ChatCall(
        id=call_id,
        parent=parent,
        kind=kind,
        name=name or call_id,
        state=state,
        label=label,
        parameters=parameters,
        result=result,
        error=error,
        started_at=begun,
        ended_at=None if seconds is None else begun + seconds,
        run_id=run_id,
        said=said,
        internal=internal,
    )


def nested() -> Sequence[TurnItem]:
    """A composite with two specialists at work, three levels deep."""
    return [
        call("1", name="check_parcel", label="Checked p_77", seconds=0.9, result={"late": True, "days": 3}),
        call("2", name="review_claim", label="Reviewing the claim", state="running", seconds=None),
        call("2.1", "2", name="policy-reviewer", kind="subagent", seconds=2.4, said="Within policy refunds-2."),
        call("2.1.1", "2.1", name="lookup_policy", seconds=0.4),
        call("2.2", "2", name="fraud-reviewer", kind="subagent", state="running", seconds=None),
        call("2.2.1", "2.2", name="score_risk", seconds=1.2),
        call("2.2.2", "2.2", name="http_get", kind="request", state="failed", error="504 from carrier.example"),
        call("2.2.3", "2.2", name="http_get", kind="request", state="running", seconds=None, begun=NOW - 3),
    ]


def asked_choice() -> Pause:
    return pause(
        61,
        run_id="dur_ship",
        id="dur_ship.1",
        tool="ship_replacement",
        question="Which warehouse ships the replacement?",
        input_type="choice",
        options=[
            option("leipzig", "Leipzig", "In stock, arrives on Thursday."),
            option("lyon", "Lyon", "In stock, arrives on Friday.", recommended=True),
            option("none", "Do not ship"),
        ],
        context={"parcel": "p_77", "order": 3544790567247868102, "value": "120.00"},
        asked_at=NOW - 20,
        expires_at=NOW + 3000,
    )


async def chat(
    theme: Theme,
    chats: FakeChats,
    *,
    pauses: Sequence[Pause] = (),
    details: Sequence[RunDetail] = (),
    repositories: Sequence[Repository] | None = None,
    size: tuple[int, int] = (1280, 772),
) -> Stage:
    gateway = FakeGateway([*pauses, *scenes.waiting()[2:5]], details=details)
    gateway.chats = chats
    gateway.catalog = FakeCatalog(*(repositories if repositories is not None else [support_desk()]))
    scene = await stage(theme, gateway, size=size)
    scene.desk.show_view("chat")
    await scene.settle()
    return scene


def _sessions(*turns: ChatTurn) -> FakeChats:
    return FakeChats(
        conversation(session(1, "Late parcel p_77"), *turns),
        conversation(session(3, "Refund of order 7731, and why the second one was refused by the bank")),
        conversation(session(9, "What does the return policy say about opened boxes?", agent="policy-expert")),
    )


async def streaming(theme: Theme, size: tuple[int, int] = (1280, 772)) -> Stage:
    chats = _sessions()
    scene = await chat(theme, chats, size=size)
    await _say(scene, PARCEL)
    chats.tell(Reasoning("The customer names a parcel. I look it up first, then the policy."))
    chats.tell(Text("I look at the parcel and have the claim reviewed.\n"), *nested())
    await scene.settle()
    return scene


async def _say(scene: Stage, text: str) -> None:
    from inbox_app.chat.composer import Composer

    composer = scene.window.findChild(Composer)
    assert isinstance(composer, Composer)
    scene.desk.act("chat.new")
    await scene.settle()
    composer.set_text(text)
    composer.sent.emit()
    await scene.settle()


async def question(theme: Theme, size: tuple[int, int] = (1280, 772)) -> Stage:
    turn = ChatTurn(
        1,
        PARCEL,
        NOW - 60,
        items=[
            call("1", name="check_parcel", label="Checked p_77", result={"late": True}),
            call("2", name="ship_replacement", state="waiting", seconds=None, run_id="dur_ship"),
            Text(FOUND),
        ],
        end="model_stop",
        usage=Tokens(2812, 240, 1024),
    )
    of = run(id="dur_ship", tool="ship_replacement", status="awaiting-input")
    chats, asked = _sessions(turn), asked_choice()
    scene = await chat(theme, chats, pauses=[asked], details=[detail(of, pauses=[asked])], size=size)
    await _open_first(scene)
    await scene.settle(ARMED_S)
    return scene


async def narrow_question(theme: Theme) -> Stage:
    scene = await question(theme, (800, 600))
    scene.desk.open_selected()
    await scene.settle(ARMED_S)
    return scene


async def answered(theme: Theme) -> Stage:
    """Answered by somebody else while it was looked at; the run asks the next question below."""
    scene = await question(theme)
    first, following = asked_choice(), scenes.gate()
    following = pause(62, run_id="dur_ship", id="dur_ship.2", question="Send it by express?", asked_at=NOW - 5)
    made = decision(first.id, value="lyon", by="local:tom")
    of = run(id="dur_ship", tool="ship_replacement", status="awaiting-input")
    scene.gateway.details["dur_ship"] = detail(of, pauses=[following], decisions=[made])
    scene.gateway.push(Batch(closed=[first.id], opened=[following], outcomes={first.id: "answered"}, total=4))
    await scene.settle(ARMED_S)
    return scene


async def confirmation(theme: Theme) -> Stage:
    asked = scenes.gate()
    turn = ChatTurn(
        1,
        "Pay the customer of order 7731 back.",
        NOW - 60,
        items=[
            Text("The order was damaged on arrival, so the refund is due."),
            call("1", name="send_refund", state="waiting", seconds=None, run_id=asked.run_id),
        ],
    )
    of = run(id=asked.run_id, tool="send_refund", status="awaiting-input")
    scene = await chat(theme, _sessions(turn), pauses=[asked], details=[detail(of, pauses=[asked])])
    await _open_first(scene)
    await scene.settle(ARMED_S)
    return scene


async def error(theme: Theme) -> Stage:
    turns = [
        ChatTurn(1, "Hello", NOW - 90, items=[Text("Hello. How can I help?")], end="model_stop", usage=Tokens(310, 12)),
        ChatTurn(
            2,
            PARCEL,
            NOW - 60,
            items=[
                Note(
                    "No key is stored for anthropic. Store one with: operator-inbox secret set ANTHROPIC_API_KEY",
                    error=True,
                )
            ],
            end="error",
        ),
    ]
    scene = await chat(theme, _sessions(*turns), repositories=[support_desk(model="")])
    await _open_first(scene)
    return scene


async def refused(theme: Theme) -> Stage:
    chats = _sessions()
    chats.refuse = GatewayError("VALIDATION_ERROR", "The files take 6.1 MB; a message may have 5 MB of files.")
    scene = await chat(theme, chats)
    await _say(scene, PARCEL)
    return scene


async def ask_choice(theme: Theme) -> Stage:
    options = [
        ChoiceOption("return", "Return it", "A label is sent to the customer."),
        ChoiceOption("keep", "Let them keep it"),
        ChoiceOption("ask", "Ask for a photo first"),
    ]
    rows = [
        {"order": 3544790567247868102, "item": "Kettle, 1.7 l", "price": "39.90", "state": "delivered"},
        {"order": 3544790567247868103, "item": "Toaster", "price": "29.00", "state": "lost\u200b"},
    ]
    turns = [
        ChatTurn(
            1,
            "What did they order? Two photos are attached.",
            NOW - 400,
            files=("box-front.png", "box-inside-with-a-very-long-name-from-a-phone-2026-09-01.jpg"),
            items=[
                Reasoning("Two orders match."),
                Shown("Orders of C-88", rows),
                Choice("a1", "Which order is it about?", [ChoiceOption("k", "Kettle"), ChoiceOption("t", "Toaster")]),
            ],
            end="model_stop",
            usage=Tokens(1200, 80),
        ),
        ChatTurn(
            2,
            "t",
            NOW - 300,
            items=[
                Text("The toaster, then. It was lost on the way."),
                Choice("a2", "What should happen with the parcel?", options, multi=True),
            ],
            end="model_stop",
            usage=Tokens(1400, 60),
        ),
    ]
    scene = await chat(theme, _sessions(*turns))
    await _open_first(scene)
    return scene


async def long(theme: Theme) -> Stage:
    turns = [
        ChatTurn(
            number,
            f"Question {number}",
            NOW - 9000 + number,
            items=[Text(f"Answer {number}. " * 20), call(f"c{number}", label="Looked it up", seconds=0.3)],
            end="model_stop",
            usage=Tokens(100, 10),
        )
        for number in range(1, 1001)
    ]
    scene = await chat(theme, _sessions(*turns))
    await _open_first(scene)
    return scene


async def opened(theme: Theme) -> Stage:
    """A call that is opened, twelve levels deep."""
    items: list[TurnItem] = [Text("Every level hands on to the next one.")]
    parent: str | None = None
    for level in range(1, 14):
        kind = "subagent" if level % 3 == 0 else "tool"
        value = {"level": level, "note": "hidden\u200bhere"}
        items.append(call(f"n{level}", parent, name=f"level_{level}", kind=kind, parameters=value, result={"ok": True}))
        parent = f"n{level}"
    turn = ChatTurn(1, "Go as deep as you can.", NOW - 60, items=items, end="max_turns", usage=Tokens(90_120, 4_000))
    scene = await chat(theme, _sessions(turn))
    await _open_first(scene)
    from inbox_app.chat.call_part import CallPart

    for name in ("n4", "n13"):
        row = next(part for part in scene.window.findChildren(CallPart) if part.call.id == name)
        row.toggled.emit(name)
    await scene.settle()
    return scene


async def new(theme: Theme) -> Stage:
    agents = support_desk("default", "policy-expert", "returns-desk")
    scene = await chat(theme, _sessions(), repositories=[agents])
    scene.desk.act("chat.new")
    await scene.settle()
    return scene


async def nothing(theme: Theme) -> Stage:
    return await chat(theme, FakeChats(), repositories=[])


async def narrow_streaming(theme: Theme) -> Stage:
    scene = await streaming(theme, (800, 600))
    scene.desk.open_selected()
    await scene.settle()
    return scene


async def _open_first(scene: Stage) -> None:
    scene.desk.move(1)
    await scene.settle()


SCENES: dict[str, Callable[[Theme], Awaitable[Stage]]] = {
    "chat-streaming": streaming,
    "chat-question": question,
    "chat-answered": answered,
    "chat-confirmation": confirmation,
    "chat-error": error,
    "chat-refused": refused,
    "chat-choice": ask_choice,
    "chat-long": long,
    "chat-opened": opened,
    "chat-new": new,
    "chat-nothing": nothing,
    "narrow-chat-question": narrow_question,
    "narrow-chat-streaming": narrow_streaming,
}
