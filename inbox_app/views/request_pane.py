"""The reading pane: head, tabs and the decision bar of one question, or of one run that has ended.

How the window drives it::

    pane = RequestPane(theme, parent=...)          # clock=... for tests; seconds since the epoch
    pane.show_pause(pause, draft, detail=None, production=False)   # a question; becomes current, arms after 700 ms
    pane.update_pause(pause)                       # the shown question changed (deadline, eligibility, content)
    pane.show_run(detail)                          # a run without an open question: read only
    pane.set_detail(detail)                        # the run of what is shown, when it arrives later
    pane.apply_calls(run_id, calls)                # from Batch.calls; ignored for another run
    pane.set_outbox_state(sending)                 # `Outbox.get(pause_id)`, None if there is none
    pane.close_pause(decision)                     # the shown question was closed elsewhere (decision may be None)
    pane.show_nothing(text)

    pane.answer_requested -> Sender.hold           # object: state.outbox.Wish
    pane.undo_requested   -> Sender.undo           # str: pause id
    pane.retry_requested  -> Sender.retry          # str: pause id
    pane.draft_changed    -> Drafts.put            # object: state.drafts.Draft, on every change
    pane.go_to_pause      -> select it in the list # str: pause id
    pane.state_changed    -> refresh actions       # can_send, can_undo, what is shown

Commands act through ``pick``, ``pick_word``, ``send``, ``undo``, ``edit``, ``write_note``, ``show_tab``, ``leave``,
``focus_home``. None of them sends but ``send``, and it sends only what the decision bar offers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from inbox_app.commands.base import TabName
from inbox_app.gateway.base import Call, Decision, Pause, RunDetail
from inbox_app.state.drafts import Draft
from inbox_app.state.outbox import Sending
from inbox_app.theme.theme import Theme


class RequestPane(QWidget):
    answer_requested = Signal(object)
    undo_requested = Signal(str)
    retry_requested = Signal(str)
    draft_changed = Signal(object)
    go_to_pause = Signal(str)
    state_changed = Signal()

    def __init__(self, theme: Theme, *, clock: Callable[[], float] = time.time, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._clock = clock

    @property
    def pause(self) -> Pause | None:
        """The open question that is shown."""
        return None

    @property
    def run_id(self) -> str | None: ...
    @property
    def can_send(self) -> bool:
        return False

    @property
    def can_undo(self) -> bool:
        return False

    def show_pause(
        self, pause: Pause, draft: Draft | None = None, detail: RunDetail | None = None, *, production: bool = False
    ) -> None: ...
    def update_pause(self, pause: Pause) -> None: ...
    def close_pause(self, decision: Decision | None = None) -> None: ...
    def show_run(self, detail: RunDetail, *, production: bool = False) -> None: ...
    def show_nothing(self, text: str, more: str = "") -> None: ...
    def set_detail(self, detail: RunDetail) -> None: ...
    def apply_calls(self, run_id: str, calls: Sequence[Call]) -> None: ...
    def set_outbox_state(self, sending: Sending | None) -> None: ...

    def pick(self, number: int) -> None: ...
    def pick_word(self, yes: bool) -> None: ...
    def send(self) -> None: ...
    def undo(self) -> None: ...
    def edit(self) -> None: ...
    def write_note(self) -> None: ...
    def show_tab(self, tab: TabName) -> None: ...
    def leave(self) -> bool:
        """Out of a field to the neutral frame; False if nothing in the pane had the focus in a field."""
        return False

    def focus_home(self) -> None:
        """Put the focus on the neutral frame: keys there neither type nor send."""
