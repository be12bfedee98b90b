"""Where the OpenAPI document of a connection comes from: a file of the repository, or an address that is read once."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import SplitResult, urljoin, urlsplit

from runtime_core.connections.addresses import AddressRefused, base_of
from runtime_core.connections.closed import Closed, check_open
from runtime_core.connections.openapi import Document
from runtime_core.connections.openapi_text import SIZE_LIMIT, BadDocument, parsed
from runtime_core.connections.secrets import NotSet, Secrets, looked_up
from runtime_core.connections.sending import TooLarge, certificates, read
from runtime_core.repo.bundle import Bundle, Connection
from runtime_core.repo.references import ENV

FETCH_S: Final = 20.0
QUICK: Final = 16 * 1024
"""Bytes of a document that is read in no time, 30 ms if it is YAML."""
KEPT: Final = 32
"""OpenApiDocuments that are kept in memory."""


class DocumentUnavailable(Exception):  # noqa: N818
    """The operations of a connection cannot be told; the message names the document and says why."""


class SourceRefused(DocumentUnavailable):
    """What spec.json says of the document leads to none; what is in the document does not matter."""


def source_of(connection: Connection) -> str | None:
    """The file or address of a connection's document, as its spec.json gives it; also the older ``specUrl``."""
    given: Any = connection.spec.get("openapi")
    if isinstance(given, dict):
        given = cast("dict[str, Any]", given).get("source")
    if given is None and connection.spec.get("format", "openapi") in ("openapi", "swagger"):
        given = connection.spec.get("specUrl")
    return given if isinstance(given, str) and given.strip() else None


class OpenApiDocuments:
    """The documents of all connections. ``folder`` keeps those that were fetched, so that they are there offline."""

    def __init__(self, folder: Path, secrets: Secrets) -> None:
        self._folder = folder
        self._secrets = secrets
        self._read: OrderedDict[tuple[str, int, int], Document | BadDocument] = OrderedDict()
        self._fetching: dict[str, asyncio.Task[None]] = {}
        self._sources: dict[str, str] = {}

    def known(self, bundle: Bundle, connection: Connection) -> Document | None:
        """The document, if that can be told at once. Raises `DocumentUnavailable`."""
        source = self.known_source(connection)
        return None if source is None else self._document(bundle, connection, source, QUICK)

    def known_source(self, connection: Connection) -> str | None:
        """What `source` gave last, without looking it up."""
        given = source_of(connection) or ""
        return self._sources.get(given) if given.startswith(ENV) else given

    def read(self, bundle: Bundle, connection: Connection) -> Document | None:
        """The document, without asking another system; None if that is not enough. May be called from any thread, and
        blocks while a keychain answers. Raises `DocumentUnavailable`.
        """
        return self._document(bundle, connection, self.source(connection), SIZE_LIMIT)

    def _document(self, bundle: Bundle, connection: Connection, source: str, limit: int) -> Document | None:
        """None too if it has more bytes than ``limit`` and was not read so far."""
        file = self._kept(source) if is_address(source) else _local(bundle, connection, source)
        return self._at(file, source, limit) if file.exists() or not is_address(source) else None

    async def get(self, bundle: Bundle, connection: Connection) -> Document:
        """The document, fetched if need be. Raises `DocumentUnavailable`."""
        document = await asyncio.to_thread(self.read, bundle, connection)
        if document is not None:
            return document
        source = await asyncio.to_thread(self.source, connection)
        task = self._fetching.get(source)
        if task is None:
            task = self._fetching[source] = asyncio.create_task(self._fetch(source, self._kept(source)))
            task.add_done_callback(lambda _: self._fetching.pop(source, None))
        await asyncio.shield(task)
        document = await asyncio.to_thread(self.read, bundle, connection)
        if document is None:
            raise DocumentUnavailable(f"The OpenAPI document {_shown(source)} was removed from {self._folder}.")
        return document

    async def close(self) -> None:
        for task in [*self._fetching.values()]:
            task.cancel()
        await asyncio.gather(*self._fetching.values(), return_exceptions=True)

    def source(self, connection: Connection) -> str:
        """The file or address, looked up if it is an ``env:NAME``, for which a keychain may have to be asked.

        Raises `DocumentUnavailable`.
        """
        given = source_of(connection) or ""
        try:
            source = self._sources[given] = looked_up(given, self._secrets)
            return source
        except NotSet as missing:
            self._sources.pop(given, None)
            raise SourceRefused(
                f'The OpenAPI document of the connection "{connection.name}" is to be found in {missing.name}, '
                "which is not set."
            ) from None

    def _kept(self, address: str) -> Path:
        return self._folder / hashlib.sha256(address.encode()).hexdigest()

    def _at(self, file: Path, source: str, limit: int) -> Document | None:
        shown = _shown(source)
        try:
            state = file.stat()
            key = (str(file), state.st_mtime_ns, state.st_size)
            found = self._read.get(key)
            if found is None:
                if limit < state.st_size <= SIZE_LIMIT:
                    return None
                found = self._read[key] = _read(file, state.st_size)
                if len(self._read) > KEPT:
                    self._read.popitem(last=False)
        except OSError as error:
            raise DocumentUnavailable(f"The OpenAPI document {shown} cannot be read: {error.strerror}.") from None
        if isinstance(found, BadDocument):
            raise DocumentUnavailable(f"The OpenAPI document {shown} cannot be used: {found}.")
        return found

    async def _fetch(self, address: str, target: Path) -> None:
        """Raises `DocumentUnavailable`."""
        data = await _fetched(address)
        try:
            await asyncio.to_thread(parsed, data)
        except BadDocument as bad:
            raise DocumentUnavailable(f"The OpenAPI document {_shown(address)} cannot be used: {bad}.") from None
        try:
            await asyncio.to_thread(_write, target, data)
        except OSError as error:
            raise DocumentUnavailable(
                f"The OpenAPI document {_shown(address)} cannot be kept in {target.parent}: {error.strerror}."
            ) from None


