"""Files for a tool that is not durable, as `Start` takes them."""

from __future__ import annotations

import base64
import json
import mimetypes
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication, QLocale

from inbox_app.gateway.base import GatewayError

MOST_BYTES: Final = 5 * 1024 * 1024
"""Of all files together."""

translate = QCoreApplication.translate


def read_files(paths: Sequence[str]) -> str:
    """The JSON text of ``ctx.attachments``. Call it in a thread. Raises `GatewayError` VALIDATION_ERROR."""
    files: list[dict[str, str]] = []
    room = MOST_BYTES
    for path in map(Path, paths):
        try:
            if path.stat().st_size > room:
                raise _refused(translate("attached", "The files have more than {0} together."), size_words(MOST_BYTES))
            data = path.read_bytes()
        except OSError as error:
            raise _refused(translate("attached", "{0} cannot be read: {1}"), str(path), error.strerror or "") from None
        room -= len(data)
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        files.append({"filename": path.name, "mimeType": kind, "data": base64.b64encode(data).decode()})
    return json.dumps(files)


def size_words(size: int) -> str:
    return QLocale().formattedDataSize(size, 1)


def _refused(words: str, *names: str) -> GatewayError:
    return GatewayError("VALIDATION_ERROR", words.format(*names))
