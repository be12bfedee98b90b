"""The samples of the founding document as they stand, against servers of this machine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.compat.services import Request, Service, service
from tests.e2e.driver import Desk
from tests.e2e.office import Office, office
from tests.unit.engine.workshop import Repo

SEEDS = Path(__file__).parent / "fixtures" / "seeds"
INCIDENT = {
    "hostname": "web-7",
    "startTime": 1700000000,
    "endTime": 1700003600,
    "serviceId": "PX1",
    "title": "CPU of web-7",
    "urgency": "high",
}
SECRETS = {"SUPPORT_TOKEN": "support-secret", "DATADOG_KEY": "datadog-secret", "PAGERDUTY_KEY": "pagerduty-secret"}


def support(request: Request) -> tuple[int, Any]:
    if request.path != "/tickets/T-100":
        return 404, {"error": "no such ticket"}
    ticket = {"id": "T-100", "status": "open", "category": "account_access", "summary": "Cannot sign in"}
    return 200, ticket | {"identity_verified": False}


def datadog(request: Request) -> tuple[int, Any]:
    assert request.query["query"] == "avg:system.cpu.user{host:web-7}"
    return 200, {"series": [{"pointlist": [[1700000000, 91.5], [1700000060, 97.25]]}]}


def pagerduty(request: Request) -> tuple[int, Any]:
    return 201, {"incident": {"id": "Q1", "title": request.json["incident"]["title"]}}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Service]]:
    with (
        service(support) as one,
        service(datadog) as two,
        service(pagerduty) as three,
        pytest.MonkeyPatch.context() as p,
    ):
        found = {"SUPPORT": one, "DATADOG": two, "PAGERDUTY": three}
        for name, server in found.items():
            p.setenv(f"{name}_URL", server.url)
        for name, value in SECRETS.items():
            p.setenv(name, value)
        yield found


@pytest.fixture
def asked(servers: dict[str, Service]) -> dict[str, Service]:
    for server in servers.values():
        server.forget()
    return servers


@pytest.fixture(scope="module")
def desk(servers: dict[str, Service], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with office(Repo.at(SEEDS), tmp_path_factory.mktemp("seeds")) as opened:
        yield opened


def test_a_ticket_is_summarized(desk: Office, asked: dict[str, Service]) -> None:
    assert desk.run("summarize_ticket", {"ticket_id": "T-100"})["result"] == {
        "ticket_id": "T-100",
        "status": "open",
        "category": "account_access",
        "summary": "Cannot sign in",
        "needs_verification": True,
        "next_action": "Verify identity before recommending account changes.",
    }
    (sent,) = asked["SUPPORT"].asked
    assert sent.headers["authorization"] == "Bearer support-secret"


def test_a_ticket_that_is_not_there_fails_and_says_so(desk: Office, asked: dict[str, Service]) -> None:
    reply = desk.run("summarize_ticket", {"ticket_id": "T/1?x=ü"})
    assert reply["outcome"]["kind"] == "failed"
    assert "404" in reply["outcome"]["reason"]
    assert "support-secret" not in reply["outcome"]["reason"]
    assert [request.path for request in asked["SUPPORT"].asked] == ["/tickets/T%2F1%3Fx%3D%C3%BC"]


@pytest.mark.parametrize(
    ("category", "users", "hours", "priority"),
    [
        ("account_access", 10, 0, "high"),
        ("account_access", 9, 0, "normal"),
        ("billing", 10, 0, "medium"),
        ("billing", 1, 24, "medium"),
        ("billing", 1, 23.9, "normal"),
    ],
)
def test_the_priority_of_a_ticket(desk: Office, category: str, users: int, hours: float, priority: str) -> None:
    done = desk.run("classify_ticket_priority", {"category": category, "affected_users": users, "age_hours": hours})
    assert done["result"]["priority"] == priority
    assert done["result"]["reasons"]["broad_impact"] is (users >= 10)


def test_an_incident_is_opened_with_the_figures_that_were_read(desk: Office, asked: dict[str, Service]) -> None:
    done = desk.run("open_cpu_incident", INCIDENT)
    assert done["result"] == {"cpuAverage": [91.5, 97.25], "incidentId": "Q1"}
    (read,), (written,) = asked["DATADOG"].asked, asked["PAGERDUTY"].asked
    assert read.headers["dd-api-key"] == "datadog-secret"
    assert (read.query["from"], read.query["to"]) == ("1700000000", "1700003600")
    assert written.headers["authorization"] == "Token token=pagerduty-secret"
    assert written.headers["accept"] == "application/vnd.pagerduty+json;version=2"
    assert written.json == {
        "incident": {
            "type": "incident",
            "title": "CPU of web-7",
            "service": {"id": "PX1", "type": "service_reference"},
            "urgency": "high",
        }
    }


def test_a_durable_tool_opens_it_after_a_person_has_agreed(desk: Office, asked: dict[str, Service]) -> None:
    run = desk.parked("incident_asked", {"ticket_id": "T-100", "incident": INCIDENT})
    assert asked["PAGERDUTY"].asked == []
    assert desk.answer(run, "no")["result"] == {"opened": False}
    assert asked["PAGERDUTY"].asked == []
    run = desk.parked("incident_asked", {"ticket_id": "T-100", "incident": INCIDENT})
    assert desk.answer(run, "yes")["result"] == {"opened": True, "cpuAverage": [91.5, 97.25], "incidentId": "Q1"}
    assert len(asked["PAGERDUTY"].writes) == 1


def test_an_inline_composite_opens_none(desk: Office, asked: dict[str, Service]) -> None:
    assert desk.run("incident_inline", INCIDENT)["result"] == {"code": "confirmation-unsupported"}
    assert asked["PAGERDUTY"].asked == asked["DATADOG"].asked == []


def test_a_model_reads_without_asking(desk: Office) -> None:
    said = desk.run("ask_oncall", {"task": "Summarize T-100."})["result"]["said"]
    assert "Verify identity" in said


@pytest.mark.parametrize(("answer", "opened"), [("yes", 1), ("no", 0)])
def test_a_model_opens_one_only_if_a_person_agrees(
    desk: Office, asked: dict[str, Service], answer: str, opened: int
) -> None:
    running = desk.begin("ask_oncall", {"task": "Open an incident."})
    pause = desk.pending()
    assert (pause["kind"], pause["tool_name"]) == ("approval", "open_cpu_incident")
    assert "web-7" in str(pause["context"])
    assert asked["PAGERDUTY"].asked == []
    desk.answer(pause["session_id"], answer)
    said = running.result(30)["result"]["said"]
    assert ("Q1" in said) is bool(opened)
    assert ("denied" in said) is not opened
    assert len(asked["PAGERDUTY"].writes) == opened


def test_an_open_tool_never_writes(servers: dict[str, Service], asked: dict[str, Service], tmp_path: Path) -> None:
    root = tmp_path / "repo"
    shutil.copytree(SEEDS, root)
    code = root / "amodal/tools/open_cpu_incident/tool.ts"
    code.write_text(code.read_text().replace("kind: 'requires-confirmation'", "kind: 'open'"))
    with office(Repo.at(root), tmp_path / "data") as opened:
        outcome = opened.run("open_cpu_incident", INCIDENT)["outcome"]
        assert outcome["kind"] == "failed"
        assert "requires-confirmation" in outcome["reason"]
        assert len(asked["DATADOG"].asked) == 1
        assert asked["PAGERDUTY"].asked == []


def test_a_connection_that_is_missing_is_named_and_stops_nothing_else(tmp_path: Path, asked: object) -> None:
    root = tmp_path / "repo"
    shutil.copytree(SEEDS, root)
    shutil.rmtree(root / "amodal/connections/support-api")
    with office(Repo.at(root), tmp_path / "data") as opened:
        outcome = opened.run("summarize_ticket", {"ticket_id": "T-100"})["outcome"]
        assert outcome["kind"] == "failed"
        assert '"support-api"' in outcome["reason"]
        assert opened.run("open_cpu_incident", INCIDENT)["outcome"]["kind"] == "complete"


def test_commands_run_after_trust_only(desk: Office, servers: object, tmp_path: Path) -> None:
    shell = Desk(tmp_path)
    refused = shell("run", SEEDS, "count_failed_jobs", "--json")
    assert refused.code == 1
    assert "--trust" in refused.out
    if shutil.which("node") is None:
        pytest.skip("the sample needs node on the machine")
    done = shell("run", SEEDS, "count_failed_jobs", "--trust", "--json")
    assert (done.code, done.json["result"]) == (0, {"failedJobsLastHour": 7})


def test_the_samples_stand_as_they_were_published_and_load_with_warnings_alone(desk: Office) -> None:
    tools = SEEDS / "amodal" / "tools"
    assert (tools / "open_cpu_incident/tool.ts").read_text().count("/* description, parametersJsonSchema */") == 1
    assert (tools / "count_failed_jobs/tool.ts").read_text().count("/* description, parametersJsonSchema */") == 1
    bundle = desk.wait(desk.runtime.add_repository(SEEDS))
    assert not [problem for problem in bundle.problems if problem.severity == "error"]
    warned = {problem.file for problem in bundle.problems if re.search(r"base\.", problem.message)}
    assert warned <= {"amodal/tools/open_cpu_incident/tool.ts", "amodal/tools/count_failed_jobs/tool.ts"}
