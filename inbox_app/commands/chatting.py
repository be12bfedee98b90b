"""What can be done in a conversation and to the list of them."""

from __future__ import annotations

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, act, can


def _command(verb: str, title: str, keys: str) -> Command:
    name = f"chat_{verb}"
    shortcuts = (keys,) if keys else ()
    return Command(name, title, act(f"chat.{verb}"), "Agents", shortcuts, can(f"chat.{verb}"), group=1)


COMMANDS = (
    _command("new", QT_TRANSLATE_NOOP("commands", "New conversation"), "Ctrl+N"),
    _command("write", QT_TRANSLATE_NOOP("commands", "Write a message"), "M"),
    _command("attach", QT_TRANSLATE_NOOP("commands", "Attach files…"), "Ctrl+Shift+A"),
    _command("stop", QT_TRANSLATE_NOOP("commands", "Stop the agent"), "Ctrl+."),
    _command("calls", QT_TRANSLATE_NOOP("commands", "Show all calls of a conversation"), ""),
    _command("rename", QT_TRANSLATE_NOOP("commands", "Rename conversation"), "F2"),
    _command("delete", QT_TRANSLATE_NOOP("commands", "Delete conversation…"), "Delete"),
)
