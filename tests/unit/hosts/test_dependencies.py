"""Packages beside a handler: installed once for what its files say, for trusted code only, and found there offline."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from runtime_core.hosts import installers
from runtime_core.hosts.base import DependenciesUnavailable, HostRepo
from runtime_core.hosts.dependencies import STAGE_S, UNUSED_S, Dependencies, Trusted
from runtime_core.hosts.supervisor import HandlerHosts
from tests.support.registries import Registry, registry
from tests.unit.hosts.driver import RunDriver, entry, until, write_tools

USES = {
    "ts": "import { word } from 'outer';\nexport default async () => word();",
    "py": "from outer import word\nasync def handler(params, ctx): return word()",
}
FILES = {"ts": "package.json", "py": "requirements.txt"}


def asking(language: str, version: str = "1.0.0", name: str = "outer") -> str:
    return json.dumps({"dependencies": {name: version}}) if language == "ts" else f"{name}=={version}\n"


def publish(shop: Registry, version: str = "1.0.0") -> None:
    """``outer`` uses ``inner``, in both languages; npm's wants to run something when it is installed."""
    text = f"'outer {version}, '"
    inner = "exports.word = () => 'inner ' + require('./package.json').version"
    shop.npm("inner", "2.1.0", {"index.js": inner})
    evil = {"postinstall": f"touch {shop.url.split(':')[-1].strip('/')}.evil"}
    outer = f"exports.word = () => {text} + require('inner').word()"
    dependencies = {"inner": "^2.0.0"}
    shop.npm("outer", version, {"index.js": outer}, dependencies=dependencies, scripts=evil, hasInstallScript=True)
    shop.wheel("inner", "2.1.0", {"inner.py": "def word(): return 'inner 2.1.0'"})
    shop.wheel(
        "outer", version, {"outer/__init__.py": f"import inner\ndef word(): return {text} + inner.word()"}, "inner>=2"
    )


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Registry]:
    """The only registry that the installers know."""
    for name in [name for name in os.environ if name.upper().startswith(("PIP_", "NPM_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with registry() as shop:
        use(shop.url, monkeypatch)
        publish(shop)
        yield shop


def use(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", url)
    monkeypatch.setenv("PIP_INDEX_URL", f"{url}simple/")


async def trusted(root: Path, revision: str) -> bool:
    return True


class Place:
    """Repositories, and the folder of an application that is opened again and again."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repo"
        self.cache = folder / "hosts"

    def repo(self, language: str, tool: str = "t", *, source: str | None = None, **files: str) -> HostRepo:
        repo = write_tools(self.root, {f"{tool}.{language}": source or USES[language]})
        for name, text in files.items():
            (self.root / "amodal" / "tools" / tool / name).write_text(text)
        return repo

    def asking(self, language: str, version: str = "1.0.0", name: str = "outer") -> HostRepo:
        return self.repo(language, **{FILES[language]: asking(language, version, name)})

    async def run(self, repo: HostRepo, language: str, tool: str = "t", hosts: HandlerHosts | None = None) -> Any:
        """What a handler returns, or its failure, in processes of its own unless there are ``hosts``."""
        own = hosts or HandlerHosts(self.cache, trusted=trusted)
        try:
            outcome = await RunDriver(own, repo, entry(f"{tool}.{language}"), durable=False).leg()
            return outcome.failure.message if outcome.failure is not None else outcome.result
        finally:
            if hosts is None:
                await own.close()

    def play(self, repo: HostRepo, language: str, tool: str = "t") -> Any:
        return asyncio.run(self.run(repo, language, tool))

    @property
    def kept(self) -> list[str]:
        folder = self.cache / "packages"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "place")


@pytest.fixture(params=["ts", "py"])
def language(request: pytest.FixtureRequest) -> str:
    return request.param


# ---- what is found ------------------------------------------------------------------------------------------------


def test_packages_are_installed_once_and_found_offline(
    place: Place, shop: Registry, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = place.asking(language)
    before = set(place.root.rglob("*"))
    assert place.play(repo, language) == "outer 1.0.0, inner 2.1.0"
    assert set(place.root.rglob("*")) == before
    assert len(place.kept) == 1
    asked = len(shop.web.seen)
    use("http://127.0.0.1:9/", monkeypatch)
    assert place.play(repo, language) == "outer 1.0.0, inner 2.1.0"
    assert len(shop.web.seen) == asked
    assert not list(place.cache.rglob("*.evil"))


def test_other_versions_are_installed_beside_the_old_ones(place: Place, shop: Registry, language: str) -> None:
    publish(shop, "3.0.0")
    other = write_tools(place.root, {f"u.{language}": USES[language]})
    (place.root / "amodal/tools/u" / FILES[language]).write_text(asking(language, "3.0.0"))
    bare = write_tools(place.root, {f"bare.{language}": USES[language]})
    repo = place.asking(language)

    async def story() -> tuple[Any, Any, Any]:
        hosts = HandlerHosts(place.cache, trusted=trusted)
        try:
            return await asyncio.gather(
                place.run(repo, language, "t", hosts),
                place.run(other, language, "u", hosts),
                place.run(bare, language, "bare", hosts),
            )
        finally:
            await hosts.close()

    first, second, none = asyncio.run(story())
    assert (first, second) == ("outer 1.0.0, inner 2.1.0", "outer 3.0.0, inner 2.1.0")
    assert "cannot be loaded" in none
    assert "outer" in none
    assert len(place.kept) == 2


def test_a_handler_whose_files_ask_for_nothing_needs_no_trust(place: Place, language: str) -> None:
    nothing = {"ts": {"type": "module", "devDependencies": {"vitest": "*"}}, "py": None}[language]
    text = json.dumps(nothing) if nothing else "# nothing so far\n\n"
    source = {"ts": "export default async () => 'ok'", "py": "async def handler(params, ctx): return 'ok'"}[language]
    repo = place.repo(language, source=source, **{FILES[language]: text})
    hosts: Any = HandlerHosts(place.cache)

    async def story() -> Any:
        try:
            return await place.run(repo, language, hosts=hosts)
        finally:
            await hosts.close()

    assert asyncio.run(story()) == "ok"
    assert place.kept == []


def test_a_lock_of_npm_says_which_version(place: Place, shop: Registry) -> None:
    publish(shop, "1.5.0")
    locked = {
        f"node_modules/{name}": {"version": version, **shop.dist(name, version), "dependencies": needs}
        for name, version, needs in (("outer", "1.0.0", {"inner": "^2.0.0"}), ("inner", "2.1.0", {}))
    }
    for package in locked.values():
        package["resolved"] = package.pop("tarball")
    lock = {"name": "t", "lockfileVersion": 3, "packages": {"": {"dependencies": {"outer": "^1.0.0"}}, **locked}}
    repo = place.repo("ts", **{"package.json": asking("ts", "^1.0.0")})
    assert place.play(repo, "ts") == "outer 1.5.0, inner 2.1.0"
    repo = place.repo("ts", **{"package.json": asking("ts", "^1.0.0"), "package-lock.json": json.dumps(lock)})
    assert place.play(repo, "ts") == "outer 1.0.0, inner 2.1.0"
    assert len(place.kept) == 2


# ---- what is refused ------------------------------------------------------------------------------------------------


def refusal(place: Place, repo: HostRepo, language: str, trusted: Trusted = trusted) -> DependenciesUnavailable:
    async def story() -> None:
        hosts = HandlerHosts(place.cache, trusted=trusted)
        try:
            await place.run(repo, language, hosts=hosts)
        finally:
            await hosts.close()

    with pytest.raises(DependenciesUnavailable) as refused:
        asyncio.run(story())
    return refused.value


def test_nothing_is_installed_for_code_that_nobody_trusts(place: Place, shop: Registry, language: str) -> None:
    async def asked(root: Path, revision: str) -> bool:
        return (str(root), revision) == ("elsewhere", "")

    refused = refusal(place, place.asking(language), language, trusted=asked)
    assert refused.code == "untrusted"
    assert f"amodal/tools/t/{FILES[language]}" in str(refused)
    assert "--trust" in str(refused)
    assert shop.web.seen == []
    assert place.kept == []


def test_a_registry_that_is_not_there_is_told(
    place: Place, shop: Registry, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use("http://somebody:secret@127.0.0.1:9/", monkeypatch)
    refused = refusal(place, place.asking(language), language)
    assert refused.code == "dependencies-unavailable"
    for part in (f"amodal/tools/t/{FILES[language]}", str(place.root), "outer", "cannot be reached", "try again"):
        assert part in str(refused)
    assert "secret" not in str(refused)
    assert place.kept == []


@pytest.mark.parametrize(("name", "version"), [("nowhere", "1.0.0"), ("outer", "9.0.0")])
def test_a_package_that_does_not_exist_is_named(
    place: Place, shop: Registry, language: str, name: str, version: str
) -> None:
    refused = refusal(place, place.asking(language, version, name), language)
    assert refused.code == "dependencies-unavailable"
    assert name in str(refused)
    assert "names and versions" in str(refused)
    assert "cannot be reached" not in str(refused)
    assert place.kept == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is not valid JSON"),
        ("[]", "has to hold an object"),
        ('{"dependencies": ["outer"]}', "dependencies has to be an object"),
        ('{"dependencies": {"mine": "file:../mine"}}', "mine (file:../mine) did not come from a registry"),
        ('{"dependencies": {"mine": "git+https://git.invalid/a.git"}}', "mine (git+https://git.invalid/a.git) did not"),
        ('{"dependencies": {"../evil": "1.0.0"}}', "../evil"),
    ],
)
def test_a_package_json_that_cannot_be_used_is_told(place: Place, shop: Registry, text: str, why: str) -> None:
    refused = refusal(place, place.repo("ts", **{"package.json": text}), "ts")
    assert "amodal/tools/t/package.json" in str(refused)
    assert why in str(refused)
    assert place.kept == []


def test_an_installation_has_a_time_limit(
    place: Place, shop: Registry, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installers, "TIMEOUT_S", 0.5)
    release = threading.Event()
    shop.wait = lambda _: void(release.wait())
    try:
        refused = refusal(place, place.asking(language), language)
    finally:
        release.set()
    assert "more than 0.5 s" in str(refused)
    assert place.kept == []


def test_packages_that_take_too_much_room_are_not_kept(
    place: Place, shop: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime_core.hosts.dependencies.SIZE_LIMIT", 10)
    assert "10 at most" in str(refusal(place, place.asking("ts"), "ts"))
    assert place.kept == []


def void(_: object) -> None:
    return None


# ---- settings of the user ------------------------------------------------------------------------------------------


def test_the_settings_of_the_user_count_and_handlers_see_none_of_them(
    place: Place, shop: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NPM_CONFIG_REGISTRY")
    monkeypatch.setenv("NPM_TOKEN_OF_MINE", "hush")
    host = shop.url.removeprefix("http:")
    (tmp_path / ".npmrc").write_text(f"registry={shop.url}\n{host}:_authToken=${{NPM_TOKEN_OF_MINE}}\n")
    source = (
        "import { word } from 'outer';\nimport { readFileSync } from 'node:fs';\n"
        f"const read = () => {{ try {{ return readFileSync({json.dumps(str(tmp_path / '.npmrc'))}, 'utf8') }} "
        "catch { return 'closed' } };\n"
        "export default async () => [word(), process.env.NPM_TOKEN_OF_MINE ?? null, read()];"
    )
    repo = place.repo("ts", source=source, **{"package.json": asking("ts")})
    assert place.play(repo, "ts") == ["outer 1.0.0, inner 2.1.0", None, "closed"]
    assert {seen.headers.get("authorization") for seen in shop.web.seen} == {"Bearer hush"}


def test_what_says_where_pip_installs_is_kept_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = {"PIP_TARGET": "/elsewhere", "PIP_USER": "1", "PIP_INDEX_URL": "x", "SECRET_KEY": "s", "https_proxy": "p"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    found: Mapping[str, str] = installers.environment(tmp_path)
    assert (found["PIP_INDEX_URL"], found["https_proxy"]) == ("x", "p")
    assert not {"PIP_TARGET", "PIP_USER", "SECRET_KEY"} & set(found)


# ---- several at once, killed, unused ---------------------------------------------------------------------------------


def test_two_applications_install_at_the_same_time(place: Place, shop: Registry) -> None:
    both = threading.Barrier(2, timeout=20)
    shop.wait = lambda seen: void(both.wait()) if seen.path == "/outer" else None
    repo = place.asking("ts")

    async def story() -> list[Any]:
        return list(await asyncio.gather(place.run(repo, "ts"), place.run(repo, "ts")))

    assert asyncio.run(story()) == ["outer 1.0.0, inner 2.1.0"] * 2
    assert len(place.kept) == 1


def test_who_waits_together_waits_for_one_installation(place: Place, shop: Registry) -> None:
    repo = place.asking("ts")

    async def story() -> list[Any]:
        hosts = HandlerHosts(place.cache, trusted=trusted)
        try:
            return await asyncio.gather(*(place.run(repo, "ts", hosts=hosts) for _ in range(5)))
        finally:
            await hosts.close()

    assert asyncio.run(story()) == ["outer 1.0.0, inner 2.1.0"] * 5
    assert [seen.path for seen in shop.web.seen].count("/outer") == 1


def test_one_who_gives_up_does_not_break_off_the_installation_of_others(place: Place, shop: Registry) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        asked.set()
        go_on.wait(20)

    shop.wait = hold
    repo = place.asking("ts")

    async def story() -> Any:
        hosts = HandlerHosts(place.cache, trusted=trusted)
        try:
            first = asyncio.create_task(place.run(repo, "ts", hosts=hosts))
            await until(asked.is_set)
            second = asyncio.create_task(place.run(repo, "ts", hosts=hosts))
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            go_on.set()
            return await second
        finally:
            await hosts.close()

    assert asyncio.run(story()) == "outer 1.0.0, inner 2.1.0"


def test_an_application_that_closes_ends_its_installations(place: Place, shop: Registry, language: str) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        asked.set()
        go_on.wait(20)

    shop.wait = hold
    repo = place.asking(language)

    async def story() -> None:
        hosts = HandlerHosts(place.cache, trusted=trusted)
        waiting = asyncio.create_task(place.run(repo, language, hosts=hosts))
        await until(asked.is_set)
        await hosts.close()
        with pytest.raises(DependenciesUnavailable, match="closed"):
            await waiting

    asyncio.run(story())
    go_on.set()
    assert place.kept == []


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
def test_a_killed_application_leaves_nothing_half_there(place: Place, shop: Registry) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def hold(seen: Any) -> None:
        if "/-/" in seen.path:  # one of the packages is about to arrive
            asked.set()
            go_on.wait(20)

    shop.wait = hold
    repo = place.asking("ts")
    program = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from runtime_core.hosts.base import HostRepo\nfrom runtime_core.hosts.dependencies import Dependencies\n"
        "async def yes(root, revision): return True\n"
        "asyncio.run(Dependencies(Path(sys.argv[2]), yes)"
        ".of(HostRepo(Path(sys.argv[1]), 'r'), sys.argv[3], 'typescript'))\n"
    )
    folder = place.cache / "packages"
    command = [sys.executable, "-c", program, str(repo.root), str(folder), entry("t.ts")]
    with subprocess.Popen(command, cwd=Path(__file__).parents[3]) as process:
        assert asked.wait(20)
        process.send_signal(signal.SIGKILL)
    go_on.set()
    assert [name for name in place.kept if not name.startswith(".")] == []
    assert place.play(repo, "ts") == "outer 1.0.0, inner 2.1.0"
    Dependencies(folder).sweep(time.time() + STAGE_S + 60)
    assert len(place.kept) == 1
    assert not place.kept[0].startswith(".")
    assert place.play(repo, "ts") == "outer 1.0.0, inner 2.1.0"


def test_what_was_not_used_for_long_is_removed(place: Place, shop: Registry) -> None:
    repo = place.asking("ts")
    assert place.play(repo, "ts") == "outer 1.0.0, inner 2.1.0"
    (used,) = place.kept
    old = place.cache / "packages" / "old"
    (old / "node_modules").mkdir(parents=True)
    for path in (old, place.cache / "packages" / used):
        os.utime(path, (0, time.time() - UNUSED_S - 60))
    assert place.play(repo, "ts") == "outer 1.0.0, inner 2.1.0"

    async def story() -> None:
        hosts = HandlerHosts(place.cache)
        await hosts.sweep()
        await hosts.close()

    asyncio.run(story())
    assert place.kept == [used]


def test_a_python_package_goes_before_one_of_the_application_and_never_before_pythons_own(
    place: Place, shop: Registry
) -> None:
    shop.wheel("click", "0.0.1", {"click.py": "mine = 'click'", "json.py": "mine = 'json'"})
    source = (
        "import click, json\n"
        "async def handler(params, ctx): return [getattr(click, 'mine', None), getattr(json, 'mine', None)]"
    )
    repo = place.repo("py", source=source, **{"requirements.txt": "click==0.0.1\n"})
    assert place.play(repo, "py") == ["click", None]
