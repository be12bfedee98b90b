"""The example of the README, written down and run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.driver import ROOT, Desk

BLOCK = re.compile(r"(?P<before>[^\n]+(?:\n[^\n]+)*)\n\n```\w+\n(?P<text>.*?)^```", re.M | re.S)
NAME = re.compile(r"`([\w./]+\.(?:json|ts|py))`")


def example() -> dict[str, str]:
    """The files of "Write an agent": each block under the name in the paragraph before it."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Write an agent")[2].partition("\n## ")[0]
    found = ((NAME.search(block["before"]), block["text"]) for block in BLOCK.finditer(section))
    return {name[1]: text for name, text in found if name is not None}


@pytest.mark.parametrize("left_out", ["publish/handler.py", "publish/handler.ts"])
def test_the_example_works_as_written(desk: Desk, tmp_path: Path, left_out: str) -> None:
    root = tmp_path / "my-agent"
    for name, text in example().items():
        if not name.endswith(left_out):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
    checked = desk("check", root)
    assert (checked.code, checked.out.splitlines()[-1]) == (0, "no problems")
    asked = desk("run", root, "publish", "--input", '{"page": "news"}', "--json")
    assert asked.code == 3
    answered = desk("answer", asked.json["sessionId"], "preview", "--json")
    assert answered.json["result"] == {"published": "news", "at": "preview"}
