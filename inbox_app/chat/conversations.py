"""Drives the list of conversations: reads it page by page, renames and deletes, says which one is chosen."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence, Set
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from inbox_app.chat.conversation_pane import ConversationPane
from inbox_app.chat.conversation_table import ConversationTable
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.chats import ChatGateway, ChatPage, ChatSession
from inbox_app.models.agent_names import AgentNames

PAGE = 100


class Conversations(QObject):
    """``changed``: other conversations are listed. ``deleted`` carries an id. ``failed``: what, and why not."""

    changed = Signal()
    deleted = Signal(str)
    failed = Signal(str, str)

    def __init__(
        self,
        pane: ConversationPane,
        chats: Callable[[], ChatGateway | None],
        busy: Callable[[], Set[str]],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        clock: Callable[[], float] = time.time,
        parent: QObject | None = None,
    ) -> None:
        """``busy``: the conversations in which a turn goes on here."""
        super().__init__(parent)
        self._pane = pane
        self._chats = chats
        self._busy = busy
        self._spawn = spawn
        self._sessions: dict[str, ChatSession] = {}
        self._cursor: str | None = None
        self._total = 0
        self._newest: tuple[int, ChatSession | None] = 0, None
        self._loaded = self._reading = self._again = False
        self._wanted = ""
        self._table = ConversationTable(self, clock)
        self._table.more = self._has_more
        self._table.fetch = self.fetch
        pane.table.setModel(self._table)
        pane.more_wanted.connect(self.fetch)
        pane.empty.followed.connect(self.load)
        pane.renamed.connect(self._on_renamed)

    @property
    def loaded(self) -> bool:
        return self._loaded

    def get(self, session_id: str) -> ChatSession | None:
        return self._sessions.get(session_id)

    @Slot()
    def load(self) -> None:
        """Read the first page, again if it was read before."""
        if self._chats() is None:
            return
        if self._reading:
            self._again = True
            return
        if not self._loaded:
            self._pane.show_loading()
        self._reading = True
        self._spawn(self._read(None), "conversations")

    def look(self) -> None:
        """Read the list again if something was said elsewhere."""
        if self._loaded and not self._reading:
            self._spawn(self._look(), "look at conversations")

    @Slot()
    def fetch(self) -> None:
        if self._has_more():
            self._reading = True
            self._spawn(self._read(self._cursor), "more conversations")

    def select(self, session_id: str) -> None:
        """Make one current, now or as soon as it is listed."""
        self._wanted = session_id
        self._select_wanted()

    def show_busy(self) -> None:
        """Another conversation is at work, or one is no longer."""
        self._show()

    def show_asking(self, asking: Set[str]) -> None:
        """The conversations in which a person is asked something."""
        self._table.show_asking(asking)

    def show_names(self, names: AgentNames) -> None:
        """What the agents are called."""
        self._table.show_names(names)

    def rename_current(self) -> None:
        row = self._sessions.get(self._pane.current_id or "")
        if row is not None:
            self._pane.rename(row.id, row.title)

    def delete(self, session_id: str) -> None:
        self._spawn(self._delete(session_id), "delete conversation")

    def _has_more(self) -> bool:
        return self._loaded and self._cursor is not None and not self._reading

    async def _read(self, cursor: str | None) -> None:
        chats = self._chats()
        try:
            page = await self._page(chats, cursor) if chats is not None else None
        except GatewayError as error:
            if not self._loaded:
                self._pane.show_problem(error.message)
            else:
                self.failed.emit(self.tr("The conversations could not be read."), error.message)
            return
        finally:
            self._reading = False
        if page is None:
            return
        if cursor is None:
            self._sessions = {}
            self._newest = page.total, next(iter(page.items), None)
        self._loaded = True
        self._sessions |= {row.id: row for row in page.items}
        self._cursor, self._total = page.next_cursor, page.total
        self._show()
        if self._again:
            self._again = False
            self.load()

    async def _page(self, chats: ChatGateway, cursor: str | None) -> ChatPage:
        """The next page, or the first ones again: as many conversations as were listed."""
        listed = len(self._sessions) if cursor is None else 0
        page = await chats.sessions(PAGE, cursor)
        while page.next_cursor is not None and len(page.items) < listed:
            following = await chats.sessions(PAGE, page.next_cursor)
            page = replace(following, items=[*page.items, *following.items])
        return page

    async def _look(self) -> None:
        chats = self._chats()
        try:
            page = await chats.sessions(1) if chats is not None else None
        except GatewayError:  # said when somebody wants to read them
            return
        if page is not None and (page.total, next(iter(page.items), None)) != self._newest:
            self.load()

    def _show(self) -> None:
        if not self._loaded:
            return
        rows: Sequence[ChatSession] = list(self._sessions.values())
        if self._pane.current_id not in self._sessions:
            self._pane.table.select_none()
        self._table.show(rows, self._busy(), self._pane.current_id)
        self._pane.show_sessions(len(rows), max(self._total, len(rows)))
        self._select_wanted()
        self.changed.emit()

    def _select_wanted(self) -> None:
        row = self._table.find(self._wanted) if self._wanted else None
        if row is not None:
            self._wanted = ""
            self._pane.table.select_row(row)

    async def _delete(self, session_id: str) -> None:
        chats = self._chats()
        if chats is None:
            return
        try:
            await chats.delete(session_id)
        except GatewayError as error:
            self.failed.emit(self.tr("The conversation was not deleted."), error.message)
            return
        following = self._beside(session_id) if self._pane.current_id == session_id else ""
        if self._sessions.pop(session_id, None) is not None:
            self._total -= 1
        self._show()
        self.deleted.emit(session_id)
        if following and self._pane.table.hasFocus():
            self.select(following)

    def _beside(self, session_id: str) -> str:
        """The conversation below one in the list, or else the one above it."""
        ids = [row.id for row in self._table.rows]
        at = ids.index(session_id)
        return next(iter(ids[at + 1 :] or ids[at - 1 : at]), "")

    @Slot(str, str)
    def _on_renamed(self, session_id: str, title: str) -> None:
        known = self._sessions.get(session_id)
        if known is not None and known.title != title:
            self._spawn(self._rename(known, title), "rename conversation")

    async def _rename(self, known: ChatSession, title: str) -> None:
        chats = self._chats()
        if chats is None:
            return
        try:
            await chats.rename(known.id, title)
        except GatewayError as error:
            self.failed.emit(self.tr("The conversation was not renamed."), error.message)
            return
        self._sessions[known.id] = replace(self._sessions.get(known.id, known), title=title)
        self._show()
