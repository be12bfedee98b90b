"""All commands, and the actions made from them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QKeySequence

from inbox_app.commands import answering, automating, building, chatting, evaluating, navigating, runs, starting
from inbox_app.commands.base import Command, Desk

COMMANDS: Sequence[Command] = (
    *navigating.COMMANDS,
    *answering.COMMANDS,
    *runs.COMMANDS,
    *chatting.COMMANDS,
    *starting.COMMANDS,
    *evaluating.COMMANDS,
    *automating.COMMANDS,
    *building.COMMANDS,
)


class CommandAction(QAction):
    """One command as an action. It looks at ``when`` again when it is triggered, so a stale menu cannot act."""

    def __init__(self, command: Command, desk: Desk, parent: QObject) -> None:
        super().__init__(command.translated(), parent)
        self.command = command
        self._desk = desk
        if command.bound:
            self.setShortcuts([QKeySequence(keys) for keys in _both_cases(command.shortcuts)])
            self.setAutoRepeat(command.id in {"next_row", "previous_row"})
        self.triggered.connect(self._on_triggered)

    def refresh(self) -> None:
        self.setEnabled(self.command.when(self._desk))
        if self.command.checked is not None:
            self.setCheckable(True)
            self.setChecked(self.command.checked(self._desk))

    @Slot()
    def _on_triggered(self) -> None:
        if self.command.when(self._desk):
            self.command.run(self._desk)


def _both_cases(shortcuts: Sequence[str]) -> list[str]:
    """A letter is the same command with Shift."""
    return [*shortcuts, *(f"Shift+{keys}" for keys in shortcuts if len(keys) == 1 and keys.isalpha())]


def build_actions(desk: Desk, parent: QObject, commands: Sequence[Command] = COMMANDS) -> list[CommandAction]:
    return [CommandAction(command, desk, parent) for command in commands]
