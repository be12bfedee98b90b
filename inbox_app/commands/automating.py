"""What can be done with the automation that is shown, and to the list of them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, act, can
from inbox_app.gateway.base import GatewayError

if TYPE_CHECKING:
    from inbox_app.gateway.automations import Automation, AutomationGateway, AutomationRequest


async def store_automation(
    gateway: AutomationGateway, automation_id: str | None, asked: AutomationRequest
) -> Automation | GatewayError:
    """Make an automation (None), or put another one in its place. A refusal is returned, not raised."""
    try:
        return await (gateway.add(asked) if automation_id is None else gateway.edit(automation_id, asked))
    except GatewayError as error:
        return error


async def switch_automation(gateway: AutomationGateway, automation_id: str, *, is_on: bool) -> str:
    """Returns the sentence of a refusal, or ""."""
    return await _refusal(gateway.switch(automation_id, is_on=is_on))


async def start_automation(gateway: AutomationGateway, automation_id: str) -> str:
    """Start it now. Returns the sentence of a refusal, or ""; that it was skipped is none."""
    return await _refusal(gateway.start_now(automation_id))


async def remove_automation(gateway: AutomationGateway, automation_id: str) -> str:
    """Returns the sentence of a refusal, or ""."""
    return await _refusal(gateway.remove(automation_id))


async def _refusal(order: Coroutine[Any, Any, object]) -> str:
    try:
        await order
    except GatewayError as error:
        return error.message
    return ""


def _command(verb: str, title: str, keys: str = "") -> Command:
    shortcuts = (keys,) if keys else ()
    name = f"automations.{verb}"
    return Command(f"automation_{verb}", title, act(name), "Agents", shortcuts, can(name), group=4)


COMMANDS = (
    _command("new", QT_TRANSLATE_NOOP("commands", "New automation…")),
    _command("switch", QT_TRANSLATE_NOOP("commands", "Switch the automation on or off")),
    _command("start", QT_TRANSLATE_NOOP("commands", "Start the automation now")),
    _command("edit", QT_TRANSLATE_NOOP("commands", "Edit the automation…")),
    _command("remove", QT_TRANSLATE_NOOP("commands", "Remove the automation…")),
)
