"""What a connection's spec.json says about address, headers and credentials, with every ``env:`` looked up."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import quote

from runtime_core.connections.secrets import NotSet, Secrets, looked_up
from runtime_core.repo.bundle import Connection
from runtime_core.repo.references import ENV, SCOPE

AUTH_TYPES: Final = ("bearer", "api_key", "basic", "header", "oauth2", "none")


class Unusable(ValueError):  # noqa: N818
    """A connection that cannot be used as it is set up; the message names file and key and says what to do.

    ``reason`` is what is wrong with the ``key`` of its spec.json.
    """

    def __init__(self, connection: Connection, key: str, reason: str) -> None:
        super().__init__(f"{connection.folder}/spec.json [{key}]: {reason}")
        self.key = key
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token endpoint is asked for (client credentials, RFC 6749 section 4.4)."""

    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    audience: str = ""
    in_body: bool = False
    """Whether id and secret are sent as fields of the form instead of as basic credentials."""

    @property
    def basic(self) -> str:
        """Id and secret as basic credentials (RFC 6749 section 2.3.1)."""
        pair = f"{quote(self.client_id, safe='')}:{quote(self.client_secret, safe='')}"
        return base64.b64encode(pair.encode()).decode()


@dataclass(frozen=True, slots=True)
class Access:
    """How a connection is reached. ``grant``: a token of it goes into the header ``Authorization``.

    ``secrets`` are masked wherever the other system repeats them, ``values`` (other headers that were looked up) only
    in errors.
    """

    base_url: str
    headers: Mapping[str, str]
    credentials: Mapping[str, str] = field(repr=False)
    query: Mapping[str, str] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)
    values: frozenset[str] = field(repr=False)
    grant: Grant | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Reads the spec of one connection for the runs of one scope. Every method raises `Unusable`."""

    connection: Connection
    secrets: Secrets
    scope: str

    def look_up(self, key: str, value: str) -> str:
        """The value of ``env:NAME`` and ``scope:KEY``, everything else as it is."""
        is_scoped = value.startswith(SCOPE)
        if is_scoped and not self.scope:
            raise self.wrong(key, f"it names {value}, and this run has no scope. Start the run with one (--scope).")
        try:
            return looked_up(f"{ENV}{self.scope}/{value.removeprefix(SCOPE)}" if is_scoped else value, self.secrets)
        except NotSet as missing:
            where = "Store it" if is_scoped else f"Set the environment variable {missing.name}, or store it"
            whose = f" for the scope {self.scope!r}" if is_scoped else ""
            raise self.wrong(
                key,
                f"it names {value}, which is not set{whose}. {where} with: operator-inbox secret set {missing.name}",
            ) from None

    def text(self, key: str, value: Any) -> str:
        """A value that has to be there."""
        if not isinstance(value, str) or not value:
            raise self.wrong(key, "it is missing or no text. Write the value as env:NAME and set that variable.")
        return self.look_up(key, value)

    def wrong(self, key: str, reason: str) -> Unusable:
        return Unusable(self.connection, key, reason)


def read_access(connection: Connection, secrets: Secrets, scope: str) -> Access:
    """Look everything up; may block while a keychain answers. Raises `Unusable`."""
    settings = Settings(connection, secrets, scope)
    spec = connection.spec
    if not isinstance(spec.get("baseUrl"), str):
        raise settings.wrong("baseUrl", "it is missing. Write the address that all endpoints begin with.")
    base_url = settings.look_up("baseUrl", spec["baseUrl"])
    headers, values = _headers(settings, spec.get("headers"))
    credentials, query, secret, grant = _auth(settings, spec.get("auth"))
    return Access(base_url, headers, credentials, query, frozenset(secret), frozenset(values), grant)


def _headers(settings: Settings, given: Any) -> tuple[dict[str, str], set[str]]:
    if given is None:
        return {}, set()
    if not isinstance(given, dict):
        raise settings.wrong("headers", "it has to be an object of texts.")
    written = cast("dict[str, Any]", given)
    headers = {name: settings.text(f"headers.{name}", value) for name, value in written.items()}
    return headers, {value for name, value in headers.items() if value != written[name]}


def _auth(settings: Settings, given: Any) -> tuple[dict[str, str], dict[str, str], set[str], Grant | None]:
    """Headers, query, what of them is secret, and the grant."""
    if given is None:
        return {}, {}, set(), None
    if not isinstance(given, dict):
        raise settings.wrong("auth", f"it has to be an object with a type ({', '.join(AUTH_TYPES)}).")
    auth = cast("dict[str, Any]", given)
    kind = str(auth.get("type", "")).lower().replace("_", "").replace("-", "")
    if kind == "none":
        return {}, {}, set(), None
    if kind == "basic":
        return _basic(settings, auth)
    if kind == "oauth2" and not auth.get("token"):
        grant = _grant(settings, auth)
        return {}, {}, {grant.client_secret, grant.basic}, grant
    if kind in ("bearer", "oauth2"):
        return _token(settings, auth, "Authorization", "Bearer")
    if kind == "apikey":
        return _token(settings, auth, "X-API-Key", "")
    if kind == "header":
        return _token(settings, auth, settings.text("auth.header", auth.get("header")), "")
    raise settings.wrong("auth.type", f"{auth.get('type')!r} is none of {', '.join(AUTH_TYPES)}.")


def _token(
    settings: Settings, auth: Mapping[str, Any], header: str, prefix: str
) -> tuple[dict[str, str], dict[str, str], set[str], None]:
    key = next((key for key in ("token", "key", "value", "apiKey") if auth.get(key)), "token")
    token = settings.text(f"auth.{key}", auth.get(key))
    before = auth.get("prefix", prefix)
    if not isinstance(before, str):
        raise settings.wrong("auth.prefix", "it has to be a text.")
    gap = "" if before == "" or before[-1] in " =:" else " "
    if auth.get("in") == "query":
        name = settings.text("auth.name", auth.get("name") or auth.get("header"))
        return {}, {name: f"{before}{gap}{token}"}, {token}, None
    name = auth.get("header") or auth.get("name") or header
    return {str(name): f"{before}{gap}{token}"}, {}, {token}, None


def _basic(settings: Settings, auth: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str], set[str], None]:
    """``username`` and ``password``, or ``token``: ``user:password``, or that in base64 already."""
    if auth.get("token"):
        plain = settings.text("auth.token", auth.get("token"))
        password = plain.partition(":")[2]
    else:
        user = settings.text("auth.username", auth.get("username"))
        password = settings.look_up("auth.password", str(auth.get("password") or ""))
        plain = f"{user}:{password}"
    coded = base64.b64encode(plain.encode()).decode() if ":" in plain else plain
    return {"Authorization": f"Basic {coded}"}, {}, {plain, password, coded}, None


def _grant(settings: Settings, auth: Mapping[str, Any]) -> Grant:
    if not (auth.get("tokenUrl") or auth.get("token_url")):
        provider = f" as {auth['provider']!r} wants it" if auth.get("provider") else ""
        raise settings.wrong(
            "auth",
            f"signing in as a person{provider} is not possible here. Give a token (env:NAME), or tokenUrl, clientId "
            "and clientSecret for client credentials.",
        )
    scope: Any = auth.get("scope") or auth.get("scopes") or ""
    return Grant(
        token_url=settings.text("auth.tokenUrl", auth.get("tokenUrl") or auth.get("token_url")),
        client_id=settings.text("auth.clientId", auth.get("clientId") or auth.get("client_id")),
        client_secret=settings.text("auth.clientSecret", auth.get("clientSecret") or auth.get("client_secret")),
        scope=" ".join(map(str, cast("list[Any]", scope))) if isinstance(scope, list) else str(scope),
        audience=str(auth.get("audience") or ""),
        in_body=auth.get("clientAuth") == "body",
    )
