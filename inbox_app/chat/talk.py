"""One conversation: its turns, and the one that goes on now. Pieces that arrive close together are told together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.chats import (
    Began,
    ChatDetail,
    ChatFile,
    ChatGateway,
    ChatRequest,
    ChatSession,
    ChatTurn,
    Ended,
    Note,
)
from inbox_app.state.chats import TurnLog, stored

TOGETHER_MS: Final = 33


class Talk(QObject):
    """``session_id`` None: nothing was said yet.

    ``changed``: the last turn is different. ``began`` tells the id of a new conversation. ``ended``: a turn is over.
    ``refused`` carries why what was said was not taken; it is not among the turns, and `unsent` has it.
    """

    changed = Signal()
    began = Signal(str)
    ended = Signal()
    refused = Signal(str)

    def __init__(
        self,
        repository: str,
        agent: str,
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        clock: Callable[[], float] = time.time,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.repository = repository
        self.agent = agent
        self.session_id: str | None = None
        self.title = self.tr("New conversation")
        self.logs: list[TurnLog] = []
        self.files: list[ChatFile] = []
        """What waits to be sent along with the next message."""
        self.sent: ChatRequest | None = None
        """What was said last, here."""
        self.unsent: ChatRequest | None = None
        self.known: ChatSession | None = None
        """As it was when it was read; None after a turn that was had here."""
        self.is_busy_elsewhere = self.is_deleted = False
        self._spawn = spawn
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._is_running = False
        self._together = QTimer(self)
        self._together.setSingleShot(True)
        self._together.setInterval(TOGETHER_MS)
        self._together.timeout.connect(self.changed)

    @property
    def is_running(self) -> bool:
        """Whether a turn goes on that was begun here."""
        return self._is_running

    def load(self, detail: ChatDetail) -> None:
        """What is stored of it, unless a turn goes on here. Turns that are known stay the same objects."""
        if self._is_running:
            return
        known = {log.number: log for log in self.logs}
        session = self.known = detail.session
        self.session_id, self.title = session.id, session.title
        self.repository, self.agent = session.repository, session.agent
        self.is_busy_elsewhere = session.busy
        self.logs = [self._log_of(turn, known.get(turn.number)) for turn in detail.turns]

    def is_news(self, session: ChatSession) -> bool:
        """Whether something was said elsewhere since it was read, or since a turn ended here."""
        known, self.known = self.known, self.known or session
        return known is not None and (known.updated_at, known.messages) != (session.updated_at, session.messages)

    def say(self, chats: ChatGateway, message: str, files: Sequence[ChatFile] = (), *, is_choice: bool = False) -> None:
        asked = ChatRequest(
            message, self.repository, self.agent, self.session_id, files=tuple(files), is_choice=is_choice
        )
        names = [file.filename for file in files]
        number = self.logs[-1].number + 1 if self.logs else 1
        self.logs.append(TurnLog(number, message, self._clock(), names, self._clock))
        self._is_running = True
        self.known, self.sent = None, asked
        self._spawn(self._listen(chats, asked, self.logs[-1]), "chat turn")

    def _log_of(self, turn: ChatTurn, known: TurnLog | None) -> TurnLog:
        if known is not None and known.end and known.end == turn.end:
            return known
        log = stored(turn, self._clock)
        if known is None or known.end or known.asked != turn.asked:
            return log
        known.go_on_as(log)
        return known

    @Slot()
    def stop(self) -> None:
        """Whoever stops listening ends the turn."""
        if self._task is not None:
            self._task.cancel()

    async def _listen(self, chats: ChatGateway, asked: ChatRequest, log: TurnLog) -> None:
        self._task = asyncio.current_task()
        has_begun = False
        try:
            async for event in chats.send(asked):
                if isinstance(event, Began):
                    has_begun = True
                    self._begin(event.session_id)
                log.take(event)
                if not self._together.isActive():
                    self._together.start()
        except asyncio.CancelledError:
            if has_begun:
                log.finish("user_abort", at=self._clock())
            else:
                self._refuse(asked, log, self.tr("Stopped before it was sent."))
        except GatewayError as error:
            if not has_begun:
                self._refuse(asked, log, error.message)
            else:
                log.take(Note(error.message, error=True))
        finally:
            self._task = None
            self._is_running = False
            self._together.stop()
            if log.is_running:
                log.take(Ended("error"))
            self.changed.emit()
            self.ended.emit()

    def _refuse(self, asked: ChatRequest, log: TurnLog, why: str) -> None:
        """Nothing was said: it comes back to whoever wrote it."""
        self.logs.remove(log)
        self.unsent = asked
        self._is_running = False
        self.refused.emit(why)

    def _begin(self, session_id: str) -> None:
        if self.session_id is None:
            self.session_id = session_id
            self.began.emit(session_id)
