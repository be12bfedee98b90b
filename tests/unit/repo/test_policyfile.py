"""`connections/<name>/policy.json`: contract 9.1 and decision 31."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from runtime_core.repo.policy import Endpoint, FieldRestriction, Policy, Threshold
from runtime_core.repo.policyfile import load_policy
from runtime_core.repo.report import Report

_FOLDER = "connections/crm"
_FULL: dict[str, Any] = {
    "_comment": "kept out",
    "endpoints": {
        "POST /shipments": {
            "returns": ["Shipment"],
            "confirm": True,
            "reason": "Creates a shipment",
            "thresholds": [{"field": "body.value_eur", "above": 5000, "escalate": "review"}],
        },
        "delete /shipments/{id}": {"returns": [], "confirm": "never"},
        "POST /search": {"intent": "read", "returns": ["Hit"]},
    },
    "fieldRestrictions": [
        {"entity": "Shipper", "field": "tax_id", "policy": "never_retrieve", "sensitivity": "pii"},
        {"entity": "Shipper", "field": "rate", "policy": "role_gated", "allowedRoles": ["finance"], "group": "money"},
    ],
}


def _load(root: Path, text: str, file: str = "policy.json") -> tuple[Policy | None, Report]:
    folder = root / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(text)
    report = Report()
    return load_policy(root, _FOLDER, report), report


def test_a_whole_policy(tmp_path: Path) -> None:
    policy, report = _load(tmp_path, json.dumps(_FULL))
    assert not report.problems
    assert policy is not None
    assert policy.endpoints == {
        "POST /shipments": Endpoint(
            "POST",
            "/shipments",
            "confirm",
            reason="Creates a shipment",
            thresholds=(Threshold("body.value_eur", Decimal(5000), "review"),),
        ),
        "delete /shipments/{id}": Endpoint("DELETE", "/shipments/{id}", "never"),
        "POST /search": Endpoint("POST", "/search", is_read=True),
    }
    assert policy.restrictions == (
        FieldRestriction("Shipper", "tax_id", "never_retrieve"),
        FieldRestriction("Shipper", "rate", "role_gated"),
    )


@pytest.mark.parametrize(
    ("key", "said", "words"),
    [
        ("rowScoping", {"Shipment": {"type": "field_match"}}, "all that the connection gives"),
        ("delegations", {"enabled": True, "maxDurationDays": 7}, "Nobody can delegate"),
        ("delegations", {"escalateConfirm": True}, '"confirm": true counts as "review"'),
        ("alternativeLookups", [{"restrictedField": "tax_id", "alternative": "Ask."}], "No model"),
    ],
)
def test_what_guards_nothing_here_is_said(tmp_path: Path, key: str, said: Any, words: str) -> None:
    policy, report = _load(tmp_path, json.dumps({**_FULL, key: said}))
    assert policy is not None
    (problem,) = report.problems
    assert (problem.key, problem.severity) == (key, "warning")
    assert words in problem.message


@pytest.mark.parametrize("said", [{}, [], None, {"enabled": False, "escalateConfirm": True}])
def test_what_is_empty_or_off_is_not_worth_a_word(tmp_path: Path, said: Any) -> None:
    rest = said if isinstance(said, dict) and said else None
    empty = {"rowScoping": None if rest else said, "alternativeLookups": None if rest else said, "delegations": rest}
    policy, report = _load(tmp_path, json.dumps({**_FULL, **empty}))
    assert policy is not None
    assert not report.problems
    assert policy.endpoints["POST /shipments"].tier == "confirm"


def test_delegated_confirmations_are_left_to_an_operator(tmp_path: Path) -> None:
    policy, _ = _load(tmp_path, json.dumps({**_FULL, "delegations": {"enabled": True, "escalateConfirm": True}}))
    assert policy is not None
    assert [one.tier for one in policy.endpoints.values()] == ["review", "never", "allow"]


_LIMIT = {"field": "body.n", "above": 1, "escalate": "review"}


@pytest.mark.parametrize(
    "path",
    ["/", "/v/{id}", "/v/{a-b}.json", "/v/{id:int}:cancel", "/v/%24batch", "/v/Orders(1)", "/@me/a,b;c=d", "/größe"],
)
def test_plain_paths_and_placeholders_are_taken(tmp_path: Path, path: str) -> None:
    policy, report = _load(tmp_path, json.dumps({"endpoints": {f"POST {path}": {"confirm": "never"}}}))
    assert policy is not None
    assert not report.problems
    assert [one.path for one in policy.endpoints.values()] == [path]


@pytest.mark.parametrize("given", [{"confirm": "never"}, {"thresholds": [_LIMIT]}])
def test_a_guard_of_a_method_that_only_reads_is_said_to_guard_nothing(tmp_path: Path, given: dict[str, Any]) -> None:
    _, report = _load(tmp_path, json.dumps({"endpoints": {"GET /x": given, "HEAD /x": {"intent": "read"}}}))
    (problem,) = report.problems
    assert (problem.key, problem.severity) == ("endpoints.GET /x", "warning")
    assert "never stops GET" in problem.message


def test_a_connection_without_a_policy_has_an_empty_one(tmp_path: Path) -> None:
    report = Report()
    assert load_policy(tmp_path, _FOLDER, report) == Policy()
    assert not report.problems


def test_a_limit_keeps_its_digits(tmp_path: Path) -> None:
    above = "0.10000000000000000000000000001"
    text = (
        f'{{"endpoints": {{"POST /x": {{"thresholds": [{{"field": "a", "above": {above}, "escalate": "never"}}]}}}}}}'
    )
    policy, _ = _load(tmp_path, text)
    assert policy is not None
    assert policy.endpoints["POST /x"].thresholds[0].above == Decimal(above)


def _endpoint(**given: Any) -> dict[str, Any]:
    return {"endpoints": {"POST /x": given}}


@pytest.mark.parametrize(
    ("policy", "key", "words"),
    [
        (_endpoint(confirm=False), "endpoints.POST /x.confirm", "leave it out"),
        (_endpoint(confirm="ask"), "endpoints.POST /x.confirm", '"review" or "never"'),
        (_endpoint(confirm=1), "endpoints.POST /x.confirm", '"review" or "never"'),
        (_endpoint(confirm=None), "endpoints.POST /x.confirm", '"review" or "never"'),
        (_endpoint(confrim="never"), "endpoints.POST /x.confrim", '"confirm"'),
        (_endpoint(Confirm="never"), "endpoints.POST /x.Confirm", '"confirm"'),
        (_endpoint(intent="reads"), "endpoints.POST /x.intent", '"read"'),
        (_endpoint(thresholds=_LIMIT), "endpoints.POST /x.thresholds", "list"),
        (_endpoint(thresholds=[{**_LIMIT, "escalate": "confirm"}]), "escalate", '"never"'),
        (_endpoint(thresholds=[{**_LIMIT, "above": "1"}]), "above", "number"),
        (_endpoint(thresholds=[{**_LIMIT, "above": True}]), "above", "number"),
        (_endpoint(thresholds=[{"field": "a", "escalate": "never"}]), "above", "required"),
        ({"endpoints": {"POST": {}}}, "endpoints.POST", "no endpoint"),
        ({"endpoints": {"POST x": {}}}, "endpoints.POST x", "slash"),
        ({"endpoints": {"FETCH /x": {}}}, "endpoints.FETCH /x", "no method"),
        ({"endpoints": {"POST /x?a=1": {}}}, "endpoints.POST /x?a=1", "query"),
        ({"endpoints": {"POST /x/:id": {}}}, "endpoints.POST /x/:id", "placeholder"),
        ({"endpoints": {"POST /x/*": {}}}, "endpoints.POST /x/*", "placeholder"),
        *(
            ({"endpoints": {f"POST {path}": {"confirm": "never"}}}, f"endpoints.POST {path}", "placeholder")
            for path in (
                *("/v/{id", "/v/id}", "/v/{id}}", "/v/{{id}}", "/v/<id>", "/v/$id", "/v/${id}", "/v/%s", "/v/[id]"),
                *("/v/{proxy+}", "/v/{path*}", "/v/{+path}", "/v/{a/b}", "/v/(.*)", "/v/[0-9]", "/v/a|b", "/v\\x"),
            )
        ),
        ({"endpoints": []}, "endpoints", "METHOD /path"),
        ({"endpoint": {}}, "endpoint", '"endpoints"'),
        ({"delegations": {"escalateConfirm": "yes"}}, "delegations.escalateConfirm", "true or false"),
        ({"delegations": {"escalate_confirm": True}}, "delegations.escalate_confirm", '"escalateConfirm"'),
        ({"field_restrictions": []}, "field_restrictions", '"fieldRestrictions"'),
        ({"fieldRestrictions": [{"entity": "A", "field": "b", "policy": "hide"}]}, "policy", "never_retrieve"),
    ],
)
def test_what_is_wrong_makes_the_connection_unavailable(
    tmp_path: Path, policy: dict[str, Any], key: str, words: str
) -> None:
    loaded, report = _load(tmp_path, json.dumps(policy))
    assert loaded is None
    assert not report.failed
    first, last = report.problems[0], report.problems[-1]
    assert (first.file, first.severity) == (f"{_FOLDER}/policy.json", "warning")
    assert key in (first.key or "")
    assert words in f"{first.message} {first.remedy}"
    assert "unavailable" in last.message


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"endpoints": {}, "endpoints": {}}', '{"endpoints": {"POST /x": NaN}}']
)
def test_a_file_that_cannot_be_read_makes_the_connection_unavailable(tmp_path: Path, text: str) -> None:
    loaded, report = _load(tmp_path, text)
    assert loaded is None
    assert not report.failed


def test_what_is_no_file_makes_the_connection_unavailable(tmp_path: Path) -> None:
    (tmp_path / _FOLDER / "policy.json").mkdir(parents=True)
    assert load_policy(tmp_path, _FOLDER, Report()) is None


def test_a_link_that_leads_nowhere_makes_the_connection_unavailable(tmp_path: Path) -> None:
    (tmp_path / _FOLDER).mkdir(parents=True)
    (tmp_path / _FOLDER / "policy.json").symlink_to(tmp_path / "gone.json")
    assert load_policy(tmp_path, _FOLDER, Report()) is None


def test_the_older_name_is_read_with_a_warning(tmp_path: Path) -> None:
    policy, report = _load(tmp_path, json.dumps(_FULL), "access.json")
    assert policy is not None
    assert len(policy.endpoints) == 3
    assert ["access.json" in problem.message for problem in report.problems] == [True]


def test_the_newer_name_goes_before_the_older_one(tmp_path: Path) -> None:
    _load(tmp_path, json.dumps(_FULL), "access.json")
    policy, report = _load(tmp_path, "{}")
    assert policy == Policy()
    assert [problem.file for problem in report.problems] == [f"{_FOLDER}/access.json"]


def test_a_name_in_capitals_is_a_policy_too(tmp_path: Path) -> None:
    policy, _ = _load(tmp_path, json.dumps(_FULL), "Policy.JSON")
    assert policy is not None
    assert policy.endpoints
