"""The JUnit file: counts, reasons, and texts that XML cannot hold."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from runtime_core.evals.junit import report
from runtime_core.evals.result import EvalResult, Verdict


def result(name: str, *verdicts: Verdict, error: str = "", response: str = "") -> EvalResult:
    return EvalResult(name, name, 0.0, response=response, verdicts=verdicts, error=error, duration_s=1.25)


def test_a_suite_counts_failures_and_errors_apart() -> None:
    text = report(
        "parcels",
        0.0,
        [
            result("good", Verdict("contains: a", True, "it does"), response="a < b & c").to_wire(),
            result("bad", Verdict("contains: <b>", False, "it is: x"), Verdict("Should", None, "no judge")).to_wire(),
            result("broken", error="There is no model.\nSet one.").to_wire(),
        ],
    )
    root = ElementTree.fromstring(text)
    (suite,) = root
    assert root.tag == "testsuites"
    wanted = {"tests": "3", "failures": "1", "errors": "1", "skipped": "0", "time": "3.750"}
    assert {name: suite.get(name) for name in wanted} == wanted
    assert suite.get("timestamp") == "1970-01-01T00:00:00"
    good, bad, broken = suite
    assert [case.get("name") for case in suite] == ["good", "bad", "broken"]
    assert {case.get("classname") for case in suite} == {"parcels"}
    assert [one.tag for one in good] == ["system-out"]
    assert good[0].text == "a < b & c"
    assert bad[0].tag == "failure"
    assert bad[0].get("message") == "2 assertions do not hold"
    assert bad[0].text == "contains: <b>: it is: x\nShould: no judge"
    assert broken[0].tag == "error"
    assert (broken[0].get("message"), broken[0].text) == ("There is no model.", "There is no model.\nSet one.")


@given(st.text(), st.text())
def test_every_text_gives_xml_that_can_be_read(name: str, said: str) -> None:
    text = report(name, 0.0, [result(name, Verdict(said, False, said), response=said).to_wire()])
    root = ElementTree.fromstring(text.encode())
    assert root[0][0][0].tag == "failure"
