"""``check``: load one agent repository and say what is in it, what each part reaches and what is wrong."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from inbox_app.cli_check_text import lines, refused_lines
from inbox_app.cli_session import DONE, say, say_json, settings
from inbox_app.desktop.secrets import Keychain
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.embedded import bundle_error
from runtime_core.connections.openapi_check import Described, described
from runtime_core.engine.definitions import Definitions
from runtime_core.hosts.base import DependenciesUnavailable, HandlerLoadError, HostRepo, HostUnavailable
from runtime_core.hosts.sandbox import filters_calls, landlock_version, missing_borders
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.journal.driver import DriverError
from runtime_core.journal.look import look
from runtime_core.journal.trust import Agreement, agreement
from runtime_core.repo.builtins import DEFAULT_TOOLS
from runtime_core.repo.bundle import Agent, Bundle, BundleError, Hook, Ignored, Problem, Tool
from runtime_core.repo.checks import check_grants
from runtime_core.repo.outlets import outlets
from runtime_core.repo.reach import AGENT, reach
from runtime_core.repo.report import PARSE_FAILED, Report
from runtime_core.repo.trust import needs


def check(root: Path, data: Path, *, as_json: bool) -> int:
    """Print the report; raises `GatewayError` with all problems when one of them is an error.

    What ``data``, the data folder, holds of trust and packages counts; nothing is written there.
    One of the repository itself leaves nothing to print; others leave out only the part that they are about.
    """
    root = root.expanduser().absolute()
    try:
        bundle, found = asyncio.run(_read(root, data / "hosts" / "packages"))
        needed = needs(bundle, local=settings(quiet=True).shell_exec)
    except BundleError as error:
        if as_json:
            shown = {"problems": [problem.to_wire() for problem in error.problems], **_ignored_wire(error.ignored)}
            say_json({"path": str(root), "ok": False, **shown})
        else:
            say(refused_lines(error))
        raise _summary(error, f"{root} cannot be used") from error
    report = Report()
    check_grants(bundle.tools, bundle.agents, report)
    openapi = described(bundle, Keychain())
    problems = [*map(_for_whoever_checks, bundle.problems), *report.problems, *found, *openapi.problems]
    agreed = _agreement(data, bundle)
    failed = any(problem.severity == "error" for problem in problems)
    if as_json:
        say_json({**_wire(bundle, problems, openapi), **_trust_wire(needed, agreed), "ok": not failed})
    else:
        is_python = any(tool.language == "python" for tool in bundle.tools.values())
        say(lines(bundle, needed, agreed, missing_borders() if is_python else (), problems))
    if failed:
        raise _summary(BundleError(root, problems), f"Parts of {root} cannot be used, the rest works")
    return DONE


async def _read(root: Path, packages: Path) -> tuple[Bundle, list[Problem]]:
    """Load the repository and every handler in its sandbox, and say what is wrong with these."""
    with tempfile.TemporaryDirectory(prefix="operator-inbox-") as cache:
        hosts = HandlerHosts(Path(cache), packages=packages)
        try:
            bundle = await Definitions(hosts, Keychain()).load(root)
            return bundle, await _load_handlers(bundle, hosts)
        finally:
            await hosts.close()


def _for_whoever_checks(problem: Problem) -> Problem:
    """A definition in code that cannot be read leaves out only what it defines; whoever checks wants it put right."""
    is_code = problem.file.endswith((".ts", ".py"))
    return (
        replace(problem, severity="error") if problem.code == PARSE_FAILED and problem.remedy and is_code else problem
    )


async def _load_handlers(bundle: Bundle, hosts: HandlerHosts) -> list[Problem]:
    """Handlers and hooks, without calling any: syntax errors, missing imports, no function to call.

    Definitions in code are read already.
    """
    repo = HostRepo(bundle.root, bundle.revision)
    problems: list[Problem] = []
    for tool in bundle.tools.values():
        problem = await _load_handler(hosts, repo, tool) if tool.layout == "json" else None
        if problem is not None and problem not in problems:
            problems.append(problem)
    for hook in bundle.hooks:
        problem = await _load_hook(hosts, repo, hook)
        if problem is not None and problem not in problems:
            problems.append(problem)
    return problems


async def _load_hook(hosts: HandlerHosts, repo: HostRepo, hook: Hook) -> Problem | None:
    try:
        await hosts.describe(repo, hook.language, hook.entry, "hook", hook.config)
    except HandlerLoadError as error:
        broken = _broken("hook", hook.entry, error)
    except HostUnavailable as error:
        return _unchecked(error)
    else:
        return None
    remedy = {
        "typescript": "Write: export function createHook(config) { return { run(point, payload, ctx) { … } }; }.",
        "python": "Write: def create_hook(config), which returns an object with a function run(point, payload, ctx).",
    }[hook.language]
    return replace(broken, remedy=remedy) if "has no hook" in broken.message else broken


def _broken(what: str, entry: str, error: HandlerLoadError) -> Problem:
    reason = " ".join(str(error).removeprefix(f"{entry} cannot be loaded: ").split())
    message = f"The {what} cannot be loaded: {reason}."
    return Problem("error", "CONFIG_VALIDATION_FAILED", entry, message, "Correct it there.")


def _unchecked(error: HostUnavailable) -> Problem:
    return Problem("warning", "READ_FAILED", ".", f"Handlers of this language are not checked here: {error}", "")


async def _load_handler(hosts: HandlerHosts, repo: HostRepo, tool: Tool) -> Problem | None:
    try:
        described = await hosts.describe(repo, tool.language, tool.entry)
    except HandlerLoadError as error:
        return _broken("handler", tool.entry, error)
    except DependenciesUnavailable as error:
        if error.code != "untrusted":
            return Problem("error", "CONFIG_VALIDATION_FAILED", tool.entry, str(error), "")
        message = f"Its handler is not checked: the packages in {tool.dependencies} are installed when it first runs."
        return Problem("warning", "READ_FAILED", tool.entry, message, "")
    except HostUnavailable as error:
        return _unchecked(error)
    if described["problem"] is None:
        return None
    message = f"Its handler cannot be called: {described['problem']}."
    remedy = {
        "typescript": "Write: export default async function (params, ctx) { … }.",
        "python": "Write: async def handler(params, ctx).",
    }[tool.language]
    return Problem("error", "CONFIG_VALIDATION_FAILED", tool.entry, message, remedy)


def _summary(error: BundleError, what: str) -> GatewayError:
    """The code and details of all problems under a message of one line; the problems themselves are the report."""
    whole = bundle_error([error])
    count = sum(problem.severity == "error" for problem in error.problems)
    errors = "1 error" if count == 1 else f"{count} errors"
    return GatewayError(whole.code, f"{what}: {errors}, listed above.", whole.details)


def _wire(bundle: Bundle, problems: Sequence[Problem], openapi: Described) -> dict[str, Any]:
    return {
        "path": str(bundle.root),
        "name": bundle.name,
        "version": bundle.version,
        "revision": bundle.revision,
        "tools": [_tool_wire(tool, bundle) for tool in bundle.tools.values()],
        "agents": [_agent_wire(agent, bundle) for agent in bundle.agents.values()],
        **_parts_wire(bundle, openapi),
        "values": [asdict(outlet) for outlet in outlets(bundle)],
        "landlock": landlock_version(),
        "seccomp": filters_calls(),
        "problems": [problem.to_wire() for problem in problems],
    }


def _agreement(data: Path, bundle: Bundle) -> Agreement | None:
    """What was agreed to for this code, as far as there is a journal that can be read."""
    file = data / "runtime.db"
    try:
        if not file.is_file():
            return None
        with look(file) as db:
            return agreement(db, str(bundle.root), bundle.revision)
    except (DriverError, OSError):
        return None


def _trust_wire(needed: Sequence[str], agreed: Agreement | None) -> dict[str, Any]:
    """Whoever agreed to something else, for example before a script was changed, does not count."""
    counts = agreed is not None and set(needed) <= {*agreed.needs}
    told = {"by": agreed.who, "at": agreed.at} if agreed is not None and counts and needed else None
    return {"needs_trust": list(needed), "trusted": told}


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
        "dependencies": tool.dependencies,
        "reach": reach(tool.name, bundle),
    }


def _agent_wire(agent: Agent, bundle: Bundle) -> dict[str, Any]:
    return {
        "name": agent.name,
        "description": agent.description,
        "file": agent.entry,
        "tools": list(DEFAULT_TOOLS if agent.tools is None else agent.tools),
        "subagents": list(agent.subagents),
        "stores": dict(agent.stores),
        "connections": list(agent.connections),
        "skills": list(agent.skills),
        "mcp": list(agent.mcp),
        "decided_per_turn": [{"list": condition.key, "name": condition.name} for condition in agent.conditions],
        "reach": reach(f"{AGENT}{agent.name}", bundle),
    }


def _parts_wire(bundle: Bundle, openapi: Described) -> dict[str, Any]:
    """Everything beside tools and agents."""
    documents = {"knowledge": bundle.knowledge, "evals": bundle.evals}
    return {
        "stores": [
            {
                "name": store.name,
                "file": store.file,
                "key": store.key,
                "fields": list(store.schema),
                "indexed": list(store.indexed),
                "deletable": store.deletable,
                "shared": store.shared,
            }
            for store in bundle.stores.values()
        ],
        "connections": [
            {
                "name": connection.name,
                "folder": connection.folder,
                "protocol": connection.protocol,
                "endpoints": list(connection.policy.endpoints),
                "unavailable": connection.unavailable,
                "operations": list(openapi.operations.get(connection.name, ())),
            }
            for connection in bundle.connections.values()
        ],
        "hooks": [
            {
                "name": hook.name,
                "file": hook.entry,
                "points": sorted(hook.points),
                "capabilities": sorted(hook.capabilities),
                "fail_policy": "closed" if hook.is_closed else "open",
                "priority": hook.priority,
            }
            for hook in bundle.hooks
        ],
        "skills": [{"name": skill.name, "file": skill.file} for skill in bundle.skills.values()],
        **{
            kind: [{"name": one.name, "title": one.title, "file": one.file} for one in found.values()]
            for kind, found in documents.items()
        },
        "automations": [{"name": one.name, "file": one.file} for one in bundle.automations.values()],
        **_ignored_wire(bundle.ignored),
    }


def _ignored_wire(ignored: Sequence[Ignored]) -> dict[str, Any]:
    return {"ignored": [{"path": one.path, "reason": one.reason} for one in ignored]}
