"""Sends one request of a connection (contract 1.6 and 3.2): no policy, no retry, no field restriction."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast
from urllib.parse import SplitResult

from runtime_core.connections.addresses import AddressRefused, address, base_of, encoded
from runtime_core.connections.credentials import Access, Grant, Settings, Unusable, read_access
from runtime_core.connections.exchange import Answer, ExchangeFailed, Exchanges
from runtime_core.connections.injection import based, injected
from runtime_core.connections.masking import MASK, masked, masked_json
from runtime_core.connections.request import Request
from runtime_core.connections.secrets import Secrets
from runtime_core.connections.tokens import TokenRefused, Tokens
from runtime_core.repo.bundle import Connection
from runtime_core.repo.policy import METHODS, READ_METHODS
from runtime_core.repo.references import is_reference
from runtime_core.wire.json import JsonError, JsonText, JsonUnfit, dumps, loads

BODY_SHOWN: Final = 2_000
"""Characters of a body that an error repeats."""
_SMALL: Final = 100_000
"""Characters of a body that are read at once; a larger one does not hold up the loop."""
_FORM: Final = "application/x-www-form-urlencoded"
_OURS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"})
_ELSEWHERE: Final = re.compile(r"x-(original|rewrite|override)-(url|uri|path|host)|x-host|x-real-ip|(x-)?forwarded.*")
"""Headers by which servers take a request for one to another address or from somebody else; spec.json may set them."""
_NO_HEADER_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


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
    def check_allowed(self, shown: Any) -> None:
        """Raises if a person has allowed another request than this one (`Connections.shown`)."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """``data`` is the JSON of the body, or ``{"text", "status"}`` for anything else; ``body`` is the JSON of the body,
    or its text as a JSON string."""

    status: int
    data: JsonText
    body: JsonText


def beginning(body: JsonText) -> str:
    """As much of a body as is shown, as text if it is one."""
    return (str(loads(body)) if body.startswith('"') else body)[:BODY_SHOWN]


class RequestFailed(Exception):  # noqa: N818
    """A request without a usable reply; the message names connection and host, says what to do, and holds no secret
    and nothing of the reply's body.

    ``code``: ``invalid-params``, ``connection-unavailable``, ``sign-in-failed``, ``unreachable``, ``timeout``,
    ``response-too-large``, ``response-unfit`` (JSON with duplicate keys and the like), ``redirected`` or, with the
    ``reply``, ``http-404`` and the like.
    ``is_sent`` False: certainly nothing of the request has left the machine.
    """

    def __init__(self, code: str, message: str, *, reply: Reply | None = None, is_sent: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reply = reply
        self.is_sent = is_sent

    def with_answer(self, body: JsonText) -> str:
        """The message and what the other system said: the body of the reply, or what somebody may see of it."""
        return f"{self.message} The answer: {beginning(body).strip() or 'empty'}"


class Connections:
    """The requests of one runtime; belongs to the loop that first sends one."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._exchanges = Exchanges()
        self._tokens = Tokens()

    def complete(self, connection: Connection, request: Request, sender: Sender) -> Request:
        """The request as `send` sends it, but for address and credentials. Raises `RequestFailed`."""
        try:
            request = injected(request, Settings(connection, self._secrets, sender.scope), sender.context)
        except Unusable as error:
            raise _unavailable(connection, error) from None
        for name in request.headers:
            if _ELSEWHERE.fullmatch(name.strip().lower().replace("_", "-")):
                raise _refused(f"the header {name!r} cannot be set with a request, only in the spec.json")
        return request

    async def shown(self, connection: Connection, request: Request, sender: Sender) -> Mapping[str, Any]:
        """What a person is to be asked about before `send`. Raises `RequestFailed` if it cannot be sent."""
        return (await self._prepare(connection, request, sender)).asked

    async def send(self, connection: Connection, request: Request, sender: Sender) -> Reply:
        """Send a request with the credentials of a connection. Raises `RequestFailed`, and what ``sender`` raises."""
        prepared = await self._prepare(connection, request, sender)
        sender.check_allowed(prepared.asked)
        try:
            async with asyncio.timeout(request.timeout_s):
                answer = await self._exchange(prepared)
        except TimeoutError:
            problem = ExchangeFailed("timeout", f"gave no answer within {request.timeout_s:g} s")
            raise prepared.failure(problem) from None
        except ExchangeFailed as problem:
            raise prepared.failure(problem) from None
        if len(answer.text) < _SMALL:
            return prepared.reply(answer)
        return await asyncio.to_thread(prepared.reply, answer)

    async def close(self) -> None:
        """Close the connections that are kept open."""
        await self._exchanges.close()

    async def _prepare(self, connection: Connection, request: Request, sender: Sender) -> Prepared:
        if connection.unavailable:
            raise _unavailable(connection, connection.unavailable)
        request = self.complete(connection, request, sender)
        settings = Settings(connection, self._secrets, sender.scope)
        try:
            access = await asyncio.to_thread(read_access, connection, self._secrets, sender.scope)
            base_url = based(access.base_url, settings, sender.context)
            return _prepared(connection, access, base_url, request, sender, settings)
        except Unusable as error:
            raise _unavailable(connection, error) from None

    async def _exchange(self, prepared: Prepared) -> Answer:
        grant = prepared.grant
        if grant is None:
            return await self._sent(prepared)
        token = await self._token(prepared, grant)
        answer = await self._sent(prepared, token)
        if answer.status != 401:
            return answer
        return await self._sent(prepared, await self._token(prepared, grant, refused=token))

    async def _sent(self, prepared: Prepared, token: str | None = None) -> Answer:
        headers = dict(prepared.headers)
        if token is not None:
            prepared.secrets.add(token)
            headers["Authorization"] = f"Bearer {token}"
        return await self._exchanges.send(prepared.method, prepared.url, headers, prepared.content, prepared.query)

    async def _token(self, prepared: Prepared, grant: Grant, refused: str | None = None) -> str:
        async def post(url: str, headers: dict[str, str], form: bytes) -> tuple[int, str]:
            answer = await self._exchanges.send("POST", url, headers, form, {})
            return answer.status, answer.text

        try:
            base_of(grant.token_url)
            return await self._tokens.get(grant, post, refused=refused)
        except AddressRefused as error:
            problem = f"cannot be asked: auth.tokenUrl is no address that can be used: {error}"
        except TokenRefused as error:
            problem = f"cannot be asked: {error}"
        except ExchangeFailed as error:
            raise ExchangeFailed(error.code, f"cannot be asked: its token endpoint {error}", is_sent=False) from None
        raise ExchangeFailed("sign-in-failed", problem, is_sent=False)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that is ready to be sent. ``asked``: what a person is shown; ``secrets`` grows by the tokens it is sent
    with."""

    connection: str
    host: str
    shown: str
    asked: Mapping[str, Any]
    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    query: Mapping[str, str]
    grant: Grant | None
    secrets: set[str]
    values: frozenset[str]

    def failure(self, problem: ExchangeFailed) -> RequestFailed:
        message = f'The connection "{self.connection}" failed: {self.host} {problem}.'
        return RequestFailed(problem.code, self._masked(message), is_sent=problem.is_sent)

    def reply(self, answer: Answer) -> Reply:
        """Raises `RequestFailed` for a status other than 2xx."""
        is_good = 200 <= answer.status < 300
        hidden = self.secrets if is_good else self.secrets | self.values
        text = masked(answer.text, hidden)
        try:
            parsed = _parsed(answer.content_type, answer.text)
        except JsonUnfit as unfit:
            if is_good:
                problem = ExchangeFailed("response-unfit", f"sent JSON that cannot be used: {unfit}")
                raise self.failure(problem) from None
            parsed = None
        body = None if parsed is None else masked_json(parsed, hidden)
        data = body if body is not None else dumps({"text": text, "status": answer.status})
        reply = Reply(answer.status, data, body if body is not None else dumps(text))
        if is_good:
            return reply
        message = (
            f'{self.shown} of the connection "{self.connection}" ({self.host}): {answer.status} {answer.reason}. '
            f"{_advice(answer, self.connection)}"
        )
        raise RequestFailed(f"http-{answer.status}", self._masked(message), reply=reply, is_sent=True)

    def _masked(self, text: str) -> str:
        return masked(text, self.secrets | self.values)


def _unavailable(connection: Connection, reason: object) -> RequestFailed:
    return RequestFailed("connection-unavailable", f'The connection "{connection.name}" cannot be used: {reason}')


def _prepared(
    connection: Connection, access: Access, base_url: str, request: Request, sender: Sender, settings: Settings
) -> Prepared:
    """Everything that is checked before anything is sent. Raises `Unusable`, `RequestFailed`."""
    method = request.method.upper()
    if method not in METHODS:
        raise _refused(f"{request.method!r} is no method; use one of {', '.join(METHODS)}")
    try:
        base = base_of(base_url)
    except AddressRefused as error:
        raise settings.wrong("baseUrl", f"{error}.") from None
    try:
        url = address(base, request.endpoint, request.params, access.query)
        asked = request.shown(connection.name, address(_open_part(base, connection), request.endpoint, request.params))
    except AddressRefused as error:
        raise _refused(f"{error}") from None
    headers = _headers(access.headers, request.headers, access.credentials)
    content, content_type = _content(method, request.data, headers.get("content-type", ("", ""))[1])
    headers.setdefault("accept", ("Accept", "application/json, */*;q=0.5"))
    if content_type:
        headers.setdefault("content-type", ("Content-Type", content_type))
    if sender.call_id is not None and method not in READ_METHODS and not request.is_read:
        headers.setdefault("idempotency-key", ("Idempotency-Key", sender.call_id))
    return Prepared(
        connection=connection.name,
        host=base.netloc,
        shown=f"{method} /{request.endpoint.partition('?')[0].removeprefix('/')}",
        asked=asked,
        method=method,
        url=url,
        headers=dict(headers.values()),
        content=content,
        query=access.query,
        grant=access.grant,
        secrets=set(access.secrets),
        values=access.values,
    )


def _open_part(base: SplitResult, connection: Connection) -> SplitResult:
    """What of the address of a connection may be shown: one that was looked up may hold a secret behind its host."""
    hides = is_reference(connection.spec["baseUrl"]) and (base.path.strip("/") or base.query)
    return base._replace(path=f"/{MASK}", query="") if hides else base


def _headers(*layers: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """By their names in lower case; later ones replace earlier ones. Raises `RequestFailed`."""
    found: dict[str, tuple[str, str]] = {}
    for layer in layers:
        for name, value in layer.items():
            if not _HEADER_NAME.fullmatch(name) or name.lower().replace("_", "-") in _OURS:
                raise _refused(f"the header {name!r} cannot be set")
            if _NO_HEADER_VALUE.search(value):
                raise _refused(f"the value of the header {name!r} contains a line break or another control character")
            found[name.lower()] = (name, value.strip())
    return found


def _content(method: str, data: Any, content_type: str) -> tuple[bytes | None, str]:
    """The body and what it is. Raises `RequestFailed`."""
    if data is None:
        return None, ""
    if method in READ_METHODS:
        raise _refused(f"{method} takes no data; use params for the query")
    if isinstance(data, str):
        text, kind = data, "application/json" if _is_document(data) else "text/plain; charset=utf-8"
    elif content_type.lower().startswith(_FORM):
        if not isinstance(data, dict):
            raise _refused("data for a form has to be an object")
        text, kind = encoded(cast("dict[str, Any]", data)), _FORM
    else:
        text, kind = dumps(data), "application/json"
    try:
        return text.encode(), kind
    except UnicodeEncodeError:
        raise _refused("data contains half of a surrogate pair") from None


def _is_document(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        loads(text)
    except JsonError:
        return False
    return True


def _parsed(content_type: str, text: str) -> JsonText | None:
    """The body as JSON, if it is; what does not say that it is JSON has to look like an object or a list.

    Raises `JsonUnfit`.
    """
    says_so = content_type == "application/json" or content_type.endswith("+json")
    if not says_so and not _is_document(text):
        return None
    try:
        return dumps(loads(text))
    except JsonUnfit:
        raise
    except JsonError:
        return None


def _advice(answer: Answer, connection: str) -> str:
    if answer.status in (401, 403):
        return f"Check the credentials (auth in the spec.json of {connection!r}) and what they allow."
    if answer.status == 404:
        return "Check the endpoint."
    if answer.status == 429:
        return f"Wait{f' {answer.retry_after} s' if (answer.retry_after or '').isdigit() else ''} and try again."
    if answer.status >= 500:
        return "The other system failed; try again later."
    return "Check what is sent."


def _refused(reason: str) -> RequestFailed:
    return RequestFailed("invalid-params", f"Nothing was sent: {reason}.")
