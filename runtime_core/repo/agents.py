"""Agents: `agents/<name>/AGENT.md` with `agent.json` or front matter, and `agent.ts` or `agent.py` (contract 1.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, cast

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime_core.repo.bundle import Agent, Condition
from runtime_core.repo.definitions import AGENTS, NOT_READ, Described, files_of, is_function
from runtime_core.repo.fields import Fields, nearly
from runtime_core.repo.files import JsonFile, read_json, read_text, unknown_key, validate
from runtime_core.repo.frontmatter import FrontMatterError, split_front_matter, split_headings
from runtime_core.repo.items import folders_of, misnamed
from runtime_core.repo.report import INVALID, NOT_FOUND, PARSE_FAILED, Report, report_unread

_ENTRY_KEYS: Final = ("name", "mode", "conditional")
_LISTS: Final = ("tools", "subagents", "connections", "skills", "mcp")


class AgentFile(Fields):
    model_config = ConfigDict(strict=True, allow_inf_nan=False, alias_generator=to_camel, validate_by_name=True)

    name: str | None = Field(None, description="Give the name that is shown, as a text, or leave it out.")
    display_name: str | None = Field(None, description="Give the name that is shown, as a text, or leave it out.")
    description: str | None = Field(None, description="Say in a text what the agent is for, or leave it out.")
    tools: list[str] | None = Field(None, description="List the names of the tools its model may call.")
    subagents: list[str] | None = Field(None, description="List the names of the agents its model may call.")
    stores: dict[str, Literal["read", "rw"]] | None = Field(None, description='Map store names to "read" or "rw".')
    timeout: float | None = Field(None, gt=0, description="Give a number of seconds above 0.")
    max_depth: int | None = Field(None, ge=1, le=4, description="Give a whole number from 1 to 4.")
    max_tool_calls: int | None = Field(None, ge=1, le=100, description="Give a whole number from 1 to 100.")
    connections: list[str] | None = Field(None, description="List the names of the connections its model may use.")
    skills: list[str] | None = Field(None, description="List the names of the skills it has.")
    mcp: list[str] | None = Field(None, description="List the names of the MCP servers its model may use.")
    target_output_min: int | None = Field(None, ge=50, le=2000, description="Give a whole number from 50 to 2000.")
    target_output_max: int | None = Field(None, ge=50, le=2000, description="Give a whole number from 50 to 2000.")
    model_tier: Literal["default", "simple", "advanced"] | None = Field(
        None, description='Write "default", "simple" or "advanced".'
    )


Agents = Mapping[str, Agent | str]
"""Agents by directory name, or why one is left out: nothing where its own problem is already an error."""


@dataclass(frozen=True, slots=True)
class AgentScan:
    """What the agent folders hold. ``files`` are the definitions by agent, the one that counts first."""

    agents: dict[str, Agent | str] = field(default_factory=dict[str, Agent | str])
    files: dict[str, list[JsonFile]] = field(default_factory=dict[str, list[JsonFile]])


def load_agents(root: Path, report: Report, described: Described) -> AgentScan:
    scan = AgentScan()
    for name in folders_of(root, AGENTS, report):
        scan.agents[name] = _load_agent(root, name, report, described, scan.files.setdefault(name, []))
    return scan


def _load_agent(root: Path, name: str, report: Report, described: Described, files: list[JsonFile]) -> Agent | str:
    folder = f"{AGENTS}/{name}"
    codes = files_of(root, folder, "agent")
    if len(codes) > 1:
        message, remedy = f"The agent is defined twice in code: {' and '.join(codes)}.", "Keep one of them."
        report.error(INVALID, folder, message, remedy)
        return ""
    written = _written(root, name, report)
    if written is None:
        return ""
    prompt, definition, file = written
    files.append(file)
    if not codes:
        return _agent(name, prompt, definition)
    entry = f"{folder}/{codes[0]}"
    description = described.get(entry, NOT_READ)
    if description.unread is not None:  # without it the agent might do more than it says
        report_unread(entry, description.unread, description.passing, report)
        return f"{entry} cannot be read"
    files.insert(0, JsonFile(entry, None, description.value))
    given = _code(files[0], report)
    if given is None:
        return ""
    code, conditions = given
    merged = _merged(definition, code, entry, report)
    return replace(_agent(name, prompt, merged), entry=entry, conditions=conditions)


def _code(file: JsonFile, report: Report) -> tuple[AgentFile, tuple[Condition, ...]] | None:
    """A definition in code, with the predicates of its entries."""
    before = len(report.problems)
    if not isinstance(cast("object", file.value), dict):
        remedy = "Write: export default { … }." if file.name.endswith(".ts") else "Write: agent = {…}."
        report.error(INVALID, file.name, "The file defines no agent.", remedy)
        return None
    conditions: list[Condition] = []
    plain = dict(file.value)
    for key in _LISTS:
        if isinstance(plain.get(key), list):
            plain[key] = [_entry(file, (key, n), item, item, conditions, report) for n, item in enumerate(plain[key])]
    if isinstance(stores := plain.get("stores"), dict):
        granted = cast("dict[str, Any]", stores).items()
        plain["stores"] = {
            name: _entry(file, ("stores", name), item, name, conditions, report) for name, item in granted
        }
    parsed = validate(AgentFile, JsonFile(file.name, None, plain), report)
    is_good = all(problem.severity != "error" for problem in report.problems[before:])
    return (parsed, tuple(conditions)) if parsed is not None and is_good else None


def _entry(
    file: JsonFile, key: tuple[str, str | int], item: Any, name: Any, conditions: list[Condition], report: Report
) -> Any:
    """The name or mode that an entry gives, whose predicate goes to ``conditions``."""
    if not isinstance(item, dict):
        return item
    entry = cast("dict[str, Any]", item)
    given = entry.get("mode" if key[0] == "stores" else "name")
    for wrong, meant in nearly(entry, _ENTRY_KEYS):
        report.error(INVALID, file.name, *unknown_key(wrong, meant), **file.place((*key, wrong)))
    condition = entry.get("conditional")
    if condition is not None and not is_function(condition):
        remedy = "Give a function that takes the surface context and says true or false."
        report.error(INVALID, file.name, "This is no function.", remedy, **file.place((*key, "conditional")))
    elif condition is not None:
        conditions.append(Condition(key[0], str(name if key[0] == "stores" else given), (*key, "conditional")))
    return given


def _merged(written: AgentFile, code: AgentFile, entry: str, report: Report) -> AgentFile:
    """Where both say something, the code counts."""
    if both := sorted(written.model_fields_set & code.model_fields_set):
        keys = ", ".join(to_camel(field) for field in both)
        message = f"{keys}: given here and beside AGENT.md or in it; what this file says is used."
        report.warning(INVALID, entry, message, "Keep each in one of the files.", key=keys)
    return written.model_copy(update={field: getattr(code, field) for field in code.model_fields_set})


def _written(root: Path, name: str, report: Report) -> tuple[str, AgentFile, JsonFile] | None:
    """The prompt, what agent.json or the front matter says, and where."""
    folder = f"{AGENTS}/{name}"
    if not (root / folder / "AGENT.md").exists():
        report.error(
            NOT_FOUND,
            f"{folder}/AGENT.md",
            f'The agent "{name}" has no prompt.',
            misnamed(root, f"{folder}/AGENT.md")
            or "Write its prompt into this file, or start the folder's name with _ if it is no agent.",
        )
        return None
    text = read_text(root, f"{folder}/AGENT.md", report)
    file = read_json(root, f"{folder}/agent.json", report) if (root / folder / "agent.json").exists() else None
    if text is None or (file is None and (root / folder / "agent.json").exists()):
        return None
    try:
        front, prompt = split_headings(text) or split_front_matter(text)
    except FrontMatterError as error:
        report.error(PARSE_FAILED, f"{folder}/AGENT.md", error.message, error.remedy, line=error.line)
        return None
    if file is None:
        file = JsonFile(f"{folder}/AGENT.md", None, front, lines=_lines(text, front))
    elif front:
        report.warning(
            INVALID,
            f"{folder}/AGENT.md",
            "What it says beside the prompt is ignored because agent.json is there as well.",
            "Keep the definition in one of the two files.",
        )
    if not prompt.strip():
        message, remedy = "The agent's prompt is empty.", "Write into this file what it shall do."
        report.warning(INVALID, f"{folder}/AGENT.md", message, remedy)
    definition = validate(AgentFile, file, report)
    return (prompt, definition, file) if definition else None


def _lines(text: str, front: Mapping[str, Any]) -> Mapping[str, int]:
    """The lines in which the keys of front matter stand."""
    starts = [line.partition(":")[0] for line in text.splitlines()]
    return {key: starts.index(key) + 1 for key in front if key in starts}


def _agent(name: str, prompt: str, file: AgentFile) -> Agent:
    shown = file.display_name or file.name or name
    settings: dict[str, Any] = {
        "max_tool_calls": file.max_tool_calls,
        "max_depth": file.max_depth,
        "timeout_s": file.timeout,
        "model_tier": file.model_tier,
        "target_output": (file.target_output_min, file.target_output_max),
    }
    return Agent(
        name=name,
        prompt=prompt,
        display_name=shown,
        description=file.description or shown,
        tools=None if file.tools is None else tuple(file.tools),
        subagents=tuple(file.subagents or ()),
        stores=file.stores or {},
        connections=tuple(file.connections or ()),
        skills=tuple(file.skills or ()),
        mcp=tuple(file.mcp or ()),
        **{key: value for key, value in settings.items() if value is not None},
    )
