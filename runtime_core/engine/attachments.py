"""``ctx.attachments``: files that are given to a tool which is not durable (contract 3.2)."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final, cast

from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonError, JsonText, loads

TOTAL_LIMIT: Final = 5 * 1024 * 1024
"""Bytes of all files of a run."""
STRIPPED: Final = "subagent_attachments_stripped"
_KEYS: Final = ("filename", "mimeType", "data")


def check_attachments(text: JsonText, *, durable: bool) -> None:
    """An array of ``{"filename", "mimeType", "data"}``, ``data`` in base64. Raises `RuntimeFault` VALIDATION_ERROR."""
    if durable:
        raise _wrong("only a tool that is not durable takes files")
    try:
        given: Any = loads(text)
    except JsonError as error:
        raise _wrong(str(error)) from None
    if not isinstance(given, list):
        raise _wrong("they have to be an array")
    total = 0
    for number, item in enumerate(cast("list[Any]", given)):
        file = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        if not all(isinstance(file.get(key), str) for key in _KEYS):
            raise _wrong(f"[{number}] has to be an object with the texts {', '.join(_KEYS)}")
        try:
            total += len(base64.b64decode(file["data"], validate=True))
        except (binascii.Error, ValueError):
            raise _wrong(f"[{number}].data is not base64") from None
    if total > TOTAL_LIMIT:
        raise _wrong(f"they have {total:,} bytes, and together they may have {TOTAL_LIMIT:,}")


def stripped(agent: str, args: JsonText) -> str | None:
    """What is logged where files were passed to an agent whose model takes none, else None. ``args`` as
    ``ctx.callSubagent`` was called."""
    values = cast("list[Any]", loads(args))
    options: Any = values[2] if len(values) > 2 else None
    files: Any = cast("dict[str, Any]", options).get("attachments") if isinstance(options, dict) else None
    if not isinstance(files, list) or not files:
        return None
    return f'{STRIPPED}: the model of "{agent}" takes no files; left out: {len(cast("list[Any]", files))}.'


def _wrong(reason: str) -> RuntimeFault:
    return RuntimeFault("VALIDATION_ERROR", f"attachments: {reason}.", key="attachments")
