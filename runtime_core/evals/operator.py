"""Who answers the questions of an eval: what it says, or nobody."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from runtime_core.dispatch.changes import Change
from runtime_core.evals.stage import Stage
from runtime_core.journal.base import Answer
from runtime_core.repo.bundle import ScriptedAnswer
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps

log = logging.getLogger(__name__)

T = TypeVar("T")

WHO: Final = "eval"
"""Who starts what an eval starts, and looks at it."""
LOOK_S: Final = 1.0
"""How long nothing has to be told until it is looked again."""
MOST_ANSWERS: Final = 100
"""So many questions one eval answers: a handler may ask again until it likes the answer."""
_SETTLE_S: Final = 0.05
_SHOWN: Final = 200
_ROUNDED_S: Final = 0.002
"""Times on the wire are cut to milliseconds."""

Choose = Callable[[Mapping[str, Any]], Mapping[str, Any] | str | None]
"""The body of the answer to a pause (decision 1); None: nobody answers and the deadline passes; a text: why there is
none, and then its run is cancelled."""


class Operator:
    """Answers what is asked on a stage, in the order of asking, each question once.

    ``is_talk``: a conversation goes on, and as with real people the model is told that its durable tools wait before
    anybody answers them; only whether a call may be made is answered at once, since the model waits for that.
    ``problems`` says of each question that was not answered why; ``answered`` are the others. ``before``: who answered
    on the stage of these runs until now.
    """

    def __init__(self, stage: Stage, choose: Choose, *, is_talk: bool = False, before: Operator | None = None) -> None:
        self._waits = is_talk
        self._stage = stage
        self._choose = choose
        self._seen: set[str] = set()
        self._changed = asyncio.Event()
        self.problems: list[str] = before.problems if before is not None else []
        self.answered: list[Mapping[str, Any]] = before.answered if before is not None else []

    async def accompany(self, work: Awaitable[T], since: float) -> T:
        """Do ``work``, then wait until every run that began after ``since`` has ended; answer all the while.

        One that nothing moves any more is cancelled.
        """
        attending = asyncio.create_task(self._attend())
        settling = asyncio.create_task(self._settle(work, since))
        try:
            await asyncio.wait((attending, settling), return_when=asyncio.FIRST_COMPLETED)
            if attending.done():
                attending.result()  # raises what stopped it
            return settling.result()
        finally:
            attending.cancel()
            settling.cancel()
            await asyncio.gather(attending, settling, return_exceptions=True)

    async def _attend(self) -> None:
        stop = self._stage.subscribe(self._on_change)
        try:
            while True:
                self._changed.clear()
                await self._answer_all()
                await self._pause()
        finally:
            stop()

    async def _settle(self, work: Awaitable[T], since: float) -> T:
        done = await work
        self._waits = False
        self._changed.set()
        while going := await self.runs(since, finished=False):
            for run in going:
                await self._end_stuck(run)
            await asyncio.sleep(_SETTLE_S)
        return done

    async def answer_open(self, limit_s: float) -> bool:
        """Answer what is asked now, and wait until that has led to the next questions or to the end; False if nothing
        is asked."""
        page = await self._stage.pending(who=WHO, limit=100)
        asked = [pause for pause in page["approvals"] if pause["status"] != "diverged"]
        for pause in asked:
            await self._answer(pause, wait_s=limit_s)
        return bool(asked)

    async def cancel_all(self, since: float) -> None:
        """End what goes on, so that the next eval begins with nothing."""
        for run in await self.runs(since, finished=False):
            await self._cancel(run["session_id"])

    async def runs(self, since: float, *, finished: bool | None = None) -> Sequence[dict[str, Any]]:
        """The runs that began after ``since``, the first one first."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = await self._stage.runs(finished=finished, cursor=cursor)
            found += [run for run in page["runs"] if _seconds(run["created_at"]) > since - _ROUNDED_S]
            cursor = page["next_cursor"]
            if cursor is None:
                return sorted(found, key=lambda run: (run["created_at"], run["session_id"]))

    def _on_change(self, _: Change) -> None:
        self._changed.set()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(LOOK_S):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def _answer_all(self) -> None:
        page = await self._stage.pending(who=WHO, limit=100)
        for pause in page["approvals"]:
            votes: Mapping[str, Any] = pause.get("votes") or {}
            key = f"{pause['pause_id']} {votes.get('given', 0)}"
            if key in self._seen or pause["status"] == "diverged":
                continue
            if not self._waits or await self._is_gate(pause["session_id"]):
                self._seen.add(key)
                await self._answer(pause)

    async def _is_gate(self, run_id: str) -> bool:
        return (await self._stage.run(run_id, who=WHO))["run"]["gate"] is not None

    async def _answer(self, pause: Mapping[str, Any], wait_s: float = 0) -> None:
        body = self._choose(pause) if pause["kind"] != "attention" else f"the run cannot go on: {pause['question']}"
        if len(self.answered) >= MOST_ANSWERS:
            body = f"{_asked(pause)} came after {MOST_ANSWERS} others: it seems to take no answer"
        if isinstance(body, str):
            self.problems.append(body)
            await self._cancel(pause["session_id"])
            return
        if body is None:
            if pause["expires_at"] is None:
                self.problems.append(f"{_asked(pause)} has no deadline, so it cannot expire")
                await self._cancel(pause["session_id"])
            else:
                self.answered.append(pause)
                await self._stage.expire(_seconds(pause["expires_at"]) + 0.001)
            return
        who = next(_answerers(pause), None)
        if who is None:
            self.problems.append(f"nobody may answer {_asked(pause)}")
            await self._cancel(pause["session_id"])
            return
        answer = Answer(
            run_id=pause["session_id"],
            value=dumps(body["value"]),
            who=who,
            edits=dumps(body["edits"]) if "edits" in body else None,
            note=body.get("note"),
            pause_id=pause["pause_id"],
        )
        self.answered.append(pause)
        try:
            await self._stage.answer(answer, wait_s=wait_s)
        except RuntimeFault as fault:
            self.problems.append(f"the answer to {_asked(pause)} was refused: {fault.message}")
            await self._cancel(pause["session_id"])

    async def _end_stuck(self, run: Mapping[str, Any]) -> None:
        """A run that has stopped on its own; those with a question are the answers' to end."""
        status, name = run["status"], run["tool_name"]
        if status == "diverged":
            error: Mapping[str, Any] = run["error"] or {}
            self.problems.append(f"{name} did not repeat what it had done: {error.get('message', status)}")
            await self._cancel(run["session_id"])

    async def _cancel(self, run_id: str) -> None:
        try:
            await self._stage.cancel(run_id, who=WHO)
        except RuntimeFault as fault:  # it ended meanwhile
            log.info("%s: %s", run_id, fault.message)


