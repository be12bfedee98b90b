"""``check``: load one agent repository and say what is in it, what each part reaches and what is wrong."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inbox_app.cli_check_text import Kept, lines, refused_lines
from inbox_app.cli_session import DONE, say, say_json, settings
from inbox_app.desktop.secrets import Keychain
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.embedded import bundle_error
from runtime_core.agents.model_check import Used, used_models
from runtime_core.automations.definition import problems_of_files
from runtime_core.connections.openapi_check import Described, described
from runtime_core.deploys.handlers import load_handlers
from runtime_core.deploys.local import as_judged
from runtime_core.engine.definitions import Definitions
from runtime_core.hosts.sandbox import filters_calls, landlock_version, missing_borders
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.journal.driver import DriverError
from runtime_core.journal.look import look
from runtime_core.journal.switches import switches
from runtime_core.journal.trust import Agreement, agreement
from runtime_core.repo.builtins import DEFAULT_TOOLS
from runtime_core.repo.bundle import Agent, Bundle, BundleError, Ignored, Problem, Tool
from runtime_core.repo.checks import check_grants
from runtime_core.repo.outlets import outlets
from runtime_core.repo.reach import AGENT, reach
from runtime_core.repo.report import Report
from runtime_core.repo.trust import needs
from runtime_core.wire.builds import Switch


def check(root: Path, data: Path, *, as_json: bool) -> int:
    """Print the report; raises `GatewayError` with all problems when one of them is an error.

    What ``data``, the data folder, holds of trust and packages counts; nothing is written there.
    One of the repository itself leaves nothing to print; others leave out only the part that they are about.
    """
    root = root.expanduser().absolute()
    try:
        bundle, found = asyncio.run(_read(root, data / "hosts" / "packages"))
        chosen = settings(as_json=as_json)
        needed = needs(bundle, local=chosen.shell_exec)
    except BundleError as error:
        if as_json:
            shown = {"problems": [problem.to_wire() for problem in error.problems], **_ignored_wire(error.ignored)}
            say_json({"path": str(root), "ok": False, **shown})
        else:
            say(refused_lines(error))
        raise _summary(error, f"{root} cannot be used") from error
    report = Report()
    check_grants(bundle.tools, bundle.agents, report)
    keychain = Keychain()
    openapi, used = described(bundle, keychain), used_models(bundle, chosen.models, keychain.get, keychain.trouble)
    problems = [
        *map(as_judged, bundle.problems),
        *report.problems,
        *found,
        *openapi.problems,
        *used.problems,
        *problems_of_files(bundle),
    ]
    kept = _kept(data, bundle)
    failed = any(problem.severity == "error" for problem in problems)
    if as_json:
        say_json(
            {
                **_wire(bundle, problems, openapi, used),
                **_trust_wire(needed, kept.agreed),
                **_switches_wire(kept.off),
                "ok": not failed,
            }
        )
    else:
        is_python = any(tool.language == "python" for tool in bundle.tools.values())
        say(lines(bundle, used.models, needed, kept, missing_borders() if is_python else (), problems))
    if failed:
        raise _summary(BundleError(root, problems), f"Parts of {root} cannot be used, the rest works")
    return DONE


async def _read(root: Path, packages: Path) -> tuple[Bundle, list[Problem]]:
    """Load the repository and every handler in its sandbox, and say what is wrong with these."""
    with tempfile.TemporaryDirectory(prefix="operator-inbox-") as cache:
        hosts = HandlerHosts(Path(cache), packages=packages)
        try:
            bundle = await Definitions(hosts, Keychain()).load(root)
            found = [problem async for _, problem in load_handlers(bundle, hosts)]
            return bundle, [problem for problem in found if problem is not None]
        finally:
            await hosts.close()


def _summary(error: BundleError, what: str) -> GatewayError:
    """The code and details of all problems under a message of one line; the problems themselves are the report."""
    whole = bundle_error([error])
    count = sum(problem.severity == "error" for problem in error.problems)
    errors = "1 error" if count == 1 else f"{count} errors"
    return GatewayError(whole.code, f"{what}: {errors}, listed above.", whole.details)


def _wire(bundle: Bundle, problems: Sequence[Problem], openapi: Described, used: Used) -> dict[str, Any]:
    return {
        "path": str(bundle.root),
        "name": bundle.name,
        "version": bundle.version,
        "revision": bundle.revision,
        "tools": [_tool_wire(tool, bundle) for tool in bundle.tools.values()],
        "agents": [_agent_wire(agent, bundle, used) for agent in bundle.agents.values()],
        **_parts_wire(bundle, openapi),
        "values": [asdict(outlet) for outlet in outlets(bundle)],
        "landlock": landlock_version(),
        "seccomp": filters_calls(),
        "problems": [problem.to_wire() for problem in problems],
    }


def _kept(data: Path, bundle: Bundle) -> Kept:
    """What the data folder holds of this repository, as far as there is a journal that can be read."""
    file, root = data / "runtime.db", str(bundle.root)
    try:
        if not file.is_file():
            return Kept()
        with look(file) as db:
            agreed = agreement(db, root, bundle.revision)
            try:
                return Kept(agreed, [one for one in switches(db, root) if not one.is_on])
            except DriverError:  # of a format that had no switches
                return Kept(agreed)
    except (DriverError, OSError):
        return Kept()


def _switches_wire(off: Sequence[Switch]) -> dict[str, Any]:
    return {"switched_off": [{"tool": one.tool, "by": one.who, "at": one.at} for one in off]}


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


def _agent_wire(agent: Agent, bundle: Bundle, used: Used) -> dict[str, Any]:
    return {
        "name": agent.name,
        "description": agent.description,
        "file": agent.entry,
        "models": list(used.models[agent.name]),
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
