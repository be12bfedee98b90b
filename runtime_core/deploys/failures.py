"""Why a build failed, read from its log (tools.txt: TypeScript, dependency, manifest and validation failures)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from runtime_core.repo.bundle import Problem
from runtime_core.repo.report import NOT_FOUND, PARSE_FAILED
from runtime_core.wire.builds import Failure, FailureKind, Level, Line

SHOWN: Final = 20
"""Causes that are told."""
_LOOKED_AT: Final = 2_000
"""Lines of a log, the last ones; what made a build fail stands near its end."""
_LONGEST: Final = 300
"""Characters of a line that are looked at and told."""
_LINES: Final = 8
"""Lines that are told of one cause."""

ADVICE: Final[dict[FailureKind, str]] = {
    "typescript": "Correct the TypeScript there, then push and deploy again.",
    "python": "Correct the Python there, then push and deploy again.",
    "dependency": "Check the package's name and version in the package.json or requirements.txt beside the tool, and "
    "that it is listed there at all.",
    "manifest": "Correct the JSON there: amodal.json, tool.json or agent.json.",
    "validation": "The definition is readable and not valid: change what the line names. See all of it with: "
    "operator-inbox check PATH",
    "network": "The build could not reach another system. Deploy again; if it happens again, that system is down or "
    "closed to the platform.",
    "authorization": "Something refused the credentials of the build: check the access to the repository, to private "
    "packages, and the key.",
    "not-found": "Check the branch, the id of the agent and the names in the line: it is not there.",
    "rate-limit": "Another system was asked too often. Wait some minutes and deploy again.",
    "unknown": "Read the last lines of the log.",
}

_NAME: Final = r"[\w@./-]"
_FILE: Final = rf"(?<!{_NAME})(?P<file>{_NAME}+\.(?:tsx?|mts|cts|jsx?|mjs|cjs|json|py|txt|toml|md))"
"""Looked for only where a name begins: what is no name of a file would be read again from each of its letters."""
_PLACES: Final = (
    re.compile(r"File \"(?P<file>[^\"]+)\", line (?P<line>\d+)"),
    re.compile(_FILE + r"\((?P<line>\d+)(?:,\d+)?\)"),
    re.compile(_FILE + r":(?P<line>\d+)(?::\d+)?"),
    re.compile(_FILE + r"(?P<line>)(?=\W|$)"),
)

_ONLY_PLACE: Final = re.compile(r"^[^\w@./-]*" + _FILE + r"[:(]\d+[\d:,)]*\W*$")
_ROOTS: Final = re.compile(
    r"(?:^|/)((?:agents|amodal|automations|connections|evals|hooks|knowledge|skills|stores|tools)/)"
)
_NEAR: Final = 4
"""Lines after a place in which the cause that it belongs to may be told."""

_PACKAGE: Final = r"['\"](?!\.{0,2}/)[^'\"]+['\"]"

_SIGNS: Final[dict[FailureKind, str]] = {
    "rate-limit": (r"\b429\b.*(too many|rate)|too many requests|rate.?limit(ed|s)? (exceeded|reached)|toomanyrequests"),
    "network": (
        r"\b(ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|EHOSTUNREACH)\b|getaddrinfo|network is "
        r"unreachable|could not resolve host|connection (refused|reset|timed out)|name or service not known"
    ),
    "authorization": (
        r"\b(401|403)\b.*(unauthori[sz]ed|forbidden)|\bunauthori[sz]ed\b|\bforbidden\b|\bE40[13]\b|authentication "
        r"failed|permission denied|bad credentials|access denied|could not read from remote repository"
    ),
    "dependency": (
        rf"\bTS(2307|7016)\b.*{_PACKAGE}|cannot find (module|package) {_PACKAGE}|could not resolve {_PACKAGE}|"
        r"\bERR_MODULE_NOT_FOUND\b|\bMODULE_NOT_FOUND\b|ModuleNotFoundError|No module named|"
        r"\b(ERESOLVE|ETARGET|EINTEGRITY|ENOVERSIONS|EBADENGINE)\b|\bERR_PNPM_|npm (ERR!|error) (404|code E404)|"
        r"no matching (distribution|version)|could not find a version|unable to resolve dependency|"
        r"peer dep|resolutionimpossible|lockfile .*(out of date|not up to date)|YN00\d\d:.*error|"
        r"not in this registry|(npm|pip|pnpm|yarn|bun|uv)( install)?.*\b(failed|exited with)"
    ),
    "not-found": (
        r"remote branch \S+ not found|couldn't find remote ref|pathspec .* did not match|repository not found|"
        r"(agent|branch|environment|deployment) .*\b(not found|does not exist|is unknown)|unknown (agent|branch|"
        r"environment)"
    ),
    "manifest": (
        r"\bCONFIG_(PARSE_FAILED|NOT_FOUND)\b|\bmanifest\b.*(invalid|error|missing|fail|not found|unreadable)|"
        r"(invalid|missing|unreadable|cannot read|could not read|failed to (read|parse)).*\bmanifest\b|"
        r"(amodal|tool|agent|package|connection|policy)\.json\b.*(invalid|missing|unexpected|parse|not found|"
        r"no such file|not valid json|malformed)|(unexpected (token|end)|expected) .*\bJSON\b|JSONDecodeError"
    ),
    "typescript": (
        r"\bTS\d{4,5}\b|\.(tsx?|mts|cts)\b.*\b(error|SyntaxError)|\b(error|SyntaxError)\b.*\.(tsx?|mts|cts)\b|"
        r"type error:|is not assignable to|cannot find name '|\[ERROR\] (expected|unexpected|no matching export)|"
        r"has no exported member|^\s*SyntaxError: (?!invalid syntax)"
    ),
    "python": (r"\b(SyntaxError|IndentationError|TabError|ImportError|NameError)\b|\.py\b.*\berror\b"),
    "validation": (
        r"\bCONFIG_VALIDATION_FAILED\b|validation (error|failed|failure)|failed validation|\bZodError\b|schema "
        r"(error|violation)|does not match (the )?schema|\binvalid (tool|agent|store|connection|hook|automation)\b|"
        r"\bmust (be|have|match|not)\b|is not a valid\b|is required\b|required (field|property|key)|duplicate "
        r"(tool|agent|store|id|name)|unknown (tool|store|connection|field|key|property)"
    ),
}
"""The first that fits a line counts."""


@cache
def _rules() -> Mapping[FailureKind, re.Pattern[str]]:
    return {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _SIGNS.items()}


_BAD: Final = re.compile(r"\b(error|fatal|failed|failure|exception|panic|cannot|could not|unable to)\b", re.IGNORECASE)
_HARMLESS: Final = re.compile(
    r"\b0 (errors|failed|failures)\b|no errors?\b|\b(warn|warning|deprecated|notice)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Hit:
    kind: FailureKind
    text: str
    file: str
    line: int | None


def failures_of(log: Sequence[Line]) -> Sequence[Failure]:
    """The causes that the log of a failed build tells, those told first first; never none."""
    found: list[Failure] = []
    log = list(log)[-_LOOKED_AT:]
    for hit in _hits(log):
        same = next((i for i, one in enumerate(found) if one.kind == hit.kind and _is_same(one, hit)), None)
        if same is None:
            found.append(Failure(hit.kind, (hit.text,), ADVICE[hit.kind], hit.file, hit.line))
        elif hit.text not in found[same].lines and len(found[same].lines) < _LINES:
            one = found[same]
            file, line = (one.file, one.line) if one.file else (hit.file, hit.line)
            found[same] = replace(one, lines=(*one.lines, hit.text), file=file, line=line)
    if found:
        return found[:SHOWN]
    told = [line.text[:_LONGEST] for line in log if line.text.strip()]
    bad = [text for text in told if _BAD.search(text) and not _HARMLESS.search(text)]
    return [Failure("unknown", tuple((bad or told)[-_LINES:]), ADVICE["unknown"])]


def is_cause(line: Line, causes: Set[str]) -> bool:
    """Whether a line is one of ``causes``, which are `Failure.lines`."""
    return line.text[:_LONGEST].strip() in causes


def failure_of(problem: Problem) -> Failure:
    """A problem of a repository as the cause of a failed build."""
    file = "" if problem.file == "." else problem.file
    kind = _kind(problem)
    advice = problem.remedy or ADVICE[kind]
    return Failure(kind, (f"{f'{file}: ' if file else ''}{problem.message}",), advice, file, problem.line)


def _kind(problem: Problem) -> FailureKind:
    if problem.file.endswith((".ts", ".tsx", ".py")):
        if _rules()["dependency"].search(problem.message) or "package" in problem.message:
            return "dependency"
        return "python" if problem.file.endswith(".py") else "typescript"
    if problem.file.endswith(("package.json", "requirements.txt")):
        return "dependency"
    return "manifest" if problem.code in (PARSE_FAILED, NOT_FOUND) else "validation"


def _hits(log: Iterable[Line]) -> Sequence[_Hit]:
    """The lines that tell a cause. A place on a line of its own belongs to the cause before it that has none, as of
    esbuild, or else to the one that follows, as of Python."""
    hits: list[_Hit] = []
    place, left = ("", None), 0
    for line in log:
        text = line.text[:_LONGEST].strip()
        if not text or line.level == "warning" or (line.level == "info" and _HARMLESS.search(text)):
            continue
        file, number = _place(text)
        kind = _kind_of(text, line.level)
        if kind is not None:
            found, at = (file, number) if file else place if left > 0 else ("", None)
            hits.append(_Hit(_by_file(kind, found), text, found, at))
            place, left = ("", None), 0
        elif number is not None:
            if hits and not hits[-1].file and _ONLY_PLACE.match(text):
                hits[-1] = replace(hits[-1], kind=_by_file(hits[-1].kind, file), file=file, line=number)
            else:
                place, left = (file, number), _NEAR
        left -= 1
    return hits


def _kind_of(text: str, level: Level) -> FailureKind | None:
    for kind, pattern in _rules().items():
        if pattern.search(text):
            return kind
    return "unknown" if level == "error" and _BAD.search(text) else None


def _by_file(kind: FailureKind, file: str) -> FailureKind:
    """Both languages have syntax errors."""
    if kind not in ("typescript", "python"):
        return kind
    return "python" if file.endswith(".py") else "typescript" if file else kind


def _is_same(known: Failure, hit: _Hit) -> bool:
    """What has no place of its own belongs to the cause of its kind that was told before."""
    return not hit.file or not known.file or (known.file, known.line) == (hit.file, hit.line)


def _place(text: str) -> tuple[str, int | None]:
    for pattern in _PLACES:
        if found := pattern.search(text):
            file, root = found["file"], _ROOTS.search(found["file"])
            return file[root.start(1) :] if root else file, int(found["line"]) if found["line"] else None
    return "", None
