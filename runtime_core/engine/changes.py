"""What is not as it was recorded: calls that a handler makes with other parameters, where the record counts and the run
says so, and questions, where nothing counts (decision 9)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from runtime_core.approvals.questions import AskKind, QuestionError, question
from runtime_core.engine.divergence import changed_params, describe
from runtime_core.hosts.base import Divergence, HandlerCall, RecordedCall
from runtime_core.journal.base import Journal
from runtime_core.wire.fingerprint import fingerprint
from runtime_core.wire.json import JsonText
from runtime_core.wire.runs import PAUSE_KINDS, CallKind, PauseRow, SlotPath, Span, slot

log = logging.getLogger(__name__)

LIMIT: Final = 20
"""Calls of one leg that are named."""


class ChangedCalls:
    """``warn`` is told of each, by a kind that is the same whenever that call is met again."""

    def __init__(self, journal: Journal, run_id: str, warn: Callable[[str, str], None]) -> None:
        self._journal = journal
        self._run_id = run_id
        self._warn = warn
        self._recorded: Mapping[SlotPath, JsonText | None] | None = None
        self._named = 0
        self._looking: set[asyncio.Task[None]] = set()

    def note(self, names: Sequence[str], path: SlotPath, value: dict[str, Any]) -> None:
        """``value``: the note of the host, ``{"seq", "kind", "name", "args", …}``."""
        self._named += 1
        if self._named <= LIMIT:
            task = asyncio.get_running_loop().create_task(self._look(names, path, value))
            self._looking.add(task)
            task.add_done_callback(self._looking.discard)

    async def told(self) -> None:
        """Wait until ``warn`` was told of every call that was noted."""
        for failed in await asyncio.gather(*self._looking, return_exceptions=True):
            if isinstance(failed, Exception):
                log.warning("%s: what a changed call was recorded with cannot be read: %s", self._run_id, failed)

    async def close(self) -> None:
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)

    async def _look(self, names: Sequence[str], path: SlotPath, value: dict[str, Any]) -> None:
        if self._recorded is None:
            self._recorded = {span.slot: span.input for span in await self._journal.spans(self._run_id)}
        at = slot(path, value["seq"])
        difference = changed_params(self._recorded.get(at), value["args"])
        call = describe(value["kind"], value["name"])
        first = f": {difference}" if difference is not None else ""
        self._warn(
            f"params-changed {at}",
            f'Tool "{" > ".join(names)}" makes its call number {value["seq"] + 1}, {call}, with other parameters than '
            f"are recorded{first}. The recorded result was used.",
        )


def changed_question(asked: Sequence[PauseRow], spans: Sequence[Span]) -> tuple[PauseRow, Divergence] | None:
    """The first question that was closed since the last leg and is not what its handler asked.

    What a handler asked is in the span of its call, unless that was too large to be kept; the host holds the handler
    against the digest of it before it hands out the answer.
    """
    waiting = {span.slot: span for span in spans if span.state == "waiting" and span.kind in PAUSE_KINDS}
    for pause in asked:
        span = waiting.get(pause.slot)
        if span is None or pause.outcome not in ("answered", "refused", "expired") or pause.kind == "attention":
            continue
        if not _is_asked(pause, span):
            seq, kind = int(pause.slot.rpartition("/")[2]), cast("CallKind", span.kind)
            made = HandlerCall(seq, kind, "", "", span.input or "null")
            return pause, Divergence(seq, RecordedCall(seq, kind, "", ""), made)
    return None


def _is_asked(pause: PauseRow, span: Span) -> bool:
    stored = fingerprint(pause.kind, pause.spec)
    if span.input is None:
        return stored == pause.fingerprint
    try:
        return stored == fingerprint(span.kind, question(cast("AskKind", span.kind), span.input))
    except QuestionError:
        return False
