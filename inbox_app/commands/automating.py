"""What can be done with the automation that is shown, and to the list of them."""

from __future__ import annotations

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command
from inbox_app.commands.chatting import act, can


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
