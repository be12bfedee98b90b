"""What is said of the models of a repository before anybody asks them anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime_core.agents.model_check import Used, used_models
from runtime_core.repo.loader import load_bundle
from runtime_core.wire.settings import DefaultModels
from tests.unit.agents.asking import a_key, no_key

CLAUDE = {"provider": "anthropic", "model": "claude-x"}


def repository(root: Path, models: dict[str, Any] | None, **tiers: str) -> Path:
    manifest: dict[str, Any] = {"name": "desk", "version": "1"}
    root.joinpath("amodal.json").write_text(json.dumps(manifest if models is None else {**manifest, "models": models}))
    for agent, tier in {"default": "default", **tiers}.items():
        folder = root / "agents" / agent
        folder.mkdir(parents=True)
        (folder / "AGENT.md").write_text("You help.")
        (folder / "agent.json").write_text(json.dumps({"modelTier": tier, "tools": []}))
    return root


def used(root: Path, secret: Any = a_key, defaults: DefaultModels | None = None) -> Used:
    return used_models(load_bundle(root, known=lambda name: True), defaults or DefaultModels(), secret)


def test_each_agent_is_told_with_the_model_of_its_tier(tmp_path: Path) -> None:
    (tmp_path / "replies.json").write_text('{"replies": []}')
    local = {"provider": "openai", "model": "qwen", "baseUrl": "http://localhost:1/v1"}
    models = {"main": {**CLAUDE, "fallback": local}, "simple": {"provider": "scripted", "model": "replies.json"}}
    found = used(repository(tmp_path, models, quick="simple", deep="advanced"))
    assert found.problems == []
    assert found.models == {
        "default": ["anthropic:claude-x", "openai:qwen@http://localhost:1/v1"],
        "deep": ["anthropic:claude-x", "openai:qwen@http://localhost:1/v1"],
        "quick": ["scripted:replies.json"],
    }


def test_an_agent_without_a_model_uses_that_of_the_settings_or_none(tmp_path: Path) -> None:
    root = repository(tmp_path, None)
    assert used(root) == Used({"default": []}, [])
    mine = used(root, defaults=DefaultModels(main="ollama:llama"), secret=no_key)
    assert mine == Used({"default": ["ollama:llama"]}, [])


def test_a_keychain_that_does_not_answer_is_named_instead_of_a_missing_key(tmp_path: Path) -> None:
    bundle = load_bundle(repository(tmp_path, {"main": CLAUDE}))
    (problem,) = used_models(bundle, DefaultModels(), no_key, lambda: "The keychain is locked.").problems
    assert problem.message.endswith("cannot be asked: ANTHROPIC_API_KEY is not in the environment.")
    assert problem.remedy == "The keychain is locked."


def test_a_missing_key_is_a_warning_with_the_command_that_stores_it(tmp_path: Path) -> None:
    theirs = {"provider": "openai", "model": "m", "baseUrl": "https://x.example/v1", "credentials": "env:THEIRS"}
    root = repository(tmp_path, {"main": {**CLAUDE, "fallback": theirs}}, other="default")
    found = used(root, no_key)
    said_at_load = load_bundle(root, known=lambda name: False).problems
    problems = [*said_at_load, *found.problems]
    assert [(problem.severity, problem.code) for problem in problems] == [("warning", "ENV_NOT_SET")] * 2
    theirs_lacks, ours_lacks = map(str, problems)
    assert "There is no THEIRS, so the model of models.main.fallback cannot be asked." in theirs_lacks
    assert "anthropic:claude-x (amodal.json [models.main])" in ours_lacks
    assert "Store it with: operator-inbox secret set ANTHROPIC_API_KEY, or set ANTHROPIC_API_KEY in" in ours_lacks


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ({"main": {"provider": "bedrock", "model": "x"}}, "amodal.json [models.main]: the provider"),
        ({"main": {"provider": "acme", "model": "x"}}, 'no provider "acme"'),
        ({"main": {"provider": "scripted", "model": "gone.json"}}, "gone.json does not exist"),
        ({"main": {**CLAUDE, "credentials": 5}}, "credentials name no key"),
        ({"main": {**CLAUDE, "credentials": {"value": "sk-77"}}}, "[models.main]: credentials name no key"),
    ],
)
def test_a_model_that_cannot_be_used_is_a_warning(tmp_path: Path, models: dict[str, Any], words: str) -> None:
    (problem,) = used(repository(tmp_path, models)).problems
    assert problem.severity == "warning"
    assert words in str(problem)
    assert "sk-77" not in str(problem)


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"baseUrl": 5}, "models.main.baseUrl"),
        ({"baseUrl": "localhost:11434"}, "models.main.baseUrl"),
    ],
)
def test_what_a_model_is_reached_with_is_checked_when_the_repository_is_read(
    tmp_path: Path, more: dict[str, Any], key: str
) -> None:
    from runtime_core.repo.bundle import BundleError

    with pytest.raises(BundleError) as caught:
        load_bundle(repository(tmp_path, {"main": {**CLAUDE, **more}}))
    assert [problem.key for problem in caught.value.problems] == [key]


def test_a_fallback_without_its_key_leaves_the_others(tmp_path: Path) -> None:
    last = {**CLAUDE, "model": "last", "credentials": "env:NOT_SET_HERE"}
    chain = {**CLAUDE, "fallback": {**CLAUDE, "model": "second", "fallback": last}}
    bundle = load_bundle(repository(tmp_path, {"main": chain}), known=lambda name: False)
    assert bundle.manifest["models"] == {"main": chain}  # if the key comes while the program runs, it is asked
    assert [problem.key for problem in bundle.problems] == ["models.main.fallback.fallback.credentials"]


def test_names_of_models_are_looked_up_in_fallbacks_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHICH", "claude-y")
    root = repository(tmp_path, {"main": {**CLAUDE, "fallback": {**CLAUDE, "model": "env:WHICH", "region": "eu"}}})
    assert used(root).models["default"] == ["anthropic:claude-x", "anthropic:claude-y"]
    (ignored,) = load_bundle(root).ignored
    assert "models.main.fallback.region" in ignored.path
