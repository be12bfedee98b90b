"""The tools ``store__<store>__get``, ``set``, ``query``, ``list`` and ``remove``, and ``ctx.store`` (contract 5.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

from runtime_core.repo.builtins import store_tools
from runtime_core.repo.bundle import Bundle, Store
from runtime_core.tools.base import Caller, MemberCall, MemberRefused, Prepare, ReadyTool, ToolFailed
from runtime_core.tools.documents import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    Documents,
    checked_key,
    known,
    place_of,
    prepared,
)
from runtime_core.tools.fields import described
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.stores import StoreQuery, StoreWrite

Call = Callable[[JsonText, Caller], Awaitable[JsonText]]

_PREFIX: Final = "store__"
_KEY: Final = {"type": "string", "description": "The key of the document."}
_LIMIT: Final = {
    "type": ["integer", "null"],
    "minimum": 0,
    "description": f"How many documents at most: {DEFAULT_LIMIT} if it is not given, {MAX_LIMIT} at most; 0 counts.",
}
_WHERE: Final = {
    "type": ["object", "null"],
    "description": "The values that fields must have, exactly, in upper and lower case as written.",
}
_KEPT: Final = 2048


class StoreTools:
    """`Provider` of the tools of all stores that a repository declares."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._made: dict[tuple[Path, str, str], ReadyTool] = {}

    def names(self, bundle: Bundle) -> Sequence[str]:
        return [name for store in bundle.stores.values() for name in store_tools(store)]

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        if not name.startswith(_PREFIX):
            return None
        store_name, _, verb = name.removeprefix(_PREFIX).rpartition("__")
        store = bundle.stores.get(store_name)
        if store is None or name not in store_tools(store):
            return None
        at = (bundle.root, bundle.revision, name)
        tool = self._made.get(at)
        if tool is None:
            if len(self._made) >= _KEPT:
                self._made.clear()
            tool = self._made[at] = self._make(name, verb, store)
        return tool

    def _make(self, name: str, verb: str, store: Store) -> ReadyTool:
        make = {
            "get": self._get,
            "query": self._query,
            "list": self._list,
            "set": self._set,
            "remove": self._remove,
        }[verb]
        return make(name, store)

    def _get(self, name: str, store: Store) -> ReadyTool:
        async def call(params: JsonText, caller: Caller) -> JsonText:
            key = _fields(params)["key"]
            with _failures():
                found = await self._documents.payload(caller.bundle, caller.scope, store, key)
            return found if found is not None else dumps({"error": f"Document {dumps(key)} not found in {store.name}."})

        text = f"Read one document of the store {store.name} by its key."
        return ReadyTool(name, text, _object(["key"], key=_KEY), "store", "read", call)

    def _query(self, name: str, store: Store) -> ReadyTool:
        text = f"Find the documents of the store {store.name} that have certain values, the one saved last first."
        return ReadyTool(name, text, _object([], where=_WHERE, limit=_LIMIT), "store", "read", self._page_of(store))

    def _list(self, name: str, store: Store) -> ReadyTool:
        text = f"List the documents of the store {store.name}, the one saved last first."
        return ReadyTool(name, text, _object([], limit=_LIMIT), "store", "read", self._page_of(store))

    def _page_of(self, store: Store) -> Call:
        async def call(params: JsonText, caller: Caller) -> JsonText:
            given = _fields(params)
            limit = given.get("limit")
            limit = DEFAULT_LIMIT if limit is None else int(min(limit, MAX_LIMIT))
            query = StoreQuery(given.get("where") or {}, limit, indexed=store.indexed)
            with _failures():
                return await self._documents.page(caller.bundle, caller.scope, store, query)

        return call

    def _set(self, name: str, store: Store) -> ReadyTool:
        def prepare(params: JsonText, caller: Caller) -> StoreWrite:
            given = _fields(params)
            return prepared(caller.bundle, caller.scope, store, given["value"], given["key"])

        value = {
            "type": "object",
            "description": f"The whole document; {store.key} of it is its key. All of these fields have to be there.",
            "properties": {field: {"description": described(shape)} for field, shape in store.schema.items()},
        }
        parameters = _object(["key", "value"], key=_KEY, value=value)
        return self._writing(name, f"Write one document of the store {store.name} as a whole.", parameters, prepare)

    def _remove(self, name: str, store: Store) -> ReadyTool:
        def prepare(params: JsonText, caller: Caller) -> StoreWrite:
            place = place_of(caller.bundle, caller.scope, store)
            return StoreWrite(place, checked_key(_fields(params)["key"]), None)

        parameters = _object(["key"], key=_KEY)
        return self._writing(name, f"Remove one document of the store {store.name} by its key.", parameters, prepare)

    def _writing(self, name: str, text: str, parameters: Mapping[str, Any], prepare: Prepare) -> ReadyTool:
        async def call(params: JsonText, caller: Caller) -> JsonText:
            with _failures():
                return await self._documents.write(prepare(params, caller))

        return ReadyTool(name, text, parameters, "store", "idempotent", call, prepare)

    async def member(self, args: JsonText, call: MemberCall) -> JsonText:
        """``ctx.store(name, payload)``: writes the document that has the key of the payload; returns ``{key}``."""
        name, payload = (*cast("list[Any]", loads(args)), None, None)[:2]
        caller = call.caller
        try:
            with _failures():
                write = prepared(caller.bundle, caller.scope, known(caller.bundle, str(name)), payload)
                await self._documents.write(write)
        except ToolFailed as failed:
            error = {"name": "StoreError", "code": failed.code, "message": f"ctx.store: {failed.message}"}
            raise MemberRefused(dumps(error)) from None
        return dumps({"key": write.key})


@contextmanager
def _failures() -> Generator[None]:
    """A damaged document or a busy data folder is a failure of the call that met it."""
    try:
        yield
    except RuntimeFault as fault:
        raise ToolFailed(fault.message, fault.code) from fault


def _object(required: Sequence[str], **properties: Any) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _fields(params: JsonText) -> dict[str, Any]:
    return cast("dict[str, Any]", loads(params))
