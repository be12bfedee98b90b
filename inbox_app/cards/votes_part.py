"""How far a question is that takes several people: how many answers are there, and whose."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.gateway.base import Votes
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON_SMALL, SPACE_1, SPACE_2
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel


class VotesPart(QWidget):
    def __init__(self, theme: Theme, votes: Votes, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        icon = IconBox(theme, self, ICON_SMALL)
        icon.set_icon("users", "waiting")
        self._given = MarkedLabel("", theme, "body", parent=self, strong=True)
        line = QHBoxLayout()
        line.setSpacing(theme.px(SPACE_2))
        line.addWidget(icon)
        line.addWidget(self._given, 1)
        rule = self.tr("{0} different people have to give the same answer. One refusal is enough to refuse.")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(PlainLabel(self.tr("Several people decide"), theme, "label", "muted", self))
        column.addLayout(line)
        column.addWidget(PlainLabel(rule.format(votes.needed), theme, "body", "muted", self, wrap=True))
        self.show_votes(votes)

    def show_votes(self, votes: Votes) -> None:
        text = self.tr("{0} of {1} equal answers given").format(votes.given, votes.needed)
        if votes.by:
            names = [self.tr("{0} (you)").format(name) if name == votes.me else name for name in votes.by]
            text = self.tr("{0}: {1}").format(text, ", ".join(names))
        self._given.show_text(text)
