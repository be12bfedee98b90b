"""Runs of a tool to the end, each on a copy of the stores, with what goes wrong in it and who answers its questions."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from runtime_core.engine.faults import Fault
from runtime_core.evals.operator import WHO, Choose, Operator, Scripted
from runtime_core.evals.stage import OpenStage, Setting, Stage
from runtime_core.repo.bundle import Bundle, Eval
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps


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


class Theatre:
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
            return await self._to_the_end(stage, operator, self._start(stage), began)

    async def play_with_restarts(self, choose: Choose) -> Trial:
        """One run whose every leg is replayed and compared, with new processes after each of its pauses."""
        setting = replace(self._setting, strict=True)
        async with self._copied() as data:
            began = time.time()
            async with self._open_stage(data, setting) as stage:
                run_id, before = await self._start(stage), Operator(stage, choose)
            while True:
                async with self._open_stage(data, setting) as stage:
                    operator = before = Operator(stage, choose, before=before)
                    if not await operator.answer_open(self._limit_s):
                        trial = await self._to_the_end(stage, operator, asyncio.sleep(0, run_id), began)
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

    async def _to_the_end(self, stage: Stage, operator: Operator, start: Awaitable[str], began: float) -> Trial:
        try:
            async with asyncio.timeout(self._limit_s):
                run_id = await operator.accompany(start, began)
        except TimeoutError:
            operator.problems.append(f"it took longer than {self._limit_s:g} s")
            run_id = (await operator.runs(began))[0]["session_id"]
            await operator.cancel_all(began)
        return await self._trial(stage, run_id, operator)

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


def agreeing(of: Eval) -> Choose:
    """The answers of the eval; where it has none, yes, and of a choice what is recommended or stands first."""
    scripted = Scripted(of.answers)

    def choose(pause: Mapping[str, Any]) -> Mapping[str, Any] | str | None:
        said = scripted(pause)
        if not isinstance(said, str):
            return said
        if is_approval(pause):
            return {"value": "yes"}
        if options := pause.get("options"):
            best = next((one for one in options if one.get("recommended")), options[0])
            return {"value": best["value"]}
        return said

    return choose


def denying(of: Eval, number: int) -> Choose:
    """As `agreeing`, but the approval with this number, counted from 0, is denied."""
    agree = agreeing(of)
    asked = 0

    def choose(pause: Mapping[str, Any]) -> Mapping[str, Any] | str | None:
        nonlocal asked
        if not is_approval(pause):
            return agree(pause)
        asked += 1
        return {"value": "no"} if asked == number + 1 else agree(pause)

    return choose


def is_approval(pause: Mapping[str, Any]) -> bool:
    return pause["kind"] == "approval" or pause["input_type"] == "yesno"


def _copy(home: Path, data: Path) -> None:
    """The journal of a data folder that nobody has open."""
    data.mkdir(mode=0o700)
    for file in home.glob("runtime.db*"):
        shutil.copy2(file, data / file.name)
