"""What is read from a question besides its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

from inbox_app.gateway.base import Call, CallState, Pause, RunDetail


def call_id(run_id: str, pause_id: str) -> str:
    """The call that asks, read from a pause id such as ``RUN.3-1``; of no use for other ids."""
    return pause_id.removeprefix(f"{run_id}.").partition(".")[0].replace("-", "/")


_AT_REST: Final[dict[str, CallState]] = {"needs-attention": "waiting", "diverged": "stopped"}


def calls_of(detail: RunDetail) -> Sequence[Call]:
    """The calls of a run; what was running when it stopped runs no longer."""
    state = _AT_REST.get(detail.run.status)
    if state is None:
        return detail.calls
    return [replace(call, state=state) if call.state == "running" else call for call in detail.calls]


def outcomes_of_calls(detail: RunDetail) -> dict[str, str]:
    """How the questions of a run ended, by the call that asked. What the runtime asked itself has no call."""
    run_id = detail.run.id
    asked = [one for one in detail.decisions if "." not in one.pause_id.removeprefix(f"{run_id}.")]
    return {call_id(run_id, one.pause_id): one.outcome for one in asked}


def content(pause: Pause) -> tuple[object, ...]:
    """What the operator decides about; a runtime without fingerprints is compared by it."""
    if pause.fingerprint is not None:
        return (pause.fingerprint,)
    return (
        pause.title,
        pause.links,
        pause.question,
        pause.input_type,
        pause.options,
        repr(pause.context),
        pause.allow_edits,
    )


def size_of(pause: Pause) -> int | None:
    if not pause.has_context:
        return None
    context: object = pause.context
    return len(cast("list[object]", context)) if isinstance(context, dict | list) else 1
