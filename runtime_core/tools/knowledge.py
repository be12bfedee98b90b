"""``load_knowledge``: the text of one document of ``knowledge/`` (contract 1.5 and 5.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from runtime_core.hosts.files import read_repo_file
from runtime_core.hosts.source import Source
from runtime_core.repo.bundle import Bundle, Document
from runtime_core.tools.base import Caller, ReadyTool
from runtime_core.wire.json import JsonText, dumps, loads

NAME: Final = "load_knowledge"
CHARACTERS: Final = 500_000
"""Of a document; what is beyond is left out, and the text says so."""
_KEYS: Final = ("name", "document", "id", "document_name", "path", "title")


class KnowledgeTools:
    """Implements `Provider`."""

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        return _TOOL if name == NAME else None

    def names(self, bundle: Bundle) -> Sequence[str]:
        return (NAME,)


async def _load(params: JsonText, caller: Caller) -> JsonText:
    """A name that is not there comes back as ``{"error": what there is}``."""
    given = cast("dict[str, Any]", loads(params))
    asked = next((given[key] for key in _KEYS if key in given), None)
    known = caller.bundle.knowledge
    if not isinstance(asked, str) or (document := _find(known, asked)) is None:
        there = ", ".join(f"{name} ({document.title})" for name, document in sorted(known.items())) or "none"
        missing = f"There is no document {dumps(asked)}." if asked is not None else "Give the document's name as name."
        return dumps({"error": f"{missing} The documents are: {there}."})
    source = Source(caller.bundle.root.resolve(), caller.bundle.code and caller.bundle.code.resolve())
    is_read, value = await asyncio.to_thread(read_repo_file, source, document.file)
    said = loads(value)
    if not is_read or not isinstance(said, str):
        return dumps({"error": said["message"] if isinstance(said, dict) else said})
    text = said.removeprefix("\ufeff")
    if len(text) > CHARACTERS:
        text = f"{text[:CHARACTERS]}\n[... {len(text) - CHARACTERS} characters are left out ...]"
    return dumps(text)


def _find(known: Mapping[str, Document], asked: str) -> Document | None:
    """By the name, or by the file's with or without its folder; in other letters only if there is none in these."""
    name = asked.strip().rpartition("/")[2].removesuffix(".md")
    alike = (document for document in known.values() if document.name.casefold() == name.casefold())
    return known.get(name) or next(alike, None)


_TOOL: Final = ReadyTool(
    name=NAME,
    description="Load a document of this agent's knowledge by its name. An unknown name lists what there is.",
    parameters={
        "type": "object",
        "properties": {key: {"type": "string"} for key in _KEYS},
    },
    category="knowledge",
    effect="read",
    call=_load,
)
