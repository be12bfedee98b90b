"""The window is painted before anything heavy is imported."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.architecture.lints import ROOT

HEAVY = {"httpx", "pydantic", "sqlite_utils", "keyring", "jsonschema", "rich", "runtime_core"}

# The runtime is asked for once the window was painted: what is loaded by then is what the first paint waited for.
PROBE = """
import os, sys
import inbox_app.cli
from inbox_app.app import run_window

def gateway():
    print(*{name.partition(".")[0] for name in sys.modules}, flush=True)
    os._exit(0)

run_window(gateway)
"""


def test_nothing_heavy_is_loaded_at_the_first_paint() -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROBE],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    loaded = set(result.stdout.split())
    assert "PySide6" in loaded, result.stderr
    assert not loaded & HEAVY, f"import these inside what needs them: {sorted(loaded & HEAVY)}"
