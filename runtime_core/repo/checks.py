"""Checks across files: every name in `uses` must resolve (contract 2.4, decision 31)."""

from __future__ import annotations

import re
from typing import Final, cast

from runtime_core.repo.agents import Agents
from runtime_core.repo.bundle import Agent, Tool
from runtime_core.repo.files import JsonFile, items_of
from runtime_core.repo.report import INVALID, Report, did_you_mean
from runtime_core.repo.tools import ToolScan

BUILT_IN: Final = frozenset(
    {
        "ask_choice",
        "call_subagent",
        "exec",
        "fetch_url",
        "load_knowledge",
        "memory",
        "present",
        "read_messages",
        "request",
        "send_message",
        "stop_execution",
        "web_search",
    }
)
"""Names of contract 5.2; none of them can be called in this version."""

_STORE_TOOL = re.compile(r"store__[a-z][a-z0-9_-]*__(get|set|query|list|remove)\Z")


def check_names(scan: ToolScan, agents: Agents, report: Report) -> None:
    """Report every name that does not resolve, those of broken tools included, so that everything shows at once.

    A tool or agent that is there and broken is not reported again where it is used.
    """
    for file in scan.files.values():
        for number, name in _declared(file, "tools"):
            if name not in scan.tools and scan.left_out.get(name) != "":
                message, remedy = _unresolved_tool(name, scan)
                report.error(INVALID, file.name, message, remedy, **file.place(("uses", "tools", number)))
        for number, name in _declared(file, "subagents"):
            if _is_missing(name, agents):
                message, remedy = _unresolved_agent(name, agents)
                report.error(INVALID, file.name, message, remedy, **file.place(("uses", "subagents", number)))
    for agent in agents.values():
        if isinstance(agent, Agent):
            _check_agent(agent, scan, agents, report)


def _declared(file: JsonFile, kind: str) -> list[tuple[int, str]]:
    uses = file.value.get("uses")
    names = items_of(cast("dict[str, object]", uses).get(kind)) if isinstance(uses, dict) else []
    return [(number, name) for number, name in enumerate(names) if isinstance(name, str)]


def _unresolved_tool(name: str, scan: ToolScan) -> tuple[str, str]:
    if name in scan.left_out:
        return f'The tool "{name}" is not available: {scan.left_out[name]}.', "Correct that, or take the name out."
    kind = _later_kind(name)
    if kind:
        return (
            f'"{name}" is {kind}, and this version does not have those yet.',
            "Use a tool of this repository instead.",
        )
    remedy = f"Create amodal/tools/{name}/ or correct the name.{did_you_mean(name, scan.tools)}"
    return f'There is no tool "{name}".', remedy


def _is_missing(name: str, agents: Agents) -> bool:
    return not isinstance(agents.get(name), Agent) and agents.get(name) != ""


def _unresolved_agent(name: str, agents: Agents) -> tuple[str, str]:
    if name in agents:
        return f'The agent "{name}" is not available: {agents[name]}.', "Correct that, or take the name out."
    remedy = f"Create agents/{name}/AGENT.md or correct the name.{did_you_mean(name, agents)}"
    return f'There is no agent "{name}".', remedy


def _kept_from_models(tool: Tool) -> tuple[str, str]:
    if not tool.llm_callable:
        return f'The tool "{tool.name}" says that no model may call it; this one is not offered it.', "Take it out."
    return (
        f'The tool "{tool.name}" has the exposure "{tool.exposure}", and in this version no call of a model can wait '
        "for a person; the model is not offered it.",
        "Call it from a durable tool, which may ask first, or give it the exposure open.",
    )


def _later_kind(name: str) -> str | None:
    if _STORE_TOOL.match(name) or name.startswith("store__"):
        return "a store tool"
    if "__" in name:
        return "a connection tool"
    if name in BUILT_IN:
        return "a built-in tool"
    return None


def _check_agent(agent: Agent, scan: ToolScan, agents: Agents, report: Report) -> None:
    """What a model is offered is only a matter of warning: the missing tool is simply not offered."""
    file = f"agents/{agent.name}"
    for number, name in enumerate(agent.tools or ()):
        if name not in scan.tools and scan.left_out.get(name) != "":
            message, _ = _unresolved_tool(name, scan)
            report.warning(
                INVALID,
                file,
                f"{message} The model is not offered it.",
                f"Correct the name, or take it out.{did_you_mean(name, scan.tools)}",
                key=f"tools[{number}]",
            )
        elif name in scan.tools and not scan.tools[name].for_models:
            report.warning(INVALID, file, *_kept_from_models(scan.tools[name]), key=f"tools[{number}]")
    for number, name in enumerate(agent.subagents):
        if _is_missing(name, agents):
            message, remedy = _unresolved_agent(name, agents)
            report.warning(INVALID, file, f"{message} The model is not offered it.", remedy, key=f"subagents[{number}]")
