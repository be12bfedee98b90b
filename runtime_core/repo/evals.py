"""Reading evals: Markdown with fixed sections (contract 11.1), and our own sections for what a headless run needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast, get_args

from runtime_core.repo.assertions import AssertionProblem, oddity, parse_assertion
from runtime_core.repo.bundle import Assertion, Eval, ScriptedAnswer, Situation
from runtime_core.repo.files import read_text
from runtime_core.repo.items import files_of_kind
from runtime_core.repo.report import INVALID, PartReport, Report, did_you_mean
from runtime_core.wire.json import JsonError, loads

SITUATIONS: Final[tuple[Situation, ...]] = get_args(Situation)
ANSWER_KEYS: Final = frozenset({"value", "edits", "note"})
EXPIRE: Final = "expire"
"""The answer that nobody gives."""
_WORDS: Final = {"approve": "yes", "deny": "no"}
_CONSEQUENCE: Final = "It is not run, and has not passed."
_SECTIONS: Final = (
    "Setup",
    "Query",
    "Assertions",
    "Agent",
    "Tool",
    "Situations",
    "Answers",
    "Attachments",
    "Script",
)
_QUOTES: Final = (('"', '"'), ("“", "”"))
_ITEM: Final = re.compile(r"\s{0,3}[-*]\s+(.*)")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_COLON: Final = re.compile(r":(?:\s+|$)")


@dataclass(slots=True)
class _Section:
    """The lines below a heading, each with its number."""

    line: int
    lines: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.lines).strip()

    def items(self, report: Report, file: str) -> Iterator[tuple[int, str]]:
        """The items of a list with the lines that go on with them; other lines are reported."""
        begun: tuple[int, str] | None = None
        for number, text in self.lines:
            if (found := _ITEM.fullmatch(text)) is not None:
                if begun is not None:
                    yield begun
                begun = (number, found[1].strip())
            elif not text.strip():
                continue
            elif begun is not None and text[:1].isspace():
                begun = (begun[0], f"{begun[1]} {text.strip()}")
            else:
                report.warning(
                    INVALID, file, "This line is no item and has no effect.", "Begin it with -.", line=number
                )
        if begun is not None:
            yield begun


def load_evals(root: Path, report: Report) -> Mapping[str, Eval]:
    """The evals by name, without those that are wrong: warnings name their file and line. Raises `OSError`."""
    found: dict[str, Eval] = {}
    for name, file in eval_files(root, report).items():
        part = PartReport(report, _CONSEQUENCE)
        text = read_text(root, file, part)
        read = _Reader(root, name, file, text, part).read() if text is not None else None
        if read is not None and not part.failed:
            found[name] = read
    return found


def eval_files(root: Path, report: Report) -> Mapping[str, str]:
    return files_of_kind(root, "evals", (".md",), report)


class _Reader:
    """Reads one file; what is wrong goes to ``report``."""

    def __init__(self, root: Path, name: str, file: str, text: str, report: PartReport) -> None:
        self._root = root
        self._name = name
        self._file = file
        self._report = report
        self._title, self._description, self._sections = self._split(text)

    def read(self) -> Eval:
        setup = self._setup()
        query, tool = self._text("Query"), self._text("Tool")
        if bool(query) == bool(tool):
            message = "The eval has both a query and a tool." if query else "The eval has no query."
            self._wrong(message, 'Write what the agent is asked below "## Query", or a tool below "## Tool".')
        name, given = self._tool()
        situations = tuple(self._situations())
        assertions = tuple(self._assertions())
        if not assertions and not situations:
            remedy = 'Add "## Assertions" with lines such as "- contains: refund".'
            self._wrong("The eval expects nothing, so it would always pass.", remedy)
        return Eval(
            name=self._name,
            title=self._title or self._name,
            file=self._file,
            description=self._description,
            app=setup.get("app", ""),
            context=setup.get("context", ""),
            query=_unquoted(query),
            agent=self._text("Agent") or "default",
            tool=name,
            input=given,
            situations=situations,
            answers=tuple(self._answers()),
            attachments=tuple(self._files("Attachments")),
            script=next(self._files("Script"), ""),
            assertions=assertions,
        )

    def _split(self, text: str) -> tuple[str, str, Mapping[str, _Section]]:
        title, sections, fenced = "", dict[str, _Section](), False
        current = before = _Section(0)
        for number, line in enumerate(text.splitlines(), 1):
            fenced ^= _FENCE.match(line) is not None
            if not fenced and line.startswith("# ") and not title:
                title = line[2:].strip().removeprefix("Eval:").strip()
            elif not fenced and line.startswith("## "):
                current = self._section(line[3:].strip(), number, sections)
            else:
                current.lines.append((number, line))
        return title, " ".join(before.text.split()), sections

    def _section(self, heading: str, number: int, sections: dict[str, _Section]) -> _Section:
        name = next((known for known in _SECTIONS if known.casefold() == heading.casefold()), None)
        if name is None:
            if meant := did_you_mean(heading, _SECTIONS):
                text = f'The section "{heading}" has no effect.{meant}'
                self._report.warning(INVALID, self._file, text, "Correct its heading.", line=number)
            return _Section(number)
        if name in sections:
            text = f'The section "{name}" is there twice; both count.'
            self._report.warning(INVALID, self._file, text, "Write one.", line=number)
        return sections.setdefault(name, _Section(number))

    def _wrong(self, message: str, remedy: str, line: int | None = None) -> None:
        self._report.error(INVALID, self._file, message, remedy, line=line)

    def _text(self, name: str) -> str:
        return self._sections[name].text if name in self._sections else ""

    def _items(self, name: str) -> Iterator[tuple[int, str]]:
        return self._sections[name].items(self._report, self._file) if name in self._sections else iter(())

    def _setup(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        key = ""
        for _, text in self._sections["Setup"].lines if "Setup" in self._sections else ():
            name, colon, rest = text.partition(":")
            if colon and name.strip().casefold() in ("app", "context"):
                key = name.strip().casefold()
                found[key] = rest.strip()
            elif key and text.strip():
                found[key] = f"{found[key]} {text.strip()}"
        return found

    def _tool(self) -> tuple[str, Mapping[str, Any]]:
        """The name of a tool, and behind it or below its input as a JSON object."""
        name, _, given = self._text("Tool").partition("{")
        words = name.strip().strip("`").split()
        try:
            value = loads("{" + given) if given else {}
        except JsonError as error:
            self._wrong(f"The input of the tool is not JSON: {error}.", "Correct it.", self._sections["Tool"].line)
            return "", {}
        if name.strip() and len(words) != 1:
            self._wrong("The tool is not named.", "Write its name, and its input as a JSON object behind it.")
        return (words[0] if words else ""), cast("dict[str, Any]", value)

    def _situations(self) -> Iterator[Situation]:
        for number, text in self._items("Situations"):
            known: list[Situation] = [one for one in SITUATIONS if one == text.casefold().rstrip(".")]
            if not known:
                remedy = f"Write one of: {', '.join(SITUATIONS)}."
                self._wrong(f'There is no situation "{text}".{did_you_mean(text, SITUATIONS)}', remedy, number)
            yield from known
        if "Situations" in self._sections and not self._text("Tool"):
            self._wrong("Situations are for a tool.", 'Name it below "## Tool".', self._sections["Situations"].line)

    def _assertions(self) -> Iterator[Assertion]:
        for number, text in self._items("Assertions"):
            try:
                assertion = parse_assertion(text)
            except AssertionProblem as problem:
                self._wrong(problem.message, problem.remedy, number)
                continue
            if (odd := oddity(assertion)) is not None:
                self._report.warning(INVALID, self._file, *odd, line=number)
            yield assertion

    def _answers(self) -> Iterator[ScriptedAnswer]:
        for number, text in self._items("Answers"):
            asked, value = _question_and_value(text)
            if value is None:
                remedy = "Write a part of the question (or *), a colon and the answer, for example: - Refund: yes"
                self._wrong("This line is no answer.", remedy, number)
            elif isinstance(body := _body(value), str):
                self._wrong(body, "Correct it.", number)
            else:
                yield ScriptedAnswer("" if asked == "*" else asked, body)

    def _files(self, name: str) -> Iterator[str]:
        """Paths, an item or a line each, relative to the root and inside it."""
        for number, line in self._sections[name].lines if name in self._sections else ():
            found = _ITEM.fullmatch(line)
            path = (found[1] if found is not None else line).strip().strip("`")
            if not path:
                continue
            whole = (self._root / path).resolve()
            if not whole.is_relative_to(self._root.resolve()):
                self._wrong(f"{path} lies outside the repository.", "Move the file into it.", number)
            elif not whole.is_file():
                remedy = "Write its path from the root of the repository."
                self._wrong(f"There is no file {path}.", remedy, number)
            else:
                yield path


def _unquoted(text: str) -> str:
    for start, end in _QUOTES:
        if len(text) > 1 and text.startswith(start) and text.endswith(end):
            return text[1:-1].strip()
    return text


def _question_and_value(text: str) -> tuple[str, str | None]:
    """A question in double quotes may hold colons."""
    if text.startswith('"') and (end := text.find('":', 1)) > 0:
        return text[1:end], text[end + 2 :].strip() or None
    found = _COLON.search(text)
    if found is None:
        return text, None
    return text[: found.start()].strip(), text[found.end() :].strip() or None


def _body(value: str) -> Mapping[str, Any] | str | None:
    """The body of an answer: words as they are, JSON, or a whole body with ``value``; a text says what is wrong."""
    if value.casefold() == EXPIRE:
        return None
    try:
        read = loads(value)
    except JsonError as error:
        if value[:1] in ("{", "[", '"'):
            return f"The answer is not JSON: {error}."
        return {"value": _WORDS.get(value.casefold(), value)}
    if isinstance(read, dict) and "value" in read:
        body = cast("dict[str, Any]", read)
        if unknown := sorted(body.keys() - ANSWER_KEYS):
            return f'The answer has "{unknown[0]}", and can have {", ".join(sorted(ANSWER_KEYS))}.'
        return body
    return {"value": read}
