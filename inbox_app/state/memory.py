"""What the window remembers from one start to the next besides drafts: the look that was chosen, what was read."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path
from typing import Final

from inbox_app.state.store import Store

_THEME: Final = "theme"
_READ: Final = "read:"
_KEPT: Final = "kept:"


class Memory:
    """Kept in ``desk.db``; a file that cannot be used only means that nothing is remembered."""

    def __init__(self, path: Path | None) -> None:
        """``path`` is the data base file; None remembers nothing."""
        self._store = Store(path, "memory", "name")
        known = self._store.load() if path is not None and path.exists() else {}
        self._theme = known.get(_THEME, "")
        self._kept = {name: text for name, text in known.items() if name.startswith(_KEPT)}
        self._read = {name.removeprefix(_READ) for name in known if name.startswith(_READ)}

    @property
    def theme(self) -> str:
        """Empty if none was chosen."""
        return self._theme

    def set_theme(self, name: str) -> None:
        self._theme = name
        self._store.write(_THEME, name)

    def recall(self, name: str) -> str:
        """What was kept under this name; empty if nothing was."""
        return self._kept.get(_KEPT + name, "")

    def keep(self, name: str, text: str) -> None:
        """Keep a text under a name of the caller's own (``chat.draft:ID``); an empty one is forgotten."""
        if text == self.recall(name):
            return
        if text:
            self._kept[_KEPT + name] = text
        else:
            del self._kept[_KEPT + name]
        self._store.write(_KEPT + name, text or None)

    def is_read(self, pause_id: str) -> bool:
        return pause_id in self._read

    def set_read(self, pause_id: str) -> None:
        if pause_id not in self._read:
            self._read.add(pause_id)
            self._store.write(_READ + pause_id, "")

    def forget(self, pause_id: str) -> None:
        """The question is closed."""
        if pause_id in self._read:
            self._read.discard(pause_id)
            self._store.write(_READ + pause_id, None)

    def keep_only(self, open_ids: Set[str]) -> None:
        """``open_ids`` are all questions there are."""
        for pause_id in self._read - open_ids:
            self.forget(pause_id)

    def close(self) -> None:
        self._store.close()
