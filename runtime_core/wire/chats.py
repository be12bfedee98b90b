"""Conversations as the journal keeps them (contract 6.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from runtime_core.wire.json import JsonText
from runtime_core.wire.runs import SlotPath, SpanState

ChatRole = Literal["user", "passed", "assistant", "tool", "draft", "event", "end"]
"""``passed``: the hooks let the message of the turn, which is ``held`` for them, through. ``draft``: what an agent has
said so far of a message that is not whole yet. ``event``: what was told beside messages, as it was on the stream.
``end``: how a turn ended; its last entry."""

SPOKEN = frozenset({"user", "assistant"})
"""What counts as a message of a conversation."""


@dataclass(frozen=True, slots=True)
class ChatRow:
    """One conversation. Times are seconds since the epoch; ``usage`` tokens by the names of contract 7.2.

    ``repo`` is the absolute path of the agent repository; ``source`` is who speaks: ``chat``, ``automation``, …;
    ``context`` JSON text, unverified. ``title`` None: its first words are shown instead. ``provider`` and ``model``:
    those of its last turn. ``messages`` counts what the person and the agent said.
    """

    id: str
    repo: str
    agent: str
    scope: str
    source: str
    created_by: str
    created_at: float
    updated_at: float
    title: str | None = None
    context: JsonText | None = None
    provider: str = ""
    model: str = ""
    usage: Mapping[str, int] | None = None
    messages: int = 0


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """One thing of a conversation that was said or told, in order; ``turn`` counts from 1. ``body`` is JSON text."""

    turn: int
    role: ChatRole
    body: JsonText
    at: float


@dataclass(frozen=True, slots=True)
class ChatCall:
    """One call of a turn at any depth, as `Span`; ``run_id`` is the durable run that it became."""

    turn: int
    slot: SlotPath
    kind: str
    name: str
    state: SpanState
    started_at: float
    ended_at: float | None = None
    code: str | None = None
    message: str | None = None
    input: JsonText | None = None
    output: JsonText | None = None
    input_size: int = 0
    output_size: int = 0
    run_id: str | None = None
