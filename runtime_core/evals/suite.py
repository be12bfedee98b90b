"""All evals of a runtime: which there are, carrying them out, and how they went before (contract 11)."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from runtime_core.agents.models import absolute
from runtime_core.evals.operator import WHO
from runtime_core.evals.ready_made import ready_made
from runtime_core.evals.result import EvalResult
from runtime_core.evals.running import run_eval
from runtime_core.evals.situations import run_situations
from runtime_core.evals.stage import OpenStage, Setting, Stage
from runtime_core.journal.base import Journal
from runtime_core.repo.bundle import Bundle, Eval
from runtime_core.repo.report import Report, did_you_mean
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.evals import EvalRow
from runtime_core.wire.json import dumps, loads
from runtime_core.wire.runs import iso

EVAL_S: Final = 300.0
"""How long one eval may take, unless it is said otherwise."""
HISTORY: Final = 20


@dataclass(frozen=True, slots=True)
class EvalRequest:
    """``names`` None: all evals of the repository at ``root``. ``model`` and ``judge``: ``provider:name``.

    ``ready_made``: not the evals but the situations that every durable tool is put through; then ``names`` are those of
    tools, which are started with ``input``.
    """

    root: Path
    names: Sequence[str] | None = None
    model: str | None = None
    judge: str | None = None
    limit_s: float = EVAL_S
    ready_made: bool = False
    input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """The evals of a repository as their files are now, and what is wrong with the others."""

    evals: Mapping[str, Eval]
    broken: Mapping[str, str]
    names: Sequence[str] = field(default_factory=tuple)


class Evals:
    """``trusted``: whether the code of a repository may do here what needs trust; then it may on a stage as well."""

    def __init__(
        self,
        journal: Journal,
        bundle: Callable[[Path], Awaitable[Bundle]],
        open_stage: OpenStage,
        trusted: Callable[[Path], Awaitable[bool]],
    ) -> None:
        self._journal = journal
        self._bundle = bundle
        self._open_stage = open_stage
        self._trusted = trusted

    async def listed(self, root: Path) -> Sequence[dict[str, Any]]:
        """The evals of a repository by name, each with what it asks, its assertions, what is wrong with its file
        (``problem``, else "") and its ``last`` result (`results`, or None). Raises `BundleError`."""
        bundle = await self._bundle(root)
        found = await asyncio.to_thread(_read, bundle.root)
        last = {row.eval: row for row in await self._journal.latest_eval_results(str(bundle.root))}
        return [
            {**_item(name, found), "repository": str(bundle.root), "last": _past(last[name]) if name in last else None}
            for name in found.names
        ]

    async def results(self, root: Path, name: str, limit: int = HISTORY) -> Sequence[dict[str, Any]]:
        """How an eval went, latest first: ``{"id", "at"}`` and what `EvalResult.to_wire` says. Raises `BundleError`."""
        bundle = await self._bundle(root)
        return [_past(row) for row in await self._journal.eval_results(str(bundle.root), name, limit)]

    async def run(self, request: EvalRequest) -> AsyncGenerator[dict[str, Any]]:
        """Carry evals out, one after the other, and tell of each: ``eval_start``, ``done`` and ``eval_complete``;
        ``agent_error`` is the last event of one that could not be set up (contract 11.4). Results are kept.

        Raises `BundleError`, and `RuntimeFault` NOT_FOUND before the first event.
        """
        bundle = await self._bundle(request.root)
        found = await self._chosen(request, bundle)
        home = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="operator-inbox-evals-"))
        try:
            for name in found.names:
                title = found.evals[name].title if name in found.evals else name
                yield {"type": "eval_start", "evalName": name, "title": title}
                try:
                    result = await self._result(request, bundle, name, found, home)
                except RuntimeFault as fault:
                    yield {"type": "agent_error", "error": fault.message}
                    return
                told = result.to_wire()
                row = EvalRow(str(bundle.root), name, result.at, result.passed, dumps(told))
                number = await self._journal.add_eval_result(row)
                yield {"type": "done", "usage": result.usage.to_wire()}
                yield {"type": "eval_complete", **told, "id": number, "at": iso(result.at)}
        finally:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, home, ignore_errors=True))

    async def _chosen(self, request: EvalRequest, bundle: Bundle) -> _Found:
        if request.ready_made:
            made = ready_made(bundle, request.names, request.input)
            return _Found({one.name: one for one in made}, {}, [one.name for one in made])
        found = await asyncio.to_thread(_read, bundle.root)
        for name in request.names or ():
            if name not in found.names:
                known = f" There are: {', '.join(found.names)}." if found.names else " It has no evals."
                text = f'{bundle.root} has no eval "{name}".{did_you_mean(name, found.names)}{known}'
                raise RuntimeFault("NOT_FOUND", text, names=list(found.names))
        return _Found(found.evals, found.broken, found.names if request.names is None else request.names)

    async def _result(self, request: EvalRequest, bundle: Bundle, name: str, found: _Found, home: Path) -> EvalResult:
        of = found.evals.get(name)
        if of is None:
            return EvalResult(name, name, time.time(), error=found.broken[name])
        model = request.model and absolute(request.model, Path.cwd())
        setting = Setting(model or (f"scripted:{bundle.root / of.script}" if of.script else None))

        @asynccontextmanager
        async def stage(data: Path, setting: Setting) -> AsyncGenerator[Stage]:
            async with self._open_stage(data, setting) as opened:
                if await self._trusted(bundle.root):
                    await opened.trust(bundle.root, who=WHO)
                yield opened

        if of.situations:
            return await run_situations(stage, home, bundle, of, setting, request.limit_s, request.judge)
        async with stage(home, setting) as opened:
            return await run_eval(opened, bundle.root, of, request.limit_s, request.judge)


def _read(root: Path) -> _Found:
    from runtime_core.repo.evals import eval_files, load_evals  # with pydantic: not for commands that only look

    report = Report()
    files, evals = eval_files(root, Report()), load_evals(root, report)
    broken = {
        name: " ".join(str(problem) for problem in report.problems if problem.file == file)
        for name, file in files.items()
        if name not in evals
    }
    return _Found(evals, broken, sorted(files))


def _item(name: str, found: _Found) -> dict[str, Any]:
    of = found.evals.get(name) or Eval(name, name, f"evals/{name}.md")
    return {
        "name": name,
        "title": of.title,
        "file": of.file,
        "description": of.description,
        "context": of.context,
        "query": of.query or (f"{of.tool} {dumps(of.input)}" if of.tool else ""),
        "agent": "" if of.tool else of.agent,
        "tool": of.tool,
        "assertions": [*of.situations, *(assertion.text for assertion in of.assertions)],
        "problem": found.broken.get(name, ""),
    }


def _past(row: EvalRow) -> dict[str, Any]:
    told: Any = loads(row.body)
    return {**told, "id": row.id, "at": iso(row.at), "passed": row.passed}
