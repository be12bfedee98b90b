"""A server on this machine that speaks Google's generateContent, and one that has pages."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "AIza-test-key-which-nobody-may-see"


@dataclass
class Seen:
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Server:
    """``answer`` is asked for every request, all of which are kept in ``seen``."""

    answer: Callable[[Seen], Answer] = lambda _: (404, {}, b"")
    seen: list[Seen] = field(default_factory=list)
    url: str = ""

    def fresh(self, answer: Callable[[Seen], Answer]) -> Server:
        self.answer = answer
        self.seen.clear()
        return self

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])


@contextlib.contextmanager
def serving(
    answer: Callable[[Seen], Answer], address: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> Generator[Server]:
    server = Server(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(b"")

        def do_POST(self) -> None:
            self._reply(self.rfile.read(int(self.headers["content-length"])))

        def _reply(self, body: bytes) -> None:
            seen = Seen(self.command, self.path, dict(self.headers.items()), json.loads(body) if body else None)
            server.seen.append(seen)
            status, headers, sent = server.answer(seen)
            self.send_response(status)
            for name, value in ({"content-length": str(len(sent))} | headers).items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(sent)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer((address, 0), Handler) as http:
        if tls is not None:
            http.socket = tls.wrap_socket(http.socket, server_side=True)
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.url = f"http://{address}:{http.server_port}"
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


def said(value: object, status: int = 200) -> Callable[[Seen], Answer]:
    return lambda _: (status, {"content-type": "application/json"}, json.dumps(value).encode())


def candidate(text: str, **members: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]}
    return {"candidates": [{"content": content, "finishReason": "STOP", **members}], "modelVersion": "gemini"}


def grounding(*sources: tuple[str, str], supports: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    chunks = [{"web": {"uri": uri, "title": title}} for uri, title in sources]
    return {"webSearchQueries": ["q"], "groundingChunks": chunks, "groundingSupports": supports or []}


def was_read(status: str = "URL_RETRIEVAL_STATUS_SUCCESS") -> dict[str, Any]:
    return {"urlMetadata": [{"retrievedUrl": "https://example.com", "urlRetrievalStatus": status}]}
