"""Automations as a person would meet them, for pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from inbox_app.automations.edit_dialog import EditDialog
from inbox_app.gateway.automations import Automation, Preview, When
from inbox_app.theme.theme import Theme
from tests.support.builders import NOW
from tests.support.fake_automations import DAY, HOUR, FakeAutomations, automation, firing
from tests.support.fake_builds import FakeCatalog, repository
from tests.support.fake_gateway import FakeGateway
from tests.support.stage import ARMED_S, Stage, stage


def _automations() -> tuple[Automation, ...]:
    failed = firing(2, state="failed", error="The model is rate limited: try again in a minute.", status="")
    waits = firing(0, started_at=NOW - HOUR, ended_at=None, state="running", status="awaiting-input")
    every = When(every="15m")
    return (
        automation(),
        automation(
            "stock",
            label="Count the stock",
            agent="",
            prompt="",
            tool="count_stock",
            input='{"dock": 3, "limit": 1.50}',
            when=every,
            in_words="Every 15 minutes",
            next_at=NOW + 400,
            last=waits,
        ),
        automation("weekly", label="Weekly report", origin="file", enabled=False, next_at=None, last=failed),
        automation(
            "bad",
            label="Refunds",
            origin="file",
            enabled=False,
            when=When(),
            next_at=None,
            last=None,
            problem='The hour "99" of "0 99 * * *" is not understood. It is 0 to 23.',
        ),
    )


def _history() -> FakeAutomations:
    return FakeAutomations(
        *_automations(),
        history=(
            firing(
                0, due_at=NOW - HOUR, started_at=NOW - HOUR, ended_at=None, state="running", status="awaiting-input"
            ),
            firing(
                1,
                due_at=NOW - DAY,
                started_at=NOW - DAY,
                ended_at=NOW - DAY,
                state="skipped",
                session_id="",
                status="",
                error="The last start has not ended.",
            ),
            firing(2, late=True, started_at=NOW - 2 * DAY + 3 * HOUR, ended_at=NOW - 2 * DAY + 3 * HOUR + 40),
            firing(
                3,
                state="failed",
                error="The model is rate limited: try again in a minute.",
                status="",
                session_id="chat_3",
            ),
            firing(4, state="unknown", session_id="chat_4", status="", error="The program ended meanwhile."),
            firing(5, source="manual"),
        ),
    )


async def _shown(theme: Theme, fake: FakeAutomations, size: tuple[int, int] = (1280, 772)) -> Stage:
    gateway = FakeGateway()
    gateway.automations, gateway.catalog = fake, FakeCatalog(repository())
    scene = await stage(theme, gateway, size=size)
    scene.desk.show_view("automations")
    await scene.settle()
    return scene


async def listed(theme: Theme) -> Stage:
    return await _shown(theme, _history())


async def of_agent(theme: Theme) -> Stage:
    scene = await _shown(theme, _history())
    scene.desk.move(1)
    await scene.settle()
    return scene


async def off(theme: Theme) -> Stage:
    scene = await _shown(theme, FakeAutomations(*_automations()))
    for _ in range(3):
        scene.desk.move(1)
    await scene.settle()
    return scene


async def none(theme: Theme) -> Stage:
    return await _shown(theme, FakeAutomations())


async def narrow(theme: Theme) -> Stage:
    scene = await _shown(theme, _history(), (800, 600))
    scene.desk.open_selected()
    await scene.settle()
    return scene


async def made(theme: Theme) -> Stage:
    return await _dialog(theme, "30 9 * * MON-FRI", "")


async def misspelt(theme: Theme) -> Stage:
    problem = 'The hour "99" of "30 99 * * *" is not understood. It is 0 to 23.'
    return await _dialog(theme, "30 99 * * *", problem)


async def _dialog(theme: Theme, cron: str, problem: str) -> Stage:
    fake = _history()
    if problem:
        fake.foresight = Preview(problem=problem)
    scene = await _shown(theme, fake)
    scene.desk.act("automations.new")
    await scene.settle()
    dialog = scene.window.findChild(EditDialog)
    assert dialog is not None
    dialog.label.setText("Late parcels")
    dialog.prompt.set_text("Which parcels are late? Ask me before you tell a customer.")
    dialog.cron.setText(cron)
    await scene.settle(ARMED_S)
    return scene


SCENES: dict[str, Callable[[Theme], Awaitable[Stage]]] = {
    "automations": listed,
    "automations-agent": of_agent,
    "automations-off": off,
    "automations-none": none,
    "automations-narrow": narrow,
    "automations-dialog": made,
    "automations-dialog-wrong": misspelt,
}
DIALOGS = frozenset({"automations-dialog", "automations-dialog-wrong"})
