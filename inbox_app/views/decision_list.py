"""How the questions of one run ended, oldest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from inbox_app.gateway import values
from inbox_app.gateway.base import Decision
from inbox_app.models.deadline_words import what_happened
from inbox_app.models.outcome_words import outcome
from inbox_app.models.wording import clock
from inbox_app.state.drafts import Draft
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON, SPACE_1, SPACE_3, SPACE_5, SPACE_6
from inbox_app.views.kept_part import KeptPart
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.payload_view import PayloadView
from inbox_app.widgets.plain_label import PlainLabel

MOST: Final = 200


class DecisionList(QScrollArea):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shown: Sequence[tuple[Decision, Draft | None]] | None = None
        self.draft_of: Callable[[str], Draft | None] = _no_draft
        """What was prepared for a question and not sent."""
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Decisions of this run"))
        self.viewport().setAutoFillBackground(False)

    def show_decisions(self, decisions: Sequence[Decision]) -> None:
        shown = [(decision, self.draft_of(decision.pause_id)) for decision in decisions]
        if shown == self._shown:
            return
        self._shown = shown
        theme = self._theme
        page = QWidget()
        page.setAutoFillBackground(False)
        column = QVBoxLayout(page)
        pad = theme.px(SPACE_6)
        column.setContentsMargins(pad, theme.px(SPACE_5), pad, pad)
        column.setSpacing(theme.px(SPACE_5))
        if not shown:
            column.addWidget(PlainLabel(self.tr("Nothing was decided in this run yet."), theme, "body", "muted", page))
        for decision, draft in shown[:MOST]:
            column.addWidget(self._row(decision, page))
            if draft is not None:
                column.addWidget(KeptPart(theme, draft, page))
        if len(decisions) > MOST:
            more = self.tr("{count} more are in the record.").format(count=len(decisions) - MOST)
            column.addWidget(PlainLabel(more, theme, "meta", "muted", page))
        column.addStretch(1)
        self.setWidget(page)

    def _row(self, decision: Decision, parent: QWidget) -> QWidget:
        theme = self._theme
        row = QWidget(parent)
        grid = QGridLayout(row)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(theme.px(SPACE_3))
        grid.setVerticalSpacing(theme.px(SPACE_1))
        grid.setColumnStretch(1, 1)
        ended = outcome(decision.outcome)
        mark = IconBox(theme, row, ICON)
        mark.set_icon(ended.icon if ended else "circle-question-mark", ended.role if ended else "muted")
        grid.addWidget(mark, 0, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(MarkedLabel(decision.question, theme, "body", parent=row, strong=True), 0, 1)
        grid.addWidget(PlainLabel(clock(decision.at) if decision.at else "", theme, "meta", "muted", row), 0, 2)
        grid.addWidget(MarkedLabel(self._outcome(decision), theme, "body", "muted", row), 1, 1, 1, 2)
        if decision.note:
            note = self.tr("Reason: {text}").format(text=decision.note)
            grid.addWidget(MarkedLabel(note, theme, "body", "muted", row), 2, 1, 1, 2)
        if decision.has_edits:
            view = PayloadView(theme, self.tr("The edited payload"), inline=True, parent=row)
            view.show_value(decision.edits)
            grid.addWidget(PlainLabel(self.tr("Edited payload"), theme, "label", "muted", row), 3, 1)
            grid.addWidget(view, 4, 1, 1, 2)
        return row

    def _outcome(self, decision: Decision) -> str:
        words = {
            "expired": what_happened(decision.on_expire),
            "cancelled": self.tr("Cancelled with the run"),
            "superseded": self.tr("Superseded: the run stopped asking"),
        }
        ended = outcome(decision.outcome)
        word = words.get(decision.outcome, ended.word if ended else reveal(decision.outcome))
        if decision.outcome not in ("answered", "refused"):
            return word
        by = ", ".join(decision.voters) or decision.by or self.tr("somebody")
        said = values.compact(decision.value, 400)
        return self.tr("{word} by {name}: {answer}").format(word=word, name=by, answer=said)


def _no_draft(pause_id: str) -> Draft | None:
    return None
