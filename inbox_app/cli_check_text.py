"""What ``check`` prints for people: tables, and lists that are wrapped so that 100 columns hold them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from inbox_app.cli_text import moment, table, visible
from runtime_core.automations.definition import definition_of_file
from runtime_core.journal.trust import Agreement
from runtime_core.repo.builtins import DEFAULT_TOOLS
from runtime_core.repo.bundle import (
    Agent,
    Automation,
    Bundle,
    BundleError,
    Connection,
    Hook,
    Ignored,
    Problem,
    Store,
    Tool,
)
from runtime_core.repo.outlets import outlets
from runtime_core.repo.reach import AGENT, reach
from runtime_core.wire.builds import Switch

WIDTH: Final = 100


@dataclass(frozen=True, slots=True)
class Kept:
    """What a data folder holds of a repository: what it was trusted for, and its built-in tools that are off."""

    agreed: Agreement | None = None
    off: Sequence[Switch] = ()


def lines(
    bundle: Bundle,
    models: Mapping[str, Sequence[str]],
    needed: Sequence[str],
    kept: Kept,
    hints: Sequence[str],
    problems: Sequence[Problem],
) -> Iterator[str]:
    """``models``: those of each agent; ``needed``: what it has to be trusted for; ``kept``: what the data folder
    holds of it; ``hints``: what this computer cannot keep from handlers.
    """
    yield f"{visible(bundle.name)} {visible(bundle.version)}".rstrip() + f"  {bundle.root}"
    tools, agents = bundle.tools.values(), bundle.agents.values()
    yield from _table(["TOOL", "RUNS", "LANGUAGE", "DEFINED", "STARTS", "FOR MODELS"], map(_tool, tools))
    yield from _lists("TOOL REACHES", ((tool.name, reach(tool.name, bundle)) for tool in tools))
    if bundle.stores or bundle.connections:
        yield ""
        yield "With ctx.store and ctx.request, tools that are not durable reach every store and connection."
    for agent in agents:
        named = " or ".join(models[agent.name]) or "none that can be used (see models.md)"
        yield from _lists(f"AGENT {visible(agent.name)}", (("model", [named]), *_agent(agent, bundle)))
    yield from _table(["STORE", "KEY", "FIELDS", "REMOVABLE", "FOUND BY"], map(_store, bundle.stores.values()))
    yield from _table(["CONNECTION", "PROTOCOL", "GUARDED", "STATE"], map(_connection, bundle.connections.values()))
    yield from _values(bundle)
    yield from _table(["HOOK", "PRIORITY", "IF IT FAILS", "POINTS"], map(_hook, bundle.hooks))
    others = (("knowledge", bundle.knowledge), ("skills", bundle.skills), ("evals", bundle.evals))
    yield from _lists("ALSO THERE", ((kind, list(names)) for kind, names in others))
    yield from _table(["AUTOMATION", "STARTS", "WHEN"], map(_automation, bundle.automations.values()))
    if bundle.automations:
        yield "They are off until somebody switches them on here (see: operator-inbox automations list PATH)."
    yield from _table(["SWITCHED OFF", "BY", "AT"], ([one.tool, one.who, moment(one.at)] for one in kept.off))
    yield from _ignored(bundle.ignored)
    for text in (*hints, *_trust(needed, kept.agreed)):
        yield ""
        yield visible(text)
    yield ""
    yield from problem_lines(problems) if problems else ("no problems",)


def refused_lines(error: BundleError) -> Iterator[str]:
    """What there is to say of a repository that cannot be used."""
    yield from problem_lines(error.problems)
    yield from _ignored(error.ignored)


def _ignored(ignored: Iterable[Ignored]) -> Iterator[str]:
    yield from _table(["IGNORED", "WHY"], ([one.path, one.reason] for one in ignored))


def _trust(needed: Sequence[str], agreed: Agreement | None) -> Iterator[str]:
    has = [need for need in needed if agreed is not None and need in agreed.needs]
    lacks = [need for need in needed if need not in has]
    if agreed is not None and has:
        yield f"trusted by {agreed.who} at {moment(agreed.at)}, may use {'; '.join(has)}"
    if lacks:
        yield f"has to be trusted, with --trust, before it may use {'; '.join(lacks)}"


def problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        yield f"{problem.severity}: {visible(str(problem))} [{problem.code}]"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    shown = [[visible(cell) for cell in row] for row in rows]
    if shown:
        yield ""
        yield table(head, shown)


def _lists(head: str, rows: Iterable[tuple[str, Sequence[str]]], between: str = ", ") -> Iterator[str]:
    shown = [(visible(label), visible(between.join(names))) for label, names in rows if names]
    if shown:
        yield ""
        yield head
        width = min(max(len(label) for label, _ in shown), WIDTH // 3)
        indent = " " * (width + 4)
        for label, text in shown:
            first = f"  {label:<{width}}  "
            yield textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)


def _starts(tool: Tool) -> str:
    ways = ["invoke"] if tool.invocable else []
    ways += ["what is said"] if any(trigger.get("kind") == "regex" for trigger in tool.triggers) else []
    return f"by {' or '.join(ways)}" if ways else "by code or `run`"


def _tool(tool: Tool) -> list[str]:
    return [
        tool.name,
        "durable" if tool.durable else "inline",
        tool.language,
        "in code" if tool.layout == "code" else "by tool.json",
        _starts(tool),
        "no" if not tool.llm_callable else "yes" if tool.exposure == "open" else tool.exposure,
    ]


def _agent(agent: Agent, bundle: Bundle) -> Iterator[tuple[str, Sequence[str]]]:
    yield "tools", _listed(agent, "tools", DEFAULT_TOOLS if agent.tools is None else agent.tools)
    yield "subagents", _listed(agent, "subagents", agent.subagents)
    yield "stores", [f"{name} ({mode}){_marked(agent, 'stores', name)}" for name, mode in agent.stores.items()]
    yield "connections", _listed(agent, "connections", agent.connections)
    yield "skills", _listed(agent, "skills", agent.skills)
    yield "mcp", _listed(agent, "mcp", agent.mcp)
    yield "reaches", reach(f"{AGENT}{agent.name}", bundle) or ["nothing"]


def _listed(agent: Agent, key: str, names: Sequence[str]) -> list[str]:
    return [f"{name}{_marked(agent, key, name)}" for name in names]


def _marked(agent: Agent, key: str, name: str) -> str:
    is_open = any((condition.key, condition.name) == (key, name) for condition in agent.conditions)
    return " (decided per turn)" if is_open else ""


def _store(store: Store) -> list[str]:
    removable = "yes" if store.deletable else "no"
    return [store.name, store.key, str(len(store.schema)), removable, ", ".join(store.indexed) or "key only"]


def _connection(connection: Connection) -> list[str]:
    count = len(connection.policy.endpoints)
    guarded = "no" if count == 0 else "1 endpoint" if count == 1 else f"{count} endpoints"
    state = "unavailable: see below" if connection.unavailable else "available"
    return [connection.name, connection.protocol, guarded, state]


def _automation(file: Automation) -> list[str]:
    stated = definition_of_file(file)
    return [file.name, f"agent {stated.agent}", "cannot be started" if stated.problem else stated.schedule.in_words()]


def _values(bundle: Bundle) -> Iterator[str]:
    """Each value with everybody who gets it."""
    found: dict[str, dict[str, None]] = {}
    for outlet in outlets(bundle):
        found.setdefault(outlet.name, {})[f"{outlet.to}, by {outlet.file} [{outlet.key}]"] = None
    yield from _lists("VALUES OF YOURS, AND WHO GETS THEM", ((name, list(to)) for name, to in found.items()), "; ")


def _hook(hook: Hook) -> list[str]:
    fails = "blocks" if hook.is_closed else "allows"
    return [hook.name, f"{hook.priority:g}", fails, ", ".join(sorted(hook.points))]
