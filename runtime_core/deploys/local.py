"""The local counterpart of a deploy: loads a repository anew, checks it, and says what that means for waiting runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from runtime_core.deploys.failures import failure_of
from runtime_core.deploys.handlers import load_handlers
from runtime_core.deploys.inventory import compared, inventory
from runtime_core.engine.dry_runs import ReplayVerdict
from runtime_core.engine.shelf import Shelf
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.repo.bundle import Bundle, BundleError, Problem
from runtime_core.repo.report import PARSE_FAILED, Report
from runtime_core.wire.builds import Build, Changes, Failure, Level, Line, Touched

LINE_LIMIT: Final = 5_000
"""Lines of a log that are kept."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a local build works with. ``waiting``: the waiting runs of a bundle's repository that would go on with other
    code than their last leg had, each replayed against it."""

    shelf: Shelf
    hosts: Callable[[], HandlerHosts]
    waiting: Callable[[Bundle], AsyncGenerator[ReplayVerdict]]


@dataclass(slots=True)
class LocalBuild:
    """One build. ``tell`` gets every line as it is written; ``before``: the last build that succeeded."""

    workshop: Workshop
    build: Build
    before: Build | None
    tell: Callable[[Line], None]
    log: list[Line] = field(default_factory=list[Line])
    failures: list[Failure] = field(default_factory=list[Failure])

    async def run(self) -> Build:
        began = time.monotonic()
        root = Path(self.build.repo)
        self._say("load", f"Reading {root}")
        known = next((one for one in self.workshop.shelf.bundles if one.root == root), None)
        try:
            bundle = await self.workshop.shelf.bundle(root)
        except BundleError as error:
            for problem in error.problems:
                self._problem("load", problem)
            self._say("load", f"{root} cannot be used.", "error")
            return self._ended(began, self.build)
        previous = self.before.revision if self.before is not None else known.revision if known is not None else ""
        built = replace(self.build, revision=bundle.revision, previous=previous)
        self._say("load", _found(bundle))
        self._say("load", _revisions(bundle.revision, previous))
        from runtime_core.repo.checks import check_grants  # with jsonschema: not for commands that only look

        report = Report()
        check_grants(bundle.tools, bundle.agents, report)
        for problem in [*map(as_judged, bundle.problems), *report.problems]:
            self._problem("check", problem)
        await self._load_handlers(bundle)
        now = await asyncio.to_thread(inventory, bundle)
        changes = self._compare(now, bundle.revision, previous)
        touched = await self._look_at_runs(bundle)
        return self._ended(began, replace(built, inventory=now, changes=changes, touched=touched))

    async def _load_handlers(self, bundle: Bundle) -> None:
        for file in bundle.packages:
            self._say("dependencies", f"{file}: its packages are used, or installed if they are not yet and trusted")
        hosts = self.workshop.hosts()
        guards, handlers, hooks = {hook.entry for hook in bundle.hooks}, 0, 0
        try:
            async for entry, problem in load_handlers(bundle, hosts):
                if problem is None:
                    hooks += entry in guards
                    handlers += entry not in guards
                    self._say("handlers", f"{entry}: loads")
                else:
                    self._problem("handlers", problem)
        finally:
            await hosts.close()
        loaded = [_count(handlers, "handler loads", "handlers load")]
        loaded += [_count(hooks, "hook loads", "hooks load")] if guards else []
        self._say("handlers", ", ".join(loaded))

    def _compare(self, now: Mapping[str, str], revision: str, previous: str) -> Changes:
        if self.before is None:
            self._say("changes", "There is no earlier build to compare this one with.")
            return Changes()
        changes = compared(self.before.inventory, now)
        for kind, names in changes_in_words(changes):
            self._say("changes", f"{kind}: {', '.join(names)}")
        if changes.is_empty:
            same = revision == previous
            what = "Nothing has changed." if same else "No tool and no agent has changed; other files have."
            self._say("changes", what)
        return changes

    async def _look_at_runs(self, bundle: Bundle) -> Sequence[Touched]:
        touched: list[Touched] = []
        async for verdict in self.workshop.waiting(bundle):
            run = verdict.run
            touched.append(Touched(run.id, run.tool, run.shown_status, verdict.kind, verdict.reason))
            if verdict.kind == "ok":
                self._say("runs", f"{run.id} ({run.tool}, {run.shown_status}): goes on with the new code")
            else:
                told = "would diverge" if verdict.kind == "diverged" else "cannot be told"
                self._say("runs", f"{run.id} ({run.tool}, {run.shown_status}): {told}: {verdict.reason}", "warning")
        if not touched:
            self._say("runs", "No waiting run is touched.")
        return tuple(touched)

    def _problem(self, stage: str, problem: Problem) -> None:
        is_error = problem.severity == "error"
        self._say(stage, f"{problem} [{problem.code}]", "error" if is_error else "warning")
        if is_error:
            self.failures.append(failure_of(problem))

    def _ended(self, began: float, build: Build) -> Build:
        ok = not self.failures
        took = time.monotonic() - began
        errors = _count(len(self.failures), "error", "errors")
        word = "succeeded" if ok else f"failed: {errors}"
        self._say("done", f"Build {word} ({took:.1f} s)", "info" if ok else "error")
        return replace(
            build,
            state="succeeded" if ok else "failed",
            ended_at=time.time(),
            failures=tuple(self.failures),
            log=tuple(self.log),
        )

    def _say(self, stage: str, text: str, level: Level = "info") -> None:
        line = Line(text, level, stage, time.time())
        if len(self.log) < LINE_LIMIT or stage == "done":
            self.log.append(line)
        self.tell(line)


def as_judged(problem: Problem) -> Problem:
    """A definition in code that cannot be read leaves out only what it defines; whoever builds wants it put right."""
    is_code = problem.file.endswith((".ts", ".py"))
    return (
        replace(problem, severity="error") if problem.code == PARSE_FAILED and problem.remedy and is_code else problem
    )


def _found(bundle: Bundle) -> str:
    parts = [
        _count(len(bundle.tools), "tool", "tools"),
        _count(len(bundle.agents), "agent", "agents"),
        *([_count(len(bundle.stores), "store", "stores")] if bundle.stores else []),
        *([_count(len(bundle.connections), "connection", "connections")] if bundle.connections else []),
    ]
    return f"{bundle.name} {bundle.version}".rstrip() + f": {', '.join(parts)}"


def _revisions(revision: str, previous: str) -> str:
    if not previous:
        return f"revision {revision[:12]}"
    return (
        f"revision {revision[:12]}, as before"
        if revision == previous
        else f"revision {previous[:12]} → {revision[:12]}"
    )


def changes_in_words(changes: Changes) -> list[tuple[str, Sequence[str]]]:
    """What happened, as in ``tools added``, with the names."""
    told = [
        ("tools added", changes.added),
        ("tools removed", changes.removed),
        ("tools changed", changes.changed),
        ("agents added", changes.agents_added),
        ("agents removed", changes.agents_removed),
        ("agents changed", changes.agents_changed),
    ]
    return [(kind, names) for kind, names in told if names]


def _count(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number} {many}"
