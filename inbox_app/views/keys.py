"""The key help, derived from the commands."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QKeySequence

from inbox_app.commands.base import MENUS, Command, menu_title
from inbox_app.commands.registry import COMMANDS

Group = tuple[str, list[tuple[str, list[str]]]]


def key_groups(commands: Sequence[Command] = COMMANDS) -> list[Group]:
    """Every command with keys, by menu, then the keys of views; commands of one title are one line (the nine picks)."""
    groups: list[Group] = []
    for menu in (*MENUS, None):
        lines: dict[str, list[str]] = {}
        for command in commands:
            if command.menu == menu and command.shortcuts:
                lines.setdefault(command.translated(), []).append(_shown(command.shortcuts[0]))
        if lines:
            title = menu_title(menu).replace("&", "") if menu else QCoreApplication.translate("menus", "On a card")
            groups.append((title, [(what, _folded(keys)) for what, keys in lines.items()]))
    return [*groups, *_keys_of_views()]


def _keys_of_views() -> list[Group]:
    """What the focused list or tree does itself; none of it is a command."""
    translate = QCoreApplication.translate
    return [
        (translate("menus", "In a list"), [(translate("menus", "Move"), ["↑", "↓"])]),
        (translate("menus", "In the form of a tool"), [(translate("menus", "Start it"), [_shown("Ctrl+Return")])]),
        (
            translate("menus", "In the call tree"),
            [
                (translate("menus", "Move"), ["↑", "↓"]),
                (translate("menus", "Open, close a call"), ["→", "←"]),
                (translate("menus", "Go to the question of a waiting call"), [_shown("Return")]),
                (translate("menus", "Find"), ["F"]),
                (translate("menus", "Next, previous find"), ["N", _shown("Shift+N")]),
            ],
        ),
    ]


def _shown(keys: str) -> str:
    """As a person says it: Enter for Return, a sequence without its comma."""
    text = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
    return text.replace("Return", QCoreApplication.translate("menus", "Enter")).replace(", ", " ")


def _folded(keys: list[str]) -> list[str]:
    """A long row of keys as its first and last."""
    return keys if len(keys) <= 2 else [keys[0], "…", keys[-1]]
