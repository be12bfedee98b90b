"""The virtual environment of a checkout: made once, remembered by a stamp, rebuilt if it was left half made."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import up_libraries
import up_pip
from up_say import SetupError, say, step

STAMP = "operator-inbox-setup.json"
# Present from the first change to the environment to the last: whoever finds it knows that it cannot be trusted.
UNFINISHED = "operator-inbox-setup-unfinished"


def ready(root: Path, extras: Sequence[str]) -> Path:
    """The Python of an environment in which the checkout and its ``extras`` are installed. Raises `SetupError`."""
    venv = place(root)
    stamp = _fitting_stamp(venv, root, extras)
    if not (stamp and stamp["libraries"]):
        with _lock(root):
            stamp = _fitting_stamp(venv, root, extras) or _install(venv, root, extras)
            if not stamp["libraries"]:
                stamp["libraries"] = up_libraries.provide(python_of(venv))
                (venv / STAMP).write_text(json.dumps(stamp), encoding="utf-8")
    return python_of(venv)


def place(root: Path) -> Path:
    """``.venv`` in the checkout, or a folder of the user's cache if the checkout cannot be written."""
    venv = root / ".venv"
    if os.access(venv if venv.exists() else root, os.W_OK):
        return venv
    return _cache_folder() / "operator-inbox" / f"venv-{hashlib.sha256(bytes(root)).hexdigest()[:12]}"


