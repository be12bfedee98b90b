"""The composition root: builds the window, paints it, then connects it; owns the order of start and stop."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from PySide6.QtWidgets import QApplication

from inbox_app import early, loop
from inbox_app.state.memory import Memory
from inbox_app.theme.palettes import ThemeChoice
from inbox_app.theme.theme import Theme
from inbox_app.views.main_window import MainWindow

if TYPE_CHECKING:
    from inbox_app.gateway.base import Gateway

GRAB_SCALE = "2"
GRAB_LIMIT_S = 60.0
GRAB_SETTLE_S = 1.0
"""A card arms 0.7 s after it was shown, and the calls of its run arrive a moment later."""


def run_window(
    gateway_factory: Callable[[], Gateway],
    *,
    desk_file: Path | None = None,
    grab: Path | None = None,
    settings_warnings: Callable[[], Sequence[str]] = tuple,
) -> int:
    """Show the window until it is closed; returns the exit code of the process.

    ``gateway_factory`` and ``settings_warnings`` are called after the first paint. ``desk_file`` keeps drafts, the
    theme and what was read (None: only while it runs). With ``grab`` the window is rendered off screen to that PNG as
    soon as the questions are listed, and closed: 0 if the picture was written, 1 if not.
    """
    try:
        early.check_pair()
    except early.BadPairError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    early.start_tracing()
    if grab is not None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        os.environ["QT_SCALE_FACTOR"] = GRAB_SCALE
    app = build_application()
    memory = Memory(desk_file)
    theme = Theme(_choice(memory.theme), bundled_fonts=grab is not None, parent=app)
    theme.apply(app)

    async def main(stop: asyncio.Event) -> int:
        return await _main(theme, gateway_factory, desk_file, memory, grab, settings_warnings, stop)

    return loop.run(app, main)


def build_application() -> QApplication:
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        app = QApplication(sys.argv[:1])
    app.setApplicationName("operator-inbox")
    app.setApplicationDisplayName("Operator Inbox")
    app.setDesktopFileName("operator-inbox")
    return app


def _choice(remembered: str) -> ThemeChoice:
    """What was chosen before; as the system, unless it was something this version knows."""
    return next((known for known in get_args(ThemeChoice) if known == remembered), "system")


async def _main(
    theme: Theme,
    gateway_factory: Callable[[], Gateway],
    desk_file: Path | None,
    memory: Memory,
    grab: Path | None,
    settings_warnings: Callable[[], Sequence[str]],
    stop: asyncio.Event,
) -> int:
    window = MainWindow(theme)
    painted, listed = asyncio.Event(), asyncio.Event()
    window.painted.connect(painted.set)
    window.closed.connect(stop.set)
    if grab is None:  # a picture needs no screen
        window.fit_screen()
    window.show()
    await painted.wait()
    if grab is None:
        window.fit_screen()

    # Half of the program is imported only now: the window is on the screen meanwhile.
    from inbox_app.state.drafts import Drafts
    from inbox_app.state.outbox import Outbox
    from inbox_app.views.desk import Desk
    from inbox_app.views.request_pane import RequestPane

    drafts = Drafts(desk_file)
    tasks = loop.Tasks()
    desk = Desk(window, RequestPane(theme), theme, tasks.spawn, drafts, Outbox(), memory=memory)
    tasks.on_error = desk.report
    faults = loop.Faults(desk.report)
    collector = loop.Collector(window)
    desk.listed.connect(listed.set)
    if drafts.problem:
        window.show_notice(drafts.problem, "")
    if warnings := settings_warnings():
        window.show_notice(window.tr("Some settings have no effect."), " ".join(warnings))
    desk.connect_to(gateway_factory)
    try:
        if grab is not None:
            return await _grab(window, grab, listed, stop)
        await stop.wait()
        return 0
    finally:
        window.hide()
        await desk.close()
        await tasks.close()
        drafts.close()
        memory.close()
        faults.close()
        collector.close()


async def _grab(window: MainWindow, target: Path, listed: asyncio.Event, stop: asyncio.Event) -> int:
    """Wait for the questions, let the card arm, write the picture."""
    waits = [asyncio.ensure_future(listed.wait()), asyncio.ensure_future(stop.wait())]
    try:
        await asyncio.wait(waits, timeout=GRAB_LIMIT_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    if not stop.is_set():
        await asyncio.sleep(GRAB_SETTLE_S)
    written = window.grab().save(str(target), "PNG")
    return 0 if written and listed.is_set() else 1
