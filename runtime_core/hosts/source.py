"""Where the files of a repository are read: code from the copy of its revision, everything else from the repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOPS: Final = (
    *("agents", "amodal", "automations", "connections", "hooks", "knowledge", "skills", "stores", "tools"),
    *("amodal.json", "package.json", "requirements.txt", "tsconfig.json"),
)
"""What a revision consists of, at the top of a repository."""

LIVE: Final = r"(^|/)(\.|(node_modules|__pycache__)(/|$))|\.(test|spec)\.[cm]?[jt]sx?$|(^|/)test_[^/]*\.py$|_test\.py$"
"""Names below those that belong to no revision; a pattern that JavaScript reads the same way."""

_LIVE: Final = re.compile(LIVE)


@dataclass(frozen=True, slots=True)
class Source:
    """The resolved folders of a repository and, if there is one, of the copy its code is read from.

    ``packages``: the folder with the installed packages of the handlers that the process serves.
    """

    root: Path
    code: Path | None = None
    packages: Path | None = None

    def home(self, name: str) -> Path:
        """The folder that holds the file ``name`` (relative, with ``/``)."""
        is_code = name.split("/", 1)[0] in TOPS and not _LIVE.search(name)
        return self.code if self.code is not None and is_code else self.root

    def to_wire(self) -> dict[str, object] | None:
        """As the programs of the processes take it."""
        return None if self.code is None else {"folder": str(self.code), "tops": TOPS, "live": LIVE}
