"""``preview``: what a run would do next, found out without doing it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from inbox_app.cli_session import DONE, REFUSED, Options, say, say_json, with_gateway
from inbox_app.cli_text import indented, moment, question_lines, visible
from inbox_app.gateway.base import Answer, NextCall, Preview
from runtime_core.wire.json import pretty

if TYPE_CHECKING:
    from inbox_app.gateway.embedded import EmbeddedGateway


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
    if call.due is None and call.params is not None:
        yield from indented(pretty(call.params), "    ")
