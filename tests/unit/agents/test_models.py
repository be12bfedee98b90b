"""Which model an agent uses: what names it, in which order, and what is said of a name that cannot be used."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_core.agents.models import Models, Naming, Tier, absolute, check_spec, named_models
from runtime_core.agents.providers import PROVIDERS, ModelSpec, read_spec
from runtime_core.agents.turns import Message, Model, ModelUnusable, Reply, Turn
from runtime_core.wire.settings import DefaultModels

NOWHERE = Path("/nowhere")


def script(folder: Path, *texts: str, name: str = "script.json") -> Path:
    path = folder / name
    path.write_text(json.dumps({"replies": [{"text": text} for text in texts]}))
    return path


def named(
    manifest: dict[str, Any],
    tier: Tier = "default",
    *,
    override: str | None = None,
    defaults: DefaultModels | None = None,
    root: Path = NOWHERE,
    folder: Path = NOWHERE,
) -> list[str]:
    specs = named_models(Naming(manifest, root, defaults or DefaultModels(), override, folder), tier)
    return [str(spec) for spec in specs]


def choice(name: str, **more: object) -> dict[str, object]:
    return {"provider": "anthropic", "model": name, **more}


def block(**tiers: object) -> dict[str, Any]:
    return {"models": tiers}


MINE = DefaultModels(main="openai:mine", simple="openai:small")


@pytest.mark.parametrize(
    ("tiers", "tier", "expected"),
    [
        ({"main": choice("m"), "simple": choice("s")}, "default", "anthropic:m"),
        ({"main": choice("m"), "simple": choice("s")}, "simple", "anthropic:s"),
        ({"main": choice("m"), "simple": choice("s")}, "advanced", "anthropic:m"),
        ({"main": choice("m")}, "simple", "anthropic:m"),
        ({"simple": choice("s")}, "default", "openai:mine"),
        ({}, "simple", "openai:small"),
        ({}, "advanced", "openai:mine"),
    ],
)
def test_a_tier_is_looked_for_in_the_repository_first(tiers: dict[str, object], tier: Tier, expected: str) -> None:
    assert named(block(**tiers), tier, defaults=MINE) == [expected]


@pytest.mark.parametrize("manifest", [{}, {"models": {}}, {"models": None}, {"models": {"main": None}}])
def test_no_model_is_no_model(manifest: dict[str, Any]) -> None:
    assert named(manifest) == []


@pytest.mark.parametrize("tier", ["default", "simple", "advanced"])
def test_what_is_given_at_the_start_counts_for_all_agents(tier: Tier) -> None:
    manifest = block(main=choice("m"), simple=choice("s"), advanced=choice("a"))
    assert named(manifest, tier, override="openai:o", defaults=MINE) == ["openai:o"]


def test_fallbacks_are_a_chain() -> None:
    chain = choice("a", fallback=choice("b", fallback={"provider": "openai", "model": "c", "baseUrl": "http://x/v1"}))
    assert named(block(main=chain)) == ["anthropic:a", "anthropic:b", "openai:c@http://x/v1"]


def test_a_chain_of_fallbacks_has_an_end() -> None:
    chain = choice("last")
    for _ in range(11):
        chain = choice("x", fallback=chain)
    with pytest.raises(ModelUnusable, match="at most 10 fallbacks"):
        named(block(main=chain))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("anthropic:claude-x", ("anthropic", "claude-x", None)),
        ("ollama:llama3.2:3b", ("ollama", "llama3.2:3b", None)),
        ("openai:qwen@http://localhost:11434/v1", ("openai", "qwen", "http://localhost:11434/v1")),
        ("openrouter:a/b:free@https://x.example/v1", ("openrouter", "a/b:free", "https://x.example/v1")),
        ("openai:model@2024", ("openai", "model@2024", None)),
    ],
)
def test_a_spec_is_read(spec: str, expected: tuple[str, str, str | None]) -> None:
    found = read_spec(spec, "--model")
    assert (found.provider, found.model, found.base_url) == expected
    assert str(found) == spec


@given(st.sampled_from(sorted(PROVIDERS)), st.text("abc-./:1", min_size=1), st.none() | st.just("https://h.example/v1"))
def test_a_spec_that_is_written_is_read_the_same(provider: str, model: str, base_url: str | None) -> None:
    text = str(ModelSpec(provider, model, "x", base_url))
    assert str(read_spec(text, "x")) == text


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("claude", "names no model"),
        ("anthropic:", "names no model"),
        ("", "names no model"),
        ("scripted:", "needs a file"),
        ("acme:x", 'no provider "acme".*anthropic.*baseUrl'),
        ("bedrock:x", "bedrock.*not spoken.*gateway"),
        ("openai:x@http://user:pass@host/v1", "user or a password"),
        ("openai:x@https://", "host"),
        ("openai:x@http://127.0.0.1/v1?key=SECRET", "contains a query"),
        ("openai:x@http://127.0.0.1/v1#key=SECRET", "contains a fragment"),
        ("openai:x@127.0.0.1:9305/v1", "127.0.0.1:9305/v1' has to begin with http://"),
        ("openai:x@localhost/v1", "has to begin with http://"),
        ("openai:x@gpu.example/v1", "has to begin with http://"),
        ("openai:x@ftp://127.0.0.1/v1", "has to begin with http://"),
    ],
)
def test_a_spec_that_cannot_be_used_is_refused_where_it_stands(spec: str, words: str) -> None:
    with pytest.raises(ModelUnusable, match=f"^--model: .*{words}") as refused:
        check_spec(spec, NOWHERE)
    assert "SECRET" not in str(refused.value)


def test_a_provider_nobody_knows_is_named_with_its_key() -> None:
    manifest = block(main=choice("a", fallback={"provider": "bedrock", "model": "b"}))
    with pytest.raises(ModelUnusable, match=r"^amodal\.json \[models\.main\.fallback\]: .*bedrock"):
        named(manifest)


def test_the_key_of_a_provider_goes_only_where_it_belongs() -> None:
    theirs = ModelSpec("openai", "m", "amodal.json", "https://elsewhere.example/v1")
    assert theirs.key is None
    assert ModelSpec("openai", "m", "amodal.json").key == "OPENAI_API_KEY"
    assert ModelSpec("openai", "m", "amodal.json", theirs.base_url, "env:OTHER").key == "OTHER"
    assert read_spec("openai:m@https://elsewhere.example/v1", "--model").key == "OPENAI_API_KEY"


def test_the_name_of_a_key_may_stand_in_an_object() -> None:
    manifest = block(main=choice("m", credentials={"apiKey": "env:MINE"}))
    (spec,) = named_models(Naming(manifest, NOWHERE, DefaultModels(), None, NOWHERE))
    assert spec.key == "MINE"


def test_a_scripted_spec_reads_the_same_from_everywhere(tmp_path: Path) -> None:
    assert absolute("scripted:a.json", tmp_path) == f"scripted:{tmp_path / 'a.json'}"
    assert absolute("openai:x@http://localhost/v1", tmp_path) == "openai:x@http://localhost/v1"


def test_a_missing_script_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelUnusable, match=r"none\.json does not exist"):
        check_spec("scripted:none.json", tmp_path)


def choose(models: Models, root: Path, user: str = "run_1", tier: Tier = "default", **more: Any) -> Model | None:
    manifest = more.pop("manifest", block(main={"provider": "scripted", "model": "script.json"}))
    return asyncio.run(models.choose(user, manifest, root, tier, **more))


def said(model: Model | None) -> str:
    async def ask() -> Reply:
        assert model is not None
        return await model.reply(Turn("default", "You help.", (Message("user", "hello"),)))

    return asyncio.run(ask()).text


def test_the_manifest_names_a_file_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    script(tmp_path, "from the repository")
    assert said(choose(Models(None, DefaultModels(), lambda _: None), tmp_path)) == "from the repository"


def test_the_command_line_names_a_file_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path, "from here")
    monkeypatch.chdir(tmp_path)
    assert said(choose(Models("scripted:script.json", DefaultModels(), lambda _: None), tmp_path / "r")) == "from here"


def test_a_manifest_cannot_name_a_file_outside_the_repository(tmp_path: Path) -> None:
    script(tmp_path, "secret")
    manifest = block(main={"provider": "scripted", "model": "../script.json"})
    (tmp_path / "repository").mkdir()
    with pytest.raises(ModelUnusable, match="outside the repository"):
        choose(Models(None, DefaultModels(), lambda _: None), tmp_path / "repository", manifest=manifest)


def test_agents_of_one_run_share_a_script_and_another_run_begins_it_again(tmp_path: Path) -> None:
    script(tmp_path, "first", "second")
    models = Models(None, DefaultModels(), lambda _: None)
    assert said(choose(models, tmp_path)) == "first"
    assert said(choose(models, tmp_path, tier="simple")) == "second"
    assert said(choose(models, tmp_path, "run_2")) == "first"


def test_a_conversation_can_have_a_model_of_its_own(tmp_path: Path) -> None:
    script(tmp_path, "of the repository")
    mine = script(tmp_path, "of the conversation", name="mine.json")
    models = Models(None, DefaultModels(), lambda _: None)
    assert said(choose(models, tmp_path, override=f"scripted:{mine}")) == "of the conversation"
    assert said(choose(models, tmp_path)) == "of the repository"


def test_a_model_is_named_as_people_read_it(tmp_path: Path) -> None:
    models = Models(None, DefaultModels(main="openai:mine"), lambda _: None)
    scripted = block(main={"provider": "scripted", "model": "a/script.json"}, simple=choice("s"))
    assert models.named(scripted, tmp_path) == f"scripted:{Path('a/script.json')}"
    assert models.named(scripted, tmp_path, "simple") == "anthropic:s"
    assert models.named({}, tmp_path, "advanced") == "openai:mine"
    assert models.named(block(main={"provider": "acme", "model": "x"}), tmp_path) == ""


def test_a_script_that_was_put_right_is_read_again(tmp_path: Path) -> None:
    models = Models(None, DefaultModels(), lambda _: None)
    with pytest.raises(ModelUnusable):
        choose(models, tmp_path)
    script(tmp_path, "now")
    assert said(choose(models, tmp_path)) == "now"


def test_no_library_of_a_provider_is_loaded_by_choosing_a_model() -> None:
    import subprocess
    import sys

    code = (
        "import asyncio, sys; from pathlib import Path;"
        "from runtime_core.agents.models import Models;"
        "from runtime_core.wire.settings import DefaultModels;"
        "chosen = Models('anthropic:x', DefaultModels(), lambda _: None).choose('u', {}, Path('/'));"
        "asyncio.run(chosen);"
        "sys.exit(any(name.split('.')[0] in ('pydantic_ai', 'anthropic', 'openai', 'google') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
