"""Rows of the layout that no other test looks at: keys that are accepted, places that are not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime_core.repo.bundle import Bundle, BundleError
from runtime_core.repo.loader import load_bundle
from tests.unit.engine.workshop import Repo, bench, play

WHOLE_MANIFEST: dict[str, Any] = {
    "description": "Everything a manifest may say.",
    "basePrompt": "You are careful.",
    "models": {
        "main": {
            "provider": "anthropic",
            "model": "m",
            "region": "eu",
            "baseUrl": "https://models.example",
            "fallback": {"provider": "openai", "model": "n", "fallback": {"provider": "groq", "model": "o"}},
        },
        "simple": {"provider": "google", "model": "s", "credentials": {"apiKey": "env:SIMPLE_KEY"}},
        "advanced": {"provider": "bedrock", "model": "a"},
    },
    "stores": {"dataDir": ".data", "backend": "postgres", "postgresUrl": "env:PG_URL"},
    "sandbox": {"shellExec": False, "template": "node", "maxTimeout": 30000},
    "webTools": {"provider": "google", "apiKey": "env:WEB_KEY", "model": "gemini"},
    "packages": ["@example/one", {"package": "@example/two", "use": ["connection.mail"]}],
    "memory": {
        "enabled": True,
        "editableBy": "admin",
        "maxEntries": 50,
        "maxTotalChars": 8000,
        "nudgeInterval": 10,
        "sessionSearch": True,
    },
    "scope": {"requireScope": True},
    "fileTools": {"allowedDirs": ["docs"], "blockedFiles": [".env"]},
    "embed": {"enabled": True, "position": "left", "scopeMode": "required", "theme": {"accent": "#123456"}},
    "proactive": {"webhook": "https://hooks.example/x"},
    "platform": {"projectId": "p", "apiKey": "env:PLATFORM_KEY"},
    "disabledSubagents": ["x"],
    "adminAgent": "@example/admin",
    "adminAgentVersion": "1.0.0",
    "runtimeApp": {"custom": True},
    "ci": {"evals": {"runOn": "never"}},
    "_comment": "kept",
}
NAMES = ("SIMPLE_KEY", "PG_URL", "WEB_KEY", "PLATFORM_KEY")


def errors(bundle: Bundle) -> list[str]:
    return [str(problem) for problem in bundle.problems if problem.severity == "error"]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def test_every_key_of_the_manifest_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, f"value-of-{name}")
    repo = Repo(tmp_path / "repo", **WHOLE_MANIFEST)
    bundle = load_bundle(repo.root)
    assert errors(bundle) == []
    assert set(WHOLE_MANIFEST) <= set(bundle.manifest)
    assert "value-of-" not in repr(bundle)


def test_every_key_of_a_connection_is_accepted(repo: Repo) -> None:
    repo.file(
        "amodal/connections/old/spec.json",
        {
            "protocol": "rest",
            "baseUrl": "https://old.example",
            "specUrl": "https://old.example/spec.json",
            "format": "openapi",
            "sync": {"every": "1h"},
            "filter": {"tags": ["a"]},
            "testPath": "/health",
            "_comment_auth": "none",
        },
    )
    bundle = load_bundle(repo.root)
    assert errors(bundle) == []
    assert bundle.connections["old"].spec["filter"] == {"tags": ["a"]}
    assert bundle.connections["old"].unavailable is None


def test_agents_and_evals_below_amodal_are_not_read(repo: Repo) -> None:
    repo.file("amodal/agents/helper/AGENT.md", "You help.")
    repo.file("amodal/evals/late.md", "# Eval: Late\n")
    bundle = load_bundle(repo.root)
    assert bundle.agents == {}
    told = " ".join([*(item.path for item in bundle.ignored), *map(str, bundle.problems)])
    assert "amodal/agents" in told
    assert "amodal/evals" in told


@pytest.mark.parametrize("kind", ["http", "chain"])
def test_older_types_of_tools_still_need_a_handler(repo: Repo, kind: str) -> None:
    fields: dict[str, Any] = {"type": kind, "url": "https://x.example", "steps": []}
    repo.tool("old", **fields)
    with pytest.raises(BundleError, match="handler"):
        load_bundle(repo.root)
    repo.tool("old", ts="return 1;", **fields)
    assert errors(load_bundle(repo.root)) == []


@pytest.mark.parametrize("pattern", [r"^review\s+(?<id>c_[0-9]+)$", r"^(?<name>[\w-]+)\/(?<rest>.+)$", r"^é\u00e9$"])
def test_patterns_of_triggers_are_javascript_with_named_groups(repo: Repo, pattern: str) -> None:
    triggers = [{"kind": "regex", "pattern": pattern, "flags": "i", "continueToLLM": True}, {"kind": "invoke"}]
    repo.tool("typed", ts="return 1;", triggers=triggers)
    bundle = load_bundle(repo.root)
    assert [str(problem) for problem in bundle.problems] == []
    assert bundle.tools["typed"].triggers[0]["pattern"] == pattern
    assert bundle.tools["typed"].invocable


def test_parameters_are_not_checked_in_the_invoke_lane(repo: Repo, tmp_path: Path) -> None:
    parameters = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
    repo.durable("free", ts="return params.n ?? 'nothing';", parameters=parameters)

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("free", {"n": "text"}, lane="invoke"))["result"] == "text"
            assert (await desk.run("free", {}, lane="invoke"))["result"] == "nothing"

    play(story())
