"""A window with everything behind it, on a clock that stands still: what pictures are drawn of."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from inbox_app import loop
from inbox_app.state.drafts import Drafts
from inbox_app.state.outbox import Outbox
from inbox_app.theme.theme import Theme
from inbox_app.views.desk import Desk
from inbox_app.views.main_window import MainWindow
from inbox_app.views.request_pane import RequestPane
from tests.support.builders import NOW
from tests.support.fake_gateway import FakeGateway

SETTLE_S = 0.3
ARMED_S = 1.2


@dataclass
class Stage:
    """A window with everything behind it, and a clock that stands still."""

    window: MainWindow
    desk: Desk
    gateway: FakeGateway
    drafts: Drafts
    tasks: loop.Tasks

    async def settle(self, seconds: float = SETTLE_S) -> None:
        await asyncio.sleep(seconds)


def _clock() -> float:
    return NOW


async def stage(theme: Theme, gateway: FakeGateway, *, size: tuple[int, int] = (1280, 772)) -> Stage:
    window = MainWindow(theme)
    window.resize(*size)
    window.show()
    drafts = Drafts(None)
    tasks = loop.Tasks()
    desk = Desk(window, RequestPane(theme, clock=_clock), theme, tasks.spawn, drafts, Outbox(), clock=_clock)
    tasks.on_error = desk.report
    desk.connect_to(lambda: gateway)
    scene = Stage(window, desk, gateway, drafts, tasks)
    await scene.settle()
    return scene


async def strike(scene: Stage) -> None:
    scene.window.hide()
    await scene.desk.close()
    await scene.tasks.close()
    scene.window.deleteLater()
