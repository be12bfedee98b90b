"""``eval`` as a person types it: what is printed, written and kept, and that it leaves no other trace."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.e2e.driver import ROOT, Desk

SAMPLES = ROOT / "resources" / "samples"


@pytest.fixture
def support(desk: Desk) -> Path:
    return Path(shutil.copytree(SAMPLES / "support-desk", desk.home / "support-desk"))


def test_the_evals_of_the_samples_pass(desk: Desk) -> None:
    ended = desk("eval", SAMPLES / "support-desk")
    assert (ended.code, ended.err) == (0, ""), ended
    assert "passed  review  A review names its rule" in ended.out
    assert "  ok          tool_called: book_parcel: book_parcel was called once" in ended.out
    assert ended.out.rstrip().endswith("4 evals: 4 passed, 0 failed")


def test_what_fails_says_why_on_the_terminal_as_json_and_for_build_servers(desk: Desk, support: Path) -> None:
    (support / "evals" / "wrong.md").write_text("## Query\nSend a replacement\n## Assertions\n- contains: <b>\x1b\n")
    (support / "evals" / "broken.md").write_text("## Query\nx\n")
    report = desk.home / "report.xml"
    ended = desk("eval", support, "wrong", "broken", "review", "--junit", report)
    assert ended.code == 1
    assert "FAILED  wrong" in ended.out
    assert 'nobody answers the question "From which warehouse' in ended.out
    assert "evals/broken.md: The eval expects nothing" in ended.out
    assert "\x1b" not in ended.out
    suite = ElementTree.parse(report).getroot()[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "0",
        "errors": "2",
    }
    told = desk("eval", support, "wrong", "--json")
    assert told.code == 1
    assert (told.json["passed"], told.json["failed"]) == (0, 1)
    (result,) = told.json["results"]
    assert result["evalName"] == "wrong"
    assert result["result"]["assertions"][0]["passed"] is False
    assert [call["name"] for call in result["result"]["toolCalls"]] == ["ship_replacement", "load_ticket"]


def test_evals_leave_nothing_but_their_results(desk: Desk, support: Path) -> None:
    assert desk("eval", support, "replacement").code == 0
    assert desk("list", "--runs", "--json").json["total"] == 0
    assert desk("chat", "--list", "--json").json["total"] == 0


def test_durable_tools_are_put_through_the_situations(desk: Desk, support: Path) -> None:
    ended = desk("eval", support, "--ready-made", "--json")
    assert ended.code == 0, ended
    assert "what they do to other systems is done. Every approval that they ask for is given" in ended.err
    assert "which gives every approval that they ask for" in " ".join(desk("eval", "--help").out.split())
    (result,) = ended.json["results"]
    assert [one["text"] for one in result["result"]["assertions"]] == [
        "denied approval",
        "missing data",
        "child failure",
        "replay after a pause",
    ]
    handler = support / "amodal" / "tools" / "ship_replacement" / "handler.ts"
    source = handler.read_text()
    (line,) = (line for line in source.splitlines() if "There is no ticket" in line)
    handler.write_text(source.replace(line, ""))
    again = desk("eval", support, "ship_replacement", "--ready-made", "--input", json.dumps({"ticket_id": "t-1042"}))
    assert again.code == 1
    assert "missing data: when load_ticket finds nothing, it breaks: TypeError" in again.out


def test_wrong_usage_is_told(desk: Desk, support: Path) -> None:
    unknown = desk("eval", support, "revew", "--json")
    assert unknown.code == 1
    assert unknown.error["code"] == "NOT_FOUND"
    assert 'Did you mean "review"?' in unknown.error["message"]
    assert desk("eval", support, "--input", "{}").code == 2
    nothing = desk("eval", ROOT / "tests" / "e2e" / "fixtures" / "desk")
    assert (nothing.code, "has no evals" in nothing.out) == (0, True), nothing
    target = desk.home / "no" / "report.xml"
    assert "cannot be written" in desk("eval", support, "review", "--junit", target).err
