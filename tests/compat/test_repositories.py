"""Whole repositories as people write them, driven from outside through the command line, offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.driver import Desk, Ended

HERE = Path(__file__).parent
CLAIMS = HERE / "fixtures" / "claims"
PARCELS = HERE / "fixtures" / "parcels"


class Office:
    """The commands on one repository, its data folder, and the model its agents have."""

    def __init__(self, desk: Desk, root: Path) -> None:
        self.desk = desk
        self.root = root
        self.model = f"scripted:{HERE / 'models' / root.name}.json"

    def run(self, tool: str, given: str = "{}", *more: object, code: int = 0) -> Any:
        return self._read(
            self.desk("run", self.root, tool, "--input", given, "--model", self.model, "--json", *more), code
        )

    def answer(self, session: str, value: str, *more: object, code: int = 0) -> Any:
        return self._read(self.desk("answer", session, value, "--model", self.model, "--json", *more), code)

    def document(self, store: str, key: str) -> Any:
        return self._read(self.desk("store", self.root, store, key, "--json"), 0)["document"]["payload"]

    def _read(self, ended: Ended, code: int) -> Any:
        assert ended.code == code, ended.out + ended.err
        return ended.json


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory) -> Office:
    office = Office(Desk(tmp_path_factory.mktemp("claims")), CLAIMS)
    assert office.run("seed_demo", '{"count": 300}')["result"] == {"seeded": 300}
    return office


@pytest.fixture(scope="module")
def parcels(tmp_path_factory: pytest.TempPathFactory) -> Office:
    office = Office(Desk(tmp_path_factory.mktemp("parcels")), PARCELS)
    assert office.run("seed_parcels", '{"count": 200}')["result"] == {"seeded": 200, "stored": True}
    return office


def test_claims_are_checked_without_an_error(claims: Office) -> None:
    found = claims.desk("check", CLAIMS, "--json").json
    assert found["ok"] is True
    assert [problem for problem in found["problems"] if problem["severity"] == "error"] == []
    assert {tool["name"] for tool in found["tools"]} >= {"claim_risk", "review_claim", "decide_claim", "reset_demo"}
    assert {agent["name"] for agent in found["agents"]} == {"default", "claim-reviewer", "intake"}
    assert {store["name"] for store in found["stores"]} == {"claims", "events"}
    assert {document["name"] for document in found["knowledge"]} == {"claims-policy", "tone"}
    assert [hook["name"] for hook in found["hooks"]] == ["claims-guard"]
    assert {item["name"] for item in found["automations"]} == {"morning", "weekly"}
    ignored = " ".join(item["path"] for item in found["ignored"])
    assert "handler.test.ts" in ignored


def test_claims_are_counted_by_an_indexed_query(claims: Office) -> None:
    assert claims.run("claims_stats")["result"]["total"] == 300
    assert claims.run("claims_stats", '{"kind": "fire"}')["result"] == {
        "total": 100,
        "more": False,
        "counts": {"open": 100},
    }


def test_a_claim_is_reviewed_by_a_subagent_and_what_it_found_is_kept(claims: Office) -> None:
    done = claims.run("review_claim", '{"claim_id": "c_0002"}')
    assert done["result"] == {"claim_id": "c_0002", "risk": "high", "reasons": ["fire above 2,000"]}
    row = claims.document("claims", "c_0002")
    assert [entry["what"] for entry in row["history"]] == ["filed", "reviewed: high"]
    assert claims.document("events", "e_c_0002")["by"] == done["session_id"]
    tree = claims.desk("show", done["session_id"], "--tree").out
    for name in ("claim-reviewer", "claim_risk", "store__claims__set"):
        assert name in tree


def test_a_claim_that_is_not_there_is_a_value(claims: Office) -> None:
    said = claims.run("review_claim", '{"claim_id": "c_9999"}')["result"]
    assert said["status"] == "not found"
    assert "not found" in said["says"]


def test_a_claim_is_decided_by_a_person(claims: Office) -> None:
    asked = claims.run("decide_claim", '{"claim_id": "c_0005"}', code=3)
    (pause,) = claims.desk("list", "--json").json["approvals"]
    assert [option["value"] for option in pause["options"]] == ["approved", "rejected"]
    context = pause["context"]
    done = claims.answer(
        asked["session_id"], "approved", "--edits", f'{{"amount_eur": 77.5, "note": "{context["amount_eur"]}"}}'
    )
    assert done["result"] == {"claim_id": "c_0005", "status": "approved", "amount_eur": 77.5}
    row = claims.document("claims", "c_0005")
    assert (row["status"], row["amount_eur"]) == ("approved", 77.5)
    assert claims.document("events", "d_c_0005")["what"] == "approved"


def test_a_decision_that_is_none_fails_and_changes_nothing(claims: Office) -> None:
    asked = claims.run("decide_claim", '{"claim_id": "c_0006"}', code=3)
    failed = claims.answer(asked["session_id"], "maybe", code=1)
    assert failed["outcome"]["reason"] == 'Tool "decide_claim" failed: "maybe" is no decision.'
    assert claims.document("claims", "c_0006")["status"] == "open"


def test_a_hook_blocks_the_write_of_a_model_and_not_that_of_a_handler(claims: Office) -> None:
    done = claims.run("correct_claim", '{"claim_id": "c_0001"}')["result"]
    assert "c_0001 is open" in done["said"]
    assert done["note_before"] is None
    assert done["note_after"] == "corrected in code"


def test_a_reset_removes_the_rows_and_seeds_them_again(claims: Office) -> None:
    first = claims.run("reset_demo", '{"count": 300}')["result"]
    assert first == {"removed": 300, "seeded": 300}
    assert claims.document("claims", "c_0005")["status"] == "open"
    assert claims.run("claims_stats")["result"] == {"total": 300, "more": False, "counts": {"open": 300}}


def test_parcels_are_checked_without_an_error(parcels: Office) -> None:
    found = parcels.desk("check", PARCELS, "--json").json
    assert [problem for problem in found["problems"] if problem["severity"] == "error"] == []
    tools = {tool["name"]: tool for tool in found["tools"]}
    assert {tool["language"] for tool in tools.values()} == {"python"}
    assert (tools["weigh"]["layout"], tools["weigh"]["file"]) == ("code", "tools/weigh/tool.py")
    assert {store["name"] for store in found["stores"]} == {"parcels", "dock-notes"}
    assert [skill["name"] for skill in found["skills"]] == ["loading"]
    assert [hook["name"] for hook in found["hooks"]] == ["release-guard"]
    agents = {agent["name"]: agent for agent in found["agents"]}
    assert {entry["name"] for entry in agents["customs-checker"]["decided_per_turn"]} == {"weigh", "parcel_stats"}


def test_a_parcel_is_released_by_whoever_may(parcels: Office) -> None:
    asked = parcels.run("release_parcel", '{"key": "FRA-1"}', code=3)
    session = asked["session_id"]
    pause = asked["outcome"]
    assert "Customs agree." in pause["context"]["customs"]
    assert "FRA-1 is there, a person releases it" in pause["context"]["customs"]
    refused = parcels.desk("answer", session, "yes", "--as", "erik", "--json")
    assert (refused.code, refused.error["code"]) == (1, "answerer_not_allowed")
    done = parcels.answer(session, "yes", "--as", "dana")["result"]
    assert (done["released"], done["by"]) == (True, "dana")
    assert parcels.document("parcels", "FRA-1")["released"] is True


def test_a_parcel_that_is_not_there(parcels: Office) -> None:
    said = parcels.run("release_parcel", '{"key": "FRA-9999"}')["result"]
    assert said["released"] is False
    assert "not found" in said["says"]


def test_parcels_of_many_branches_are_all_stored(parcels: Office) -> None:
    assert parcels.run("parcel_stats")["result"] == {"road": 100, "air": 100}


def test_parcels_are_removed_and_one_is_put_back(parcels: Office) -> None:
    done = parcels.run("reset_parcels")["result"]
    assert done["removed"] == 200
    counts = parcels.run("parcel_stats")["result"]
    assert sum(counts.values()) == 1
    assert parcels.document("parcels", done["kept"])["hub"] == "FRA"
