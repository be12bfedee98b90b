"""``preview`` and ``replay-check``: what runs would do, found out without doing it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from inbox_app.cli_session import DONE, REFUSED, Options, complain, log_to, say, say_json, settings, with_gateway
from inbox_app.cli_text import indented, moment, question_lines, visible
from inbox_app.gateway.base import Answer, GatewayError, NextCall, Preview
from runtime_core.wire.json import pretty

if TYPE_CHECKING:
    from inbox_app.gateway.embedded import EmbeddedGateway
    from runtime_core.engine.dry_runs import ReplayVerdict

_TOLD_EVERY: Final = 100
"""After so many runs the error stream is told how far it is."""


def preview(options: Options, given: Answer) -> int:
    """Print what would follow; as no run is touched, this process never is the executor."""

    async def work(gateway: EmbeddedGateway) -> int:
        found = await gateway.preview(given)
        if options.as_json:
            say_json(found.raw)
        else:
            say(_preview_lines(found))
        return REFUSED if found.kind == "cannot-tell" else DONE

    return with_gateway(options, work, execute=False)


def _preview_lines(found: Preview) -> Iterator[str]:
    yield _WORDS.get(found.kind, visible(found.kind))
    if found.reason:
        yield visible(found.reason)
    if found.kind == "complete":
        yield from indented(pretty(found.result), "")
    if found.wake_at is not None:
        yield f"until {moment(found.wake_at)}"
    if found.pause is not None:
        yield from question_lines(found.pause)
    for call in found.calls:
        yield from _call_lines(call)


_WORDS = {
    "call": "would call",
    "question": "would wait for an answer",
    "sleeping": "would sleep",
    "complete": "would be complete",
    "failed": "would fail",
    "diverged": "would stop as diverged",
    "cannot-tell": "cannot tell",
}


def _call_lines(call: NextCall) -> Iterator[str]:
    until = f" until {moment(call.due)}" if call.due is not None else ""
    yield f"  {call.kind} {visible(call.name)}{until}, called by {visible(' > '.join(call.path))}"
    shown = call.params if call.request is None else call.request
    if call.due is None and shown is not None:
        yield from indented(pretty(shown), "    ")


def replay_check(options: Options, root: Path, limit: int | None) -> int:
    """Replay what is stored of the repository at ``root``; nothing is executed or stored, no lock is taken."""
    log_to(options.data)
    verdicts = asyncio.run(_verdicts(options, root.expanduser().absolute(), limit))
    counts = Counter(verdict.kind for verdict in verdicts)
    is_fine = not (counts["diverged"] or counts["cannot-tell"])
    if options.as_json:
        runs = [verdict.to_wire() for verdict in verdicts]
        say_json({"path": str(root), "ok": is_fine, "runs": runs, "counts": dict(counts)})
    else:
        say([_summary(verdicts, counts, root)])
    return DONE if is_fine else REFUSED


async def _verdicts(options: Options, root: Path, limit: int | None) -> list[ReplayVerdict]:
    from inbox_app.gateway.embedded import bundle_error
    from runtime_core.repo.bundle import BundleError
    from runtime_core.runtime import Runtime
    from runtime_core.wire.codes import RuntimeFault

    if not (options.data / "runtime.db").is_file():
        return []
    runtime = Runtime(options.data, execute=False, settings=settings(as_json=options.as_json))
    verdicts: list[ReplayVerdict] = []
    try:
        await runtime.open()
        try:
            async for verdict in runtime.replay_check(root, limit):
                verdicts.append(verdict)
                if not options.as_json:
                    say([_verdict_line(verdict)])
                if len(verdicts) % _TOLD_EVERY == 0:
                    complain(f"{len(verdicts)} runs replayed")
        finally:
            await runtime.close()
    except RuntimeFault as fault:
        raise GatewayError(fault.code, fault.message, fault.details) from fault
    except BundleError as error:
        raise bundle_error([error]) from error
    return verdicts


def _verdict_line(verdict: ReplayVerdict) -> str:
    run = verdict.run
    head = f"{verdict.kind.replace('-', ' '):11}  {run.id}  {visible(run.tool)}  {run.shown_status}"
    return f"{head}  {visible(verdict.reason)}".rstrip()


def _summary(verdicts: list[ReplayVerdict], counts: Counter[str], root: Path) -> str:
    if not verdicts:
        return f"No run of {root} is stored."
    words = {"ok": "ok", "diverged": "diverged", "cannot-tell": "cannot tell", "skipped": "skipped"}
    runs = "1 run" if len(verdicts) == 1 else f"{len(verdicts)} runs"
    return f"{runs}: " + ", ".join(f"{counts[kind]} {word}" for kind, word in words.items())
