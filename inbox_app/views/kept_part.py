"""What the operator prepared for a question that ended without it: to read and to copy."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QWidget

from inbox_app.state.drafts import Draft
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON, SPACE_1, SPACE_3
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel

LINE = 20


class KeptPart(QWidget):
    def __init__(self, theme: Theme, draft: Draft, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(theme.px(SPACE_3))
        grid.setVerticalSpacing(theme.px(SPACE_1))
        grid.setColumnStretch(1, 1)
        mark = IconBox(theme, self, ICON)
        mark.set_icon("pencil", "draft")
        grid.addWidget(mark, 0, 0)
        grid.addWidget(PlainLabel(self.tr("Your draft, not sent"), theme, "body", "draft", self, strong=True), 0, 1)
        parts = [(self.tr("Text"), draft.text), (self.tr("Edited payload"), draft.edits or "")]
        parts.append((self.tr("Reason"), draft.note))
        if draft.pick is not None:
            grid.addWidget(PlainLabel(self.tr("Picked: {0}").format(draft.pick + 1), theme, parent=self), 1, 1)
        for name, text in parts:
            if text:
                row = grid.rowCount()
                grid.addWidget(PlainLabel(name, theme, "label", "muted", self), row, 1)
                grid.addWidget(_CopyButton(theme, name, text, self), row, 2)
                grid.addWidget(MarkedLabel(text, theme, "body", parent=self), row + 1, 1, 1, 2)


class _CopyButton(ActionButton):
    def __init__(self, theme: Theme, name: str, text: str, parent: QWidget) -> None:
        super().__init__(theme, parent.tr("Copy"), "link", parent=parent, height=LINE)
        self._copied = text
        self.setAccessibleName(parent.tr("Copy: {0}").format(name))
        self.clicked.connect(self._on_clicked)

    @Slot()
    def _on_clicked(self) -> None:
        """A lone surrogate has no place on a clipboard."""
        QGuiApplication.clipboard().setText(self._copied.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
