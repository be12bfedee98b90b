"""Code is read from the copy of its revision: an edit of the repository reaches no process that runs already."""

# ruff: noqa: E501 (handlers are written on one line)

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from runtime_core.hosts.base import HandlerFailure, HostRepo, HostUnavailable
from runtime_core.hosts.source import LIVE, TOPS
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.repo.revision import code_files
from tests.unit.hosts.driver import Outcome, RunDriver, entry, write_tools
from tests.unit.hosts.test_resolver import FORMS, SHARED

T = TypeVar("T")

FILES = {
    "amodal/_lib/words.ts": "export const word: string = 'OLD';\n",
    "amodal/_lib/late.ts": "export const late: string = 'OLD';\n",
    "amodal/_lib/data.json": '{"word": "OLD"}',
    "amodal/_lib/words.py": "word = 'OLD'\n",
    "amodal/_lib/late.py": "late = 'OLD'\n",
    "amodal/_lib/inner/__init__.py": "inner = 'OLD'\n",
    "amodal/_lib/plain/deep.py": "deep = 'OLD'\n",
    "amodal/tools/all/old.cjs": "exports.word = 'OLD';",
    "amodal/tools/all/node_modules/pkg/package.json": '{"name": "pkg", "type": "module", "exports": "./i.js"}',
    "amodal/tools/all/node_modules/pkg/i.js": "export const word = 'OLD';",
    "amodal/../tsconfig.json": '{"compilerOptions": {"paths": {"@lib/*": ["./amodal/_lib/*"]}}}',
    "amodal/../notes.txt": "OLD",
}
ALL = {
    "all.ts": """
        import { word } from '@lib/words';
        import data from '../../_lib/data.json';
        import { word as old } from './old.cjs';
        import { word as packaged } from 'pkg';
        import { createRequire } from 'node:module';
        export default async (p: any, ctx: any) => {
          const { late } = await import('../../_lib/late.js');
          const code = await ctx.fs.readRepoFile('amodal/_lib/data.json');
          const required = createRequire(import.meta.url)('../../_lib/data.json');
          const live = [packaged, await ctx.fs.readRepoFile('notes.txt')];
          return { code: [word, data.word, old, late, JSON.parse(code).word, required.word], live, here: [import.meta.url, import.meta.filename] };
        };
        """,
    "all.py": """
from ..._lib.words import word
from amodal._lib.inner import inner

async def handler(params, ctx):
    from ..._lib.late import late
    from ..._lib.plain.deep import deep
    import json
    code = json.loads(await ctx.fs.read_repo_file("./amodal//_lib/data.json"))
    live = [await ctx.fs.read_repo_file("notes.txt")]
    return {"code": [word, inner, late, deep, code["word"]], "live": live, "here": [__file__]}
""",
}


def _copy(root: Path, target: Path) -> Path:
    for name in code_files(root):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, target / name)
    return target


def _edited(root: Path, revision: str, old: str, new: str) -> HostRepo:
    """A copy of what is there, then a word changed in every file."""
    code = _copy(root, root.parent / "versions" / revision)
    for path in root.rglob("*"):
        if path.is_file():
            path.write_text(path.read_text().replace(old, new))
    return HostRepo(root, revision, code)


def _with_hosts(cache: Path, work: Callable[[HandlerHosts], Awaitable[T]]) -> T:
    async def story() -> T:
        hosts = HandlerHosts(cache)
        try:
            async with asyncio.timeout(45):
                return await work(hosts)
        finally:
            await hosts.close()

    return asyncio.run(story())


async def _leg(hosts: HandlerHosts, repo: HostRepo, name: str) -> Outcome:
    return await RunDriver(hosts, repo, entry(name), durable=False).leg()


def test_everything_a_process_loads_is_of_its_revision(tmp_path: Path, language: str) -> None:
    root = tmp_path / "repo"
    write_tools(root, FILES | ALL)
    first = _edited(root, "r1", "OLD", "NEW")
    second = _edited(root, "r2", "NEW", "WON")

    async def story(hosts: HandlerHosts) -> list[Outcome]:
        return [await _leg(hosts, repo, f"all.{language}") for repo in (first, second)]

    for outcome, word in zip(_with_hosts(tmp_path / "cache", story), ("OLD", "NEW"), strict=True):
        found = outcome.result
        assert set(found["code"]) == {word}
        assert set(found["live"]) == {"WON"}
        for here in found["here"]:
            assert here.removeprefix("file://") == str(root / entry(f"all.{language}"))


def test_a_file_that_is_gone_from_the_repository_is_still_there(tmp_path: Path, language: str) -> None:
    root = tmp_path / "repo"
    write_tools(root, FILES | ALL)
    repo = _edited(root, "r1", "OLD", "NEW")
    shutil.rmtree(root)
    ended = _with_hosts(tmp_path / "cache", lambda hosts: _leg(hosts, repo, f"all.{language}"))
    if language == "ts":  # what it has installed is not part of its revision
        assert ended.failure is not None
        assert '"pkg"' in ended.failure.message
    else:
        assert ended.failure is not None
        assert "notes.txt" in ended.failure.message


