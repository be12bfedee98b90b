"""``load_knowledge``: the text of one document of ``knowledge/`` or of a skill (contract 1.5 and 5.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from runtime_core.hosts.files import read_repo_file
from runtime_core.hosts.source import Source
from runtime_core.repo.bundle import Bundle
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
    known = _known(caller)
    if not isinstance(asked, str) or (file := _find(known, asked)) is None:
        there = ", ".join(f"{name} ({title})" for name, (_, title) in sorted(known.items())) or "none"
        missing = f"There is no document {dumps(asked)}." if asked is not None else "Give the document's name as name."
        return dumps({"error": f"{missing} The documents are: {there}."})
    is_read, text = await read_text(caller.bundle, file, CHARACTERS)
    return dumps(text if is_read else {"error": text})


async def read_text(bundle: Bundle, file: str, limit: int) -> tuple[bool, str]:
    """A file of the repository, up to ``limit`` characters; with False, why it cannot be read."""
    source = Source(bundle.root.resolve(), bundle.code and bundle.code.resolve())
    is_read, value = await asyncio.to_thread(read_repo_file, source, file)
    said = loads(value)
    if not is_read or not isinstance(said, str):
        return False, str(said["message"] if isinstance(said, dict) else said)
    text = said.removeprefix("\ufeff")
    if len(text) > limit:
        text = f"{text[:limit]}\n[... {len(text) - limit} characters are left out ...]"
    return True, text


def _known(caller: Caller) -> Mapping[str, tuple[str, str]]:
    """Files and titles by name; a document goes before a skill of the agent with the same name."""
    bundle = caller.bundle
    skills = [bundle.skills[name] for name in caller.agent.skills if name in bundle.skills] if caller.agent else []
    documents = {name: (one.file, one.title) for name, one in bundle.knowledge.items()}
    return {skill.name: (skill.file, skill.description) for skill in skills} | documents


def _find(known: Mapping[str, tuple[str, str]], asked: str) -> str | None:
    """The file, by the name or its own with or without its folder; in other letters only if there is none in these."""
    name = asked.strip().removesuffix("/SKILL.md").rpartition("/")[2].removesuffix(".md")
    alike = (file for known_name, (file, _) in known.items() if known_name.casefold() == name.casefold())
    return known[name][0] if name in known else next(alike, None)


_TOOL: Final = ReadyTool(
    name=NAME,
    description="Load a document of the knowledge, or a skill, by its name. An unknown name lists what there is.",
    parameters={
        "type": "object",
        "properties": {key: {"type": "string"} for key in _KEYS},
    },
    category="knowledge",
    effect="read",
    call=_load,
)
