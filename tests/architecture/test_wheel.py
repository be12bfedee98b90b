"""The wheel is whole: built, installed into an empty environment, and used from an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.architecture.lints import ROOT


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the wheel and nothing else."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=wheel.parent)
    python = venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=wheel.parent)
    return python


def test_wheel_holds_the_packages_and_the_resources_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"inbox_app", "runtime_core"}
    shipped = {name.removeprefix("inbox_app/_resources/") for name in names if name.startswith("inbox_app/_resources/")}
    kept = {
        path.relative_to(ROOT / "resources").as_posix() for path in (ROOT / "resources").rglob("*") if path.is_file()
    }
    assert shipped == {name for name in kept if "__pycache__" not in name}


def test_resources_are_found_where_only_the_wheel_is(installed: Path, tmp_path: Path) -> None:
    look = "from importlib.resources import files; print(files('inbox_app').joinpath('_resources', 'samples').is_dir())"
    assert run(installed, "-c", look, cwd=tmp_path).strip() == "True"


def test_installed_command_checks_its_own_samples(installed: Path, tmp_path: Path) -> None:
    """The dependencies come from this environment; its link to the checkout does not come with them."""
    command = installed.parent / ("operator-inbox.exe" if sys.platform == "win32" else "operator-inbox")
    find = (
        "import inbox_app, inbox_app.desktop.paths as paths; print(inbox_app.__file__); print(paths.samples_folder())"
    )
    libraries = sysconfig.get_path("purelib")
    package, samples = run(installed, "-c", find, cwd=tmp_path, PYTHONPATH=libraries).split("\n")[:2]
    assert Path(package).is_relative_to(installed.parent.parent)
    for sample in ("release-desk", "refund-desk"):
        run(command, "check", Path(samples) / sample, cwd=tmp_path, PYTHONPATH=libraries)
