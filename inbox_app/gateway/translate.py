"""The runtime's objects (contract decisions 1, 15, 21) as the application's dataclasses.

Total on anything a runtime may send: a missing or odd field becomes a plain default, unknown fields stay in ``raw``.
Values pass through untouched, so numbers keep their digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast, get_args

from inbox_app.gateway.base import (
    Call,
    CallState,
    CodeVersion,
    CutOff,
    Decision,
    Divergence,
    Link,
    NextCall,
    Option,
    Outcome,
    Pause,
    Preview,
    Run,
    RunDetail,
    Side,
    Votes,
)

Wire = Mapping[str, Any]
_PAUSE_KINDS = ("input", "approval", "attention")
_CALL_STATES = get_args(CallState)
_LINK_KEYS = (("label", "title", "text", "name"), ("url", "href"))


def pause(wire: Wire, connection: str, me: str = "") -> Pause:
    """``me`` is the identity of this operator, to tell their own answer where it takes several."""
    kind = wire.get("pause_kind") or wire.get("kind")
    context = wire.get("context")
    return Pause(
        id=_text(wire.get("pause_id")),
        run_id=_text(wire.get("session_id")),
        connection=connection,
        kind=kind if isinstance(kind, str) and kind in _PAUSE_KINDS else "input",
        tool=_text(wire.get("tool_name")),
        question=_text(wire.get("question")),
        input_type=_text(wire.get("input_type")) or "text",
        options=_options(wire.get("options")),
        context=context,
        has_context=context is not None,
        allow_edits=wire.get("allow_edits") is True,
        path=_names(wire.get("path")),
        requested_by=_text(wire.get("requested_by")),
        asked_at=seconds(wire.get("created_at")) or 0.0,
        expires_at=seconds(wire.get("expires_at")),
        on_expire=wire.get("on_expire"),
        fingerprint=_optional(wire.get("fingerprint")),
        eligible=wire.get("eligible", True) is not False,
        reason=_text(wire.get("reason")),
        votes=_votes(wire.get("votes"), me),
        cut_off=_cut_off(wire),
        schema=wire.get("schema"),
        code_changed=wire.get("code_changed") is True,
        stopped=wire.get("status") == "diverged",
        title=_text(wire.get("title")),
        links=_links(wire.get("links")),
        raw=wire,
    )


def decision(wire: Wire) -> Decision:
    return Decision(
        pause_id=_text(wire.get("pause_id")),
        question=_text(wire.get("question")),
        outcome=_text(wire.get("outcome")),
        value=wire.get("value"),
        edits=wire.get("edits"),
        has_edits="edits" in wire,
        context=wire.get("context"),
        note=_text(wire.get("note")),
        by=_text(wire.get("answered_by")),
        at=seconds(wire.get("answered_at")),
        asked_at=seconds(wire.get("created_at")) or 0.0,
        path=_names(wire.get("path")),
        on_expire=wire.get("on_expire"),
        voters=votes.by if (votes := _votes(wire.get("votes"), "")) else (),
    )


def run(wire: Wire, connection: str) -> Run:
    error = wire.get("error")
    created = seconds(wire.get("created_at")) or 0.0
    return Run(
        id=_text(wire.get("session_id")),
        connection=connection,
        tool=_text(wire.get("tool_name")),
        status=_text(wire.get("status")),
        created_at=created,
        updated_at=seconds(wire.get("updated_at")) or created,
        finished_at=seconds(wire.get("finished_at")),
        requested_by=_text(wire.get("requested_by")),
        input=wire.get("input"),
        result=wire.get("result"),
        error=cast("Mapping[str, Any]", error) if isinstance(error, dict) else None,
        divergence=_divergence(cast("Wire", error)) if isinstance(error, dict) else None,
        wake_at=seconds(wire.get("wake_at")),
        revision=_text(wire.get("revision")),
        leg_revision=_text(wire.get("leg_revision")),
        resume_on=_text(wire.get("resume_on")),
        code_changed=wire.get("code_changed") is True,
        pruned_at=seconds(wire.get("pruned_at")),
        warnings=_warnings(wire.get("warnings")),
        versions=_versions(wire.get("revisions")),
        raw=wire,
    )


def call(wire: Wire) -> Call:
    state = wire.get("state")
    return Call(
        id=_text(wire.get("id")),
        parent=_optional(wire.get("parent_id")),
        kind=_text(wire.get("kind")),
        name=_text(wire.get("name")),
        state=cast("CallState", state) if isinstance(state, str) and state in _CALL_STATES else "unknown",
        started_at=seconds(wire.get("started_at")) or 0.0,
        ended_at=seconds(wire.get("ended_at")),
        code=_optional(wire.get("code")),
        message=_optional(wire.get("message")),
        input=wire.get("input"),
        output=wire.get("output"),
        input_size=_size(wire.get("input_size")),
        output_size=_size(wire.get("output_size")),
        replayed=wire.get("replayed") is True,
    )


def detail(wire: Wire, connection: str, me: str = "") -> RunDetail:
    return RunDetail(
        run=run(wire["run"], connection),
        pauses=tuple(pause(item, connection, me) for item in wire["pauses"]),
        decisions=tuple(decision(item) for item in wire["decisions"]),
        calls=tuple(call(item) for item in wire["spans"]),
        raw=wire,
    )


def outcome(reply: Wire, connection: str, me: str = "") -> Outcome:
    """A reply ``{"sessionId", "outcome": {"kind", ...}, "result"}``; a pause in ``outcome`` has its status as kind."""
    inner = cast("Wire", reply.get("outcome") or {})
    return Outcome(
        kind=_text(inner.get("kind")),
        run_id=reply.get("sessionId"),
        result=reply.get("result"),
        reason=_text(inner.get("reason")),
        pause=pause(inner, connection, me) if inner.get("pause_id") else None,
        raw=reply,
    )


def preview(reply: Wire, connection: str) -> Preview:
    """A reply ``{"session_id", "pause_id", "outcome": {"kind", ...}, "calls", "result"}``."""
    inner = cast("Wire", reply.get("outcome") or {})
    asked = inner.get("pause")
    calls = cast("list[Wire]", reply.get("calls") or [])
    return Preview(
        kind=_text(inner.get("kind")),
        run_id=_text(reply.get("session_id")),
        pause_id=_text(reply.get("pause_id")),
        calls=tuple(_next_call(item) for item in calls),
        pause=pause(cast("Wire", asked), connection) if isinstance(asked, dict) else None,
        wake_at=seconds(inner.get("wake_at")),
        result=reply.get("result"),
        reason=_text(inner.get("reason")),
        raw=reply,
    )


def _next_call(wire: Wire) -> NextCall:
    return NextCall(
        kind=_text(wire.get("kind")),
        name=_text(wire.get("name")),
        params=wire.get("params"),
        path=_names(wire.get("path")),
        due=seconds(wire.get("due")),
        request=wire.get("request"),
    )


def seconds(at: Any) -> float | None:
    """ISO 8601 as seconds since the epoch; None for anything else."""
    if not isinstance(at, str):
        return None
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return None


def _options(value: Any) -> tuple[Option, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(_option(item) for item in cast("list[Any]", value))


def _option(item: Any) -> Option:
    if not isinstance(item, dict):
        return Option(value=item, label=_text(item))
    option = cast("dict[str, Any]", item)
    value = option.get("value")
    label = option.get("label")
    return Option(
        value=value,
        label=_text(value if label is None else label),
        sub=_text(option.get("sub")),
        recommended=option.get("recommended") is True,
    )


def _links(value: Any) -> tuple[Link, ...]:
    """A list of addresses or of ``{"label", "url"}`` (also ``title``, ``href``), or an object of labels."""
    if isinstance(value, dict):
        return tuple(Link(label, _text(url)) for label, url in cast("dict[str, Any]", value).items())
    return tuple(_link(item) for item in cast("list[Any]", value)) if isinstance(value, list) else ()


def _link(item: Any) -> Link:
    if not isinstance(item, dict):
        return Link("", _text(item))
    link = cast("dict[str, Any]", item)
    label, url = (next((link[key] for key in keys if link.get(key)), "") for keys in _LINK_KEYS)
    return Link(_text(label), _text(url))


def _votes(value: Any, me: str) -> Votes | None:
    """``{"needed", "given", "by"}``; None where one person is enough."""
    if not isinstance(value, dict):
        return None
    votes = cast("dict[str, Any]", value)
    needed, by = votes.get("needed"), _names(votes.get("by"))
    if not isinstance(needed, int) or needed < 2:
        return None
    return Votes(needed, by, me)


def _cut_off(wire: Wire) -> CutOff | None:
    """The call of an attention, ``{"kind", "name", "started_at"}``; its parameters stand in the context."""
    value = wire.get("call")
    if not isinstance(value, dict):
        return None
    call, context = cast("dict[str, Any]", value), wire.get("context")
    return CutOff(
        kind=_text(call.get("kind")),
        name=_text(call.get("name")),
        began_at=seconds(call.get("started_at")),
        params=cast("dict[str, Any]", context).get("params") if isinstance(context, dict) else None,
    )


def _divergence(error: Wire) -> Divergence | None:
    """The structured part of a run's error; None for errors of another kind."""
    if "recorded" not in error:
        return None
    difference = error.get("difference")
    first: Wire = cast("Wire", difference) if isinstance(difference, dict) else dict[str, Any]()
    return Divergence(
        code=_text(error.get("code")),
        tool=_text(error.get("tool")),
        call=_text(error.get("call")),
        recorded=_side(error.get("recorded")),
        attempted=_side(error.get("attempted")),
        path=_text(first.get("path")),
        was=_text(first.get("recorded")),
        now=_text(first.get("attempted")),
        old=_text(error.get("recorded_revision")),
        new=_text(error.get("revision")),
    )


