"""The situations a durable tool is put through before it goes live: a denied approval, data that are missing, a child
that fails, and a replay after each of its pauses.

Each is a run of the real tool with its real children on stores as they were, compared with a run in which everything
goes well (the *good run*). What the good run does only because all went well, it must not do otherwise: a call of a
tool whose effect is ``once`` that both runs make after the same point, although the approval was denied or the child
failed or found nothing. A question that somebody answers in between makes it a person's decision, which is fine.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast, get_args

from runtime_core.engine.faults import Fault
from runtime_core.evals.calls import made_by, of_run
from runtime_core.evals.operator import WHO, Choose, Operator, Scripted
from runtime_core.evals.result import CallMade, EvalResult, Verdict
from runtime_core.evals.running import judged
from runtime_core.evals.stage import OpenStage, Setting, Stage
from runtime_core.repo.builtins import VERBS
from runtime_core.repo.bundle import Bundle, BundleError, Eval, Situation, Tool
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


@dataclass(frozen=True, slots=True)
class Trial:
    """One run to its end. ``spans`` and ``decisions`` as `Runtime.run` has them, ``problems`` of its questions."""

    status: str
    error: Mapping[str, Any]
    result: Any
    spans: Sequence[Mapping[str, Any]]
    decisions: Sequence[Mapping[str, Any]]
    problems: Sequence[str]
    verdict: str = ""

    @property
    def end(self) -> str:
        message = self.error.get("message")
        return f"{self.status}: {message}" if message else self.status

    @property
    def calls(self) -> Sequence[Mapping[str, Any]]:
        """The calls of tools and specialists, as they began."""
        made = [span for span in self.spans if span["id"] and span["kind"] in ("tool", "subagent")]
        return sorted(made, key=lambda span: span["started_at"])


def ready_made(bundle: Bundle, names: Sequence[str] | None, given: Mapping[str, Any] | None) -> Sequence[Eval]:
    """An eval with all situations for each durable tool that uses others, or for those that are named.

    ``given`` is their input; without it that is made of the examples and defaults of their parameters. Raises
    `RuntimeFault` NOT_FOUND.
    """
    able = {name: tool for name, tool in bundle.tools.items() if tool.durable and (tool.tools or tool.subagents)}
    for name in names or ():
        if name not in able:
            known = ", ".join(sorted(able)) or "none"
            text = f'{bundle.root} has no durable tool "{name}" that uses others. Those that do: {known}.'
            raise RuntimeFault("NOT_FOUND", text, names=sorted(able))
    return [
        Eval(
            name=f"situations-{name}",
            title=f"{name} in every situation",
            file="",
            tool=name,
            input=given if given is not None else example(able[name]),
            situations=get_args(Situation),
        )
        for name in (sorted(able) if names is None else names)
    ]


def example(tool: Tool) -> dict[str, Any]:
    """The parameters of a tool as its schema exemplifies them; what has no example is left out."""
    whole: Any = tool.parameters.get("examples")
    if isinstance(whole, list) and whole and isinstance(whole[0], dict):
        return cast("dict[str, Any]", whole[0])
    found: dict[str, Any] = {}
    for name, schema in cast("dict[str, Any]", tool.parameters.get("properties", {})).items():
        if isinstance(schema, dict):
            found.update((name, value) for value in _example_of(cast("dict[str, Any]", schema)))
    return found


def _example_of(schema: Mapping[str, Any]) -> Iterator[Any]:
    for key in ("const", "default"):
        if key in schema:
            yield schema[key]
            return
    for key in ("examples", "enum"):
        if schema.get(key):
            yield schema[key][0]
            return


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
    try:
        theatre = _Theatre(open_stage, home, bundle, of, setting, limit_s)
        good = await theatre.play(_agreeing(of))
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


class _Theatre:
    """Plays the tool, each time on a copy of the stores."""

    def __init__(
        self, open_stage: OpenStage, home: Path, bundle: Bundle, of: Eval, setting: Setting, limit_s: float
    ) -> None:
        self._open_stage = open_stage
        self._home = home
        self.bundle = bundle
        self._of = of
        self._setting = setting
        self._limit_s = limit_s
        self._played = 0

    async def play(self, choose: Choose, faults: Mapping[str, Fault] | None = None) -> Trial:
        """One run; its questions are answered as they come."""
        async with self._copied() as data, self._open_stage(data, replace(self._setting, faults=faults)) as stage:
            began, operator = time.time(), Operator(stage, choose)
            run_id = await self._start(stage)
            await self._settled(operator, began)
            return await self._trial(stage, run_id, operator)

    async def play_with_restarts(self, choose: Choose) -> Trial:
        """One run whose every leg is replayed and compared, with new processes after each of its pauses."""
        setting = replace(self._setting, strict=True)
        async with self._copied() as data:
            began = time.time()
            async with self._open_stage(data, setting) as stage:
                run_id = await self._start(stage)
            while True:
                async with self._open_stage(data, setting) as stage:
                    operator = Operator(stage, choose)
                    if not await operator.answer_open(self._limit_s):
                        await self._settled(operator, began)
                        trial = await self._trial(stage, run_id, operator)
                        verdicts = [one async for one in stage.replay_check(self.bundle.root)]
                        wrong = (one.reason for one in verdicts if one.run.id == run_id and one.kind != "ok")
                        return replace(trial, verdict=next(wrong, ""))

    async def _start(self, stage: Stage) -> str:
        """Until it parks or ends. Raises `RuntimeFault` as `Runtime.run_tool`."""
        reply = await stage.run_tool(
            self.bundle.root, self._of.tool, dumps(self._of.input), who=WHO, wait_s=self._limit_s
        )
        run_id = reply.get("sessionId")
        if run_id is None:
            text = f"{self._of.tool} is not durable: situations are for durable tools."
            raise RuntimeFault("tool_not_durable", text)
        return cast("str", run_id)

    async def _settled(self, operator: Operator, began: float) -> None:
        try:
            async with asyncio.timeout(self._limit_s):
                await operator.settle(began)
        except TimeoutError:
            operator.problems.append(f"it took longer than {self._limit_s:g} s")
            await operator.cancel_all(began)

    async def _trial(self, stage: Stage, run_id: str, operator: Operator) -> Trial:
        detail = await stage.run(run_id, who=WHO)
        run = detail["run"]
        return Trial(
            run["status"], run["error"] or {}, run["result"], detail["spans"], detail["decisions"], operator.problems
        )

    @asynccontextmanager
    async def _copied(self) -> AsyncGenerator[Path]:
        self._played += 1
        data = self._home.with_name(f"{self._home.name}-{self._played}")
        await asyncio.to_thread(_copy, self._home, data)
        try:
            yield data
        finally:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, data, ignore_errors=True))


class _Checks:
    def __init__(self, theatre: _Theatre, good: Trial, of: Eval) -> None:
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
        approvals = [one for one in self._good.decisions if _is_approval(one)]
        wrong: list[str] = []
        for number, approved in enumerate(approvals[:MOST_TRIALS]):
            trial = await self._theatre.play(_denying(self._of, number))
            denied = [one for one in trial.decisions if _is_approval(one)]
            if len(denied) <= number:
                wrong.append(f"the run in which {_question(approved)} was to be denied did not ask it: {trial.end}")
                continue
            at = _at(denied[number])
            wrong += self._judge(trial, f"{_question(approved)} was denied", _at(approved), at)
        if not approvals:
            return "it asks for no approval", wrong
        return f"denied {_some(len(approvals), 'approval')}, and it did none of what follows a yes", wrong

    async def _missing(self) -> tuple[str, list[str]]:
        names = [name for name in self._children() if self._effect(name) == "read"]
        wrong: list[str] = []
        for name in names[:MOST_TRIALS]:
            trial = await self._theatre.play(_agreeing(self._of), {name: "missing"})
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
        for name in names[:MOST_TRIALS]:
            trial = await self._theatre.play(_agreeing(self._of), {name: "fails"})
            wrong += self._judge(trial, f"{name} fails", *self._since(trial, name))
        if not names:
            return "it called nothing", wrong
        return f"let {', '.join(names)} fail, one at a time, and it did nothing that needs them", wrong

    async def _replayed(self) -> tuple[str, list[str]]:
        trial = await self._theatre.play_with_restarts(_agreeing(self._of))
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
        return list(dict.fromkeys(call["name"] for call in self._good.calls))

    def _effect(self, name: str) -> str:
        tool = self._theatre.bundle.tools.get(name)
        if tool is not None:
            return tool.effect
        if name.startswith("store__"):
            return "read" if VERBS.get(name.rpartition("__")[2]) == "read" else "once"
        return "read" if name in _READY_READS else "once"


def _agreeing(of: Eval) -> Choose:
    """The answers of the eval; where it has none, yes, and of a choice what is recommended or stands first."""
    scripted = Scripted(of.answers)

    def choose(pause: Mapping[str, Any]) -> Mapping[str, Any] | str | None:
        said = scripted(pause)
        if not isinstance(said, str):
            return said
        if _is_approval(pause):
            return {"value": "yes"}
        if options := pause.get("options"):
            best = next((one for one in options if one.get("recommended")), options[0])
            return {"value": best["value"]}
        return said

    return choose


def _denying(of: Eval, number: int) -> Choose:
    """As `_agreeing`, but the approval with this number, counted from 0, is denied."""
    agree = _agreeing(of)
    asked = 0

    def choose(pause: Mapping[str, Any]) -> Mapping[str, Any] | str | None:
        nonlocal asked
        if not _is_approval(pause):
            return agree(pause)
        asked += 1
        return {"value": "no"} if asked == number + 1 else agree(pause)

    return choose


def _is_approval(pause: Mapping[str, Any]) -> bool:
    return pause["kind"] == "approval" or pause["input_type"] == "yesno"


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


def _copy(home: Path, data: Path) -> None:
    """The journal of a data folder that nobody has open."""
    data.mkdir(mode=0o700)
    for file in home.glob("runtime.db*"):
        shutil.copy2(file, data / file.name)
