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
SAID = b"Review t-1042\nYes, send it\n"

Event = dict[str, Any]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ("ANTHROPIC", "GOOGLE", "OPENAI"):
        monkeypatch.setenv(f"{provider}_API_KEY", KEY)


def talk(desk: Desk, *model: str) -> Sequence[Sequence[Event]]:
    """The events of each turn of one conversation."""
    ended = desk("chat", SUPPORT, "--events", *model, stdin=SAID)
    assert ended.code in (0, 3), ended.out
    turns: list[list[Event]] = []
    for line in ended.out.splitlines():
        event = json.loads(line)
        if event["type"] == "init":
            turns.append([])
        turns[-1].append(event)
    assert len(turns) == 2
    return turns


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
    assert len(far.seen) > 2
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
