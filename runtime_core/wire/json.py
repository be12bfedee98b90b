"""Lossless JSON (contract decision 19).

Numbers keep the digits they were written with, duplicate keys and non-finite numbers are refused with
line and column, a byte order mark is accepted, and nothing that is not JSON is ever written.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable
from json.encoder import encode_basestring_ascii as _quote
from typing import Any, TypeAlias, cast

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonText: TypeAlias = str
"""One JSON value as text. Values travel through the engine as text and are parsed only where they are read."""

MAX_DEPTH = 500
MAX_DIGITS = 4000
"""Integers with more digits are not worth the time that making an ``int`` of them takes."""


class Number(float):
    """A number with a fraction, an exponent or a sign of zero: computes as a float, prints as it was written."""

    text: str

    def __new__(cls, text: str) -> Number:
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__

    def __reduce__(self) -> tuple[type[Number], tuple[str]]:
        return (Number, (self.text,))


class JsonError(ValueError):
    """Text that is not acceptable JSON. ``line`` and ``column`` count from 1."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(f"{reason} (line {line}, column {column})")
        self.reason = reason
        self.line = line
        self.column = column


class JsonUnfit(JsonError):  # noqa: N818
    """Text that others take for JSON: with a key twice in an object, NaN or Infinity, or nested too deeply."""


def loads(text: str | bytes) -> JsonValue:
    """Parse one JSON value, keeping every digit.

    Integers become ``int`` (``Number`` above `MAX_DIGITS` digits), other numbers ``Number``. Raises `JsonError` for bad
    syntax, bad UTF-8, duplicate keys, NaN or Infinity, and nesting deeper than `MAX_DEPTH`.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            before = text[: error.start]
            line = before.count(b"\n") + 1
            raise JsonError("not UTF-8 text", line, error.start - (before.rfind(b"\n") + 1) + 1) from None
    text = text.removeprefix("\ufeff")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonError(error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise _locate_depth(text) from None
    except _DuplicateKey as error:
        raise _locate_duplicate(text, error.key) from None
    except _NotFinite as error:
        raise _locate_word(text, error.word) from None
    if _deeper_than(value, MAX_DEPTH):
        raise _locate_depth(text)
    return value


def dumps(value: object, *, sort_keys: bool = False) -> JsonText:
    """Write compact ASCII JSON. Raises `TypeError` for anything that is not plain data and `ValueError` for NaN."""
    out: list[str] = []
    _write(value, out, sort_keys, 0)
    return "".join(out)


def pretty(value: object) -> JsonText:
    """Write JSON for people: two spaces of indent, characters as they are, numbers as they were written."""
    out: list[str] = []
    _write_pretty(value, out, "\n")
    return "".join(out)


def digest(value: object) -> str:
    """SHA-256 over the canonical form: sorted keys, compact, digits as written."""
    return hashlib.sha256(dumps(value, sort_keys=True).encode()).hexdigest()


def content_size(text: JsonText) -> int:
    """Bytes of UTF-8 of a JSON text in which every escaped character counts as what it stands for."""
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return size - _escaping(text) if "\\" in text else size


_CODE = re.compile(r"\\u[0-9a-fA-F]{4}")


def _escaping(text: JsonText) -> int:
    """How many bytes escapes take more than their characters; a half of a surrogate pair stands for U+FFFD."""
    backslashes = text.count("\\\\")
    rest = text.replace("\\\\", "")  # now every backslash begins an escape
    codes = _CODE.findall(rest)
    saved = backslashes + rest.count("\\") - len(codes)
    if codes:
        units = "".join(codes).encode().decode("unicode_escape")
        chars = units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        saved += 6 * len(codes) - len(chars.encode())
    return saved


class _DuplicateKey(Exception):  # noqa: N818
    def __init__(self, key: str) -> None:
        self.key = key


class _NotFinite(Exception):  # noqa: N818
    def __init__(self, word: str) -> None:
        self.word = word


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKey(key)
            seen.add(key)
    return found


def _constant(word: str) -> Any:
    raise _NotFinite(word)


def _integer(text: str) -> int | Number:
    return Number(text) if text == "-0" or len(text) > MAX_DIGITS else int(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_float=Number, parse_int=_integer, parse_constant=_constant)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN|[{}\[\]:,]')


def _place(text: str, at: int, reason: str) -> JsonUnfit:
    return JsonUnfit(reason, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _locate_word(text: str, word: str) -> JsonUnfit:
    found = next((token.start() for token in _TOKEN.finditer(text) if token[0] == word), 0)
    return _place(text, found, f"{word} is not a JSON number")


def _locate_duplicate(text: str, key: str) -> JsonUnfit:
    """Point at the second mention of the key in the first object that has it twice."""
    reason = f"the key {json.dumps(key)} appears twice in one object"
    seen: list[bool] = []
    tokens = [*_TOKEN.finditer(text)]
    for token, following in itertools.pairwise(tokens):
        if token[0] in "{[":
            seen.append(False)
        elif token[0] in "}]":
            seen.pop()
        elif following[0] == ":" and json.loads(token[0]) == key:
            if seen[-1]:
                return _place(text, token.start(), reason)
            seen[-1] = True
    return _place(text, 0, reason)


def _locate_depth(text: str) -> JsonUnfit:
    depth, at = 0, 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth > MAX_DEPTH:
            at = token.start()
            break
    return _place(text, at, f"nested deeper than {MAX_DEPTH} levels")


def _deeper_than(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [child for item in level for child in _children(item) if _is_container(child)]
        if not level:
            return False
    return True


def _is_container(value: object) -> bool:
    return isinstance(value, dict | list)


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _scalar(value: object) -> str | None:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Number):
        return value.text
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{value!r} is not a JSON number")
        return float.__repr__(value)
    return None


def _write(value: object, out: list[str], sort_keys: bool, depth: int) -> None:
    scalar = _scalar(value)
    if scalar is not None:
        out.append(scalar)
    elif depth > MAX_DEPTH + 1:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    elif isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        separator = "{"
        for key, item in sorted(items, key=lambda pair: str(pair[0])) if sort_keys else items:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a string")
            out.append(f"{separator}{_quote(key)}:")
            _write(item, out, sort_keys, depth + 1)
            separator = ","
        out.append("}" if separator == "," else "{}")
    elif isinstance(value, list | tuple):
        separator = "["
        for item in cast("list[object]", value):
            out.append(separator)
            _write(item, out, sort_keys, depth + 1)
            separator = ","
        out.append("]" if separator == "," else "[]")
    else:
        raise TypeError(f"{type(value).__name__} is not plain JSON data")


def _write_pretty(value: object, out: list[str], newline: str) -> None:
    deeper = newline + "  "
    if isinstance(value, dict) and value:
        separator = "{"
        for key, item in cast("dict[str, object]", value).items():
            out.append(f"{separator}{deeper}{json.dumps(key, ensure_ascii=False)}: ")
            _write_pretty(item, out, deeper)
            separator = ","
        out.append(newline + "}")
    elif isinstance(value, list | tuple) and value:
        separator = "["
        for item in cast("list[object]", value):
            out.append(separator + deeper)
            _write_pretty(item, out, deeper)
            separator = ","
        out.append(newline + "]")
    elif isinstance(value, str):
        out.append(json.dumps(value, ensure_ascii=False))
    else:
        out.append(dumps(cast("object", value)))
