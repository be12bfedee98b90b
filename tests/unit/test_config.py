"""What a ``config.toml`` may hold, and what is said about everything else in it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from runtime_core.config import _KEYS, Config, load, read
from runtime_core.wire.settings import Confirmations, DefaultModels, Limits, Platform, Retention, Settings
from tests.architecture.lints import ROOT

FILE = Path("config.toml")
PAGE = (ROOT / "resources/docs/settings.md").read_text(encoding="utf-8")
EXAMPLE = PAGE.partition("```toml\n")[2].partition("```")[0]


def warning(text: str) -> str:
    (only,) = read(text, FILE).warnings
    return only


def test_every_setting_can_be_set() -> None:
    text = """
    [limits]
    entries = 5
    value = 2048
    reading = 8192
    run = 4096
    branches = 2
    question = 100
    [retention]
    journal_days = 0.5
    [journal]
    durability = "relaxed"
    [development]
    strict = true
    replay_twice = true
    [sandbox]
    shell_exec = true
    [confirmations]
    wait_s = 60
    [platform]
    api_base = "https://platform.example.test"
    agent_id = "agent_1"
    branch = "next"
    environment = "staging"
    tools_route = "/api/tools"
    [models]
    main = "anthropic:a"
    simple = "openai:b@http://localhost:11434/v1"
    advanced = "scripted:/tmp/c.json"
    """
    wanted = Settings(
        Limits(5, 2048, 8192, 4096, 2, 100),
        Retention(0.5),
        "relaxed",
        strict=True,
        replay_twice=True,
        shell_exec=True,
        confirmations=Confirmations(60),
        platform=Platform("https://platform.example.test", "agent_1", "next", "staging", "/api/tools"),
        models=DefaultModels("anthropic:a", "openai:b@http://localhost:11434/v1", "scripted:/tmp/c.json"),
    )
    assert read(text, FILE) == Config(wanted)
    unchanged = [
        key
        for table, keys in _KEYS.items()
        for key in keys
        if _value(wanted, table, key) == _value(Settings(), table, key)
    ]
    assert unchanged == []


def _value(settings: Settings, table: str, key: str) -> object:
    return getattr(getattr(settings, table, settings), key)


def test_the_documented_example_names_every_key_with_its_default() -> None:
    assert read(EXAMPLE, FILE) == Config(Settings())
    without_comments = re.sub(r"#.*", "", EXAMPLE)
    named = {
        (table, key)
        for table, body in re.findall(r"\[(\w+)\]([^\[]*)", without_comments)
        for key in re.findall(r"^(\w+) =", body, re.MULTILINE)
    }
    assert named == {(table, key) for table, keys in _KEYS.items() for key in keys}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[limits]\n\nentires = 3", "config.toml, line 3: limits.entires is unknown and has no effect. Did you mean"),
        ("[limits]\nzzz = 3", "Known are: entries, value, reading, run, branches, question."),
        ("[limit]\nentries = 3", 'line 1: limit is no table of this file and has no effect. Did you mean "limits"?'),
        ("speed = 3", "line 1: speed is no key of this file and has no effect. Known are: limits, "),
        ("limits = 3", "line 1: limits must be a table: write [limits] on a line of its own"),
        ("[limits]\nentries = 0", "line 2: limits.entries must be a whole number from 1 to 1000000, not 0"),
        ("[limits]\nentries = true", "not true"),
        ("[limits]\nentries = 3.0", "not 3.0"),
        ("[limits]\nvalue = 9000000", "from 1024 to 8388608, not 9000000"),
        ("[retention]\njournal_days = -1", "line 2: retention.journal_days must be a number of days"),
        ("[retention]\njournal_days = nan", "not nan"),
        ("[journal]\ndurability = 'fast'", "line 2: journal.durability must be 'full' or 'relaxed', not 'fast'"),
        ("[development]\nstrict = 'yes'", "line 2: development.strict must be true or false, not 'yes'"),
        ("[models]\nmain = 'claude'", 'line 2: models.main must name a model, such as "anthropic:'),
        ("[models]\nmain = 3", "not 3; it is not used."),
        ("[models]\nsimple = 'scripted:a.json'", "models.simple must name the whole path of the file"),
        ("limits.entries = 'x'", "line 1: limits.entries must be"),
        ("\nlimits = { entries = 'x' }", "line 2: limits.entries must be"),
        ("[ 'limits' ]\n\"entries\" = 'x'", "line 2: limits.entries must be"),
        (f"[journal]\ndurability = '{'x' * 1000}'", "xxx…; its default stays in force."),
    ],
)
def test_what_has_no_effect_is_named_with_its_line(text: str, said: str) -> None:
    assert said in warning(text)
    assert read(text, FILE).settings == Settings()


def test_the_rest_of_a_file_counts_all_the_same() -> None:
    found = read("[limits]\nentries = 7\nvalue = 'big'\nmore = 1\n", FILE)
    assert found.settings == Settings(limits=Limits(entries=7))
    assert len(found.warnings) == 2


@pytest.mark.parametrize("text", ["[limits", "entries = ", "a = 1\na = 2"])
def test_text_that_is_not_toml_means_the_defaults(text: str) -> None:
    assert "config.toml: it is not TOML: " in warning(text)
    assert read(text, FILE).settings == Settings()


def test_a_file_that_is_not_there_is_no_news_unless_somebody_named_it(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    assert load(file) == Config(Settings())
    (said,) = load(file, must_exist=True).warnings
    assert f"{file}: it is not there" in said


def test_a_file_that_cannot_be_read_means_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"[limits]\nentries = 3 # \xff\n")
    assert "not UTF-8 text (byte 23)" in load(file).warnings[0]
    file.unlink()
    file.mkdir()
    assert "it is no file" in load(file).warnings[0]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xef\xbb\xbf[limits]\nentries = 3\n")
    assert load(file) == Config(Settings(limits=Limits(entries=3)))


def test_no_settings_of_the_person_who_runs_the_tests_are_used() -> None:
    assert os.environ["OPERATOR_INBOX_CONFIG"] == os.devnull


def test_a_flag_is_shown_as_it_is_written() -> None:
    assert "not true;" in warning("[limits]\nentries = true")


@pytest.mark.skipif(os.name == "nt", reason="there are no such files")
def test_only_a_file_of_some_size_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/full"), tmp_path):
        assert "it is no file" in load(path, must_exist=True).warnings[0]
    assert load(Path(os.devnull), must_exist=True) == Config(Settings())
    (tmp_path / "large.toml").write_text("#" * 1_000_001)
    assert "it has more than 1,000,000 bytes" in load(tmp_path / "large.toml").warnings[0]
