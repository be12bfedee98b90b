"""Tasks of the window: none lost, no error swallowed, no nested loop, nothing left at the end."""

from __future__ import annotations

import asyncio
import gc
import sys

import pytest
from PySide6.QtCore import QEventLoop, QObject
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

from inbox_app import loop
from inbox_app.errors import NestedLoopError
from tests.support.drivers import Wheel, turn_until


def test_a_task_survives_collection_without_a_reference(wheel: Wheel, qtbot: QtBot) -> None:
    done: list[int] = []

    async def work() -> None:
        for _ in range(5):
            await asyncio.sleep(0.01)
            gc.collect()
        done.append(1)

    wheel.tasks.spawn(work(), "work")
    qtbot.waitUntil(lambda: done == [1])
    assert len(wheel.tasks) == 0


def test_an_error_of_a_forgotten_task_is_reported(wheel: Wheel, qtbot: QtBot) -> None:
    seen: list[BaseException] = []
    wheel.tasks.on_error = seen.append

    async def fail() -> None:
        raise ValueError("nobody awaits me")

    wheel.tasks.spawn(fail(), "fail")
    qtbot.waitUntil(lambda: len(seen) == 1)
    assert str(seen[0]) == "nobody awaits me"


def test_closing_cancels_what_runs_and_waits_for_its_clean_up(wheel: Wheel, qtbot: QtBot) -> None:
    ended: list[str] = []

    async def linger() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            ended.append("clean")

    wheel.tasks.spawn(linger(), "linger")
    qtbot.wait(10)
    closing = asyncio.ensure_future(wheel.tasks.close())
    turn_until(closing.done)
    assert ended == ["clean"]


@pytest.mark.parametrize("kind", [QEventLoop, QDialog])
def test_a_nested_loop_inside_a_task_is_an_error(wheel: Wheel, qtbot: QtBot, kind: type[QObject]) -> None:
    seen: list[BaseException] = []
    wheel.tasks.on_error = seen.append

    async def nest() -> None:
        opened = kind()
        try:
            opened.exec()  # type: ignore[attr-defined]
        finally:
            opened.deleteLater()

    wheel.tasks.spawn(nest(), "nest")
    qtbot.waitUntil(lambda: len(seen) == 1)
    assert isinstance(seen[0], NestedLoopError)
    assert "nest" in str(seen[0])


def test_an_error_in_a_slot_or_a_callback_is_reported(
    wheel: Wheel, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []
    faults = loop.Faults(lambda error: seen.append(str(error)))
    try:
        sys.excepthook(ValueError, ValueError("in a slot"), None)
        asyncio.get_running_loop().call_soon(fail_at_once)
        qtbot.waitUntil(lambda: seen == ["in a slot", "in a callback"])
    finally:
        faults.close()
        asyncio.get_running_loop().set_exception_handler(None)
    assert len(caplog.records) == 2


def fail_at_once() -> None:
    raise ValueError("in a callback")


def test_garbage_is_collected_on_the_thread_of_the_window(qtbot: QtBot) -> None:
    owner = QObject()
    collector = loop.Collector(owner)
    try:
        assert not gc.isenabled()
        for _ in range(20_000):
            cycle: list[object] = []
            cycle.append(cycle)
        before = gc.get_count()[0]
        qtbot.waitUntil(lambda: gc.get_count()[0] < before)
    finally:
        collector.close()
    assert gc.isenabled()
