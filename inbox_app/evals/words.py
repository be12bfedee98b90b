"""Evals and their results in words, with the icon and the colour of each."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal, TypeAlias

from PySide6.QtCore import QCoreApplication, QLocale

from inbox_app.gateway import values
from inbox_app.gateway.evals import EvalCall, EvalInfo, EvalResult, EvalVerdict
from inbox_app.theme.tokens import Role
from inbox_app.widgets.hidden_text import reveal

MOST_PARAMETERS, MOST_RESULT = 120, 200


Stage: TypeAlias = Literal["", "waits", "running"]
"""Whether it is being carried out, or its turn comes later."""


def mark(info: EvalInfo, stage: Stage) -> tuple[str, Role]:
    if stage:
        return "circle-dashed", "due" if stage == "running" else "muted"
    if info.problem:
        return "triangle-alert", "failed"
    return result_mark(info.last) if info.last is not None else ("circle", "muted")


def result_mark(result: EvalResult) -> tuple[str, Role]:
    return ("circle-check", "answered") if result.passed else ("circle-x", "failed")


def verdict_mark(verdict: EvalVerdict) -> tuple[str, Role]:
    if verdict.passed is None:
        return "circle-question-mark", "due"
    return ("circle-check", "answered") if verdict.passed else ("circle-x", "failed")


def state(info: EvalInfo, stage: Stage) -> tuple[str, Role]:
    translate = QCoreApplication.translate
    if stage == "running":
        return translate("evals", "Running"), "due"
    if stage == "waits":
        return translate("evals", "Its turn comes"), "muted"
    if info.problem:
        return translate("evals", "Cannot be used"), "failed"
    if info.last is None:
        return translate("evals", "Not run yet"), "muted"
    return outcome(info.last), "muted" if info.last.passed else "failed"


def outcome(result: EvalResult) -> str:
    translate = QCoreApplication.translate
    if result.passed:
        return translate("evals", "Passed")
    broken = sum(not verdict.passed for verdict in result.verdicts)
    if result.error or not broken:
        return translate("evals", "Failed")
    return translate("evals", "Failed: {0} of {1}").format(broken, len(result.verdicts))


def verdict_word(verdict: EvalVerdict) -> str:
    translate = QCoreApplication.translate
    if verdict.passed is None:
        return translate("evals", "Not judged")
    return translate("evals", "Holds") if verdict.passed else translate("evals", "Does not hold")


def facts(result: EvalResult) -> str:
    """How long it took, how many turns and tokens, and which models."""
    translate = QCoreApplication.translate
    locale = QLocale()
    parts = [translate("evals", "{0} s").format(locale.toString(result.duration_s, "f", 1))]
    if result.turns:
        one, more = translate("evals", "1 turn"), translate("evals", "{0} turns").format(result.turns)
        parts.append(one if result.turns == 1 else more)
    if result.tokens:
        parts.append(translate("evals", "{0} tokens").format(locale.toString(result.tokens)))
    if result.model:
        parts.append(_model(result.model))
    if result.judge and result.judge != result.model:
        parts.append(translate("evals", "judged by {0}").format(_model(result.judge)))
    return " · ".join(parts)


def _model(spec: str) -> str:
    """A script by the name of its file: where that lies, its repository says."""
    provider, _, name = spec.partition(":")
    return reveal(f"{provider}:{PurePath(name).name}" if provider == "scripted" else spec)


def call_line(call: EvalCall) -> str:
    """The call as a handler would write it."""
    given = values.compact(call.parameters, MOST_PARAMETERS) if call.parameters else ""
    return f"{call.name}({given})"


def call_end(call: EvalCall) -> str:
    if call.error:
        return call.error
    return values.compact(call.result, MOST_RESULT)


def place(info: EvalInfo) -> str:
    """Where it stands, and whom it asks or what it starts."""
    translate = QCoreApplication.translate
    whom = (
        translate("evals", "starts {0}").format(info.tool)
        if info.tool
        else translate("evals", "asks {0}").format(info.agent)
    )
    return " · ".join(part for part in (info.file, "" if info.problem else whom) if part)
