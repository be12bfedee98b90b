"""A request before it gets address and credentials: what is judged, shown to a person and sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """``endpoint`` is the path below the base URL, with path values percent-encoded; it may hold a query.

    ``params``: the query; null is left out, a list repeats its key. ``data``: the body, None for none; a text is sent
    as it is, anything else as a form if ``headers`` say so, else as JSON. ``is_read``: its sender says that it changes
    nothing, so it gets no idempotency key. ``timeout_s`` for the whole exchange, redirects included.
    """

    endpoint: str
    method: str = "GET"
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    data: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    is_read: bool = False
    timeout_s: float = 30.0

    def shown(self, connection: str, url: str) -> dict[str, Any]:
        """What a person is asked about. ``url``: where it would be sent, without credentials."""
        more = {"params": self.params or None, "data": self.data, "headers": self.headers or None}
        return {
            "connection": connection,
            "method": self.method,
            "url": url,
            "endpoint": self.endpoint,
            **{name: value for name, value in more.items() if value is not None},
        }
