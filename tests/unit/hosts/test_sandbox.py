"""What a hostile or careless handler can reach. Whatever is listed as open is a known limit of the platform."""

# ruff: noqa: E501 (handlers are written on one line)

from __future__ import annotations

import asyncio
import errno
import importlib.util
import json
import py_compile
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime_core.hosts import reach, sandbox
from runtime_core.hosts.base import HostUnavailable
from runtime_core.hosts.sandbox import boxed, filters_calls, landlock_version
from runtime_core.hosts.supervisor import HandlerHosts
from tests.unit.hosts.conftest import Bench
from tests.unit.hosts.driver import Outcome, RunDriver, entry, write_tools

TYPESCRIPT = {
    "read outside": "import fs from 'node:fs'; export default async () => fs.readFileSync('%OUT%/secret.txt', 'utf8')",
    "read outside, Deno": "export default async () => Deno.readTextFileSync('%OUT%/secret.txt')",
    "read a system file": "import fs from 'node:fs'; export default async () => fs.readFileSync('/etc/passwd', 'utf8')",
    "read the repository beside its code": "import fs from 'node:fs'; export default async () => fs.readFileSync('%ROOT%/notes.txt', 'utf8')",
    "climb out": "import fs from 'node:fs'; export default async () => fs.readFileSync('%ROOT%/amodal/../../outside/secret.txt', 'utf8')",
    "secrets of the repository": "import fs from 'node:fs'; export default async () => fs.readFileSync('%ROOT%/.env', 'utf8')",
    "secrets beside the code": "import fs from 'node:fs'; export default async () => fs.readFileSync('%ROOT%/amodal/.env', 'utf8')",
    "import outside": "import { x } from '../../../../outside/mod.ts'; export default async () => x",
    "import outside later": "export default async () => (await import('%OUT%/mod.ts')).x",
    "own environment": "import fs from 'node:fs'; export default async () => fs.readFileSync('/proc/self/environ', 'utf8')",
    "environment of the parent": "import fs from 'node:fs'; export default async () => fs.readFileSync(`/proc/${process.ppid}/environ`, 'utf8')",
    "write in the repository": "import fs from 'node:fs'; export default async () => fs.writeFileSync('%ROOT%/amodal/x.txt', 'x')",
    "write elsewhere": "import fs from 'node:fs'; export default async () => fs.writeFileSync('%OUT%/x.txt', 'x')",
    "fetch": "export default async () => (await fetch('http://127.0.0.1:%PORT%/')).status",
    "connect": "import net from 'node:net'; export default () => new Promise((ok, no) => { const s = net.connect(%PORT%, '127.0.0.1', () => ok('connected')); s.on('error', no) })",
    "name look-up": "import dns from 'node:dns/promises'; export default async () => (await dns.lookup('localhost')).address",
    "listen": "export default async () => Deno.listen({ port: 0 }).addr",
    "process": "import { execSync } from 'node:child_process'; export default async () => execSync('id').toString()",
    "process, Deno": "export default async () => new Deno.Command('id').outputSync().code",
    "signal the parent": "export default async () => process.kill(process.ppid, 0)",
    "foreign code": "export default async () => Deno.dlopen('libc.so.6', {getpid: {parameters: [], result: 'i32'}})",
    "host name": "import os from 'node:os'; export default async () => os.hostname()",
    "import over http": "export default async () => await import('http://127.0.0.1:%PORT%/m.js')",
    "import from npm": "export default async () => await import('npm:is-number')",
    "listen, Node": "import net from 'node:net'; export default () => new Promise((ok, no) => { const s = net.createServer(); s.on('error', no); s.listen(0, '127.0.0.1', () => ok('listening')); setTimeout(no, 300, new Error('nothing listens')) })",
    "worker with more rights": "export default () => new Promise((ok, no) => { const u = URL.createObjectURL(new Blob(['self.postMessage(Deno.readTextFileSync(`%OUT%/secret.txt`))'])); const w = new Worker(u, {type: 'module', deno: {permissions: {read: true}}}); w.onmessage = (e) => ok(e.data); w.onerror = (e) => { e.preventDefault(); no(new Error(e.message)) } })",
    "worker of Node": "import { Worker } from 'node:worker_threads'; export default () => new Promise((ok, no) => { const w = new Worker('require(`node:worker_threads`).parentPort.postMessage(require(`node:fs`).readFileSync(`%OUT%/secret.txt`, `utf8`))', {eval: true}); w.on('message', ok); w.on('error', no) })",
    "user name": "import os from 'node:os'; export default async () => os.userInfo().username",
    "more rights": "export default async () => { const s = await Deno.permissions.request({name: 'read', path: '/etc'}); if (s.state !== 'granted') throw new Error(s.state); return s.state }",
    "storage": "export default async () => localStorage.setItem('a', 'b')",
    "storage of a session": "export default async () => sessionStorage.setItem('a', 'b')",
    "stored answers": "export default async () => (await caches.open('a')).put('http://a/', new Response('b'))",
    "stored keys": "export default async () => (await Deno.openKv()).set(['a'], 'b')",
}

