"""Loading an agent repository: everything that is wrong is found in one pass and reported together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

from runtime_core.repo.agents import AgentScan, load_agents
from runtime_core.repo.bundle import Agent, Bundle, BundleError
from runtime_core.repo.checks import Parts, check_evals, check_names
from runtime_core.repo.connections import Vetting, load_connections
from runtime_core.repo.definitions import Described
from runtime_core.repo.evals import load_evals
from runtime_core.repo.hooks import load_hooks
from runtime_core.repo.items import note_ignored
from runtime_core.repo.links import check_links
from runtime_core.repo.manifest import MANIFEST, load_manifest
from runtime_core.repo.references import Known
from runtime_core.repo.report import READ_FAILED, Report, TooManyProblems
from runtime_core.repo.revision import TooLarge, revision_of
from runtime_core.repo.servers import connected
from runtime_core.repo.steadiness import check_steadiness
from runtime_core.repo.stores import load_stores
from runtime_core.repo.texts import load_automations, load_documents, load_skills
from runtime_core.repo.tools import ToolScan, load_tools

T = TypeVar("T")


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name))


def load_bundle(
    root: Path,
    described: Described = MappingProxyType({}),
    known: Known = _is_set,
    vetting: Vetting | None = None,
) -> Bundle:
    """Read and check a repository (contract 1 and 2). Raises `BundleError` with all problems if one is an error.

    ``described``: what its definitions in code say, which are left out otherwise. ``known``: whether there is a value
    for ``env:NAME``; in the environment, if nothing else is said. ``vetting``: what else is known of connections.
    """
    root = root.absolute()
    report = Report()
    unset: set[str] = set()

    def noted(name: str) -> bool:
        if known(name):
            return True
        unset.add(name)
        return False

    try:
        bundle = _read(root, report, lambda: _load(root, described, noted, vetting, report), None)
    except TooManyProblems:
        bundle = None
    report.close()
    problems = tuple(report.problems)
    if bundle is None or report.failed:
        raise BundleError(root, problems, report.ignored)
    return replace(bundle, problems=problems, ignored=report.ignored, unset=frozenset(unset))


def _load(root: Path, described: Described, known: Known, vetting: Vetting | None, report: Report) -> Bundle | None:
    manifest = load_manifest(root, report, known)
    if not (root / MANIFEST).is_file():
        return None

    def read(load: Callable[[], T], otherwise: T) -> T:
        return _read(root, report, load, otherwise)

    read(lambda: check_links(root, report), None)
    revision = read(lambda: revision_of(root), "")
    connections = read(lambda: load_connections(root, report, known, vetting), {})
    agents = read(lambda: load_agents(root, report, described), AgentScan())
    parts = Parts(
        tools=read(lambda: load_tools(root, report, described), ToolScan()),
        agents=agents.agents,
        agent_files=agents.files,
        stores=read(lambda: load_stores(root, report), {}),
        connections=connections,
        skills=read(lambda: load_skills(root, report), {}),
        servers={**(manifest.servers if manifest is not None else {}), **connected(connections)},
        manifest=manifest.values if manifest is not None else {},
        vetting=vetting,
    )
    hooks = read(lambda: load_hooks(root, report), ())
    read(lambda: note_ignored(root, report, _named(parts)), None)
    check_names(parts, report)
    check_steadiness(root, parts.tools.tools, report)
    evals = read(lambda: load_evals(root, report), {})
    check_evals(evals, parts, report)
    if manifest is None:
        return None
    return Bundle(
        root=root,
        name=str(manifest.values["name"]),
        version=str(manifest.values["version"]),
        revision=revision,
        tools=parts.tools.tools,
        agents={name: agent for name, agent in parts.agents.items() if isinstance(agent, Agent)},
        manifest=manifest.values,
        waiting={name: why for name, why in parts.tools.passing.items() if name not in parts.tools.tools},
        passing=any(description.passing for description in described.values()),
        stores={name: store for name, store in parts.stores.items() if store is not None},
        knowledge=read(lambda: load_documents(root, report), {}),
        skills=parts.skills,
        connections=parts.connections,
        servers=parts.servers,
        hooks=hooks,
        automations=read(lambda: load_automations(root, report), {}),
        packages=tuple(parts.tools.packages),
        evals=evals,
    )


def _named(parts: Parts) -> Iterator[str]:
    """What may be files of the repository: of scripted models, of commands, and documents of connections."""
    tiers = cast("dict[str, Any]", parts.manifest.get("models") or {}).values()
    yield from (str(cast("dict[str, Any]", tier).get("model")) for tier in tiers if isinstance(tier, dict))
    yield from (word for server in parts.servers.values() for word in server.command)
    for connection in parts.connections.values():
        openapi: Any = connection.spec.get("openapi")
        if isinstance(openapi, dict):
            yield f"{connection.folder}/{cast('dict[str, Any]', openapi).get('source')}"


def _read(root: Path, report: Report, load: Callable[[], T], otherwise: T) -> T:
    """Turn what goes wrong with the file system into a problem, so that the other steps still report theirs."""
    try:
        return load()
    except TooLarge as error:
        report.error(READ_FAILED, error.file, error.reason, "Move large data out of the repository's code folders.")
    except OSError as error:
        name = _relative(root, error.filename)
        report.error(READ_FAILED, name, f"This cannot be read: {error.strerror}.", "Check it and its permissions.")
    return otherwise


def _relative(root: Path, filename: object) -> str:
    path = Path(str(filename))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
