"""What the lists of all views have in common: head, table or empty state, footer."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QVBoxLayout, QWidget

from inbox_app.models.roles import ItemRole
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import FOOTER, LIST_HEAD, LIST_WIDTH, SPACE_2, SPACE_3, SPACE_4
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import EmptyState
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.row_view import RowView
from inbox_app.widgets.surface import Hairline, Surface
from inbox_app.widgets.top_head import TopHead


class ListPane(Surface):
    """``selected`` carries the id of the row that became current; ``opened`` asks to move on into it."""

    selected = Signal(str)
    opened = Signal()
    more_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "list", parent)
        self.setMinimumWidth(theme.px(LIST_WIDTH) * 2 // 3)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._title = PlainLabel("", theme, "heading", parent=self)
        self._count = PlainLabel("", theme, "meta", "muted", self)
        self.table = RowView(theme, "", self)
        self.top = TopHead(theme, self.table, self)
        self.empty = EmptyState(theme, self)
        self._foot_text = PlainLabel("", theme, "meta", "muted", self, elide=True)
        self._foot_link = ActionButton(theme, self.tr("Load more"), "link", parent=self, height=28)
        self._foot_link.hide()
        self._foot_link.clicked.connect(self.more_wanted)
        self.table.current_moved.connect(self._on_current_moved)
        self.table.opened.connect(self.opened)

        self._head = QHBoxLayout()
        self._head.setContentsMargins(theme.px(SPACE_4), 0, theme.px(SPACE_3), 0)
        self._head.setSpacing(theme.px(SPACE_2))
        self._head.addWidget(self._title)
        self._head.addWidget(self._count, 1)
        head_box = QWidget(self)
        head_box.setFixedHeight(theme.px(LIST_HEAD))
        head_box.setLayout(self._head)

        foot = QHBoxLayout()
        foot.setContentsMargins(theme.px(SPACE_4), 0, theme.px(SPACE_3), 0)
        foot.addWidget(self._foot_text, 1)
        foot.addWidget(self._foot_link)
        self._foot = QWidget(self)
        self._foot.setFixedHeight(theme.px(FOOTER))
        self._foot.setLayout(foot)

        self._filled = QWidget(self)
        fill = QVBoxLayout(self._filled)
        fill.setContentsMargins(0, 0, 0, 0)
        fill.setSpacing(0)
        fill.addWidget(self.top)
        fill.addWidget(self.table, 1)
        self._pages = QStackedLayout()
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self._filled)

        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(head_box)
        layout.addWidget(Hairline(theme, self))
        layout.addLayout(self._pages, 1)
        layout.addWidget(Hairline(theme, self))
        layout.addWidget(self._foot)

    def name_all(self, title: str, table: str) -> None:
        """The heading, and what the table is called."""
        self._title.setText(title)
        self.setAccessibleName(title)
        self.table.setAccessibleName(table)

    @property
    def title(self) -> str:
        return self._title.text()

    @property
    def current_id(self) -> str | None:
        found = self.table.currentIndex().data(ItemRole.ID)
        return found if isinstance(found, str) and found else None

    def add_to_head(self, widget: QWidget) -> None:
        """Something to press, at the right of the heading."""
        self._head.addWidget(widget)

    def show_count(self, text: str) -> None:
        self._count.setText(text)

    def show_footer(self, text: str, *, more: bool = False) -> None:
        self._foot_text.setText(text)
        if not more and self._foot_link.hasFocus():
            self.table.setFocus()
        self._foot_link.setVisible(more)

    def show_table(self, filled: bool) -> None:
        """The table, or the empty state; the focus never stays in the one that is hidden."""
        shown, hidden = (self._filled, self.empty) if filled else (self.empty, self._filled)
        if self._pages.currentWidget() is shown:
            return
        focused = self.window().focusWidget() or self.window()  # also while the window is not the active one
        inside = focused is self or hidden.isAncestorOf(focused)
        if inside:
            self.setFocus()
        self._pages.setCurrentWidget(shown)
        if inside and filled:
            self.table.setFocus()

    def _on_current_moved(self) -> None:
        found = self.current_id
        if found is not None:
            self.selected.emit(found)
