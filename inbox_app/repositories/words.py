"""Builds and repositories in words, with the icon and the colour of each state."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from inbox_app.gateway.builds import Build, BuildFailure, TouchedRun
from inbox_app.gateway.catalog import Repository
from inbox_app.models.wording import SHORT, moment, span
from inbox_app.theme.tokens import Role
from inbox_app.widgets.hidden_text import reveal

_MARKS: dict[str, tuple[str, Role]] = {
    "running": ("circle-dashed", "muted"),
    "succeeded": ("circle-check", "answered"),
    "failed": ("triangle-alert", "failed"),
    "cancelled": ("circle-x", "expired"),
    "unknown": ("circle-question-mark", "muted"),
}


def build_mark(build: Build) -> tuple[str, Role]:
    return _MARKS.get(build.state, _MARKS["unknown"])


def build_title(build: Build) -> str:
    translate = QCoreApplication.translate
    if build.kind == "local":
        return translate("builds", "Reload")
    if not build.branch:
        return translate("builds", "Build {0}").format(reveal(build.remote))
    words = translate("builds", "Deploy of {0} to {1}")
    return words.format(reveal(build.branch), reveal(build.environment))


def build_state(build: Build) -> tuple[str, Role]:
    translate = QCoreApplication.translate
    words: dict[str, tuple[str, Role]] = {
        "running": (translate("builds", "Running"), "muted"),
        "succeeded": (translate("builds", "Succeeded"), "muted"),
        "failed": (translate("builds", "Failed"), "failed"),
        "cancelled": (translate("builds", "Cancelled"), "muted"),
        "unknown": (translate("builds", "Not known how it ended"), "muted"),
    }
    word, role = words.get(build.state, words["unknown"])
    if build.state == "failed" and build.failures:
        kinds = dict.fromkeys(failure_kind(failure.kind) for failure in build.failures)
        return translate("builds", "Failed: {0}").format(", ".join(kinds)), role
    return word, role


def build_facts(build: Build) -> str:
    """Who, when, how long, which code or which build of the platform."""
    translate = QCoreApplication.translate
    parts = [reveal(build.who), moment(build.started_at)]
    if build.ended_at is not None:
        parts.append(translate("builds", "took {0}").format(span(build.ended_at - build.started_at)))
    if build.revision:
        new, old = build.revision[:SHORT], build.previous[:SHORT]
        parts.append(f"{old} → {new}" if old and old != new else new)
    if build.agent:
        parts.append(translate("builds", "agent {0}").format(reveal(build.agent)))
    if build.remote:
        parts.append(translate("builds", "build {0}").format(reveal(build.remote)))
    return " · ".join(part for part in parts if part)


def change_lines(build: Build) -> Sequence[str]:
    translate = QCoreApplication.translate
    words = {
        "tools added": translate("builds", "Tools added: {0}"),
        "tools removed": translate("builds", "Tools removed: {0}"),
        "tools changed": translate("builds", "Tools changed: {0}"),
        "agents added": translate("builds", "Agents added: {0}"),
        "agents removed": translate("builds", "Agents removed: {0}"),
        "agents changed": translate("builds", "Agents changed: {0}"),
    }
    return [words[kind].format(reveal(", ".join(names))) for kind, names in build.changes if kind in words]


def touched_line(run: TouchedRun) -> tuple[str, Role]:
    translate = QCoreApplication.translate
    words: dict[str, tuple[str, Role]] = {
        "ok": (translate("builds", "{0} goes on with the new code"), "text"),
        "diverged": (translate("builds", "{0} would stop: {1}"), "failed"),
        "skipped": (translate("builds", "{0} cannot be replayed: {1}"), "muted"),
    }
    text, role = words.get(run.verdict, (translate("builds", "{0} cannot be told: {1}"), "due"))
    return text.format(reveal(run.tool), reveal(run.reason)), role


def failure_kind(kind: str) -> str:
    translate = QCoreApplication.translate
    words = {
        "typescript": translate("builds", "TypeScript"),
        "python": translate("builds", "Python"),
        "dependency": translate("builds", "Dependencies"),
        "manifest": translate("builds", "Manifest"),
        "validation": translate("builds", "Validation"),
        "network": translate("builds", "Network"),
        "authorization": translate("builds", "Authorization"),
        "not-found": translate("builds", "Not found"),
        "rate-limit": translate("builds", "Rate limit"),
    }
    return words.get(kind, translate("builds", "Not classified"))


def failure_place(failure: BuildFailure) -> str:
    return reveal(f"{failure.file}:{failure.line}" if failure.line is not None else failure.file)


def repository_state(repository: Repository) -> tuple[str, Role]:
    translate = QCoreApplication.translate
    if repository.broken:
        return translate("builds", "Cannot be used"), "failed"
    if not repository.trusted:
        return translate("builds", "Needs trust"), "due"
    count = len(repository.problems)
    if count:
        words = translate("builds", "1 problem") if count == 1 else translate("builds", "{0} problems").format(count)
        return words, "due"
    return translate("builds", "Ready"), "muted"


def repository_mark(repository: Repository) -> tuple[str, Role]:
    if repository.broken:
        return "triangle-alert", "failed"
    if not repository.trusted:
        return "lock", "due"
    return ("circle-alert", "due") if repository.problems else ("git-branch", "muted")


def contents(repository: Repository) -> str:
    translate = QCoreApplication.translate
    tools, agents = len(repository.tools), len(repository.agents)
    of_tools = translate("builds", "1 tool") if tools == 1 else translate("builds", "{0} tools").format(tools)
    of_agents = translate("builds", "1 agent") if agents == 1 else translate("builds", "{0} agents").format(agents)
    return f"{of_tools}, {of_agents}"
