"""Checks across files: every name in `uses` must resolve (contract 2.4, decision 31)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final, cast

from runtime_core.repo.agents import Agents
from runtime_core.repo.builtins import (
    BUILT_IN,
    MAIL_TOOLS,
    REQUEST,
    VERBS,
    WEB_TOOLS,
    is_beyond_grants,
    is_driver,
    store_tools,
)
from runtime_core.repo.bundle import Agent, Connection, Eval, McpServer, Skill, Tool
from runtime_core.repo.connections import Vetting
from runtime_core.repo.files import JsonFile, Key, items_of
from runtime_core.repo.report import INVALID, Report, did_you_mean
from runtime_core.repo.stores import Stores
from runtime_core.repo.tools import ToolScan

_NOT_OFFERED: Final = "The model is not offered it."


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that names in `uses` and in agents may stand for."""

    tools: ToolScan
    agents: Agents
    agent_files: Mapping[str, Sequence[JsonFile]]
    stores: Stores
    connections: Mapping[str, Connection]
    skills: Mapping[str, Skill]
    servers: Mapping[str, McpServer]
    manifest: Mapping[str, Any]
    vetting: Vetting | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a name is no good. One that ``resolves`` is declared and out of order, or of no use here."""

    message: str
    remedy: str
    resolves: bool = False


def check_names(parts: Parts, report: Report) -> None:
    """Report every name that does not resolve, those of broken tools included, so that everything shows at once.

    A tool, agent or store that is there and broken is not reported again where it is used.
    """
    known = _known_names(parts)
    for tool_name, file in parts.tools.files.items():
        for number, name in _declared(file, "tools"):
            finding = _find_tool(name, parts, known) or _odd_use(name, tool_name, file, parts)
            if finding is not None:
                add = report.warning if finding.resolves else report.error
                place = file.place(("uses", "tools", number))
                add(INVALID, file.name, finding.message, finding.remedy, **place)
        for kind, number, name in _repeated(file):
            place = file.place(("uses", kind, number))
            report.warning(INVALID, file.name, f'"{name}" is listed twice.', "Take one out.", **place)
        for number, name in _declared(file, "subagents"):
            if _is_missing(name, parts.agents):
                message, remedy = _unresolved_agent(name, parts.agents)
                report.error(INVALID, file.name, message, remedy, **file.place(("uses", "subagents", number)))
    for agent in parts.agents.values():
        if isinstance(agent, Agent):
            _check_agent(agent, parts, known, report)
    for name, tool in parts.tools.tools.items():
        if _is_ready_name(name, parts):
            message = f'The tool "{name}" replaces the one of that name that comes with the runtime.'
            report.warning(INVALID, tool.entry, message, "Give it another name if that is not meant.")


def check_grants(tools: Mapping[str, Tool], agents: Mapping[str, Agent], report: Report) -> None:
    """Warn of stores that tools use in a way no agent has a grant for; that limits only what models may call."""
    held = {(store, mode) for agent in agents.values() for store, mode in agent.stores.items()}
    for tool in tools.values() if agents else ():
        needed = dict.fromkeys(_store_of(name) for name in tool.tools if name.startswith("store__"))
        for store, verb in needed:
            mode = VERBS.get(verb)
            if mode is None or (store, "rw") in held or (store, mode) in held:
                continue
            message = f'"{tool.name}" uses {store} ({verb}), and no agent holds "{mode}" for that store.'
            remedy = f'Give it to an agent, "stores": {{"{store}": "{mode}"}}, if its model shall do that as well.'
            file = tool.entry.rpartition("/")[0] + "/tool.json"
            report.warning(INVALID, file, message, remedy, key="uses.tools")


def check_evals(evals: Mapping[str, Eval], parts: Parts, report: Report) -> None:
    """Warn of names in evals that stand for nothing: that nobody calls a tool always holds of one that is not there."""
    known = _known_names(parts)
    for one in evals.values():
        for assertion in one.assertions:
            finding = _find_tool(assertion.value, parts, known) if assertion.kind == "tool_called" else None
            if finding is not None and not finding.resolves:
                report.warning(INVALID, one.file, f"{assertion.text}: {finding.message}", finding.remedy)
        if one.tool and (finding := _find_tool(one.tool, parts, known)) is not None:
            report.warning(INVALID, one.file, finding.message, finding.remedy)
        if not one.tool and _is_missing(one.agent, parts.agents):
            report.warning(INVALID, one.file, *_unresolved_agent(one.agent, parts.agents))


def _declared(file: JsonFile, kind: str) -> list[tuple[int, str]]:
    uses = file.value.get("uses")
    names = items_of(cast("dict[str, object]", uses).get(kind)) if isinstance(uses, dict) else []
    return [(number, name) for number, name in enumerate(names) if isinstance(name, str)]


def _repeated(file: JsonFile) -> Iterator[tuple[str, int, str]]:
    for kind in ("tools", "subagents"):
        seen: set[str] = set()
        for number, name in _declared(file, kind):
            if name in seen:
                yield kind, number, name
            seen.add(name)


def _odd_use(name: str, tool: str, file: JsonFile, parts: Parts) -> Finding | None:
    """What resolves and is of no use."""
    if name == tool:
        message = f'"{name}" uses itself, and calls end five levels deep.'
        return Finding(message, "Take it out if that is not meant.", resolves=True)
    if file.value.get("execution") != "durable" and _asks(name, parts):
        message = f'A call of "{name}" always fails here: a person may have to be asked, which is not possible.'
        remedy = 'Write "execution": "durable", or use ctx.request in a tool of its own.'
        return Finding(message, remedy, resolves=True)
    return None


def _asks(name: str, parts: Parts) -> bool:
    """Whether it is refused to tools that are not durable (``confirmation-unsupported``)."""
    if (tool := parts.tools.tools.get(name)) is not None:
        return tool.exposure != "open"
    source = _source_of(name, parts)
    return name in ("request", *MAIL_TOOLS) or (source is not None and name != f"{source}__discover")


def _known_names(parts: Parts) -> Set[str]:
    stores = (tool for store in parts.stores.values() if store is not None for tool in store_tools(store))
    mail = MAIL_TOOLS if any(map(is_driver, parts.connections.values())) else ()
    discoveries = (f"{name}__discover" for name in parts.connections)
    return {*parts.tools.tools, *BUILT_IN, *stores, *mail, *discoveries}


def _find_tool(name: str, parts: Parts, known: Set[str]) -> Finding | None:
    """What is wrong with the name of a tool; None if nothing is, or if it has been reported already."""
    if name in parts.tools.tools:
        return None
    if (reason := parts.tools.left_out.get(name)) is not None:
        message = f'The tool "{name}" is not available: {reason}.'
        remedy = "Correct that, or take the name out."
        return Finding(message, remedy, resolves=name in parts.tools.passing) if reason else None
    if name in BUILT_IN:
        return _built_in(name, parts)
    if name in MAIL_TOOLS:
        return _mail_tool(name, parts)
    if name.startswith("store__"):
        return _store_tool(name, parts, known)
    source = _source_of(name, parts)
    if source is not None:
        connection = parts.connections.get(source)
        if connection is None:
            return _off(name, parts.servers[source])
        return _out_of_order(name, connection) or _no_operation(name, connection, parts.vetting)
    guess = did_you_mean(name, known)
    if "__" in name:
        message = f'"{name}": there is no connection or MCP server "{name.partition("__")[0]}".'
        return Finding(message, f"Declare it, or correct the name.{guess}")
    return Finding(f'There is no tool "{name}".', f"Create amodal/tools/{name}/ or correct the name.{guess}")


def _is_ready_name(name: str, parts: Parts) -> bool:
    if name in BUILT_IN or name in MAIL_TOOLS or _source_of(name, parts) is not None:
        return True
    return name.startswith("store__") and _store_of(name)[0] in parts.stores


def _built_in(name: str, parts: Parts) -> Finding | None:
    if name in WEB_TOOLS and "webTools" not in parts.manifest:
        message = f'"{name}" is not available: amodal.json sets up none that can be used.'
        return Finding(message, 'Add "webTools": {"provider": "google", "apiKey": "env:NAME"} there.', resolves=True)
    memory = parts.manifest.get("memory")
    if name == "memory" and not (isinstance(memory, dict) and cast("dict[str, Any]", memory).get("enabled") is True):
        message = '"memory" is not available: amodal.json does not enable it.'
        return Finding(message, 'Add "memory": {"enabled": true} there.', resolves=True)
    if name == REQUEST and all(one.protocol != "rest" for one in parts.connections.values()):
        return Finding('"request" needs a connection, and there is none.', "Add connections/NAME/spec.json.", True)
    return None


def _mail_tool(name: str, parts: Parts) -> Finding | None:
    drivers = [connection for connection in parts.connections.values() if is_driver(connection)]
    if not drivers:
        message = f'"{name}" needs a connection for mail, and there is none.'
        return Finding(message, 'Declare one with "protocol": "gmail".')
    return _out_of_order(name, drivers[0]) if all(driver.unavailable for driver in drivers) else None


def _store_tool(name: str, parts: Parts, known: Set[str]) -> Finding | None:
    store, verb = _store_of(name)
    if not store:
        return Finding(f'"{name}" is no tool of a store.', f"Write store__NAME__{'|'.join(VERBS)}.")
    if store not in parts.stores:
        remedy = f"Create amodal/stores/{store}.json or correct the name.{did_you_mean(name, known)}"
        return Finding(f'"{name}": there is no store "{store}".', remedy)
    definition = parts.stores[store]
    if definition is None or name in store_tools(definition):
        return None
    if verb == "remove":
        message = f'"{name}": nothing may be removed from the store "{store}".'
        return Finding(message, f'Add "deletable": true to {definition.file}, or take the name out.')
    return Finding(f'"{name}": a store has no tool "{verb}".', f"Use {', '.join(VERBS)}.{did_you_mean(name, known)}")


def _store_of(name: str) -> tuple[str, str]:
    store, _, verb = name.removeprefix("store__").rpartition("__")
    return store, verb


def _source_of(name: str, parts: Parts) -> str | None:
    """The connection or MCP server whose tool a name can be."""
    sources = [source for source in {*parts.connections, *parts.servers} if name.startswith(f"{source}__")]
    return max(sources, key=len, default=None)


def _out_of_order(name: str, connection: Connection) -> Finding | None:
    if connection.unavailable is None:
        return None
    message = f'"{name}" is not available: the connection "{connection.name}" cannot be used.'
    return Finding(message, "Correct what is reported of it.", resolves=True)


def _no_operation(name: str, connection: Connection, vetting: Vetting | None) -> Finding | None:
    operation = name.removeprefix(f"{connection.name}__")
    if vetting is None or is_driver(connection) or (others := vetting.others(connection, operation)) is None:
        return None
    if not others:
        message = f'"{name}": the connection "{connection.name}" has no OpenAPI document, and no tools without one.'
        return Finding(message, 'Add "openapi": {"source": …} to its spec.json, or use ctx.request.')
    hint = did_you_mean(name, [f"{connection.name}__{other}" for other in others])
    message = f'"{name}": the OpenAPI document of the connection "{connection.name}" has no such operation.'
    return Finding(message, f"Correct the name.{hint}")


def _off(name: str, server: McpServer) -> Finding | None:
    if server.problem is None:
        return None
    message = f'"{name}" is not available: the MCP server "{server.name}" is switched off.'
    return Finding(message, "Correct what is reported of it.", resolves=True)


def _is_missing(name: str, agents: Agents) -> bool:
    return not isinstance(agents.get(name), Agent) and agents.get(name) != ""


def _unresolved_agent(name: str, agents: Agents) -> tuple[str, str]:
    if name in agents:
        return f'The agent "{name}" is not available: {agents[name]}.', "Correct that, or take the name out."
    remedy = f"Create agents/{name}/AGENT.md or correct the name.{did_you_mean(name, agents)}"
    return f'There is no agent "{name}".', remedy


def _check_agent(agent: Agent, parts: Parts, known: Set[str], report: Report) -> None:
    """What a model is offered is only a matter of warning: what is missing is simply not offered."""
    files = parts.agent_files[agent.name]
    for key, message, remedy in _agent_findings(agent, parts, known):
        file = next((file for file in files if key[0] in file.value), files[-1])
        report.warning(INVALID, file.name, message, remedy, **file.place(key))
        if report.is_full:
            return


def _agent_findings(agent: Agent, parts: Parts, known: Set[str]) -> Iterator[tuple[Key, str, str]]:
    for number, name in enumerate(agent.tools or ()):
        key, tool = ("tools", number), parts.tools.tools.get(name)
        finding = _find_tool(name, parts, known)
        if finding is not None:
            remedy = f"Correct the name, or take it out.{did_you_mean(name, known)}"
            yield key, f"{finding.message} {_NOT_OFFERED}", finding.remedy if finding.resolves else remedy
        elif tool is not None and not tool.llm_callable:
            yield key, f'The tool "{name}" says that no model may call it; this one is not offered it.', "Take it out."
        elif tool is None and is_beyond_grants(name, agent, parts.stores):
            store, verb = _store_of(name)
            yield (
                key,
                f'The agent\'s grants do not give it "{name}". {_NOT_OFFERED}',
                f'Add "{store}": "{VERBS.get(verb, "rw")}" to its stores, or take the name out.',
            )
    for number, name in enumerate(agent.subagents):
        if _is_missing(name, parts.agents):
            message, remedy = _unresolved_agent(name, parts.agents)
            yield ("subagents", number), f"{message} {_NOT_OFFERED}", remedy
    for name in agent.stores:
        if name not in parts.stores:
            remedy = f"Correct the name, or take it out.{did_you_mean(name, parts.stores)}"
            yield ("stores", name), f'There is no store "{name}".', remedy
    kinds = (("connection", agent.connections, parts.connections), ("skill", agent.skills, parts.skills))
    for kind, names, there in (*kinds, ("MCP server", agent.mcp, parts.servers)):
        for number, name in enumerate(names):
            if name not in there:
                place = "mcp" if kind == "MCP server" else f"{kind}s"
                remedy = f"Correct the name, or take it out.{did_you_mean(name, there)}"
                yield (place, number), f'There is no {kind} "{name}".', remedy
