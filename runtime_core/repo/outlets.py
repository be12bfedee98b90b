"""Which values of whoever runs it a repository uses, and where each of them goes (contract 1.2, 1.6, 2.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlsplit

from runtime_core.repo.bundle import Bundle, Connection
from runtime_core.repo.files import Key, items_of, read_json
from runtime_core.repo.manifest import MANIFEST
from runtime_core.repo.position import show_key
from runtime_core.repo.references import ENV, is_reference, named_values
from runtime_core.repo.report import Report

_SERVERS: Final = ("mcp", "servers")
_SHOWN_WORDS: Final = 200


@dataclass(frozen=True, slots=True)
class Outlet:
    """``name``: ``env:NAME`` or ``scope:KEY``, which stands in ``file`` at ``key``; ``to``: who gets its value."""

    name: str
    file: str
    key: str
    to: str


def outlets(bundle: Bundle) -> Iterator[Outlet]:
    """In the order of manifest, connections, tools; also of what is switched off as long as a value is missing."""
    manifest = read_json(bundle.root, MANIFEST, Report())
    for key, name in named_values(manifest.value if manifest is not None else {}):
        assert manifest is not None
        yield Outlet(name, MANIFEST, show_key(key) or "", _of_manifest(key, manifest.value))
    for connection in bundle.connections.values():
        to = _of_connection(connection)
        for key, name in named_values(connection.spec):
            yield Outlet(name, f"{connection.folder}/spec.json", show_key(key) or "", to)
    for tool in bundle.tools.values():
        file = f"{tool.entry.rpartition('/')[0]}/tool.json" if tool.layout == "json" else tool.entry
        for name in tool.env:
            yield Outlet(f"{ENV}{name}", file, "env", f"the handler of the tool {tool.name}")


def _of_manifest(key: Key, manifest: Mapping[str, Any]) -> str:
    section, *rest = key
    if key[:2] == _SERVERS and len(rest) > 1:
        return _server(str(rest[1]), _at(manifest, key[:3]))
    if section == "models" and rest:
        depth = rest.count("fallback")
        model = _at(manifest, key[: depth + 2])
        name = ".".join(map(str, rest[: depth + 1]))
        return f"the model {name} ({', '.join([str(model.get('provider')), *_hosts(model, 'baseUrl')])})"
    if section == "webTools":
        return "the web tools (Google)"
    if section == "basePrompt":
        return "the model of every agent"
    return "whoever is shown it" if section in ("name", "version", "description") else "nobody here"


def _of_connection(connection: Connection) -> str:
    spec = connection.spec
    if connection.protocol == "mcp":
        return f"the connection {connection.name}: {_server(connection.name, spec)}"
    auth, openapi = spec.get("auth"), spec.get("openapi")
    hosts = [*_hosts(spec, "baseUrl", "specUrl"), *_hosts(auth, "tokenUrl", "token_url"), *_hosts(openapi, "source")]
    where = ", ".join(dict.fromkeys(hosts)) or ("this computer" if connection.protocol == "mail" else "")
    return f"the connection {connection.name} ({where or 'the server that its document names'})"


def _server(name: str, entry: Mapping[str, Any]) -> str:
    words = [entry.get("command"), *items_of(entry.get("args"))]
    command = " ".join(word for word in words if isinstance(word, str))[:_SHOWN_WORDS]
    where = ", ".join(_hosts(entry, "url")) if entry.get("url") and not entry.get("command") else f"command {command}"
    return f"the MCP server {name} ({where})"


def _hosts(value: object, *keys: str) -> Iterator[str]:
    """The hosts of addresses; of one that is a reference, its name."""
    for key in keys:
        text = _object(value).get(key)
        if not isinstance(text, str) or not text:
            continue
        if is_reference(text):
            yield f"the host that {text} names"
            continue
        try:
            host = urlsplit(text).netloc.rpartition("@")[2]
        except ValueError:
            host = ""
        if host:
            yield host


def _at(value: object, key: Key) -> dict[str, Any]:
    for part in key:
        value = _object(value).get(str(part))
    return _object(value)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
