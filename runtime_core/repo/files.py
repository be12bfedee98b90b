"""Reading the files of a repository: bounded, regular files only, every failure a problem with file and remedy."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar, cast, get_args

from pydantic import BaseModel, ValidationError

from runtime_core.repo.fields import Fields, Key, misspelt
from runtime_core.repo.position import locate, show_key
from runtime_core.repo.report import INVALID, PARSE_FAILED, READ_FAILED, Report
from runtime_core.repo.revision import is_inside
from runtime_core.repo.wording import in_words
from runtime_core.wire.json import JsonError, loads

DEFINITION_LIMIT: Final = 1024 * 1024
"""Bytes of one definition file (JSON, AGENT.md)."""
PLACES_LIMIT: Final = 100
"""Places looked up in one file: each takes reading it up to there."""

M = TypeVar("M", bound=Fields)


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A parsed definition file, or the object at ``prefix`` in it. ``name`` is relative to the repository, ``text``
    None where it is no JSON; then ``lines`` says where its
    keys stand, if that is known."""

    name: str
    text: str | None
    value: dict[str, Any]
    prefix: Key = ()
    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    _asked: Iterator[int] = field(default_factory=count, repr=False, compare=False)

    def part(self, key: Sequence[str | int], value: dict[str, Any]) -> JsonFile:
        """The object ``value`` that stands at ``key``."""
        return replace(self, value=value, prefix=(*self.prefix, *key))

    def place(self, key: Sequence[str | int]) -> dict[str, str | int | None]:
        """Key, line and column of a value, as `Report` takes them."""
        key = (*self.prefix, *key)
        if self.text is None:
            return {"key": show_key(key), "line": self.lines.get(str(key[0])) if key else None}
        if next(self._asked) >= PLACES_LIMIT:
            return {"key": show_key(key)}
        line, column = locate(self.text, key)
        return {"key": show_key(key), "line": line, "column": column}


def items_of(value: object) -> list[Any]:
    """The items of a list as it stands in a file; nothing for any other value."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def read_text(root: Path, name: str, report: Report, limit: int = DEFINITION_LIMIT) -> str | None:
    """The text of a regular file below ``limit`` bytes, without its byte order mark."""
    path = root / name
    if not is_inside(os.path.realpath(path), os.path.realpath(root)):
        return None  # `check_links` reports it
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            report.error(READ_FAILED, name, "This is not a regular file.", "Put a plain text file there.")
            return None
        if found.st_size > limit:
            report.error(
                READ_FAILED,
                name,
                f"The file has {found.st_size:,} bytes; at most {limit:,} are read.",
                "Make it smaller, or move data that is not part of the definition elsewhere.",
            )
            return None
        data = path.read_bytes()
    except OSError as error:
        report.error(
            READ_FAILED, name, f"The file cannot be read: {error.strerror}.", "Check that it exists and may be read."
        )
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        report.error(READ_FAILED, name, "The file is not UTF-8 text.", "Save it as UTF-8.", line=line)
        return None


def read_json(root: Path, name: str, report: Report) -> JsonFile | None:
    """A definition file that holds one JSON object."""
    text = read_text(root, name, report)
    if text is None:
        return None
    try:
        value = loads(text)
    except JsonError as error:
        report.error(
            PARSE_FAILED,
            name,
            f"This is not valid JSON: {error.reason}.",
            _json_remedy(text, error.line, error.column),
            line=error.line,
            column=error.column,
        )
        return None
    if not isinstance(value, dict):
        report.error(INVALID, name, "The file must hold one JSON object.", "Write { at its start and } at its end.")
        return None
    return JsonFile(name, text, cast("dict[str, Any]", value))


def _json_remedy(text: str, line: int, column: int) -> str:
    """What to do about what other formats allow."""
    lines = text.split("\n")
    if line <= len(lines):
        here = lines[line - 1][column - 1 :].lstrip()
        before = "\n".join((*lines[: line - 1], lines[line - 1][: column - 1])).rstrip()
        if here.startswith(("//", "/*", "#")):
            return "Take the comment out: JSON has none."
        if here.startswith(("}", "]")) and before.endswith(","):
            return "Take out the comma before it: JSON has none behind the last item."
        if here.startswith("'"):
            return 'Put texts into double quotes (").'
    return "Correct the file at this place."


def validate(model: type[M], file: JsonFile, report: Report) -> M | None:
    """Check a file against a model; the remedy of a wrong field is the description of the model's field."""
    for key, meant, is_guard in misspelt(model, file.value):
        add = report.error if is_guard else report.warning
        add(INVALID, file.name, *unknown_key(str(key[-1]), meant), **file.place(key))
    try:
        return model.model_validate(file.value)
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            key = _json_key(file.value, problem["loc"])
            remedy = _remedy(model, problem["loc"]) or "Correct it."
            place = file.place(key)
            if problem["type"] == "missing":
                place["key"] = show_key((*file.prefix, *problem["loc"]))
            report.error(INVALID, file.name, f"{in_words(problem)}.", remedy, **place)
    return None


def unknown_key(key: str, meant: str) -> tuple[str, str]:
    """Message and remedy of a key that is nearly a known one."""
    return f'"{key}" is not known here and has no effect.', f'Write "{meant}", or take it out.'


def _json_key(value: object, loc: Sequence[str | int]) -> Key:
    """The part of pydantic's location that exists in the file (it also names the branches of a union)."""
    key: list[str | int] = []
    for part in loc:
        if isinstance(value, dict) and part in value:
            value = cast("dict[str | int, object]", value)[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(cast("list[object]", value)):
            value = cast("list[object]", value)[part]
        else:
            continue
        key.append(part)
    return tuple(key)


def _remedy(model: type[BaseModel], loc: Sequence[str | int]) -> str:
    """The description of the innermost field on the way that has one."""
    remedy = ""
    current: type[BaseModel] | None = model
    for part in loc:
        fields = current.model_fields if current else {}
        info = next((info for name, info in fields.items() if part in (name, info.alias)), None)
        if info is not None:
            remedy = info.description or remedy
            current = _model_in(info.annotation)
    return remedy


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model an annotation such as ``list[Model] | None`` speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
