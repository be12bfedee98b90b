"""The process the soak kills: a runtime that executes, answers what it sees, and notes effects outside of itself."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest import mock

from runtime_core import runtime as composition
from runtime_core.hosts import deno, sandbox
from runtime_core.hosts.base import HandlerJob, HostRepo, Leg, LegEvents
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.journal.base import Answer
from runtime_core.runtime import Runtime
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps
from runtime_core.wire.runs import parent_slot


class Notebook:
    """A file that lines are added to, by several processes; a line survives the death of its writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def note(self, *words: object) -> None:
        os.write(self._file, (dumps([str(word) for word in words]) + "\n").encode())

    def close(self) -> None:
        os.close(self._file)


def handlers_may_write(folder: Path) -> Any:
    """While this patch holds, handlers in TypeScript may write below ``folder``, so that they tell of themselves."""

    def boxed(command: list[str], readable: list[str], writable: list[str], **options: Any) -> list[str]:
        open_to = [f"--allow-write={folder}" if word == "--deny-write" else word for word in command]
        return sandbox.boxed(open_to, [*readable, str(folder)], [*writable, str(folder)], **options)

    return mock.patch.object(deno, "boxed", boxed)


class CountingHosts:
    """Real handler processes. Each time an inline handler is handed to one is noted, unless it tells of itself
    (``once``), and whether its call is recorded already.
    """

    def __init__(self, hosts: HandlerHosts, data: Path, notebook: Notebook) -> None:
        self._hosts = hosts
        self._journal = data / "runtime.db"
        self._notebook = notebook

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hosts, name)

    async def start(self, repo: HostRepo, job: HandlerJob, events: LegEvents) -> Leg:
        recorded = not job.durable and self._is_recorded(job.call_id or "")
        leg = await self._hosts.start(repo, job, events)
        tool = job.entry.split("/")[-2]
        if recorded:
            self._notebook.note("again", tool, job.call_id)
        elif not job.durable and tool != "once":
            self._notebook.note("effect", tool, job.call_id)
        return leg

    def _is_recorded(self, call_id: str) -> bool:
        run_id, _, at = call_id.partition("/")
        key = (run_id, parent_slot(at), int(at.rpartition("/")[2]))
        with closing(sqlite3.connect(self._journal)) as db:
            found = db.execute(
                "SELECT 1 FROM durable_entry WHERE run_id = ? AND path = ? AND n = ? AND state <> 'started'", key
            )
            return found.fetchone() is not None


async def answer(runtime: Runtime, notebook: Notebook, sender: str, pause: dict[str, Any]) -> None:
    """Answer a question in a way nobody else would, and note it if it was accepted."""
    value: Any = f"{sender} says so"
    if pause["kind"] == "approval":
        value = {"approved": True, "note": value}
    elif pause["kind"] == "attention":
        value = remedy(pause)
    key = f"{sender} {pause['pause_id']}"
    sent = Answer(
        pause["session_id"], dumps(value), sender, pause_id=pause["pause_id"], fingerprint=pause["fingerprint"], key=key
    )
    with suppress(RuntimeFault):
        await runtime.answer(sent, wait_s=0)
        notebook.note("accepted", pause["pause_id"], sender)


def remedy(pause: dict[str, Any]) -> Any:
    """The policy for interrupted calls: whatever may have run, did."""
    tool = pause["context"]["tool"]
    return {"use_result": f"{tool} assumed"} if tool == "once" else "run-again"


async def work(data: Path, repository: Path, notebook: Notebook, parent: Connection) -> None:
    counting = CountingHosts(HandlerHosts(data / "hosts"), data, notebook)
    with mock.patch.object(composition, "HandlerHosts", return_value=counting):
        runtime = Runtime(data, execute=True)
        await runtime.open()
    await runtime.add_repository(repository)
    parent.send("open")
    await runtime.recover(wait_s=0)
    while True:
        for pause in (await runtime.pending(who="worker"))["approvals"]:
            if hash(pause["pause_id"]) % 3 == 0:
                await answer(runtime, notebook, "worker", pause)
        await asyncio.sleep(0.05)


def main(data: Path, repository: Path, notes: Path, parent: Connection) -> None:
    logging.disable(logging.ERROR)  # it says when a handler process is lost
    with handlers_may_write(notes.parent):
        asyncio.run(work(data, repository, Notebook(notes), parent))
