"""What a model is offered: what its agent lists and is granted, as far as that is there (contract 1.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtime_core.repo.bundle import Agent, Bundle, Connection, Store, Tool
from runtime_core.tools.base import Caller, ReadyTool, Toolbox
from runtime_core.tools.offers import offered
from runtime_core.wire.json import JsonText

CHAT = ["ask_choice", "present", "stop_execution", "load_knowledge"]


class Shelf:
    """A provider of tools that do nothing."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        return ReadyTool(name, name, {}, "chat", "read", _nothing) if name in self._names else None

    def names(self, bundle: Bundle) -> Sequence[str]:
        return self._names


async def _nothing(params: JsonText, caller: Caller) -> JsonText:
    raise AssertionError("nobody calls it")


def tool(name: str, **changes: Any) -> Tool:
    return replace(Tool(name, name, {}, f"amodal/tools/{name}/tool.ts", "typescript"), **changes)


def bundle(*tools: Tool) -> Bundle:
    stores = {
        "parcels": Store("parcels", "stores/parcels.json", "{id}", {}, deletable=True),
        "events": Store("events", "stores/events.json", "{id}", {}),
    }
    connections = {name: Connection(name, f"connections/{name}", "rest", {}) for name in ("crm", "crm_old")}
    connections["post"] = Connection("post", "connections/post", "gmail", {})
    return Bundle(
        root=Path("/nowhere"),
        name="x",
        version="1",
        revision="",
        tools={one.name: one for one in tools},
        agents={},
        manifest={},
        stores=stores,
        connections=connections,
    )


def names(agent: Agent, *ready: str, tools: Sequence[Tool] = ()) -> list[str]:
    stores = [f"store__{store}__{verb}" for store in ("parcels", "events") for verb in VERBS]
    return offered(agent, bundle(*tools), Toolbox([Shelf(*CHAT, *stores, "request", "call_subagent", *ready)]))


VERBS = ("get", "query", "list", "set", "remove")
PLAIN = Agent(name="x", prompt="", display_name="x", description="x")


def test_no_list_gives_the_controls_of_a_chat_and_an_empty_one_nothing() -> None:
    assert names(PLAIN) == CHAT
    assert names(replace(PLAIN, tools=())) == []


def test_a_list_gives_what_is_there_once() -> None:
    agent = replace(PLAIN, tools=("ship", "ship", "web_search", "nothing", "hidden", "load_knowledge"))
    own = [tool("ship"), tool("hidden", llm_callable=False)]
    assert names(agent, tools=own) == ["ship", "load_knowledge"]
    assert names(agent, "web_search", tools=own) == ["ship", "web_search", "load_knowledge"]


def test_grants_of_stores_give_their_tools() -> None:
    none = replace(PLAIN, tools=())
    read = [f"store__parcels__{verb}" for verb in ("get", "query", "list")]
    assert names(replace(none, stores={"parcels": "read"})) == read
    assert names(replace(none, stores={"parcels": "rw"})) == [*read, "store__parcels__set", "store__parcels__remove"]
    assert "store__events__remove" not in names(replace(none, stores={"events": "rw"}))
    assert names(replace(none, stores={"gone": "rw"})) == []


def test_grants_limit_what_a_list_gives() -> None:
    listing = replace(PLAIN, tools=("store__parcels__set", "store__events__get"))
    assert names(listing) == ["store__parcels__set", "store__events__get"]
    assert "store__parcels__set" not in names(replace(listing, stores={"parcels": "read"}))
    assert "store__events__get" not in names(replace(listing, stores={"parcels": "rw"}))
    assert "store__parcels__set" in names(replace(listing, stores={"parcels": "rw"}))


def test_a_predicate_that_takes_a_store_or_connection_away_takes_its_tools() -> None:
    agent = replace(
        PLAIN, tools=("store__parcels__set", "crm__list_orders"), stores={"parcels": "rw"}, connections=("crm",)
    )
    ready = ("crm__list_orders", "crm_old__list_orders")
    less = agent.without({("stores", "parcels"), ("connections", "crm")})
    assert names(less, *ready) == []


def test_grants_of_connections_servers_and_subagents_give_theirs() -> None:
    none = replace(PLAIN, tools=())
    ready = ("crm__discover", "crm__list_orders", "crm_old__list_orders", "docs__search", "send_message")
    assert names(replace(none, connections=("crm",)), *ready) == ["request", "crm__discover", "crm__list_orders"]
    assert names(replace(none, connections=("post",)), *ready) == ["request", "send_message"]
    assert names(replace(none, mcp=("docs",)), *ready) == ["docs__search"]
    assert names(replace(none, subagents=("helper",))) == ["call_subagent"]


def test_request_is_offered_where_there_is_a_connection_for_it() -> None:
    agent = replace(PLAIN, tools=("request",))
    without = replace(bundle(), connections={})
    assert offered(agent, bundle(), Toolbox([Shelf("request")])) == ["request"]
    assert offered(agent, without, Toolbox([Shelf("request")])) == []


def test_a_tool_of_the_repository_goes_before_one_of_the_runtime() -> None:
    assert names(PLAIN, tools=[tool("present", llm_callable=False)]) == [
        "ask_choice",
        "stop_execution",
        "load_knowledge",
    ]


class Off:
    """Switches that were looked at."""

    def __init__(self, *names: str) -> None:
        self._names = names

    async def look(self, root: Path) -> None:
        pass

    def is_off(self, root: Path, tool: str) -> bool:
        return tool in self._names


def test_what_is_switched_off_is_not_offered_but_a_tool_of_the_repository_is() -> None:
    toolbox = Toolbox([Shelf(*CHAT)], Off("present", "ask_choice"))
    agent = Agent("a", "", "a", "", tools=("present", "ask_choice", "load_knowledge"))
    assert offered(agent, bundle(tool("present")), toolbox) == ["present", "load_knowledge"]
