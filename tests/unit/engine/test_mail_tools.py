"""``read_messages`` and ``send_message`` of a development mailbox, called by durable tools in both languages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.office import Office
from tests.unit.engine.workshop import Repo

LANGUAGES = pytest.mark.parametrize("language", ["ts", "py"])
VARIABLES = ("GMAIL_ACCESS_TOKEN", "GMAIL_FROM_ADDRESS", "GMAIL_DEV_OUTBOX", "MAIL_INBOX")
SPEC = {
    "protocol": "gmail",
    "driverPackage": "@example/gmail-driver",
    "accessToken": "env:GMAIL_ACCESS_TOKEN",
    "fromAddress": "env:GMAIL_FROM_ADDRESS",
    "userId": "me",
    "devSinkDir": "env:GMAIL_DEV_OUTBOX",
    "devInboxDir": "env:MAIL_INBOX",
}
MAIL = {"to": ["ann@example.com"], "subject": "Re: roof", "body": "Hello"}


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Generator[Office]:
    repo = Repo(tmp_path_factory.mktemp("mail") / "repo")
    repo.file("connections/gmail/spec.json", SPEC)
    for tool in ("read_messages", "send_message"):
        repo.durable(f"{tool}_ts", ts=f"return await ctx.callTool('{tool}', params);", tools=(tool,))
        repo.durable(f"{tool}_py", py=f"return await ctx.call_tool('{tool}', params)", tools=(tool,))
    office = Office(repo, tmp_path_factory.mktemp("mail-data"))
    yield office
    office.close()


def _home(data: Path, repo: Repo) -> Path:
    """Where the mail of a repository is kept: of this one alone, and to be recognised."""
    return data / "mail" / f"{repo.root.name}-{hashlib.sha256(str(repo.root).encode()).hexdigest()[:12]}"


def _call(office: Office, tool: str, language: str, params: Any) -> Any:
    return office.run(f"{tool}_{language}", params)["result"]


@LANGUAGES
@pytest.mark.usefixtures("unset")
def test_without_a_mailbox_the_code_says_so_as_a_value(office: Office, language: str) -> None:
    got = _call(office, "read_messages", language, {"query": "label:unread", "limit": 25})
    assert got["code"] == "no_access_token"
    assert str(_home(office.data, office.repo) / "gmail" / "inbox") in got["error"]


@LANGUAGES
@pytest.mark.usefixtures("unset")
def test_a_message_is_sent_once_into_the_outbox_of_the_data_folder(office: Office, language: str) -> None:
    outbox = _home(office.data, office.repo) / "gmail" / "outbox"
    before = set(outbox.glob("*")) if outbox.is_dir() else set[Path]()
    got = _call(office, "send_message", language, MAIL)
    (new,) = set(outbox.glob("*")) - before
    assert new.name == f"{got['message_id'].partition('@')[0]}.eml"
    assert got["thread_id"]
    text = new.read_text()
    assert "To: ann@example.com" in text
    assert "Hello" in text
    assert not list(office.repo.root.rglob("*.eml"))


@LANGUAGES
@pytest.mark.usefixtures("unset")
def test_mail_is_read_from_a_folder_that_a_person_names(
    office: Office, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        message = {"from": f"broker{number}@example.com", "subject": "roof", "date": f"2026-01-0{number + 1}"}
        (tmp_path / f"m{number}.json").write_text(json.dumps(message))
    monkeypatch.setenv("MAIL_INBOX", str(tmp_path))
    got = _call(office, "read_messages", language, {"query": "subject:roof newer_than:7d", "limit": 2})
    assert got["total"] == 3
    assert [message["message_id"] for message in got["messages"]] == ["m2", "m1"]
    assert got["messages"][0]["date"] == "2026-01-03T00:00:00Z"
    assert _call(office, "read_messages", language, {})["total"] == 3


@pytest.mark.usefixtures("unset")
def test_the_outbox_and_the_sender_may_be_chosen(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GMAIL_DEV_OUTBOX", str(tmp_path / "sent"))
    monkeypatch.setenv("GMAIL_FROM_ADDRESS", "Desk <desk@example.com>")
    _call(office, "send_message", "py", MAIL)
    (path,) = (tmp_path / "sent").iterdir()
    assert "From: Desk <desk@example.com>" in path.read_text()


@pytest.mark.usefixtures("unset")
def test_a_mailbox_that_would_have_to_be_real_is_no_pretence(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GMAIL_ACCESS_TOKEN", "ya29.s3cret")
    for tool, params in (("read_messages", {}), ("send_message", MAIL)):
        got = _call(office, tool, "py", params)
        assert got["code"] == "not_supported"
        assert "s3cret" not in got["error"]


@pytest.mark.usefixtures("unset")
def test_what_cannot_be_sent_is_a_value_with_a_code(office: Office) -> None:
    got = _call(office, "send_message", "ts", {**MAIL, "to": ["nobody"]})
    assert got["code"] == "invalid_message"
    assert "ann@example.com" in got["error"]


@LANGUAGES
@pytest.mark.usefixtures("unset")
def test_no_repository_reads_the_mail_of_another(tmp_path: Path, language: str) -> None:
    """Of two with the same name and connection, in one data folder; naming the folder of the other helps nobody."""
    data = tmp_path / "data"
    for number, spec in enumerate(({}, {}, {"devInboxDir": "../", "devSinkDir": str(data)})):
        repo = Repo(tmp_path / str(number) / "desk")
        repo.file("connections/gmail/spec.json", {"protocol": "gmail", **spec})
        for tool in ("read_messages", "send_message"):
            repo.durable(f"{tool}_ts", ts=f"return await ctx.callTool('{tool}', params);", tools=(tool,))
            repo.durable(f"{tool}_py", py=f"return await ctx.call_tool('{tool}', params)", tools=(tool,))
        office = Office(repo, data)
        try:
            if number == 0:
                inbox = _home(data, repo) / "gmail" / "inbox"
                inbox.mkdir(parents=True)
                (inbox / "m.json").write_text('{"from": "x@y.z", "subject": "secret"}')
                assert _call(office, "read_messages", language, {})["total"] == 1
            else:
                expected = "folder_refused" if spec else "no_access_token"
                assert _call(office, "read_messages", language, {})["code"] == expected
        finally:
            office.close()


@pytest.mark.usefixtures("unset")
def test_a_repository_may_not_choose_a_folder_outside_of_the_data_folder(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    spec = {"protocol": "mail", "devSinkDir": str(tmp_path / "elsewhere"), "devInboxDir": "../.."}
    repo.file("connections/box/spec.json", spec)
    repo.file("connections/box/inbox/m.json", {"from": "x@y.z"})
    for tool in ("read_messages", "send_message"):
        repo.durable(f"{tool}_py", py=f"return await ctx.call_tool('{tool}', params)", tools=(tool,))
    office = Office(repo, tmp_path / "data")
    try:
        assert _call(office, "send_message", "py", MAIL)["code"] == "folder_refused"
        assert _call(office, "read_messages", "py", {})["code"] == "folder_refused"
        repo.file("connections/box/spec.json", {"protocol": "mail"})
        assert _call(office, "read_messages", "py", {})["total"] == 1
    finally:
        office.close()
    assert not (tmp_path / "elsewhere").exists()
