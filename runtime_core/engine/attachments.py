"""Files: ``ctx.attachments`` of a tool which is not durable, and what of them reaches a model (contract 3.2)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from itertools import compress
from operator import not_
from typing import Any, Final, cast

from runtime_core.agents.turns import File, Model
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonError, JsonText, dumps, loads

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


def files_in(attachments: JsonText) -> Sequence[File]:
    """The files of a message or a call, given as `check_attachments` wants them. Raises as that does."""
    check_attachments(attachments, durable=False)
    given = cast("list[dict[str, str]]", loads(attachments))
    return [File(one["filename"], one["mimeType"], one["data"]) for one in given]


def without_data(args: JsonText) -> JsonText:
    """What ``ctx.callSubagent`` was called with, as it is shown: of its files only what they are."""
    if '"attachments"' not in args:
        return args
    match loads(args):
        case [task, given, {"attachments": list(files), **options}]:
            told = [_without(file, "data") if isinstance(file, dict) else file for file in files]
            return dumps([task, given, {**options, "attachments": told}])
        case _:
            return args


def files_for(model: Model, files: Sequence[File]) -> tuple[Sequence[File], Sequence[File]]:
    """Those that a model takes, and those that are left out."""
    takes = [model.takes(file.mime_type) for file in files]
    return tuple(compress(files, takes)), tuple(compress(files, map(not_, takes)))


def stripped(agent: str, left_out: Sequence[File]) -> str:
    """What is logged of files that the model of an agent does not take."""
    shown = ", ".join(f"{file.filename} ({file.mime_type})" for file in left_out)
    return f'{STRIPPED}: the model of "{agent}" does not take {shown}.'


def _without(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name != key}


def _wrong(reason: str) -> RuntimeFault:
    return RuntimeFault("VALIDATION_ERROR", f"attachments: {reason}.", key="attachments")
