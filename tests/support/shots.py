"""Draws every screen and state of the window off screen.

``python -m tests.support.shots FOLDER [SCENE,…|all [PALETTE,…|all [SCALE,…]]]``; a process draws one scale.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PySide6.QtWidgets import QApplication, QPlainTextEdit

from inbox_app import loop
from inbox_app.app import build_application
from inbox_app.gateway.base import Batch, GatewayError, Pause, Votes
from inbox_app.state.drafts import Draft
from inbox_app.theme.palettes import PALETTES, PaletteName
from inbox_app.theme.theme import Theme
from tests.support import automation_scenes, build_scenes, chat_scenes, eval_scenes, scenes, tool_scenes
from tests.support.builders import NOW, detail, pause, stopped_run
from tests.support.fake_gateway import FakeGateway
from tests.support.stage import ARMED_S, Stage, stage, strike


def _full() -> FakeGateway:
    return FakeGateway(scenes.waiting(), ended=scenes.ended(), going=scenes.going(), details=scenes.details())


async def list_of_questions(theme: Theme) -> Stage:
    scene = await stage(theme, _full())
    scene.drafts.put(Draft(scenes.waiting()[1].id, fingerprint="f" * 64, pick=0))
    scene.gateway.push(Batch(opened=scenes.waiting(), reset=True, total=11))
    for _ in range(3):
        scene.desk.move(1)
    scene.desk.move(-1)
    await scene.settle(ARMED_S)
    return scene


async def new_items(theme: Theme) -> Stage:
    scene = await stage(theme, _full())
    fresh = [pause(200 + number, question=f"New question {number}?") for number in range(3)]
    scene.gateway.push(Batch(opened=fresh, total=14))
    scene.desk.move(1)
    await scene.settle(ARMED_S)
    return scene


async def empty(theme: Theme) -> Stage:
    return await stage(theme, FakeGateway())


async def broken(theme: Theme) -> Stage:
    error = GatewayError(
        "data_folder_unusable", "The data folder is read-only: give it write permission, or use --data."
    )
    return await stage(theme, FakeGateway(refuse=error))


async def history(theme: Theme) -> Stage:
    scene = await stage(theme, _full())
    scene.desk.show_view("history")
    await scene.settle()
    scene.desk.move(1)
    scene.desk.move(1)
    await scene.settle()
    return scene


async def narrow_list(theme: Theme) -> Stage:
    return await stage(theme, _full(), size=(800, 600))


async def narrow_card(theme: Theme) -> Stage:
    scene = await stage(theme, _full(), size=(800, 600))
    scene.gateway.push(Batch(opened=[pause(300, question="One more?")], total=12))
    scene.desk.open_selected()
    await scene.settle(ARMED_S)
    return scene


async def tree(theme: Theme) -> Stage:
    scene = await stage(theme, _full())
    scene.desk.show_tab("tree")
    await scene.settle()
    return scene


async def held(theme: Theme) -> Stage:
    """An answer is held while another question is read: the toast."""
    scene = await stage(theme, _full())
    scene.desk.move(1)
    await scene.settle(ARMED_S)
    scene.desk.pick_word(True)
    await scene.settle()
    scene.desk.send()
    scene.desk.move(1)
    await scene.settle(ARMED_S)
    return scene


async def keys(theme: Theme) -> Stage:
    scene = await stage(theme, _full())
    scene.desk.show_keys()
    await scene.settle()
    return scene


async def confirm(theme: Theme) -> Stage:
    scene = await stage(theme, _full())
    scene.desk.cancel_run()
    await scene.settle()
    return scene


async def _one(theme: Theme, asked: Pause) -> Stage:
    return await stage(theme, FakeGateway([asked, *scenes.waiting()[2:6]]))


async def gate(theme: Theme) -> Stage:
    scene = await _one(theme, scenes.gate())
    await scene.settle(ARMED_S)
    return scene


async def attention(theme: Theme) -> Stage:
    """A result is written in place of the one that was lost."""
    scene = await _one(theme, scenes.attention())
    await scene.settle(ARMED_S)
    scene.desk.pick(3)
    await scene.settle()
    field = next(area for area in scene.window.reading.findChildren(QPlainTextEdit) if area.isVisible())
    field.setPlainText('{"charged": "120.00", "receipt": 7, }')
    await scene.settle()
    return scene


async def several(theme: Theme) -> Stage:
    scene = await _one(theme, scenes.several())
    await scene.settle(ARMED_S)
    return scene


async def voted(theme: Theme) -> Stage:
    asked = scenes.several()
    votes = Votes(3, ("local:tom", "local:test"), "local:test")
    scene = await _one(theme, replace(asked, votes=votes, eligible=False, code_changed=False))
    for _ in range(4):
        scene.desk.move(1)
    await scene.settle()
    return scene


async def expired(theme: Theme) -> Stage:
    return await _one(theme, replace(scenes.waiting()[0], expires_at=NOW - 1))


async def diverged(theme: Theme) -> Stage:
    of = stopped_run(41)
    scene = await stage(theme, FakeGateway(ended=scenes.ended(), going=[of, *scenes.going()], details=[detail(of)]))
    return await _first_of_history(scene)


async def narrow_diverged(theme: Theme) -> Stage:
    of = stopped_run(41)
    gateway = FakeGateway(ended=scenes.ended(), going=[of], details=[detail(of)])
    scene = await _first_of_history(await stage(theme, gateway, size=(800, 600)))
    scene.desk.open_selected()
    await scene.settle()
    return scene


async def decided(theme: Theme) -> Stage:
    of = scenes.decided()
    scene = await stage(theme, FakeGateway(ended=[of.run, *scenes.ended()], details=[of]))
    return await _first_of_history(scene)


async def outcomes(theme: Theme) -> Stage:
    scene = await decided(theme)
    scene.desk.show_tab("history")
    await scene.settle()
    return scene


async def outcomes_in_tree(theme: Theme) -> Stage:
    scene = await decided(theme)
    scene.desk.show_tab("tree")
    await scene.settle()
    return scene


async def _first_of_history(scene: Stage) -> Stage:
    scene.desk.show_view("history")
    await scene.settle()
    scene.desk.move(1)
    await scene.settle()
    return scene


SCENES: dict[str, Callable[[Theme], Awaitable[Stage]]] = {
    "list": list_of_questions,
    "new-items": new_items,
    "empty": empty,
    "broken": broken,
    "history": history,
    "narrow-list": narrow_list,
    "narrow-card": narrow_card,
    "tree": tree,
    "held": held,
    "attention": attention,
    "gate": gate,
    "several": several,
    "voted": voted,
    "expired": expired,
    "diverged": diverged,
    "narrow-diverged": narrow_diverged,
    "decided": decided,
    "outcomes": outcomes,
    "outcomes-in-tree": outcomes_in_tree,
    "keys": keys,
    "confirm": confirm,
    **automation_scenes.SCENES,
    **build_scenes.SCENES,
    **chat_scenes.SCENES,
    **eval_scenes.SCENES,
    **tool_scenes.SCENES,
}
DIALOGS = frozenset({"keys", "confirm"}) | automation_scenes.DIALOGS | build_scenes.DIALOGS


async def draw(app: QApplication, folder: Path, names: list[str], palettes: list[PaletteName]) -> int:
    theme = Theme("light", bundled_fonts=True, parent=app)
    theme.apply(app)
    app.setCursorFlashTime(0)
    for palette in palettes:
        theme.set_palette(palette)
        for name in names:
            scene = await SCENES[name](theme)
            target = app.activeModalWidget() if name in DIALOGS else scene.window
            picture = (target or scene.window).grab()
            picture.save(str(folder / f"{name}-{palette}@{picture.devicePixelRatio():g}x.png"))
            if target is not None and target is not scene.window:
                target.close()
            await strike(scene)
    return 0


def _draw_apart(folder: str, names: str, palettes: str, scale: str) -> int:
    command = [sys.executable, "-m", "tests.support.shots", folder, names, palettes, scale]
    return subprocess.run(command, check=False).returncode


def main(arguments: list[str]) -> int:
    folder, names, palettes, scales = [*arguments, *("shots", "all", "all", "1,2")[len(arguments) :]]
    if "," in scales:
        return max(_draw_apart(folder, names, palettes, scale) for scale in scales.split(","))
    os.environ["QT_SCALE_FACTOR"] = scales
    Path(folder).mkdir(parents=True, exist_ok=True)
    app = build_application()
    chosen = [name for name in SCENES if names == "all" or name in names.split(",")]
    themes: list[PaletteName] = [name for name in PALETTES if palettes == "all" or name in palettes.split(",")]

    async def run(stop: asyncio.Event) -> int:
        return await draw(app, Path(folder), chosen, themes)

    return loop.run(app, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
