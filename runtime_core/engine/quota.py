"""What one run may grow to (engines.md 4.7): counted by what its journal holds, so that a replay counts the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from runtime_core.engine.failures import error_text
from runtime_core.hosts.base import HandlerCall
from runtime_core.journal.base import Answer
from runtime_core.repo.builtins import is_store_tool
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonError, JsonText, content_size, loads
from runtime_core.wire.runs import Entry, SlotPath, slot
from runtime_core.wire.settings import KIB, Limits

CODE: Final = "journal-limit"
PUNCTUATION: Final = KIB
"""Bytes that a value may have above its limit, for the marks around what it says."""
REFUSALS: Final = 100
"""Calls beyond the limit that are recorded as refused; a handler that goes on after so many is ended."""

_Kind = Literal["value", "reading"]
_NAMES: Final[Mapping[_Kind, str]] = {"value": "a value", "reading": "what a store returns"}

Warn = Callable[[str, str], None]
"""Gets the kind of a limit, and a sentence; called again for a kind it knows."""


def excess(what: str, text: JsonText, limits: Limits, kind: _Kind = "value") -> str | None:
    """Why a value is too large to be recorded, in a sentence that begins with ``what``; None if it is not."""
    size, limit = content_size(text), _limit(limits, kind)
    if size <= limit + PUNCTUATION:
        return None
    return f"{what} has {size:,} bytes, and {_NAMES[kind]} may have {limit:,} (limits.{kind} in config.toml)."


def _limit(limits: Limits, kind: _Kind) -> int:
    return limits.reading if kind == "reading" else limits.value


def end_refusal(tool: str, text: JsonText, limits: Limits) -> JsonText | None:
    """The error of a run whose result or error, ``text``, is too large to be recorded."""
    problem = excess(f"What {tool} ended with", text, limits)
    return None if problem is None else error_text(CODE, f"{problem} Return less.")


def check_value(key: str, text: JsonText, limits: Limits) -> None:
    """Raises `RuntimeFault` VALIDATION_ERROR if what a caller sent is not JSON or too large to be recorded."""
    try:
        loads(text)
    except JsonError as error:
        raise RuntimeFault(
            "VALIDATION_ERROR", f"{key}: {error}", key=key, line=error.line, column=error.column
        ) from None
    _check_size(key, text, limits)


def check_answer(answer: Answer, limits: Limits) -> None:
    """Raises `RuntimeFault` VALIDATION_ERROR if an answer is too large to be recorded; its question stays open."""
    _check_size("value", answer.value, limits)
    _check_size("edits", answer.edits or "", limits)
    _check_size("note", answer.note or "", limits)


def _check_size(key: str, text: str, limits: Limits) -> None:
    problem = excess(key, text, limits)
    if problem is not None:
        raise RuntimeFault("VALIDATION_ERROR", f"{problem} Send less.", key=key)


class Quota:
    """The account of one run. Refusals are the error objects a call fails with; a refused call is recorded as well."""

    def __init__(self, limits: Limits, params: JsonText, warn: Warn) -> None:
        self._limits = limits
        self._warn = warn
        self._calls: set[SlotPath] = set()
        self._bytes = content_size(params)

    def load(self, entries: Iterable[Entry]) -> None:
        """Take over what earlier legs recorded, without judging it."""
        for entry in entries:
            if entry.n >= 0:
                self._calls.add(slot(entry.path, entry.n))
                self._bytes += content_size(entry.value or "")

    @property
    def exhausted(self) -> bool:
        """True if the handler goes on making calls however many of them are refused."""
        return len(self._calls) >= self._limits.entries + REFUSALS

    def refusal(self, at: SlotPath, call: HandlerCall, open_calls: int) -> JsonText | None:
        """Why a call may not be made; ``open_calls`` are those of the run that have no result yet."""
        limits = self._limits
        if at in self._calls:  # it was begun in an earlier leg
            return None
        self._calls.add(at)
        if len(self._calls) > limits.entries:
            return _refused(
                f"make {limits.entries:,} recorded calls (limits.entries in config.toml)",
                "Divide the work into several runs",
            )
        if self._bytes >= limits.run:
            return _refused(
                f"record {limits.run:,} bytes (limits.run in config.toml)", "Divide the work into several runs"
            )
        if call.outcome is None and open_calls >= limits.branches:
            return _refused(
                f"have {limits.branches:,} calls open at the same time (limits.branches in config.toml)",
                "Make some, wait for them, then make the next ones",
            )
        problem = excess(f"What {_name(call)} was called with", call.args, limits)
        if problem is not None:
            return error_text(CODE, f"{problem} Pass less, or where it is to be found.")
        self._watch("entries", "recorded calls", len(self._calls), limits.entries)
        self._watch("branches", "calls open at the same time", open_calls + 1, limits.branches)
        self._watch("value", f"bytes of what {_name(call)} was called with", content_size(call.args), limits.value)
        return None

    def question_refusal(self, spec: JsonText) -> JsonText | None:
        """Why a question may not be asked: its words, without options and context, are too many."""
        asked = loads(spec)
        assert isinstance(asked, dict)
        limit = self._limits.question
        size = sum(len(str(asked.get(key) or "").encode(errors="replace")) for key in ("title", "question"))
        if size > limit:
            return error_text(
                CODE,
                f"The words of a question have {size:,} bytes and may have {limit:,} (limits.question in config.toml). "
                "Ask in a few words, and pass what the question is about as its context.",
            )
        self._watch("question", "bytes of the words of a question", size, limit)
        return None

    def outcome(self, call: HandlerCall, ok: bool, value: JsonText) -> tuple[bool, JsonText]:
        """What is recorded for a call: its outcome, or an error in place of one that is too large to be kept."""
        made = f"{_name(call)} was made, but its {'result' if ok else 'error'}"
        size = content_size(value)
        kind: _Kind = "reading" if call.kind == "tool" and is_store_tool(call.name) else "value"
        problem = excess(made, value, self._limits, kind)
        if problem is None and self._bytes + size > self._limits.run + PUNCTUATION and size > PUNCTUATION:
            problem = (
                f"{made} of {size:,} bytes does not fit: the run has recorded {self._bytes:,} bytes and may record "
                f"{self._limits.run:,} (limits.run in config.toml)."
            )
        if problem is not None:
            remedy = (
                "Return less, or where it is to be found." if kind == "value" else "Read fewer documents at a time."
            )
            ok, value = False, error_text(CODE, f"{problem} {remedy}")
        else:
            self._watch(kind, f"bytes of what {_name(call)} returned", size, _limit(self._limits, kind))
        self.add(value)
        return ok, value

    def add(self, value: JsonText) -> None:
        """Count what was recorded for a call."""
        self._bytes += content_size(value)
        self._watch("run", "bytes of recorded values", self._bytes, self._limits.run)

    def _watch(self, kind: str, what: str, count: int, limit: int) -> None:
        if count * 2 >= limit:
            self._warn(kind, f"half of a limit or more: {count:,} {what} of {limit:,} (limits.{kind} in config.toml)")


def _refused(rule: str, remedy: str) -> JsonText:
    return error_text(CODE, f"A run may {rule}; this call was not made. {remedy}, or raise that limit.")


def _name(call: HandlerCall) -> str:
    return f'{call.kind} "{call.name}"' if call.name else call.kind
