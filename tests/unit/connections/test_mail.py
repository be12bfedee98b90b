"""Mail in folders: what is read, what is written, and what is left out (contract 5.2)."""

from __future__ import annotations

import json
from datetime import datetime
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path

import pytest

from runtime_core.connections.mail import FILES_LIMIT, Mail, MailRefused, Outgoing, read_inbox, write_outgoing

EML = """\
Message-ID: <m-1@example.com>
Date: Mon, 2 Mar 2026 10:00:00 +0100
From: =?utf-8?q?J=C3=BCrgen?= <juergen@example.com>
To: desk@example.com
Subject: =?utf-8?b?w5xiZXI=?= parcels
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/html; charset=utf-8

<p>html</p>
--b
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Gr=FC=DFe
--b--
"""
HTML = """\
From: a@b.c
Content-Type: text/html; charset=utf-8

<html><head><style>p { color: red }</style><script>alert(1)</script></head>
<body><h1>Offer</h1><p>Two &amp; three<br>lines</p></body></html>
"""


def read(folder: Path) -> tuple[list[Mail], list[str]]:
    skipped: list[str] = []
    return list(read_inbox(folder, skipped.append)), skipped


def test_a_message_is_read_with_its_words_in_any_encoding(tmp_path: Path) -> None:
    (tmp_path / "one.eml").write_text(EML)
    ((mail,), skipped) = read(tmp_path)
    assert skipped == []
    assert mail.to_wire() == {
        "message_id": "m-1@example.com",
        "from": "Jürgen <juergen@example.com>",
        "subject": "Über parcels",
        "text_body": "Grüße",
        "date": "2026-03-02T09:00:00Z",
    }


def test_a_page_becomes_the_text_that_a_person_sees(tmp_path: Path) -> None:
    (tmp_path / "page.EML").write_text(HTML)
    ((mail,), _) = read(tmp_path)
    assert mail.to_wire() == {"message_id": "page", "from": "a@b.c", "text_body": "Offer\nTwo & three\nlines"}


@pytest.mark.parametrize("wrapped", ["one", "list", "messages"])
def test_messages_may_be_json(tmp_path: Path, wrapped: str) -> None:
    given = {"from": "ann@x.org", "to": ["desk@x.org"], "subject": "Hi", "body": "text", "date": "2026-01-01T10:00:00"}
    value = {"one": given, "list": [given], "messages": {"messages": [given]}}[wrapped]
    (tmp_path / "m.json").write_text(json.dumps(value))
    ((mail,), _) = read(tmp_path)
    wire = {
        "message_id": "m",
        "from": "ann@x.org",
        "subject": "Hi",
        "text_body": "text",
        "date": "2026-01-01T10:00:00Z",
    }
    assert mail.to_wire() == wire


def test_the_latest_comes_first_and_what_has_no_date_last(tmp_path: Path) -> None:
    for name, date in (
        ("a", "2026-01-01"),
        ("b", ""),
        ("c", "2026-03-01T10:00:00+02:00"),
        ("d", "2026-03-01T09:00:00Z"),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps({"from": "x@y.z", "date": date}))
    found, _ = read(tmp_path)
    assert [mail.message_id for mail in found] == ["d", "c", "a", "b"]


@pytest.mark.parametrize(
    "date", ["yesterday", 1764547200, "", [], {}, "0001-01-01T00:00:00+14:00", "9999-12-31T23:59-12:00"]
)
def test_a_message_whose_date_cannot_be_read_is_there_without_it(tmp_path: Path, date: object) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"from": "x@y.z", "date": date}))
    (tmp_path / "b.eml").write_text(f"From: x@y.z\nDate: {date}\n\nText\n")
    mails, skipped = read(tmp_path)
    assert skipped == []
    assert [(mail.sender, mail.to_wire().get("date")) for mail in mails] == [("x@y.z", None)] * 2


@pytest.mark.parametrize("content", [b"{", b"[1]", b'{"to": "x"}', b"\xff\xfe", b'{"from": 1}'])
def test_a_file_that_is_no_message_is_left_out_with_its_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    (tmp_path / "good.json").write_text('{"from": "x@y.z"}')
    (tmp_path / "notes.txt").write_text("not looked at")
    (tmp_path / "folder.eml").mkdir()
    found, skipped = read(tmp_path)
    assert [mail.message_id for mail in found] == ["good"]
    assert len(skipped) == 1
    assert "bad.json was left out" in skipped[0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff" * 1000,
        b"From: a@b.c\nDate: never\nContent-Type: text/plain; charset=x-none\n\nhi",
        b"Content-Type: multipart/mixed\n\nhi",
    ],
)
def test_no_content_of_an_eml_file_stops_the_others(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd.eml").write_bytes(content)
    (tmp_path / "good.json").write_text('{"from": "x@y.z"}')
    found, _ = read(tmp_path)
    assert "good" in [mail.message_id for mail in found]


def test_an_inbox_with_very_many_files_is_read_up_to_a_limit(tmp_path: Path) -> None:
    for number in range(FILES_LIMIT + 2):
        (tmp_path / f"{number:05}.json").touch()
    found, skipped = read(tmp_path)
    assert found == []
    assert f"only {FILES_LIMIT:,} are read" in skipped[0]


MAIL = Mail("1", "Ann Broker <ann@x.org>", "desk@y.org", "New submission", "Roof of the Mill", datetime(2020, 1, 1))


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("", True),
        ("mill", True),
        ("MILL roof", True),
        ("mill hill", False),
        ('"roof of"', True),
        ('"roof mill"', False),
        ("from:ann", True),
        ("from:desk", False),
        ("to:desk subject:new", True),
        ('subject:"new sub"', True),
        ("-hill", True),
        ("-from:ann", False),
        ("label:unread newer_than:7d is:starred", True),
        ("label:unread hill", False),
    ],
)
def test_a_query_finds_words_and_fields(query: str, fits: bool) -> None:
    assert MAIL.fits(query) is fits


def test_a_message_is_written_once_and_can_be_read_by_others(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "box"
    mail = Outgoing("desk@x.org", ["Ann <ann@x.org>", "bob@x.org"], "Grüße", "Body\nwith ü", "run-1/2")
    path = write_outgoing(folder, mail)
    assert write_outgoing(folder, mail) == path
    assert list(folder.iterdir()) == [path]
    message = BytesParser(policy=policy.default).parsebytes(path.read_bytes())
    assert isinstance(message, EmailMessage)
    assert str(message["to"]) == "Ann <ann@x.org>, bob@x.org"
    assert (str(message["subject"]), str(message["from"])) == ("Grüße", "desk@x.org")
    assert str(message["message-id"]) == f"<{mail.message_id}>"
    assert message.get_content() == "Body\r\nwith ü\r\n"
    ((read_back,), _) = read(folder)
    assert (read_back.text, read_back.subject) == ("Body\nwith ü\n", "Grüße")


@pytest.mark.parametrize(
    ("to", "subject"),
    [
        ([], "x"),
        (["nobody"], "x"),
        (["a@b.c\nBcc: d@e.f"], "x"),
        (["a@b.c"], "x\nBcc: d@e.f"),
        (["a@b.c", ""], "x"),
        (["@"], "x"),
        (["a@b.c"], "\ud800"),
    ],
)
def test_what_would_be_another_message_is_refused_and_leaves_no_file(
    tmp_path: Path, to: list[str], subject: str
) -> None:
    with pytest.raises(MailRefused, match="cannot be written"):
        write_outgoing(tmp_path, Outgoing("desk@x.org", to, subject, "body", "key"))
    assert list(tmp_path.iterdir()) == []
