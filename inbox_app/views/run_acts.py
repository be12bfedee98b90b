"""What is done to a whole run: asked first, then done once, and its refusal shown."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from inbox_app.commands.runs import go_on, withdraw
from inbox_app.gateway.base import Gateway, Pause, Run
from inbox_app.models.wording import SHORT, first_line
from inbox_app.theme.theme import Theme
from inbox_app.widgets.dialogs import ConfirmDialog
from inbox_app.widgets.hidden_text import reveal

Act: TypeAlias = Literal["cancel", "resume"]


@dataclass(frozen=True, slots=True)
class Acting:
    """What is being done to a run, in words, or why it was not done; both empty if there is nothing to say."""

    pending: str = ""
    refusal: str = ""


IDLE = Acting()
_STOPPED = frozenset({"diverged", "needs-attention"})


class RunActs(QObject):
    """``changed`` carries the id of the run about which `acting` says something new."""

    changed = Signal(str)
    refused = Signal(str, str, str)
    """Run id, what was not done, and why."""

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
        self._acting: dict[str, Acting] = {}

    def acting(self, run_id: str) -> Acting:
        return self._acting.get(run_id, IDLE)

    def ask_cancel(self, run_id: str, run: Run | None, pause: Pause | None) -> None:
        """``run`` and ``pause``: what is known of it, for the words."""
        tool = pause.path[0] if pause and pause.path else run.tool if run else ""
        lines = [self.tr("{0} ends as cancelled. Calls that have run are not undone.").format(reveal(tool) or run_id)]
        if pause is not None:
            question = first_line(reveal(pause.question)) or self.tr("No question text")
            lines.append(self.tr("Its question is withdrawn: {0}").format(question))
        title, do = self.tr("Cancel this run?"), self.tr("Cancel the run")
        self._ask(run_id, "cancel", lines, (title, do, self.tr("Keep it")))

    def can_resume(self, run: Run | None, old: bool) -> bool:
        """Whether a run that stopped can go on with other code, and nothing is being done about it yet.

        ``old``: with the code that recorded its calls; otherwise with the present code.
        """
        if run is None or self.acting(run.id).pending:
            return False
        return bool(run.old_code) and run.status in _STOPPED if old else run.status == "diverged"

    def ask_resume(self, run: Run | None, old: bool) -> None:
        if run is None or not self.can_resume(run, old):
            return
        tool = reveal(run.tool)
        revision = run.old_code if old else ""
        if revision:
            title, do = self.tr("Go on with the old code?"), self.tr("Go on")
            goes_on = self.tr("{0} goes on with code {1}, now and whenever it goes on later.")
            lines = [
                goes_on.format(tool, revision[:SHORT]),
                self.tr("Recorded calls are not run again. Calls after them run, and have their effects."),
            ]
        else:
            title, do = self.tr("Try the present code?"), self.tr("Try it")
            lines = [
                self.tr("{0} is replayed on the code as it is now.").format(tool),
                self.tr("If it fits its record, the run goes on and makes its next calls. If not, it stops again."),
            ]
        self._ask(run.id, "resume", lines, (title, do, self.tr("Leave it")), revision)

    def _ask(self, run_id: str, act: Act, lines: list[str], words: tuple[str, str, str], revision: str = "") -> None:
        """``words``: the title, the button that does it, and the one that does not."""
        title, do, keep = words
        dialog = ConfirmDialog(self._theme, title, "\n\n".join([*lines, run_id]), do, keep, self._window)
        dialog.setProperty("run", run_id)
        dialog.setProperty("act", act)
        dialog.setProperty("revision", revision)
        dialog.confirmed.connect(self._on_confirmed)
        dialog.open()

    @Slot()
    def _on_confirmed(self) -> None:
        dialog: QObject = self.sender()
        run_id, act, revision = (str(dialog.property(name)) for name in ("run", "act", "revision"))
        if not self.acting(run_id).pending:
            self._spawn(self._do(run_id, act, revision), f"{act} {run_id}")

    async def _do(self, run_id: str, act: str, revision: str) -> None:
        gateway = self._gateway()
        if gateway is None:
            return
        self._tell(run_id, Acting(pending=self._pending(act)))
        refusal = ""
        try:
            cancels = act == "cancel"
            refusal = await (withdraw(gateway, run_id) if cancels else go_on(gateway, run_id, revision or None))
        finally:
            self._tell(run_id, Acting(refusal=refusal) if refusal else IDLE)
        if refusal:
            self.refused.emit(run_id, self._not_done(act), refusal)

    def _tell(self, run_id: str, acting: Acting) -> None:
        self._acting[run_id] = acting
        if acting is IDLE:
            del self._acting[run_id]
        self.changed.emit(run_id)

    def _pending(self, act: str) -> str:
        if act == "cancel":
            return self.tr("Cancelling. A call that runs gets up to 5 seconds to end")
        return self.tr("Going on: the recorded calls are replayed")

    def _not_done(self, act: str) -> str:
        return self.tr("The run was not cancelled.") if act == "cancel" else self.tr("The run does not go on.")
