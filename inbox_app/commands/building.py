"""What can be done with the repository that the section of repositories shows."""

from __future__ import annotations

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, Desk, act, can


def _command(verb: str, title: str, *keys: str) -> Command:
    name = f"repositories.{verb}"
    return Command(f"{verb}_repository", title, act(name), "Agents", keys, can(name), group=5)


def ask_open(desk: Desk) -> None:
    """From wherever the window is: what was opened is shown with the others."""
    desk.show_view("repositories")
    desk.act("repositories.open")


def has_repositories(desk: Desk) -> bool:
    return desk.has_view("repositories")


COMMANDS = (
    Command(
        "open_repository",
        QT_TRANSLATE_NOOP("commands", "Open a repository…"),
        ask_open,
        "Agents",
        ("Ctrl+O",),
        has_repositories,
        group=5,
    ),
    _command("reload", QT_TRANSLATE_NOOP("commands", "Reload the repository"), "Ctrl+R"),
    _command("deploy", QT_TRANSLATE_NOOP("commands", "Deploy the repository…")),
    _command("remove", QT_TRANSLATE_NOOP("commands", "Remove the repository from the list…")),
)
