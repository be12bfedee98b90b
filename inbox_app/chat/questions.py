"""Connects the questions of a conversation with what the inbox knows of them: drafts, answers on their way, places."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QApplication, QWidget

from inbox_app.chat.question import QuestionPart
from inbox_app.chat.transcript import Transcript
from inbox_app.section import Surroundings
from inbox_app.state.drafts import Draft


class Questions(QObject):
    def __init__(self, around: Surroundings, transcript: Transcript, parent: QObject) -> None:
        super().__init__(parent)
        self._around = around
        self._transcript = transcript
        self._was_answering: QuestionPart | None = None
        transcript.made_question.connect(self._on_made)
        transcript.run_wanted.connect(self._on_run_wanted)
        around.sender.changed.connect(self._on_sending_changed)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus_changed)

    @property
    def answering(self) -> QuestionPart | None:
        """The question that the keyboard is in."""
        part: QObject | None = QApplication.focusWidget()
        while part is not None and not isinstance(part, QuestionPart):
            part = part.parent()
        return part if part is not None and self._transcript.isAncestorOf(part) else None

    def renew(self) -> None:
        """Take over what was done about them elsewhere while they were out of sight."""
        for part in self._transcript.questions:
            part.show_draft(self._around.drafts.get(part.pause_id))
        self._transcript.renew()

    @Slot(object)
    def _on_made(self, part: QuestionPart) -> None:
        around = self._around
        part.answer_requested.connect(around.sender.hold)
        part.undo_requested.connect(around.sender.undo)
        part.retry_requested.connect(around.sender.retry)
        part.draft_changed.connect(self._on_draft_changed)
        part.go_to_pause.connect(self._on_go_to_pause)
        part.go_to_run.connect(self._on_run_wanted)
        part.state_changed.connect(self._on_state_changed)

    @Slot(object)
    def _on_draft_changed(self, draft: Draft) -> None:
        self._around.keep_draft(draft)

    @Slot(str)
    def _on_go_to_pause(self, pause_id: str) -> None:
        """In the conversation if it is there and another one, else in the inbox."""
        sender = self.sender()
        found = next((one for one in self._transcript.questions if one.pause_id == pause_id), None)
        if found is not None and found is not sender:
            found.enter()
        else:
            self._around.go_to_pause(pause_id)

    @Slot(str)
    def _on_run_wanted(self, run_id: str) -> None:
        self._around.go_to_run(run_id)

    @Slot()
    def _on_state_changed(self) -> None:
        self._around.changed()

    @Slot(str)
    def _on_sending_changed(self, pause_id: str) -> None:
        sending = self._around.outbox.get(pause_id)
        for part in self._transcript.questions:
            if part.pause_id == pause_id:
                part.show_sending(sending)

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        answering = self.answering
        if answering is not self._was_answering:
            self._was_answering = answering
            self._around.changed()
