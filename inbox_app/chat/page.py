"""The page of a conversation: its head, what was said, where the person writes. It decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from inbox_app.chat.agent_choice import AgentChoice
from inbox_app.chat.composer import Composer, is_attachable
from inbox_app.chat.transcript import Transcript
from inbox_app.chat.turn_view import Sources
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import LIST_HEAD, SPACE_2, SPACE_4, SPACE_6
from inbox_app.widgets.check_box import CheckBox
from inbox_app.widgets.empty_state import EmptyState
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.surface import Hairline, Surface


class ChatPage(Surface):
    """One of three is shown above the composer: turns, the choice of an agent, or why nothing can be said at all."""

    def __init__(
        self,
        theme: Theme,
        sources: Sources,
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, "card", parent)
        self.setAccessibleName(self.tr("Conversation"))
        self.setAcceptDrops(True)
        self.transcript = Transcript(theme, sources, self)
        self.choice = AgentChoice(theme, self)
        self.empty = EmptyState(theme, self)
        self.composer = Composer(theme, spawn, self)
        self._title = PlainLabel("", theme, "heading", parent=self, elide=True)
        self._agent = PlainLabel("", theme, "meta", "muted", self)
        self._internal = CheckBox(theme, self.tr("Show all calls"), "meta", self)
        self._internal.setToolTip(self.tr("Also the calls that the agent needs for itself"))
        self._internal.toggled.connect(self.transcript.set_internal)
        head = QWidget(self)
        head.setFixedHeight(theme.px(LIST_HEAD))
        row = QHBoxLayout(head)
        row.setContentsMargins(theme.px(SPACE_6), 0, theme.px(SPACE_4), 0)
        row.setSpacing(theme.px(SPACE_2))
        row.addWidget(self._title, 1)
        row.addWidget(self._agent)
        row.addSpacing(theme.px(SPACE_2))
        row.addWidget(self._internal)
        self._body = QStackedWidget(self)
        for part in (self.transcript, self.choice, self.empty):
            self._body.addWidget(part)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(head)
        column.addWidget(Hairline(theme, self))
        column.addWidget(self._body, 1)
        column.addWidget(self.composer)

    def show_head(self, title: str, agent: str) -> None:
        self._title.setText(title)
        self._agent.setText(" ".join(reveal(agent).split()))

    def show_transcript(self) -> None:
        self._show(self.transcript)
        self._internal.show()

    def show_choice(self) -> None:
        self._show(self.choice)
        self._internal.hide()

    def show_empty(self, icon: str, heading: str, text: str, link: str = "", *, writable: bool = False) -> None:
        """``writable``: what is being written stays in sight."""
        self.empty.show_text(icon, heading, text, link)
        self._body.setCurrentWidget(self.empty)
        self._internal.hide()
        self.composer.setVisible(writable)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if not self.composer.isHidden() and is_attachable(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self.composer.dropEvent(event)

    def toggle_internal(self) -> None:
        self._internal.toggle()

    def _show(self, part: QWidget) -> None:
        self._body.setCurrentWidget(part)
        self.composer.show()
