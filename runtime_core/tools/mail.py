"""The tools ``read_messages`` and ``send_message`` of a mail connection, for development (contract 1.6 and 5.2).

Mail is read from an inbox folder and written into an outbox folder; no mail server is reached.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from runtime_core.connections.credentials import Settings, Unusable
from runtime_core.connections.mail import MailRefused, Outgoing, read_inbox, write_outgoing
from runtime_core.connections.secrets import Secrets
from runtime_core.repo.builtins import DRIVERS
from runtime_core.repo.bundle import Bundle, Connection, Effect
from runtime_core.tools.base import Caller, ReadyTool
from runtime_core.wire.json import JsonText, dumps, loads

READ: Final = "read_messages"
SEND: Final = "send_message"
DEFAULT_LIMIT: Final = 25
MAX_LIMIT: Final = 500
_NAME_LENGTH: Final = 40
_DIGEST_LENGTH: Final = 12
_NOBODY: Final = "operator@localhost"

_Work = Callable[["_Mailbox", Mapping[str, Any], Caller], dict[str, Any]]


class _Failed(Exception):  # noqa: N818
    """A failure that is a result: ``{"error", "code"}``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class MailTools:
    """`Provider` of the tools of a repository's mail connection, the first one if there are several."""

    def __init__(self, secrets: Secrets, data: Path) -> None:
        self._secrets = secrets
        self._data = data

    def names(self, bundle: Bundle) -> Sequence[str]:
        return [READ, SEND] if _mailbox(bundle) is not None else []

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        connection = _mailbox(bundle) if name in (READ, SEND) else None
        if connection is None:
            return None
        text, parameters, effect, work = _TOOLS[name]
        call = partial(self._call, connection, work)
        return ReadyTool(name, text, parameters, "connection", effect, call)

    async def _call(self, connection: Connection, work: _Work, params: JsonText, caller: Caller) -> JsonText:
        given = cast("dict[str, Any]", loads(params))
        loop = asyncio.get_running_loop()

        def noted(reason: str) -> None:
            loop.call_soon_threadsafe(caller.note, "warning", f"{connection.name}: {reason}")

        box = _Mailbox(connection, self._secrets, self._data, caller.bundle.root, noted)
        try:
            return dumps(await asyncio.to_thread(work, box, given, caller))
        except _Failed as failed:
            return dumps({"error": str(failed), "code": failed.code})


@dataclass(frozen=True, slots=True)
class _Mailbox:
    """Where the mail of a connection is. Used in a thread: a keychain may have to be asked."""

    connection: Connection
    secrets: Secrets
    data: Path
    root: Path
    noted: Callable[[str], Any]

    def check(self) -> None:
        if self.connection.unavailable:
            raise _Failed("connection_unavailable", self.connection.unavailable)
        if self.setting("accessToken") is not None:
            raise _Failed(
                "not_supported",
                f"{self.connection.folder}/spec.json [accessToken] is set, and this version does not reach a mail "
                "server. Without it, mail is read from and written into folders.",
            )

    def setting(self, key: str) -> str | None:
        """A value of spec.json; None also where its variable is not set, for all of them are optional."""
        value = self.connection.spec.get(key)
        if not isinstance(value, str) or not value:
            return None
        try:
            return Settings(self.connection, self.secrets, "").look_up(key, value)
        except Unusable:
            return None

    def folder(self, key: str) -> Path | None:
        """A folder that spec.json names, below that of the repository. Only who runs the program, not the repository,
        may name one elsewhere, then relative to the data folder."""
        chosen = self.setting(key)
        if chosen is None:
            return None
        is_operators = chosen != self.connection.spec.get(key)
        folder = ((self.data if is_operators else self.home) / Path(chosen).expanduser()).resolve()
        if not is_operators and not folder.is_relative_to(self.home.resolve()):
            raise _Failed(
                "folder_refused",
                f"{self.connection.folder}/spec.json [{key}]: {chosen} lies outside of {self.home}. Write "
                "env:NAME, and set that variable to the folder.",
            )
        return folder

    @property
    def home(self) -> Path:
        """A folder of this repository alone: another one may have a connection of the same name."""
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", self.root.name)[:_NAME_LENGTH].strip("-")
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:_DIGEST_LENGTH]
        return self.data / "mail" / f"{name}-{digest}"

    @property
    def own(self) -> Path:
        return self.home / self.connection.name

    def inbox(self) -> Path:
        named = self.folder("devInboxDir")
        shipped = (self.root / self.connection.folder / "inbox").resolve()
        places = [named] if named is not None else [self.own / "inbox", shipped]
        for place in places:
            if place.is_dir() and (place != shipped or place.is_relative_to(self.root.resolve())):
                return place
        raise _Failed(
            "no_access_token",
            f'No mailbox is connected for "{self.connection.name}". To try it without one, put .eml or .json files '
            f"into {places[0]}.",
        )


def _mailbox(bundle: Bundle) -> Connection | None:
    return next((one for one in bundle.connections.values() if one.protocol in DRIVERS), None)


def _read(box: _Mailbox, given: Mapping[str, Any], _: Caller) -> dict[str, Any]:
    """``{"messages": [{"message_id", "from", "subject"?, "text_body"?, "date"?}], "total"}``."""
    box.check()
    folder = box.inbox()
    limit = given.get("limit")
    query = given.get("query") or ""
    try:
        found = [mail for mail in read_inbox(folder, box.noted) if mail.fits(query)]
    except OSError as error:
        raise _Failed("inbox_unreadable", f"The inbox {folder} cannot be read: {error.strerror}.") from None
    shown = found[: DEFAULT_LIMIT if limit is None else max(0, min(int(limit), MAX_LIMIT))]
    return {"messages": [mail.to_wire() for mail in shown], "total": len(found)}


def _send(box: _Mailbox, given: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """``{"message_id", "thread_id"}``."""
    box.check()
    folder = box.folder("devSinkDir") or box.own / "outbox"
    to: Any = given["to"]
    mail = Outgoing(
        sender=box.setting("fromAddress") or _NOBODY,
        to=[to] if isinstance(to, str) else to,
        subject=given["subject"],
        body=given["body"],
        key=caller.call_id or uuid.uuid4().hex,
    )
    try:
        write_outgoing(folder, mail)
    except MailRefused as error:
        raise _Failed("invalid_message", str(error)) from None
    except OSError as error:
        raise _Failed("outbox_unwritable", f"The outbox {folder} cannot be written: {error.strerror}.") from None
    return {"message_id": mail.message_id, "thread_id": given.get("thread_id") or mail.message_id}


_READ_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "query": {
            "type": ["string", "null"],
            "description": "Words, from:…, to:…, subject:…, - before what must not be.",
        },
        "limit": {"type": ["number", "null"], "description": f"At most so many ({DEFAULT_LIMIT}, up to {MAX_LIMIT})."},
    },
    "additionalProperties": False,
}
_SEND_PARAMETERS: Final = {
    "type": "object",
    "required": ["to", "subject", "body"],
    "properties": {
        "to": {"type": ["array", "string"], "items": {"type": "string"}, "description": "Mail addresses."},
        "subject": {"type": "string"},
        "body": {"type": "string"},
        "thread_id": {"type": ["string", "null"], "description": "The conversation that this belongs to."},
    },
    "additionalProperties": False,
}
_TOOLS: Final[Mapping[str, tuple[str, Mapping[str, Any], Effect, _Work]]] = {
    READ: ("Read messages of the mailbox, the latest first.", _READ_PARAMETERS, "read", _read),
    SEND: ("Send a message.", _SEND_PARAMETERS, "idempotent", _send),
}
