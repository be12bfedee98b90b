"""The tool of a parked run is edited in every way that people edit tools, and then its question is answered.

Either the edit is harmless and the run ends as it should, or the run stops before anything new is executed, says what
differs, and ends as it should once the code is put right.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest import mock

from runtime_core.hosts import process
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.journal.base import Answer
from runtime_core.runtime import Runtime
from runtime_core.wire.json import dumps
from tests.proof.crashing import Stage
from tests.proof.editing import EDITS, Edit
from tests.proof.options import options
from tests.proof.writing import OTHER, Language
from tests.unit.engine.workshop import Repo

TOOLS: Final = ("first", "second", "last", "extra", "boom")
LANGUAGES: Final[Sequence[Language]] = ("ts", "py")
HANGS_S: Final = 1.0
"""How long a recorded call may be missing in a handler that waits."""


@dataclass(slots=True)
class Case:
    """One edit in one language, and the run it is done to."""

    name: str
    language: Language
    edit: Edit
    run_id: str = ""
    pause_id: str = ""
    parked_effects: int = 0

    @property
    def below(self) -> str:
        return f"{self.name}_below"

    def write(self, repo: Repo, *, edited: bool) -> None:
        base = self.edit.base
        settings = dict(self.edit.settings) if edited else {}
        if edited and self.edit.delete:
            (repo.root / "amodal/tools" / self.name / "tool.json").unlink()
            (repo.root / "amodal/tools" / self.name / f"handler.{self.language}").unlink()
        else:
            code = _changed(base.code(self.language), self.edit.change(self.language) if edited else None)
            self._write(repo, self.name, self.language, code, settings, helped=bool(base.lib_ts))
        if base.child_ts:
            language = OTHER[self.language]
            code = base.child_ts if language == "ts" else base.child_py
            code = _changed(code, self.edit.child[language] if edited and self.edit.child else None)
            self._write(repo, self.below, language, code, dict(self.edit.child_settings) if edited else {})
        if base.lib_ts:
            code = base.lib_ts if self.language == "ts" else base.lib_py
            code = _changed(code, self.edit.lib[self.language] if edited and self.edit.lib else None)
            file = repo.root / f"amodal/_lib/{self.name}.{self.language}"
            file.parent.mkdir(exist_ok=True)
            file.write_text(code)

    def _write(
        self, repo: Repo, name: str, language: Language, code: str, settings: dict[str, Any], *, helped: bool = False
    ) -> None:
        code = code.replace("$below", self.below)
        given: dict[str, Any] = {"execution": "durable", "triggers": [{"kind": "invoke"}], **settings}
        if given["execution"] is None:
            del given["execution"], given["triggers"]
        calls = TOOLS if name == self.below or not self.edit.base.child_ts else (*TOOLS, self.below)
        given.setdefault("uses", {"tools": list(calls), "subagents": []})
        repo.tool(name, **{language: code}, **given)
        if helped:
            file = repo.root / f"amodal/tools/{name}/handler.{language}"
            line = f"import {{ help }} from '../../_lib/{name}.js';" if language == "ts" else (
                f"from ..._lib.{name} import help"
            )  # fmt: skip
            file.write_text(f"{line}\n{file.read_text()}")


def _changed(code: str, change: tuple[str, str] | None) -> str:
    if change is None:
        return code
    old, new = change
    assert old in code, f"stale edit: {old!r} is not in {code!r}"
    return code.replace(old, new)


@dataclass(slots=True)
class Figures:
    refused: int = 0
    harmless: int = 0
    put_right: int = 0
    holes: list[str] = field(default_factory=list[str])


class Workshop:
    def __init__(self, folder: Path, edits: Sequence[Edit], both: bool) -> None:
        self._folder = folder
        self._repo = Repo(folder / "repo")
        for tool in TOOLS:
            if tool == "boom":
                self._repo.tool(tool, ts="throw new Error('boom ' + params.id);")
            else:
                self._repo.tool(tool, ts=f"return '{tool} ' + params.id;")
        self._cases = [
            Case(f"e{number}_{language}", language, edit)
            for number, edit in enumerate(edits)
            for language in (LANGUAGES if both else LANGUAGES[number % 2 : number % 2 + 1])
        ]
        self.figures = Figures()

    async def run(self) -> Figures:
        self._stage = Stage(self._folder / "data", HandlerHosts(self._folder / "hosts"))
        try:
            self._write(edited=False)
            async with self._stage.runtime() as runtime:
                await self._each(self._park, runtime)
                self._write(edited=True)
                await self._each(self._answer, runtime)
                self._write(edited=False)
                await self._each(self._put_right, runtime)
        finally:
            await self._stage.close()
        return self.figures

    def _write(self, *, edited: bool) -> None:
        for case in self._cases:
            case.write(self._repo, edited=edited)

    async def _each(self, act: Any, runtime: Runtime) -> None:
        for case in self._cases:
            try:
                async with asyncio.timeout(20):
                    await act(runtime, case)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a hole
                self.figures.holes.append(f"{case.edit.what} ({case.language}): {type(error).__name__}: {error}")
                case.run_id = ""

    async def _park(self, runtime: Runtime, case: Case) -> None:
        reply = await runtime.run_tool(self._repo.root, case.name, dumps({}), who="ann")
        assert reply["outcome"]["kind"] == "awaiting-input", reply
        case.run_id, case.pause_id = reply["sessionId"], reply["outcome"]["pause_id"]
        case.parked_effects = self._effects(case).total()

    async def _answer(self, runtime: Runtime, case: Case) -> None:
        if not case.run_id:
            return
        edit = case.edit
        await runtime.answer(Answer(case.run_id, dumps("x"), "ann", pause_id=case.pause_id))
        run = (await runtime.run(case.run_id, who="ann"))["run"]
        new = self._new_effects(case)
        if edit.refused is None:
            assert run["status"] == "completed", run["error"]
            assert run["result"] == edit.result, run["result"]
            assert Counter(new) == Counter(edit.new_effects), new
            self.figures.harmless += 1
            return
        assert run["status"] == ("needs-attention" if edit.refused == "attention" else "diverged"), run
        assert edit.refused == "attention" or run["error"]["code"] == edit.refused, run["error"]
        assert new == [], f"executed before the halt: {new}"
        assert "stepped" not in self._log(case), "a step was executed before the halt"
        words = await self._words(runtime, case)
        missing = [name for name in (case.name, *edit.names) if name.replace("$below", case.below) not in words]
        assert not missing, f"{missing} not named: {words}"
        self.figures.refused += 1

    async def _words(self, runtime: Runtime, case: Case) -> str:
        """What a person is told: the error of the run and the questions about it."""
        detail = await runtime.run(case.run_id, who="ann")
        message = (detail["run"]["error"] or {}).get("message", "")
        return " ".join([message, *(f"{pause['question']} {pause['path']}" for pause in detail["pauses"])])

    async def _put_right(self, runtime: Runtime, case: Case) -> None:
        if not case.run_id or case.edit.refused is None:
            return
        if case.edit.refused == "attention":
            await runtime.answer(Answer(case.run_id, dumps("run-again"), "ann"))
        else:
            await runtime.resume(case.run_id, who="ann")
        detail = await runtime.run(case.run_id, who="ann")
        if any(pause["pause_id"] == case.pause_id for pause in detail["pauses"]):
            await runtime.answer(Answer(case.run_id, dumps("x"), "ann", pause_id=case.pause_id))
            detail = await runtime.run(case.run_id, who="ann")
        run = detail["run"]
        assert (run["status"], run["result"]) == ("completed", case.edit.base.result), run
        assert self._new_effects(case) == ["last"], self._new_effects(case)
        self.figures.put_right += 1

    def _effects(self, case: Case) -> Counter[str]:
        made = [effect for effect in self._stage.effects if effect.call_id.startswith(f"{case.run_id}/")]
        return Counter(effect.entry.split("/")[-2] for effect in made)

    def _new_effects(self, case: Case) -> list[str]:
        made = [effect for effect in self._stage.effects if effect.call_id.startswith(f"{case.run_id}/")]
        return [effect.entry.split("/")[-2] for effect in made[case.parked_effects :]]

    def _log(self, case: Case) -> str:
        log = self._folder / "data/logs/handlers.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return "\n".join(line for line in lines if case.run_id in line)


def catalogue(folder: Path, *, both: bool) -> Figures:
    """Try every edit, in ``both`` languages or in one and the other by turns."""
    with mock.patch.object(process, "STUCK_S", HANGS_S):
        return asyncio.run(Workshop(folder, EDITS, both).run())


def main(argv: Sequence[str]) -> None:
    options("edits", argv, short=1, long=1)
    logging.disable(logging.ERROR)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        figures = catalogue(Path(folder), both=True)
    print(
        f"{len(EDITS)} kinds of edit in two languages in {time.monotonic() - began:.0f} s: {figures.refused} refused "
        f"before anything new was executed ({figures.put_right} of them ended well once put right), "
        f"{figures.harmless} harmless, {len(figures.holes)} neither"
    )
    print("\n".join(figures.holes))
    raise SystemExit(bool(figures.holes))
