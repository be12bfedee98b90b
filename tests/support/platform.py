"""The platform on loopback: its routes over real HTTP, with a log that grows and everything that goes wrong.

What it says to the next requests is queued (`Says`, `Cuts`, `Streams`); with nothing queued it works.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.web import Says, Seen

KEY = "key-of-the-platform-1234"


@dataclass(frozen=True)
class Cuts:
    """An answer that breaks off: ``body`` is less than was announced."""

    body: str = ""
    content_type: str = "text/plain"


@dataclass(frozen=True)
class Streams:
    """An answer that comes piece by piece; then it ends, or is cut."""

    pieces: Sequence[str]
    content_type: str = "text/event-stream"
    is_cut: bool = False


Answer: TypeAlias = Says | Cuts | Streams


@dataclass
class PlatformServer:
    """``log`` are the lines that are there; each look at it lets ``growth`` more of ``coming`` appear, then the build
    has the state ``ends``. ``form``: how a log is told (object, array, text, jsonl). ``switches``: tool -> is on."""

    url: str = ""
    log: list[str] = field(default_factory=list[str])
    coming: list[str] = field(default_factory=list[str])
    growth: int = 1
    ends: str = "succeeded"
    form: str = "object"
    switches: dict[str, bool] = field(default_factory=lambda: {"web_search": True, "fetch_url": False})
    seen: list[Seen] = field(default_factory=list[Seen])
    queued: deque[Answer] = field(default_factory=deque[Answer])
    deployed: Any = field(default_factory=lambda: {"buildId": "bld_7", "status": "queued"})
    keys: set[str] = field(default_factory=lambda: {KEY})

    def answer(self, asked: Seen) -> Answer:
        if asked.headers.get("authorization", "").removeprefix("Bearer ") not in self.keys:
            return Says({"error": {"message": "Invalid API key"}}, 401)
        if self.queued:
            return self.queued.popleft()
        path = urlsplit(asked.path).path
        if (asked.method, path) == ("POST", "/api/deployments/redeploy"):
            return Says(self.deployed, 202)
        if asked.method == "GET" and path == "/api/builds/bld_7/logs":
            return self._log(parse_qs(urlsplit(asked.path).query))
        if path.startswith("/api/agents/agent_1/platform-tools"):
            return self._tools(asked, path.removeprefix("/api/agents/agent_1/platform-tools").removeprefix("/"))
        return Says({"error": "not found"}, 404)

    def _log(self, query: Mapping[str, Sequence[str]]) -> Answer:
        new, self.coming = self.coming[: self.growth], self.coming[self.growth :]
        self.log += new
        state = "building" if self.coming else self.ends
        if self.form == "text":
            return Says("".join(f"{line}\n" for line in self.log))
        if self.form == "jsonl":
            rows = [json.dumps({"message": line, "level": "info"}) for line in self.log]
            return Says("\n".join([*rows, json.dumps({"status": state})]))
        if self.form == "array":
            return Says([{"timestamp": at, "text": line} for at, line in enumerate(self.log, 1_700_000_000)])
        if self.form == "paged":
            start = int(query.get("cursor", ["0"])[0])
            page = self.log[start : start + 2]
            more = {"nextCursor": start + 2} if start + 2 < len(self.log) else {}
            return Says({"data": {"lines": page}, "build": {"status": state}, "pagination": more})
        return Says({"buildId": "bld_7", "status": state, "logs": [{"message": line} for line in self.log]})

    def _tools(self, asked: Seen, name: str) -> Answer:
        if asked.method == "PUT" and unquote(name) in self.switches:
            self.switches[unquote(name)] = asked.json["enabled"]
            return Says({"ok": True})
        if asked.method == "GET" and not name:
            return Says({"tools": [{"name": name, "enabled": on} for name, on in self.switches.items()]})
        return Says({"error": {"message": f"no such tool: {name}"}}, 404)


@contextmanager
def platform_server(**settings: Any) -> Generator[PlatformServer]:
    """Serve on a free port of loopback."""
    platform = PlatformServer(**settings)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def do_PUT(self) -> None:
            self._serve()

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Seen(self.command, self.path, headers, body)
            platform.seen.append(asked)
            said = platform.answer(asked)
            if isinstance(said, Says):
                content, kind = said.encoded()
                self._send(said.status, {"Content-Type": kind, **said.headers, "Content-Length": str(len(content))})
                self.wfile.write(content)
            elif isinstance(said, Cuts):
                content = said.body.encode()
                self._send(200, {"Content-Type": said.content_type, "Content-Length": str(len(content) + 10)})
                self.wfile.write(content)
                self.close_connection = True
            else:
                self._send(200, {"Content-Type": said.content_type, "Transfer-Encoding": "chunked"})
                for piece in said.pieces:
                    data = piece.encode()
                    self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                    self.wfile.flush()
                if said.is_cut:
                    self.close_connection = True
                else:
                    self.wfile.write(b"0\r\n\r\n")

        def _send(self, status: int, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError):  # the client went away
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    platform.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield platform
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
