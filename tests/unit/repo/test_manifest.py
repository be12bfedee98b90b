"""`amodal.json` and the folder it stands in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from runtime_core.repo.bundle import BundleError
from runtime_core.repo.loader import load_bundle
from runtime_core.repo.report import INVALID
from tests.unit.repo.building import Repository


def refusal(root: Path) -> str:
    with pytest.raises(BundleError) as caught:
        load_bundle(root)
    return str(caught.value)


def test_a_repository_loads_with_name_version_and_unknown_keys_kept(repository: Repository) -> None:
    repository.write("amodal.json", {"name": "desk", "version": "2", "runtimeApp": {"custom": True}})
    bundle = load_bundle(repository.root)
    assert (bundle.name, bundle.version, bundle.root) == ("desk", "2", repository.root)
    assert bundle.manifest["runtimeApp"] == {"custom": True}
    assert bundle.problems == ()


def test_a_missing_folder_a_file_and_a_folder_without_manifest_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    assert f"{tmp_path / 'nowhere'} does not exist" in refusal(tmp_path / "nowhere")
    assert "is a file, not a folder" in refusal(tmp_path / "file")
    assert "is not an agent repository: it holds no amodal.json" in refusal(tmp_path / "empty")


def test_broken_json_is_named_with_line_and_column(repository: Repository) -> None:
    repository.write("amodal.json", '{\n  "name": "x",\n  "version" 1\n}')
    problem = repository.only_error()
    assert (problem.code, problem.file, problem.line, problem.column) == ("CONFIG_PARSE_FAILED", "amodal.json", 3, 13)
    assert str(problem).startswith("amodal.json:3:13:")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{"name": "x",\n "name": "y"}', 2, "twice"),
        ('{"name": NaN}', 1, "NaN"),
        ("", 1, "Expecting value"),
        ("[" * 600 + "]" * 600, 1, "nested deeper"),
    ],
)
def test_text_that_is_not_acceptable_json_is_refused(repository: Repository, text: str, line: int, words: str) -> None:
    repository.write("amodal.json", text)
    problem = repository.only_error()
    assert problem.code == "CONFIG_PARSE_FAILED"
    assert problem.line == line
    assert words in problem.message


def test_a_byte_order_mark_is_accepted(repository: Repository) -> None:
    repository.write("amodal.json", b'\xef\xbb\xbf{"name": "x", "version": "1"}')
    assert load_bundle(repository.root).name == "x"


def test_a_file_that_is_not_utf8_or_no_object_is_refused(repository: Repository) -> None:
    repository.write("amodal.json", b'{"name": "\xff"}')
    problem = repository.only_error()
    assert problem.code == "READ_FAILED"
    assert str(problem) == "amodal.json:1: The file is not UTF-8 text. Save it as UTF-8."
    repository.write("amodal.json", "[]")
    assert "one JSON object" in repository.only_error().message


def test_every_missing_or_wrong_field_is_reported_with_its_key(repository: Repository) -> None:
    repository.write("amodal.json", '{\n  "version": 1,\n  "models": {\n    "main": {"provider": "x"}\n  }\n}')
    problems = {problem.key: problem for problem in repository.problems()}
    assert set(problems) == {"name", "version", "models.main.model"}
    assert problems["version"].line == 2
    assert problems["models.main.model"].line == 4
    assert all(problem.code == "CONFIG_VALIDATION_FAILED" and problem.remedy for problem in problems.values())
    assert "scripted" in problems["models.main.model"].remedy


def test_environment_values_are_filled_in(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_NAME", "from outside")
    repository.write("amodal.json", {"name": "env:DESK_NAME", "version": "1"})
    assert load_bundle(repository.root).name == "from outside"


@pytest.mark.parametrize(
    ("name", "secret"),
    [("name", "ACME_API_KEY"), ("version", "MY_TOKEN"), ("description", "db_password"), ("basePrompt", "SSH_KEY")],
)
def test_what_is_shown_is_not_read_from_a_secret(
    name: str, secret: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(secret, "sk-77-in-plain-sight")
    repository.write("amodal.json", {"name": "x", "version": "1", name: f"env:{secret}"})
    problem = repository.only_error()
    assert (problem.code, problem.key) == (INVALID, name)
    assert f"{secret} is named as a secret" in problem.message
    assert "sk-77" not in f"{problem!r}"


@pytest.mark.parametrize("name", ["provider", "model"])
def test_a_model_that_is_named_by_a_secret_is_switched_off(
    name: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "sk-77-in-plain-sight")
    monkeypatch.setenv("MODEL_NAME", "gpt-x")
    good = {"provider": "openai", "model": "env:MODEL_NAME"}
    bad = {**good, name: "env:ACME_API_KEY"}
    repository.write(
        "amodal.json", {"name": "x", "version": "1", "models": {"main": {**good, "fallback": bad}, "simple": bad}}
    )
    bundle = load_bundle(repository.root)
    assert bundle.manifest["models"] == {"main": {"provider": "openai", "model": "gpt-x"}}
    assert {problem.key for problem in bundle.problems} == {f"models.main.fallback.{name}", f"models.simple.{name}"}
    assert '"credentials": "env:ACME_API_KEY"' in bundle.problems[0].remedy
    assert "sk-77" not in repr(bundle)


def test_an_unset_environment_name_is_an_error(repository: Repository) -> None:
    repository.write("amodal.json", {"name": "x", "version": "1", "stores": {"postgresUrl": "env:NOT_SET_HERE"}})
    problem = repository.only_error()
    assert (problem.code, problem.key) == ("ENV_NOT_SET", "stores.postgresUrl")
    assert "NOT_SET_HERE" in problem.message


def test_an_unset_name_switches_web_tools_off_and_a_model_without_its_key_stays(repository: Repository) -> None:
    model = {"provider": "scripted", "model": "a.json"}
    repository.write(
        "amodal.json",
        {
            "name": "x",
            "version": "1",
            "webTools": {"provider": "google", "apiKey": "env:NOT_SET_HERE"},
            "models": {"main": model, "simple": {**model, "credentials": "env:NOT_SET_HERE"}},
        },
    )
    bundle = load_bundle(repository.root)
    assert {problem.key for problem in bundle.problems} == {"webTools.apiKey", "models.simple.credentials"}
    assert {problem.code for problem in bundle.problems} == {"ENV_NOT_SET"}
    assert "webTools" not in bundle.manifest
    assert bundle.manifest["models"] == {"main": model, "simple": {**model, "credentials": "env:NOT_SET_HERE"}}
    assert "the model of models.simple cannot be asked" in bundle.problems[1].message


def test_a_pipe_instead_of_a_file_is_refused_without_waiting(repository: Repository) -> None:
    (repository.root / "amodal.json").unlink()
    os.mkfifo(repository.root / "amodal.json")
    assert repository.only_error().code == "READ_FAILED"


def test_a_huge_definition_is_refused_with_the_limit(repository: Repository) -> None:
    repository.tool("big", description="x" * 2_000_000)
    problem = repository.only_error()
    assert problem.file == "amodal/tools/big/tool.json"
    assert "1,048,576" in problem.message


def test_whoever_runs_it_says_where_names_are_looked_up(repository: Repository) -> None:
    repository.write("amodal.json", {"name": "x", "version": "1", "stores": {"postgresUrl": "env:IN_KEYCHAIN"}})
    bundle = load_bundle(repository.root, known={"IN_KEYCHAIN"}.__contains__)
    assert bundle.problems == ()
    assert bundle.manifest["stores"] == {"postgresUrl": "env:IN_KEYCHAIN"}


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ({"webTools": {"provider": "google", "apiKey": "sk-77"}}, "webTools.apiKey"),
        ({"webTools": {"provider": "bing", "apiKey": "env:SET"}}, "webTools.provider"),
        ({"webTools": {"provider": "google"}}, "webTools.apiKey"),
        ({"webTools": []}, "webTools"),
        (
            {"mcp": {"servers": {"docs": {"url": "https://d.example", "headers": {"X-Token": "sk-77"}}}}},
            "mcp.servers.docs.headers.X-Token",
        ),
        ({"mcp": {"servers": {"docs": {"command": "d", "env": {"A": "env:UNSET"}}}}}, "mcp.servers.docs.env.A"),
        ({"mcp": {"servers": {"docs": {"args": [1]}}}}, "mcp.servers.docs.args[0]"),
        ({"mcp": {"servers": {"docs": {}}}}, "mcp.servers.docs"),
        ({"models": {"main": {"provider": "x", "model": "y", "credentials": "sk-77"}}}, "models.main.credentials"),
    ],
)
def test_what_cannot_be_used_is_switched_off(repository: Repository, part: dict[str, Any], key: str) -> None:
    repository.write("amodal.json", {"name": "x", "version": "1", **part})
    bundle = load_bundle(repository.root, known={"SET"}.__contains__)
    assert [(problem.severity, problem.key) for problem in bundle.problems] == [("warning", key)]
    assert all(problem.remedy for problem in bundle.problems)
    assert "sk-77" not in repr(bundle)
    assert "google" not in repr(bundle.manifest)
    assert "docs" not in repr(bundle.manifest)


def test_a_secret_elsewhere_is_left_out(repository: Repository) -> None:
    stores = {"backend": "postgres", "postgresUrl": "postgres://desk:sk-77@db.example/desk"}
    repository.write("amodal.json", {"name": "x", "version": "1", "stores": stores})
    bundle = load_bundle(repository.root)
    assert bundle.manifest["stores"] == {"backend": "postgres"}
    assert [problem.key for problem in bundle.problems] == ["stores.postgresUrl"]


def test_what_nothing_here_uses_needs_no_values(repository: Repository) -> None:
    platform = {"projectId": "env:NOT_SET_HERE", "apiKey": "env:NOT_SET_HERE"}
    repository.write(
        "amodal.json", {"name": "x", "version": "1", "platform": platform, "ci": {"evals": {"runOn": "never"}}}
    )
    bundle = load_bundle(repository.root)
    assert "platform" not in bundle.manifest
    assert {problem.severity for problem in bundle.problems} == {"warning"}


def test_what_is_known_and_not_used_is_told(repository: Repository) -> None:
    said = {
        "packages": ["@x/y"],
        "stores": {"backend": "postgres"},
        "disabledSubagents": [],
        "fileTools": False,
    }
    repository.write("amodal.json", {"name": "x", "version": "1", **said})
    keys = ["packages", "stores.backend"]
    bundle = load_bundle(repository.root)
    assert [one.path for one in bundle.ignored] == [f"amodal.json [{key}]" for key in keys]
