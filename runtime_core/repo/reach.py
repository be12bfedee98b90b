"""What a tool or an agent can get to: through what it uses, what its agents are granted, and what those use again."""

from __future__ import annotations

from collections.abc import Iterator

from runtime_core.repo.builtins import BUILT_IN, DEFAULT_TOOLS, MAIL_TOOLS, store_tools
from runtime_core.repo.bundle import Agent, Bundle

AGENT = "agent:"


def reach(name: str, bundle: Bundle) -> list[str]:
    """Names of tools, and ``agent:NAME``, ``connection:NAME``, ``mcp:NAME``; ``name`` is one of them as well."""
    found: set[str] = set()
    todo = [name]
    while todo:
        for following in _direct(todo.pop(), bundle):
            if following not in found and following != name:
                found.add(following)
                todo.append(following)
    return sorted(found)


def _direct(name: str, bundle: Bundle) -> Iterator[str]:
    if name.startswith(AGENT):
        agent = bundle.agents.get(name.removeprefix(AGENT))
        if agent is not None:
            yield from _granted(agent, bundle)
    elif name in bundle.tools:
        yield from bundle.tools[name].tools
        yield from (f"{AGENT}{agent}" for agent in bundle.tools[name].subagents)


def _granted(agent: Agent, bundle: Bundle) -> Iterator[str]:
    """What of an agent's lists is there: a name that stands for nothing is only warned about."""
    sources = tuple(f"{source}__" for source in (*bundle.connections, *bundle.servers))
    ready = {*BUILT_IN, *MAIL_TOOLS, *(tool for store in bundle.stores.values() for tool in store_tools(store))}
    for name in DEFAULT_TOOLS if agent.tools is None else agent.tools:
        if name in bundle.tools or name in ready or name.startswith(sources):
            yield name
    yield from (f"{AGENT}{other}" for other in agent.subagents if other in bundle.agents)
    yield from (f"connection:{name}" for name in agent.connections if name in bundle.connections)
    yield from (f"mcp:{name}" for name in agent.mcp if name in bundle.servers)
    for name, mode in agent.stores.items():
        if name in bundle.stores:
            yield from store_tools(bundle.stores[name], mode)
