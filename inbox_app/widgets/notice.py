"""A strip above the panes: something a person should know, in one sentence, until it is dismissed or over."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON, SPACE_2, SPACE_4
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.surface import Hairline, Surface

HEIGHT = 36


class Notice(Surface):
    """``acted`` says that its link was followed. Move the focus away before hiding it."""

    acted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "due_wash", parent)
        self.setMinimumHeight(theme.px(HEIGHT))
        self._icon = IconBox(theme, self, ICON)
        self._strong = PlainLabel("", theme, "body", "due", self, strong=True)
        self._text = PlainLabel("", theme, "body", parent=self, elide=True)
        self._link = ActionButton(theme, "", "link", parent=self, height=28)
        self._link.clicked.connect(self._on_clicked)
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(SPACE_4), 0, theme.px(SPACE_4), 0)
        row.setSpacing(theme.px(SPACE_2))
        row.addWidget(self._icon)
        row.addWidget(self._strong)
        row.addWidget(self._text, 1)
        row.addWidget(self._link)
        self._line = Hairline(theme, self)
        self._line.setVisible(theme.is_contrast)
        self.hide()

    def show_text(self, strong: str, text: str, link: str, icon: str = "triangle-alert") -> None:
        self._icon.set_icon(icon, "due")
        self._strong.setText(strong)
        self._text.setText(text)
        self._link.set_text(link)
        self.setAccessibleName(f"{strong} {text}")
        self.show()

    def has_focus(self) -> bool:
        return self._link.hasFocus()

    @Slot()
    def _on_clicked(self) -> None:
        self.acted.emit()
