"""Conversations as the application knows them, and how a runtime is reached for them. Plain data, as `gateway.base`.

A conversation is a sequence of turns: what the person said, and everything the agent did about it, in order. What is
told while a turn goes on (`ChatEvent`) and what is read later (`ChatTurn.items`) is made of the same pieces.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from inbox_app.gateway.base import Json


@dataclass(frozen=True, slots=True)
class ChatFile:
    filename: str
    mime_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a person says. ``session_id`` None begins a conversation with ``agent`` of the repository at ``repository``.

    ``model``: ``provider:name`` for this turn and the following ones, None for what repository or settings say.
    ``is_choice``: the message is an option of a `Choice` that was pressed; no trigger is tried on it.
    """

    message: str
    repository: str
    agent: str = "default"
    session_id: str | None = None
    scope: str = ""
    files: Sequence[ChatFile] = ()
    model: str | None = None
    is_choice: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """What the agent says; while it says it, pieces follow each other and belong together."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What the agent says to itself. ``call_id``: a handler emitted it, or a specialist, within this call."""

    text: str
    call_id: str | None = None


CallState: TypeAlias = Literal["running", "waiting", "ok", "failed", "denied", "stopped"]
"""``denied``: a person did not allow it."""


@dataclass(frozen=True, slots=True)
class ChatCall:
    """One call, as it is now: a tool, a specialist or a child of either. ``parent`` None: the model itself made it.

    ``label``: what is shown instead of its name, for the state it is in; ``done_label``: once it is done. ``run_id``:
    the durable run that it became; the questions of that run belong to this call. ``said``: what a specialist has said
    so far. Times are in seconds.
    """

    id: str
    parent: str | None
    kind: str
    name: str
    state: CallState
    label: str = ""
    done_label: str = ""
    parameters: Json = None
    result: Json = None
    error: str = ""
    started_at: float = 0.0
    ended_at: float | None = None
    run_id: str | None = None
    said: str = ""
    internal: bool = False


@dataclass(frozen=True, slots=True)
class ChoiceOption:
    value: Json
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The agent asks to choose (``ask_choice``); the answer is the next thing that the person says."""

    ask_id: str
    question: str
    options: Sequence[ChoiceOption]
    multi: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """Data that the agent presents as a widget of some kind."""

    widget: str
    data: Json = None


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence of the runtime within a turn. ``error``: the turn ended because of it."""

    text: str
    error: bool = False
    call_id: str | None = None


TurnItem: TypeAlias = Text | Reasoning | ChatCall | Choice | Shown | Note
"""Calls stand in a flat list; `ChatCall.parent` nests them."""


@dataclass(frozen=True, slots=True)
class Tokens:
    input: int = 0
    output: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class Began:
    """The first event of a turn."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The last event. ``reason``: model_stop, max_turns, user_abort, error, budget_exceeded or loop_detected."""

    reason: str
    usage: Tokens = Tokens()


ChatEvent: TypeAlias = Began | TurnItem | Ended
"""A `ChatCall` event replaces what was known of the call with this id; a `Text` or `Reasoning` is one more piece."""


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """``end`` as `Ended.reason`, "" while it goes on, ``interrupted`` if the runtime ended meanwhile."""

    number: int
    asked: str
    at: float
    files: Sequence[str] = ()
    items: Sequence[TurnItem] = ()
    end: str = ""
    usage: Tokens = Tokens()


@dataclass(frozen=True, slots=True)
class ChatSession:
    """``title`` falls back to the first words of the conversation. ``busy``: a turn goes on."""

    id: str
    repository: str
    agent: str
    title: str
    created_at: float
    updated_at: float
    messages: int = 0
    scope: str = ""
    provider: str = ""
    model: str = ""
    usage: Tokens = Tokens()
    busy: bool = False


@dataclass(frozen=True, slots=True)
class ChatPage:
    items: Sequence[ChatSession]
    total: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ChatDetail:
    session: ChatSession
    turns: Sequence[ChatTurn]


class ChatGateway(Protocol):
    """The conversations of a runtime. Every coroutine may raise `GatewayError`."""

    def send(self, asked: ChatRequest) -> AsyncIterator[ChatEvent]:
        """Have a turn. Ends after `Ended`; whoever stops listening before aborts the turn (``user_abort``).

        What is wrong with the request itself is raised (`GatewayError`; NOT_FOUND: there is no such conversation); what
        goes wrong later is a `Note` and an end.
        """
        ...

    async def sessions(self, limit: int = 100, cursor: str | None = None) -> ChatPage:
        """Conversations, the one that was used last first."""
        ...

    async def session(self, session_id: str) -> ChatDetail: ...
    async def rename(self, session_id: str, title: str) -> None: ...
    async def delete(self, session_id: str) -> None:
        """With all its messages. The durable runs that it started stay."""
        ...
