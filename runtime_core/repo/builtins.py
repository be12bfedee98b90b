"""Names of tools that come with the runtime, and what a repository has to declare for them (contract 1.3, 5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

from runtime_core.repo.bundle import Agent, Bundle, Connection, Store

Mode = Literal["read", "rw"]

DEFAULT_TOOLS: Final = ("ask_choice", "present", "stop_execution", "load_knowledge")
"""What the model of an agent gets whose definition lists no tools."""
WEB_TOOLS: Final = ("web_search", "fetch_url")
REQUEST: Final = "request"
MAIL_TOOLS: Final = ("read_messages", "send_message")
BUILT_IN: Final = (*DEFAULT_TOOLS, "call_subagent", "memory", REQUEST, *WEB_TOOLS)
"""Names of contract 5.2 that need no connection."""
DRIVERS: Final = ("gmail", "mail")
"""The protocols of connections for mail."""
VERBS: Final[Mapping[str, Mode]] = {"get": "read", "query": "read", "list": "read", "set": "rw", "remove": "rw"}
"""What can be done with a store, and the grant it takes."""


LACKS: Final[Mapping[str, str]] = {
    "call_subagent": "an agent with subagents: list them in its agent.json",
    "load_knowledge": "documents: put them into knowledge/",
    "memory": 'memory: set "memory": {"enabled": true} in amodal.json',
    REQUEST: 'a connection: add connections/NAME/spec.json with "protocol": "rest"',
    **dict.fromkeys(WEB_TOOLS, "a provider: add webTools to amodal.json"),
    **dict.fromkeys(MAIL_TOOLS, 'a mailbox: add connections/NAME/spec.json with "protocol": "gmail" or "mail"'),
}
"""What a repository is to have for a tool that comes with the runtime."""


def store_tools(store: Store, mode: Mode = "rw") -> Sequence[str]:
    """The tools of a store that a grant gives."""
    verbs = (verb for verb, needed in VERBS.items() if mode == "rw" or needed == "read")
    return [f"store__{store.name}__{verb}" for verb in verbs if verb != "remove" or store.deletable]


def is_store_tool(name: str) -> bool:
    return name.startswith("store__")


def is_beyond_grants(name: str, agent: Agent, stores: Collection[str]) -> bool:
    """Whether a name is that of a store tool which the agent's grants, if it has any, do not give it."""
    store, _, verb = name.removeprefix("store__").rpartition("__")
    if not agent.stores or not is_store_tool(name) or store not in stores:
        return False
    held = agent.stores.get(store)
    return held is None or (held == "read" and VERBS.get(verb) != "read")


def rest_connections(bundle: Bundle) -> Sequence[str]:
    """The connections that ``request`` and ``ctx.request`` go through."""
    return [name for name, one in bundle.connections.items() if one.protocol == "rest"]


def is_driver(connection: Connection) -> bool:
    """Whether its protocol is the name of a driver, known or not."""
    return connection.protocol not in ("rest", "mcp")
