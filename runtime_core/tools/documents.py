"""Documents of a repository's stores: what is checked before one is written, and how one is read and shown.

Contract 1.4, 5.1, 6.8 and 6.9.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from runtime_core.journal.base import Journal
from runtime_core.repo.bundle import Bundle, Store
from runtime_core.tools.base import ToolFailed
from runtime_core.tools.fields import key_fields, key_of, problem_of
from runtime_core.wire.json import JsonError, JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import iso
from runtime_core.wire.stores import Partition, StoredDocument, StoreQuery, StoreWrite

DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 1000
MAX_OFFSET: Final = 10_000


class Documents:
    """The documents of all stores of all repositories. Methods raise `ToolFailed` for what the caller can mend, and
    `RuntimeFault` for a damaged or busy data folder."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def write(self, write: StoreWrite) -> JsonText:
        """The result of the tool that sets or removes."""
        return (await self._journal.write_documents([write]))[0]

    async def payload(self, bundle: Bundle, scope: str, store: Store, key: str) -> JsonText | None:
        found = await self._journal.document(place_of(bundle, scope, store), key)
        return found.payload if found is not None else None

    async def payloads(self, bundle: Bundle, scope: str, store: Store, query: StoreQuery) -> Sequence[JsonText]:
        """The bare documents."""
        found = await self._journal.documents(place_of(bundle, scope, store), query)
        return [document.payload for document in found.documents]

    async def page(self, bundle: Bundle, scope: str, store: Store, query: StoreQuery) -> JsonText:
        """``{"documents", "total", "hasMore"}``."""
        found = await self._journal.documents(place_of(bundle, scope, store), query)
        shown = ",".join(shown_as(store, document) for document in found.documents)
        more = query.offset + len(found.documents) < found.total
        return f'{{"documents":[{shown}],"total":{found.total},"hasMore":{dumps(more)}}}'

    async def document(self, bundle: Bundle, scope: str, store: Store, key: str) -> JsonText | None:
        found = await self._journal.document(place_of(bundle, scope, store), key)
        return shown_as(store, found) if found is not None else None

    async def overview(self, bundle: Bundle, scope: str) -> Sequence[dict[str, Any]]:
        """All stores with the number of their documents (contract 6.8, ``GET /api/stores``)."""
        own = await self._journal.document_counts(str(bundle.root), scope)
        shared = await self._journal.document_counts(str(bundle.root), "")
        return [
            {
                "name": store.name,
                "entity": {"name": store.name, "key": store.key, "schema": dict(store.schema)},
                "indexed": list(store.indexed),
                "deletable": store.deletable,
                "shared": store.shared,
                "ttl": store.ttl_s,
                "trace": False,
                "history": {"versions": 0},
                "documentCount": (shared if store.shared else own).get(store.name, 0),
            }
            for store in bundle.stores.values()
        ]


def known(bundle: Bundle, name: str) -> Store:
    """Raises `ToolFailed`."""
    store = bundle.stores.get(name)
    if store is None:
        there = ", ".join(sorted(bundle.stores)) or "none"
        raise ToolFailed(f'Store "{name}" not found. The repository {bundle.name} has: {there}.', "unknown-store")
    return store


def place_of(bundle: Bundle, scope: str, store: Store) -> Partition:
    return Partition(str(bundle.root), "" if store.shared else scope, store.name)


def prepared(bundle: Bundle, scope: str, store: Store, payload: JsonValue, key: str | None = None) -> StoreWrite:
    """The checked write of a document. ``key``: as the caller gave it; None: as its fields give it.

    Raises `ToolFailed`, which names the field and what is wrong.
    """
    refused = f"Store {store.name} did not take the document"
    if (problem := problem_of(store.schema, payload)) is not None:
        raise ToolFailed(f"{refused}: {problem}.", "invalid-document")
    assert isinstance(payload, dict)
    own = key_of(store.key, payload)
    if own is None:
        raise ToolFailed(
            f"{refused}: its key {store.key} needs a value in {key_fields(store.key)}.", "invalid-document"
        )
    if key not in (None, own):
        raise ToolFailed(
            f"{refused}: the key given is {dumps(key)}, but {key_fields(store.key)} of the value makes it {dumps(own)} "
            f"({store.key}). Give the key that the value has, or correct the value.",
            "invalid-document",
        )
    return StoreWrite(place_of(bundle, scope, store), checked_key(own), dumps(payload), store.indexed)


def checked_key(key: str) -> str:
    try:
        key.encode()
    except UnicodeEncodeError:
        raise ToolFailed(f"The key {dumps(key)} holds half of a surrogate pair.", "invalid-document") from None
    return key


def shown_as(store: Store, document: StoredDocument) -> JsonText:
    """A document as lists hold it (contract 6.8)."""
    age = time.time() - document.saved_at
    meta = {
        "computedAt": iso(document.saved_at),
        "createdAt": iso(document.created_at),
        **({"ttl": store.ttl_s} if store.ttl_s is not None else {}),
        "stale": store.ttl_s is not None and age > store.ttl_s,
    }
    head = dumps({"key": document.key, "appId": "local", "store": store.name, "version": document.version})
    return f'{head[:-1]},"payload":{document.payload},"meta":{dumps(meta)}}}'


def asked_for(store: Store, where: JsonText | None, sort: str | None, limit: int, offset: int) -> StoreQuery:
    """A query as another program sends it: ``where`` is a JSON object, a limit of 0 counts. Raises `ToolFailed`."""
    values: JsonValue = {}
    if where is not None:
        try:
            values = loads(where)
        except JsonError as error:
            raise ToolFailed(f"Invalid filter JSON: {error}", "invalid-filter") from None
    if not isinstance(values, dict):
        raise ToolFailed('Invalid filter JSON: it should be an object, such as {"status": "open"}.', "invalid-filter")
    if not 0 <= offset <= MAX_OFFSET:
        raise ToolFailed(f"offset is {offset} and may be from 0 to {MAX_OFFSET:,}.", "invalid-filter")
    return StoreQuery(values, max(0, min(limit, MAX_LIMIT)), offset, sort or None, store.indexed)