def _side(value: Any) -> Side | None:
    if not isinstance(value, dict):
        return None
    side = cast("Wire", value)
    return Side(_text(side.get("call") or side.get("name") or side.get("kind")), _text(side.get("arguments")))


def _versions(value: Any) -> tuple[CodeVersion, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(_version(cast("Wire", item)) for item in cast("list[Any]", value) if isinstance(item, dict))


def _version(wire: Wire) -> CodeVersion:
    return CodeVersion(
        revision=_text(wire.get("revision")),
        leg=_size(wire.get("leg")),
        at=seconds(wire.get("at")),
        stored=wire.get("stored") is True,
        old=wire.get("old") is True,
    )


def _warnings(value: Any) -> tuple[str, ...]:
    """Sentences, or objects with a ``message``."""
    if not isinstance(value, list):
        return ()
    items = cast("list[Any]", value)
    return tuple(_text(cast("Wire", item).get("message") if isinstance(item, dict) else item) for item in items)


def _names(value: Any) -> tuple[str, ...]:
    return tuple(_text(item) for item in cast("list[Any]", value)) if isinstance(value, list | tuple) else ()


def _optional(value: Any) -> str | None:
    return None if value is None else _text(value)


def _size(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    from runtime_core.wire.json import dumps

    return dumps(value)
