"""Where the platform is, and who may order something there: from the environment, the keychain and the settings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urlsplit

from runtime_core.connections.secrets import Secrets
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.settings import Platform

BASE: Final = "AMODAL_API_BASE"
KEY: Final = "AMODAL_API_KEY"
AGENT: Final = "AMODAL_AGENT_ID"

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HERE: Final = re.compile(r"(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?(/|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """``base`` has no slash at its end."""

    base: str
    key: str = field(repr=False)

    def at(self, route: str, *parts: str) -> str:
        """The URL of a route, with more parts of its path, whatever characters are in them."""
        return self.base + route + "".join(f"/{quote(part, safe='')}" for part in parts)


def address(secrets: Secrets, settings: Platform) -> Address:
    """May block while a keychain answers. Raises `RuntimeFault` platform_not_configured."""
    given = (secrets.get(BASE) or settings.api_base).strip()
    if not given:
        raise _not_configured(
            f"It is not known where the platform is: set the environment variable {BASE}, or api_base under "
            "[platform] in config.toml."
        )
    key = (secrets.get(KEY) or "").strip()
    if not key:
        raise _not_configured(
            f"There is no key for the platform: store one with: operator-inbox secret set {KEY} (or set the "
            "environment variable of that name)."
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise _not_configured(f"The value of {KEY} cannot be a key: it has characters that no header may have.")
    base = base_url(given)
    if base.startswith("http://") and not _HERE.match(base.removeprefix("http://")):
        raise _not_configured(
            f"The platform at {base} is asked for nothing: the key would go through the network in plain sight. Write "
            f"https:// in {BASE}."
        )
    return Address(base, key)


def base_url(given: str) -> str:
    """The address of the platform however it is spelled: with or without https://, /api or a slash at its end."""
    text = given.strip()
    if not _SCHEME.match(text):
        text = f"{'http' if _HERE.match(text) else 'https'}://{text}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not host or any(char.isspace() for char in text):
        raise _not_configured(f"{BASE} is no address of a platform. Write it like https://api.example.com.")
    if parts.username is not None or parts.query or parts.fragment:
        raise _not_configured(
            f"{BASE} may hold no user name, query or fragment. Write it like https://api.example.com; the key goes "
            f"into {KEY}."
        )
    path = parts.path.rstrip("/")
    path = path.removesuffix("/api").rstrip("/")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}{f':{port}' if port is not None else ''}{path}"


def agent_id(secrets: Secrets, settings: Platform) -> str:
    """The id of the agent that is meant where none is named; "" if there is none."""
    return (secrets.get(AGENT) or settings.agent_id).strip()


def _not_configured(message: str) -> RuntimeFault:
    return RuntimeFault("platform_not_configured", message)
