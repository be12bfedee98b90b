"""What the system prompt of an agent is made of (resources/docs/agents.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runtime_core.repo.bundle import Agent, Bundle
from runtime_core.tools import knowledge, memory
from runtime_core.wire.memory import Note

_KINDS: Final = ("surface", "entities", "rules")
_LONGEST: Final = 50_000
"""Characters of one text about a connection; what is beyond is left out, and the prompt says so."""


def specialist_prompt(agent: Agent) -> str:
    """Its AGENT.md only, and how long its answer shall be (contract 10)."""
    return "\n\n".join(filter(None, (agent.prompt, _length(agent))))


async def chat_prompt(agent: Agent, bundle: Bundle, offers: Sequence[str], notes: Sequence[Note]) -> str:
    """That of an agent which talks with a person. ``offers``: the names of its tools; ``notes``: what it remembers."""
    base = bundle.manifest.get("basePrompt")
    parts = [
        base if isinstance(base, str) else "",
        agent.prompt,
        _length(agent),
        _skills(agent, bundle),
        _documents(bundle) if knowledge.NAME in offers else "",
        *[await _connection(name, bundle) for name in agent.connections],
        _notes(notes) if memory.NAME in offers else "",
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _length(agent: Agent) -> str:
    fewest, most = agent.target_output
    if fewest is not None and most is not None:
        return f"Answer in about {fewest} to {most} words."
    if fewest is not None:
        return f"Answer in at least about {fewest} words."
    return f"Answer in at most about {most} words." if most is not None else ""


def _skills(agent: Agent, bundle: Bundle) -> str:
    skills = [bundle.skills[name] for name in agent.skills if name in bundle.skills]
    lines = [
        f"- {one.name}: {one.description}{f' Use it when: {one.trigger}' if one.trigger else ''}" for one in skills
    ]
    return _section(f"Skills ({knowledge.NAME} gives the whole text of one by its name)", lines)


def _documents(bundle: Bundle) -> str:
    lines = [f"- {name}: {document.title}" for name, document in sorted(bundle.knowledge.items())]
    return _section(f"Documents that {knowledge.NAME} gives", lines)


async def _connection(name: str, bundle: Bundle) -> str:
    connection = bundle.connections.get(name)
    if connection is None:
        return ""
    texts: list[str] = []
    for kind in _KINDS:
        if (file := connection.texts.get(kind)) is not None:
            is_read, text = await knowledge.read_text(bundle, file, _LONGEST)
            texts += [text.strip()] if is_read else []
    return _section(f"Connection {name}", texts)


def _notes(notes: Sequence[Note]) -> str:
    return _section("What you noted in earlier conversations", [f"- {note.text}" for note in notes])


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join((f"## {title}", "", *lines)) if lines else ""
