"""A repository with connections: what handlers send, what models may, and who is asked (contract 1.6, 5.2 and 9.1)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime_core.wire.json import dumps
from tests.compat.services import Request, Service, service
from tests.e2e.office import Office, office
from tests.unit.engine.workshop import Repo

HERE = Path(__file__).parent
IBAN = "DE00 1111"


def answer(request: Request) -> tuple[int, Any]:
    if request.method == "GET":
        number = request.path.rpartition("/")[2]
        return 200, {"id": "i1", "number": number, "iban": IBAN}
    if request.path == "/search":
        return 200, [{"id": "i1", "iban": IBAN}]
    return 201, {"id": f"new-{request.json['number']}" if "number" in request.json else "paid"}


@pytest.fixture(scope="module")
def erp() -> Iterator[Service]:
    with service(answer) as found:
        yield found


@pytest.fixture(scope="module")
def desk(erp: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERP_URL", erp.url)
        patch.setenv("ERP_PASSWORD", "password-of-the-erp")
        root = HERE / "fixtures" / "invoices"
        model = f"scripted:{HERE / 'models' / 'invoices.json'}"
        with office(Repo.at(root), tmp_path_factory.mktemp("invoices"), model=model) as opened:
            yield opened


@pytest.fixture
def asked(erp: Service) -> Service:
    erp.forget()
    return erp


def sent(erp: Service) -> list[str]:
    return [f"{request.method} {request.path}" for request in erp.asked]


def test_parts_that_are_broken_stop_nothing_else(desk: Office) -> None:
    bundle = desk.wait(desk.runtime.add_repository(desk.repo.root))
    assert {problem.severity for problem in bundle.problems} == {"warning"}
    assert bundle.connections["erp"].unavailable is None
    assert "policy" in str(bundle.connections["loose"].unavailable)
    assert "NOBODY_SETS_THIS" in str(bundle.connections["unset"].unavailable)
    assert any(problem.code == "ENV_NOT_SET" and problem.key == "webTools.apiKey" for problem in bundle.problems)
    ignored = " ".join(item.path for item in bundle.ignored)
    assert "intents" in ignored
    assert "pages" in ignored


def test_uploads_fan_out_to_a_specialist(desk: Office) -> None:
    files = [
        {"filename": name, "mimeType": "application/pdf", "data": b64encode(b"%PDF").decode()}
        for name in ("a.pdf", "b.pdf")
    ]
    assert desk.run("extract_invoices", attachments=dumps(files))["result"] == {"results": ["Number 1", "Number 2"]}
    assert "subagent_attachments_stripped" in (desk.data / "logs" / "handlers.log").read_text()
    assert desk.run("extract_invoices")["result"] == {"results": []}


def test_an_operation_is_called_by_a_durable_handler_after_its_own_question(desk: Office, asked: Service) -> None:
    context = dumps({"region": "north"})
    run = desk.parked("book_invoice", {"number": "R-7", "amount_eur": 9000}, context=context)
    assert sent(asked) == []
    done = desk.answer(run, "yes", edits='{"amount_eur": 12.5}')["result"]
    assert done == {"booked": True, "id": "new-R-7", "status": 200, "stripped": ["iban"]}
    assert sent(asked) == ["POST /invoices", "GET /invoices/R-7"]
    written = asked.asked[0]
    assert written.json == {"number": "R-7", "amount_eur": 12.5}
    basic = b64encode(b"desk:password-of-the-erp").decode()
    assert written.headers["authorization"] == f"Basic {basic}"
    assert (written.headers["x-client"], written.headers["x-region"]) == ("invoice-desk", "north")
    assert written.headers["idempotency-key"].startswith(run)


def test_parameters_of_an_operation_are_checked_before_anything_is_sent(desk: Office, asked: Service) -> None:
    run = desk.parked("book_invoice", {"number": "R-8", "amount_eur": "a lot"})
    done = desk.answer(run, "yes")["result"]
    assert (done["booked"], done["code"]) == (False, "invalid-params")
    assert "amount_eur" in done["why"]
    assert sent(asked) == []


@pytest.mark.parametrize(("value", "requests"), [("yes", ["POST /invoices"]), ("no", [])])
def test_a_model_books_only_if_a_person_agrees(desk: Office, asked: Service, value: str, requests: list[str]) -> None:
    running = desk.begin("ask_clerk", {"task": "Book small."})
    pause = desk.pending()
    assert pause["kind"] == "approval"
    shown = dumps(pause)
    for words in ("POST", "/invoices", "R-1", "Books an invoice"):
        assert words in shown
    assert "password-of-the-erp" not in shown
    assert sent(asked) == []
    desk.answer(pause["session_id"], value)
    said = running.result(30)["result"]["said"]
    assert ("new-R-1" in said) == (value == "yes")
    assert sent(asked) == requests


@pytest.mark.parametrize(
    ("task", "request_line"), [("Pay.", "POST /payments"), ("Book large.", "POST /invoices")], ids=["tier", "threshold"]
)
def test_what_is_to_be_reviewed_is_refused_to_the_model_and_sent_when_a_person_approves(
    desk: Office, asked: Service, task: str, request_line: str
) -> None:
    said = desk.run("ask_clerk", {"task": task})["result"]["said"]
    assert "operator" in said
    assert sent(asked) == []
    pause = desk.pending()
    assert pause["kind"] == "approval"
    assert desk.answer(pause["session_id"], "yes")["outcome"]["kind"] == "complete"
    assert sent(asked) == [request_line]


def test_what_is_never_allowed_is_denied_and_nobody_is_asked(desk: Office, asked: Service) -> None:
    said = desk.run("ask_clerk", {"task": "Delete R-1."})["result"]["said"]
    assert "does not allow DELETE /invoices/R-1" in said
    assert desk.wait(desk.runtime.pending(who="ann"))["approvals"] == []
    assert sent(asked) == []


def test_reading_needs_nobody_and_a_write_is_no_read(desk: Office, asked: Service) -> None:
    run = desk.run("ask_clerk", {"task": "Search R."})
    results = [span["output"] for span in desk.detail(run["session_id"])["spans"] if span["name"] == "request"]
    assert sorted(sent(asked)) == ["GET /invoices/R-1", "POST /search"]
    assert IBAN not in dumps(results)
    assert "does not declare intent" in run["result"]["said"]
