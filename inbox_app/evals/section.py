"""Evals as a section of the window: lists them, carries them out, and shows how they went."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import Slot

from inbox_app.commands.evaluating import run_evals
from inbox_app.evals.page import EvalPage
from inbox_app.evals.pane import EvalsPane
from inbox_app.evals.tables import EvalTable
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.evals import EvalEnded, EvalEvent, EvalInfo, EvalResult, EvalRun, EvalStarted
from inbox_app.list_section import ListSection
from inbox_app.section import Surroundings, Verb
from inbox_app.widgets.hidden_text import reveal

if TYPE_CHECKING:
    from inbox_app.gateway.evals import EvalGateway


class EvalsSection(ListSection[EvalsPane, EvalPage, EvalTable]):
    """One suite is carried out at a time."""

    def __init__(self, around: Surroundings) -> None:
        pane, page = EvalsPane(around.theme), EvalPage(around.theme, around.clock)
        super().__init__(around, "evals", pane, page, EvalTable(pane, around.clock))
        self._infos: list[EvalInfo] = []
        self._left: list[str] = []
        self._now = ""
        self._now_title = ""
        self._refusal = ""
        self._task: asyncio.Task[None] | None = None
        self._pane.selected.connect(self._on_selected)
        self._pane.empty.followed.connect(self._read)
        self._page.run_wanted.connect(self._run_one)
        self._page.run_all_wanted.connect(self._run_all)
        self._page.stop_wanted.connect(self._stop)
        self._page.result_chosen.connect(self._on_result_chosen)

    @property
    def verbs(self) -> Mapping[str, Verb]:
        return {
            "evals.run": Verb(self._run_one, self._can_run_one),
            "evals.run_all": Verb(self._run_all, self._can_run_all),
            "evals.stop": Verb(self._stop, self._is_busy),
        }

    def enter(self) -> None:
        self._page.enter()

    def close(self) -> None:
        self._stop()

    # Reading

    async def _read_all(self) -> None:
        gateway = self._gateway
        if gateway is not None:
            self._infos = list(await gateway.evals())
            self._put()

    def _put(self) -> None:
        self._table.put(self._infos, {one: "running" if one == self._now else "waits" for one in self._left})
        passed = sum(info.last is not None and info.last.passed for info in self._infos)
        self._pane.show_evals(len(self._infos), passed, len(self._left))
        self._select()
        current = self._current
        if current is None:
            self._page.show_nothing()
        else:
            self._page.show_eval(current)
        self._show_acting()

    @Slot(str)
    def _on_selected(self, eval_id: str) -> None:
        current = self._current
        if current is None:
            return
        self._page.show_eval(current)
        self._show_acting()
        self._around.spawn(self._read_results(current), "results of an eval")

    async def _read_results(self, info: EvalInfo) -> None:
        gateway = self._gateway
        if gateway is None:
            return
        try:
            found = await gateway.results(info.repository, info.name)
        except GatewayError as error:
            self._refusal = error.message
            self._show_acting()
            return
        if info.id == self._page.eval_id:
            self._page.show_results(found)
            if found:
                self._page.select_result(found[0])

    @Slot(str)
    def _on_result_chosen(self, result_id: str) -> None:
        row = self._page.results.find(result_id)
        if row is not None:
            self._page.show_result(self._page.results.row(row))

    # Doing

    def _is_busy(self) -> bool:
        return self._task is not None

    def _can_run_one(self) -> bool:
        return self._current is not None and self._gateway is not None and not self._is_busy()

    def _can_run_all(self) -> bool:
        return bool(self._infos) and self._gateway is not None and not self._is_busy()

    @Slot()
    def _run_one(self) -> None:
        current = self._current
        if current is not None and self._can_run_one():
            self._begin([current])

    @Slot()
    def _run_all(self) -> None:
        if self._can_run_all():
            self._begin(self._infos)

    @Slot()
    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _begin(self, infos: Sequence[EvalInfo]) -> None:
        self._left = [info.id for info in infos]
        self._refusal = ""
        suites: dict[str, list[str]] = {}
        for info in infos:
            suites.setdefault(info.repository, []).append(info.name)
        asked = [EvalRun(repository, names) for repository, names in suites.items()]
        self._task = cast("asyncio.Task[None]", self._around.spawn(self._run(asked), "run evals"))
        self._put()

    async def _run(self, asked: Sequence[EvalRun]) -> None:
        try:
            for one in asked:
                gateway = self._gateway
                refusal = await run_evals(gateway, one, partial(self._hear, one.repository)) if gateway else ""
                if refusal:
                    self._refusal = refusal
                    break
        finally:
            self._task, self._left, self._now, self._now_title = None, [], "", ""
            self._put()

    def _hear(self, repository: str, event: EvalEvent) -> None:
        match event:
            case EvalStarted(name, title):
                self._now, self._now_title = f"{repository}\n{name}", title
                self._put()
            case EvalEnded(name, _, result):
                self._take_result(repository, name, result)

    def _take_result(self, repository: str, name: str, result: EvalResult) -> None:
        ended = next((one for one in self._infos if (one.repository, one.name) == (repository, name)), None)
        if ended is None:
            return
        self._left = [one for one in self._left if one != ended.id]
        after = replace(ended, last=result)
        self._infos = [after if one.id == ended.id else one for one in self._infos]
        self._put()
        if after.id == self._page.eval_id:
            self._page.show_result(result)
            self._around.spawn(self._read_results(after), "results of an eval")

    def _show_acting(self) -> None:
        current = self._current
        busy = ""
        if self._is_busy():
            left = len(self._left)
            busy = self.tr("Running {0}").format(reveal(self._now_title)) if self._now else self.tr("Starting")
            if left > 1:
                busy = self.tr("{0} to go · {1}").format(left, busy)
        self._page.show_acting(can_run=current is not None, busy=busy, refusal=self._refusal)
        self._around.changed()

    @property
    def _gateway(self) -> EvalGateway | None:
        gateway = self._around.gateway()
        return gateway.evals if gateway is not None else None

    @property
    def _current(self) -> EvalInfo | None:
        found = self._pane.current_id
        return self._table.get(found) if found is not None else None
