"""What can be done with the repository that the section of repositories shows."""

from __future__ import annotations

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, act, can


def _command(verb: str, title: str, *keys: str) -> Command:
    name = f"repositories.{verb}"
    return Command(f"{verb}_repository", title, act(name), "Agents", keys, can(name), group=5)


COMMANDS = (
    _command("open", QT_TRANSLATE_NOOP("commands", "Open a repository…")),
    _command("reload", QT_TRANSLATE_NOOP("commands", "Reload the repository"), "Ctrl+R"),
    _command("deploy", QT_TRANSLATE_NOOP("commands", "Deploy the repository…")),
)
