"""Where one can go: the views, and the connection the questions come from."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inbox_app.commands.base import ViewName
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SIDEBAR_WIDTH, SPACE_2, Role
from inbox_app.widgets.nav_row import NavRow, SourceRow
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.surface import Surface

if TYPE_CHECKING:
    from inbox_app.gateway.base import Health

HEALTH_MARKS: dict[Health, tuple[str, Role]] = {
    "live": ("dot", "answered"),
    "catching-up": ("half", "due"),
    "polling": ("half", "due"),
    "signed-out": ("ring", "failed"),
    "unreachable": ("ring", "failed"),
}


class Sidebar(Surface):
    chosen = Signal(str)
    """The name of the view to show."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "panel", parent)
        self.setMinimumWidth(theme.px(SIDEBAR_WIDTH) * 3 // 4)
        self.setAccessibleName(self.tr("Views and connections"))
        self._inbox = NavRow(theme, "inbox", self.tr("Inbox"), self)
        self._history = NavRow(theme, "history", self.tr("History"), self)
        self._inbox.setChecked(True)
        self._rows: dict[ViewName, NavRow] = {"inbox": self._inbox, "history": self._history}
        self._rows |= {view: NavRow(theme, icon, text, self) for view, icon, text in self._sections()}
        for row in self._rows.values():
            row.clicked.connect(self._on_clicked)
        self._connection = SourceRow(theme, "", self)
        label = PlainLabel(self.tr("Connections"), theme, "label", "muted", self)
        label.setContentsMargins(theme.px(8), theme.px(16), 0, theme.px(4))
        layout = QVBoxLayout(self)
        edge = theme.px(SPACE_2)
        layout.setContentsMargins(edge, edge, edge, edge)
        layout.setSpacing(0)
        for row in self._rows.values():
            layout.addWidget(row)
        layout.addWidget(label)
        layout.addWidget(self._connection)
        layout.addStretch(1)

    def show_view(self, view: ViewName) -> None:
        self._rows[view].setChecked(True)

    def show_sections(self, views: Set[ViewName]) -> None:
        """Which of the sections the runtime has."""
        for view, row in self._rows.items():
            row.setVisible(view in views or view in ("inbox", "history"))

    def show_waiting(self, count: int | None) -> None:
        self._inbox.set_count(count)

    def show_stopped(self, count: int) -> None:
        """How many runs wait for somebody to choose a way on."""
        self._history.set_count(count, shown=count > 0, mark="git-compare")
        if count:
            words = self.tr("1 run waits for a way on") if count == 1 else self.tr("{0} runs wait for a way on")
            self._history.setToolTip(words.format(count))
            self._history.setAccessibleName(f"{self._history.text()}, {words.format(count)}")
        else:
            self._history.setToolTip("")

    def show_connection(self, name: str, health: Health | None, state: str, count: int | None) -> None:
        """``health`` None: not known yet."""
        icon, role = HEALTH_MARKS[health] if health else ("circle-dashed", "muted")
        self._connection.set_name(name)
        self._connection.set_state(icon, role, state, count)

    def _sections(self) -> Sequence[tuple[ViewName, str, str]]:
        return (
            ("chat", "message-square", self.tr("Chat")),
            ("tools", "wrench", self.tr("Tools")),
            ("evals", "circle-check", self.tr("Evals")),
            ("automations", "clock", self.tr("Automations")),
            ("repositories", "git-branch", self.tr("Repositories")),
        )

    @Slot()
    def _on_clicked(self) -> None:
        self.chosen.emit(next(view for view, row in self._rows.items() if row is self.sender()))
