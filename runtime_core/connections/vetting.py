"""What can be said of a connection before it is used, without asking another system: the loader is told it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runtime_core.connections.addresses import AddressRefused, base_of
from runtime_core.connections.closed import Closed, check_name
from runtime_core.connections.credentials import Settings, Unusable, read_access
from runtime_core.connections.openapi import DISCOVER
from runtime_core.connections.openapi_source import DocumentUnavailable, OpenApiDocuments, source_of
from runtime_core.connections.secrets import EnvironmentSecrets
from runtime_core.repo.bundle import Bundle, Connection
from runtime_core.repo.connections import Flaw
from runtime_core.repo.references import is_reference


class _Assumed:
    """A value for every name: only what stands in the repository is looked at."""

    def get(self, name: str) -> str | None:
        return "assumed"


@dataclass(frozen=True, slots=True)
class Vetting:
    """`repo.connections.Vetting` of the repository at ``root``."""

    root: Path

    def flaws(self, connection: Connection) -> Iterator[Flaw]:
        settings = Settings(connection, _Assumed(), "any")
        try:
            if connection.protocol == "rest":
                self._check_request(connection, settings)
            elif connection.protocol == "mcp":
                _check_address(settings, "url", connection.spec.get("url"))
        except Unusable as error:
            yield Flaw(error.key, error.reason)

    def _check_request(self, connection: Connection, settings: Settings) -> None:
        """Raises `Unusable` as a request would."""
        _check_address(settings, "baseUrl", connection.spec.get("baseUrl"))
        spec = {**connection.spec, "baseUrl": connection.spec.get("baseUrl") or "named by its document"}
        access = read_access(replace(connection, spec=spec), settings.secrets, settings.scope)
        if access.grant is not None:
            auth: Any = connection.spec["auth"]
            _check_address(settings, "auth.tokenUrl", auth.get("tokenUrl") or auth.get("token_url"))

    def others(self, connection: Connection, operation: str) -> Sequence[str] | None:
        if connection.protocol == "mcp" or connection.unavailable is not None:
            return None
        if source_of(connection) is None:
            return ()
        if operation == DISCOVER:
            return None
        try:
            document = OpenApiDocuments(self.root, EnvironmentSecrets()).known(_empty(self.root), connection)
        except DocumentUnavailable:
            return None
        return None if document is None or document.entry(operation) else list(document.entries)


def _empty(root: Path) -> Bundle:
    """The repository, of which nothing else is known yet."""
    return Bundle(root=root, name="", version="", revision="", tools={}, agents={}, manifest={})


def _check_address(settings: Settings, key: str, url: object) -> None:
    if isinstance(url, str) and url and not is_reference(url):
        try:
            check_name(base_of(url).geturl())
        except AddressRefused as error:
            raise settings.wrong(key, f"{error}.") from None
        except Closed as closed:
            raise settings.wrong(key, f"the host {closed}. Give another address.") from None