def test_an_edit_while_the_process_runs_is_not_seen(tmp_path: Path, language: str) -> None:
    root = tmp_path / "repo"
    write_tools(root, FILES | ALL | {"ok.ts": "export default () => 1", "ok.py": "async def handler(p, c): return 1"})
    repo = HostRepo(root, "r1", _copy(root, tmp_path / "versions" / "r1"))

    async def story(hosts: HandlerHosts) -> Outcome:
        await _leg(hosts, repo, f"ok.{language}")
        _edited(root, "r2", "OLD", "NEW")
        return await _leg(hosts, repo, f"all.{language}")

    assert set(_with_hosts(tmp_path / "cache", story).result["code"]) == {"OLD"}


FAULTS = {
    "throws.ts": "// one\ninterface A { b: number }\nexport default async (p: A) => { throw new Error('at ' + new Error().stack); };\n",
    "throws.py": "import traceback\nasync def handler(p, c):\n    raise ValueError('at ' + ''.join(traceback.format_stack(limit=1)))\n",
    "broken.ts": "const a = 1;\nexport default = ;\n",
    "broken.py": "a = 1\ndef = 2\n",
}


def test_errors_name_the_files_of_the_repository(tmp_path: Path, language: str) -> None:
    root = tmp_path / "repo"
    write_tools(root, FAULTS)
    code = _copy(root, tmp_path / "versions" / "r1")
    for path in root.rglob("handler.*"):
        path.write_text("edited\n" * 9)

    async def story(hosts: HandlerHosts) -> list[HandlerFailure | None]:
        repo = HostRepo(root, "r1", code)
        return [(await _leg(hosts, repo, f"{name}.{language}")).failure for name in ("throws", "broken")]

    thrown, broken = _with_hosts(tmp_path / "cache", story)
    assert thrown is not None
    assert broken is not None
    for text in (thrown.message, thrown.stack or "", broken.message):
        assert "versions" not in text
    file = entry(f"throws.{language}")
    assert f"({file}:3:" in thrown.message if language == "ts" else f'"{root}/{file}", line 3' in thrown.message
    assert language == "ts" or "raise ValueError" in thrown.message
    assert f"{entry(f'throws.{language}')}" in (thrown.stack or "")
    assert broken.code == "load-failed"
    assert f"{entry(f'broken.{language}')}:2" in broken.message


@pytest.mark.parametrize("package", [None, {"type": "module"}])
def test_every_form_runs_from_a_copy(tmp_path: Path, package: object) -> None:
    root = tmp_path / "repo"
    files = dict(SHARED) | ({"package.json": json.dumps(package)} if package else {})
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    write_tools(root, {f"{name}.ts": source for name, source in FORMS.items()})
    repo = HostRepo(root, "r1", _copy(root, tmp_path / "versions" / "r1"))
    for path in root.rglob("*.ts"):
        path.write_text("not code any more")

    async def story(hosts: HandlerHosts) -> dict[str, HandlerFailure | str | None]:
        outcomes = {name: await _leg(hosts, repo, f"{name}.ts") for name in FORMS}
        return {name: outcome.failure or outcome.value for name, outcome in outcomes.items()}

    assert _with_hosts(tmp_path / "cache", story) == dict.fromkeys(FORMS, "true")


def test_byte_code_of_an_earlier_text_of_the_same_size_and_second_is_not_used(tmp_path: Path) -> None:
    root = tmp_path / "repo"

    async def story(hosts: HandlerHosts) -> list[int]:
        found: list[int] = []
        for number in range(5):
            write_tools(root, {"t.py": f"async def handler(p, c): return {number}\n"})
            found.append((await _leg(hosts, HostRepo(root, f"r{number}"), "t.py")).result)
        return found

    assert _with_hosts(tmp_path / "cache", story) == [0, 1, 2, 3, 4]


def test_what_counts_as_code_is_what_a_revision_consists_of(tmp_path: Path) -> None:
    import re

    names = [
        *(f"{top}/a.ts" for top in TOPS if "." not in top),
        *(top for top in TOPS if "." in top),
        *("amodal/x/a.test.ts", "amodal/x/test_a.py", "amodal/x/a_test.py", "amodal/x/atest_b.py", "amodal/.hidden"),
        *("amodal/.git/a", "amodal/node_modules/a.js", "amodal/a/node_modules/b/c.js", "tools/__pycache__/a.pyc"),
        *("src/a.ts", "amodal.jsonc", "amodal/x/test.ts", "amodal/x/a.spec.mjs", "skills/node_modules.md", "evals/a"),
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    code = {name for name in names if name.split("/")[0] in TOPS and not re.search(LIVE, name)}
    assert code == set(code_files(tmp_path))


def test_a_link_in_a_copy_is_refused(tmp_path: Path, language: str) -> None:
    root = tmp_path / "repo"
    write_tools(root, {"t.ts": "export default () => 1", "t.py": "async def handler(p, c): return 1"})
    code = _copy(root, tmp_path / "versions" / "r1")
    (tmp_path / "secret.txt").write_text("secret")
    (code / "amodal" / "link.txt").symlink_to(tmp_path / "secret.txt")

    async def story(hosts: HandlerHosts) -> None:
        with pytest.raises(HostUnavailable, match=r"amodal/link\.txt.*link"):
            await _leg(hosts, HostRepo(root, "r1", code), f"t.{language}")

    _with_hosts(tmp_path / "cache", story)
