"""What the agent loop asks of a model, and what it gets back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol

from runtime_core.wire.json import JsonText


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the model wants called; ``args`` is JSON text, ``id`` the one that the provider gave, "" without."""

    name: str
    args: JsonText
    id: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a message; ``data`` in base64."""

    filename: str
    mime_type: str
    data: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of the conversation.

    A ``tool`` message holds the result of the call ``call`` as text; only a ``user`` message has ``files``. Of the
    model's own, ``reasoning`` is what it said to itself, and ``raw`` (JSON text) the provider's form of the reply,
    which some providers want back with the next turn.
    """

    role: Literal["user", "assistant", "tool"]
    text: str
    tool_calls: Sequence[ToolCall] = ()
    files: Sequence[File] = ()
    call: ToolCall | None = None
    reasoning: str = ""
    raw: JsonText | None = None


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool as a model sees it; ``parameters`` is its JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """What one model turn is given."""

    agent: str
    prompt: str
    messages: Sequence[Message]
    tools: Sequence[ToolOffer] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens. ``cached_tokens`` are those of the input that the provider had in its cache (contract 7.2, ``done``)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_creation_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def to_wire(self) -> dict[str, int]:
        return {**{one.name: getattr(self, one.name) for one in fields(self)}, "total_tokens": self.total_tokens}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model turn gives back. Without tool calls, ``text`` is the answer. ``raw`` as in `Message`.

    ``is_cut_off``: it reached the limit of what the model may say at once.
    """

    text: str
    tool_calls: Sequence[ToolCall] = ()
    usage: Usage = Usage()
    reasoning: str = ""
    raw: JsonText | None = None
    is_cut_off: bool = False


Heard = Callable[[Literal["text", "reasoning"], str], None]
"""Takes a piece of a reply as soon as the model says it."""


def unheard(kind: Literal["text", "reasoning"], piece: str) -> None:
    """For those who only want the whole reply."""


class ModelError(Exception):
    """A model turn failed. ``code`` is ``rate_limited``, ``unavailable``, ``bad_key``, ``refused`` (the request itself)
    or ``no_reply``. ``retry_after_s``: when the provider says it may be tried again."""

    def __init__(self, code: str, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after_s = retry_after_s


class ModelUnusable(Exception):  # noqa: N818
    """The model a repository or the command line names cannot be used; the message says where and what to do."""


class Model(Protocol):
    @property
    def provider(self) -> str:
        """``scripted``, ``anthropic``, … (design 3)."""
        ...

    @property
    def name(self) -> str:
        """What the provider calls it."""
        ...

    def takes(self, mime_type: str) -> bool:
        """Whether files of this type can be part of a message."""
        ...

    async def reply(self, turn: Turn, heard: Heard = unheard) -> Reply:
        """Answer one turn. Raises `ModelError`; what was heard before counts for nothing then."""
        ...
