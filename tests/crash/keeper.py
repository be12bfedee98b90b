"""A process that runs a runtime until it is killed.

``python -m tests.crash.keeper DATA REPO start TOOL INPUT [TIMES] | answer SESSION VALUE | recover``: every change and
every reply are a line of JSON on stdout, and the last one says that it waits.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from runtime_core.journal.base import Answer
from runtime_core.runtime import Change, Runtime


def say(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def on_change(change: Change) -> None:
    say(change=change.kind, id=change.wire.get("id"), state=change.wire.get("state") or change.wire.get("status"))


async def keep(data: Path, repo: Path, command: str, *words: str) -> None:
    runtime = Runtime(data, execute=True)
    await runtime.open()
    runtime.subscribe(on_change)
    if command == "start":
        tool, given, *times = words
        for _ in range(int(times[0]) - 1 if times else 0):
            say(reply=await runtime.run_tool(repo, tool, given, who="ann"))
        reply = await runtime.run_tool(repo, tool, given, who="ann")
    elif command == "answer":
        reply = await runtime.answer(Answer(words[0], words[1], "ann"))
    else:
        reply = {"recovered": await runtime.recover()}
    say(reply=reply)
    say(waits=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(exist_ok=True)
    asyncio.run(keep(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
