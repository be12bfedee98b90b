"""``check``: load one agent repository and say what is in it, what each part reaches and what is wrong."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inbox_app.cli_session import DONE, say, say_json, settings
from inbox_app.cli_text import table, visible
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.embedded import bundle_error
from runtime_core.engine.definitions import Definitions
from runtime_core.hosts.base import HandlerLoadError, HostRepo, HostUnavailable
from runtime_core.hosts.sandbox import filters_calls, landlock_version, missing_borders
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.repo.bundle import Agent, Bundle, BundleError, Problem, Tool
from runtime_core.repo.report import PARSE_FAILED
from runtime_core.repo.trust import needs


def check(root: Path, *, as_json: bool) -> int:
    """Print the report; raises `GatewayError` with all problems when one of them is an error."""
    root = root.expanduser().absolute()
    try:
        bundle, found = asyncio.run(_read(root))
        problems = [*map(_for_whoever_checks, bundle.problems), *found]
        if any(problem.severity == "error" for problem in problems):
            raise BundleError(root, problems)
    except BundleError as error:
        if as_json:
            say_json({"path": str(root), "ok": False, "problems": [problem.to_wire() for problem in error.problems]})
        else:
            say(_problem_lines(error.problems))
        raise _summary(error) from error
    if as_json:
        say_json(_wire(bundle, problems))
    else:
        say(_lines(bundle, problems))
    return DONE


async def _read(root: Path) -> tuple[Bundle, list[Problem]]:
    """Load the repository and every handler in its sandbox, and say what is wrong with these."""
    with tempfile.TemporaryDirectory(prefix="operator-inbox-") as cache:
        hosts = HandlerHosts(Path(cache))
        try:
            bundle = await Definitions(hosts).load(root)
            return bundle, await _load_handlers(bundle, hosts)
        finally:
            await hosts.close()


def _for_whoever_checks(problem: Problem) -> Problem:
    """A definition in code that cannot be read leaves out only what it defines; whoever checks wants it put right."""
    return replace(problem, severity="error") if problem.code == PARSE_FAILED and problem.remedy else problem


async def _load_handlers(bundle: Bundle, hosts: HandlerHosts) -> list[Problem]:
    """Without calling any: syntax errors, missing imports, no function to call. Definitions in code are read already"""
    repo = HostRepo(bundle.root, bundle.revision)
    problems: list[Problem] = []
    for tool in bundle.tools.values():
        problem = await _load_handler(hosts, repo, tool) if tool.layout == "json" else None
        if problem is not None and problem not in problems:
            problems.append(problem)
    return problems


async def _load_handler(hosts: HandlerHosts, repo: HostRepo, tool: Tool) -> Problem | None:
    try:
        described = await hosts.describe(repo, tool.language, tool.entry)
    except HandlerLoadError as error:
        reason = " ".join(str(error).removeprefix(f"{tool.entry} cannot be loaded: ").split())
        message = f"The handler cannot be loaded: {reason}."
        return Problem("error", "CONFIG_VALIDATION_FAILED", tool.entry, message, "Correct it there.")
    except HostUnavailable as error:
        message = f"Handlers of this language are not checked here: {error}"
        return Problem("warning", "READ_FAILED", ".", message, "")
    if described["problem"] is None:
        return None
    message = f"Its handler cannot be called: {described['problem']}."
    remedy = {
        "typescript": "Write: export default async function (params, ctx) { … }.",
        "python": "Write: async def handler(params, ctx).",
    }[tool.language]
    return Problem("error", "CONFIG_VALIDATION_FAILED", tool.entry, message, remedy)


def _summary(error: BundleError) -> GatewayError:
    """The code and details of all problems under a message of one line; the problems themselves are the report."""
    whole = bundle_error([error])
    count = sum(problem.severity == "error" for problem in error.problems)
    errors = "1 error" if count == 1 else f"{count} errors"
    return GatewayError(whole.code, f"{error.root} cannot be used: {errors}, listed above.", whole.details)


def _wire(bundle: Bundle, problems: Sequence[Problem]) -> dict[str, Any]:
    return {
        "path": str(bundle.root),
        "ok": True,
        "name": bundle.name,
        "version": bundle.version,
        "revision": bundle.revision,
        "tools": [_tool_wire(tool, bundle) for tool in bundle.tools.values()],
        "agents": [_agent_wire(agent, bundle) for agent in bundle.agents.values()],
        "needs_trust": list(_needs(bundle)),
        "landlock": landlock_version(),
        "seccomp": filters_calls(),
        "problems": [problem.to_wire() for problem in problems],
    }


def _needs(bundle: Bundle) -> Sequence[str]:
    return needs(bundle, local=settings(quiet=True).shell_exec)


def _tool_wire(tool: Tool, bundle: Bundle) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "language": tool.language,
        "execution": "durable" if tool.durable else "inline",
        "file": tool.entry,
        "layout": tool.layout,
        "exposure": tool.exposure,
        "llm_callable": tool.llm_callable,
        "invocable": tool.invocable,
        "uses": {"tools": list(tool.tools), "subagents": list(tool.subagents)},
        "reach": reach(tool.name, bundle),
    }


def _agent_wire(agent: Agent, bundle: Bundle) -> dict[str, Any]:
    return {
        "name": agent.name,
        "description": agent.description,
        "file": agent.entry,
        "tools": list(agent.tools or ()),
        "subagents": list(agent.subagents),
        "decided_per_turn": [{"list": condition.key, "name": condition.name} for condition in agent.conditions],
    }


def reach(name: str, bundle: Bundle) -> list[str]:
    """Every tool and subagent (``agent:NAME``) a tool can get to through what it and its children use."""
    found: set[str] = set()
    todo = [name]
    while todo:
        current = todo.pop()
        for next_one in _direct(current, bundle):
            if next_one not in found and next_one != name:
                found.add(next_one)
                todo.append(next_one)
    return sorted(found)


def _direct(name: str, bundle: Bundle) -> list[str]:
    if name.startswith("agent:"):
        agent = bundle.agents.get(name.removeprefix("agent:"))
        if agent is None:
            return []
        return [*(agent.tools or ()), *_as_agents(agent.subagents)]
    tool = bundle.tools.get(name)
    return [*tool.tools, *_as_agents(tool.subagents)] if tool is not None else []


def _as_agents(names: Sequence[str]) -> list[str]:
    return [f"agent:{name}" for name in names]


def _lines(bundle: Bundle, problems: Sequence[Problem]) -> Iterator[str]:
    yield f"{visible(bundle.name)} {visible(bundle.version)}".rstrip() + f"  {bundle.root}"
    if bundle.tools:
        yield ""
        head = ["TOOL", "RUNS", "LANGUAGE", "DEFINED", "STARTS", "FOR MODELS", "REACHES"]
        yield table(head, [_tool_row(tool, bundle) for tool in bundle.tools.values()])
    if bundle.agents:
        yield ""
        yield table(["AGENT", "SUBAGENTS", "TOOLS"], [_agent_row(agent) for agent in bundle.agents.values()])
    if any(tool.language == "python" for tool in bundle.tools.values()):
        for text in missing_borders():
            yield ""
            yield text
    for need in _needs(bundle):
        yield ""
        yield f"has to be trusted, with --trust, before it may use {need}"
    yield ""
    if problems:
        yield from _problem_lines(problems)
    else:
        yield "no problems"


def _tool_row(tool: Tool, bundle: Bundle) -> list[str]:
    return [
        tool.name,
        "durable" if tool.durable else "inline",
        tool.language,
        "in code" if tool.layout == "code" else "by tool.json",
        "by invoke" if tool.invocable else "by code or `run`",
        _for_models(tool),
        ", ".join(reach(tool.name, bundle)),
    ]


def _for_models(tool: Tool) -> str:
    if not tool.llm_callable:
        return "no"
    return "yes" if tool.exposure == "open" else tool.exposure


def _agent_row(agent: Agent) -> list[str]:
    return [agent.name, _listed(agent, "subagents", agent.subagents), _listed(agent, "tools", agent.tools or ())]


def _listed(agent: Agent, key: str, names: Sequence[str]) -> str:
    open_ones = {condition.name for condition in agent.conditions if condition.key == key}
    return ", ".join(f"{name} (decided per turn)" if name in open_ones else name for name in names)


def _problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        yield f"{problem.severity}: {visible(str(problem))} [{problem.code}]"
