"""The window's event loop: Qt and asyncio as one, with tasks that cannot get lost.

qasync keeps no reference to a task and dies of nested Qt loops, so tasks are started with `Tasks.spawn` only, and
`forbid_nested_loops` turns a nested loop inside a task into an error at the place where it is opened.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any

from PySide6.QtCore import QEventLoop, QObject, QTimer, Slot
from PySide6.QtWidgets import QApplication, QDialog

os.environ["QT_API"] = "pyside6"  # otherwise qasync takes another binding if one is installed

import qasync

from inbox_app.errors import NestedLoopError

STOP_LIMIT_S = 5.0
COLLECT_MS = 1000

_log = logging.getLogger(__name__)


class Tasks:
    """Background work of the window. Errors are logged and go to ``on_error``; none is swallowed, none is lost."""

    def __init__(self, on_error: Callable[[BaseException], None] | None = None) -> None:
        self.on_error = on_error
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    async def close(self) -> None:
        """Cancel what still runs and wait for it, at most `STOP_LIMIT_S`."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=STOP_LIMIT_S)
            for task in late:
                _log.error("the task %s does not stop", task.get_name())

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            _log.error("the task %s failed", task.get_name(), exc_info=error)
            if self.on_error is not None:
                self.on_error(error)


class Faults:
    """Errors that nobody awaited or caught, of slots and of callbacks: logged, then told to ``on_error``."""

    def __init__(self, on_error: Callable[[BaseException], None]) -> None:
        self._on_error = on_error
        self._before = sys.excepthook
        sys.excepthook = self._on_uncaught
        asyncio.get_running_loop().set_exception_handler(self._on_context)

    def close(self) -> None:
        sys.excepthook = self._before

    def _on_uncaught(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._before(kind, error, trace)
            return
        _log.error("uncaught", exc_info=(kind, error, trace))
        self._on_error(error)

    def _on_context(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        _log.error("%s", context.get("message"), exc_info=error)
        if isinstance(error, BaseException):
            self._on_error(error)


class Collector(QObject):
    """Collects garbage on the window's thread only, so that no worker thread ever destroys an object of Qt."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.collect()
        gc.freeze()
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(COLLECT_MS)
        self._timer.timeout.connect(self._on_timeout)
        self._timer.start()

    def close(self) -> None:
        self._timer.stop()
        gc.enable()
        gc.unfreeze()

    @Slot()
    def _on_timeout(self) -> None:
        """The oldest generation that has grown past its threshold."""
        for generation in (2, 1, 0):
            if gc.get_count()[generation] > gc.get_threshold()[generation]:
                gc.collect(generation)
                return


def run(app: QApplication, main: Callable[[asyncio.Event], Coroutine[Any, Any, int]]) -> int:
    """Run ``main`` until it returns. It is given the event that Ctrl+C, SIGTERM and the last window set."""
    app.setQuitOnLastWindowClosed(False)
    forbid_nested_loops()
    with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(app)) as runner:
        return runner.run(_with_signals(main))


async def _with_signals(main: Callable[[asyncio.Event], Coroutine[Any, Any, int]]) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    if sys.platform != "win32":
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
    return await main(stop)


def forbid_nested_loops() -> None:
    """Make a nested Qt loop an error while a task runs. Dialogs use `open`, menus `popup`.

    The binding does not let `QMenu.exec` be replaced; a lint forbids it in the sources.
    """
    for owner in (QEventLoop, QDialog):
        _guard(owner, "exec")


def _guard(owner: type[Any], name: str) -> None:
    real = getattr(owner, name)
    if getattr(real, "guarded", False):
        return

    @wraps(real)
    def guarded(*args: Any, **options: Any) -> Any:
        task = _current_task()
        if task is not None:
            raise NestedLoopError(f"{owner.__name__}.{name} inside the task {task.get_name()}")
        return real(*args, **options)

    guarded.guarded = True  # pyright: ignore[reportAttributeAccessIssue]
    setattr(owner, name, guarded)


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
