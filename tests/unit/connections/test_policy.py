"""What a policy says about a request, however the request is written: contract 9.1."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_core.connections.policy import REDACTED, restrict
from runtime_core.connections.policy import judge as judge_request
from runtime_core.connections.request import Request
from runtime_core.repo.policy import Endpoint, FieldRestriction, Policy, Threshold, Tier, Verdict
from runtime_core.wire.json import loads

_RANK: dict[Tier, int] = {"allow": 0, "confirm": 1, "review": 2, "never": 3}


def _policy(*endpoints: Endpoint) -> Policy:
    return Policy({f"{one.method} {one.path}": one for one in endpoints})


_SHIPMENTS = _policy(
    Endpoint(
        "POST",
        "/shipments",
        "confirm",
        reason="Creates a shipment",
        thresholds=(
            Threshold("body.value_eur", Decimal(5000), "review"),
            Threshold("query.copies", Decimal(9), "never"),
        ),
    ),
    Endpoint("DELETE", "/shipments/{id}", "never"),
    Endpoint("PUT", "/shipments/{id}", "review"),
    Endpoint("PUT", "/shipments/draft"),
    Endpoint("POST", "/search", is_read=True),
)


def judge(policy: Policy, method: str, endpoint: str, *params_and_data: Any, **more: Any) -> Verdict:
    request = dict(zip(("params", "data"), params_and_data, strict=False)) | more
    return judge_request(policy, Request(endpoint, method, **request))


def _tier(method: str, endpoint: str, **request: Any) -> Tier:
    return judge(_SHIPMENTS, method, endpoint, **request).tier


def test_an_endpoint_that_is_not_listed_is_allowed() -> None:
    assert _tier("POST", "/parcels") == "allow"


def test_reading_is_always_allowed() -> None:
    policy = _policy(Endpoint("GET", "/secrets", "never"))
    assert judge(policy, "GET", "/secrets").tier == "allow"


def test_the_reason_is_handed_on() -> None:
    verdict = judge(_SHIPMENTS, "post", "/shipments", {"dry": 1}, {"value_eur": 10})
    assert (verdict.tier, verdict.reason) == ("confirm", "Creates a shipment")


def test_an_exact_endpoint_goes_before_a_template() -> None:
    assert (_tier("PUT", "/shipments/draft"), _tier("PUT", "/shipments/7")) == ("allow", "review")


def test_the_more_words_of_a_template_the_sooner_it_counts() -> None:
    policy = _policy(
        Endpoint("POST", "/{kind}/{id}", "never"),
        Endpoint("POST", "/orders/{id}", "confirm"),
        Endpoint("POST", "/orders/v{id}", "review"),
    )
    tiers = [judge(policy, "POST", path).tier for path in ("/orders/7", "/orders/v7", "/users/7")]
    assert tiers == ["confirm", "review", "never"]


@pytest.mark.parametrize(
    "endpoint",
    [
        "shipments/7",
        "/shipments/7/",
        "//shipments/7",
        "/shipments//7",
        "/./shipments/x/../7",
        "/SHIPMENTS/7",
        "/%73hipments/7",
        "/%2573hipments/7",
        "/shipments%2f7",
        "\\shipments\\7",
        "/shipments;v=1/7;x",
        "/shipments/7?a=/parcels",
        "/shipments/7#part",
        "/shipments/7%3Fa",
        " /shipments /7",
        "/ship\u200bments/7",
        "/\uff53hipments/7",
        "/shipments/%2e%2e/shipments/7",
        "https://api.example.test/shipments/7",
        "\u200b/shipments/7",
        "/shipments\uff0f7",
        "/shipments/7.",
        "/shipments../7",
        "/shipments/7%2e",
        "/shipments/7%252e;x",
    ],
)
def test_no_spelling_of_a_path_dodges_never(endpoint: str) -> None:
    assert _tier("DELETE", endpoint) == "never"


@pytest.mark.parametrize("method", ["delete", " DELETE ", "Delete"])
def test_no_spelling_of_a_method_dodges_never(method: str) -> None:
    assert _tier(method, "/shipments/7") == "never"


@pytest.mark.parametrize(
    "request_",
    [
        {"headers": {"X-HTTP-Method-Override": "DELETE"}},
        {"headers": {"X_HTTP_Method_Override": "DELETE"}},
        {"params": {"_method": "delete"}},
        {"data": {"_METHOD": "DELETE"}},
        {"headers": {"X-Http-Method": "GET, DELETE"}},
        {"params": {"_method": ["POST", "DELETE"]}},
        {"params": {"_method[]": "DELETE"}},
        {"data": {"_method": ["DELETE"]}},
        {"data": [{"_method": "DELETE"}]},
        {"data": [[{"id": 1}, {"_method": "DELETE"}]]},
        {"data": {"X-HTTP-Method-Override": "DELETE"}},
        {"params": {"x-http-method-override": "DELETE"}},
        {"data": "X-HTTP-Method-Override=DELETE"},
        {"data": "_method=DELETE"},
        {"data": "a=1&%5fmethod=%44ELETE"},
        {"data": '{"_method":"DELETE"}'},
        {"data": '{"_method":"POST","_method":"DELETE"}'},
        {"data": '{"\\u005fmethod":"\\u0044ELETE"}'},
        {"data": '\ufeff{"_method":"DELETE",}'},
        {"data": '--x\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n--x--'},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_method_inside_the_request_counts_as_well(method: str, request_: dict[str, Any]) -> None:
    assert _tier(method, "/shipments/7", **request_) == "never"


@pytest.mark.parametrize("endpoint", ["/shipments/7?_method=DELETE", "/shipments/7?a=1;_method=DELETE"])
def test_another_method_in_the_endpoint_counts_as_well(endpoint: str) -> None:
    assert _tier("POST", endpoint) == "never"


@pytest.mark.parametrize(
    "data",
    [{"method": "DELETE"}, '{"payment_method":"delete"}', "method=DELETE", "How to delete it", '{"_method":"PUT"}'],
)
def test_a_body_that_names_no_other_method_is_one_as_any(data: object) -> None:
    policy = _policy(Endpoint("DELETE", "/x", "never"))
    assert judge(policy, "POST", "/x", data=data).tier == "allow"


def test_a_path_that_is_encoded_again_and_again_is_refused() -> None:
    path = "/shipments/7"
    for _ in range(12):
        path = path.replace("%", "%25").replace("s", "%73", 1)
    assert _tier("POST", path) == "never"


def test_a_template_of_many_placeholders_is_compared_at_once() -> None:
    policy = _policy(Endpoint("POST", "/x/" + "{a}" * 60 + "-{b}-!", "never"))
    assert [judge(policy, "POST", f"/x/{'-' * 5000}{end}").tier for end in ("", "!")] == ["allow", "never"]


@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=4), st.text("ab", max_size=8))
def test_a_template_fits_what_has_its_words_in_turn(words: list[str], segment: str) -> None:
    policy = _policy(Endpoint("POST", "/x" + "{i}".join(words), "never"))
    is_fitting = re.fullmatch(".*".join(words), segment) is not None
    assert (judge(policy, "POST", f"/x{segment}").tier == "never") == is_fitting


def test_a_word_that_only_looks_exact_does_not_lower_the_tier() -> None:
    """A server that reads the path as it stands takes it for an id."""
    assert (_tier("PUT", "/shipments/Draft"), _tier("PUT", "/shipments/dr%61ft")) == ("review", "review")


def test_reading_intent_counts_only_where_the_endpoint_declares_it() -> None:
    assert _tier("POST", "/search", is_read=True) == "allow"
    verdict = judge(_SHIPMENTS, "POST", "/parcels", is_read=True)
    assert verdict.tier == "never"
    assert 'intent "read"' in (verdict.reason or "")


@pytest.mark.parametrize(
    ("value", "tier"),
    [
        ("5000", "confirm"),
        ("5000.0", "confirm"),
        ("5000.0000000000000000001", "review"),
        ("5001", "review"),
        ('"5001"', "review"),
        ('" 5e4 "', "review"),
        ('"4999.99"', "confirm"),
        ("-1", "confirm"),
        ('"5.001,00"', "review"),
        ('"much"', "review"),
        ('""', "review"),
        ("null", "review"),
        ("true", "review"),
        ("{}", "review"),
        ("[1, 2]", "confirm"),
        ("[1, 5001]", "review"),
        ("9e99999999999999999999", "review"),
    ],
)
def test_a_threshold_is_strict_and_what_cannot_be_compared_raises_the_tier(value: str, tier: Tier) -> None:
    assert _tier("POST", "/shipments", data=loads(f'{{"value_eur": {value}}}')) == tier


@pytest.mark.parametrize(
    "data",
    ['{"value_eur": 9000}', "value_eur=9000", {"VALUE_EUR": 9000}, [{"value_eur": 9000}], {"value_eur ": "9000"}],
)
def test_a_threshold_finds_its_value_however_the_body_is_written(data: object) -> None:
    assert _tier("POST", "/shipments", data=data) == "review"


def test_a_threshold_of_the_query_is_found_in_the_endpoint_too() -> None:
    assert _tier("POST", "/shipments", params={"copies": 10}) == "never"
    assert _tier("POST", "/shipments?copies=10") == "never"
    assert _tier("POST", "/shipments?copies=1&copies=10", params={"copies": 2}) == "never"
    assert _tier("POST", "/shipments?copies=9") == "confirm"


def test_a_threshold_reaches_into_lists_and_flat_names() -> None:
    limit = (Threshold("body.lines.amount", Decimal(10), "never"),)
    policy = _policy(Endpoint("POST", "/orders", thresholds=limit))
    bodies = ({"lines": [{"amount": 1}, {"amount": 11}]}, {"lines.amount": 11}, {"lines[amount]": "11"})
    assert [judge(policy, "POST", "/orders", data=body).tier for body in bodies] == ["never"] * 3
    assert judge(policy, "POST", "/orders", data={"lines": [{"amount": 10}]}).tier == "allow"


def test_a_threshold_never_lowers_a_tier() -> None:
    limit = (Threshold("body.n", Decimal(1), "review"),)
    policy = _policy(Endpoint("POST", "/x", "never", reason="No.", thresholds=limit))
    verdict = judge(policy, "POST", "/x", data={"n": 2})
    assert (verdict.tier, verdict.reason) == ("never", "No.")


_WORDS = st.sampled_from(["shipments", "orders", "draft", "search"])
_PATHS = st.lists(st.one_of(_WORDS, st.just("{id}")), min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
_TIERS: st.SearchStrategy[Tier] = st.sampled_from(list(_RANK))
_POLICIES = st.dictionaries(_PATHS, _TIERS, min_size=1).map(
    lambda tiers: _policy(*(Endpoint("POST", path, tier) for path, tier in tiers.items()))
)


@st.composite
def _rewritten(draw: st.DrawFn, path: str) -> str:
    """The same path in another spelling."""
    parts: list[str] = []
    for part in path.strip("/").split("/"):
        letters = [
            draw(st.sampled_from([letter, f"%{ord(letter):02x}", f"%25{ord(letter):02X}", letter.upper()]))
            for letter in part
        ]
        parts.append("".join(letters) + draw(st.sampled_from(["", ";v=1", "%20"])))
        parts += draw(st.sampled_from([[], ["."], ["a", ".."], [""], ["%2e"]]))
    text = draw(st.sampled_from(["/", "%2F", "\\"])).join(parts)
    return draw(st.sampled_from(["/", ""])) + text + draw(st.sampled_from(["", "/", "?a=1", "#a"]))


@given(data=st.data(), policy=_POLICIES, words=st.lists(st.one_of(_WORDS, st.just("7")), min_size=1, max_size=3))
def test_no_rewriting_of_a_request_lowers_its_tier(data: st.DataObject, policy: Policy, words: list[str]) -> None:
    path = "/" + "/".join(words)
    plain = judge(policy, "POST", path).tier
    assert _RANK[judge(policy, "POST", data.draw(_rewritten(path))).tier] >= _RANK[plain]


@given(
    value=st.one_of(st.integers(), st.decimals(allow_nan=False, allow_infinity=False, places=3), st.booleans()),
    limit=st.integers(-1000, 1000),
)
def test_a_value_above_the_limit_raises_the_tier_whether_number_or_text(value: object, limit: int) -> None:
    policy = _policy(Endpoint("POST", "/x", thresholds=(Threshold("data.n", Decimal(limit), "never"),)))
    written = str(value).lower()
    tiers = {
        judge(policy, "POST", "/x", data=loads(body)).tier for body in (f'{{"n":{written}}}', f'{{"n":"{written}"}}')
    }
    is_above = isinstance(value, bool) or Decimal(str(value)) > limit
    assert tiers == {"never" if is_above else "allow"}


def test_restricted_fields_are_taken_out_or_masked_at_any_depth() -> None:
    policy = Policy(
        restrictions=(
            FieldRestriction("Shipper", "tax_id", "never_retrieve"),
            FieldRestriction("Shipper", "phone", "retrieve_but_redact"),
            FieldRestriction("Shipper", "rate", "role_gated"),
            FieldRestriction("Shipper", "address.street", "never_retrieve"),
        )
    )
    data = {
        "shippers": [{"name": "A", "TAX_ID": 1, "phone": "+1", "rate": 2}],
        "address": {"street": "x", "city": "y"},
        "street": "kept",
    }
    seen, stripped = restrict(policy, data)
    assert seen == {
        "shippers": [{"name": "A", "phone": REDACTED}],
        "address": {"city": "y"},
        "street": "kept",
    }
    assert sorted(stripped) == ["address.street", "phone", "rate", "tax_id"]


def test_a_result_without_restricted_fields_is_as_it_was() -> None:
    assert restrict(Policy(), {"a": [1]}) == ({"a": [1]}, [])
