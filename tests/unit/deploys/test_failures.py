"""Why builds fail, told from logs as the usual tools write them."""

from __future__ import annotations

import pytest

from runtime_core.deploys.failures import failure_of, failures_of
from runtime_core.repo.bundle import Problem
from runtime_core.wire.builds import Line

CASES = {
    "tsc": (
        "src/x.ts is fine\namodal/tools/ship/handler.ts(14,9): error TS2322: Type 'string' is not assignable to type "
        "'number'.",
        [("typescript", "amodal/tools/ship/handler.ts", 14)],
    ),
    "tsc, pretty": (
        "amodal/tools/ship/handler.ts:14:9 - error TS2304: Cannot find name 'parcel'.\n\n14   return parcel;\n",
        [("typescript", "amodal/tools/ship/handler.ts", 14)],
    ),
    "esbuild": (
        '✘ [ERROR] Expected ";" but found "}"\n\n    amodal/tools/a/handler.ts:3:12:\n      3 │ return {]',
        [("typescript", "amodal/tools/a/handler.ts", 3)],
    ),
    "esbuild, a package": (
        '✘ [ERROR] Could not resolve "left-pad"\n\n    amodal/tools/a/handler.ts:1:20:',
        [("dependency", "amodal/tools/a/handler.ts", 1)],
    ),
    "tsc, a package": (
        "amodal/tools/a/handler.ts(1,20): error TS2307: Cannot find module 'left-pad' or its corresponding type "
        "declarations.",
        [("dependency", "amodal/tools/a/handler.ts", 1)],
    ),
    "tsc, a file": (
        "amodal/tools/a/handler.ts(1,20): error TS2307: Cannot find module './lib/x' or its corresponding type "
        "declarations.",
        [("typescript", "amodal/tools/a/handler.ts", 1)],
    ),
    "npm, no version": (
        "npm error code ETARGET\nnpm error notarget No matching version found for zod@99.0.0.\nnpm error notarget In "
        "most cases you or one of your dependencies are requesting",
        [("dependency", "", None)],
    ),
    "npm, not there": (
        "npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://packages.example.test/nothing-here",
        [("dependency", "", None)],
    ),
    "npm, a private package": ("npm error code E401\nnpm error Unable to authenticate", [("authorization", "", None)]),
    "pip": (
        "ERROR: Could not find a version that satisfies the requirement nothing-here==1\nERROR: No matching "
        "distribution found for nothing-here==1",
        [("dependency", "", None)],
    ),
    "python, a module": (
        'Traceback (most recent call last):\n  File "/app/amodal/tools/p/handler.py", line 2, in <module>\n'
        "ModuleNotFoundError: No module named 'pandas'",
        [("dependency", "amodal/tools/p/handler.py", 2)],
    ),
    "python, syntax": (
        "  File \"amodal/tools/p/handler.py\", line 7\n    return (\n           ^\nSyntaxError: '(' was never closed",
        [("python", "amodal/tools/p/handler.py", 7)],
    ),
    "manifest": (
        "Reading amodal.json\nFailed to parse manifest amodal.json: Unexpected token } in JSON at position 18",
        [("manifest", "amodal.json", None)],
    ),
    "tool.json": (
        "amodal/tools/a/tool.json: invalid JSON (line 3)",
        [("manifest", "amodal/tools/a/tool.json", None)],
    ),
    "validation": (
        'ValidationError: tool "Ship It": name must match /^[a-z][a-z0-9_]*$/',
        [("validation", "", None)],
    ),
    "the loader": (
        "agents/a/agent.json: CONFIG_VALIDATION_FAILED: maxToolCalls has to be a whole number",
        [("validation", "agents/a/agent.json", None)],
    ),
    "git, a branch": ("fatal: Remote branch nxt not found in upstream origin", [("not-found", "", None)]),
    "git, no access": (
        "git@example.test: Permission denied (publickey).\nfatal: Could not read from remote repository.",
        [("authorization", "", None)],
    ),
    "no network": (
        "npm error code ENOTFOUND\nnpm error network request to https://packages.example.test failed, reason: "
        "getaddrinfo ENOTFOUND packages.example.test",
        [("network", "", None)],
    ),
    "too often": ("toomanyrequests: You have reached your pull rate limit.", [("rate-limit", "", None)]),
    "two": (
        "amodal/tools/a/handler.ts(1,2): error TS1005: ';' expected.\namodal/tools/b/handler.ts(9,2): error TS1005: "
        "';' expected.\nFound 2 errors.",
        [("typescript", "amodal/tools/a/handler.ts", 1), ("typescript", "amodal/tools/b/handler.ts", 9)],
    ),
    "something else": ("building\nStep 4 exited with status 137\nBuild failed", [("unknown", "", None)]),
    "nothing": ("", [("unknown", "", None)]),
}


