"""What a failed call or run looks like to code, to the journal and to people (contract 2.7 and 4)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from runtime_core.approvals import deadlines
from runtime_core.hosts.base import HandlerFailure
from runtime_core.wire.codes import COMPOSITE_CODES, RuntimeFault
from runtime_core.wire.json import JsonText, dumps
from runtime_core.wire.runs import CallKind, RunStatus

_SCRIPT: Final = re.compile(r"^ +at .*?\(?([^\s:()]+\.[cm]?[jt]sx?:\d+:\d+)\)?$", re.MULTILINE)
_PYTHON: Final = re.compile(r'^ +File "([^"]+)", line (\d+)', re.MULTILINE)


PLACE_LIMIT: Final = 500
"""Characters of a line that names one."""


class CallFailed(Exception):  # noqa: N818
    """A call that ends with a ``CompositeCallError`` in the handler that made it.

    ``verdict``: what was decided about a call of a model; unlike ``cause`` nobody else's code can write it.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        tool: str | None = None,
        agent: str | None = None,
        cause: Mapping[str, Any] | None = None,
        verdict: str | None = None,
    ) -> None:
        assert code in COMPOSITE_CODES, code
        super().__init__(message)
        self.message = message
        error: dict[str, Any] = {"name": "CompositeCallError", "code": code, "message": message}
        if tool is not None:
            error["toolName"] = tool
        if agent is not None:
            error["agentName"] = agent
        if cause is not None:
            error["cause"] = cause
        if verdict is not None:
            error["verdict"] = verdict
        self.error: JsonText = dumps(error)


class HandlerFailed(Exception):  # noqa: N818
    """A handler that did not return a value."""

    def __init__(self, failure: HandlerFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def tool_failed(tool: str, failure: HandlerFailure) -> CallFailed:
    """The failure of a child tool as its caller gets it; ``cause.code`` says if a question of it expired."""
    cause = failure.cause if failure.code != deadlines.CODE and is_expired(failure) else failure_error(failure)
    return CallFailed("execution-failed", failure_text(tool, failure), tool=tool, cause=cause)


def trace_of(failure: HandlerFailure, root: Path) -> str | None:
    """Where the error of a handler comes from, with paths relative to its repository."""
    if failure.stack is None:
        return None
    text = failure.stack
    for home in dict.fromkeys((os.path.realpath(root), str(root))):
        text = text.replace(home + os.sep, "")
    return text


def place_of(failure: HandlerFailure, root: Path) -> str | None:
    """File, line and for scripts column in the repository where the error of a handler was thrown, if that is known."""
    lines = (trace_of(failure, root) or "").splitlines()
    trace = "\n".join(line for line in lines if len(line) <= PLACE_LIMIT)
    scripts = [place for place in _SCRIPT.findall(trace) if not os.path.isabs(place)]
    if scripts:
        return scripts[0]
    own = [f"{file}:{line}" for file, line in _PYTHON.findall(trace) if not os.path.isabs(file) and file[0] != "<"]
    return own[-1] if own else None


def is_expired(failure: HandlerFailure) -> bool:
    """Whether the handler let it through that a question expired, its own or one of a tool that it called."""
    return deadlines.CODE in (failure.code, (failure.cause or {}).get("code"))


def end_of_run(failure: HandlerFailure) -> tuple[RunStatus, JsonText]:
    """How a run ends whose own handler failed, and its error."""
    error = {"code": "execution-failed", **failure_error(failure)}
    if is_expired(failure):
        return "expired", dumps({**error, "code": deadlines.CODE})
    return "failed", dumps(error)


def failure_text(tool: str, failure: HandlerFailure) -> str:
    if failure.code == "cancelled":
        return f'Tool "{tool}" was aborted'
    return f'Tool "{tool}" failed: {failure.message}'


def failure_error(failure: HandlerFailure) -> dict[str, Any]:
    """Code, name and message only: a stack differs from one leg to the next."""
    error: dict[str, Any] = {"name": failure.name, "message": failure.message}
    if failure.code is not None:
        error["code"] = failure.code
    return error


def broken_off(kind: CallKind, name: str, error: Exception) -> JsonText:
    """The error of a call that something of ours failed in. What an exception says may be a secret."""
    code, message = "INTERNAL_ERROR", f"a fault of the runtime, not of its parameters ({type(error).__name__})"
    if isinstance(error, RuntimeFault):
        code, message = error.code, error.message
    if kind == "tool":
        cause = {"name": "Error", "message": message, "code": code}
        return CallFailed("execution-failed", f'Tool "{name}" failed: {message}', tool=name, cause=cause).error
    if kind == "subagent":
        return CallFailed("subagent-failed", f'The agent "{name}" failed: {message}', agent=name).error
    return error_text(code, f"ctx.{kind} failed: {message}")


def durable_forbidden(member: str) -> JsonText:
    return error_text(
        "durable-forbidden",
        f"ctx.{member} is not available in a durable tool, because its work would be repeated at every resume: "
        "put it into a tool of its own, declare that in uses.tools and call it with ctx.callTool.",
    )


def error_text(code: str, message: str, *, name: str = "Error") -> JsonText:
    return dumps({"name": name, "code": code, "message": message})