def python_of(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def base_python() -> str:
    """The interpreter itself, even if this runs inside a virtual environment."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def clean_environment() -> dict[str, str]:
    """The environment without what would make a Python, or pip, look or install elsewhere."""
    misleading = {
        "PYTHONHOME",
        "PYTHONPATH",
        "VIRTUAL_ENV",
        "__PYVENV_LAUNCHER__",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_USER",
    }
    return {name: value for name, value in os.environ.items() if name not in misleading}


def run_quietly(command: Sequence[str | Path], problem: str) -> str:
    """Run a program; its output is shown only if it fails. Raises `SetupError`."""
    result = try_quietly(command)
    if result.returncode != 0:
        raise SetupError(problem, result.stdout)
    return result.stdout


def try_quietly(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
        close_fds=False,  # the lock lives on in a program that outlives this one
    )


def _install(venv: Path, root: Path, extras: Sequence[str]) -> dict[str, Any]:
    again = (venv / STAMP).exists()
    say(f"Setting up Operator Inbox in {venv}" + ("" if again else " (once; a few minutes)"))
    _discard_unusable(venv)
    unfinished = venv / UNFINISHED
    if not python_of(venv).exists():
        venv.mkdir(parents=True, exist_ok=True)
        unfinished.touch()
        with step("virtual environment"):
            obstacle = _make(venv)
        if obstacle:
            _make_with_system_package(venv, obstacle)
    unfinished.touch()
    (venv / STAMP).unlink(missing_ok=True)
    wanted = f"{root}[{','.join(extras)}]" if extras else str(root)
    with step("Python packages (about 150 MB)" if not again else "Python packages"):
        run_quietly(
            [*_pip(venv), "install", "--editable", wanted],
            "pip could not install the Python packages; its output is above. Check the network and pip's settings, "
            "then start again: what was downloaded is kept",
        )
    _compile(venv, root)
    stamp = {"key": _key(root), "extras": sorted(extras), "libraries": False}
    (venv / STAMP).write_text(json.dumps(stamp), encoding="utf-8")
    unfinished.unlink()
    return stamp


def _compile(venv: Path, root: Path) -> None:
    """Compile our own code, also where Python is told not to. A checkout that cannot be written starts slower."""
    subprocess.run(
        [python_of(venv), "-m", "compileall", "-q", root / "inbox_app", root / "runtime_core"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )


def _pip(venv: Path) -> list[str]:
    return [str(python_of(venv)), "-m", "pip", "--no-input", "--disable-pip-version-check"]


def _discard_unusable(venv: Path) -> None:
    """Remove an environment of ours that is half made or of another Python; never one that somebody else made."""
    if not venv.exists():
        return
    ours = (venv / STAMP).exists() or (venv / UNFINISHED).exists()
    version = _version_of(venv)
    works = version is not None and python_of(venv).exists()
    if works and version == sys.version_info[:2] and not (venv / UNFINISHED).exists():
        return
    if not ours and any(venv.iterdir()):
        owner = f"belongs to Python {version[0]}.{version[1]}" if version else "is not a working virtual environment"
        raise SetupError(f"{venv} {owner} and was not made by this command: move it away, then start again")
    with step("removing the unfinished or outdated environment"):
        shutil.rmtree(venv)


def _version_of(venv: Path) -> tuple[int, int] | None:
    try:
        lines = (venv / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    settings = {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    major, _, rest = settings.get("version", "").partition(".")
    minor = rest.partition(".")[0]
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def _make(venv: Path) -> str:
    """Make the environment and get pip into it, by the first way that works here; what is in the way if none does."""
    if try_quietly([base_python(), "-m", "venv", venv]).returncode == 0 and _has_pip(venv):
        return ""
    bare = try_quietly([base_python(), "-m", "venv", "--without-pip", "--clear", venv])
    (venv / UNFINISHED).touch()
    if bare.returncode != 0:
        return bare.stdout.strip()
    if _pip_from_this_python(venv) or _pip_from_wheels(venv):
        return ""
    return "there is no pip for it: no ensurepip, no pip of this Python, no pip wheel"


def _has_pip(venv: Path) -> bool:
    return try_quietly([*_pip(venv), "--version"]).returncode == 0


def _pip_from_this_python(venv: Path) -> bool:
    install = [base_python(), "-m", "pip", "--python", python_of(venv), "install", "--quiet", "pip"]
    return try_quietly(install).returncode == 0 and _has_pip(venv)


def _pip_from_wheels(venv: Path) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        for wheel in up_pip.wheels(Path(folder)):
            install = [python_of(venv), wheel / "pip", "install", "--quiet", "--no-index", wheel]
            if try_quietly(install).returncode == 0 and _has_pip(venv):
                return True
    return False


def _make_with_system_package(venv: Path, obstacle: str) -> None:
    package = f"python3.{sys.version_info[1]}-venv"
    if not (up_libraries.debian_like() and base_python().startswith("/usr/bin/")):
        raise SetupError(f"{base_python()} cannot make a virtual environment with pip: {obstacle}")
    up_libraries.install_packages([package], "for virtual environments")
    with step("virtual environment, again"):
        run_quietly([base_python(), "-m", "venv", "--clear", venv], f"{package} is there, but venv fails")
    (venv / UNFINISHED).touch()


def _key(root: Path) -> str:
    """Changes whenever the installed environment no longer fits the checkout."""
    parts = [sys.version.encode(), bytes(root), (root / "pyproject.toml").read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _fitting_stamp(venv: Path, root: Path, extras: Sequence[str]) -> dict[str, Any] | None:
    """What the last set-up wrote, if the environment is whole and still what this checkout needs."""
    try:
        stamp: dict[str, Any] = json.loads((venv / STAMP).read_text(encoding="utf-8"))
        fits = stamp["key"] == _key(root) and set(extras) <= set(stamp["extras"]) and "libraries" in stamp
    except (OSError, ValueError, KeyError, TypeError):
        return None
    whole = python_of(venv).exists() and not (venv / UNFINISHED).exists()
    return stamp if fits and whole else None


def _cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@contextmanager
def _lock(root: Path) -> Generator[None]:
    """One set-up of a checkout at a time. Locks this file itself: nothing is left behind, and a crash releases it."""
    with Path(__file__).open("rb") as file:
        if not _try_lock(file.fileno()):
            say(f"another set-up of {root} is running; waiting for it")
            _wait_lock(file.fileno())
        os.set_inheritable(file.fileno(), True)
        yield


if sys.platform == "win32":
    import msvcrt
    import time

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # beyond the end: nobody reads there
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _wait_lock(descriptor: int) -> None:
        while not _try_lock(descriptor):
            time.sleep(0.2)

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
