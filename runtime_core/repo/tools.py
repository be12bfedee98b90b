"""Custom tools: `amodal/tools/<name>/` and the older `tools/<name>/` (contract 1.1, 2.1-2.5).

This version runs the JSON layout (`tool.json` + `handler.ts` or `handler.py`). A tool in the code layout (`tool.ts`,
`tool.py`) is named in a warning and left out; `checks` makes it an error where another tool needs it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

from runtime_core.repo.bundle import Tool
from runtime_core.repo.files import JsonFile, items_of, read_json, read_text, validate
from runtime_core.repo.params import check_schema
from runtime_core.repo.report import INVALID, NOT_FOUND, Report
from runtime_core.repo.revision import FILE_LIMIT
from runtime_core.repo.toolfile import ToolFile

FOLDERS: Final = ("amodal/tools", "tools")
SHORTEST_TIMEOUT_MS: Final = 50
"""Where tools live, the preferred place first."""

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_CODE_ID = re.compile(r"""(?:^|[\s{,(])["']?id["']?\s*[:=]\s*["']([A-Za-z0-9_-]+)["']""")
_LANGUAGES: Final[Mapping[str, Literal["typescript", "python"]]] = {".ts": "typescript", ".py": "python"}
_PARTS: Final = ("handler.ts", "handler.py", "tool.ts", "tool.py")


@dataclass(slots=True)
class ToolScan:
    """What the tool folders hold. ``files`` are the definitions by tool name, those of broken tools included;
    ``left_out`` says why a name is missing, with an empty reason where its own problem is already an error."""

    tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    files: dict[str, JsonFile] = field(default_factory=dict[str, JsonFile])
    left_out: dict[str, str] = field(default_factory=dict[str, str])


def load_tools(root: Path, report: Report) -> ToolScan:
    scan = ToolScan()
    folders: dict[str, str] = {}
    for place in FOLDERS:
        for folder in _tool_folders(root, place):
            name = folder.rpartition("/")[2]
            if name in folders:
                report.warning(
                    INVALID,
                    folder,
                    f'The tool "{name}" is there twice; {folders[name]} is used.',
                    f"Remove {folder}.",
                )
            else:
                folders[name] = folder
    for name, folder in folders.items():
        _load_folder(root, name, folder, scan, report)
    return scan


def _tool_folders(root: Path, place: str) -> list[str]:
    if not (root / place).is_dir():
        return []
    return [
        f"{place}/{path.name}"
        for path in sorted((root / place).iterdir())
        if path.is_dir() and not path.name.startswith(("_", "."))
    ]


def _load_folder(root: Path, name: str, folder: str, scan: ToolScan, report: Report) -> None:
    parts = [part for part in _PARTS if (root / folder / part).is_file()]
    definition = f"{folder}/tool.json"
    has_definition = (root / folder / "tool.json").exists()
    codes = [part for part in parts if part.startswith("tool.")]
    if len({Path(part).suffix for part in parts}) > 1:
        scan.left_out[name] = ""
        report.error(
            INVALID,
            folder,
            f"The tool is written in two languages: {' and '.join(parts)}.",
            "Keep the files of one language and remove the others.",
        )
    elif codes:
        _leave_out_code_layout(root, name, f"{folder}/{codes[0]}", scan, report, has_definition)
    elif has_definition:
        _load_json_layout(root, name, definition, parts, scan, report)
    elif parts:
        scan.left_out[name] = f"it has no definition: {definition} is missing"
        report.warning(
            NOT_FOUND,
            definition,
            f"{parts[0]} is there without a tool.json, so this is not loaded as a tool.",
            "Write a tool.json with a description and parameters, or start the folder's name with _.",
        )
    elif folder.startswith(FOLDERS[0]):
        scan.left_out[name] = f"{folder} holds neither tool.json nor a handler"
        report.warning(
            NOT_FOUND,
            definition,
            "The folder holds no tool.",
            "Write tool.json and handler.ts or handler.py, or start the folder's name with _.",
        )


def _leave_out_code_layout(
    root: Path, name: str, file: str, scan: ToolScan, report: Report, has_definition: bool
) -> None:
    code = read_text(root, file, report, FILE_LIMIT) or ""
    found = _CODE_ID.search(code)
    reason = f"{file} uses the code layout, which this version does not run yet"
    for known in {name, name.replace("-", "_"), found[1] if found else name}:
        scan.left_out[known] = reason
    shadowed = " It takes precedence over the tool.json beside it." if has_definition else ""
    report.warning(
        INVALID,
        file,
        f"Tools in the code layout are not run by this version, so this one is left out.{shadowed}",
        f"Use tool.json with handler{Path(file).suffix} for now"
        + (f" and remove {Path(file).name}." if shadowed else "."),
    )


def _load_json_layout(
    root: Path, name: str, definition: str, handlers: list[str], scan: ToolScan, report: Report
) -> None:
    before = len(report.problems)
    folder = definition.removesuffix("/tool.json")
    if not _NAME.match(name):
        report.error(
            INVALID,
            definition,
            f'"{name}" cannot be the name of a tool.',
            "Rename the folder: a lower-case letter, then lower-case letters, digits and underscores.",
        )
    if not handlers:
        report.error(NOT_FOUND, definition, "The tool has no handler.", _handler_remedy(root, folder))
    file = read_json(root, definition, report)
    parsed = validate(ToolFile, file, report) if file else None
    if file:
        scan.files[name] = file
        _check_definition(name, file, report)
    if file is None or parsed is None or any(problem.severity == "error" for problem in report.problems[before:]):
        scan.left_out[name] = ""
    elif parsed.confirm == "never":
        scan.left_out[name] = f'{definition} says "confirm": "never"'
        del scan.files[name]
        report.warning(
            INVALID,
            definition,
            'The tool is left out because it says "confirm": "never".',
            'Use false, true or "review" to have it, or remove the folder.',
            **file.place(("confirm",)),
        )
    else:
        if parsed.timeout < SHORTEST_TIMEOUT_MS:
            report.warning(
                INVALID,
                definition,
                f"A handler can hardly finish in {parsed.timeout:g} milliseconds.",
                "timeout counts milliseconds: write 30000 for half a minute.",
                **file.place(("timeout",)),
            )
        scan.tools[name] = _tool(name, f"{folder}/{handlers[0]}", file, parsed)


def _handler_remedy(root: Path, folder: str) -> str:
    for other in ("handler.js", "handler.mjs", "index.ts", "handler.tsx"):
        if (root / folder / other).exists():
            return f"Rename {other} to handler.ts."
    return "Write handler.ts or handler.py beside it."


def _check_definition(name: str, file: JsonFile, report: Report) -> None:
    """What the field types alone do not say. Fields of the wrong type are passed over: they are problems already."""
    given = file.value.get("name")
    if isinstance(given, str) and given != name:
        report.error(
            INVALID,
            file.name,
            f'The name "{given}" differs from the folder\'s name "{name}".',
            f'Write "{name}", leave the name out, or rename the folder.',
            **file.place(("name",)),
        )
    parameters = file.value.get("parameters")
    for problem in check_schema(cast("dict[str, Any]", parameters)) if isinstance(parameters, dict) else ():
        add = report.warning if problem.tolerable else report.error
        add(
            INVALID,
            file.name,
            f"The parameter schema is not usable: {problem.message}.",
            "Correct the JSON Schema at this place; references may only point inside it, such as #/$defs/item.",
            **file.place(("parameters", *problem.key)),
        )
    for number, trigger in enumerate(items_of(file.value.get("triggers"))):
        if isinstance(trigger, dict):
            _check_trigger(file, number, cast("dict[str, Any]", trigger).get("kind"), report)
    for ignored in ("enabled", "llm_callable"):
        if ignored in file.value:
            report.warning(
                INVALID,
                file.name,
                f"{ignored} has no effect in tool.json and protects nothing.",
                "Remove it; to keep the tool from models, list it in no agent's tools.",
                **file.place((ignored,)),
            )


def _check_trigger(file: JsonFile, number: int, kind: object, report: Report) -> None:
    place = file.place(("triggers", number, "kind"))
    if kind == "schedule":
        report.warning(INVALID, file.name, "Schedule triggers never fire.", "Use an automation instead.", **place)
    elif isinstance(kind, str) and kind not in ("invoke", "regex"):
        report.warning(
            INVALID,
            file.name,
            f'A trigger of kind "{kind}" is not known and does nothing.',
            'Use "invoke" or "regex".',
            **place,
        )


def _tool(name: str, entry: str, file: JsonFile, parsed: ToolFile) -> Tool:
    uses = parsed.uses
    return Tool(
        name=name,
        description=parsed.description,
        parameters=parsed.parameters,
        entry=entry,
        language=_LANGUAGES[Path(entry).suffix],
        durable=parsed.execution == "durable",
        tools=tuple(uses.tools) if uses else (),
        subagents=tuple(uses.subagents) if uses else (),
        has_uses=uses is not None,
        triggers=tuple(items_of(file.value.get("triggers"))),
        confirm=False if parsed.confirm == "never" else parsed.confirm,
        effect=parsed.effect,
        timeout_s=float(parsed.timeout) / 1000,
        env=tuple(parsed.env),
        running_label=parsed.running_label,
        completed_label=parsed.completed_label,
        title=parsed.title,
    )
