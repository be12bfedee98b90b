"""The situations a durable tool is put through before it goes live: a denied approval, data that are missing, a child
that fails, and a replay after each of its pauses.

Each is a run of the real tool with its real children on stores as they were, compared with a run in which everything
goes well (the *good run*). What the good run does only because all went well, it must not do otherwise: a call of a
tool whose effect is ``once`` that both runs make after the same point, although the approval was denied or the child
failed or found nothing. A question that somebody answers in between makes it a person's decision, which is fine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from runtime_core.evals.calls import made_by, of_run
from runtime_core.evals.ready_made import problem_of_input
from runtime_core.evals.result import CallMade, EvalResult, Verdict
from runtime_core.evals.running import judged
from runtime_core.evals.stage import OpenStage, Setting
from runtime_core.evals.trials import Theatre, Trial, agreeing, denying, is_approval
from runtime_core.repo.builtins import VERBS
from runtime_core.repo.bundle import Bundle, BundleError, Eval
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps

MOST_TRIALS: Final = 25
"""How many children, or approvals, one situation tries."""
_ENDED: Final = frozenset({"completed", "failed", "expired"})
_SLIPS: Final = frozenset(
    {
        "TypeError",
        "ReferenceError",
        "RangeError",
        "AttributeError",
        "KeyError",
        "IndexError",
        "NameError",
        "UnboundLocalError",
        "ZeroDivisionError",
    }
)
"""Errors that nobody throws on purpose: the handler did not expect what it met."""
_READY_READS: Final = frozenset({"load_knowledge", "web_search", "fetch_url"})


async def run_situations(
    open_stage: OpenStage,
    home: Path,
    bundle: Bundle,
    of: Eval,
    setting: Setting,
    limit_s: float,
    judge_spec: str | None,
) -> EvalResult:
    """``home``: the data folder of the suite, which stays as it is. Each trial may take ``limit_s`` seconds."""
    began, clock = time.time(), time.monotonic()
    result = EvalResult(of.name, of.title, began, asked=f"{of.tool} {dumps(of.input)}")
    if (problem := problem_of_input(bundle, of)) is not None:
        return replace(result, error=problem)
    try:
        theatre = Theatre(open_stage, home, bundle, of, setting, limit_s)
        good = await theatre.play(agreeing(of))
        result = replace(result, response=dumps(good.result), calls=_calls_of(good, of.tool))
        if good.status != "completed" or good.problems:
            reason = ". ".join(good.problems) or f"it ended as {good.end}"
            text = f"{of.tool} does not complete even when everything goes well, so nothing can be compared: {reason}"
            result = replace(result, error=text)
        else:
            checks = _Checks(theatre, good, of)
            result = replace(result, verdicts=[await checks.of(situation) for situation in of.situations])
    except BundleError as error:
        result = replace(result, error=str(error))
    except RuntimeFault as fault:
        if fault.is_storage:
            raise
        result = replace(result, error=fault.message)
    if of.assertions:
        async with open_stage(home, setting) as stage:
            result = await judged(stage, bundle.root, of, result, judge_spec)
    return replace(result, duration_s=time.monotonic() - clock)


class _Checks:
    def __init__(self, theatre: Theatre, good: Trial, of: Eval) -> None:
        self._theatre = theatre
        self._good = good
        self._of = of

    async def of(self, situation: str) -> Verdict:
        check = {
            "denied approval": self._denied,
            "missing data": self._missing,
            "child failure": self._failing,
            "replay after a pause": self._replayed,
        }[situation]
        tried, wrong = await check()
        if wrong:
            return Verdict(situation, False, ". ".join(wrong))
        return Verdict(situation, True, tried)

    async def _denied(self) -> tuple[str, list[str]]:
        approvals = [one for one in self._good.decisions if is_approval(one)]
        wrong: list[str] = []
        for number, approved in enumerate(approvals[:MOST_TRIALS]):
            trial = await self._theatre.play(denying(self._of, number))
            denied = [one for one in trial.decisions if is_approval(one)]
            if len(denied) <= number:
                wrong.append(f"the run in which {_question(approved)} was to be denied did not ask it: {trial.end}")
                continue
            at = _at(denied[number])
            wrong += self._judge(trial, f"{_question(approved)} was denied", _at(approved), at)
        if not approvals:
            return "it asks for no approval", wrong
        return f"denied {_some(len(approvals), 'approval')}, and it did none of what follows a yes", wrong

    async def _missing(self) -> tuple[str, list[str]]:
        names = [name for name in self._children() if self._effect(name) == "read" and not self._uses_others(name)]
        wrong: list[str] = []
        for name in names:
            trial = await self._theatre.play(agreeing(self._of), {name: "missing"})
            when = f"{name} finds nothing"
            wrong += self._judge(trial, when, *self._since(trial, name))
            if (slip := _slip(trial.error)) is not None:
                wrong.append(f"when {when}, it breaks: {slip}. Check what came back and say what is missing")
        if not names:
            return "it reads nothing through other tools", wrong
        return f"let {', '.join(names)} find nothing, one at a time, and it did nothing for good", wrong

    async def _failing(self) -> tuple[str, list[str]]:
        names = self._children()
        wrong: list[str] = []
        for name in names:
            trial = await self._theatre.play(agreeing(self._of), {name: "fails"})
            wrong += self._judge(trial, f"{name} fails", *self._since(trial, name))
        if not names:
            return "it called nothing", wrong
        return f"let {', '.join(names)} fail, one at a time, and it did nothing that needs them", wrong

    async def _replayed(self) -> tuple[str, list[str]]:
        trial = await self._theatre.play_with_restarts(agreeing(self._of))
        pauses = len(trial.decisions)
        wrong = [*trial.problems]
        if trial.status != "completed" and not wrong:
            wrong.append(f"the run that was interrupted at each pause ended as {trial.end}")
        if trial.verdict:
            wrong.append(f"its replay does not repeat what it did: {trial.verdict}")
        if not pauses:
            return "it does not pause", wrong
        return f"went on in new processes after {_some(pauses, 'pause')}, and repeated every call", wrong

    def _judge(self, trial: Trial, when: str, good_since: float, since: float) -> list[str]:
        """What is wrong about a run in which something went wrong at ``since``, in the good one at ``good_since``."""
        wrong = [f"when {when}: {problem}" for problem in trial.problems]
        if trial.status not in _ENDED and not wrong:
            wrong.append(f"when {when}, it does not end: it is {trial.end}")
        until = min((_at(one) for one in trial.decisions if _at(one) > since), default=float("inf"))
        allowed = self._once(self._good, good_since, float("inf"))
        for name in self._once(trial, since, until):
            if name in allowed:
                wrong.append(f"when {when}, it still calls {name}, and nobody was asked in between")
        return wrong

    def _once(self, trial: Trial, since: float, until: float) -> Sequence[str]:
        """The tools called between two moments whose calls cannot be taken back."""
        calls = [
            call for call in trial.calls if call["kind"] == "tool" and since <= _seconds(call["started_at"]) < until
        ]
        return list(dict.fromkeys(call["name"] for call in calls if self._effect(call["name"]) == "once"))

    def _since(self, trial: Trial, name: str) -> tuple[float, float]:
        """When the first call of a child ended, in the good run and in this one."""
        return _first_end(self._good, name), _first_end(trial, name)

    def _children(self) -> Sequence[str]:
        return list(dict.fromkeys(call["name"] for call in self._good.calls))[:MOST_TRIALS]

    def _uses_others(self, name: str) -> bool:
        """Those it uses are what reads; what it makes of them is never nothing."""
        tool = self._theatre.bundle.tools.get(name)
        return tool is not None and tool.has_uses

    def _effect(self, name: str) -> str:
        tool = self._theatre.bundle.tools.get(name)
        if tool is not None:
            return tool.effect
        if name.startswith("store__"):
            return "read" if VERBS.get(name.rpartition("__")[2]) == "read" else "once"
        return "read" if name in _READY_READS else "once"


def _slip(error: Mapping[str, Any]) -> str | None:
    """The error at the bottom of a failure, if nobody threw it on purpose."""
    inner: Any = error
    while isinstance(inner, Mapping):
        found = cast("Mapping[str, Any]", inner)
        if found.get("name") in _SLIPS:
            return f"{found['name']}: {found.get('message', '')}"
        inner = found.get("cause")
    return None


def _calls_of(trial: Trial, tool: str) -> Sequence[CallMade]:
    own = next((made_by(span) for span in trial.spans if not span["id"]), CallMade(tool))
    return [own, *of_run(trial.spans, 0)]


def _question(pause: Mapping[str, Any]) -> str:
    return f'"{str(pause["question"])[:100]}"'


def _at(decision: Mapping[str, Any]) -> float:
    return _seconds(decision["answered_at"])


def _first_end(trial: Trial, name: str) -> float:
    ends = (_seconds(call["ended_at"] or call["started_at"]) for call in trial.calls if call["name"] == name)
    return next(ends, float("inf"))


def _some(count: int, what: str) -> str:
    return f"one {what}" if count == 1 else f"{count} {what}s"


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
