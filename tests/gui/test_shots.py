"""The pictures of the program can be drawn at any time, without a word on stderr."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from PySide6.QtGui import QImage

QUIET = "This plugin does not support propagateSizeHints()"


def test_scenes_are_drawn_in_every_theme_and_differ(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.support.shots", str(tmp_path), "empty,keys", "all", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=55, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.replace(QUIET, "").strip() == ""
    pictures = {path.name: QImage(str(path)) for path in tmp_path.iterdir()}
    assert len(pictures) == 6
    grounds = {picture.pixelColor(1, picture.height() // 2).name() for picture in pictures.values()}
    assert len(grounds) >= 5
