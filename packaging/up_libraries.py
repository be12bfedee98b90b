"""The system libraries that Qt's Python packages do not bring along: which are missing, and which package has them."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from up_say import SetupError, say, step

_WIDGETS_PROBE = """
from PySide6 import QtCore, QtGui, QtNetwork, QtSvg, QtWidgets
app = QtWidgets.QApplication([])
window = QtWidgets.QWidget()
window.show()
app.processEvents()
"""


@dataclass(frozen=True)
class Library:
    """A shared object and the Debian package that holds it (``t64``: the name since Debian 13 and Ubuntu 24.04)."""

    soname: str
    package: str
    t64: str = ""


# Without these Qt cannot even draw off the screen.
BASE = (
    Library("libglib-2.0.so.0", "libglib2.0-0", "libglib2.0-0t64"),
    Library("libgthread-2.0.so.0", "libglib2.0-0", "libglib2.0-0t64"),
    Library("libGL.so.1", "libgl1"),
    Library("libEGL.so.1", "libegl1"),
    Library("libxkbcommon.so.0", "libxkbcommon0"),
    Library("libfontconfig.so.1", "libfontconfig1"),
    Library("libfreetype.so.6", "libfreetype6"),
    Library("libdbus-1.so.3", "libdbus-1-3"),
    Library("libgssapi_krb5.so.2", "libgssapi-krb5-2"),
)
# Without these it cannot open a window (X11 and Wayland).
SCREEN = (
    Library("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
    Library("libX11-xcb.so.1", "libx11-xcb1"),
    Library("libxcb-cursor.so.0", "libxcb-cursor0"),
    Library("libxcb-icccm.so.4", "libxcb-icccm4"),
    Library("libxcb-image.so.0", "libxcb-image0"),
    Library("libxcb-keysyms.so.1", "libxcb-keysyms1"),
    Library("libxcb-randr.so.0", "libxcb-randr0"),
    Library("libxcb-render-util.so.0", "libxcb-render-util0"),
    Library("libxcb-shape.so.0", "libxcb-shape0"),
    Library("libxcb-sync.so.1", "libxcb-sync1"),
    Library("libxcb-xfixes.so.0", "libxcb-xfixes0"),
    Library("libxcb-xkb.so.1", "libxcb-xkb1"),
    Library("libwayland-client.so.0", "libwayland-client0"),
    Library("libwayland-cursor.so.0", "libwayland-cursor0"),
    Library("libwayland-egl.so.1", "libwayland-egl1"),
)


def provide(python: Path) -> bool:
    """Install what Qt needs, or say what to install. True if nothing is missing; `SetupError` if Qt cannot draw."""
    absent = missing()
    if absent:
        names = packages(absent, os_release())
        if not debian_like():
            say(f"  Qt's system libraries: not found: {', '.join(library.soname for library in absent)}")
            say("  Install the packages of your system that hold them.")
        elif os.geteuid() == 0:
            install_packages(names, "that Qt needs")
            absent = missing()
        else:
            say(f"  Qt's system libraries: {len(names)} packages are missing. Install them with:")
            say(f"    {apt_line(names)}")
    problem = _drawing_problem(python)
    if problem:
        raise SetupError(f"Qt cannot start: {problem}")
    if absent:
        say("  Qt can draw without them, but may not be able to open a window.")
    return not absent


def missing() -> list[Library]:
    if not sys.platform.startswith("linux"):
        return []
    return [library for library in BASE + SCREEN if not _loads(library.soname)]


def packages(libraries: Sequence[Library], release: dict[str, str]) -> list[str]:
    """The packages that hold these libraries, by the names this release of Debian or Ubuntu gives them."""
    since = {"debian": 13.0, "ubuntu": 24.04}.get(release.get("ID", ""))
    try:
        t64 = since is not None and float(release.get("VERSION_ID", "")) >= since
    except ValueError:
        t64 = True  # a testing or unstable Debian has no number
    return list(dict.fromkeys(library.t64 if t64 and library.t64 else library.package for library in libraries))


def os_release(path: Path = Path("/etc/os-release")) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {name.strip(): "".join(shlex.split(value)) for name, _, value in pairs}


def debian_like() -> bool:
    return sys.platform.startswith("linux") and shutil.which("apt-get") is not None


def apt_line(names: Sequence[str]) -> str:
    return "sudo apt-get update && sudo apt-get install -y --no-install-recommends " + " ".join(names)


def install_packages(names: Sequence[str], purpose: str) -> None:
    """Install Debian packages as root. Raises `SetupError` with the line to run if that is not possible."""
    if os.geteuid() != 0:
        raise SetupError(f"a system package is needed {purpose}. Install it, then start again:\n  {apt_line(names)}")
    with step(f"system packages {purpose}"):
        # An update that fails for one source may still know the packages: only the installation decides.
        _apt(["update"])
        installed = _apt(["install", "-y", "--no-install-recommends", *names])
        if installed.returncode != 0:
            raise SetupError(f"apt-get could not install {' '.join(names)}; its output is above", installed.stdout)


def _apt(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["apt-get", "-q", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def _loads(soname: str) -> bool:
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def _drawing_problem(python: Path) -> str:
    """What keeps Qt from drawing off the screen, in its own last words; empty if nothing does."""
    result = subprocess.run(
        [str(python), "-P", "-c", _WIDGETS_PROBE],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if result.returncode == 0:
        return ""
    return (result.stdout.strip().splitlines() or [f"its test program ended with {result.returncode}"])[-1]
