"""Short ways to make the data of the gateway. Every field has a plausible value; name only what a test is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Literal

from inbox_app.gateway.base import (
    Call,
    CallState,
    CodeVersion,
    CutOff,
    Decision,
    Divergence,
    Json,
    Link,
    Option,
    Pause,
    Run,
    RunDetail,
    Side,
    Votes,
)

NOW = 1_800_000_000.0
_numbers = count(1)


def option(value: Json, label: str | None = None, sub: str = "", *, recommended: bool = False) -> Option:
    return Option(value, label if label is not None else str(value), sub, recommended)


def pause(
    number: int | None = None,
    *,
    id: str | None = None,
    run_id: str | None = None,
    connection: str = "Built-in",
    kind: Literal["input", "approval", "attention"] = "input",
    tool: str = "refund_payment",
    question: str = "Refund 120.00 to customer C-88?",
    input_type: str = "yesno",
    options: Sequence[Option] | None = None,
    context: Json = None,
    has_context: bool | None = None,
    allow_edits: bool = False,
    path: Sequence[str] = ("support", "refund_payment"),
    requested_by: str = "local:maria",
    asked_at: float | None = None,
    expires_at: float | None = None,
    on_expire: Json = None,
    fingerprint: str | None = "f" * 64,
    eligible: bool = True,
    reason: str = "",
    votes: Votes | None = None,
    cut_off: CutOff | None = None,
    schema: Json = None,
    code_changed: bool = False,
    stopped: bool = False,
    title: str = "",
    links: Sequence[Link] = (),
    raw: Mapping[str, Any] | None = None,
) -> Pause:
    number = next(_numbers) if number is None else number
    run = run_id or f"dur_{number:026d}"
    return Pause(
        id=id or f"{run}.0",
        run_id=run,
        connection=connection,
        kind=kind,
        tool=tool,
        question=question,
        input_type=input_type,
        options=None if options is None else tuple(options),
        context=context,
        has_context=context is not None if has_context is None else has_context,
        allow_edits=allow_edits,
        path=tuple(path),
        requested_by=requested_by,
        asked_at=NOW - 60.0 * number if asked_at is None else asked_at,
        expires_at=expires_at,
        on_expire=on_expire,
        fingerprint=fingerprint,
        eligible=eligible,
        reason=reason,
        votes=votes,
        cut_off=cut_off,
        schema=schema,
        code_changed=code_changed,
        stopped=stopped,
        title=title,
        links=tuple(links),
        raw=raw or {},
    )


def run(
    number: int | None = None,
    *,
    id: str | None = None,
    tool: str = "refund_payment",
    status: str = "completed",
    ended_at: float | None = None,
    result: Json = None,
    error: Mapping[str, Any] | None = None,
    input: Json = None,
    requested_by: str = "local:maria",
    connection: str = "Built-in",
    divergence: Divergence | None = None,
    revision: str = "",
    versions: Sequence[CodeVersion] = (),
    warnings: Sequence[str] = (),
    pruned_at: float | None = None,
) -> Run:
    number = next(_numbers) if number is None else number
    finished = status in {"completed", "failed", "cancelled", "expired"}
    ended = (NOW - 60.0 * number if ended_at is None else ended_at) if finished else None
    created = (ended or NOW) - 30.0
    return Run(
        id=id or f"dur_{number:026d}",
        connection=connection,
        tool=tool,
        status=status,
        created_at=created,
        updated_at=ended or created,
        finished_at=ended,
        requested_by=requested_by,
        input=input,
        result=result,
        error=error,
        divergence=divergence,
        revision=revision,
        versions=tuple(versions),
        warnings=tuple(warnings),
        pruned_at=pruned_at,
    )


OLD_CODE, NEW_CODE = "3f2a91c0d2e4" + "0" * 52, "9b41e7705c1f" + "1" * 52


def divergence(
    *,
    code: str = "replay-diverged",
    call: str = "2",
    recorded: Side | None = None,
    attempted: Side | None = None,
    path: str = "$.amount",
    was: str = "120.00",
    now: str = "95.00",
    old: str = OLD_CODE,
    new: str = NEW_CODE,
) -> Divergence:
    recorded = recorded or Side('callTool "charge_card"', '{"customer": "C-88", "amount": 120.00}')
    return Divergence(code, "refund_payment", call, recorded, attempted, path, was, now, old, new)


def stopped_run(number: int | None = None, *, stored: bool = True, found: Divergence | None = None) -> Run:
    """A run whose replay met other code."""
    found = found or divergence(attempted=Side('callTool "charge_card"', '{"customer": "C-88", "amount": 95.00}'))
    return run(
        number,
        status="diverged",
        error={"code": found.code, "message": "Session dur_1: the replay met another call."},
        divergence=found,
        revision=found.old,
        versions=[
            CodeVersion(found.old, 1, NOW - 7200, stored, True),
            CodeVersion(found.new, 3, NOW - 60, True, False),
        ],
    )


def call(
    id: str,
    *,
    parent: str | None = "",
    kind: str = "tool",
    name: str | None = None,
    state: CallState = "ok",
    started_at: float = NOW - 60.0,
    seconds: float | None = 1.0,
    code: str | None = None,
    message: str | None = None,
    input: Json = None,
    output: Json = None,
    input_size: int = 0,
    output_size: int = 0,
    replayed: bool = False,
) -> Call:
    return Call(
        id=id,
        parent=parent,
        kind=kind,
        name=name or f"call_{id or 'root'}",
        state=state,
        started_at=started_at,
        ended_at=None if seconds is None else started_at + seconds,
        code=code,
        message=message,
        input=input,
        output=output,
        input_size=input_size,
        output_size=output_size,
        replayed=replayed,
    )


def decision(
    pause_id: str,
    *,
    outcome: str = "answered",
    value: Json = None,
    by: str = "local:tom",
    on_expire: Json = None,
    voters: Sequence[str] = (),
) -> Decision:
    return Decision(
        pause_id=pause_id,
        question="Refund 120.00 to customer C-88?",
        outcome=outcome,
        value=value,
        edits=None,
        has_edits=False,
        context=None,
        note="",
        by=by,
        at=NOW,
        asked_at=NOW - 60.0,
        on_expire=on_expire,
        voters=tuple(voters),
    )


def detail(
    of: Run, *, pauses: Sequence[Pause] = (), decisions: Sequence[Decision] = (), calls: Sequence[Call] = ()
) -> RunDetail:
    return RunDetail(of, pauses, decisions, calls)