PYTHON = {
    "read outside": "return open('%OUT%/secret.txt').read()",
    "read a system file": "return open('/etc/passwd').read()",
    "read the repository beside its code": "return open('%ROOT%/notes.txt').read()",
    "secrets of the repository": "return open('%ROOT%/.env').read()",
    "secrets beside the code": "return open('%ROOT%/amodal/.env').read()",
    "low level open": "import os; return os.read(os.open('%OUT%/secret.txt', os.O_RDONLY), 9).decode()",
    "raw file": "import io; return io.FileIO('%OUT%/secret.txt').read().decode()",
    "write in the repository": "import pathlib; return pathlib.Path('%ROOT%/amodal/w.txt').write_text('x')",
    "write elsewhere": "import pathlib; return pathlib.Path('%OUT%/w.txt').write_text('x')",
    "make a folder": "import os; return os.mkdir('%ROOT%/amodal/new')",
    "remove": "import os; return os.remove('%ROOT%/amodal/tools/ok/handler.py')",
    "list the disk": "import os; return os.listdir('/')",
    "own environment": "return open('/proc/self/environ').read()",
    "environment of the parent": "import os; return open(f'/proc/{os.getppid()}/environ').read()",
    "connect": "import socket; socket.create_connection(('127.0.0.1', %PORT%), 1); return 'connected'",
    "connect, asyncio": "import asyncio; await asyncio.open_connection('127.0.0.1', %PORT%); return 'connected'",
    "datagram": "import socket; return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', %PORT%))",
    "process": "import subprocess; return subprocess.check_output(['id']).decode()",
    "shell": "import os; return os.system('true')",
    "fork": "import os; return os.fork()",
    "processes of Python": "import multiprocessing; p = multiprocessing.Process(target=print); p.start(); return 'started'",
    "listen": "import asyncio; s = await asyncio.start_server(print, '127.0.0.1', 0); return s.sockets[0].getsockname()",
    "name look-up": "import socket; return socket.gethostbyname('localhost')",
    "signal the parent": "import os; return os.kill(os.getppid(), 0)",
    "foreign code": "import ctypes; return ctypes.CDLL(None).getpid()",
    "import outside": "import sys; sys.path.insert(0, '%OUT%'); import evil; return evil.x",
    "database elsewhere": "import sqlite3; return sqlite3.connect('%OUT%/s.db').execute('select a from t').fetchone()",
    "limits of the application": "import os, resource; return resource.prlimit(os.getppid(), resource.RLIMIT_CPU)",
    "priority of the application": "import os; return os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "processors of the application": "import os; return os.sched_setaffinity(os.getppid(), {0})",
    "attributes of a file": "import os; return os.setxattr('%OUT%/secret.txt', 'user.x', b'1')",
    "mode of a file": "import os; return os.chmod('%OUT%/secret.txt', 0o777)",
    "a pipe": "import os; return os.mkfifo('%OUT%/pipe')",
    "another root": "import os; return os.chroot('/')",
    "name of the machine": "import socket; return socket.sethostname('x')",
    "clock of the machine": "import time; return time.clock_settime(time.CLOCK_REALTIME, time.time())",
    "another interpreter": "import _xxsubinterpreters as i; return i.run_string(i.create(), 'open(`%OUT%/secret.txt`)')",
    "below the processes of Python": "import _posixsubprocess; return _posixsubprocess.fork_exec",
    "take the guard away": "import sys; sys.addaudithook(lambda *a: None); return open('%OUT%/secret.txt').read()",
}


