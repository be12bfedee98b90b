"""What can be done with the repository that the section of repositories shows."""

from __future__ import annotations

from collections.abc import Callable

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, Desk


def act(verb: str) -> Callable[[Desk], None]:
    def run(desk: Desk) -> None:
        desk.act(verb)

    return run


def can(verb: str) -> Callable[[Desk], bool]:
    def holds(desk: Desk) -> bool:
        return desk.can(verb)

    return holds


def _command(verb: str, title: str, *keys: str) -> Command:
    name = f"repositories.{verb}"
    return Command(f"{verb}_repository", title, act(name), "Agents", keys, can(name), group=5)


COMMANDS = (
    _command("open", QT_TRANSLATE_NOOP("commands", "Open a repository…")),
    _command("reload", QT_TRANSLATE_NOOP("commands", "Reload the repository"), "Ctrl+R"),
    _command("deploy", QT_TRANSLATE_NOOP("commands", "Deploy the repository…")),
)
