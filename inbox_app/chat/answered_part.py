"""A question of a run that was answered before it was looked at here: what was asked, what became of it."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.cards import bar_states
from inbox_app.chat.part import Part
from inbox_app.gateway.base import Decision
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON, LINE_HEIGHT, SPACE_1, SPACE_2
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.marked_label import MarkedLabel


class AnsweredPart(Part):
    """``run_wanted`` carries the id of the run, whose history has all of it."""

    run_wanted = Signal(str)
    gap = 8

    def __init__(self, theme: Theme, run_id: str, decision: Decision, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._run_id = run_id
        state = bar_states.closed(decision, kept="")
        icon = IconBox(theme, self, ICON)
        icon.set_icon(state.icon, state.role)
        question = MarkedLabel(decision.question, theme, "body", parent=self, lines=2)
        words = MarkedLabel(state.text, theme, "meta", "muted", self)
        link = ActionButton(theme, self.tr("Show run"), "link", parent=self, height=LINE_HEIGHT["body"])
        link.clicked.connect(self._on_clicked)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(question)
        texts.addWidget(words)
        first = QVBoxLayout()
        first.setContentsMargins(0, theme.px(2), 0, 0)
        first.addWidget(icon)
        first.addStretch(1)
        last = QVBoxLayout()
        last.addWidget(link)
        last.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(SPACE_1), 0, 0, 0)
        row.setSpacing(theme.px(SPACE_2))
        row.addLayout(first)
        row.addLayout(texts, 1)
        row.addLayout(last)
        self.setAccessibleName(f"{question.text()}. {words.text()}"[:1000])

    @Slot()
    def _on_clicked(self) -> None:
        self.run_wanted.emit(self._run_id)
