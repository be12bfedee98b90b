"""``store``: the documents that agents keep in the stores of a repository."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from inbox_app.cli_session import DONE, Options, say, say_json, with_runtime
from inbox_app.cli_text import indented, table, visible
from runtime_core.wire.json import JsonText, dumps, pretty

if TYPE_CHECKING:
    from runtime_core.runtime import Runtime

_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which documents: of all stores, of one, or one of them; ``where`` is JSON text."""

    root: Path
    store: str | None
    key: str | None
    where: str | None
    sort: str | None
    limit: int
    scope: str


def show(options: Options, wanted: Wanted) -> int:
    """Print stores, documents or one document. No run is touched."""
    root = wanted.root.expanduser().absolute()

    async def work(runtime: Runtime) -> tuple[Any, Iterator[str]]:
        if wanted.store is None:
            found = await runtime.stores(root, scope=wanted.scope)
            return found, _stores(found["stores"])
        if wanted.key is None:
            found = await runtime.documents(
                root, wanted.store, filter=wanted.where, sort=wanted.sort, limit=wanted.limit, scope=wanted.scope
            )
            return found, _documents(found)
        found = await runtime.document(root, wanted.store, wanted.key, scope=wanted.scope)
        return found, _document(found["document"])

    return _told(options, work)


def put(options: Options, path: Path, store: str, document: JsonText, scope: str) -> int:
    """Write one document. No run is touched."""
    root = path.expanduser().absolute()

    async def work(runtime: Runtime) -> tuple[Any, Iterator[str]]:
        said = await runtime.put_document(root, store, document, scope=scope)
        return said, iter([visible(f"{said['key']}: version {said['version']} stored")])

    return _told(options, work)


def _told(options: Options, work: Callable[[Runtime], Awaitable[tuple[Any, Iterator[str]]]]) -> int:
    found, lines = with_runtime(options, work)
    if options.as_json:
        say_json(found)
    else:
        say(lines)
    return DONE


def _stores(stores: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not stores:
        yield "The repository has no stores."
        return
    rows = [(one["name"], str(one["documentCount"]), one["entity"]["key"], _words(one)) for one in stores]
    yield table(("store", "documents", "key", ""), rows)


def _words(store: Mapping[str, Any]) -> str:
    return ", ".join(word for word in ("shared", "deletable") if store[word])


def _documents(found: Mapping[str, Any]) -> Iterator[str]:
    documents = found["documents"]
    if documents:
        rows = [(visible(one["key"]), str(one["version"]), one["meta"]["computedAt"], _short(one)) for one in documents]
        yield table(("key", "version", "saved", ""), rows)
    total = found["total"]
    yield f"{len(documents)} of {total} {'document' if total == 1 else 'documents'}"


def _short(document: Mapping[str, Any]) -> str:
    text = dumps(document["payload"])
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _document(document: Mapping[str, Any]) -> Iterator[str]:
    meta = document["meta"]
    stale = ", stale" if meta["stale"] else ""
    yield visible(f"{document['key']}: version {document['version']}, saved {meta['computedAt']}{stale}")
    yield from indented(pretty(document["payload"]), "")
