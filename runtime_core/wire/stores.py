"""Documents of the stores as every room of the runtime knows them (contract 1.4, 5.1, 6.8, 6.9, decision 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime_core.wire.json import JsonText


@dataclass(frozen=True, slots=True)
class Partition:
    """Where the documents of one store are: ``repo`` is the absolute path of the agent repository, ``scope`` the empty
    string for the agent-wide part."""

    repo: str
    scope: str
    store: str


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One document; ``version`` counts its writes from 1, ``saved_at`` is in seconds since the epoch."""

    key: str
    payload: JsonText
    version: int
    saved_at: float


@dataclass(frozen=True, slots=True)
class StoreWrite:
    """A checked write that is still to be made; ``payload`` None removes the document.

    ``indexed``: what the document is found by, the canonical JSON of each indexed field by its name.
    """

    partition: Partition
    key: str
    payload: JsonText | None
    indexed: Mapping[str, JsonText] = field(default_factory=dict[str, JsonText])
