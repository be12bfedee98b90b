"""Loading an agent repository: everything that is wrong is found in one pass and reported together."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from runtime_core.repo.agents import Agents, load_agents
from runtime_core.repo.bundle import Agent, Bundle, BundleError
from runtime_core.repo.checks import check_names
from runtime_core.repo.definitions import Described
from runtime_core.repo.links import check_links
from runtime_core.repo.manifest import load_manifest
from runtime_core.repo.report import READ_FAILED, Report
from runtime_core.repo.revision import TooLarge, revision_of
from runtime_core.repo.steadiness import check_steadiness
from runtime_core.repo.tools import ToolScan, load_tools


def load_bundle(root: Path, described: Described = MappingProxyType({})) -> Bundle:
    """Read and check a repository (contract 1 and 2). Raises `BundleError` with all problems if one is an error.

    ``described``: what its definitions in code say, which are left out otherwise.
    """
    root = root.absolute()
    report = Report()
    manifest = load_manifest(root, report)
    if not (root / "amodal.json").is_file():
        raise BundleError(root, tuple(report.problems))
    with _reading(root, report):
        check_links(root, report)
    revision = ""
    with _reading(root, report):
        revision = revision_of(root)
    agents: Agents = {}
    with _reading(root, report):
        agents = load_agents(root, report, described)
    scan = ToolScan()
    with _reading(root, report):
        scan = load_tools(root, report, described)
    check_names(scan, agents, report)
    check_steadiness(root, scan.tools, report)
    if manifest is None or report.failed:
        raise BundleError(root, tuple(report.problems))
    return Bundle(
        root=root,
        name=str(manifest["name"]),
        version=str(manifest["version"]),
        revision=revision,
        tools=scan.tools,
        agents={name: agent for name, agent in agents.items() if isinstance(agent, Agent)},
        manifest=manifest,
        problems=tuple(report.problems),
        passing=any(description.passing for description in described.values()),
    )


@contextmanager
def _reading(root: Path, report: Report) -> Generator[None]:
    """Turn what goes wrong with the file system into a problem, so that the other steps still report theirs."""
    try:
        yield
    except TooLarge as error:
        report.error(READ_FAILED, error.file, error.reason, "Move large data out of the repository's code folders.")
    except OSError as error:
        name = _relative(root, error.filename)
        report.error(READ_FAILED, name, f"This cannot be read: {error.strerror}.", "Check it and its permissions.")


def _relative(root: Path, filename: object) -> str:
    path = Path(str(filename))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
