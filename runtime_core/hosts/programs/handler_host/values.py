"""What crosses the border between a handler and the runtime: values as JSON text, errors, digests."""

from __future__ import annotations

import builtins
import hashlib
import json
import math
import traceback
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii as quote
from typing import Any, cast

MAX_DEPTH = 500


class CompositeCallError(Exception):
    """A child call failed; ``code`` says how. ``toolName`` or ``agentName`` is there in the spelling of Python too."""

    name = "CompositeCallError"

    def __init__(self, code: str, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.tool_name = fields.get("toolName")
        self.agent_name = fields.get("agentName")
        vars(self).update(fields)


class CallError(Exception):
    """An error that was recorded and is raised again; ``name`` is that of the original class."""

    def __init__(self, name: str, message: str, code: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        vars(self).update(fields)
        self.name = name
        self.code = code


class HandlerExit(Exception):  # noqa: N818
    code = "handler-exit"


class NotSerializable(TypeError):  # noqa: N818
    code = "not-serializable"


class TooLarge(ValueError):  # noqa: N818
    def __init__(self, code: str, what: str, size: int, limit: int) -> None:
        super().__init__(f"{what} is {size} characters long; the limit is {limit}")
        self.code = code


class Number(float):
    """A decimal that is written as it was read."""

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


def _decimal(text: str) -> float:
    value = float(text)
    return value if repr(value) == text else Number(text)


loads = json.JSONDecoder(parse_float=_decimal).decode


def dumps(message: object) -> str:
    """For envelopes, whose values are text already."""
    return json.dumps(message, separators=(",", ":"))


class Writer:
    """Writes one value as JSON text. ``lost`` collects what a reader will not see as it was."""

    def __init__(self, *, is_sorted: bool = False) -> None:
        self.lost: list[str] = []
        self.is_in_order = True
        self._is_sorted = is_sorted
        self._keys: list[str] = []
        self._parents: set[int] = set()
        self._out: list[str] = []

    def text(self, value: object) -> str:
        self._write(value)
        return "".join(self._out)

    def _path(self) -> str:
        return "$" + "".join(self._keys)

    def _refuse(self, reason: str) -> NotSerializable:
        return NotSerializable(f"the value at {self._path()} {reason}, which cannot be saved as JSON")

    def _write(self, value: object) -> None:
        scalar = self._scalar(value)
        if scalar is not None:
            self._out.append(scalar)
            return
        identity = id(value)
        if identity in self._parents:
            raise self._refuse("contains itself")
        if len(self._keys) > MAX_DEPTH:
            raise self._refuse(f"is nested deeper than {MAX_DEPTH} levels")
        self._parents.add(identity)
        if isinstance(value, Mapping):
            self._write_mapping(cast("Mapping[object, object]", value))
        elif isinstance(value, list | tuple):
            self._write_list(cast("list[object]", value))
        else:
            self._write(self._plain(value))
        self._parents.discard(identity)

    def _scalar(self, value: object) -> str | None:
        if value is None:
            return "null"
        if value is True:
            return "true"
        if value is False:
            return "false"
        kind = type(value)
        if kind is str:
            return quote(cast("str", value))
        if kind is int:
            return int.__repr__(cast("int", value))
        if kind is Number:
            return cast("Number", value).text
        if kind is float:
            return self._finite(cast("float", value))
        return None

    def _finite(self, value: float) -> str:
        if math.isfinite(value):
            return float.__repr__(value)
        self.lost.append(f"{self._path()}: {value} became null")
        return "null"

    def _write_mapping(self, mapping: Mapping[object, object]) -> None:
        items = [(self._key(key), item) for key, item in mapping.items()]
        if len({key for key, _ in items}) != len(items):
            raise self._refuse("has two keys that are the same as text")
        if self._is_sorted:
            items.sort(key=lambda item: item[0])
        separator = "{"
        previous = ""
        for key, item in items:
            self.is_in_order = self.is_in_order and previous <= key
            previous = key
            self._out.append(f"{separator}{quote(key)}:")
            self._keys.append(f".{key}" if key.isidentifier() else f"[{quote(key)}]")
            self._write(item)
            self._keys.pop()
            separator = ","
        self._out.append("}" if separator == "," else "{}")

    def _key(self, key: object) -> str:
        if isinstance(key, str):
            return str(key)
        if key is None or isinstance(key, bool | int | float):
            return self._scalar(key) or str(key)
        raise self._refuse(f"has the key {key!r}, which is not a string")

    def _write_list(self, values: list[object] | tuple[object, ...]) -> None:
        separator = "["
        for i, item in enumerate(values):
            self._out.append(separator)
            self._keys.append(f"[{i}]")
            self._write(item)
            self._keys.pop()
            separator = ","
        self._out.append("]" if separator == "," else "[]")

    def _plain(self, value: object) -> object:
        """The next simpler form of a value that is not plain data."""
        plain = _known_form(value)
        if plain is not value:
            return plain
        if hasattr(value, "__dict__") and not callable(value):
            return dict(vars(value))
        raise self._refuse(f"is a {type(value).__name__}")


def _known_form(value: object) -> object:
    """Rare types last: their modules are looked at only when a value is not simple."""
    import dataclasses
    import datetime
    import decimal
    import enum
    import uuid

    form: object = value
    if isinstance(value, enum.Enum):
        form = value.value
    elif isinstance(value, datetime.datetime):
        form = iso(value)
    elif isinstance(value, datetime.date | datetime.time):
        form = value.isoformat()
    elif isinstance(value, decimal.Decimal | uuid.UUID):
        form = str(value)
    elif isinstance(value, str):
        form = str.__str__(value)
    elif isinstance(value, int):
        form = int(value)
    elif isinstance(value, float):
        form = float(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        form = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif hasattr(value, "model_dump"):
        form = cast("Any", value).model_dump(mode="json")
    elif isinstance(value, BaseException):
        form = error_out(value, stack=False)
    return form


def iso(value: Any) -> str:
    """ISO 8601 in UTC with milliseconds and ``Z``; a time without a zone counts as UTC."""
    import datetime

    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    return f"{value.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def to_json(value: object) -> str:
    return Writer().text(value)


def digest(value: object, writer: Writer, text: str) -> str:
    """SHA-256 over the canonical form; ``text`` is what ``writer`` wrote of the value, often that form already."""
    canonical = text if writer.is_in_order else Writer(is_sorted=True).text(value)
    return hashlib.sha256(canonical.encode()).hexdigest()


def well_formed(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def error_out(error: BaseException, *, stack: bool = True) -> dict[str, Any]:
    """What can be read of an error; one that raises when it is asked is told by its class."""
    trace = _trace(error) if stack else {}
    try:
        return _fields(error) | trace
    except BaseException:
        name = class_name(error)
        return {"name": name, "message": name} | trace


def class_name(error: BaseException) -> str:
    """The name of its class, whatever that class or its metaclass makes of attributes."""
    return type.__dict__["__name__"].__get__(type(error))


def _trace(error: BaseException) -> dict[str, str]:
    try:
        return {"stack": well_formed("".join(traceback.format_exception(error)))[-4000:]}
    except BaseException:
        return {}


def words(error: BaseException) -> str:
    """Its text, empty if it cannot say it."""
    try:
        return str(error)
    except BaseException:
        return ""


def _fields(error: BaseException) -> dict[str, Any]:
    name = error.name if isinstance(error, CallError) else class_name(error)
    out: dict[str, Any] = {"name": name, "message": well_formed(_message(error) or name)}
    code = getattr(error, "code", None)
    if code is not None:
        out["code"] = well_formed(str(code))
    for field in ("toolName", "agentName", "cause"):
        if isinstance(text := vars(error).get(field), str):
            out[field] = text
    cause = vars(error).get("cause")
    if isinstance(cause, Mapping):
        fields = cast("Mapping[str, object]", cause)
        if isinstance(fields.get("code"), str):
            out["cause"] = {key: well_formed(str(fields.get(key, ""))) for key in ("name", "message", "code")}
    return out


def _message(error: BaseException) -> str:
    """The text of a `KeyError` is only its key, that of a `SystemExit` a number; a recorded one says its name."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else words(error)
    kind = type(error).__name__
    if not isinstance(error, KeyError | SystemExit) or not text or text.startswith(f"{kind}: "):
        return text
    return f"{kind}: {error}"


_BY_CODE: dict[str, type[Exception]] = {
    "ENOENT": FileNotFoundError,
    "EACCES": PermissionError,
    "EISDIR": IsADirectoryError,
    "EFBIG": OSError,
    "EIO": OSError,
}

_NOT_FOR_FUTURES = (StopIteration, StopAsyncIteration)


def error_in(record: dict[str, Any]) -> Exception:
    fields = dict(record)
    name, message, code = fields.pop("name", "Error"), fields.pop("message", ""), fields.pop("code", None)
    if name == "CompositeCallError":
        return CompositeCallError(code, message, **fields)
    kind = _BY_CODE.get(code or "") or getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception) and kind not in _NOT_FOR_FUTURES:
        try:
            error = kind(message)
        except TypeError:
            return CallError(name, message, code)
        if code is not None:
            vars(error)["code"] = code
        return error
    return CallError(name, message, code, **fields)
