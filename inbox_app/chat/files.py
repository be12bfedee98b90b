"""Files to send along with what one says: what they are, how large, and whether they still fit."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import QBuffer, QCoreApplication, QIODevice
from PySide6.QtGui import QImage

from inbox_app.gateway.chats import ChatFile

MOST_BYTES: Final = 5 * 1024 * 1024
"""Of all files of one message together."""
UNKNOWN_TYPE: Final = "application/octet-stream"

translate = QCoreApplication.translate


class FileError(Exception):
    """A file that cannot be sent along; the message names it and says why."""


def read_file(path: Path, room: int) -> ChatFile:
    """Read a file of at most ``room`` bytes. Call it in a thread: a disk may be far away. Raises `FileError`."""
    try:
        if not path.is_file():
            raise FileError(translate("files", "{0} is not a file.").format(path.name))
        if path.stat().st_size > room:
            raise too_large(path.name)
        data = path.read_bytes()
    except OSError as error:
        words = translate("files", "{0} could not be read: {1}.")
        raise FileError(words.format(path.name, error.strerror or error)) from None
    if len(data) > room:
        raise too_large(path.name)
    return ChatFile(path.name, mimetypes.guess_type(path.name)[0] or UNKNOWN_TYPE, data)


def picture(image: QImage, number: int, room: int) -> ChatFile:
    """A pasted picture as a PNG file. Raises `FileError`."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportArgumentType, reportCallIssue]  (the binding takes text)
    data = bytes(buffer.data().data())
    name = translate("files", "pasted-{0}.png").format(number)
    if len(data) > room:
        raise too_large(name)
    return ChatFile(name, "image/png", data)


def too_large(name: str) -> FileError:
    words = translate("files", "{0} does not fit: the files of a message may have {1} in all.")
    return FileError(words.format(name, size_words(MOST_BYTES)))


def room_left(files: Sequence[ChatFile]) -> int:
    return MOST_BYTES - sum(len(file.data) for file in files)


def size_words(size: int) -> str:
    if size < 1024:
        return translate("files", "{0} B").format(size)
    if size < 1024 * 1024:
        return translate("files", "{0} KB").format(round(size / 1024))
    return translate("files", "{0} MB").format(f"{size / 1024 / 1024:.1f}".removesuffix(".0"))