class Scripted:
    """The answers as they stand in an eval: the first unused one that fits a question; the last one that fits stays."""

    def __init__(self, answers: Sequence[ScriptedAnswer]) -> None:
        self._answers = answers
        self._used = Counter[int]()

    def __call__(self, pause: Mapping[str, Any]) -> Mapping[str, Any] | str | None:
        fitting = [number for number, answer in enumerate(self._answers) if _fits(answer.asked, pause)]
        if not fitting:
            return f'nobody answers {_asked(pause)}; write the answer below "## Answers" of an eval'
        number = next((one for one in fitting if not self._used[one]), fitting[-1])
        self._used[number] += 1
        return self._answers[number].body


def _fits(asked: str, pause: Mapping[str, Any]) -> bool:
    words = asked.casefold()
    texts = [str(pause["question"]), str(pause.get("title") or "")]
    return any(words in text.casefold() for text in texts) or asked in (pause["tool_name"], *pause["path"])


def _answerers(pause: Mapping[str, Any]) -> Iterator[str]:
    """People who may answer, those who have not yet."""
    named, excluded = pause.get("eligible_answerers"), pause.get("exclude_answerers") or ()
    votes: Mapping[str, Any] = pause.get("votes") or {}
    given: Sequence[str] = votes.get("by", ())
    people = named if named is not None else (f"{WHO}-operator-{number}" for number in range(1, 100))
    yield from (one for one in people if one not in excluded and one not in given)


def _asked(pause: Mapping[str, Any]) -> str:
    question = str(pause["question"])
    shown = question if len(question) <= _SHOWN else f"{question[:_SHOWN]}…"
    return f'the question "{shown}" of {" > ".join(pause["path"])}'


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
