"""``memory``: short notes that agents keep, by repository and scope (contract 1.2 and 5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from runtime_core.journal.base import Journal
from runtime_core.repo.bundle import Bundle, Effect
from runtime_core.tools.base import Caller, ReadyTool
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.memory import Note
from runtime_core.wire.runs import iso

NAME: Final = "memory"
_EFFECTS: Final[Mapping[str, Effect]] = {"list": "read", "search": "read", "remove": "idempotent"}
_PARAMETERS: Final = {
    "type": "object",
    "properties": {
        "action": {"enum": ["add", "remove", "list", "search"]},
        "content": {"type": "string", "description": "The note to add."},
        "entry_id": {"type": "string", "description": "The note to remove."},
        "query": {"type": "string", "description": "Words that all have to be in a note."},
    },
    "required": ["action"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Rules:
    """What ``memory`` of ``amodal.json`` says."""

    is_enabled: bool
    editable_by: str
    max_entries: int
    max_total_chars: int


def rules_of(manifest: Mapping[str, Any]) -> Rules:
    given = manifest.get("memory")
    said = cast("Mapping[str, Any]", given if isinstance(given, Mapping) else {})
    return Rules(
        said.get("enabled") is True,
        str(said.get("editableBy", "any")),
        int(said.get("maxEntries", 50)),
        int(said.get("maxTotalChars", 8000)),
    )


class MemoryTools:
    """Implements `Provider`: there where the manifest enables it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._tool = ReadyTool(
            name=NAME,
            description="Keep short notes for later conversations: add, remove, list or search them.",
            parameters=_PARAMETERS,
            category="memory",
            effect=lambda params: _EFFECTS.get(str(_object(params).get("action")), "once"),
            call=self._act,
        )

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        return self._tool if name == NAME and rules_of(bundle.manifest).is_enabled else None

    def names(self, bundle: Bundle) -> Sequence[str]:
        return (NAME,) if rules_of(bundle.manifest).is_enabled else ()

    async def _act(self, params: JsonText, caller: Caller) -> JsonText:
        """What cannot be done comes back as ``{"error": why}``."""
        given = _object(params)
        repo, action = str(caller.bundle.root), given["action"]
        if action in ("list", "search"):
            query = str(given.get("query") or "") if action == "search" else ""
            notes = await self._journal.notes(repo, caller.scope, query)
            return dumps({"entries": [_shown(note) for note in notes], "total": len(notes)})
        rules = rules_of(caller.bundle.manifest)
        if rules.editable_by != "any":  # nobody has proved to be an administrator to a runtime on a desktop
            return _problem(f'This memory can only be read: memory.editableBy is "{rules.editable_by}" in amodal.json.')
        if action == "add":
            return await self._add(repo, caller, str(given.get("content") or "").strip(), rules)
        entry = str(given.get("entry_id") or "")
        if await self._journal.remove_note(repo, caller.scope, entry):
            return dumps({"removed": True, "entry_id": entry})
        return _problem(f"There is no note {dumps(entry)}. Look for its entry_id with the action list.")

    async def _add(self, repo: str, caller: Caller, content: str, rules: Rules) -> JsonText:
        if not content:
            return _problem("Give the note as content.")

        def judge(notes: Sequence[Note]) -> None:
            if len(notes) >= rules.max_entries:
                raise _FullError(f"The memory holds {rules.max_entries} notes, which is the limit. Remove some first.")
            if (size := sum(len(note.text) for note in notes) + len(content)) > rules.max_total_chars:
                limit = rules.max_total_chars
                raise _FullError(f"The notes would be {size} characters long; the limit is {limit}. Remove some first.")

        try:
            note = await self._journal.add_note(repo, caller.scope, content, caller.who, judge)
        except _FullError as full:
            return _problem(str(full))
        return dumps({"added": True, **_shown(note)})


class _FullError(Exception):
    pass


def _shown(note: Note) -> dict[str, Any]:
    return {"entry_id": note.id, "content": note.text, "created_at": iso(note.created_at)}


def _object(params: JsonText) -> dict[str, Any]:
    value = loads(params)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _problem(text: str) -> JsonText:
    return dumps({"error": text})
