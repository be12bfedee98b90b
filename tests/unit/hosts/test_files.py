"""`ctx.fs.readRepoFile`: text files of the repository and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.hosts.conftest import Bench, same

READ = same(
    "export default async (p, ctx) => { try { return {text: await ctx.fs.readRepoFile(p.path)} }"
    " catch (e) { return {code: e.code, message: e.message} } }",
    "async def handler(p, ctx):\n"
    "    try: return {'text': await ctx.fs.read_repo_file(p['path'])}\n"
    "    except OSError as e: return {'code': e.code, 'message': str(e)}",
)


@pytest.fixture(scope="module")
def files(bench: Bench) -> Path:
    root, outside = bench.root, bench.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    for name, text in {
        "knowledge/a b.md": "grüezi\n",
        ".env": "KEY=1",
        "knowledge/.env.local": "KEY=2",
        "big": "",
        ".git/config": "token",
        "knowledge/.hidden.md": "hidden",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    os.truncate(root / "big", 9 * 1024 * 1024)
    (root / "bad.bin").write_bytes(b"a\xffb")
    (root / "leaves.txt").symlink_to(outside / "secret.txt")
    (root / "folder-leaves").symlink_to(outside)
    (root / "inside.md").symlink_to(root / "knowledge" / "a b.md")
    (root / "alias").symlink_to(root / ".env")
    (root / "token").symlink_to(root / ".git" / "config")
    os.mkfifo(root / "pipe")
    return root


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("knowledge/a b.md", {"text": "grüezi\n"}),
        ("./knowledge/a b.md", {"text": "grüezi\n"}),
        ("inside.md", {"text": "grüezi\n"}),
        ("bad.bin", {"text": "a\ufffdb"}),
        ("missing.md", "ENOENT"),
        ("knowledge", "EISDIR"),
        ("big", "EFBIG"),
        ("../outside/secret.txt", "EACCES"),
        ("knowledge/../../outside/secret.txt", "EACCES"),
        ("knowledge\\..\\..\\outside\\secret.txt", "EACCES"),
        ("/etc/passwd", "EACCES"),
        ("C:\\Windows\\win.ini", "ENOENT"),
        ("leaves.txt", "EACCES"),
        ("folder-leaves/secret.txt", "EACCES"),
        (".env", "EACCES"),
        ("knowledge/.ENV.local", "ENOENT"),
        (".git/config", "EACCES"),
        ("knowledge/.hidden.md", "EACCES"),
        ("token", "EACCES"),
        ("knowledge/.env.local", "EACCES"),
        ("alias", "EACCES"),
        ("pipe", "EACCES"),
        ("", "EACCES"),
        ("a\x00b", "EACCES"),
        ("a/" * 100_000, "EACCES"),
    ],
)
def test_what_can_be_read(bench: Bench, files: Path, language: str, path: str, found: Any) -> None:
    result = bench.inline(language, READ[language], {"path": path}).result
    if isinstance(found, dict):
        assert result == found
    else:
        assert result["code"] == found
        assert repr(path)[:80] in result["message"]


def test_reading_takes_no_slot_and_works_in_a_durable_run(bench: Bench, language: str) -> None:
    source = same(
        "export default async (p, ctx) => { const t = await ctx.fs.readRepoFile('amodal/tools/ok/handler.ts');"
        " await ctx.callTool('t', {n: t.length}); return t }",
        "async def handler(p, ctx):\n"
        "    t = await ctx.fs.read_repo_file('amodal/tools/ok/handler.ts')\n"
        "    await ctx.call_tool('t', {'n': len(t)}); return t",
    )[language]
    driver = bench.driver(language, source)
    for _ in range(2):
        assert "ok" in bench.wait(driver.leg()).result
    assert [(call.seq, call.kind) for call in driver.calls] == [(0, "tool")]
