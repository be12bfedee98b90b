"""Whether the call that a person has allowed can still be made, and is still what was asked about (decision 20).

Time passes between question and answer, and connections, policies and tools change meanwhile. So what would be done is
worked out again just before the call, and before its intent is stored: what is stopped here was certainly not done.
"""

from __future__ import annotations

from typing import Final

from runtime_core.engine.calls import Calls
from runtime_core.engine.conclusion import Stuck
from runtime_core.engine.failures import CallFailed, broken_off, error_text
from runtime_core.engine.frames import Place
from runtime_core.engine.gating import forbidden
from runtime_core.hosts.base import HandlerCall
from runtime_core.tools.base import CHANGED, ToolFailed
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText

_MISSING: Final = frozenset({"connection-unavailable", "connection-unknown"})
"""What somebody can repair, after which the call can be made as it was allowed."""


async def objection(calls: Calls, place: Place, call: HandlerCall) -> JsonText | None:
    """The error with which the call of the gate at ``place`` ends without being made; None if it may be made.

    Raises `Stuck` if something is missing that it needs, and `RuntimeFault` if the data folder does not do its work.
    """
    ready = calls.origin.ready(call.name)
    if ready is None and call.name not in calls.origin.bundle.tools:
        name = calls.origin.bundle.name
        raise Stuck("tool-unavailable", f'Nothing was sent: the repository {name} has no tool "{call.name}" any more.')
    if ready is None or ready.judge is None:
        return None if place.allowed is None else error_text(CHANGED, _replaced(call.name))
    try:
        calls.check_ready(place, ready, call.args)
        caller = calls.caller(place, call.seq)
        verdict = await ready.judge(call.args, caller)
        if verdict.tier == "never":
            return forbidden(call.name, verdict).error
        if place.allowed is None:
            return error_text(CHANGED, _replaced(call.name))
        caller.check_allowed(verdict.shown)
    except CallFailed as failed:
        return error_text(CHANGED, f"Nothing was sent: {failed.message}")
    except ToolFailed as failed:
        if failed.code in _MISSING:
            raise Stuck(failed.code, f"Nothing was sent: {failed.message}") from None
        return error_text(CHANGED, failed.message)
    except Exception as error:  # as of any call
        if isinstance(error, RuntimeFault) and error.is_storage:
            raise
        return broken_off("tool", call.name, error)
    return None


def _replaced(name: str) -> str:
    return f'Nothing was done: another tool is called "{name}" by now than the one that was asked about.'
