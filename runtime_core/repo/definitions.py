"""Definitions in code: which files of a repository hold some, and what was read from them (contract 1.3 and 2.1).

Reading one means running it, so that is left to whoever has processes for it; this says what to read and takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from runtime_core.repo.bundle import Language

TOOLS: Final = ("amodal/tools", "tools")
"""Where tools live, the preferred place first."""
AGENTS: Final = "agents"
LANGUAGES: Final[Mapping[str, Language]] = {".ts": "typescript", ".py": "python"}


Form = Literal["tool", "agent"]


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file, relative to the root, that defines a tool or an agent."""

    name: str
    form: Form

    @property
    def language(self) -> Language:
        return LANGUAGES[Path(self.name).suffix]


@dataclass(frozen=True, slots=True)
class Description:
    """What a file defines, its functions as ``{"$fn": name}``.

    ``unusable`` says why it has no function to call, ``unread`` why nothing is known of it, and ``passing`` whether
    that may be otherwise the next time; ``code`` is what its use fails with until then.
    """

    value: Any = None
    unusable: str | None = None
    unread: str | None = None
    passing: bool = False
    code: str = ""


Described = Mapping[str, Description]
"""Descriptions by the name of their file."""

NOT_READ: Final = Description(unread="nobody has read it")


def code_files(root: Path) -> Sequence[CodeFile]:
    """All files that define something in code. Raises `OSError`."""
    places: Sequence[tuple[str, Form]] = ((TOOLS[0], "tool"), (TOOLS[1], "tool"), (AGENTS, "agent"))
    return [
        CodeFile(f"{folder}/{file}", form)
        for place, form in places
        for folder in folders_in(root, place)
        for file in files_of(root, folder, form)
    ]


def files_of(root: Path, folder: str, form: str) -> Sequence[str]:
    """The names of the files in a folder that define a tool or an agent."""
    return [f"{form}{suffix}" for suffix in LANGUAGES if (root / folder / f"{form}{suffix}").is_file()]


def folders_in(root: Path, place: str) -> Sequence[str]:
    """The folders in which items of a kind may be, sorted. Raises `OSError`."""
    if not (root / place).is_dir():
        return []
    return [
        f"{place}/{path.name}"
        for path in sorted((root / place).iterdir())
        if path.is_dir() and not path.name.startswith(("_", "."))
    ]


def is_function(value: object) -> bool:
    return isinstance(value, dict) and "$fn" in value
