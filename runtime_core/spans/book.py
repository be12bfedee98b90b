"""The call tree of one run while it is advanced: told to listeners at once, stored with the next transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

from runtime_core.wire.json import JsonText, loads
from runtime_core.wire.runs import SPAN_VALUE_LIMIT, Entry, SlotPath, Span, is_below, parent_slot


class SpanBook:
    """The spans of one leg of a run. Only those that are still open are kept in memory. ``changed`` is told that there
    is something to be stored. ``limit``: characters up to which a value is kept."""

    def __init__(
        self,
        run_id: str,
        leg: int,
        publish: Callable[[Span], None] | None = None,
        *,
        limit: int = SPAN_VALUE_LIMIT,
    ) -> None:
        self._limit = limit
        self._run_id = run_id
        self._leg = leg
        self._publish = publish
        self.changed: Callable[[], None] | None = None
        self._open: dict[SlotPath, Span] = {}
        self._unsaved: dict[SlotPath, Span] = {}

    def resume(
        self, spans: Sequence[Span], finished: dict[tuple[SlotPath, int], Entry], given: Mapping[SlotPath, str]
    ) -> None:
        """Take over what an earlier leg left: settle what was answered meanwhile, own up to what nobody knows.

        ``given``: who said what an interrupted call resulted in.
        """
        for span in spans:
            if span.state not in ("running", "waiting", "unknown"):
                continue
            entry = finished.get(entry_key(span.slot)) if span.slot else None
            if entry is not None and entry.value is not None:
                who = given.get(span.slot)
                said = replace(span, message=f"result given by {who}") if who is not None else span
                self._settle(said, entry.state == "ok", entry.value, entry.ended_at or time.time())
            elif span.state == "unknown":
                continue
            elif span.slot and span.state == "running":
                self._put(replace(span, state="unknown"))
            else:
                self._open[span.slot] = span

    def start(self, at: SlotPath, kind: str, name: str, given: JsonText, *, since: float | None = None) -> None:
        """A call begins, or goes on in this leg. ``since``: when it really began, if that was earlier."""
        kept, size = self._limited(given)
        began = time.time() if since is None else since
        self._put(Span(self._run_id, at, kind, name, "running", began, input=kept, input_size=size, leg=self._leg))

    def wait(self, at: SlotPath, kind: str, name: str, given: JsonText) -> None:
        """A call waits for an answer or a time; one that waits since an earlier leg stays as it is."""
        known = self._open.get(at)
        if known is not None and known.state == "waiting":
            return
        if known is None:
            self.start(at, kind, name, given)
        self._put(replace(self._open[at], state="waiting"))

    def finish(self, at: SlotPath, ok: bool, value: JsonText) -> None:
        """``value``: the result, or the error object when not ok."""
        span = self._open.get(at)
        if span is not None:
            self._settle(span, ok, value, time.time())

    def cancel(self, at: SlotPath) -> None:
        self._end(at, "cancelled")

    def give_up(self, path: SlotPath, kept: Container[SlotPath]) -> None:
        """The call at this place is waited for no more: it and what is below it has ended, but for ``kept``."""
        for at in [at for at in self._open if (at == path or is_below(at, path)) and at not in kept]:
            self.cancel(at)

    def doubt(self, at: SlotPath) -> None:
        """The call may or may not have run."""
        self._end(at, "unknown")

    def rest(self) -> None:
        """The run parks: whatever is still open waits for something below it."""
        for span in list(self._open.values()):
            if span.state == "running":
                self._put(replace(span, state="waiting"))

    def close(self) -> None:
        """The run ends: nothing stays open."""
        for at in list(self._open):
            self.cancel(at)

    @property
    def is_unsaved(self) -> bool:
        return bool(self._unsaved)

    def take(self) -> list[Span]:
        """The spans that changed since the last call, to be stored."""
        taken = list(self._unsaved.values())
        self._unsaved.clear()
        return taken

    def _end(self, at: SlotPath, state: str) -> None:
        span = self._open.get(at)
        if span is not None:
            assert state in ("cancelled", "unknown")
            self._put(replace(span, state=state, ended_at=time.time()))

    def _settle(self, span: Span, ok: bool, value: JsonText, at: float) -> None:
        if ok:
            kept, size = self._limited(value)
            self._put(replace(span, state="ok", ended_at=at, output=kept, output_size=size))
            return
        error = loads(value)
        assert isinstance(error, dict)
        code, message = error.get("code"), error.get("message")
        self._put(
            replace(
                span,
                state="cancelled" if code == "cancelled" else "failed",
                ended_at=at,
                code=code if isinstance(code, str) else None,
                message=message if isinstance(message, str) else None,
            )
        )

    def _limited(self, text: JsonText) -> tuple[JsonText | None, int]:
        return (text if len(text) <= self._limit else None), len(text)

    def _put(self, span: Span) -> None:
        if span.state in ("running", "waiting"):
            self._open[span.slot] = span
        else:
            self._open.pop(span.slot, None)
        self._unsaved[span.slot] = span
        if self._publish is not None:
            self._publish(span)
        if self.changed is not None:
            self.changed()


def entry_key(at: SlotPath) -> tuple[SlotPath, int]:
    """Slot path of a call -> key of its journal entry."""
    return parent_slot(at), int(at.rpartition("/")[2])
