"""Refusals that a repository which loaded cannot provoke by itself, and the limits of nesting."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine.calls import Calls
from runtime_core.engine.definitions import Definitions
from runtime_core.engine.failures import CallFailed
from runtime_core.engine.frames import MAX_AGENT_LEVELS, MAX_TOOL_DEPTH, Origin, Place
from runtime_core.engine.gate import Order
from runtime_core.engine.hooks import Hooks
from runtime_core.engine.notes import HandlerLog
from runtime_core.engine.shell import Shell
from runtime_core.engine.surface import Surface
from runtime_core.hosts.base import HandlerCall
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.repo.bundle import Agent, Bundle, Tool
from runtime_core.spans.book import SpanBook
from runtime_core.tools.base import Toolbox
from tests.unit.engine.workshop import play

TOP = Tool("top", "", {}, "top.ts", "typescript", tools=("gone", "leaf"), subagents=("gone", "reviewer"), has_uses=True)
LEAF = Tool("leaf", "", {}, "leaf.ts", "typescript")
REVIEWER = Agent("reviewer", "", "", "")


def calls_of(folder: Path) -> Calls:
    bundle = Bundle(folder, "bench", "1", "r1", {"top": TOP, "leaf": LEAF}, {"reviewer": REVIEWER}, {})

    async def own_run(place: Place, params: str, is_selected: bool) -> str:
        raise AssertionError(f"{place} {params} {is_selected}")

    async def gate(order: Order) -> str:
        raise AssertionError(order)

    log = HandlerLog(folder / "log", lambda: False)
    origin = Origin(bundle, HandlerHosts(folder), None, "", "", lambda _: None, log, Toolbox(()))

    async def trusted() -> bool:
        return False

    async def no_model(_: Agent) -> None:
        return None

    shell = Shell(bundle, False, trusted, asyncio.Semaphore(), Path("nowhere"))
    surface = Surface(Definitions(origin.hosts), origin, "somebody", None)
    no_documents: Any = None
    hooks = Hooks(origin.hosts, no_documents)
    return Calls(origin, SpanBook("", 0), no_model, own_run, gate, shell, surface, hooks, {})


@pytest.mark.parametrize(
    ("name", "depth", "code"),
    [("gone", 0, "unknown-tool"), ("leaf", MAX_TOOL_DEPTH, "depth-exceeded"), ("other", 0, "undeclared")],
)
def test_tools_that_may_not_be_called(tmp_path: Path, name: str, depth: int, code: str) -> None:
    with pytest.raises(CallFailed) as caught:
        calls_of(tmp_path).child_tool(Place(TOP, depth=depth, names=("top",)), name, "{}")
    error = json.loads(caught.value.error)
    assert (error["name"], error["code"], error["toolName"]) == ("CompositeCallError", code, name)
    assert name in error["message"]


def test_the_deepest_allowed_tool(tmp_path: Path) -> None:
    place = Place(TOP, depth=MAX_TOOL_DEPTH - 1, names=("top",))
    assert calls_of(tmp_path).child_tool(place, "leaf", "{}") is LEAF


@pytest.mark.parametrize(
    ("name", "levels", "code"),
    [
        ("gone", 0, "subagent-unknown"),
        ("other", 0, "subagent-undeclared"),
        ("reviewer", MAX_AGENT_LEVELS, "depth-exceeded"),
        ("reviewer", MAX_AGENT_LEVELS - 1, "subagent-failed"),
    ],
)
def test_subagents_that_may_not_be_called(tmp_path: Path, name: str, levels: int, code: str) -> None:
    async def story() -> dict[str, Any]:
        call = HandlerCall(0, "subagent", name, "", '["Review.", null, null]')
        ok, value = await calls_of(tmp_path).perform(Place(TOP, levels=levels, names=("top",)), call)
        assert not ok
        return json.loads(value)

    error = play(story())
    assert (error["code"], error["agentName"]) == (code, name)


@pytest.mark.parametrize("args", ["[]", "[5, null, null]"])
def test_a_subagents_task_must_be_a_text(tmp_path: Path, args: str) -> None:
    async def story() -> dict[str, Any]:
        _, value = await calls_of(tmp_path).perform(Place(TOP), HandlerCall(0, "subagent", "reviewer", "", args))
        return json.loads(value)

    error = play(story())
    assert error["code"] == "subagent-failed"
    assert "must be a text" in error["message"]
