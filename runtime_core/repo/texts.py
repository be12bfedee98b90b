"""Documents that are written for models and people: knowledge, skills and automations (contract 1.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from runtime_core.repo.bundle import Automation, Document, Skill
from runtime_core.repo.files import read_json, read_text
from runtime_core.repo.frontmatter import FrontMatterError, split_front_matter
from runtime_core.repo.items import files_of_kind, folders_of, misnamed
from runtime_core.repo.report import INVALID, NOT_FOUND, PARSE_FAILED, PartReport, Report

_LEFT_OUT: Final = "It is left out."
_HEADING: Final = re.compile(r"#{1,6}\s")
_TRIGGER: Final = re.compile(r"\**Trigger:?\**:?\s*(.+)$", re.IGNORECASE)
_SCHEDULE: Final = re.compile(r"\**Schedule:?\**:?\s*(.+)$", re.IGNORECASE)


def load_documents(root: Path, report: Report) -> Mapping[str, Document]:
    """The knowledge; a document that cannot be read is left out with a warning."""
    found: dict[str, Document] = {}
    for name, file in files_of_kind(root, "knowledge", (".md",), report).items():
        text = read_text(root, file, PartReport(report, _LEFT_OUT))
        if text is not None:
            found[name] = Document(name, _first_heading(text) or name, file)
    return found


def load_skills(root: Path, report: Report) -> Mapping[str, Skill]:
    found: dict[str, Skill] = {}
    for name, folder in folders_of(root, "skills", report).items():
        file = f"{folder}/SKILL.md"
        part = PartReport(report, _LEFT_OUT)
        if not (root / file).is_file():
            remedy = misnamed(root, file) or "Write it into this file, or remove the folder."
            part.error(NOT_FOUND, file, "The skill has no text.", remedy)
            continue
        text = read_text(root, file, part)
        skill = _skill(name, file, text, part) if text is not None else None
        if skill is not None:
            found[name] = skill
    return found


def load_automations(root: Path, report: Report) -> Mapping[str, Automation]:
    found: dict[str, Automation] = {}
    for name, file in files_of_kind(root, "automations", (".json", ".md"), report).items():
        settings = _automation(root, file, PartReport(report, _LEFT_OUT))
        if settings is not None:
            for key, problem in _oddities(settings):
                report.warning(INVALID, file, problem, "Correct it, or take it out.", key=key)
            found[name] = Automation(name, file, settings)
    return found


def _oddities(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if settings.get("trigger", "manual") not in ("cron", "webhook", "manual"):
        yield "trigger", 'This should be "cron", "webhook" or "manual".'
    for key in ("title", "prompt", "schedule"):
        if not isinstance(settings.get(key, ""), str):
            yield key, "This should be a text."


def _skill(name: str, file: str, text: str, report: Report) -> Skill | None:
    try:
        front, body = split_front_matter(text)
    except FrontMatterError as error:
        report.error(PARSE_FAILED, file, error.message, error.remedy, line=error.line)
        return None
    title = (_first_heading(body) or "").removeprefix("Skill:").strip()
    description = _text(front.get("description")) or _first_paragraph(body) or title or name
    return Skill(name, description, _text(front.get("trigger")) or _line(_TRIGGER, body), file)


def _automation(root: Path, file: str, report: Report) -> Mapping[str, Any] | None:
    if file.endswith(".json"):
        definition = read_json(root, file, report)
        return definition.value if definition is not None else None
    text = read_text(root, file, report)
    if text is None:
        return None
    title = (_first_heading(text) or "").removeprefix("Automation:").strip()
    settings = {"title": title, "schedule": _line(_SCHEDULE, text), "prompt": section(text, "Check")}
    return {key: value for key, value in settings.items() if value}


def section(text: str, heading: str) -> str | None:
    """What stands below a heading of the second level, up to the next one."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.strip().lower() == f"## {heading.lower()}"), None)
    if start is None:
        return None
    rest = lines[start + 1 :]
    end = next((n for n, line in enumerate(rest) if line.startswith(("# ", "## "))), len(rest))
    return "\n".join(rest[:end]).strip()


def _first_heading(text: str) -> str | None:
    found = (line.lstrip("#").strip().rstrip("#").rstrip() for line in text.splitlines() if _HEADING.match(line))
    return next(filter(None, found), None)


def _first_paragraph(text: str) -> str:
    lines: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if line and not line.startswith("#") and not _TRIGGER.match(line):
            lines.append(line)
        elif lines:
            break
    return " ".join(lines)


def _line(pattern: re.Pattern[str], text: str) -> str | None:
    return next((found[1].strip() for line in text.splitlines() if (found := pattern.match(line.strip()))), None)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
