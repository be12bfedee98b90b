"""The ctx object: it has a member only where the run may use it, and every member works taken off the object."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any, cast

from .run import Message, Run
from .values import iso, well_formed

_OPTION_KEYS = {
    "input_type": "inputType",
    "allow_edits": "allowEdits",
    "eligible_answerers": "eligibleAnswerers",
    "exclude_answerers": "excludeAnswerers",
    "expires_at": "expiresAt",
    "timeout_ms": "timeoutMs",
    "on_expire": "onExpire",
}


class Members:
    """A namespace of closures."""

    def bind(self, name: str, member: Any) -> None:
        """Under its wire name and the way Python spells it."""
        setattr(self, name, member)
        setattr(self, _snake(name), member)


class Surface(dict[str, Any]):
    """What predicates judge: each key under its wire name and the way Python spells it, also as an attribute."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        super().__init__({spelled: value for name, value in params.items() for spelled in (name, _snake(name))})

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(name)
        return self[name]


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def _name(value: object) -> str:
    return value if isinstance(value, str) else ""


def _options(args: object, extra: Mapping[str, Any]) -> object:
    """What a question was asked with, keys as they are on the wire."""
    if isinstance(args, Mapping):
        given = {**cast("Mapping[str, Any]", args), **extra}
    elif extra:
        given = {**({"question": args} if args is not None else {}), **extra}
    else:
        return args
    return {_OPTION_KEYS.get(key, key): _seen(value) for key, value in given.items()}


def _seen(value: object) -> object:
    """JSON makes null of what is no number, and null is no deadline at all: its name is sent, and refused."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _time(when: object) -> object:
    if isinstance(when, datetime.datetime):
        return iso(when)
    if isinstance(when, str | int | float) and not isinstance(when, bool):
        return when
    raise TypeError("ctx.sleep_until needs a datetime, milliseconds since 1970 or an ISO time")


def make_context(run: Run, message: Message) -> Members:
    variables: dict[str, str] = message["env"]
    ctx = Members()
    ctx.bind("signal", run.signal)
    ctx.bind("sessionId", message["session"])
    ctx.bind("scopeId", message["scope"])
    for name, member in _notes(run).items():
        ctx.bind(name, member)

    def env(name: str) -> str | None:
        return None if run.durable else variables.get(name)

    ctx.bind("env", env)
    files = Members()
    files.bind("readRepoFile", run.read)
    ctx.bind("fs", files)
    if message["form"] == "tool":
        ctx.bind("input", message["params"])
    for name in ("callId", "attachments", "agentId"):
        if message[name] is not None:
            ctx.bind(name, message[name])
    members = _members(run)
    for name in message["methods"]:
        if name in members:
            ctx.bind(name, members[name])
    return ctx


def hook_context(run: Run, message: Message) -> Members:
    """What a hook gets: it looks and judges."""
    ctx = Members()
    ctx.bind("log", _notes(run)["log"])
    ctx.bind("caller", Surface(message["params"]["caller"]))
    if "store" in message["methods"]:
        ctx.bind("store", _stores(run))
    return ctx


def _stores(run: Run) -> Members:
    def get(store: str, key: str) -> Any:
        return run.call("store", "get", [store, key])

    def query(store: str, filter: Any = None) -> Any:
        return run.call("store", "query", [store, filter])

    stores = Members()
    stores.bind("get", get)
    stores.bind("query", query)
    return stores


def _notes(run: Run) -> dict[str, Any]:
    def log(text: object) -> None:
        run.note("log", well_formed(str(text)[: run.line_limit]))

    def emit(event: object) -> None:
        run.note("emit", event)

    def emit_reasoning(text: object) -> None:
        run.note("reasoning", well_formed(str(text)))

    def set_label(label: object = None, **parts: str) -> None:
        run.note("label", parts if label is None else label)

    return {"log": log, "emit": emit, "emitReasoning": emit_reasoning, "setLabel": set_label}


def _members(run: Run) -> dict[str, Any]:
    def call_tool(name: str, params: Any = None, **more: Any) -> Any:
        given: Any = {} if params is None else params
        return run.call("tool", _name(name), {**given, **more} if more else given)

    def call_subagent(name: str, task: str, input: Any = None, opts: Any = None, **more: Any) -> Any:
        return run.call("subagent", _name(name), [task, input, {**(opts or {}), **more} if more else opts])

    def request_input(args: Any = None, **options: Any) -> Any:
        return run.call("input", "", _options(args if args is not None or options else {}, options))

    def wait_for_approval(prompt: Any = None, **options: Any) -> Any:
        if isinstance(prompt, str) and options:
            prompt = {"prompt": prompt}
        return run.call("approval", "", _options(prompt if prompt is not None or options else {}, options))

    def sleep_until(when: object) -> Any:
        return run.call("sleep", "", _time(when))

    def now() -> float:
        return run.clock

    def with_options(kind: str) -> Any:
        def member(*args: Any, **options: Any) -> Any:
            name = "" if kind == "exec" or not args else _name(args[0])
            return run.call(kind, name, [*args, options] if options else list(args))

        return member

    return {
        "callTool": call_tool,
        "callSubagent": call_subagent,
        "requestInput": request_input,
        "waitForApproval": wait_for_approval,
        "sleepUntil": sleep_until,
        "step": run.step,
        "now": now,
        "random": run.generator.random,
        "request": with_options("request"),
        "store": with_options("store"),
        "exec": with_options("exec"),
    }
