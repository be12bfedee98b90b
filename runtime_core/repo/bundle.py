"""An agent repository as the runtime uses it, after every check has passed (contract 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from runtime_core.repo.policy import Policy

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


def no_agent(bundle: Bundle, name: str) -> str:
    """What to say where an agent is named that the repository does not have."""
    known = ", ".join(sorted(bundle.agents))
    others = f"Its agents are: {known}." if known else f"It has none: write its prompt in agents/{name}/AGENT.md."
    return f'{bundle.root} has no agent "{name}". {others}'


class BundleError(Exception):
    """A repository that cannot be used; ``problems`` holds all its errors and warnings, ``ignored`` what is no item."""

    def __init__(self, root: Path, problems: Sequence[Problem], ignored: Sequence[Ignored] = ()) -> None:
        self.root = root
        self.problems = problems
        self.ignored = ignored
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
    dependencies: str | None = None
    """The ``package.json`` or ``requirements.txt`` beside it, relative to the root."""

    @property
    def may_write(self) -> bool:
        """Whether ``ctx.request`` may send what changes something (contract 2.3 and 2.6)."""
        return self.confirm is not False or self.exposure != "open"

    @property
    def invocable(self) -> bool:
        return any(trigger.get("kind") == "invoke" for trigger in self.triggers)


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
    """One agent; ``name`` is the directory name and the lookup key. ``timeout_s`` in seconds, ``target_output`` the
    fewest and most words of an answer; None: as `agents.loop` says.

    ``entry`` is the file that defines it in code, if there is one; all ``conditions`` of a name have to hold.
    """

    name: str
    prompt: str
    display_name: str
    description: str
    tools: tuple[str, ...] | None = None
    subagents: tuple[str, ...] = ()
    timeout_s: float | None = None
    max_tool_calls: int | None = None
    target_output: tuple[int | None, int | None] = (None, None)
    entry: str | None = None
    conditions: tuple[Condition, ...] = ()
    stores: Mapping[str, Literal["read", "rw"]] = field(default_factory=dict[str, Literal["read", "rw"]])
    connections: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    max_depth: int | None = None
    """How many levels of subagents its own may be deep, at most."""
    model_tier: Literal["default", "simple", "advanced"] = "default"

    def without(self, entries: Set[tuple[str, str]]) -> Agent:
        """The agent without some entries, given as list and name, and without the tools of stores, connections and
        MCP servers among them."""
        gone = tuple(f"store__{name}__" if key == "stores" else f"{name}__" for key, name in entries if key != "tools")

        def kept(key: str, names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in names if (key, name) not in entries)

        listed = None if self.tools is None else kept("tools", self.tools)
        return replace(
            self,
            tools=None if listed is None else tuple(name for name in listed if not name.startswith(gone)),
            subagents=kept("subagents", self.subagents),
            connections=kept("connections", self.connections),
            skills=kept("skills", self.skills),
            mcp=kept("mcp", self.mcp),
            stores={name: mode for name, mode in self.stores.items() if ("stores", name) not in entries},
        )


@dataclass(frozen=True, slots=True)
class Store:
    """A document store (contract 1.4). ``key`` is a template such as ``{parcel_id}``, ``schema`` the field definitions
    as they stand in ``file``. ``shared``: one partition for all scopes."""

    name: str
    file: str
    key: str
    schema: Mapping[str, Any]
    indexed: tuple[str, ...] = ()
    deletable: bool = False
    shared: bool = False
    ttl_s: float | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A knowledge document; ``name`` is the file name without its extension, ``title`` its first heading."""

    name: str
    title: str
    file: str


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    description: str
    trigger: str | None
    file: str


