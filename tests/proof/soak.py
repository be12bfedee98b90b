"""A process that executes runs is killed with -9 over and over, and so are its handler processes.

Meanwhile every question is answered by several senders at the same moment: by two threads of this process and by the
one that is killed. Counted outside of all of them: what was accepted, and every handler that ran: those that must run
once write so themselves, the others are counted when they are handed to a process.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from runtime_core.runtime import Runtime
from runtime_core.wire.json import dumps, loads
from tests.proof import worker
from tests.proof.options import options
from tests.proof.worker import Notebook
from tests.unit.engine.workshop import Repo

LIVE: Final = 6
"""Runs that are under way at the same time."""
KILL_WITHIN_S: Final = 0.5
DRAIN_S: Final = 120.0
SENDERS: Final = ("first", "second")

TS = """
const made = await ctx.callTool('idem', {});
const where = await ctx.requestInput('Where to?');
const noted = await ctx.step('note', () => 'to ' + where.value);
const [shipped, seen, child] = await Promise.all(
  [ctx.callTool('once', {}), ctx.callTool('read', {}), ctx.callTool('below_py', {})]);
await new Promise((done) => setTimeout(done, 20));
const told = await ctx.callTool('once', {});
return {made, where: where.value, noted, shipped, seen, child, told};
"""
PY = """
import asyncio
made = await ctx.call_tool('idem', {})
where = await ctx.request_input('Where to?')
noted = await ctx.step('note', lambda: 'to ' + where['value'])
shipped, seen, child = await asyncio.gather(
    ctx.call_tool('once', {}), ctx.call_tool('read', {}), ctx.call_tool('below_ts', {}))
await asyncio.sleep(0.02)
told = await ctx.call_tool('once', {})
return {'made': made, 'where': where['value'], 'noted': noted, 'shipped': shipped, 'seen': seen, 'child': child,
        'told': told}
