"""Drives the reading pane: which question or run it shows, and what is known about its run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, Signal

from inbox_app.gateway import schemas
from inbox_app.gateway.base import Batch, Gateway, GatewayError, Run, RunDetail
from inbox_app.state.drafts import Drafts
from inbox_app.state.outbox import Outbox
from inbox_app.state.requests import Entry
from inbox_app.views.request_head import RequestHead
from inbox_app.views.request_pane import RequestPane


class Reading(QObject):
    """One thing is read at a time: a question of the inbox (``pause_id``), an ended run, or nothing."""

    stopped = Signal(str)
    """A question is no longer read: its pause id."""

    def __init__(
        self,
        pane: RequestPane,
        gateway: Callable[[], Gateway | None],
        entry: Callable[[str | None], Entry | None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        drafts: Drafts,
        outbox: Outbox,
        parent: QObject,
    ) -> None:
        """``entry`` finds the row of a pause id."""
        super().__init__(parent)
        self._pane = pane
        self._head = pane.findChild(RequestHead)
        self._gateway = gateway
        self._entry = entry
        self._spawn = spawn
        self._drafts = drafts
        self._outbox = outbox
        self._pause_id: str | None = None
        self._run_id = ""
        self._wants_run = False
        self._run: Run | None = None
        self._idle_words: tuple[str, str] | None = None

    @property
    def pause_id(self) -> str | None:
        return self._pause_id

    @property
    def is_idle(self) -> bool:
        """Whether nothing is shown."""
        return not self._run_id

    @property
    def run(self) -> Run | None:
        """The run that is shown or whose question is, as soon as it was read."""
        return self._run

    @property
    def run_is_open(self) -> bool:
        """Whether the run that is shown can still be cancelled."""
        if self._pane.pause is not None:
            return True
        return self._run is not None and self._run.id == self._pane.run_id and not self._run.finished

    def show_pause(self, entry: Entry) -> None:
        self._stop()
        self._wants_run = False
        self._pause_id = entry.id
        sending = self._outbox.get(entry.id)
        sent = sending.wish.draft if sending is not None else None
        self._pane.show_pause(entry.pause, self._drafts.get(entry.id) or sent)
        self._pane.set_outbox_state(sending)
        answered = sending is not None and sending.state == "done" and not sending.is_one_of_several
        if self._head is not None and (entry.gone or answered):
            self._head.close_pause()
        if entry.gone and not self._is_on_its_way:
            self._pane.close_pause(None)
        if entry.pause.schema is not None:
            self._spawn(asyncio.to_thread(schemas.load), "schema check")
        self._follow(entry.pause.run_id)

    def show_run(self, run_id: str) -> None:
        self._stop()
        self._wants_run = True
        self._follow(run_id)

    def show_nothing(self, text: str, more: str) -> None:
        self._stop()
        if self._idle_words == (text, more) and self.is_idle:
            return
        self._run_id, self._idle_words = "", (text, more)
        self._pane.show_nothing(text, more)

    def lose(self, pause_id: str) -> None:
        """The question is gone and its row too."""
        if pause_id == self._pause_id:
            self._pause_id = None
            self._pane.close_pause(None)

    def refresh_outbox(self, pause_id: str) -> None:
        """Where the answer stands. One that was refused is no answer: the run knows who gave the other."""
        if pause_id == self._pause_id:
            sending = self._outbox.get(pause_id)
            self._pane.set_outbox_state(sending)
            if sending is not None and sending.state == "refused":
                self._load()

    def take(self, batch: Batch) -> None:
        """What a batch says about the question and the run that are read."""
        for pause in batch.opened:
            if pause.id == self._pause_id:
                self._pane.update_pause(pause)
        for run_id, calls in batch.calls.items():
            self._pane.apply_calls(run_id, calls)
        if self._pause_id in batch.closed and self._head is not None:
            self._head.close_pause()
        if self._pause_id in batch.closed and not self._is_on_its_way:
            self._pane.close_pause(None)
        moved = any(run.id == self._run_id for run in batch.runs)
        if moved or batch.reset or self._pause_id in batch.closed:
            self._load()

    def _stop(self) -> None:
        pause_id, self._pause_id = self._pause_id, None
        if pause_id is not None:
            self.stopped.emit(pause_id)

    def _follow(self, run_id: str) -> None:
        self._run_id = run_id
        self._run = None
        gateway = self._gateway()
        if gateway is not None:
            gateway.follow(run_id)
        self._load()

    def _load(self) -> None:
        if self._run_id:
            self._spawn(self._read(self._run_id), f"read {self._run_id}")

    async def _read(self, run_id: str) -> None:
        gateway = self._gateway()
        if gateway is None:
            return
        try:
            detail = await gateway.run(run_id)
        except GatewayError as error:
            if run_id == self._run_id and self._pause_id is None:
                self._pane.show_nothing(self.tr("This run could not be read"), error.message)
            return
        if run_id == self._run_id:
            self._run = detail.run
            self._show_detail(detail)

    def _show_detail(self, detail: RunDetail) -> None:
        if self._wants_run and not self._pane.shows_run(detail.run.id):
            self._pane.show_run(detail)
            return
        self._pane.set_detail(detail)
        decision = next((item for item in detail.decisions if item.pause_id == self._pause_id), None)
        if decision is not None and not self._is_on_its_way:
            self._pane.close_pause(decision, next((item for item in detail.pauses if item.id != self._pause_id), None))

    @property
    def _is_on_its_way(self) -> bool:
        """Whether an answer of this window is being held or sent, or was taken."""
        sending = self._outbox.get(self._pause_id) if self._pause_id is not None else None
        return sending is not None and sending.state != "refused" and not sending.is_one_of_several