@dataclass(frozen=True, slots=True)
class Connection:
    """How another system is reached (contract 1.6). ``protocol``: ``rest``, ``mcp`` or the name of a driver.

    ``spec`` is spec.json as it stands: values such as ``env:NAME`` are looked up when they are used. ``texts`` are the
    files for models by what they are (``surface``, ``entities``, ``rules``). ``unavailable`` says why it
    cannot be used.
    """

    name: str
    folder: str
    protocol: str
    spec: Mapping[str, Any]
    policy: Policy = field(default_factory=Policy)
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    unavailable: str | None = None


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server as its entry states it: values such as ``env:NAME`` are looked up when it is started.

    ``problem`` says why it cannot be used. ``is_trusted``: what the server says about the effects of its tools is
    believed (``trust`` in the entry).
    """

    name: str
    where: str
    transport: Literal["stdio", "http", "sse"] = "stdio"
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    call_s: float = 60.0
    is_trusted: bool = False
    problem: str | None = None


HookPoint = Literal["preInput", "preToolUse", "postToolUse", "preOutput", "postTurn"]


@dataclass(frozen=True, slots=True)
class Hook:
    """Code that is asked around what a model does (contract 9.2); those of a lower ``priority`` first."""

    name: str
    entry: str
    language: Language
    points: frozenset[HookPoint]
    capabilities: frozenset[str] = frozenset()
    is_closed: bool = False
    """Whether a failure of the hook blocks."""
    priority: float = 0
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Automation:
    """A schedule or trigger as its file states it; `automations.definition` reads it."""

    name: str
    file: str
    settings: Mapping[str, Any]


AssertionKind = Literal[
    "judged", "contains", "regex", "starts_with", "length_between", "max_latency", "max_turns", "tool_called"
]


@dataclass(frozen=True, slots=True)
class Assertion:
    """What an eval expects (contract 11.2). ``text`` is its line; ``judged`` by a model, which gets that line.

    ``value``: the text or the name of the tool; of ``regex`` pattern and flags; of ``length_between`` the two numbers;
    of ``max_latency`` seconds; of ``max_turns`` a number.
    """

    text: str
    kind: AssertionKind
    value: Any = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """How an eval answers a question. ``asked``: a part of its words, or the name of the tool that asks; "" is any.

    ``body`` is that of an answer (decision 3), None where nobody answers and the deadline passes.
    """

    asked: str
    body: Mapping[str, Any] | None


Situation = Literal["denied approval", "missing data", "child failure", "replay after a pause"]
"""What a durable tool is put through before it goes live."""


@dataclass(frozen=True, slots=True)
class Eval:
    """An eval (contract 11.1). ``name`` is the file name without its extension.

    It asks an agent ``query``, or starts ``tool`` with ``input`` and puts it through ``situations``. ``script`` is the
    file of a scripted model and ``attachments`` are files of the query, relative to the repository's root.
    """

    name: str
    title: str
    file: str
    description: str = ""
    app: str = ""
    context: str = ""
    query: str = ""
    agent: str = "default"
    tool: str = ""
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    situations: tuple[Situation, ...] = ()
    answers: tuple[ScriptedAnswer, ...] = ()
    attachments: tuple[str, ...] = ()
    script: str = ""
    assertions: tuple[Assertion, ...] = ()


@dataclass(frozen=True, slots=True)
class Ignored:
    """A file or folder that is no item, and why."""

    path: str
    reason: str


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
    waiting: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """What tools may be called that could not be read for such a reason: the code and the reason."""
    stores: Mapping[str, Store] = field(default_factory=dict[str, Store])
    knowledge: Mapping[str, Document] = field(default_factory=dict[str, Document])
    skills: Mapping[str, Skill] = field(default_factory=dict[str, Skill])
    connections: Mapping[str, Connection] = field(default_factory=dict[str, Connection])
    servers: Mapping[str, McpServer] = field(default_factory=dict[str, McpServer])
    """MCP servers by name, those that cannot be used included; connections go before the manifest."""
    hooks: tuple[Hook, ...] = ()
    automations: Mapping[str, Automation] = field(default_factory=dict[str, Automation])
    evals: Mapping[str, Eval] = field(default_factory=dict[str, Eval])
    unset: frozenset[str] = frozenset()
    """The NAMEs of ``env:NAME`` that had no value: with one, loading it again gives more."""
    packages: tuple[str, ...] = ()
    """The files beside tools that name packages to be installed, also beside tools that could not be read without."""
    ignored: tuple[Ignored, ...] = ()
