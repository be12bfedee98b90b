"""Asks models of providers at a server that speaks their protocols."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from runtime_core.agents.models import Models
from runtime_core.agents.turns import File, Heard, Message, Model, ModelError, Reply, ToolOffer, Turn, unheard
from runtime_core.wire.settings import DefaultModels
from tests.support.providers import KEY

T = TypeVar("T")

FIND = ToolOffer("store__parcels__query", "Finds parcels.", {"type": "object", "properties": {"id": {}}})
ODD = ToolOffer("mail.send", "Sends.", {"type": "object", "properties": {}})


def a_turn(text: str = "Where is it?", *more: Message, files: Sequence[File] = ()) -> Turn:
    return Turn("default", "You help people.", (Message("user", text, files=files), *more), (FIND, ODD))


def a_key(name: str) -> str | None:
    return KEY


def no_key(name: str) -> str | None:
    return None


def with_model(
    spec: str | None,
    work: Callable[[Model], Awaitable[T]],
    *,
    manifest: Mapping[str, Any] | None = None,
    secret: Callable[[str], str | None] = a_key,
) -> T:
    """What ``work`` makes of the model that a spec or a manifest names, on a loop of its own."""

    async def asking() -> T:
        models = Models(spec, DefaultModels(), secret)
        try:
            model = await models.choose("run_1", manifest or {}, Path("/nowhere"))
            assert model is not None
            return await work(model)
        finally:
            await models.close()

    return asyncio.run(asking())


def ask(spec: str | None, turn: Turn | None = None, heard: Heard = unheard, **more: Any) -> Reply:
    return with_model(spec, lambda model: model.reply(turn or a_turn(), heard), **more)


def failure(spec: str | None, turn: Turn | None = None, heard: Heard = unheard, **more: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(spec, turn, heard, **more)
    return caught.value


def answered(turn: Turn, reply: Reply, *results: str) -> Turn:
    """The turn after a reply, with the results of its calls, the last one first."""
    said = Message("assistant", reply.text, reply.tool_calls, reasoning=reply.reasoning, raw=reply.raw)
    told = [Message("tool", text, call=call) for text, call in zip(results, reply.tool_calls, strict=True)]
    return Turn(turn.agent, turn.prompt, (*turn.messages, said, *reversed(told)), turn.tools)
