"""Documents of the stores as every room of the runtime knows them (contract 1.4, 5.1, 6.8, 6.9, decision 8)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from runtime_core.wire.json import MAX_DIGITS, JsonText, JsonValue, Number, dumps


@dataclass(frozen=True, slots=True)
class Partition:
    """Where the documents of one store are: ``repo`` is the absolute path of the agent repository, ``scope`` the empty
    string for the agent-wide part."""

    repo: str
    scope: str
    store: str


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One document; ``version`` counts its writes from 1, times are in seconds since the epoch."""

    key: str
    payload: JsonText
    version: int
    created_at: float
    saved_at: float


@dataclass(frozen=True, slots=True)
class StoreWrite:
    """A checked write that is still to be made; ``payload`` None removes the document.

    ``indexed``: the fields by which documents of this store are found.
    """

    partition: Partition
    key: str
    payload: JsonText | None
    indexed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreQuery:
    """Which documents of a partition are wanted, the one saved last first unless ``sort`` (``field`` or ``-field``)
    says otherwise. ``where``: the values that fields must have. ``indexed``: as in `StoreWrite`."""

    where: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    limit: int = 20
    offset: int = 0
    sort: str | None = None
    indexed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A page of what a `StoreQuery` finds, and how many documents there are."""

    documents: Sequence[StoredDocument]
    total: int


LONG: Final = 200


def found_by(value: JsonValue) -> str:
    """The same text for all values that a query takes for equal: numbers of one value, however they are written, texts
    exactly, lists in order, objects in any. Long ones are replaced by their digest."""
    text = dumps(_plain(value), sort_keys=True)
    return text if len(text) <= LONG else "#" + hashlib.sha256(text.encode()).hexdigest()


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Number(_decimal(dumps(value)))
    return value


def _decimal(text: str) -> str:
    """All digits of a JSON number without zeros around them, and the power of ten of the last."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(exponent) > MAX_DIGITS:
        return text
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return "0"
    power = int(exponent or 0) - len(fraction) + len(digits) - len(kept)
    return f"{'-' if mantissa.startswith('-') else ''}{kept}e{power}"
