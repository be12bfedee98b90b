"""Names that nothing uses (vulture), without those that only a framework calls.

Qt, asyncio, logging and the import system call overrides by their own names, click and pydantic call what they
decorate: the names are read from the frameworks themselves, so nobody keeps a whitelist. What only tests use counts as
unused, except for properties, through which tests may look in. Exit code 1 if there is any.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import Iterable
from html.parser import HTMLParser
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from PySide6 import QtCore, QtGui, QtNetwork, QtSvg, QtWidgets
from vulture import Vulture

from inbox_app.views.sections import MADE_BY

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("inbox_app", "runtime_core", "packaging")
CALLED_BY_DECORATOR = ["@*.command*", "@command*", "@*.group*", "@*validator*"]
# Set for others to read (the interpreter, logging, pydantic, types, handlers), or only to keep a task alive.
SWITCHES = [
    "dont_write_bytecode",
    "raiseExceptions",
    "model_config",
    "submodule_search_locations",
    "__*__",
    "aborted",
    "agent_name",
    "tool_name",
    "_*_task",
]
# Modules that spell out what a file or a message may hold, read yet or not.
SHAPES = (
    "inbox_app/gateway/base.py",
    "runtime_core/agents/scripted.py",
    "runtime_core/agents/turns.py",
    "runtime_core/hosts/base.py",
    "runtime_core/repo/",
    "runtime_core/wire/",
)


def unused() -> list[str]:
    finder: Any = Vulture(ignore_names=SWITCHES, ignore_decorators=CALLED_BY_DECORATOR)
    finder.scavenge([str(ROOT / folder) for folder in PRODUCT])
    overrides = _public(_classes(QtCore, QtGui, QtNetwork, QtSvg, QtWidgets)) | _public(_protocols())
    overrides |= _public([logging.Handler, SourceFileLoader, HTMLParser]) | {name for _, name in MADE_BY.values()}
    found = finder.get_unused_code(min_confidence=60)
    kept = overrides | _names_in_tests(item.name for item in found if item.typ == "property")
    return [_line(item) for item in found if item.name not in kept and not _is_shape(item)]


def _names_in_tests(names: Iterable[str]) -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    return {name for name in names if re.search(rf"\.{name}\b", text)}


def _classes(*modules: ModuleType) -> Iterable[type]:
    # dir(), because the binding fills its modules only when asked for a name.
    found = (getattr(module, name) for module in modules for name in dir(module))
    return (kind for kind in found if isinstance(kind, type))


def _protocols() -> Iterable[type]:
    return (kind for kind in _classes(asyncio) if issubclass(kind, asyncio.BaseProtocol))


def _public(classes: Iterable[type]) -> set[str]:
    return {name for kind in classes for name in dir(kind) if not name.startswith("_")}


def _is_shape(item: Any) -> bool:
    """A field of a shape, or an argument: overrides and interfaces have to take what they may not need."""
    is_argument = item.confidence == 100
    return item.typ == "variable" and (is_argument or _place(item).startswith(SHAPES))


def _line(item: Any) -> str:
    return f"{_place(item)}:{item.first_lineno}: {item.message}"


def _place(item: Any) -> str:
    return Path(item.filename).relative_to(ROOT).as_posix()


if __name__ == "__main__":
    found = unused()
    print("\n".join(found) or "nothing unused")
    sys.exit(1 if found else 0)
