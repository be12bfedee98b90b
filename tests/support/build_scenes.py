"""Repositories and their builds as a person would meet them, for pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from PySide6.QtWidgets import QScrollArea

from inbox_app.gateway.builds import Build, LogLine
from inbox_app.gateway.catalog import Repository
from inbox_app.theme.theme import Theme
from tests.support.builders import NOW
from tests.support.fake_builds import (
    FakeBuilds,
    FakeCatalog,
    build,
    deployed,
    failed_deploy,
    repository,
    touching,
)
from tests.support.fake_gateway import FakeGateway
from tests.support.stage import ARMED_S, Stage, stage

NEEDS = ("npm packages that are fetched from the network and installed: amodal/tools/ship/package.json",)


def _repositories() -> tuple[Repository, ...]:
    broken = "amodal/tools/pay/tool.json:4:3 [effect]: It has to be one of read, idempotent, once. Write one of these."
    return (
        repository(),
        repository("support-desk", trusted=False, needs=NEEDS, version="0.9.2"),
        repository("refund-desk", broken=True, problems=[broken], tools=(), agents=(), builtins=(), revision=""),
    )


async def _shown(theme: Theme, *builds: Build, size: tuple[int, int] = (1280, 772)) -> tuple[Stage, FakeBuilds]:
    gateway = FakeGateway()
    catalog = FakeCatalog(*_repositories())
    gateway.catalog = catalog
    gateway.builds = fake = FakeBuilds(catalog, *builds)
    scene = await stage(theme, gateway, size=size)
    scene.desk.show_view("repositories")
    await scene.settle()
    return scene, fake


async def ready(theme: Theme) -> Stage:
    scene, _ = await _shown(theme, touching(1), failed_deploy(2), deployed(5), build(26))
    return scene


async def failed(theme: Theme) -> Stage:
    scene, _ = await _shown(theme, failed_deploy(2), deployed(5), build(26))
    return scene


async def live(theme: Theme) -> Stage:
    scene, fake = await _shown(theme, failed_deploy(2))
    scene.desk.act("repositories.reload")
    running = build(0, id="build_now", state="running", started_at=NOW - 3, ended_at=None, log=())
    fake.tell(running, LogLine("Reading /agents/release-desk", stage="load"))
    fake.tell(LogLine("release-desk 1.4.0: 15 tools, 2 agents", stage="load"))
    fake.tell(LogLine("amodal/tools/ship/handler.ts: loads", stage="handlers"))
    await scene.settle()
    return scene


async def unbuilt(theme: Theme) -> Stage:
    scene, _ = await _shown(theme)
    scene.desk.move(1)
    await scene.settle()
    return scene


async def broken(theme: Theme) -> Stage:
    scene, _ = await _shown(theme)
    scene.desk.move(1)
    scene.desk.move(1)
    await scene.settle()
    return scene


async def switches(theme: Theme) -> Stage:
    scene, _ = await _shown(theme)
    for area in scene.window.findChildren(QScrollArea):
        area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
    await scene.settle()
    return scene


async def deploy(theme: Theme) -> Stage:
    scene, _ = await _shown(theme, failed_deploy(2))
    scene.desk.act("repositories.deploy")
    await scene.settle(ARMED_S)
    return scene


async def narrow(theme: Theme) -> Stage:
    scene, _ = await _shown(theme, failed_deploy(2), size=(800, 600))
    scene.desk.open_selected()
    await scene.settle()
    return scene


SCENES: dict[str, Callable[[Theme], Awaitable[Stage]]] = {
    "repositories": ready,
    "repositories-failed": failed,
    "repositories-live": live,
    "repositories-unbuilt": unbuilt,
    "repositories-broken": broken,
    "repositories-switches": switches,
    "repositories-narrow": narrow,
    "deploy": deploy,
}
DIALOGS = frozenset({"deploy"})