def _local(bundle: Bundle, connection: Connection, source: str) -> Path:
    folder = bundle.root / connection.folder
    file = Path(os.path.realpath(folder / source))
    if "\0" in source or not file.is_relative_to(bundle.root.resolve()):
        raise SourceRefused(f"The OpenAPI document {source!r} is outside of the repository {bundle.root}.")
    if any(part.startswith(".") for part in file.relative_to(bundle.root.resolve()).parts):
        raise SourceRefused(
            f"The OpenAPI document {source!r} is not read: names that begin with a dot, such as .env, are closed."
        )
    if not file.is_file():
        raise SourceRefused(
            f'There is no OpenAPI document {source} in {connection.folder}: correct "source" in its spec.json.'
        )
    return file


def _read(file: Path, size: int) -> Document | BadDocument:
    try:
        if size > SIZE_LIMIT:
            raise BadDocument(f"it is larger than {SIZE_LIMIT // 1024 // 1024} MB")
        return Document(parsed(file.read_bytes()))
    except BadDocument as bad:
        return bad
    except Exception as error:  # noqa: BLE001 - it holds anything
        return BadDocument(f"it cannot be understood ({type(error).__name__})")


async def _fetched(address: str) -> bytes:
    import httpx

    shown = _shown(address)

    async def check(request: httpx.Request) -> None:
        await check_open(str(request.url))

    hooks = {"request": [check]}
    try:
        trusted = await asyncio.to_thread(certificates)
        async with (
            asyncio.timeout(FETCH_S),
            httpx.AsyncClient(
                verify=trusted, follow_redirects=True, max_redirects=3, timeout=FETCH_S, event_hooks=hooks
            ) as client,
            client.stream("GET", address, headers={"Accept": "application/json, application/yaml, */*"}) as response,
        ):
            if response.is_error:
                raise DocumentUnavailable(
                    f"The OpenAPI document {shown} cannot be fetched: the reply is {response.status_code}."
                )
            return await read(response, SIZE_LIMIT)
    except Closed as closed:
        raise DocumentUnavailable(f"The OpenAPI document {shown} is not fetched: its host {closed}.") from None
    except TooLarge:
        raise DocumentUnavailable(
            f"The OpenAPI document {shown} is larger than {SIZE_LIMIT // 1024 // 1024} MB."
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        raise DocumentUnavailable(
            f"The OpenAPI document {shown} cannot be fetched ({type(error).__name__}). "
            "Check the network and the address, or put the document beside spec.json."
        ) from None


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = target.with_suffix(".new")
    fresh.write_bytes(data)
    fresh.replace(target)


def is_address(source: str) -> bool:
    return source.lower().startswith(("http://", "https://"))


def _shown(source: str) -> str:
    """An address without what may be a secret in it."""
    if not is_address(source):
        return source
    parts = urlsplit(source)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


def with_server(document: Document, connection: Connection, source: str) -> Connection:
    """The connection; without a base URL, with that of the server that the document names, or unavailable.

    A document that was fetched may name its own origin only: nobody else may choose where credentials go.
    """
    if connection.spec.get("baseUrl"):
        return connection
    try:
        base_url = server_of(document, source)
    except ValueError as error:
        return replace(connection, unavailable=f"{connection.folder}/spec.json [baseUrl]: it is missing, and {error}.")
    return replace(connection, spec={**connection.spec, "baseUrl": base_url})


def server_of(document: Document, source: str) -> str:
    """The base URL of a document from there. Raises `ValueError`, with a clause, for one that cannot be used."""
    named, shown = document.server, f"the OpenAPI document {_shown(source)}"
    if named is None and not is_address(source):
        raise ValueError(f"{shown} names no server")
    if named is not None and "{" in named:
        raise ValueError(f"{shown} names a server with variables, {named}")
    try:
        url = urljoin(source if is_address(source) else "https:", named or "/")
        parts = base_of(url)
    except AddressRefused as error:
        raise ValueError(f"{shown} names a server that cannot be used: {error}") from None
    except ValueError:
        raise ValueError(f"{shown} names a server that cannot be used: {named}") from None
    if is_address(source) and _origin(parts) != _origin(urlsplit(source)):
        raise ValueError(f"{shown} names the server {url}, which is not where it is from")
    return url


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
