"""What is done to a whole run: asked first, then done once, and its refusal shown."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from inbox_app.commands.runs import withdraw
from inbox_app.gateway.base import Gateway, Pause, Run
from inbox_app.models.wording import first_line
from inbox_app.theme.theme import Theme
from inbox_app.widgets.dialogs import ConfirmDialog
from inbox_app.widgets.hidden_text import reveal


class RunActs(QObject):
    refused = Signal(str, str)
    """What was not done, and why."""

    def __init__(
        self,
        theme: Theme,
        gateway: Callable[[], Gateway | None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._theme = theme
        self._gateway = gateway
        self._spawn = spawn
        self._window = window

    def ask_cancel(self, run_id: str, run: Run | None, pause: Pause | None) -> None:
        """``run`` and ``pause``: what is known of it, for the words."""
        dialog = ConfirmDialog(
            self._theme,
            self.tr("Cancel this run?"),
            self._cancel_words(run_id, run, pause),
            self.tr("Cancel the run"),
            self.tr("Keep it"),
            self._window,
        )
        dialog.setProperty("run", run_id)
        dialog.confirmed.connect(self._on_cancel_confirmed)
        dialog.open()

    def _cancel_words(self, run_id: str, run: Run | None, pause: Pause | None) -> str:
        """Which run ends, as a person knows it, and what that means."""
        tool = pause.path[0] if pause and pause.path else run.tool if run else ""
        lines = [self.tr("{0} ends as cancelled. Calls that have run are not undone.").format(reveal(tool) or run_id)]
        if pause is not None:
            question = first_line(reveal(pause.question)) or self.tr("No question text")
            lines.append(self.tr("Its question is withdrawn: {0}").format(question))
        return "\n\n".join([*lines, run_id])

    @Slot()
    def _on_cancel_confirmed(self) -> None:
        run_id = self.sender().property("run")
        self._spawn(self._cancel(run_id), f"cancel {run_id}")

    async def _cancel(self, run_id: str) -> None:
        gateway = self._gateway()
        if gateway is None:
            return
        refusal = await withdraw(gateway, run_id)
        if refusal:
            self.refused.emit(self.tr("The run was not cancelled."), refusal)
