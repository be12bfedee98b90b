"""`connections/<name>/`: contract 1.6. One that cannot be used stops nothing and stays known as unavailable."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_core.connections.vetting import Vetting
from runtime_core.repo.bundle import Bundle, BundleError
from runtime_core.repo.loader import load_bundle
from tests.unit.repo.building import Repository

BEARER = {"type": "bearer", "token": "env:CRM_TOKEN"}


def load(repository: Repository) -> Bundle:
    known = {"CRM_TOKEN", "OTHER"}.__contains__
    return load_bundle(repository.root, known=known, vetting=Vetting(repository.root))


def unavailable(repository: Repository) -> str:
    """Why the one connection cannot be used; nothing else is wrong."""
    bundle = load(repository)
    assert {problem.severity for problem in bundle.problems} == {"warning"}
    (connection,) = bundle.connections.values()
    assert connection.unavailable is not None
    return "\n".join(map(str, bundle.problems))


def test_a_connection_with_everything(repository: Repository) -> None:
    repository.connection(
        "crm",
        folder="amodal/connections",
        auth=BEARER,
        headers={"X-Client": "desk", "Authorization": "env:OTHER"},
        contextInjection={"tenant": {"in": "header", "field": "X-Tenant", "required": True}},
        openapi={"source": "openapi.json", "exposure": "discovery"},
        test={"method": "POST", "path": "/login", "body": {"token": "x"}},
        note="kept",
    )
    for name in ("surface", "rules"):
        repository.write(f"amodal/connections/crm/{name}.md", "x")
    repository.write("amodal/connections/crm/policy.json", {"endpoints": {"POST /orders": {"confirm": True}}})
    bundle = load(repository)
    assert bundle.problems == ()
    connection = bundle.connections["crm"]
    assert (connection.protocol, connection.unavailable) == ("rest", None)
    assert connection.spec["auth"] == BEARER
    assert connection.spec["note"] == "kept"
    assert [endpoint.tier for endpoint in connection.policy.endpoints.values()] == ["confirm"]
    assert connection.texts == {
        "surface": "amodal/connections/crm/surface.md",
        "rules": "amodal/connections/crm/rules.md",
    }


@pytest.mark.parametrize(
    "spec",
    [
        {"protocol": "mcp", "command": "docs-server", "args": ["--stdio"]},
        {"protocol": "mcp", "transport": "http", "url": "https://docs.example/mcp"},
        {"protocol": "gmail", "accessToken": "env:CRM_TOKEN", "fromAddress": "a@b.example"},
        {
            "auth": {
                "type": "oauth2",
                "clientId": "desk",
                "clientSecret": "env:OTHER",
                "tokenUrl": "https://id.example/token",
            }
        },
        {"auth": {"type": "api_key", "header": "X-Api-Key", "token": "scope:CRM_KEY"}},
        {"auth": {"type": "basic", "username": "desk", "password": "env:OTHER"}},
    ],
)
def test_every_kind_of_connection(repository: Repository, spec: dict[str, Any]) -> None:
    repository.write("connections/crm/spec.json", {"baseUrl": "https://crm.example", **spec})
    bundle = load(repository)
    assert bundle.problems == ()
    assert bundle.connections["crm"].unavailable is None
    assert bundle.connections["crm"].protocol == spec.get("protocol", "rest")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"baseUrl": ""}, "baseUrl is missing"),
        ({"auth": {"type": "magic"}}, "[auth.type]"),
        ({"auth": {"type": "bearer", "token": "env:UNSET"}}, "UNSET is not set"),
        ({"auth": {"type": "bearer", "token": "env:"}}, '"env:" names no variable'),
        ({"auth": {"type": "bearer", "token": "env: CRM_TOKEN"}}, "names no variable"),
        ({"headers": {"X-Client": 5}}, "[headers.X-Client]"),
        ({"contextInjection": {"tenant": {"in": "cookie", "field": "x"}}}, "[contextInjection.tenant.in]"),
        ({"protocol": "mcp"}, "Neither command nor url"),
        (
            {"protocol": "mcp", "url": "https://"},
            "[url]: the base URL has to begin with http:// or https:// and a host",
        ),
        ({"protocol": "soap"}, 'There is no driver "soap" here'),
        ({"baseUrl": "ftp://crm.example"}, "has to begin with http:// or https:// and a host"),
        ({"baseUrl": "a.example"}, "has to begin with http:// or https:// and a host"),
        ({"baseUrl": "https://"}, "has to begin with http:// or https:// and a host"),
        ({"baseUrl": "https://crm.example/#a"}, "fragment"),
        ({"auth": {"type": "bearer"}}, "[auth.token]: it is missing"),
        ({"auth": {"type": "basic"}}, "[auth.username]: it is missing"),
        ({"auth": {"type": "header", "token": "env:CRM_TOKEN"}}, "[auth.header]: it is missing"),
        ({"auth": {"type": "oauth2", "provider": "google"}}, "signing in as a person"),
        (
            {"auth": {"type": "oauth2", "tokenUrl": "id.example", "clientId": "a", "clientSecret": "env:OTHER"}},
            "[auth.tokenUrl]: the base URL has to begin",
        ),
    ],
)
def test_what_cannot_be_used_says_why(repository: Repository, spec: dict[str, Any], words: str) -> None:
    repository.tool("ship", uses={"tools": ["crm__list_orders"]})
    repository.write("connections/crm/spec.json", {"baseUrl": "https://crm.example", **spec})
    assert words in unavailable(repository)


OPENAPI = {"openapi": "3.0.0", "paths": {"/orders": {"get": {"operationId": "list-orders", "responses": {}}}}}
LOCAL = {"openapi": {"source": "openapi.json"}}


@pytest.mark.parametrize(
    ("spec", "name", "words"),
    [
        ({}, "crm__list_orders", "has no OpenAPI document"),
        (LOCAL, "crm__list_order", 'no such operation. Correct the name. Did you mean "crm__list_orders"?'),
        (LOCAL, "crm__nope", "no such operation"),
        ({}, "crm__discover", "has no OpenAPI document"),
    ],
)
def test_an_operation_that_is_certainly_not_there_fails_the_bundle(
    repository: Repository, spec: dict[str, Any], name: str, words: str
) -> None:
    repository.tool("ship", execution="durable", uses={"tools": ["request", name]})
    repository.connection("crm", **spec)
    repository.write("connections/crm/openapi.json", OPENAPI)
    with pytest.raises(BundleError) as caught:
        load(repository)
    (problem,) = caught.value.problems
    assert (problem.file, problem.key) == ("amodal/tools/ship/tool.json", "uses.tools[1]")
    assert problem.line is not None
    assert words in str(problem)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (LOCAL, "crm__list_orders"),
        (LOCAL, "crm__list-orders"),
        (LOCAL, "crm__discover"),
        ({"openapi": {"source": "https://crm.example/openapi.json"}}, "crm__nope"),
        ({"openapi": {"source": "env:OTHER"}}, "crm__nope"),
        ({"openapi": {"source": "gone.json"}}, "crm__nope"),
        ({"protocol": "mcp", "command": "x"}, "crm__nope"),
    ],
)
def test_an_operation_that_may_be_there_is_left_to_the_run(
    repository: Repository, spec: dict[str, Any], name: str
) -> None:
    repository.tool("ship", execution="durable", uses={"tools": [name]})
    repository.connection("crm", **spec)
    repository.write("connections/crm/openapi.json", OPENAPI)
    assert load(repository).problems == ()


@pytest.mark.parametrize(
    "spec",
    [
        {"auth": {"type": "bearer", "token": "sk-literal-77"}},
        {"auth": {"type": "basic", "username": "desk", "password": "sk-literal-77"}},
        {"auth": {"type": "oauth2", "client_secret": "sk-literal-77"}},
        {"auth": {"type": "header", "header": "X-Key", "value": "sk-literal-77"}},
        {"headers": {"authorization": "Bearer sk-literal-77"}},
        {"headers": {"X-API-Key": "sk-literal-77"}},
        {"protocol": "gmail", "accessToken": "sk-literal-77"},
        {"protocol": "mcp", "command": "x", "env": {"GITHUB_TOKEN": "sk-literal-77"}},
        {"baseUrl": "https://desk:sk-literal-77@crm.example"},
        {"baseUrl": "https://crm.example/v1?api_key=sk-literal-77"},
        {"openapi": {"source": "https://crm.example/openapi.json?token=sk-literal-77"}},
    ],
)
def test_a_secret_in_the_file_is_not_used_and_goes_nowhere(repository: Repository, spec: dict[str, Any]) -> None:
    repository.write("connections/crm/spec.json", {"baseUrl": "https://crm.example", **spec})
    said = unavailable(repository)
    assert 'Write "env:NAME"' in said
    bundle = load(repository)
    assert "sk-literal-77" not in said + repr(bundle)


def test_a_policy_that_is_not_understood_leaves_no_way_around_it(repository: Repository) -> None:
    repository.connection("crm")
    repository.write("connections/crm/policy.json", {"endpoints": {"POST /orders": {"confirm": False}}})
    assert "policy.json" in unavailable(repository)


@pytest.mark.parametrize("protocol", ["mcp", "gmail"])
def test_a_policy_that_nobody_asks_is_said(repository: Repository, protocol: str) -> None:
    repository.write("connections/crm/spec.json", {"protocol": protocol, "command": "docs-server"})
    repository.write("connections/crm/policy.json", {"endpoints": {"POST /orders": {"confirm": "never"}}})
    bundle = load(repository)
    (problem,) = bundle.problems
    assert (problem.file, problem.severity) == ("connections/crm/policy.json", "warning")
    assert f"guards nothing: nobody asks it about a connection of the protocol {protocol}" in problem.message
    assert bundle.connections["crm"].unavailable is None


def test_a_folder_without_a_spec_is_no_reason_to_stop(repository: Repository) -> None:
    repository.write("connections/crm/surface.md", "x")
    assert "connections/crm/spec.json" in unavailable(repository)


def test_values_are_never_part_of_what_was_loaded(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRM_TOKEN", "sk-from-outside")
    repository.connection("crm", auth=BEARER)
    repository.write(
        "amodal.json",
        {
            "name": "x",
            "version": "1",
            "webTools": {"provider": "google", "apiKey": "env:CRM_TOKEN"},
            "mcp": {"servers": {"docs": {"command": "docs", "env": {"TOKEN": "env:CRM_TOKEN"}}}},
        },
    )
    bundle = load_bundle(repository.root)
    assert bundle.problems == ()
    assert "sk-from-outside" not in repr(bundle)


def test_a_name_inside_a_longer_text_is_told(repository: Repository) -> None:
    repository.connection(
        "crm",
        headers={"X-Key": "Key env:CRM_TOKEN", "X-Other": "env:OTHER"},
        auth={"type": "oauth2", "tokenUrl": "http://x.example?x=env:API", "clientId": "a", "clientSecret": "env:OTHER"},
        note="a myenv:word, and env: alone",
    )
    web = {"provider": "google", "apiKey": "env:OTHER", "model": "m-env:MODEL"}
    repository.write("amodal.json", {"name": "x", "version": "1", "webTools": web})
    problems = {problem.key: problem for problem in load(repository).problems}
    assert set(problems) == {"headers.X-Key", "auth.tokenUrl", "webTools.model"}
    assert "env:CRM_TOKEN stands inside a longer text" in problems["headers.X-Key"].message
    assert "env:API alone" in problems["auth.tokenUrl"].remedy
    assert {problem.severity for problem in problems.values()} == {"warning"}


@pytest.mark.parametrize(
    ("key", "spec"),
    [
        ("baseUrl", {"baseUrl": "http://169.254.169.254/latest"}),
        ("baseUrl", {"baseUrl": "http://metadata.google.internal"}),
        ("auth.tokenUrl", {"auth": {"type": "oauth2", "tokenUrl": "http://[fe80::1]/t", "clientId": "a"}}),
        ("url", {"protocol": "mcp", "url": "http://169.254.170.2/mcp"}),
    ],
)
def test_a_closed_address_is_told_before_it_is_used(repository: Repository, key: str, spec: dict[str, Any]) -> None:
    if "auth" in spec:
        spec["auth"]["clientSecret"] = "env:OTHER"
    repository.connection("crm", **spec)
    told = unavailable(repository)
    assert f"[{key}]" in told
    assert "nothing is sent there" in told


@pytest.mark.parametrize("key", ["devInboxDir", "devSinkDir"])
@pytest.mark.parametrize(
    ("folder", "warns"), [("/etc", True), ("../x", True), ("a/../../x", True), ("~/mail", True), ("in/box", False)]
)
def test_a_folder_for_mail_that_is_refused_is_said(repository: Repository, key: str, folder: str, warns: bool) -> None:
    repository.write("connections/post/spec.json", {"protocol": "gmail", key: folder})
    bundle = load(repository)
    assert [(one.severity, one.key) for one in bundle.problems] == ([("warning", key)] if warns else [])
    assert bundle.connections["post"].unavailable is None
