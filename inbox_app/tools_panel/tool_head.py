"""What a tool is and what it may do, above its form."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.gateway.catalog import Repository, ToolInfo
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import LINE_HEIGHT, SPACE_1, SPACE_2, SPACE_3, SPACE_4
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel

LABEL_WIDTH = 72
MOST_NAMES = 12


class ToolHead(QWidget):
    def __init__(self, theme: Theme, repository: Repository, tool: ToolInfo, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        place = QHBoxLayout()
        place.setSpacing(theme.px(SPACE_3))
        place.addWidget(PlainLabel(reveal(repository.name), theme, "body", parent=self, strong=True))
        place.addWidget(PlainLabel(reveal(tool.file), theme, "mono", "muted", self, elide=True), 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addLayout(place)
        column.addWidget(MarkedLabel(tool.title or tool.name, theme, "title", parent=self, lines=2))
        if tool.title and tool.title != tool.name:
            column.addWidget(MarkedLabel(tool.name, theme, "mono", "muted", self))
        if tool.description.strip():
            column.addWidget(MarkedLabel(tool.description, theme, "body", parent=self))
        column.addSpacing(theme.px(SPACE_2))
        column.addLayout(self._facts(tool))

    def _facts(self, tool: ToolInfo) -> QGridLayout:
        theme = self._theme
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme.px(SPACE_4))
        grid.setVerticalSpacing(0)
        grid.setColumnStretch(1, 1)
        grid.setColumnMinimumWidth(0, theme.px(LABEL_WIDTH))
        for line, (label, text) in enumerate(self._lines(tool)):
            name = PlainLabel(label, theme, "body", "muted", self)
            name.setFixedHeight(theme.px(LINE_HEIGHT["body"]))
            grid.addWidget(name, line, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(MarkedLabel(text, theme, "body", parent=self), line, 1)
        return grid

    def _lines(self, tool: ToolInfo) -> list[tuple[str, str]]:
        kind = (
            self.tr("Durable: it can ask and wait, and its run is kept")
            if tool.durable
            else self.tr("Inline: it ends with its reply, and no run is kept")
        )
        effects = {
            "read": self.tr("reads only"),
            "idempotent": self.tr("may be repeated without harm"),
            "once": self.tr("must not happen twice"),
        }
        lines = [(self.tr("Kind"), kind), (self.tr("Effect"), effects.get(tool.effect, reveal(tool.effect)))]
        if tool.uses:
            lines.append((self.tr("Uses"), _names(tool.uses)))
        further = [name for name in tool.reach if name not in tool.uses]
        if further:
            lines.append((self.tr("Reaches"), _names(further)))
        if tool.guarded:
            lines.append((self.tr("Guard"), self.tr("a person is asked first when a model calls it; you are not")))
        return lines


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(name.replace(":", " ", 1) for name in names[:MOST_NAMES])
    return f"{shown} … {len(names)}" if len(names) > MOST_NAMES else shown
