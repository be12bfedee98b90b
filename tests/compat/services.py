"""Other people's systems, on sockets of this machine: what they are asked is kept, what they answer is a function."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text) if self.text else None


Answer = Callable[[Request], tuple[int, Any]]
"""Status and body: a text is sent as it is, anything else as JSON."""


@dataclass
class Service:
    """``asked``: every request that arrived, in order."""

    url: str
    asked: list[Request] = field(default_factory=list[Request])

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.asked if request.method != "GET"]

    def forget(self) -> None:
        self.asked.clear()


@contextmanager
def service(answer: Answer) -> Generator[Service]:
    """A server on a port of loopback until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            text = self.rfile.read(length).decode()
            request = Request(self.command, parts.path, dict(parse_qsl(parts.query)), headers, text)
            found.asked.append(request)
            status, value = answer(request)
            body = (value if isinstance(value, str) else json.dumps(value)).encode()
            self.send_response(status)
            self.send_header("content-type", "text/plain" if isinstance(value, str) else "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - names of the base class

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Service(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
