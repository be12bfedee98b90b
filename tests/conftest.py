"""For every test: no display is needed, and nothing of the person's own desktop is used."""

from __future__ import annotations

import os
import signal

import pytest

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["QT_SCALE_FACTOR"] = "1"
os.environ["QT_API"] = "pyside6"
os.environ.pop("QT_STYLE_OVERRIDE", None)
os.environ["OPERATOR_INBOX_CONFIG"] = os.devnull
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as for jobs in the background, and then for their children
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    # The off-screen platform says so whenever a window has a smallest size; nothing of ours is wrong.
    config.addinivalue_line("qt_log_ignore", "This plugin does not support propagateSizeHints")
