"""Custom tools: `amodal/tools/<name>/` and the older `tools/<name>/` (contract 1.1, 2.1-2.5).

A tool is defined by `tool.json` with `handler.ts` or `handler.py` beside it, or in code by `tool.ts` or `tool.py`
alone. What cannot be read of the latter is left out with a warning; `checks` makes that an error where another tool
needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

from runtime_core.repo.bundle import Tool
from runtime_core.repo.codetool import CodeTool
from runtime_core.repo.definitions import LANGUAGES, NOT_READ, TOOLS, Described, files_of
from runtime_core.repo.files import DEFINITION_LIMIT, JsonFile, Key, items_of, read_json, read_text, validate
from runtime_core.repo.items import folders_of, misnamed, note_extra
from runtime_core.repo.params import check_schema
from runtime_core.repo.regex import BrokenPattern, UnsupportedPattern, are_flags, compile_javascript
from runtime_core.repo.report import INVALID, NOT_FOUND, Report, report_unread
from runtime_core.repo.toolfile import NO_EFFECT, ToolFile

SHORTEST_TIMEOUT_MS: Final = 50

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CODE_ID = re.compile(r"""(?:^|[\s{,(])["']?id["']?\s*[:=]\s*["']([A-Za-z0-9_-]+)["']""")
_DEPENDENCIES: Final = ("dependencies", "optionalDependencies")
_ELSEWHERE: Final = re.compile(r"git[+:@]|git(hub|lab)?:|file:|link:|https?:|\.{0,2}/|~/|\.{1,2}\Z")
_VERSION_CONTROL: Final = re.compile(r"^[^#]*\b(git|hg|svn|bzr)\+")
_OTHER_FILE: Final = re.compile(r"(-r|-c|-e|--requirement|--constraint|--editable)\b")
_WRITE_TOOL: Final = {
    ".ts": "Write: export default { id, exposure, base, async handle(ctx) { … } }.",
    ".py": 'Write: async def handle(ctx), and tool = {"id": …, "exposure": …, "base": …, "handle": handle}.',
}


@dataclass(slots=True)
class ToolScan:
    """What the tool folders hold. ``files`` are the definitions by tool name, those of broken tools included;
    ``left_out`` says why a name is missing, with an empty reason where its own problem is already an error; those in
    ``passing`` may be there the next time, until then with a code and a reason. ``places`` are the folders that names
    belong to, ``packages`` the files that name packages to be installed."""

    tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    files: dict[str, JsonFile] = field(default_factory=dict[str, JsonFile])
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    places: dict[str, str] = field(default_factory=dict[str, str])
    passing: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    packages: list[str] = field(default_factory=list[str])


def load_tools(root: Path, report: Report, described: Described) -> ToolScan:
    scan = ToolScan()
    for name, folder in folders_of(root, "tools", report).items():
        _load_folder(root, name, folder, described, scan, report)
        note_extra(root, folder, report)
        scan.packages += _packages(root, folder, report)
    beside = {file.rpartition("/")[0]: file for file in scan.packages}
    scan.tools = {
        name: replace(tool, dependencies=beside.get(tool.entry.rpartition("/")[0])) for name, tool in scan.tools.items()
    }
    return scan


def _packages(root: Path, folder: str, report: Report) -> list[str]:
    """The file that names what the code of this folder may import beside the repository's own, if it names any."""
    parts = [*files_of(root, folder, "handler"), *files_of(root, folder, "tool")]
    suffixes = {Path(part).suffix for part in parts}
    for file, suffix in (("package.json", ".ts"), ("requirements.txt", ".py")):
        if suffixes and suffix not in suffixes and (root / folder / file).is_file():
            report.ignore(f"{folder}/{file}", "the tool is written in the other language")
    if ".ts" in suffixes and (root / folder / "package.json").is_file():
        package = read_json(root, f"{folder}/package.json", report)
        if package is not None and any(package.value.get(key) for key in _DEPENDENCIES):
            _check_sources(package, report)
            return [package.name]
    if ".py" in suffixes and (root / folder / "requirements.txt").is_file():
        lines = (read_text(root, f"{folder}/requirements.txt", report) or "").splitlines()
        if any(line.strip() and not line.strip().startswith("#") for line in lines):
            _check_lines(f"{folder}/requirements.txt", lines, report)
            return [f"{folder}/requirements.txt"]
    return []


def _check_sources(package: JsonFile, report: Report) -> None:
    for key in _DEPENDENCIES:
        wanted = package.value.get(key)
        for name, source in cast("dict[str, object]", wanted).items() if isinstance(wanted, dict) else ():
            if isinstance(source, str) and _ELSEWHERE.match(source):
                message = f'{key}: "{name}" comes from {source}, not from a registry, and will not be installed.'
                report.warning(INVALID, package.name, message, "Give a version that the registry has.")


def _check_lines(file: str, lines: list[str], report: Report) -> None:
    for number, line in enumerate(map(str.strip, lines), 1):
        if _VERSION_CONTROL.search(line):
            message = f"{line} is fetched from a repository of code, whatever is there by then."
            report.error(INVALID, file, message, "Give a version that the registry has.", line=number)
        elif _ELSEWHERE.match(line) or _OTHER_FILE.match(line):
            message = f"{line} names another file, and only this one is there when packages are installed."
            report.warning(INVALID, file, message, "Name the packages themselves, with versions.", line=number)


def _load_folder(root: Path, name: str, folder: str, described: Described, scan: ToolScan, report: Report) -> None:
    codes = files_of(root, folder, "tool")
    parts = [*files_of(root, folder, "handler"), *codes]
    definition = f"{folder}/tool.json"
    has_definition = (root / folder / "tool.json").exists()
    if len({Path(part).suffix for part in parts}) > 1:
        scan.left_out[name] = ""
        report.error(
            INVALID,
            folder,
            f"The tool is written in two languages: {' and '.join(parts)}.",
            "Keep the files of one language and remove the others.",
        )
    elif codes:
        _load_code_layout(root, folder, codes[0], described, scan, report, has_definition)
    elif has_definition:
        _load_json_layout(root, name, definition, parts, scan, report)
    elif parts:
        scan.left_out[name] = f"it has no definition: {definition} is missing"
        report.warning(
            NOT_FOUND,
            definition,
            f"{parts[0]} is there without a tool.json, so this is not loaded as a tool.",
            misnamed(root, definition)
            or "Write a tool.json with a description and parameters, or start the folder's name with _.",
        )
    elif folder.startswith(TOOLS[0]):
        scan.left_out[name] = f"{folder} holds neither tool.json nor a handler"
        report.warning(
            NOT_FOUND,
            definition,
            "The folder holds no tool.",
            misnamed(root, definition)
            or "Write tool.json and handler.ts or handler.py, or start the folder's name with _.",
        )


def _load_code_layout(
    root: Path, folder: str, part: str, described: Described, scan: ToolScan, report: Report, has_definition: bool
) -> None:
    entry = f"{folder}/{part}"
    if has_definition:
        report.warning(
            INVALID,
            entry,
            f"{part} takes precedence over the tool.json beside it, and a tool that is defined in code cannot call "
            "other tools and cannot be durable.",
            f"Remove {part} or tool.json.",
        )
    description = described.get(entry, NOT_READ)
    if description.unread is not None:
        report_unread(entry, description.unread, description.passing, report)
        names = _likely_names(root, entry)
        _leave_out(names, f"{entry} cannot be read", scan)
        if description.passing:
            scan.passing |= dict.fromkeys(names, (description.code, description.unread))
        return
    value = cast("dict[str, Any]", description.value)
    if not isinstance(description.value, dict):
        report.error(INVALID, entry, "The file defines no tool.", _WRITE_TOOL[Path(part).suffix])
        _leave_out(_likely_names(root, entry), "", scan)
    elif value.get("enabled") is False:
        known = value.get("id")
        names = {known} if isinstance(known, str) else _likely_names(root, entry)
        _leave_out(names, f"{entry} says that it is not enabled", scan)
    else:
        _take_code_tool(root, folder, JsonFile(entry, None, value), description.unusable, scan, report)


def _take_code_tool(
    root: Path, folder: str, file: JsonFile, unusable: str | None, scan: ToolScan, report: Report
) -> None:
    before = len(report.problems)
    parsed = validate(CodeTool, file, report)
    if unusable is not None:
        message = f"The tool has no function to call: {unusable}."
        report.error(INVALID, file.name, message, _WRITE_TOOL[Path(file.name).suffix], key="handle")
    if parsed is None:
        _leave_out(_likely_names(root, file.name), "", scan)
        return
    if not _NAME.match(parsed.id):
        report.error(
            INVALID,
            file.name,
            f'"{parsed.id}" cannot be the name of a tool.',
            "Begin the id with a lower-case letter, then lower-case letters, digits and underscores.",
            key="id",
        )
    parameters = parsed.base.parameters_json_schema or {}
    _check_parameters(file, parameters, ("base", "parametersJsonSchema"), report)
    if not _claim(parsed.id, folder, scan, report):
        return
    if any(problem.severity == "error" for problem in report.problems[before:]):
        scan.left_out[parsed.id] = ""
        return
    for key, message, remedy in parsed.oddities(file.value):
        report.warning(INVALID, file.name, message, remedy, key=key)
    _check_timeout(file, parsed.timeout, report)
    scan.tools[parsed.id] = Tool(
        name=parsed.id,
        description=parsed.base.description or parsed.id,
        parameters=parameters,
        entry=file.name,
        language=LANGUAGES[Path(file.name).suffix],
        layout="code",
        effect=parsed.effect,
        timeout_s=float(parsed.timeout) / 1000,
        running_label=parsed.running_label,
        completed_label=parsed.completed_label,
        title=parsed.title,
        exposure=parsed.exposure.kind,
        prompt=parsed.exposure.prompt,
        llm_callable=parsed.llm_callable,
    )


def _likely_names(root: Path, entry: str) -> set[str]:
    """What a tool that is not known any closer may be called by others."""
    folder = entry.split("/")[-2]
    try:
        found = _CODE_ID.search((root / entry).read_text("utf-8", "replace")[:DEFINITION_LIMIT])
    except OSError:
        found = None
    return {folder, folder.replace("-", "_"), *([found[1]] if found else [])}


def _leave_out(names: Iterable[str], reason: str, scan: ToolScan) -> None:
    for name in names:
        scan.left_out.setdefault(name, reason)


def _claim(name: str, folder: str, scan: ToolScan, report: Report) -> bool:
    """Whether a name is still free."""
    first = scan.places.setdefault(name, folder)
    if first == folder:
        return True
    if first.rpartition("/")[0] != folder.rpartition("/")[0]:
        report.warning(INVALID, folder, f'The tool "{name}" is there twice; {first} is used.', f"Remove {folder}.")
    else:
        report.error(
            INVALID, folder, f'The tool "{name}" is there twice: {first} has it as well.', "Give one another name."
        )
    return False


def _load_json_layout(
    root: Path, name: str, definition: str, handlers: list[str], scan: ToolScan, report: Report
) -> None:
    before = len(report.problems)
    folder = definition.removesuffix("/tool.json")
    if not _claim(name, folder, scan, report):
        return
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
        _check_timeout(file, parsed.timeout, report)
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
    _check_parameters(file, file.value.get("parameters"), ("parameters",), report)
    for number, trigger in enumerate(items_of(file.value.get("triggers"))):
        if isinstance(trigger, dict):
            _check_trigger(file, number, cast("dict[str, Any]", trigger), report)
    _check_env(file, report)
    for ignored in NO_EFFECT:
        if ignored in file.value:
            report.warning(
                INVALID,
                file.name,
                f"{ignored} has no effect in tool.json and protects nothing.",
                "Remove it; to keep the tool from models, list it in no agent's tools.",
                **file.place((ignored,)),
            )


def _check_env(file: JsonFile, report: Report) -> None:
    names = items_of(file.value.get("env"))
    for number, name in enumerate(names):
        if isinstance(name, str) and not _VARIABLE.match(name):
            message = f'"{name}" cannot be the name of an environment variable, so nothing is looked up.'
            place = file.place(("env", number))
            report.warning(INVALID, file.name, message, "Give the name alone, such as API_HOST.", **place)
    if names and file.value.get("execution") == "durable":
        message = "env has no effect here: a durable handler is given no environment variables."
        remedy = "Read them in a child tool that is not durable, or take env out."
        report.warning(INVALID, file.name, message, remedy, **file.place(("env",)))


def _check_parameters(file: JsonFile, parameters: object, key: Key, report: Report) -> None:
    for problem in check_schema(cast("dict[str, Any]", parameters)) if isinstance(parameters, dict) else ():
        add = report.warning if problem.tolerable else report.error
        add(
            INVALID,
            file.name,
            f"The parameter schema is not usable: {problem.message}.",
            "Correct the JSON Schema at this place; references may only point inside it, such as #/$defs/item.",
            **file.place((*key, *problem.key)),
        )


def _check_timeout(file: JsonFile, timeout_ms: float, report: Report) -> None:
    if timeout_ms < SHORTEST_TIMEOUT_MS:
        report.warning(
            INVALID,
            file.name,
            f"A handler can hardly finish in {timeout_ms:g} milliseconds.",
            "timeout counts milliseconds: write 30000 for half a minute.",
            **file.place(("timeout",)),
        )


def _check_trigger(file: JsonFile, number: int, trigger: Mapping[str, Any], report: Report) -> None:
    kind, place = trigger.get("kind"), file.place(("triggers", number, "kind"))
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
    elif kind == "regex":
        for key, problem in _pattern_problems(trigger):
            message = f"This regex trigger never fires: {problem}."
            remedy = "Write a JavaScript regular expression without slashes, and flags such as i."
            report.warning(INVALID, file.name, message, remedy, **file.place(("triggers", number, key)))


def _pattern_problems(trigger: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    pattern, flags = (given if isinstance(given := trigger.get(key), str) else "" for key in ("pattern", "flags"))
    if not are_flags(flags):
        yield "flags", f'"{flags}" is no set of flags'
        return
    try:
        compile_javascript(pattern, flags)
    except BrokenPattern as error:
        yield "pattern", str(error)
    except UnsupportedPattern as error:
        yield "pattern", f"it is written in a way that only JavaScript understands ({error})"


def _tool(name: str, entry: str, file: JsonFile, parsed: ToolFile) -> Tool:
    uses = parsed.uses
    return Tool(
        name=name,
        description=parsed.description,
        parameters=parsed.parameters,
        entry=entry,
        language=LANGUAGES[Path(entry).suffix],
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
