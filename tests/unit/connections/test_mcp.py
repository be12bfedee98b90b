"""MCP servers over every transport: real ones, written with the SDK, and ones that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime_core.connections import mcp, mcp_session
from runtime_core.connections.mcp import McpServers
from runtime_core.connections.mcp_config import McpUnavailable
from runtime_core.connections.mcp_session import McpFailed
from runtime_core.repo.bundle import Bundle, Connection, McpServer
from runtime_core.repo.revision import revision_of
from runtime_core.repo.servers import connected, server_of
from runtime_core.repo.trust import needs
from runtime_core.wire.json import loads
from tests.unit.connections.calling import Kept

SERVERS = Path(__file__).parents[2] / "fixtures" / "mcp"
SECRET = "token-that-nobody-may-see"


class Desk:
    """One server and the runtime's side of it."""

    def __init__(self, root: Path, entry: Any, *, is_trusted: bool = True) -> None:
        servers = {"desk": server_of("desk", "mcp.servers.desk in amodal.json", entry)}
        self.bundle = Bundle(root, "x", "1", revision_of(root), {}, {}, {}, servers=servers)
        self.trusted: dict[str, Sequence[str]] = {}
        if is_trusted:
            self.trust()
        self.servers = McpServers(
            Kept({"DESK_TOKEN": SECRET, "DESK_URL": "http://127.0.0.1:9/mcp"}), self._trusted, root / ".remains"
        )

    def trust(self) -> None:
        """The code that is there, with everything it needs as that is now."""
        self.trusted[revision_of(self.bundle.root)] = needs(self.bundle)

    async def _trusted(self, root: Path, revision: str, need: str) -> bool:
        return any(agreed.startswith(need) for agreed in self.trusted.get(revision, ()))

    @property
    def server(self) -> McpServer:
        return self.bundle.servers["desk"]

    async def call(self, name: str, /, **arguments: Any) -> Any:
        tools = await self.servers.tools(self.bundle, self.server)
        return loads(await self.servers.call(self.bundle, self.server, tools[name], arguments))

    async def fails(self, name: str, /, **arguments: Any) -> str:
        with pytest.raises(McpFailed) as caught:
            await self.call(name, **arguments)
        return str(caught.value)

    async def is_unavailable(self) -> str:
        with pytest.raises(McpUnavailable) as caught:
            await self.servers.tools(self.bundle, self.server)
        return str(caught.value)


def sdk(**more: Any) -> dict[str, Any]:
    return {"transport": "stdio", "command": sys.executable, "args": [str(SERVERS / "desk.py"), "stdio"], **more}


def bare(way: str = "", **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVERS / "bare.py"), way], **more}


