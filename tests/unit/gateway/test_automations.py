"""Automations through the embedded gateway: its words are the application's, its refusals are `GatewayError`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from inbox_app.gateway.automations import AutomationRequest, When
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.embedded import EmbeddedGateway
from inbox_app.gateway.embedded_automations import EmbeddedAutomations
from tests.unit.engine.workshop import Repo, play


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.agent("default")
    made.durable("count", ts="return { counted: params.n };")
    return made


@asynccontextmanager
async def opened(repo: Repo, data: Path) -> AsyncGenerator[EmbeddedAutomations]:
    gateway = EmbeddedGateway(data, repositories=[repo.root], keeps_schedules=True, identity="ann")
    await gateway.open()
    try:
        yield gateway.automations
    finally:
        await gateway.close()


def counting(repo: Repo) -> AutomationRequest:
    return AutomationRequest(str(repo.root), When(every="1h"), "Hourly", tool="count", input='{"n": 1.50}')


def test_one_is_made_edited_started_and_removed_and_each_change_is_heard(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(repo, tmp_path / "data") as automations, aclosing(automations.watch()) as changes:
            heard = asyncio.ensure_future(anext(changes))
            await asyncio.sleep(0)
            made = await automations.add(counting(repo))
            assert (made.label, made.tool, made.input) == ("Hourly", "count", '{"n":1.50}')
            assert (made.enabled, made.is_timed, made.in_words, made.created_by) == (True, True, "Every hour", "ann")
            async with asyncio.timeout(20):
                while await heard != made.id:
                    heard = asyncio.ensure_future(anext(changes))
            started = await automations.start_now(made.id)
            assert (started.source, started.is_run) == ("manual", True)
            async with asyncio.timeout(20):
                while (await automations.history(made.id))[0].state != "completed":
                    await anext(changes)
            edited = await automations.edit(made.id, AutomationRequest("", When(at="2999-01-01"), prompt="Look."))
            assert (edited.tool, edited.prompt, edited.when.at) == ("", "Look.", "2999-01-01")
            off = await automations.switch(made.id, is_on=False)
            assert (off.enabled, off.next_at) == (False, None)
            await automations.remove(made.id)
            assert list(await automations.automations()) == []

    play(story())


def test_a_schedule_is_told_in_words_with_its_next_times_or_what_is_wrong_with_it(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(repo, tmp_path / "data") as automations:
            preview = await automations.preview(When(cron="@daily", timezone="UTC"))
            assert (preview.in_words, len(preview.times), preview.problem) == ("At 00:00 every day (UTC)", 3, "")
            assert [after - before for before, after in pairwise(preview.times)] == [86_400] * 2
            wrong = await automations.preview(When(cron="61 * * * *"))
            assert (wrong.in_words, wrong.times) == ("", ())
            assert 'The minute "61"' in wrong.problem

    play(story())


def test_what_is_refused_is_told(repo: Repo, tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(repo, tmp_path / "data") as automations:
            for request, said in (
                (AutomationRequest(str(repo.root), When(cron="x"), tool="count"), "has 1 field"),
                (AutomationRequest(str(repo.root), When(every="1h"), tool="nothing"), "There is no tool"),
                (AutomationRequest(str(tmp_path / "away"), When(every="1h"), tool="count"), "cannot be used"),
            ):
                with pytest.raises(GatewayError, match=said):
                    await automations.add(request)

    play(story())
