"""The rooms import each other only as the contracts in pyproject.toml allow."""

from __future__ import annotations

import subprocess
import sys

from tests.architecture.lints import ROOT


def test_import_contracts_are_kept() -> None:
    run = "from importlinter.cli import lint_imports_command as run; run(['--no-cache'])"
    result = subprocess.run([sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_packaging_is_no_package() -> None:
    """With an ``__init__.py`` it would hide the library named packaging from everybody."""
    assert not (ROOT / "packaging/__init__.py").exists()
