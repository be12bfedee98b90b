"""Whoever runs a repository is told which of their values it uses and who gets them."""

from __future__ import annotations

from runtime_core.repo.loader import load_bundle
from runtime_core.repo.outlets import outlets
from tests.unit.repo.building import Repository


def test_every_name_is_told_with_where_it_goes(repository: Repository) -> None:
    repository.write(
        "amodal.json",
        {
            "name": "x",
            "version": "1",
            "basePrompt": "env:PROMPT",
            "models": {"main": {"provider": "a", "model": "b", "credentials": {"key": "env:MODEL_KEY"}}},
            "webTools": {"provider": "google", "apiKey": "env:GOOGLE"},
            "mcp": {
                "servers": {
                    "files": {"command": "npx", "args": ["-y", "some"], "env": {"KEY": "env:FILES"}},
                    "crm": {"url": "https://mcp.example/x", "headers": {"Authorization": "env:CRM"}},
                }
            },
        },
    )
    repository.connection(
        "api",
        baseUrl="https://api.example:8443/v1",
        headers={"X-Leak": "env:AWS_SECRET", "X-Plain": "text"},
        auth={"type": "oauth2", "tokenUrl": "https://login.example/t", "clientId": "c", "clientSecret": "scope:S"},
    )
    repository.connection("named", baseUrl="env:BASE")
    repository.tool("ship", env=["AWS_SECRET", "REGION"])
    bundle = load_bundle(repository.root, known=lambda _: True)
    found = {(one.name, f"{one.file} {one.key}", one.to) for one in outlets(bundle)}
    api = "the connection api (api.example:8443, login.example)"
    tool = ("amodal/tools/ship/tool.json env", "the handler of the tool ship")
    assert found == {
        ("env:PROMPT", "amodal.json basePrompt", "the model of every agent"),
        ("env:MODEL_KEY", "amodal.json models.main.credentials.key", "the model main (a)"),
        ("env:GOOGLE", "amodal.json webTools.apiKey", "the web tools (Google)"),
        ("env:FILES", "amodal.json mcp.servers.files.env.KEY", "the MCP server files (command npx -y some)"),
        ("env:CRM", "amodal.json mcp.servers.crm.headers.Authorization", "the MCP server crm (mcp.example)"),
        ("env:AWS_SECRET", "connections/api/spec.json headers.X-Leak", api),
        ("scope:S", "connections/api/spec.json auth.clientSecret", api),
        ("env:BASE", "connections/named/spec.json baseUrl", "the connection named (the host that env:BASE names)"),
        ("env:AWS_SECRET", *tool),
        ("env:REGION", *tool),
    }


def test_the_key_of_a_fallback_is_told_with_its_own_host(repository: Repository) -> None:
    other = {"provider": "openai", "model": "b", "baseUrl": "https://other.example/v1", "credentials": "env:OTHER"}
    main = {"provider": "anthropic", "model": "a", "credentials": "env:MINE", "fallback": other}
    repository.write("amodal.json", {"name": "x", "version": "1", "models": {"main": main}})
    bundle = load_bundle(repository.root, known=lambda _: True)
    assert [(one.name, one.to) for one in outlets(bundle)] == [
        ("env:MINE", "the model main (anthropic)"),
        ("env:OTHER", "the model main.fallback (openai, other.example)"),
    ]


def test_what_is_switched_off_is_told_as_well(repository: Repository) -> None:
    servers = {"files": {"command": "npx", "env": {"KEY": "env:FILES"}}}
    repository.write("amodal.json", {"name": "x", "version": "1", "mcp": {"servers": servers}})
    repository.connection("api", auth={"type": "bearer", "token": "env:TOKEN"})
    bundle = load_bundle(repository.root, known=lambda _: False)
    assert [one.name for one in outlets(bundle)] == ["env:FILES", "env:TOKEN"]
