"""What a model is offered: the tools its agent lists, and those that its grants give (contract 1.3)."""

from __future__ import annotations

from collections.abc import Iterator

from runtime_core.repo.builtins import (
    DEFAULT_TOOLS,
    MAIL_TOOLS,
    REQUEST,
    is_beyond_grants,
    is_driver,
    rest_connections,
    store_tools,
)
from runtime_core.repo.bundle import Agent, Bundle
from runtime_core.tools.base import Toolbox
from runtime_core.tools.knowledge import NAME as LOAD_KNOWLEDGE


def offered(agent: Agent, bundle: Bundle, toolbox: Toolbox) -> list[str]:
    """The tools that a model with the definition ``agent`` may call, each once, as far as they are there."""
    listed = DEFAULT_TOOLS if agent.tools is None else agent.tools
    names = dict.fromkeys([*listed, *_granted(agent, bundle, toolbox)])
    return [name for name in names if _is_there(name, agent, bundle, toolbox)]


def _is_there(name: str, agent: Agent, bundle: Bundle, toolbox: Toolbox) -> bool:
    own = bundle.tools.get(name)
    if own is not None:
        return own.llm_callable
    if (name == REQUEST and not rest_connections(bundle)) or toolbox.is_off(bundle, name):
        return False
    return not is_beyond_grants(name, agent, bundle.stores) and toolbox.find(bundle, name) is not None


def _granted(agent: Agent, bundle: Bundle, toolbox: Toolbox) -> Iterator[str]:
    for name, mode in agent.stores.items():
        if name in bundle.stores:
            yield from store_tools(bundle.stores[name], mode)
    if any(name in bundle.skills for name in agent.skills):
        yield LOAD_KNOWLEDGE
    if agent.subagents:
        yield "call_subagent"
    if agent.connections:
        yield REQUEST
    if any(name in bundle.connections and is_driver(bundle.connections[name]) for name in agent.connections):
        yield from MAIL_TOOLS
    sources = tuple(f"{name}__" for name in (*agent.connections, *agent.mcp))
    if sources:
        yield from (name for name in toolbox.names(bundle) if name.startswith(sources))
