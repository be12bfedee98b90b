"""The window as a process: it draws itself, stops at a signal at once, and closes its gateway each time."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

PROGRAM = [sys.executable, "-X", "dev", "-W", "ignore::DeprecationWarning", "-m", "tests.gui.window_program"]


def test_the_window_is_drawn_to_a_picture(tmp_path: Path) -> None:
    target = tmp_path / "window.png"
    done = subprocess.run([*PROGRAM, str(target)], capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["opened", "closed"]
    picture = QImage(str(target))
    assert picture.width() >= 2000
    colors = {picture.pixelColor(x, y).name() for x in range(0, picture.width(), 40) for y in range(0, 1500, 40)}
    assert len(colors) > 5


def test_a_picture_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    target = tmp_path / "no such folder" / "window.png"
    done = subprocess.run([*PROGRAM, str(target)], capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 1
    assert done.stdout.split() == ["opened", "closed"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_the_window_cleanly(number: signal.Signals) -> None:
    with subprocess.Popen(PROGRAM, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "opened\n"
        process.send_signal(number)
        rest, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert rest == "closed\n"
    assert "Traceback" not in errors
