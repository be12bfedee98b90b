"""Hooks: `hooks/<name>/` with `hook.json` and `index.mjs` or `hook.py` (contract 9.2).

A hook that cannot be used stops the bundle: leaving a guard out would let through what it is there to stop.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime_core.repo.bundle import Hook, HookPoint, Language
from runtime_core.repo.fields import Fields
from runtime_core.repo.files import read_json, validate
from runtime_core.repo.items import folders_of, misnamed
from runtime_core.repo.report import INVALID, NOT_FOUND, Report

_ENTRIES: Final[dict[str, Language]] = {"index.mjs": "typescript", "hook.py": "python"}
_CAPABILITIES: Final = ("store:read", "reads_tool_io", "gates_tools")


class HookFile(Fields):
    model_config = ConfigDict(strict=True, allow_inf_nan=False, alias_generator=to_camel)
    guards = None

    name: str | None = Field(None, description="Give the name as a text, or leave it out.")
    label: str | None = Field(None, description="Give the label as a text, or leave it out.")
    points: list[HookPoint] = Field(
        min_length=1, description="List some of preInput, preToolUse, postToolUse, preOutput and postTurn."
    )
    capabilities: list[str] = Field([], description=f"List some of {', '.join(_CAPABILITIES)}.")
    fail_policy: Literal["closed", "open"] = Field("open", description='Write "closed" or "open".')
    priority: float = Field(0, description="Give a number; hooks with a lower one are asked first.")
    config: dict[str, Any] = Field({}, description="Give an object; createHook gets it.")


def load_hooks(root: Path, report: Report) -> tuple[Hook, ...]:
    """In the order in which they are asked."""
    loaded = [_load(root, name, folder, report) for name, folder in folders_of(root, "hooks", report).items()]
    return tuple(sorted((hook for hook in loaded if hook is not None), key=lambda hook: (hook.priority, hook.name)))


def _load(root: Path, name: str, folder: str, report: Report) -> Hook | None:
    entries = [entry for entry in _ENTRIES if (root / folder / entry).is_file()]
    definition = f"{folder}/hook.json"
    has_definition = (root / folder / "hook.json").exists()
    if not entries and not has_definition:
        report.ignore(f"{folder}/", "it holds neither hook.json nor code of a hook")
        return None
    if not has_definition:
        message = f"{folder}/{entries[0]} is there without a definition."
        remedy = misnamed(root, definition) or 'Write {"points": ["preToolUse"], …}, or remove the folder.'
        report.error(NOT_FOUND, definition, message, remedy)
        return None
    if len(entries) != 1:
        message = f"The hook is written twice: {' and '.join(entries)}." if entries else "The hook has no code."
        remedy = "Keep one of them." if entries else "Write index.mjs or hook.py beside it."
        report.error(INVALID if entries else NOT_FOUND, definition, message, remedy)
        return None
    file = read_json(root, definition, report)
    parsed = validate(HookFile, file, report) if file is not None else None
    if parsed is None or file is None:
        return None
    for number, capability in enumerate(parsed.capabilities):
        if capability not in _CAPABILITIES:
            message = f'The capability "{capability}" is not known and gives nothing.'
            remedy = f"Use {', '.join(_CAPABILITIES)}."
            report.warning(INVALID, definition, message, remedy, **file.place(("capabilities", number)))
    return Hook(
        name=name,
        entry=f"{folder}/{entries[0]}",
        language=_ENTRIES[entries[0]],
        points=frozenset(parsed.points),
        capabilities=frozenset(parsed.capabilities),
        is_closed=parsed.fail_policy == "closed",
        priority=parsed.priority,
        config=parsed.config,
        label=parsed.label or parsed.name,
    )
