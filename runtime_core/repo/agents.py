"""Agents: `agents/<name>/AGENT.md` with `agent.json` or front matter (contract 1.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime_core.repo.bundle import Agent
from runtime_core.repo.files import JsonFile, read_json, read_text, validate
from runtime_core.repo.frontmatter import FrontMatterError, split_front_matter
from runtime_core.repo.report import INVALID, NOT_FOUND, PARSE_FAILED, Report
from runtime_core.wire.json import dumps

AGENTS: Final = "agents"
_CODE_FILES: Final = ("agent.ts", "agent.py")


class AgentFile(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False, alias_generator=to_camel)

    name: str | None = Field(None, description="Give the name that is shown, as a text, or leave it out.")
    display_name: str | None = Field(None, description="Give the name that is shown, as a text, or leave it out.")
    description: str | None = Field(None, description="Say in a text what the agent is for, or leave it out.")
    tools: list[str] | None = Field(None, description="List the names of the tools its model may call.")
    subagents: list[str] | None = Field(None, description="List the names of the agents its model may call.")
    stores: dict[str, Literal["read", "rw"]] | None = Field(None, description='Map store names to "read" or "rw".')
    timeout: float | None = Field(None, gt=0, description="Give a number of seconds above 0.")
    max_depth: int | None = Field(None, ge=1, le=4, description="Give a whole number from 1 to 4.")
    max_tool_calls: int | None = Field(None, ge=1, le=100, description="Give a whole number from 1 to 100.")


def load_agents(root: Path, report: Report) -> dict[str, Agent | None]:
    """All agents by directory name; None for a broken one, whose problems are reported."""
    folder = root / AGENTS
    if not folder.is_dir():
        return {}
    found: dict[str, Agent | None] = {}
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith(("_", ".")):
            found[path.name] = _load_agent(root, path.name, report)
    return found


def _load_agent(root: Path, name: str, report: Report) -> Agent | None:
    folder = f"{AGENTS}/{name}"
    for code in _CODE_FILES:
        if (root / folder / code).exists():
            report.warning(
                INVALID,
                f"{folder}/{code}",
                "Agent definitions in code are not read by this version.",
                "Put what the agent needs now into agent.json.",
            )
    if not (root / folder / "AGENT.md").exists():
        report.error(
            NOT_FOUND,
            f"{folder}/AGENT.md",
            f'The agent "{name}" has no prompt.',
            "Write its prompt into this file, or start the folder's name with _ if it is no agent.",
        )
        return None
    text = read_text(root, f"{folder}/AGENT.md", report)
    file = read_json(root, f"{folder}/agent.json", report) if (root / folder / "agent.json").exists() else None
    if text is None or (file is None and (root / folder / "agent.json").exists()):
        return None
    try:
        front, prompt = split_front_matter(text)
    except FrontMatterError as error:
        report.error(PARSE_FAILED, f"{folder}/AGENT.md", error.message, error.remedy, line=error.line)
        return None
    if file is None:
        file = JsonFile(f"{folder}/AGENT.md", dumps(front), front)
    elif front:
        report.warning(
            INVALID,
            f"{folder}/AGENT.md",
            "The front matter is ignored because agent.json is there as well.",
            "Keep the definition in one of the two files.",
        )
    definition = validate(AgentFile, file, report)
    return _agent(name, prompt, definition) if definition else None


def _agent(name: str, prompt: str, file: AgentFile) -> Agent:
    shown = file.display_name or file.name or name
    settings: dict[str, Any] = {}
    if file.timeout is not None:
        settings["timeout_s"] = float(file.timeout)
    if file.max_tool_calls is not None:
        settings["max_tool_calls"] = file.max_tool_calls
    return Agent(
        name=name,
        prompt=prompt,
        display_name=shown,
        description=file.description or shown,
        tools=None if file.tools is None else tuple(file.tools),
        subagents=tuple(file.subagents or ()),
        **settings,
    )
