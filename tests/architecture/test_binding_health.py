"""The Qt binding does not lose references to None, True and False (PySide6 6.12.0 on Python 3.11 does, and aborts)."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from inbox_app.early import BadPairError, check_pair

# A child does the counting: a bad binding would take the test run down with it. It borrows many references first, so
# that even a bad one lives long enough to report.
PROBE = """
import json, sys
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication, QImage, QPainter

application = QGuiApplication([])
borrowed = [[single] * 50_000 for single in (None, True, False)]
ROUNDS = 1_000

class Source(QObject):
    happened = Signal()
    ticks = 0
    def timerEvent(self, event):
        self.ticks += 1

source = Source()
source.startTimer(0)
image = QImage(8, 8, QImage.Format.Format_ARGB32)
painter = QPainter(image)

def emit():
    source.happened.emit()

def timer():
    seen = source.ticks
    while source.ticks == seen:
        application.processEvents()

def paint():
    painter.save()
    painter.restore()

def losses(action):
    for _ in range(20):
        action()
    before = [sys.getrefcount(single) for single in (None, True, False)]
    for _ in range(ROUNDS):
        action()
    after = [sys.getrefcount(single) for single in (None, True, False)]
    return max(b - a for b, a in zip(before, after))

print(json.dumps({action.__name__: losses(action) for action in (emit, timer, paint)}), flush=True)
painter.end()
"""


def test_singletons_keep_their_references() -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    lost: dict[str, int] = json.loads(result.stdout)
    assert set(lost) == {"emit", "timer", "paint"}
    assert all(count < 50 for count in lost.values()), f"references lost in 1,000 rounds: {lost}"


def test_pair_in_use_is_accepted() -> None:
    check_pair()


@pytest.mark.parametrize(
    ("python", "binding"),
    [((3, 11, 7), "6.12.0"), ((3, 11, 2), "6.13.1"), ((3, 12, 1), "6.10.1"), ((3, 10, 0), "6.11.3")],
)
def test_known_bad_pair_is_refused_with_one_sentence(python: tuple[int, ...], binding: str) -> None:
    with pytest.raises(BadPairError) as refused:
        check_pair(python, binding)
    assert "\n" not in str(refused.value)
    assert "install" in str(refused.value) or "needs" in str(refused.value)