def with_desk(desk: Desk, story: Callable[[Desk], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(45):
            try:
                return await story(desk)
            finally:
                await desk.servers.close()

    return asyncio.run(bounded())


@asynccontextmanager
async def serving(kind: str, port: int) -> AsyncGenerator[None]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(SERVERS / "desk.py"), kind, str(port)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            await asyncio.sleep(0.05)
        yield
    finally:
        process.kill()
        await process.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


# Results -------------------------------------------------------------------------------------------------------------


def test_a_server_of_the_sdk_is_started_asked_and_called(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        tools = await desk.servers.tools(desk.bundle, desk.server)
        assert tools["add"].schema["required"] == ["a", "b"]
        assert tools["odd_name_v2"].original == "odd-name/v2"
        assert (tools["add"].description, tools["add"].is_read) == ("Add two numbers.", False)
        assert await desk.call("add", a=1, b=2) == {"sum": 3}
        assert await desk.call("greet", name="Ann") == {"result": "Hello, Ann."}
        assert await desk.call("lines") == "one\ntwo"
        image = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}
        assert await desk.call("picture") == [{"type": "text", "text": "A dot."}, image]
        assert await desk.call("odd_name_v2") == {"result": "odd"}
        failure = await desk.fails("refuse")
        assert "is not welcome" in failure
        assert SECRET not in failure
        assert len(await desk.call("flood", characters=500_000)) == 500_000
        assert "larger than 1024 KB" in await desk.fails("flood", characters=2_000_000)
        assert "above 8 MB" in await desk.fails("flood", characters=9_000_000)

    with_desk(Desk(tmp_path, sdk(env={"DESK_TOKEN": "env:DESK_TOKEN"})), story)


def test_a_command_gets_no_variable_but_its_own_and_runs_in_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMEBODYS_KEY", "not for servers")

    async def story(desk: Desk) -> None:
        told = await desk.call("whereabouts")
        assert '"DESK_TOKEN": "***"' in told
        assert '"PLAIN": "as it is"' in told
        assert f'"folder": "{tmp_path}"' in told
        assert SECRET not in told
        assert "SOMEBODYS_KEY" not in told

    with_desk(Desk(tmp_path, bare(env={"DESK_TOKEN": "env:DESK_TOKEN", "PLAIN": "as it is"})), story)


@pytest.mark.parametrize("trust", [True, False])
def test_what_a_server_says_of_its_tools_is_believed_if_the_entry_says_so(tmp_path: Path, trust: bool) -> None:
    async def story(desk: Desk) -> tuple[bool, bool]:
        tools = await desk.servers.tools(desk.bundle, desk.server)
        return tools["ping"].is_read, tools["pid"].is_read

    assert with_desk(Desk(tmp_path, bare(trust=trust)), story) == (trust, False)


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_server_that_is_reached_by_http_may_go_away_and_come_back(tmp_path: Path, kind: str) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/{'mcp' if kind == 'http' else 'sse'}"

    async def story(desk: Desk) -> None:
        async with serving(kind, port):
            assert await desk.call("add", a=1, b=2) == {"sum": 3}
            failure = await desk.fails("flood", characters=20_000_000)
            assert "larger than 8 MB" in failure or "the connection ended" in failure
            assert await desk.call("greet") == {"result": "Hello, you."}
        with pytest.raises((McpFailed, McpUnavailable)):
            await desk.call("greet")
        assert "cannot be reached" in str(await _gone(desk))
        async with serving(kind, port):
            assert await desk.call("greet") == {"result": "Hello, you."}

    with_desk(Desk(tmp_path, {"transport": kind, "url": url, "headers": {"X-Key": "env:DESK_TOKEN"}}), story)


async def _gone(desk: Desk) -> Exception:
    for _ in range(3):
        try:
            await desk.call("greet")
        except McpUnavailable as unavailable:
            return unavailable
        except McpFailed:
            continue
    raise AssertionError("it answers although it is gone")


# Servers that misbehave ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["", "old"])
def test_a_server_that_knows_only_the_oldest_handshake_is_used(tmp_path: Path, way: str) -> None:
    assert with_desk(Desk(tmp_path, bare(way)), lambda desk: desk.call("ping", n=1)) == 'ping {"n": 1}'


def test_a_server_that_dies_fails_its_call_and_is_started_again(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        failure = await desk.fails("die")
        assert "ended with code 3: going down" in failure
        assert await desk.call("ping") == "ping {}"

    with_desk(Desk(tmp_path, bare()), story)


def test_a_server_that_died_between_calls_is_started_again(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        first = int((await desk.call("pid")).split()[0])
        os.kill(first, 9)
        while True:
            with contextlib.suppress(McpFailed):
                assert int((await desk.call("pid")).split()[0]) != first
                break

    with_desk(Desk(tmp_path, bare()), story)


def test_a_server_that_hangs_fails_its_call_and_is_ended(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        first = int((await desk.call("pid")).split()[0])
        assert "did not answer within 0.5 s" in await desk.fails("hang")
        assert int((await desk.call("pid")).split()[0]) != first
        await desk.servers.close()
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)

    with_desk(Desk(tmp_path, bare(timeoutMs=500)), story)


def test_a_server_that_hangs_for_one_keeps_working_for_others(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.call("ping")
        slow, quick = await asyncio.gather(desk.fails("forget"), desk.call("late"))
        assert "did not answer" in slow
        assert quick == "late {}"

    with_desk(Desk(tmp_path, bare(timeoutMs=1500)), story)


def test_an_answer_that_is_no_json_fails_its_call_only(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        assert "answered nan with no JSON: nan is not a JSON number" in await desk.fails("nan")
        assert await desk.call("ping") == "ping {}"

    with_desk(Desk(tmp_path, bare()), story)


def test_a_line_without_an_end_ends_the_server(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        assert "wrote a message above 8 MB and was ended" in await desk.fails("line")
        assert await desk.call("ping") == "ping {}"

    with_desk(Desk(tmp_path, bare()), story)


def test_chatter_is_passed_over(tmp_path: Path) -> None:
    assert with_desk(Desk(tmp_path, bare()), lambda desk: desk.call("chatter")) == "chatter {}"


def test_tools_that_come_later_are_found(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.call("grow")
        assert await desk.call("grown") == "grown {}"
        assert "grown" in desk.servers.known(desk.bundle, desk.server)

    with_desk(Desk(tmp_path, bare()), story)


def test_a_list_of_tools_without_an_end_is_cut(tmp_path: Path) -> None:
    async def story(desk: Desk) -> int:
        return len(await desk.servers.tools(desk.bundle, desk.server))

    assert with_desk(Desk(tmp_path, bare("endless")), story) == 100


def test_a_schema_that_is_none_asks_for_nothing(tmp_path: Path) -> None:
    async def story(desk: Desk) -> Any:
        assert (await desk.servers.tools(desk.bundle, desk.server))["broken"].schema == {}
        return await desk.call("broken", n=1)

    assert with_desk(Desk(tmp_path, bare()), story) == 'broken {"n": 1}'


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (bare("dead", env={"DESK_TOKEN": "env:DESK_TOKEN"}), "ended with code 1: no desk here, says ***"),
        ({"command": "no-such-program"}, "there is no no-such-program (mcp.servers.desk in amodal.json)"),
        ({"command": str(SERVERS)}, "Permission denied"),
        ({"url": "http://127.0.0.1:9/mcp"}, "cannot be reached"),
        ({"url": "env:DESK_URL", "transport": "sse"}, "cannot be reached"),
        ({"url": "env:NO_SUCH_URL"}, "url needs NO_SUCH_URL, which is not set"),
        ({"url": "http://127.0.0.1:9/mcp", "headers": {"A": "scope:KEY"}}, "headers.A is a secret of a scope"),
        ({"url": "file:///etc/passwd"}, "begin with http://"),
        ({"transport": "carrier pigeon", "command": "x"}, "'stdio', 'sse' or 'http'"),
        ({"command": ["x", 7]}, "valid string"),
        ({"command": "x", "env": {"A": 1}}, "valid string"),
        ({"command": "x\0y"}, "NUL"),
        ({"transport": "stdio", "url": "http://127.0.0.1:9"}, "needs a command"),
        ("a text", "valid dict"),
    ],
)
def test_a_server_that_cannot_be_used_says_why(tmp_path: Path, entry: Any, reason: str) -> None:
    found = with_desk(Desk(tmp_path, entry), lambda desk: desk.is_unavailable())
    assert reason in found
    assert SECRET not in found


def test_a_server_that_says_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_session, "START_S", 0.5)
    found = with_desk(Desk(tmp_path, bare("mute")), lambda desk: desk.is_unavailable())
    assert "was not ready within 0.5 s" in found


def test_a_command_needs_trust_and_an_address_does_not(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        found = await desk.is_unavailable()
        assert "nobody has trusted the code" in found
        assert "--trust" in found
        desk.trust()
        assert await desk.call("ping") == "ping {}"

    with_desk(Desk(tmp_path, bare(), is_trusted=False), story)
    desk = Desk(tmp_path, {"url": "http://127.0.0.1:9/mcp"}, is_trusted=False)
    assert "cannot be reached" in with_desk(desk, lambda desk: desk.is_unavailable())


@pytest.mark.parametrize("argument", ["{}", "./{}", "--server={}"])
@pytest.mark.parametrize("changed", ["crm/server.py", "tools/helper.py"])
def test_a_command_is_trusted_with_the_files_it_runs_as_they_were(tmp_path: Path, argument: str, changed: str) -> None:
    """The file that the command names, which is no code of the revision, and the code it finds where it is run."""
    for file in ("crm/server.py", "tools/helper.py"):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(f"open({str(tmp_path / 'started')!r}, 'w')")

    async def story(desk: Desk) -> None:
        (tmp_path / changed).write_text(f"open({str(tmp_path / 'changed')!r}, 'w')")
        assert "nobody has trusted" in await desk.is_unavailable()
        assert not (tmp_path / "changed").exists()
        desk.trust()
        assert "nobody has trusted" not in await desk.is_unavailable()

    with_desk(Desk(tmp_path, {"command": sys.executable, "args": [argument.format("crm/server.py")]}), story)


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is swept there")
def test_what_a_killed_runtime_left_behind_is_ended_and_its_note_holds_no_secret(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        pid = int((await desk.call("pid")).split()[0])
        (note,) = (tmp_path / ".remains").iterdir()
        assert SECRET not in note.read_text()
        assert note.stat().st_mode & 0o077 == 0
        gone = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
        await gone.wait()
        note.rename(note.with_name(f"{gone.pid}-{pid}"))
        assert desk.servers.sweep() == 1
        assert "was ended by signal 9" in await desk.fails("ping")

    entry = bare()
    entry["args"] = [*entry["args"], "env:DESK_TOKEN"]
    with_desk(Desk(tmp_path, entry), story)


def test_a_server_that_says_nothing_delays_nobody_but_those_who_need_it_and_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "amodal.json").write_text(name)
    mute, good = Desk(tmp_path / "one", bare("mute")), Desk(tmp_path / "two", bare())
    monkeypatch.setattr(mcp_session, "START_S", 600.0)
    monkeypatch.setattr(mcp, "AGAIN_S", 0.0)

    async def story(desk: Desk) -> None:
        desk.trusted = {**good.trusted, **mute.trusted}
        delayed = asyncio.create_task(desk.servers.ask(mute.bundle, [mute.server], 600.0))
        await desk.servers.ask(good.bundle, [good.server], 600.0)
        assert desk.servers.known(good.bundle, good.server)
        delayed.cancel()
        await asyncio.wait([delayed])
        await desk.servers.ask(mute.bundle, [mute.server], 0.01)
        await desk.servers.ask(mute.bundle, [mute.server], 600.0)
        assert not desk.servers.known(mute.bundle, mute.server)
        await desk.servers.close()
        assert len(asyncio.all_tasks()) == 1

    with_desk(mute, story)


def test_many_calls_at_once_share_one_server(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        found = await asyncio.gather(*(desk.call("pid", n=n) for n in range(50)))
        assert len({text.split()[0] for text in found}) == 1
        assert [json.loads(text.split(" ", 1)[1])["n"] for text in found] == list(range(50))

    with_desk(Desk(tmp_path, bare()), story)


def test_a_call_that_is_cancelled_leaves_the_server_alone(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        first = await desk.call("pid")
        call = asyncio.create_task(desk.call("forget"))
        await desk.call("ping")
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled()
        assert await desk.call("pid") == first

    with_desk(Desk(tmp_path, bare()), story)


def test_closing_ends_the_process_also_during_a_call(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        process = int((await desk.call("pid")).split()[0])
        call = asyncio.create_task(desk.fails("forget"))
        await desk.call("ping")
        await desk.servers.close()
        assert "failed at forget" in await call
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)

    with_desk(Desk(tmp_path, bare()), story)


def test_a_connection_of_the_protocol_is_a_server() -> None:
    given = Connection("crm", "connections/crm", "mcp", bare())
    broken = Connection("old", "connections/old", "mcp", bare(), unavailable="its spec.json is no JSON")
    rest = Connection("api", "connections/api", "rest", {"baseUrl": "http://127.0.0.1:9"})
    found = connected({"crm": given, "old": broken, "api": rest})
    assert sorted(found) == ["crm", "old"]
    assert (found["crm"].command[0], found["old"].problem) == (sys.executable, "its spec.json is no JSON")
