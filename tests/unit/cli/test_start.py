"""What a command loads before it does its work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

PROBE = """
import sys
from inbox_app.cli import main
try:
    main(["--data", sys.argv[1], "list"])
finally:
    print(*{name.partition(".")[0] for name in sys.modules})
"""


def test_looking_loads_no_schemas_and_no_window(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=45,
        check=False,
    )
    assert ended.stdout.startswith("Nothing is waiting."), ended
    loaded = set(ended.stdout.split())
    assert "runtime_core" in loaded
    assert not loaded & {"pydantic", "jsonschema", "PySide6"}
