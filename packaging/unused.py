"""Names that nothing uses (vulture), without those that only a framework calls.

Qt calls overrides by their own names, click calls what it decorates: the names are read from Qt itself, the decorators
are few, so nobody keeps a whitelist. Code that only tests use counts as unused. Exit code 1 if there is any.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from PySide6 import QtCore, QtGui, QtSvg, QtWidgets
from vulture import Vulture

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("inbox_app", "runtime_core", "packaging")
DECORATORS = [
    "@*.command*",
    "@command*",
    "@*.group*",
    "@*.callback*",
    "@*.result_callback*",
    "@*Slot*",
    "@*.register*",
    "@*validator*",
]
# Fields and names that are read by name only: wire keys, click's and pydantic's configuration.
NAMES = ["model_config", "__*__"]


def unused() -> list[str]:
    finder: Any = Vulture(ignore_names=[*NAMES, *qt_names()], ignore_decorators=DECORATORS)
    finder.scavenge([str(ROOT / folder) for folder in PRODUCT])
    return [str(item.get_report()) for item in finder.get_unused_code(min_confidence=60)]


def qt_names() -> list[str]:
    """Every name a Qt class has that one of our classes may override."""
    classes = [vars(module).values() for module in (QtCore, QtGui, QtSvg, QtWidgets)]
    members = {name for group in classes for kind in group if isinstance(kind, type) for name in dir(kind)}
    return sorted(name for name in members if not name.startswith("_"))


if __name__ == "__main__":
    found = unused()
    print("\n".join(found) or "nothing unused")
    sys.exit(1 if found else 0)
