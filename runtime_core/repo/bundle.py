"""An agent repository as the runtime uses it, after every check has passed (contract 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Effect = Literal["read", "idempotent", "once"]
Language = Literal["typescript", "python"]
Exposure = Literal["open", "requires-confirmation", "operator-gated"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a repository: ``file`` relative to its root, ``key`` inside the file, and what to do about it.

    ``code`` is one of the loader codes of contract 1.2 and 2.4; ``severity`` ``error`` stops the bundle.
    """

    severity: Literal["error", "warning"]
    code: str
    file: str
    message: str
    remedy: str
    key: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        at = "".join(f":{number}" for number in (self.line, self.column) if number is not None)
        key = f" [{self.key}]" if self.key else ""
        where = "" if self.file == "." else f"{self.file}{at}{key}: "
        return f"{where}{self.message} {self.remedy}".rstrip()

    def to_wire(self) -> dict[str, Any]:
        return {
            "severity": self.severity,
            "code": self.code,
            "file": self.file,
            "key": self.key,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "remedy": self.remedy,
        }


class BundleError(Exception):
    """A repository that cannot be used; ``problems`` holds all of its errors and warnings."""

    def __init__(self, root: Path, problems: Sequence[Problem]) -> None:
        self.root = root
        self.problems = problems
        errors = [problem for problem in problems if problem.severity == "error"]
        super().__init__("\n".join(str(problem) for problem in errors))


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. ``entry`` is relative to the root, ``timeout_s`` in seconds.

    ``layout``: where its definition stands, in ``tool.json`` or in the code of ``entry`` (contract 2.1).
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    entry: str
    language: Language
    layout: Literal["json", "code"] = "json"
    durable: bool = False
    tools: tuple[str, ...] = ()
    subagents: tuple[str, ...] = ()
    has_uses: bool = False
    triggers: tuple[Mapping[str, Any], ...] = ()
    confirm: bool | Literal["review"] = False
    effect: Effect = "once"
    timeout_s: float = 30.0
    env: tuple[str, ...] = ()
    running_label: str | None = None
    completed_label: str | None = None
    title: str | None = None
    exposure: Exposure = "open"
    prompt: str | None = None
    """What a person is asked before it runs, where its exposure says so."""
    llm_callable: bool = True

    @property
    def invocable(self) -> bool:
        return any(trigger.get("kind") == "invoke" for trigger in self.triggers)

    @property
    def for_models(self) -> bool:
        """Whether a model may call it. None can ask a person first in this version (decision 20)."""
        return self.llm_callable and self.exposure == "open"


@dataclass(frozen=True, slots=True)
class Condition:
    """A predicate of a definition in code: the entry ``name`` of the list ``key`` is there only where it holds.

    ``path`` says where in the definition the function stands.
    """

    key: str
    name: str
    path: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent; ``name`` is the directory name and the lookup key. ``timeout_s`` in seconds.

    ``entry`` is the file that defines it in code, if there is one; all ``conditions`` of a name have to hold.
    """

    name: str
    prompt: str
    display_name: str
    description: str
    tools: tuple[str, ...] | None = None
    subagents: tuple[str, ...] = ()
    timeout_s: float = 60.0
    max_tool_calls: int = 10
    entry: str | None = None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """A loaded repository. ``revision`` is the digest over all code and definition files.

    ``code``: the folder in which the files of that revision are kept, if they are. ``passing``: a definition in code
    could not be read for a reason that may pass, so loading it again may give more.
    """

    root: Path
    name: str
    version: str
    revision: str
    tools: Mapping[str, Tool]
    agents: Mapping[str, Agent]
    manifest: Mapping[str, Any]
    problems: Sequence[Problem] = field(default_factory=tuple)
    code: Path | None = None
    passing: bool = False
