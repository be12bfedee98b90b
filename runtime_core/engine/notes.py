"""The log of the handlers: what they write with ``ctx.log`` or print, and what is odd about what they do."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Final, cast

from runtime_core.hosts.base import Language, NoteKind
from runtime_core.wire.json import dumps
from runtime_core.wire.runs import iso

FILE_BYTES: Final = 5 * 1024 * 1024
OLD_FILES: Final = 3
TEXT_LIMIT: Final = 8192

log = logging.getLogger(__name__)


class HandlerLog:
    """A file with a line a note: time, session (``-`` without one), tools from the top, kind, text.

    Written only while ``is_writer`` says so, as two processes cannot rotate one file. A file that cannot be written
    stops no run.
    """

    def __init__(self, path: Path, is_writer: Callable[[], bool]) -> None:
        self._path = path
        self._is_writer = is_writer
        self._file: logging.Handler | None = None
        self._logger = logging.Logger("handlers")  # outside of the tree of loggers: nobody else prints these lines

    def write(self, session_id: str | None, names: Sequence[str], kind: NoteKind, value: Any) -> None:
        if not self._is_writer():
            return
        if self._file is None:
            self._open()
        text = _escaped(_text(kind, value)[:TEXT_LIMIT])
        self._logger.info("%s %s %s %s %s", iso(time.time()), session_id or "-", "/".join(names), kind, text)

    def stray(self, root: Path, language: Language, kind: NoteKind, value: Any) -> None:
        """What a process said while nobody knew for which run."""
        self.write(None, (root.name, language), kind, value)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _open(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.parent.chmod(0o700)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._path, error)
        self._file = _File(self._path, "a", FILE_BYTES, OLD_FILES, "utf-8", delay=True, errors="backslashreplace")
        self._logger.addHandler(self._file)


class _File(RotatingFileHandler):
    """Readable for its owner only: handlers write what their runs are about."""

    def _open(self) -> TextIOWrapper:
        file = open(self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=_for_owner)  # noqa: SIM115
        return cast("TextIOWrapper", file)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """A full disk is reported by the journal; the standard handler would print to stderr for each line."""


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _text(kind: NoteKind, value: Any) -> str:
    if kind == "console":
        return f"{value['level']}: {value['text']}"
    return value if isinstance(value, str) else dumps(value)


def _escaped(text: str) -> str:
    """On one line, and without anything that a terminal acts on."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