@pytest.mark.parametrize("name", CASES)
def test_causes_are_told_with_their_place(name: str) -> None:
    text, wanted = CASES[name]
    found = failures_of([Line(line) for line in text.splitlines()])
    assert [(one.kind, one.file, one.line) for one in found] == wanted
    assert all(one.advice for one in found)


def test_what_is_harmless_is_no_cause() -> None:
    log = [
        Line("npm warn deprecated inflight@1.0.6: this module must not be used"),
        Line("Found 0 errors."),
        Line("a.ts(1,2): error TS6133: unused", "warning"),
        Line("b.ts(1,2): error TS2304: Cannot find name 'x'.", "error"),
    ]
    assert [(one.kind, one.file) for one in failures_of(log)] == [("typescript", "b.ts")]


def test_a_cause_has_the_lines_that_matter_and_not_too_many() -> None:
    log = [Line(f"npm error code ERESOLVE {number}") for number in range(50)]
    found = failures_of([Line("npm ci"), *log, Line("bye")])
    assert len(found) == 1
    assert found[0].lines[0] == "npm error code ERESOLVE 0"
    assert len(found[0].lines) == 8


def test_many_causes_are_cut() -> None:
    log = [Line(f"t{number}.ts(1,1): error TS1005: ';' expected.") for number in range(50)]
    assert len(failures_of(log)) == 20


def test_an_unknown_cause_shows_the_bad_lines_or_the_last_ones() -> None:
    assert failures_of([Line("a"), Line("an exception happened"), Line("b")])[0].lines == ("an exception happened",)
    assert failures_of([Line(str(number)) for number in range(20)])[0].lines == tuple(map(str, range(12, 20)))


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (Problem("error", "CONFIG_PARSE_FAILED", "amodal.json", "It is no JSON.", "Correct it."), "manifest"),
        (Problem("error", "CONFIG_NOT_FOUND", "amodal.json", "It is missing.", "Write it."), "manifest"),
        (Problem("error", "CONFIG_VALIDATION_FAILED", "agents/a/agent.json", "maxDepth is wrong.", ""), "validation"),
        (Problem("error", "CONFIG_VALIDATION_FAILED", "t/x.ts", "The handler cannot be loaded.", ""), "typescript"),
        (Problem("error", "CONFIG_PARSE_FAILED", "t/tool.py", "The definition cannot be read.", ""), "python"),
        (
            Problem("error", "CONFIG_VALIDATION_FAILED", "t/x.py", "ModuleNotFoundError: No module named 'x'", ""),
            "dependency",
        ),
        (Problem("error", "CONFIG_VALIDATION_FAILED", "t/package.json", "It names a file.", ""), "dependency"),
    ],
)  # fmt: skip
def test_problems_of_a_repository_are_causes_of_the_same_kinds(problem: Problem, kind: str) -> None:
    found = failure_of(problem)
    assert (found.kind, found.file) == (kind, problem.file)
    assert found.advice
