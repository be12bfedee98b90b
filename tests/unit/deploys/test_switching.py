"""Which tools can be switched, and what they lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from runtime_core.deploys.switching import switchables
from runtime_core.repo.builtins import BUILT_IN, MAIL_TOOLS
from runtime_core.repo.bundle import Agent, Bundle, Connection, Document, Tool
from runtime_core.tools.base import Caller, ReadyTool, Toolbox
from runtime_core.wire.builds import Switch
from runtime_core.wire.json import JsonText


class Family:
    """A provider of tools that do nothing."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        return ReadyTool(name, f"What {name} does.", {}, "chat", "read", _nothing) if name in self._names else None

    def names(self, bundle: Bundle) -> Sequence[str]:
        return self._names


async def _nothing(params: JsonText, caller: Caller) -> JsonText:
    raise AssertionError("nobody calls it")


EMPTY = Bundle(root=Path("/r"), name="x", version="1", revision="", tools={}, agents={}, manifest={})
ALWAYS = Toolbox([Family("ask_choice", "load_knowledge", "call_subagent", "request")])


def lacks(bundle: Bundle, toolbox: Toolbox = ALWAYS) -> set[str]:
    return {one.name for one in switchables(bundle, toolbox, ()) if one.lacks}


def test_what_a_repository_lacks_is_said() -> None:
    assert lacks(EMPTY) == {*BUILT_IN, *MAIL_TOOLS} - {"ask_choice", "present", "stop_execution"}
    crm = Connection("crm", "connections/crm", "rest", {})
    boss = Agent("boss", "", "boss", "", subagents=("clerk",))
    rules = Document("rules", "Rules", "knowledge/rules.md")
    full = replace(EMPTY, connections={"crm": crm}, agents={"boss": boss}, knowledge={"rules": rules})
    assert lacks(full, Toolbox([Family(*BUILT_IN, *MAIL_TOOLS)])) == set()


def test_tools_of_the_repository_and_of_other_systems_are_not_listed() -> None:
    crm = Connection("crm", "connections/crm", "rest", {})
    own = Tool("present", "", {}, "amodal/tools/present/tool.ts", "typescript")
    bundle = replace(EMPTY, connections={"crm": crm}, tools={"present": own})
    toolbox = Toolbox([Family("crm__get_user", "store__parcels__get", "present")])
    names = [one.name for one in switchables(bundle, toolbox, ())]
    assert "store__parcels__get" in names
    assert "crm__get_user" not in names
    assert "present" not in names


@pytest.mark.parametrize("is_on", [True, False])
def test_who_switched_it_is_told(is_on: bool) -> None:
    found = {one.name: one for one in switchables(EMPTY, ALWAYS, [Switch("request", is_on, "ann", 5.0)])}
    assert (found["request"].is_on, found["request"].who, found["request"].at) == (is_on, "ann", 5.0)
    assert found["ask_choice"].is_on
