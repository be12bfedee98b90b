"""The calls of an eval: those of the conversation, and below them those of the durable runs that they became."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from runtime_core.evals.result import CallMade
from runtime_core.wire.json import dumps


def of_turn(events: Sequence[Mapping[str, Any]], runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[CallMade]:
    """``events``: of the turn (contract 7.2). ``runs``: the spans of durable runs by their ids."""
    ended = {event["tool_id"]: event for event in events if event["type"] == "tool_call_result"}
    made: list[CallMade] = []
    for event in events:
        if event["type"] != "tool_call_start":
            continue
        end = ended.get(event["tool_id"], {})
        depth = event.get("depth", 0)
        result = end.get("result")
        made.append(
            CallMade(
                name=event["tool_name"],
                kind=event.get("kind", "tool"),
                parameters=dumps(event.get("parameters", {})),
                result=dumps(result) if result is not None else None,
                error=end.get("error", ""),
                began_at=_seconds(event["timestamp"]),
                depth=depth,
            )
        )
        spans = runs.get(end.get("durable_session_id", ""), ())
        made += of_run(spans, depth)
    return made


def of_run(spans: Sequence[Mapping[str, Any]], above: int) -> Iterator[CallMade]:
    """What a durable run called, not the run itself."""
    for span in sorted(spans, key=lambda span: _place(span["id"])):
        if span["id"] and span["kind"] in ("tool", "subagent"):
            yield made_by(span, above)


def made_by(span: Mapping[str, Any], above: int = -1) -> CallMade:
    """``above``: the depth of the run's own handler."""
    is_text = span["kind"] == "subagent"
    given = {"agent": span["name"], "arguments": span["input"]} if is_text else span["input"]
    return CallMade(
        name="call_subagent" if is_text else span["name"],
        kind=span["kind"],
        parameters=dumps(given),
        result=dumps(span["output"]) if span["state"] == "ok" else None,
        error="" if span["state"] == "ok" else span["message"] or span["state"],
        began_at=_seconds(span["started_at"]),
        depth=above + 1 + span["id"].count("/"),
    )


def _place(slot: str) -> list[int]:
    return [int(part) for part in slot.split("/")] if slot else []


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
