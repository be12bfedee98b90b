"""Requests of models that a policy looks at: contract 9.1 and decisions 20 and 29, over a real server and SQLite."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.web import Says, Web, web_server
from tests.unit.engine.workshop import Bench, Repo, bench, play

_POLICY: dict[str, Any] = {
    "endpoints": {
        "POST /refunds": {
            "confirm": True,
            "reason": "Pays money back.",
            "thresholds": [{"field": "body.amount", "above": 100, "escalate": "review"}],
        },
        "DELETE /orders/{id}": {"confirm": "never", "reason": "Orders are kept."},
        "POST /search": {"intent": "read"},
    },
    "fieldRestrictions": [{"entity": "Customer", "field": "iban", "policy": "never_retrieve"}],
}


def _shop(root: Path, url: str, **request: Any) -> Repo:
    """An agent whose model sends one request through a connection, and then says what came back."""
    repo = Repo(root / "repo", models={"main": {"provider": "scripted", "model": "script.json"}})
    repo.file("connections/erp/spec.json", {"baseUrl": url})
    repo.file("connections/erp/policy.json", _POLICY)
    repo.agent("desk", tools=["request"], connections=["erp"])
    repo.durable("review", agents=("desk",), ts="return { said: await ctx.callSubagent('desk', 'refund it', params) };")
    repo.script(
        {
            "agent": "desk",
            "match": "refund it",
            "tool_calls": [{"name": "request", "args": {"connection": "erp"} | request}],
        },
        {"agent": "desk", "text": "Heard: {{last_tool_result}}"},
    )
    return repo


async def _asked(on: Bench) -> dict[str, Any]:
    """The question about the request, once it is open."""
    return dict((await on.until("pause-opened", pause_kind="approval")).wire)


def _sent(web: Web) -> list[tuple[str, str, bytes]]:
    return [(seen.method, seen.path, seen.body) for seen in web.seen]


def test_a_request_of_the_tier_confirm_is_sent_when_a_person_allows_it(tmp_path: Path) -> None:
    with web_server() as web:
        repo = _shop(tmp_path, web.url, method="POST", endpoint="/refunds", data={"amount": 100})

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                running = asyncio.create_task(on.run("review"))
                asked = await _asked(on)
                sends = 'The agent "desk" wants to send POST /refunds through erp'
                assert asked["question"] == f"{sends}: Pays money back. Allow it?"
                assert asked["context"]["reason"] == "Pays money back."
                assert asked["context"]["request"] == {
                    "connection": "erp",
                    "method": "POST",
                    "endpoint": "/refunds",
                    "url": f"{web.url}/refunds",
                    "data": {"amount": 100},
                }
                assert web.seen == []
                await on.answer(asked["session_id"], "yes")
                told = 'Heard: {"status":200,"data":{"path":"/refunds"}}'
                assert (await running)["result"] == {"said": told}
                assert _sent(web) == [("POST", "/refunds", b'{"amount":100}')]

        play(story())


def test_what_the_context_adds_is_judged_and_shown(tmp_path: Path) -> None:
    with web_server() as web:
        repo = _shop(tmp_path, web.url, method="POST", endpoint="/refunds", data={"amount": 1})
        inject = {"amount": {"in": "body", "field": "amount"}}
        repo.file("connections/erp/spec.json", {"baseUrl": web.url, "contextInjection": inject})

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                await on.run("review", context='{"amount": 99999}')
                (asked,) = (await on.runtime.pending(who="ann"))["approvals"]
                assert "body.amount is more than 100" in asked["question"]
                assert asked["context"]["request"]["data"] == {"amount": 99999}
                await on.answer(asked["session_id"], "yes")
                assert _sent(web) == [("POST", "/refunds", b'{"amount":99999}')]

        play(story())


def test_what_would_be_sent_otherwise_than_it_was_allowed_is_not_sent(tmp_path: Path) -> None:
    """The connection changes while a person is asked."""
    with web_server() as web:
        repo = _shop(tmp_path, web.url, method="POST", endpoint="/refunds", data={"amount": 1})

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                running = asyncio.create_task(on.run("review", context='{"amount": 99999}'))
                asked = await _asked(on)
                inject = {"amount": {"in": "body", "field": "amount"}}
                repo.file("connections/erp/spec.json", {"baseUrl": web.url, "contextInjection": inject})
                await on.answer(asked["session_id"], "yes")
                assert "would not be what was allowed any more" in (await running)["result"]["said"]
                assert web.seen == []

        play(story())


def test_a_request_of_the_tier_review_waits_for_an_operator_and_no_agent_for_it(tmp_path: Path) -> None:
    with web_server() as web:
        repo = _shop(tmp_path, web.url, method="POST", endpoint="/refunds", data={"amount": 100.01})

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                done = await on.run("review")
                heard = done["result"]["said"]
                assert heard.startswith('Heard: {"error":"POST /refunds through erp was not sent')
                (asked,) = (await on.runtime.pending(who="ann"))["approvals"]
                assert asked["session_id"] in heard
                assert (asked["pause_kind"], asked["expires_at"]) == ("approval", None)
                assert "body.amount is more than 100" in asked["question"]
                assert web.seen == []
                decided = await on.answer(asked["session_id"], "yes")
                assert decided["result"] == {"status": 200, "data": {"path": "/refunds"}}
                assert _sent(web) == [("POST", "/refunds", b'{"amount":100.01}')]
                assert (await on.detail(asked["session_id"]))["run"]["gate"] == "review"

        play(story())


def test_a_request_of_the_tier_never_is_refused_at_once(tmp_path: Path) -> None:
    with web_server() as web:
        repo = _shop(tmp_path, web.url, method="DELETE", endpoint="/Orders/%37")

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                heard = (await on.run("review"))["result"]["said"]
                assert heard.startswith('Heard: {"error":"The policy of the connection does not allow DELETE')
                assert "Orders are kept." in heard
                assert (await on.runtime.pending(who="ann"))["total"] == 0
                assert web.seen == []

        play(story())


@pytest.mark.parametrize(
    "request_",
    [{"endpoint": "/refunds"}, {"method": "POST", "endpoint": "/search", "intent": "read", "data": {"q": 1}}],
)
def test_reading_asks_nobody_and_shows_no_restricted_field(tmp_path: Path, request_: dict[str, Any]) -> None:
    with web_server(lambda seen: Says({"customer": {"name": "A", "iban": "DE1"}})) as web:
        repo = _shop(tmp_path, web.url, **request_)

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                heard = (await on.run("review"))["result"]["said"]
                told = '{"status":200,"data":{"customer":{"name":"A"}},"fields_stripped":["iban"]}'
                assert heard == f"Heard: {told}"

        play(story())


def test_a_bad_policy_leaves_nothing_to_send(tmp_path: Path) -> None:
    with web_server() as web:
        repo = _shop(tmp_path, web.url, method="POST", endpoint="/refunds", data={"amount": 1})
        repo.file("connections/erp/policy.json", {"endpoints": {"POST /refunds": {"confirm": False}}})

        async def story() -> None:
            async with bench(repo, tmp_path / "data") as on:
                heard = (await on.run("review"))["result"]["said"]
                assert "policy" in heard
                assert web.seen == []

        play(story())
