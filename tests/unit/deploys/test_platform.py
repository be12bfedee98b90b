"""The client of the platform against its routes on loopback: what it reads, what it repeats, where the key goes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from runtime_core.deploys.address import Address
from runtime_core.deploys.following import Pace
from runtime_core.deploys.platform import Platform
from runtime_core.wire.builds import Line
from runtime_core.wire.codes import RuntimeFault
from tests.support.platform import KEY, Cuts, PlatformServer, Streams, platform_server
from tests.support.web import Says, web_server

PACE = Pace(first_s=0.01, longest_s=0.02, quiet_s=5, retries=3, settled_looks=2)
LINES = ["cloning", "npm ci", "npm ci", "done"]


@pytest.fixture
def server() -> Iterator[PlatformServer]:
    with platform_server(coming=list(LINES)) as server:
        yield server


def followed(server: PlatformServer, *, follow: bool = True, pace: Pace = PACE, build: str = "bld_7") -> list[Any]:
    """Texts of lines and, in angle brackets, states, in the order in which they were told."""

    async def story() -> list[Any]:
        told: list[Any] = []
        async with (
            Platform(Address(server.url, KEY), pace) as platform,
            aclosing(platform.log(build, follow=follow)) as log,
        ):
            async for piece in log:
                told.append(piece.text if isinstance(piece, Line) else f"<{piece}>")
        return told

    return asyncio.run(story())


def ordered(server: PlatformServer, key: str = KEY) -> Any:
    async def story() -> Any:
        async with Platform(Address(server.url, key), PACE) as platform:
            return await platform.redeploy("agent_1", "main", "production")

    return asyncio.run(story())


def refused(server: PlatformServer, key: str = KEY) -> RuntimeFault:
    with pytest.raises(RuntimeFault) as caught:
        ordered(server, key)
    return caught.value


def test_a_redeploy_is_what_the_founding_document_shows(server: PlatformServer) -> None:
    assert ordered(server).build_id == "bld_7"
    asked = server.seen[-1]
    assert (asked.method, asked.path) == ("POST", "/api/deployments/redeploy")
    assert asked.json == {"agentId": "agent_1", "branch": "main", "environment": "production"}
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"buildId": "b1"}, "b1"),
        ({"build_id": 17}, "17"),
        ({"build": {"id": "b1", "status": "queued"}}, "b1"),
        ({"deployment": {"id": "d1", "buildId": "b1"}}, "b1"),
        ({"id": "d1", "build": {"id": "b1"}}, "b1"),
        ({"data": {"deployment": {"id": "d1"}}}, "d1"),
        ({"build": "b1"}, "b1"),
        ({"id": "b1"}, "b1"),
        ({"ok": True}, ""),
        ([], ""),
    ],
)
def test_the_id_of_a_build_is_found_under_several_names(server: PlatformServer, answer: Any, wanted: str) -> None:
    server.deployed = answer
    assert ordered(server).build_id == wanted


@pytest.mark.parametrize("form", ["object", "text", "jsonl", "paged"])
def test_a_log_is_followed_until_the_build_ends_and_told_once(server: PlatformServer, form: str) -> None:
    server.form = form
    server.coming = [*LINES, "Build succeeded in 4 s"]
    told = followed(server)
    assert [text for text in told if not text.startswith("<")] == [*LINES, "Build succeeded in 4 s"]
    assert [text for text in told if text.startswith("<")][-1] == "<succeeded>"


def test_a_log_without_any_state_is_followed_until_it_says_how_it_ended(server: PlatformServer) -> None:
    server.form = "array"
    server.coming = ["compiling", "Deployment failed: exit code 1"]
    assert followed(server) == ["compiling", "Deployment failed: exit code 1", "<failed>"]


def test_a_log_that_never_says_how_it_ended_is_left_after_a_while(server: PlatformServer) -> None:
    server.form = "array"
    told = followed(server, pace=Pace(0.01, 0.02, quiet_s=0.2))
    assert told == [*LINES, "<unknown>"]


def test_without_following_all_pages_are_read_once(server: PlatformServer) -> None:
    server.form, server.log, server.coming = "paged", list("abcde"), ["never"] * 50
    assert followed(server, follow=False)[:6] == ["a", "b", "<running>", "c", "d", "e"]
    assert len(server.seen) >= 3


EVENTS = [
    "event: ping\ndata: {}\n\n",
    "data: one\n\n",
    'event: log\ndata: {"message": "two", "level": "error"}\n\n',
    "id: 3\ndata: three\n\n",
    'event: status\ndata: {"status": "failed"}\n\n',
]


def test_server_sent_events_are_told_as_they_come(server: PlatformServer) -> None:
    server.queued.append(Streams(EVENTS))
    assert followed(server) == ["one", "two", "three", "<failed>"]


def test_a_stream_that_is_cut_goes_on_where_it_was(server: PlatformServer) -> None:
    server.queued += [Streams(EVENTS[:2], is_cut=True), Streams(EVENTS)]
    assert followed(server) == ["one", "two", "three", "<failed>"]


def test_reading_is_repeated_after_trouble_that_passes(server: PlatformServer) -> None:
    server.queued += [
        Says({}, 503),
        Says({}, 429, {"Retry-After": "0"}),
        Cuts("cloning\n"),
        Says({}, 500),
    ]
    server.growth = 9
    assert followed(server) == [*LINES, "<succeeded>"]


def test_reading_ends_when_the_trouble_does_not_pass(server: PlatformServer) -> None:
    server.queued += [Says("<html>Bad gateway</html>", 502)] * 9
    with pytest.raises(RuntimeFault) as caught:
        followed(server)
    assert caught.value.code == "platform_failed"
    assert "502" in caught.value.message
    assert "html" not in caught.value.message
    assert len(server.seen) == PACE.retries + 1


def test_an_unknown_build_is_not_asked_for_again(server: PlatformServer) -> None:
    with pytest.raises(RuntimeFault) as caught:
        followed(server, build="no/such build")
    assert caught.value.code == "NOT_FOUND"
    assert [asked.path for asked in server.seen] == ["/api/builds/no%2Fsuch%20build/logs"]


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (Says({"error": {"message": "no such agent"}}, 404), "NOT_FOUND", "It says: no such agent"),
        (Says({"message": "slow down"}, 429, {"Retry-After": "7"}), "rate_limited", "It says: slow down"),
        (Says({}, 429, {"Retry-After": "7"}), "rate_limited", "It names 7 seconds to wait."),
        (Says({}, 429, {"Retry-After": "3600"}), "rate_limited", "It names 60 seconds or more to wait."),
        (Says("nope", 403), "platform_forbidden", "may not do that"),
        (Says({}, 500), "platform_failed", "500"),
        (Says({"error": f"bad key {KEY}"}, 400), "platform_failed", "bad key ***"),
        (Cuts("{", "application/json"), "platform_unreachable", "Nobody knows whether it was done"),
    ],
)
def test_an_order_is_sent_once_whatever_becomes_of_it(server: PlatformServer, said: Any, code: str, words: str) -> None:
    server.queued.append(said)
    fault = refused(server)
    assert fault.code == code
    assert words in fault.message
    assert KEY not in fault.message
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("said", "wait_s"),
    [
        ("7", 7.0),
        ("Tue, 01 Dec 2015 12:00:00 GMT", 0.0),
        ("Tue, 01 Dec 2015 12:00:00 -0000", 0.0),
        ("Tue, 01 Dec 9998 12:00:00 -0000", 60.0),
        ("Tue, 01 Dec 2015 23:00:00 -2300", 0.0),
        ("Tue, 01 Dec 99999999999999999999 12:00:00 GMT", None),
        ("in a while", None),
    ],
)
def test_how_long_to_wait_is_read_in_every_form(server: PlatformServer, said: str, wait_s: float | None) -> None:
    server.queued.append(Says({"error": "slow down"}, 429, {"Retry-After": said}))
    fault = refused(server)
    assert (fault.code, fault.details.get("retry_after_s")) == ("rate_limited", wait_s)


def test_a_wrong_key_says_what_to_do_and_does_not_show_it(server: PlatformServer) -> None:
    fault = refused(server, "another-key-5678")
    assert fault.code == "platform_unauthorized"
    assert "operator-inbox secret set AMODAL_API_KEY" in fault.message
    assert "another-key" not in fault.message


def test_a_platform_that_is_not_there(server: PlatformServer) -> None:
    with web_server() as gone:
        pass
    fault = refused(PlatformServer(url=gone.url))
    assert fault.code == "platform_unreachable"
    assert "Nobody knows" not in fault.message  # nothing was sent


def test_the_key_goes_to_no_other_origin(server: PlatformServer) -> None:
    with web_server() as other:
        for redirect in (Says({}, 302, {"Location": f"{other.url}/x"}), Says({}, 307, {"Location": f"{other.url}/x"})):
            server.queued.append(redirect)
            with pytest.raises(RuntimeFault) as caught:
                followed(server)
            assert caught.value.code == "platform_redirects"
            assert other.url in caught.value.message
            server.queued.append(redirect)
            assert refused(server).code == "platform_redirects"
        assert other.seen == []


def test_reads_follow_within_the_origin_and_orders_never(server: PlatformServer) -> None:
    server.queued.append(Says({}, 301, {"Location": "/api/builds/bld_7/logs?x=1"}))
    server.growth = 9
    assert followed(server)[-1] == "<succeeded>"
    server.queued.append(Says({}, 308, {"Location": "/elsewhere"}))
    assert refused(server).code == "platform_redirects"
    assert server.seen[-1].path == "/api/deployments/redeploy"


def test_too_much_is_not_read(server: PlatformServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime_core.deploys.platform.LOG_LIMIT", 1000)
    server.log = ["x" * 100] * 30
    for form in ("object", "text"):
        server.form = form
        with pytest.raises(RuntimeFault, match="answered with more than"):
            followed(server)


def test_built_in_tools_are_switched_where_the_route_says(server: PlatformServer) -> None:
    route = "/api/agents/{agent}/platform-tools"

    async def story() -> None:
        async with Platform(Address(server.url, KEY), PACE) as platform:
            assert await platform.tools(route, "agent_1") == {"web_search": True, "fetch_url": False}
            await platform.switch(route, "agent_1", "fetch_url", is_on=True)
            assert server.switches["fetch_url"] is True
            with pytest.raises(RuntimeFault, match="no such tool: a%2Fb"):
                await platform.switch(route, "agent_1", "a/b", is_on=True)

    asyncio.run(story())
