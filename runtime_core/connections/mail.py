"""Mail in folders: ``.eml`` and ``.json`` files that are read as an inbox, and ``.eml`` files that are written as sent.

For development and demonstrations: nothing is fetched from and nothing is sent to a mail server.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import format_datetime, formataddr, getaddresses
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final, cast

from runtime_core.wire.json import JsonError, loads

FILES_LIMIT: Final = 2_000
FILE_LIMIT: Final = 5 * 1024 * 1024
_TERM: Final = re.compile(r'(-?)(?:([A-Za-z_]+):)?(?:"([^"]*)"|(\S+))')
_SEARCHED: Final = ("from", "to", "subject")

Skipped = Callable[[str], None]
"""Told why a file was left out."""


class MailRefused(ValueError):  # noqa: N818
    """A message that cannot be written; the message is a sentence that says what to change."""


@dataclass(frozen=True, slots=True)
class Mail:
    message_id: str
    sender: str
    to: str = ""
    subject: str | None = None
    text: str | None = None
    date: datetime | None = None
    """In UTC; None also for one that cannot be read."""

    def to_wire(self) -> dict[str, Any]:
        """As contract 5.2 gives it; what the message does not hold is left out."""
        wire = {"message_id": self.message_id, "from": self.sender, "subject": self.subject, "text_body": self.text}
        date = None if self.date is None else self.date.isoformat().replace("+00:00", "Z")
        return {key: value for key, value in {**wire, "date": date}.items() if value is not None}

    def fits(self, query: str) -> bool:
        """Whether every word of the query is in it. ``from:``, ``to:`` and ``subject:`` look at one field, ``-`` turns
        a term round; what only a mail server knows (``label:``, ``is:``, ``newer_than:`` and the like) is left out."""
        fields = {"from": self.sender, "to": self.to, "subject": self.subject or ""}
        everything = " ".join((*fields.values(), self.text or ""))
        for minus, name, quoted, word in _TERM.findall(query):
            if name and name.lower() not in _SEARCHED:
                continue
            searched = fields[name.lower()] if name else everything
            if ((quoted or word).casefold() in searched.casefold()) is bool(minus):
                return False
        return True


def read_inbox(folder: Path, skipped: Skipped) -> Sequence[Mail]:
    """The mail in a folder, the latest first. Files that cannot be read are left out. Raises `OSError`."""
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".eml", ".json") and path.is_file())
    if len(paths) > FILES_LIMIT:
        skipped(f"{folder}: of {len(paths):,} files only {FILES_LIMIT:,} are read.")
    found: list[Mail] = []
    for path in paths[:FILES_LIMIT]:
        try:
            if path.stat().st_size > FILE_LIMIT:
                raise ValueError(f"it is larger than {FILE_LIMIT:,} bytes")
            found += _of_eml(path) if path.suffix.lower() == ".eml" else _of_json(path)
        except (OSError, ValueError, LookupError) as error:
            skipped(f"{path.name} was left out: {error}.")
    oldest = datetime.min.replace(tzinfo=UTC)
    return sorted(found, key=lambda mail: mail.date or oldest, reverse=True)


def _of_eml(path: Path) -> Iterator[Mail]:
    message = BytesParser(policy=policy.default).parsebytes(path.read_bytes())
    date: Any = message["date"]
    yield Mail(
        message_id=str(message["message-id"] or path.stem).strip().strip("<>"),
        sender=str(message["from"] or ""),
        to=str(message["to"] or ""),
        subject=None if message["subject"] is None else str(message["subject"]),
        text=_body(message),
        date=_in_utc(date.datetime) if date is not None else None,
    )


def _body(message: EmailMessage) -> str | None:
    part = message.get_body(("plain", "html"))
    if part is None:
        return None
    content = str(cast("EmailMessage", part).get_content()).replace("\r\n", "\n")
    return _Words.of(content) if part.get_content_type() == "text/html" else content


class _Words(HTMLParser):
    """The text of a page that a person would see."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._hidden = 0

    @classmethod
    def of(cls, html: str) -> str:
        words = cls()
        words.feed(html)
        words.close()
        lines = "".join(words._parts).splitlines()
        return "\n".join(line for part in lines if (line := " ".join(part.split())))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")
        if tag in ("p", "br", "div", "li", "tr", "h1", "h2", "h3"):
            self._parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._parts.append(data)


def _of_json(path: Path) -> Iterator[Mail]:
    """One message, a list of messages, or ``{"messages": [...]}``, with the keys of `Mail.to_wire`."""
    try:
        value: Any = loads(path.read_bytes())
    except JsonError as error:
        raise ValueError(f"not JSON: {error}") from None
    if isinstance(value, dict) and "messages" in value:
        value = cast("dict[str, Any]", value)["messages"]
    for number, item in enumerate(cast("list[Any]", value) if isinstance(value, list) else [value]):
        given = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        if not isinstance(given.get("from"), str):
            raise ValueError('a message has to be an object with "from"')
        to: Any = given.get("to") or ""
        yield Mail(
            message_id=str(given.get("message_id") or (f"{path.stem}-{number}" if number else path.stem)),
            sender=given["from"],
            to=", ".join(map(str, cast("list[Any]", to))) if isinstance(to, list) else str(to),
            subject=_text(given.get("subject")),
            text=_text(given.get("text_body", given.get("body"))),
            date=_date(given.get("date")),
        )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _date(given: Any) -> datetime | None:
    try:
        return _in_utc(datetime.fromisoformat(str(given)))
    except ValueError:
        return None


def _in_utc(date: datetime | None) -> datetime | None:
    if date is None:
        return None
    try:
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except OverflowError:  # in the first or the last hours of the calendar
        return None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """``key`` is the same on every attempt: the message is written once."""

    sender: str
    to: Sequence[str]
    subject: str
    body: str
    key: str

    @property
    def message_id(self) -> str:
        return f"{hashlib.sha256(self.key.encode(errors='replace')).hexdigest()[:32]}@operator-inbox.local"


def write_outgoing(folder: Path, mail: Outgoing) -> Path:
    """Write a message as an ``.eml`` file, complete or not at all. Raises `MailRefused`, `OSError`."""
    path = folder / f"{mail.message_id.partition('@')[0]}.eml"
    if path.exists():
        return path
    content = _message(mail).as_bytes(policy=policy.SMTP)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def _message(mail: Outgoing) -> EmailMessage:
    message = EmailMessage()
    try:
        message["Message-ID"] = f"<{mail.message_id}>"
        message["Date"] = format_datetime(datetime.now(UTC))
        message["From"] = _addresses("fromAddress", [mail.sender])
        message["To"] = _addresses("to", mail.to)
        message["Subject"] = mail.subject
        message.set_content(mail.body)
    except (ValueError, UnicodeEncodeError) as error:
        raise MailRefused(f"The message cannot be written: {error}.") from None
    return message


def _addresses(key: str, given: Sequence[str]) -> str:
    if any(re.search(r"[\x00-\x1f\x7f]", one) for one in given):
        raise ValueError(f"{key} contains a line break or another control character")
    pairs = getaddresses(given)
    if not pairs or not all(re.fullmatch(r"[^@\s,;<>]+@[^@\s,;<>]+", address) for _, address in pairs):
        raise ValueError(f"{key} has to hold mail addresses such as ann@example.com")
    return ", ".join(formataddr(pair) for pair in pairs)
