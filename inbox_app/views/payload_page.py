"""The whole payload: to read, or to edit where the run allows it; and everything the runtime told of the question."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from inbox_app.cards.edits import EditPanel
from inbox_app.gateway import values
from inbox_app.gateway.base import Json, Pause, Run
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_4, SPACE_5, SPACE_6
from inbox_app.widgets.payload_view import PayloadView
from inbox_app.widgets.segments import Segments

EDITABLE_CHARACTERS = 400_000


class PayloadPage(QWidget):
    edited = Signal()
    rebuilt = Signal()
    """The fields were made anew."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._views = Segments(theme, self.tr("What to show"), ("", "", ""), self)
        self._payload = PayloadView(theme, self.tr("Payload"), parent=self)
        self._raw = PayloadView(theme, self.tr("As asked"), parent=self)
        self._panel = EditPanel(theme, self)
        self._panel.changed.connect(self.edited)
        self._panel.reverting.connect(self._on_reverting)
        self._panel.rebuilt.connect(self.rebuilt)
        self._scroll = QScrollArea(self)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._panel)
        self._panel.banner.followed.connect(self._on_go_to_hidden)
        self._scroll.viewport().setAutoFillBackground(False)
        self._panel.setAutoFillBackground(False)
        self._pages = QStackedWidget(self)
        for page in (self._payload, self._raw, self._scroll):
            self._pages.addWidget(page)
        self._edits = False
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(SPACE_6), theme.px(SPACE_5), theme.px(SPACE_6), theme.px(SPACE_4))
        column.setSpacing(theme.px(SPACE_4))
        column.addWidget(self._views, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._pages, 1)
        self._views.currentChanged.connect(self._on_view_changed)

    def _words(self) -> tuple[str, str, str]:
        if self._edits:
            form = self.tr("Form") if self._panel.has_form else ""
            return form, self.tr("JSON"), self.tr("As asked")
        return self.tr("Payload"), "", self.tr("As asked")

    def show_pause(self, pause: Pause, edits: str | None) -> None:
        self._edits = pause.allow_edits and pause.eligible and pause.has_context and _is_editable(pause.context)
        if self._edits:
            self._panel.show_value(pause.context, edits, pause.schema)
        else:
            self._payload.show_value(pause.context)
        self._raw.show_value(dict(pause.raw) or {"question": pause.question, "context": pause.context})
        self._start()

    def show_run(self, run: Run) -> None:
        self._edits = False
        self._payload.show_value(run.input)
        self._raw.show_value(dict(run.raw) or {"input": run.input, "result": run.result})
        self._start()

    @property
    def has_edits(self) -> bool:
        return self._edits and self._panel.is_changed

    def edits(self) -> Json:
        """The edited payload; ask `problem` first."""
        return self._panel.value()

    def problem(self) -> str:
        return self._panel.problem() if self._edits else ""

    def problem_field(self) -> str:
        return self._panel.problem_field()

    def show_problem(self) -> None:
        """Put the keyboard where the edit is wrong."""
        self._views.setCurrentIndex(0 if self._panel.shows_form else 1)
        self._scroll.ensureWidgetVisible(self._panel.go_to_problem())

    def show_refusal(self, problem: str) -> None:
        """What the runtime found wrong with the edit."""
        if self._edits:
            self._panel.show_refusal(problem)

    def draft_text(self) -> str | None:
        return self._panel.draft_text() if self._edits else None

    def set_closed(self, closed: bool) -> None:
        self._panel.set_closed(closed)

    def start_editing(self) -> None:
        if self._edits:
            self._views.setCurrentIndex(0 if self._panel.shows_form else 1)
            self._views.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _start(self) -> None:
        self._views.blockSignals(True)
        self._views.set_words(self._words())
        self._views.setCurrentIndex(1 if self._edits and not self._panel.shows_form else 0)
        self._views.blockSignals(False)
        self._pages.setCurrentWidget(self._scroll if self._edits else self._payload)

    @Slot(int)
    def _on_view_changed(self, view: int) -> None:
        if view == 2:
            self._pages.setCurrentWidget(self._raw)
        elif not self._edits:
            self._pages.setCurrentWidget(self._payload)
        else:
            self._pages.setCurrentWidget(self._scroll)
            if view == 1:
                self._panel.show_json()
            elif not self._panel.show_form():
                self._views.setCurrentIndex(1)

    @Slot()
    def _on_go_to_hidden(self) -> None:
        field = self._panel.go_to_hidden()
        if field is not None:
            self._scroll.ensureWidgetVisible(field)

    @Slot()
    def _on_reverting(self) -> None:
        self._views.setFocus(Qt.FocusReason.OtherFocusReason)


def _is_editable(value: Json) -> bool:
    """What is too large for a text field is shown, not edited."""
    return len(values.compact(value, EDITABLE_CHARACTERS)) <= EDITABLE_CHARACTERS
