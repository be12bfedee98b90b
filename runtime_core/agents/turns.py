"""What the agent loop asks of a model, and what it gets back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from runtime_core.wire.json import JsonText


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the model wants called; ``args`` is JSON text."""

    name: str
    args: JsonText


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of the conversation. A ``tool`` message holds the result of one call as text."""

    role: Literal["user", "assistant", "tool"]
    text: str
    tool_calls: Sequence[ToolCall] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """What one model turn is given."""

    agent: str
    prompt: str
    messages: Sequence[Message]
    tools: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model turn gives back. Without tool calls, ``text`` is the answer."""

    text: str
    tool_calls: Sequence[ToolCall] = ()
    usage: Mapping[str, int] = field(default_factory=dict[str, int])


class ModelError(Exception):
    """A model turn failed. ``code`` is ``rate_limited``, ``unavailable``, ``bad_key`` or ``no_reply``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ModelUnusable(Exception):  # noqa: N818
    """The model a repository or the command line names cannot be used; the message says where and what to do."""


class Model(Protocol):
    async def reply(self, turn: Turn) -> Reply:
        """Answer one turn. Raises `ModelError`."""
        ...
