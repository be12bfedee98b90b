"""Reads what the platform answers, in whichever of the usual shapes: nothing states theirs (resources/docs/deploys.md).

A log is text, a JSON array, an object with the lines under one of several names, JSON lines, or server-sent events; a
line is a text or an object. What is not known is left out, and what is no known state says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

from runtime_core.wire.builds import BuildState, Level, Line
from runtime_core.wire.json import JsonError, loads

LINE_LIMIT: Final = 10_000
"""Characters of one line that are kept."""


@dataclass(frozen=True, slots=True)
class Told:
    """How the build stands. ``is_certain`` False: a line of the log says so, and more may follow."""

    state: BuildState
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class Onward:
    """There is more: the next request has ``name`` = ``value`` in its query."""

    name: str
    value: str


Piece: TypeAlias = Line | Told | Onward

_Object: TypeAlias = Mapping[str, Any]

_WORDS: Final[Mapping[BuildState, str]] = {
    "succeeded": "success succeeded successful ready completed complete done deployed live active finished passed ok",
    "failed": "failed failure fail error errored crashed timed_out timeout rejected",
    "cancelled": "cancelled canceled aborted skipped superseded",
    "running": "running queued pending building in_progress inprogress deploying started starting created waiting "
    "initializing processing uploading accepted",
}
_STATES: Final[Mapping[str, BuildState]] = {word: state for state, words in _WORDS.items() for word in words.split()}

_STATE_KEYS: Final = ("status", "state", "buildStatus", "build_status", "conclusion", "readyState")
_LINE_KEYS: Final = ("logs", "lines", "log", "entries", "events", "items", "records", "output", "data")
_TEXT_KEYS: Final = ("message", "msg", "text", "line", "log", "content", "payload")
_LEVEL_KEYS: Final = ("level", "severity", "type", "stream")
_STAGE_KEYS: Final = ("stage", "step", "phase", "source")
_TIME_KEYS: Final = ("timestamp", "time", "at", "ts", "created_at", "createdAt", "date")
_ID_KEYS: Final = ("buildId", "build_id", "buildID")
_WITHIN: Final = ("build", "deployment", "data", "result")
_ONWARD: Final[Mapping[str, str]] = {
    "nextCursor": "cursor",
    "next_cursor": "cursor",
    "nextToken": "token",
    "nextPageToken": "pageToken",
    "next_page_token": "page_token",
    "nextOffset": "offset",
    "next_offset": "offset",
    "nextPage": "page",
    "next_page": "page",
}
_LEVELS: Final[Mapping[str, Level]] = {
    "error": "error",
    "err": "error",
    "fatal": "error",
    "critical": "error",
    "warn": "warning",
    "warning": "warning",
}
_COLOURS: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_LAST_WORD: Final = re.compile(
    r"^\W*(?:\[[^\]]*\]\W*)*(?:the )?(?:build|deploy|deployment)\b[^:]{0,40}?\b"
    r"(?P<word>succeeded|successful|successfully|completed?|finished|failed|cancelled|canceled)\b"
)


def build_id(answer: Any) -> str:
    """The id of the build that began; "" if the answer names none."""
    for found in _objects(answer):
        if (named := _text(found, _ID_KEYS)) or (named := _text(_object(found.get("build")), ("id",))):
            return named
        if isinstance(named := found.get("build"), str) and named:
            return named
    inner = [_object(found.get("deployment")) for found in _objects(answer)]
    return next((named for found in (*inner, *_objects(answer)) if (named := _text(found, ("id",)))), "")


def state_of(answer: Any) -> BuildState | None:
    """The state that an object tells of itself or of the build in it."""
    for found in _objects(answer):
        for key in _STATE_KEYS:
            if isinstance(word := found.get(key), str) and (state := _STATES.get(_plain(word))):
                return state
    return None


def complaint(answer: Any) -> str:
    """What an answer says of its error, on one line; "" if nothing."""
    if not isinstance(answer, Mapping):
        return " ".join(answer.split())[:300] if isinstance(answer, str) else ""
    found = cast("_Object", answer)
    inner = found.get("error")
    text = _text(_object(inner), ("message", "detail", "code")) or _text(found, ("message", "detail", "error", "title"))
    return " ".join(text.split())[:300]


def read_whole(answer: Any) -> Iterator[Piece]:
    """The pieces of a whole JSON value."""
    if isinstance(answer, str):
        for text in answer.splitlines():
            yield from read_line(text)
        return
    if isinstance(answer, list):
        for item in cast("list[Any]", answer):
            yield from _item(item)
        return
    found = _object(answer)
    for within in _objects(found):
        holder = next((within[key] for key in _LINE_KEYS if isinstance(within.get(key), list | str)), None)
        if holder is not None:
            yield from read_whole(holder)
            break
    if (state := state_of(found)) is not None:
        yield Told(state)
    yield from _onward(found)


def read_line(text: str) -> Iterator[Piece]:
    """The pieces of one line of text, which may be a JSON object."""
    if text.startswith("{") and text.rstrip().endswith("}"):
        try:
            value = loads(text)
        except JsonError:
            pass
        else:
            if _is_line(value) or state_of(value) is not None:
                yield from _item(value)
                return
    yield from _text_line(text, "info", "", None)


class Events:
    """Server-sent events, line by line."""

    def __init__(self) -> None:
        self._name = ""
        self._data: list[str] = []

    def take(self, line: str) -> Iterator[Piece]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif not line:
            name, data, self._name, self._data = self._name, self._data, "", []
            yield from self._event(_plain(name), data)

    def _event(self, name: str, data: Sequence[str]) -> Iterator[Piece]:
        if name in ("ping", "heartbeat", "keepalive"):
            return
        told = _STATES.get(_plain("".join(data).strip('" '))) if name in (*_STATE_KEYS, "end", "close") else None
        if told is not None:
            yield Told(told)
            return
        last: Piece | None = None
        for text in data:
            for last in read_line(text):
                yield last
        is_end = name in ("end", "close", "eof") or (name in _STATES and name not in ("error", "ok"))
        if is_end and not (isinstance(last, Told) and last.is_certain):
            yield Told(_STATES.get(name, "unknown"))


def _item(item: Any) -> Iterator[Piece]:
    if isinstance(item, str):
        for text in item.splitlines() or [""]:
            yield from read_line(text)
        return
    found = _object(item)
    text = _text(found, _TEXT_KEYS)
    levels: list[Level] = [_LEVELS[word] for key in _LEVEL_KEYS if (word := _plain(_text(found, (key,)))) in _LEVELS]
    level = levels[0] if levels else "info"
    if text:
        yield from _text_line(text, level, _text(found, _STAGE_KEYS)[:40], _moment(found))
    elif (nested := _object(found.get("payload"))) or (nested := _object(found.get("data"))):
        yield from _item(nested)
    if not text and (state := state_of(found)) is not None:
        yield Told(state)


def _is_line(value: Any) -> bool:
    return bool(_text(_object(value), _TEXT_KEYS))


def _text_line(text: str, level: Level, stage: str, at: float | None) -> Iterator[Piece]:
    for part in _COLOURS.sub("", text).split("\n"):
        line = part.rpartition("\r")[2] if "\r" in part.rstrip("\r") else part.rstrip("\r")
        yield Line(line[:LINE_LIMIT], level, stage, at)
        if (last := _LAST_WORD.match(line.casefold())) is not None:
            word = last["word"]
            yield Told("succeeded" if word == "successfully" else _STATES[word], is_certain=False)


def _onward(found: _Object) -> Iterator[Onward]:
    for within in (found, *(_object(found.get(key)) for key in ("pagination", "page", "meta", "paging"))):
        for key, name in _ONWARD.items():
            value = within.get(key)
            if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
                yield Onward(name, str(value))
                return


def _objects(answer: Any) -> Iterator[_Object]:
    """An object, and those in which its parts often are."""
    found = _object(answer)
    yield found
    for key in _WITHIN:
        if inner := _object(found.get(key)):
            yield from _objects(inner)


def _object(value: Any) -> _Object:
    return cast("_Object", value) if isinstance(value, Mapping) else {}


def _text(found: _Object, keys: Sequence[str]) -> str:
    for key in keys:
        value = found.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool) and key in (*_ID_KEYS, "id"):
            return str(value)
    return ""


def _plain(word: str) -> str:
    return word.strip().casefold().replace("-", "_").replace(" ", "_")


def _moment(found: _Object) -> float | None:
    for key in _TIME_KEYS:
        value = found.get(key)
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value).timestamp()
            except (ValueError, OverflowError, OSError):
                continue
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14:
            return value / 1000 if value > 1e11 else float(value)
    return None