OPEN = [
    ("ts", "export default async () => new Function('return 1 + 1')()", 2),
    ("ts", "export default async () => { globalThis.left = 1; return globalThis.left }", 1),
    ("py", "import os; return os.stat('%OUT%/secret.txt').st_size", 6),
    ("py", "import gc; return len([o for o in gc.get_objects() if type(o).__name__ == 'Run']) > 0", True),
    ("py", "import sys; return 'handler_host.run' in sys.modules", True),
]
"""What is not stopped and is said so in resources/docs/sandbox.md; a test that fails here asks for that page."""


@pytest.fixture(scope="module")
def outside(bench: Bench) -> Iterator[dict[str, str]]:
    folder = bench.root.parent / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("secret")
    (folder / "mod.ts").write_text("export const x = 'outside';")
    (folder / "evil.py").write_text("x = 'outside'")
    with sqlite3.connect(folder / "s.db") as database:
        database.execute("create table t(a)")
    database.close()
    for name in ("notes.txt", ".env", "amodal/.env"):
        (bench.root / name).write_text("KEY=secret")

    async def serve() -> asyncio.Server:
        return await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)

    server = bench.wait(serve())
    yield {"%OUT%": str(folder), "%ROOT%": str(bench.root), "%PORT%": str(server.sockets[0].getsockname()[1])}

    async def stop() -> None:
        server.close()
        await server.wait_closed()

    bench.wait(stop())


def _fill(source: str, places: dict[str, str]) -> str:
    for name, value in places.items():
        source = source.replace(name, value)
    return source


@pytest.mark.parametrize("probe", list(TYPESCRIPT))
def test_a_typescript_handler_is_stopped(bench: Bench, outside: dict[str, str], probe: str) -> None:
    outcome = bench.inline("ts", _fill(TYPESCRIPT[probe], outside), timeout_s=5)
    assert outcome.failure is not None, outcome.value
    assert outcome.failure.code != "deadline"
    assert bench.is_alive("ts")


@pytest.mark.parametrize("probe", list(PYTHON))
def test_a_python_handler_is_stopped(bench: Bench, outside: dict[str, str], probe: str) -> None:
    outcome = bench.inline("py", f"async def handler(p, ctx):\n    {_fill(PYTHON[probe], outside)}\n", timeout_s=5)
    assert outcome.failure is not None, outcome.value
    assert outcome.failure.code != "deadline"
    assert bench.is_alive("py")


@pytest.mark.parametrize(("kind", "source", "value"), OPEN)
def test_what_is_not_stopped(bench: Bench, outside: dict[str, str], kind: str, source: str, value: object) -> None:
    text = _fill(source, outside)
    found = bench.inline(kind, text if kind == "ts" else f"async def handler(p, ctx):\n    {text}\n")
    assert found.result == value


