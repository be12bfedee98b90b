"""What can be done with evals."""

from __future__ import annotations

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, act, can


def _command(verb: str, title: str, *keys: str) -> Command:
    name = f"evals.{verb}"
    return Command(f"eval_{verb}", title, act(name), "Agents", keys, can(name), group=3)


COMMANDS = (
    _command("run", QT_TRANSLATE_NOOP("commands", "Run the eval"), "Ctrl+E"),
    _command("run_all", QT_TRANSLATE_NOOP("commands", "Run all evals"), "Ctrl+Shift+E"),
    _command("stop", QT_TRANSLATE_NOOP("commands", "Stop the evals")),
)
