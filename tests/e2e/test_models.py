"""Agents with the models of providers: the same conversation, through the real clients and over the network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.e2e.driver import ROOT, Desk
from tests.support.providers import KEY, Fault, prompts_of, provider_server

SUPPORT = ROOT / "resources" / "samples" / "support-desk"
SCRIPT = SUPPORT / "models" / "conversation.json"

Event = dict[str, Any]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ("ANTHROPIC", "GOOGLE", "OPENAI"):
        monkeypatch.setenv(f"{provider}_API_KEY", KEY)


def talk(desk: Desk, *model: str) -> Sequence[Sequence[Event]]:
    """The events of each turn of one conversation: a review by two specialists, a question that is answered, a call
    that is denied, one that a hook blocks, a trigger, and files for three specialists."""
    said: list[str] = ["--scope", "whole"]  # its last conversation goes on
    turns = [said_to(desk, "Review t-1042", *said, *model), said_to(desk, "Yes, send it", *said, *model)]
    run = asked_in(turns[-1])["session_id"]
    assert desk("answer", run, "lisbon", "--json").json["result"]["parcel"] == "LIS-7731"
    turns.append(denied(desk, "Close account C-511", *said, *model))
    turns += [said_to(desk, text, *said, *model) for text in ("Reply to her", "STATUS t-1049")]
    pages = [desk.home / f"page-{number}.txt" for number in range(3)]
    for page in pages:
        page.write_text(f"{page.name}: paid")
    turns.append(
        said_to(desk, "Read these", *(word for page in pages for word in ("--attach", str(page))), *said, *model)
    )
    assert len({turn[0]["session_id"] for turn in turns}) == 1
    return turns


def said_to(desk: Desk, *words: str) -> Sequence[Event]:
    ended = desk("chat", SUPPORT, *words, "--events")
    assert ended.code in (0, 3), (ended.out, ended.err)
    return [json.loads(line) for line in ended.out.splitlines()]


def asked_in(turn: Sequence[Event]) -> Event:
    (waiting,) = (one for one in turn if "durable_session_id" in one and one["type"] == "tool_call_result")
    return json.loads(waiting["result"])


def denied(desk: Desk, *words: str) -> Sequence[Event]:
    """A turn in which somebody says no when it asks."""
    process = desk.start("chat", SUPPORT, *words, "--events")
    assert process.stdout is not None
    turn: list[Event] = []
    for line in process.stdout:
        turn.append(json.loads(line))
        if turn[-1]["type"] == "confirmation_required":
            assert desk("answer", turn[-1]["correlation_id"], "no").code == 0
    process.communicate(timeout=45)
    return turn


def told(turn: Sequence[Event]) -> dict[str, Any]:
    """What of a turn is the same whoever answers: not the pieces of text, nor the order of calls side by side."""
    of = {kind: [one for one in turn if one["type"] == kind] for kind in {one["type"] for one in turn}}
    starts, results = of.get("tool_call_start", []), of.get("tool_call_result", [])
    return {
        "text": "".join(one["content"] for one in of.get("text_delta", [])),
        "calls": sorted((one["tool_name"], one["depth"], json.dumps(one["parameters"])) for one in starts),
        "results": sorted((one["status"], one.get("error") or "") for one in results),
        "usage": turn[-1]["usage"],
    }


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Sequence[Event]]:
    return talk(Desk(tmp_path_factory.mktemp("scripted")))


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_conversation_goes_the_same_way_with_every_provider(
    desk: Desk, provider: str, scripted: Sequence[Sequence[Event]]
) -> None:
    with provider_server(SCRIPT, agents=prompts_of(SUPPORT)) as far:
        far.thinking = "Let me see."
        spoken = talk(desk, "--model", far.spec(provider))
    assert [told(turn) for turn in spoken] == [told(turn) for turn in scripted]
    (review, _, close, reply, status, files) = map(told, spoken)
    assert review["text"].endswith("Shall I send one?")
    assert ("error", "Tool call denied by user.") in close["results"]
    assert "may not promise a refund" in reply["results"][0][1]
    assert (status["text"], status["usage"]["total_tokens"]) == ("t-1049 of Tom Weaver is open since 2026-11-30.", 0)
    assert [name for name, _, _ in files["calls"]].count("call_subagent") == 3
    assert len(far.seen) > 10
    assert {KEY in str(seen.headers) for seen in far.seen} == {True}
    written = [file for file in desk.data.rglob("*") if file.is_file()]
    assert written
    assert not [file for file in written if KEY.encode() in file.read_bytes()]


def test_a_provider_that_does_not_answer_is_told_at_the_terminal_and_can_be_asked_again(desk: Desk) -> None:
    with provider_server(SCRIPT, agents=prompts_of(SUPPORT)) as far:
        far.faults += [Fault(429, headers={"Retry-After": "30"})]
        failed = desk("chat", SUPPORT, "Reply to her", "--model", far.spec("openai"))
        assert failed.code == 1
        assert "Try again in 30 s." in failed.out
        again = desk("chat", SUPPORT, "Reply to her", "--model", far.spec("openai"))
        assert again.code == 0, again.err


def test_a_model_of_the_settings_is_used_where_a_repository_names_none(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = desk.home / "desk"
    (repo / "agents" / "default").mkdir(parents=True)
    (repo / "agents" / "default" / "AGENT.md").write_text("You greet.")
    (repo / "amodal.json").write_text('{"name": "desk", "version": "1.0.0"}')
    refused = desk("chat", repo, "Hello")
    assert refused.code == 1
    assert "set models.main in amodal.json" in refused.out
    with provider_server([{"text": "Good morning."}], key=None) as far:
        config = desk.home / "config.toml"
        config.write_text(f'[models]\nmain = "{far.spec("openai")}"\n')
        monkeypatch.setenv("OPERATOR_INBOX_CONFIG", str(config))
        assert desk("chat", repo, "Hello", "--json").json["response"] == "Good morning."
