"""Picks and texts that were not sent yet, kept in ``desk.db`` so that they survive a restart."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from inbox_app.state.store import Store


@dataclass(frozen=True, slots=True)
class Draft:
    """What was prepared for one pause. Only what the operator did; the question itself is never kept.

    ``pick`` counts options from 0 (yes is 0, no is 1) and is only good for the ``fingerprint`` it was made under.
    ``text`` is a text answer or typed JSON, ``edits`` the edited copy of the payload as JSON text, ``note`` the reason.
    """

    pause_id: str
    fingerprint: str | None = None
    pick: int | None = None
    text: str = ""
    edits: str | None = None
    note: str = ""

    @property
    def is_empty(self) -> bool:
        return self.pick is None and not self.text and self.edits is None and not self.note

    def under(self, fingerprint: str | None) -> Draft:
        """The part that may be used for a question with this fingerprint: texts stay, a pick of other options goes."""
        if fingerprint == self.fingerprint:
            return self
        return replace(self, fingerprint=fingerprint, pick=None)


class Drafts:
    """All drafts of this installation."""

    def __init__(self, path: Path | None) -> None:
        """``path`` is the data base file; None keeps drafts in memory only."""
        self._store = Store(path, "drafts", "pause_id")
        found = map(_read, self._store.load().values())
        self._drafts = {draft.pause_id: draft for draft in found if draft is not None}

    @property
    def problem(self) -> str | None:
        """A sentence if they cannot be kept."""
        return f"Drafts are not kept: {self._store.problem}" if self._store.problem else None

    def __len__(self) -> int:
        return len(self._drafts)

    def get(self, pause_id: str) -> Draft | None:
        return self._drafts.get(pause_id)

    def put(self, draft: Draft) -> None:
        """Keep a draft; an empty one is dropped."""
        if draft.is_empty:
            self.drop(draft.pause_id)
        elif self._drafts.get(draft.pause_id) != draft:
            self._drafts[draft.pause_id] = draft
            self._store.write(draft.pause_id, json.dumps(asdict(draft)))

    def drop(self, pause_id: str) -> None:
        if self._drafts.pop(pause_id, None) is not None:
            self._store.write(pause_id, None)

    def close(self) -> None:
        """Write what is left."""
        self._store.close()


def _read(body: str) -> Draft | None:
    """A stored draft; None for one that this version does not understand."""
    try:
        fields: dict[str, Any] = json.loads(body)
        return Draft(**fields)
    except (ValueError, TypeError):
        return None
