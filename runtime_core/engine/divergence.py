"""The words of a replay that met other code than the journal was written by (decision 9)."""

from __future__ import annotations

from runtime_core.hosts.base import Divergence
from runtime_core.wire.runs import PAUSE_KINDS

MEMBERS = {
    "tool": "callTool",
    "subagent": "callSubagent",
    "input": "requestInput",
    "approval": "waitForApproval",
    "sleep": "sleepUntil",
    "timer": "timer",
    "step": "step",
}
_WAYS_ON = "Nothing further was executed. Cancel the run and start it again."


def judge(tool: str, divergence: Divergence) -> tuple[str, str]:
    """(code, message) that name what was recorded, what was attempted and the first difference."""
    recorded, made = divergence.recorded, divergence.made
    where = f'Replay of tool "{tool}" stopped at its call number {divergence.seq + 1}'
    was = describe(recorded.kind, recorded.name)
    if made is None:
        return "replay-diverged", f"{where}: {was} is recorded, but the handler ended without making it. {_WAYS_ON}"
    if (made.kind, made.name) == (recorded.kind, recorded.name):
        if made.kind in PAUSE_KINDS:
            return "content_changed", changed_question(tool, divergence.seq)
        return "replay-diverged", f"{where}: {was} is recorded with other parameters than it is made with. {_WAYS_ON}"
    differing = "kind" if made.kind != recorded.kind else "name"
    return (
        "replay-diverged",
        f"{where}: {was} is recorded, {describe(made.kind, made.name)} was attempted (first difference: {differing}). "
        f"{_WAYS_ON}",
    )


def changed_question(tool: str, number: int) -> str:
    return (
        f'The question that tool "{tool}" asks as its call number {number + 1} is not the one that was shown: '
        f"its words, options, context or rules changed. No answer reached the handler. {_WAYS_ON}"
    )


def describe(kind: str, name: str) -> str:
    member = MEMBERS.get(kind, kind)
    return f'{member} "{name}"' if name and name != member else member


def span_name(kind: str, name: str) -> str:
    """What a call is called in the call tree; pauses and sleeps have no name of their own."""
    return name or MEMBERS.get(kind, kind)
