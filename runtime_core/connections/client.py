"""Sends one request of a connection (contract 1.6 and 3.2): no policy, no retry, no field restriction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from runtime_core.connections.secrets import Secrets
from runtime_core.repo.bundle import Connection
from runtime_core.wire.json import JsonText


class Sender(Protocol):
    """On whose behalf a request is sent: a `tools.base.Caller` is one.

    ``context`` is what the run was started with, for ``contextInjection``; ``call_id`` becomes the
    ``Idempotency-Key`` of a write.
    """

    @property
    def scope(self) -> str: ...
    @property
    def call_id(self) -> str | None: ...
    @property
    def context(self) -> JsonText | None: ...


@dataclass(frozen=True, slots=True)
class Request:
    """``endpoint`` is the path below the base URL, with path values percent-encoded; it may hold a query.

    ``params``: the query; null is left out, a list repeats its key. ``data``: the body, None for none; a text is sent
    as it is, anything else as a form if ``headers`` say so, else as JSON. ``is_read``: changes nothing, so it gets no
    idempotency key. ``timeout_s`` for the whole exchange, redirects included.
    """

    endpoint: str
    method: str = "GET"
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    data: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    is_read: bool = False
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply with a status of 2xx. ``data`` is the JSON of its body, or ``{"text", "status"}`` for anything else."""

    status: int
    data: JsonText


class RequestFailed(Exception):  # noqa: N818
    """A request without a usable reply; the message names connection and host, says what to do, and holds no secret.

    ``code``: ``invalid-params``, ``connection-unavailable``, ``unreachable``, ``timeout``, ``response-too-large``,
    ``redirected`` or ``http-404`` with ``status`` and ``body`` (its first 2,000 characters).
    ``is_sent`` False: certainly nothing of the request has left the machine.
    """

    def __init__(
        self, code: str, message: str, *, status: int | None = None, body: str | None = None, is_sent: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.body = body
        self.is_sent = is_sent


class Connections:
    """The requests of one runtime; belongs to the loop that first sends one."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    async def send(self, connection: Connection, request: Request, sender: Sender) -> Reply:
        """Send a request with the credentials of a connection. Raises `RequestFailed`."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close the connections that are kept open."""