"""
TOOLS: Final = ("top_ts", "top_py")


def repository(root: Path, notes: Path) -> Repo:
    """``once`` itself writes down that it ran, with the id of its call, before it waits and returns."""
    repo = Repo(root)
    repo.durable("top_ts", ts=TS, tools=("idem", "once", "read", "below_py"))
    repo.durable("top_py", py=PY, tools=("idem", "once", "read", "below_ts"))
    below = "const said = await ctx.waitForApproval('Go on?'); return [said.note, await ctx.callTool('once', {})];"
    repo.durable("below_ts", ts=below, tools=("once",))
    below = "said = await ctx.wait_for_approval('Go on?')\nreturn [said['note'], await ctx.call_tool('once', {})]"
    repo.durable("below_py", py=below, tools=("once",))
    repo.tool("idem", py="return 'idem done'", effect="idempotent")
    repo.tool("read", ts="await new Promise((done) => setTimeout(done, 5)); return 'read done';", effect="read")
    line = "JSON.stringify(['effect', 'once', ctx.callId]) + '\\n'"
    once = f"Deno.writeTextFileSync({dumps(str(notes))}, {line}, {{append: true}});"
    repo.tool("once", ts=f"{once} await new Promise((done) => setTimeout(done, 5)); return 'once done';", effect="once")
    return repo


@dataclass(slots=True)
class Figures:
    cycles: int = 0
    hosts_killed: int = 0
    runs: int = 0
    questions: int = 0
    interrupted: int = 0
    effects: int = 0
    violations: list[str] = field(default_factory=list[str])


class Soak:
    """Raises nothing for a broken promise: `Figures.violations` has them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._data = folder / "data"
        (folder / "notes").mkdir()
        self._notes = folder / "notes" / "lines"
        self._repo = repository(folder / "repo", self._notes)
        self._notebook = Notebook(self._notes)
        self._chance = random.Random(seed)
        self._processes = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload(["tests.proof.worker", "runtime_core.repo.loader"])
        self._started: list[str] = []
        self.figures = Figures()

    async def run(self, cycles: int) -> Figures:
        clients = [Runtime(self._data, execute=False) for _ in SENDERS]
        for client in clients:
            await client.open()
        try:
            for _ in range(cycles):
                await self._cycle(clients)
                self.figures.cycles += 1
            await self._drain(clients)
            await self._examine(clients[0])
        finally:
            for client in clients:
                await client.close()
            self._notebook.close()
        return self.figures

    async def _cycle(self, clients: Sequence[Runtime]) -> None:
        process, pipe = self._begin()
        try:
            await self._start_runs(clients[0])
            await asyncio.to_thread(pipe.recv)
            ends = time.monotonic() + self._chance.uniform(0, KILL_WITHIN_S)
            kills_host = self._chance.random() < 0.3
            while (left := ends - time.monotonic()) > 0:
                answered = await self._answer(clients)
                if answered and self._chance.random() < 0.15:
                    break  # between an answer and its leg
                if kills_host and left < KILL_WITHIN_S / 2:
                    kills_host = not self._kill_host(process.pid or 0)
                await asyncio.sleep(0.01)
        finally:
            _kill(process, pipe)

    def _begin(self) -> tuple[Any, Any]:
        ours, theirs = self._processes.Pipe()
        process = self._processes.Process(
            target=worker.main, args=(self._data, self._repo.root, self._notes, theirs), daemon=True
        )
        process.start()
        theirs.close()
        return process, ours

    async def _start_runs(self, client: Runtime) -> None:
        unfinished = (await client.runs(finished=False))["total"]
        for number in range(unfinished, LIVE):
            tool = TOOLS[(number + len(self._started)) % 2]
            reply = await client.run_tool(self._repo.root, tool, dumps({}), who="ann", wait_s=0)
            self._started.append(reply["sessionId"])

    async def _answer(self, clients: Sequence[Runtime]) -> bool:
        """Both senders answer everything that is open, at the same moment; True if there was anything."""
        open_now = (await clients[0].pending(who="first"))["approvals"]
        sending = [
            worker.answer(client, self._notebook, sender, pause)
            for pause in open_now
            for client, sender in zip(clients, SENDERS, strict=True)
        ]
        await asyncio.gather(*sending)
        return bool(open_now)

    def _kill_host(self, parent: int) -> bool:
        hosts = _children(parent)
        if not hosts:
            return False
        with suppress(ProcessLookupError):
            os.kill(self._chance.choice(hosts), signal.SIGKILL)
        self.figures.hosts_killed += 1
        return True

    async def _drain(self, clients: Sequence[Runtime]) -> None:
        """Let everything come to its end, undisturbed."""
        process, pipe = self._begin()
        try:
            async with asyncio.timeout(DRAIN_S):
                while (await clients[0].runs(finished=False))["total"]:
                    await self._answer(clients)
                    await asyncio.sleep(0.02)
        except TimeoutError:
            left = (await clients[0].runs(finished=False))["runs"]
            self.figures.violations += [f"{run['session_id']} is stuck: {run['status']} {run['error']}" for run in left]
        finally:
            _kill(process, pipe)

    async def _examine(self, client: Runtime) -> None:
        accepted, effects = self._read_notes()
        figures = self.figures
        figures.runs = len(self._started)
        figures.effects = effects.total()
        for run_id in self._started:
            detail = await client.run(run_id, who="ann")
            self._examine_run(detail, accepted)
        for (tool, call_id), times in effects.items():
            if tool == "once" and times > 1:
                figures.violations.append(f"{call_id} of {tool} was made {times} times")

    def _read_notes(self) -> tuple[dict[str, list[str]], Counter[tuple[str, str]]]:
        accepted: dict[str, list[str]] = {}
        effects: Counter[tuple[str, str]] = Counter()
        for line in self._notes.read_text().splitlines():
            note: Any = loads(line)
            if note[0] == "accepted":
                accepted.setdefault(note[1], []).append(note[2])
            elif note[0] == "effect":
                effects[note[1], note[2]] += 1
            else:
                self.figures.violations.append(f"{note[2]} was made again although it is recorded")
        return accepted, effects

    def _examine_run(self, detail: dict[str, Any], accepted: dict[str, list[str]]) -> None:
        run, figures = detail["run"], self.figures
        if run["status"] != "completed":
            figures.violations.append(f"{run['session_id']} ended {run['status']}: {run['error']}")
            return
        said: dict[str, str] = {}
        for decision in detail["decisions"]:
            pause_id, by = decision["pause_id"], decision["answered_by"]
            winners = accepted.get(pause_id, [])
            figures.questions += 1
            figures.interrupted += decision["kind"] == "attention"
            if len(winners) > 1 or (winners and winners[0] != by):
                figures.violations.append(f"{pause_id}: decided by {by}, accepted from {winners}")
            said[decision["kind"]] = f"{by} says so"
        result = run["result"]
        if (result["where"], result["noted"], result["child"][0]) != (
            said["input"],
            f"to {said['input']}",
            said["approval"],
        ):
            figures.violations.append(f"{run['session_id']}: {result} does not hold what was decided: {said}")
        calls = [result["made"], result["shipped"], result["seen"], result["told"], result["child"][1]]
        if any(value not in ("idem done", "read done", "once done", "once assumed") for value in calls):
            figures.violations.append(f"{run['session_id']}: {result} holds what no call returned")


def _kill(process: Any, pipe: Any) -> None:
    process.kill()
    process.join()
    process.close()
    pipe.close()


def _children(parent: int) -> list[int]:
    """Handler processes of a worker."""
    found: list[int] = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def soak(folder: Path, cycles: int, seed: int) -> Figures:
    return asyncio.run(Soak(folder, seed).run(cycles))


def main(argv: Sequence[str]) -> None:
    given = options("soak", argv, short=40, long=2000)
    logging.disable(logging.ERROR)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        figures = soak(Path(folder), given.rounds, given.seed)
    print(
        f"seed {given.seed}: {figures.cycles} kills (and {figures.hosts_killed} of handler processes) in "
        f"{time.monotonic() - began:.0f} s; {figures.runs} runs, {figures.questions} questions decided, "
        f"{figures.interrupted} of them about interrupted calls, {figures.effects} effects; "
        f"{len(figures.violations)} violations"
    )
    print("\n".join(figures.violations))
    sys.exit(bool(figures.violations))
