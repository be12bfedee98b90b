"""Results of evals as JUnit XML, which every build server reads: a suite for each repository, a case for each eval."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast
from xml.etree import ElementTree

_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def report(suite: str, at: float, results: Sequence[Mapping[str, Any]]) -> str:
    """``results``: as `EvalResult.to_wire`. An eval that could not be carried out is an error, one whose assertions do
    not hold a failure."""
    ran = [cast("dict[str, Any]", result["result"]) for result in results]
    counts = {
        "tests": str(len(results)),
        "failures": str(sum(not result["passed"] and "error" not in result["result"] for result in results)),
        "errors": str(sum("error" in one for one in ran)),
        "skipped": "0",
        "time": _seconds(sum(one["durationMs"] for one in ran)),
    }
    root = ElementTree.Element("testsuites", {"name": "evals", **{k: v for k, v in counts.items() if k != "skipped"}})
    stamp = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    element = ElementTree.SubElement(root, "testsuite", {"name": _clean(suite), "timestamp": stamp, **counts})
    for result in results:
        _case(element, suite, result)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, name: str, result: Mapping[str, Any]) -> None:
    ran = cast("dict[str, Any]", result["result"])
    given = {"name": _clean(result["evalName"]), "classname": _clean(name), "time": _seconds(ran["durationMs"])}
    case = ElementTree.SubElement(suite, "testcase", given)
    if "error" in ran:
        told = _clean(ran["error"])
        first = told.partition("\n")[0]
        ElementTree.SubElement(case, "error", {"message": first, "type": "error"}).text = told
    elif not result["passed"]:
        broken = [one for one in ran["assertions"] if not one["passed"]]
        lines = "\n".join(f"{one['text']}: {one['reason']}" for one in broken)
        message = broken[0]["text"] if len(broken) == 1 else f"{len(broken)} assertions do not hold"
        ElementTree.SubElement(case, "failure", {"message": _clean(message), "type": "assertion"}).text = _clean(lines)
    ElementTree.SubElement(case, "system-out").text = _clean(ran["response"])


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.3f}"


def _clean(text: str) -> str:
    """XML has no way to write control characters and lone surrogates: they are shown as question marks."""
    return _NO_XML.sub("\ufffd", text)
