"""What can be done with evals."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, act, can
from inbox_app.gateway.base import GatewayError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from inbox_app.gateway.evals import EvalEvent, EvalGateway, EvalRun


async def run_evals(gateway: EvalGateway, asked: EvalRun, hear: Callable[[EvalEvent], None]) -> str:
    """Carry out evals of one repository. Returns the sentence of a refusal, or ""; an eval that fails is none."""
    try:
        async with aclosing(cast("AsyncGenerator[EvalEvent]", gateway.run(asked))) as told:
            async for event in told:
                hear(event)
    except GatewayError as error:
        return error.message
    return ""


def _command(verb: str, title: str, *keys: str) -> Command:
    name = f"evals.{verb}"
    return Command(f"eval_{verb}", title, act(name), "Agents", keys, can(name), group=3)


COMMANDS = (
    _command("run", QT_TRANSLATE_NOOP("commands", "Run the eval"), "Ctrl+E"),
    _command("run_all", QT_TRANSLATE_NOOP("commands", "Run all evals"), "Ctrl+Shift+E"),
    _command("stop", QT_TRANSLATE_NOOP("commands", "Stop the evals")),
)
