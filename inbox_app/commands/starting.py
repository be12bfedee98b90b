"""Starting tools from their forms."""

from __future__ import annotations

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, act, can
from inbox_app.gateway.base import Gateway, GatewayError, Outcome, Start


async def start_tool(gateway: Gateway, start: Start) -> Outcome | GatewayError:
    """Start a tool and wait as `Gateway.start` does. A refusal is returned, not raised."""
    try:
        return await gateway.start(start)
    except GatewayError as error:
        return error


def _command(verb: str, title: str, keys: str) -> Command:
    shortcuts = (keys,) if keys else ()
    return Command(f"tool_{verb}", title, act(f"tools.{verb}"), "Agents", shortcuts, can(f"tools.{verb}"), group=2)


COMMANDS = (
    _command("start", QT_TRANSLATE_NOOP("commands", "Start the tool"), ""),
    _command("last", QT_TRANSLATE_NOOP("commands", "Use the last input"), "Ctrl+L"),
    _command("json", QT_TRANSLATE_NOOP("commands", "Form or JSON"), "Ctrl+J"),
    _command("remove", QT_TRANSLATE_NOOP("commands", "Remove repository of the tool…"), ""),
)
