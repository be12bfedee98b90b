"""Before the first word of a conversation: whom to talk to."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from inbox_app.chat.partners import Partner
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_2, SPACE_3, SPACE_6, SPACE_8
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.option_list import OptionList
from inbox_app.widgets.option_row import OUTSET, OptionRow
from inbox_app.widgets.plain_label import PlainLabel

COLUMN = 640
TOP = 72


class AgentChoice(QScrollArea):
    """``chosen`` carries the number of the agent that was picked."""

    chosen = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shown: tuple[tuple[str, ...], int] | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        self.setAccessibleName(self.tr("New conversation"))

    def show_partners(self, partners: Sequence[Partner], picked: int) -> None:
        state = (tuple(f"{partner.key}\n{partner.agent.description}" for partner in partners), picked)
        if state == self._shown:
            return
        self._shown = state
        theme = self._theme
        page = QWidget()
        column = QVBoxLayout(page)
        edge = theme.px(SPACE_6)
        column.setContentsMargins(edge, theme.px(TOP), edge, theme.px(SPACE_8))
        column.setSpacing(theme.px(SPACE_2))
        icon = IconBox(theme, page)
        icon.set_icon("message-square")
        column.addWidget(icon)
        column.addSpacing(theme.px(SPACE_3))
        column.addWidget(PlainLabel(self.tr("New conversation"), theme, "heading", parent=page))
        if len(partners) == 1:
            self._add_single(column, page, partners[0])
        else:
            words = self.tr("Choose whom to talk to, then write below.")
            column.addWidget(PlainLabel(words, theme, "body", "muted", page))
            column.addSpacing(theme.px(SPACE_3))
            column.addWidget(self._options(page, partners, picked))
        column.addStretch(1)
        self.setWidget(page)
        page.setAutoFillBackground(False)

    def _add_single(self, column: QVBoxLayout, page: QWidget, partner: Partner) -> None:
        words = self.tr("{0} of {1} answers. Write below.").format(partner.name, partner.repository.name)
        column.addWidget(MarkedLabel(words, self._theme, "body", "muted", page))
        if partner.about:
            column.addWidget(MarkedLabel(partner.about, self._theme, "body", parent=page))

    def _options(self, page: QWidget, partners: Sequence[Partner], picked: int) -> QWidget:
        theme = self._theme
        several = len({partner.repository.path for partner in partners}) > 1
        options = OptionList(theme, self.tr("Agents"), page)
        rows: list[OptionRow] = []
        for partner in partners:
            where = reveal(partner.repository.name) if several else ""
            rows.append(OptionRow(theme, partner.name, sub=partner.about, remark=where, parent=options))
        options.set_rows(rows)
        options.set_picked(picked)
        options.setMaximumWidth(theme.px(COLUMN))
        options.picked.connect(self._on_picked)
        frame = QWidget(page)
        outer = QVBoxLayout(frame)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(options)
        frame.setContentsMargins(-theme.px(OUTSET), 0, 0, 0)
        return frame

    @Slot(int)
    def _on_picked(self, number: int) -> None:
        if self._shown is not None:
            self._shown = (self._shown[0], number)
        self.chosen.emit(number)
