"""Secrets on the command line: stored without being shown, used by a run, and in no file of the data folder."""

from __future__ import annotations

import json
import os
import pty
import sys
from pathlib import Path

import pytest

from tests.e2e.driver import Desk, Ended
from tests.support.keychains import FILE
from tests.support.web import Says, web_server

SECRET = "s3cret of mine"
HANDLER = (
    "async def handler(params, ctx):\n"
    "    ctx.log('asking')\n"
    "    answer = await ctx.request('crm', '/me')\n"
    "    return {'answer': answer, 'has': ctx.env('CRM_TOKEN') is not None}\n"
)


@pytest.fixture(autouse=True)
def keychain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "tests.support.keychains.FileKeychain")
    monkeypatch.setenv(FILE, str(tmp_path / "keychain.json"))
    monkeypatch.delenv("CRM_TOKEN", raising=False)


def _store(desk: Desk, name: str, value: str) -> Ended:
    return desk("secret", "set", name, stdin=f" {value} \r\n".encode())


def _repository(root: Path, url: str) -> Path:
    connection, tool = root / "connections" / "crm", root / "tools" / "whoami"
    for folder in (connection, tool):
        folder.mkdir(parents=True)
    (root / "amodal.json").write_text('{"name": "crm", "version": "1"}')
    inject = {"org": {"in": "header", "field": "X-Org", "required": True}}
    spec = {"baseUrl": url, "auth": {"type": "bearer", "token": "env:CRM_TOKEN"}, "contextInjection": inject}
    (connection / "spec.json").write_text(json.dumps(spec))
    (tool / "tool.json").write_text('{"description": "Says who.", "env": ["CRM_TOKEN"]}')
    (tool / "handler.py").write_text(HANDLER)
    return root


def test_a_stored_secret_reaches_the_other_system_and_no_file(desk: Desk, tmp_path: Path) -> None:
    with web_server(lambda seen: Says({"got": seen.headers.get("authorization")})) as web:
        root = _repository(tmp_path / "repo", web.url)
        before = desk("run", root, "whoami", "--json")
        stored = _store(desk, "CRM_TOKEN", SECRET)
        without = desk("run", root, "whoami", "--json")
        after = desk("run", root, "whoami", "--context", '{"org": "o-1"}', "--json")
    assert before.code == 1
    assert "operator-inbox secret set CRM_TOKEN" in before.out
    assert (stored.code, stored.err) == (0, "")
    assert "lacks 'org'" in without.json["outcome"]["reason"]
    assert [seen.headers["x-org"] for seen in web.seen] == ["o-1"]
    assert after.json["result"] == {"answer": {"got": "Bearer ***"}, "has": True}
    assert [seen.headers["authorization"] for seen in web.seen] == [f"Bearer {SECRET}"]
    files = [path for path in desk.data.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert SECRET not in stored.out + after.out + after.err + before.out


def test_secrets_are_listed_by_name_and_removed(desk: Desk) -> None:
    for name in ("CRM_TOKEN", "acme/CRM_TOKEN"):
        assert _store(desk, name, SECRET).code == 0
    assert desk("secret", "list").out == "CRM_TOKEN\nacme/CRM_TOKEN\n"
    assert desk("secret", "remove", "CRM_TOKEN").code == 0
    assert desk("secret", "list", "--json").json == {"names": ["acme/CRM_TOKEN"]}
    again = desk("secret", "remove", "CRM_TOKEN")
    assert (again.code, "no secret CRM_TOKEN" in again.err) == (1, True)


def test_what_is_no_secret_is_refused_in_one_line(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert desk("secret", "set", "CRM_TOKEN").code == 2
    assert desk("secret", "set", "CRM TOKEN", stdin=b"x").code == 2
    assert desk("secret", "set", "CRM_TOKEN", stdin=b"\xff").code == 2
    assert desk("secret", "set", "CRM_TOKEN", stdin=b" \n").code == 2
    assert desk("secret", "set", "CRM_TOKEN", SECRET).code == 2
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    refused = desk("secret", "set", "CRM_TOKEN", "--json", stdin=b"x")
    assert (refused.code, refused.error["code"]) == (1, "keychain_unavailable")
    assert "set environment variables" in refused.error["message"]


@pytest.mark.skipif(sys.platform == "win32", reason="no terminals of this kind there")
def test_a_value_that_is_typed_is_not_shown(desk: Desk) -> None:
    import subprocess

    own, theirs = pty.openpty()
    process = subprocess.Popen(
        desk.words("secret", "set", "CRM_TOKEN"),
        cwd=desk.home,
        env=desk.environment(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"not shown" not in shown:
        shown += os.read(own, 1024)
    os.write(own, f"{SECRET}\n".encode())
    while process.poll() is None or b"is stored" not in shown:
        shown += os.read(own, 1024)
        if b"is stored" in shown:
            process.wait(30)
    os.close(own)
    assert process.returncode == 0
    assert SECRET.encode() not in shown
    assert desk("secret", "list").out == "CRM_TOKEN\n"