def test_no_variable_of_the_application_is_visible(
    bench: Bench, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPERATOR_SECRET", "secret")
    source = {
        "ts": "export default async () => [process.env.OPERATOR_SECRET ?? null, Object.keys(process.env).sort()]",
        "py": "import os\nasync def handler(p, c): return [os.environ.get('OPERATOR_SECRET'), sorted(os.environ)]",
    }[language]
    secret, names = bench.inline(language, source).result
    assert secret is None
    ours = {"DENO_DIR", "DENO_NO_UPDATE_CHECK", "LANG", "LC_CTYPE", "NO_COLOR", "PATH", "PYTHONHASHSEED"}
    set_by_deno_where_there_is_no_node = {"DENO_NODE_SHIM_ACTIVE"}
    assert set(names) <= ours | set_by_deno_where_there_is_no_node


CALLS = """
import ctypes, json, os, platform, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
parent, file = os.getppid(), os.fsencode(sys.argv[1])

def number(call, *args):
    ctypes.set_errno(0)
    return 0 if call(*args) >= 0 else ctypes.get_errno()

def raised(function, *args):
    try:
        function(*args)
    except OSError as error:
        return error.errno
    return 0

thread = threading.Thread(target=lambda: None)
thread.start()
thread.join()
pair = socket.socketpair()
room = ctypes.create_string_buffer(64)
print(json.dumps({
    "prlimit": number(libc.prlimit64, parent, 0, None, room),
    "setpriority": number(libc.setpriority, 0, parent, 19),
    "setpriority of the user": number(libc.setpriority, 2, 0, 19),
    "sched_setaffinity": number(libc.sched_setaffinity, parent, 8, room),
    "kill": number(libc.kill, parent, 0),
    "kill all": number(libc.kill, -1, 0),
    "tgkill": number(libc.tgkill, parent, parent, 0),
    "setxattr": number(libc.setxattr, file, b"user.x", b"1", 1, 0),
    "chmod": number(libc.chmod, file, 0o777),
    "chown": number(libc.chown, file, os.getuid(), os.getgid()),
    "utimes": number(libc.utimes, file, None),
    "mkfifo": number(libc.mkfifo, file + b".pipe", 0o600),
    "ptrace": number(libc.ptrace, 16, parent, None, None),
    "process_vm_readv": number(libc.process_vm_readv, parent, room, 1, room, 1, 0),
    "unshare": number(libc.unshare, 0x10000000),
    "datagram": raised(socket.socket, socket.AF_INET, socket.SOCK_DGRAM),
    "named socket": raised(socket.socket, socket.AF_UNIX),
    "process": raised(subprocess.run, ["/bin/true"]),
    "fork": raised(os.fork),
    "own limits": number(libc.prlimit64, 0, 0, None, room) and "refused",
    "own affinity": raised(os.sched_setaffinity, 0, os.sched_getaffinity(0)) and "refused",
    "own signal": number(libc.kill, os.getpid(), 0) and "refused",
    "program": raised(os.execv, "/bin/true/not", ["true"]),
}))
"""


@pytest.mark.skipif(not filters_calls(), reason="needs a kernel that filters system calls")
@pytest.mark.parametrize("is_program", [False, True], ids=["as the Python host", "as Deno"])
def test_system_calls_that_reach_out_are_refused_by_the_kernel(tmp_path: Path, is_program: bool) -> None:
    script, file = tmp_path / "calls.py", tmp_path / "file"
    script.write_text(CALLS)
    file.write_text("")
    before = file.stat()
    command = [sys.executable, "-I", str(script)] if is_program else [str(script)]
    line = boxed([*command, str(file)], ["/"], [str(tmp_path)], interpreter=[sys.executable, "-I", "-B"])
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert {name: found.pop(name) for name in ("own limits", "own affinity", "own signal")} == {
        "own limits": 0,
        "own affinity": 0,
        "own signal": 0,
    }
    assert found.pop("program") == (errno.ENOTDIR if is_program else errno.EPERM)
    assert set(found.values()) == {errno.EPERM}, found
    assert (file.stat().st_mode, file.stat().st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert {entry.name for entry in tmp_path.iterdir()} == {"calls.py", "file"}


@pytest.mark.skipif(not landlock_version(), reason="needs a kernel with Landlock")
def test_environment_files_among_the_code_are_closed_by_the_kernel(tmp_path: Path) -> None:
    """C code opens files without an event; what stands beside such a file stays readable."""
    bench = Bench(tmp_path)
    for name in ("amodal/.env", "amodal/data/deep/.env.local", "amodal/data/words.txt", "amodal/data/deep/more.txt"):
        (bench.root / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.root / name).write_text("word\n")
    source = """
import os, readline

def handler(p, ctx):
    found = [sorted(os.listdir(p['root'] + '/amodal/data'))]
    for name in ('amodal/.env', 'amodal/data/deep/.env.local', 'amodal/data/words.txt', 'amodal/data/deep/more.txt'):
        try:
            found.append(readline.read_history_file(p['root'] + '/' + name))
        except OSError as error:
            found.append(error.errno)
    return found
"""
    try:
        found = bench.inline("py", source, {"root": str(bench.root)}).result
        assert found == [["deep", "words.txt"], errno.EACCES, errno.EACCES, None, None]
        assert bench.is_alive("ts")
    finally:
        bench.close()


@pytest.mark.skipif(not filters_calls(), reason="needs a kernel that filters system calls")
def test_the_kernel_stops_what_walks_past_the_guard(bench: Bench) -> None:
    """The function below `subprocess` raises no audit event."""
    source = """
import os, subprocess

async def handler(p, ctx):
    read, write = os.pipe()
    subprocess._fork_exec([b"/bin/echo", b"started"], [b"/bin/echo", b"/usr/bin/echo"], True, (), None, None,
        -1, -1, -1, write, -1, -1, *os.pipe(), True, False, -1, None, None, None, -1, None, True)
    os.close(write)
    return os.read(read, 100).decode()
"""
    if sys.version_info >= (3, 12):
        pytest.skip("the private function has other arguments")
    failure = bench.inline("py", source).failure
    assert failure is not None
    assert "Operation not permitted" in failure.message


def test_nothing_is_kept_on_disk_for_other_repositories(tmp_path: Path) -> None:
    """Also by what has its own global objects, and what an earlier version kept goes."""
    kept = tmp_path / "cache" / "deno" / "location_data" / "a"
    kept.mkdir(parents=True)
    worker = "try { localStorage.a = 1 } catch {} caches.open('a').then((c) => c.put('http://a/', new Response('b'))).then(() => postMessage(1), () => postMessage(0))"
    bench = Bench(tmp_path)
    try:
        source = f"export default () => new Promise((ok, no) => {{ const w = new Worker(URL.createObjectURL(new Blob([{json.dumps(worker)}])), {{type: 'module'}}); w.onmessage = (e) => ok(e.data); w.onerror = (e) => {{ e.preventDefault(); no(new Error(e.message)) }} }})"
        outcome = bench.inline("ts", source)
        assert outcome.failure is not None or outcome.result == 0
        assert (tmp_path / "cache" / "deno" / "location_data").is_file()
    finally:
        bench.close()


def test_a_python_process_runs_no_byte_code_of_a_repository_and_writes_none(tmp_path: Path) -> None:
    """What one repository could leave in a cache, another would run."""
    bench = Bench(tmp_path)
    try:
        shared = bench.write("py", "async def handler(p, c): return 1")
        (bench.root / shared).with_name("words.py").write_text("said = 'text'")
        forged = tmp_path / "forged.py"
        forged.write_text("said = 'code'")
        cached = importlib.util.cache_from_source(str((bench.root / shared).with_name("words.py")))
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(forged), cached, invalidation_mode=mode)
        source = "import sys, colorsys\nfrom .words import said\ndef handler(p, c): return [said, sys.pycache_prefix]"
        (bench.root / shared).with_name("other.py").write_text(source)
        entry_file = shared.replace("handler.py", "other.py")
        driver = RunDriver(bench.hosts, bench.repo, entry_file, durable=False)
        assert bench.wait(driver.leg()).result == ["text", None]
        assert not list(bench.cache.rglob("*.pyc"))
    finally:
        bench.close()


@pytest.mark.skipif(not landlock_version(), reason="elsewhere a link that appears this late is followed by Deno")
def test_a_link_that_appears_while_a_process_runs_is_not_followed(bench: Bench, language: str) -> None:
    source = {
        "ts": "import fs from 'node:fs'; export default async (p) => fs.readFileSync(p.name, 'utf8')",
        "py": "async def handler(p, c): return open(p['name']).read()",
    }[language]
    assert bench.is_alive(language)
    secret = bench.root.parent / "late.txt"
    secret.write_text("secret")
    link = bench.root / "amodal" / "late-link"
    link.symlink_to(secret)
    try:
        assert bench.inline(language, source, {"name": str(link)}).failure is not None
    finally:
        link.unlink()


@pytest.mark.parametrize("has_kernel", [True, False], ids=["kernel", "no kernel"])
def test_a_link_out_of_installed_packages_stops_nothing_and_leads_nowhere(
    tmp_path: Path, language: str, monkeypatch: pytest.MonkeyPatch, has_kernel: bool
) -> None:
    """Packages of a workspace are such links."""
    if not has_kernel:
        monkeypatch.setattr(sandbox, "landlock_version", lambda: 0)
        monkeypatch.setattr(reach, "landlock_version", lambda: 0)
    source = {
        "ts": "import fs from 'node:fs'; export default async (p) => fs.readFileSync(p.name, 'utf8')",
        "py": "async def handler(p, c): return open(p['name']).read()",
    }[language]
    bench = Bench(tmp_path)
    secret = tmp_path / "outside" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text("secret")
    packages = bench.root / "node_modules"
    (packages / "pkg").mkdir(parents=True)
    (packages / "pkg" / "words.txt").write_text("words")
    (packages / "shared").symlink_to(secret.parent)
    (packages / "file").symlink_to(secret)
    try:
        assert bench.inline(language, source, {"name": str(packages / "pkg/words.txt")}).result == "words"
        for name in ("shared/secret.txt", "file"):
            assert bench.inline(language, source, {"name": str(packages / name)}).failure is not None
    finally:
        bench.close()


LINKS = {
    "out of the repository": ("out", "../../outside/secret.txt", r"amodal/out.*leads out of it, to .*secret\.txt"),
    "a folder out of the repository": ("out", "../../outside", r"amodal/out.*leads out of it"),
    "the folder of the tools": ("tools", "../../outside", r"amodal/tools.*leads out of it"),
}


@pytest.mark.parametrize("case", list(LINKS))
def test_a_link_that_appears_before_a_process_starts_is_refused(tmp_path: Path, language: str, case: str) -> None:
    name, target, message = LINKS[case]
    root = tmp_path / "repo"
    repo = write_tools(root, {"t.ts": "export default () => 1", "t.py": "async def handler(p, c): return 1"})
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    if name == "tools":
        shutil.rmtree(root / "amodal" / "tools")
    (root / "amodal" / name).symlink_to(target)

    async def story() -> None:
        hosts = HandlerHosts(tmp_path / "cache")
        try:
            with pytest.raises(HostUnavailable, match=message):
                await RunDriver(hosts, repo, entry(f"t.{language}"), durable=False).leg()
        finally:
            await hosts.close()

    asyncio.run(story())


def test_a_link_inside_the_repository_opens_nothing_that_is_closed(tmp_path: Path, language: str) -> None:
    read = {
        "ts": "import fs from 'node:fs'; export default (p) => p.names.map((n) => { try { return fs.readFileSync(n, 'utf8') } catch { return 'closed' } })",
        "py": "async def handler(p, c):\n    def read(n):\n        try: return open(n).read()\n        except OSError: return 'closed'\n    return [read(n) for n in p['names']]",
    }
    root = tmp_path / "repo"
    repo = write_tools(
        root,
        {f"t.{language}": read[language], "amodal/.env": "KEY=1", "amodal/words.txt": "words", "notes/.git": "url"},
    )
    for name, target in {"alias": ".env", "token": "../notes/.git", "same": "words.txt"}.items():
        (root / "amodal" / name).symlink_to(target)
    names = [str(root / "amodal" / name) for name in ("alias", "token", "same", ".env")]

    async def story() -> Outcome:
        hosts = HandlerHosts(tmp_path / "cache")
        try:
            return await RunDriver(hosts, repo, entry(f"t.{language}"), {"names": names}, durable=False).leg()
        finally:
            await hosts.close()

    assert asyncio.run(story()).result == ["closed", "closed", "words", "closed"]


def test_a_comma_and_a_space_in_the_path_of_the_repository(tmp_path: Path) -> None:
    folder = tmp_path / "a, b"
    folder.mkdir()
    bench = Bench(folder)
    try:
        assert bench.is_alive("ts")
        assert bench.is_alive("py")
    finally:
        bench.close()
