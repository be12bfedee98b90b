"""What must not stand in the tree: domain words in widgets, places of one machine, names outside the fixed layout."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tokenize
from pathlib import Path

import pytest

from tests.architecture.lints import ROOT

# Widgets show text and rows; what these mean is the business of cards and views.
DOMAIN = {
    "request",
    "requests",
    "approval",
    "approvals",
    "approve",
    "approved",
    "pause",
    "pauses",
    "session",
}

TOP_LEVEL = {
    ".ci",
    ".editorconfig",
    ".gitattributes",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "inbox_app",
    "packaging",
    "pyproject.toml",
    "resources",
    "runtime_core",
    "tests",
}

# Folders of one machine, and hosts that only pip's and apt's own configuration may name.
PLACES = re.compile(
    r"(?<![\w.])/(root|work|mnt|srv)/"
    r"|/home/(?!ann\b|me\b|you\b)\w+/"
    r"|\b(files\.pythonhosted|pypi|npmjs|registry\.\w+|deb\.debian|archive\.ubuntu)\.(org|com)\b"
)


def tracked_files() -> list[Path]:
    """The files under version control; without it every file but what tools leave behind."""
    git = shutil.which("git")
    if git:
        listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
        if listed.returncode == 0 and listed.stdout:
            return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    left_behind = {".git", *(name.rstrip("/") for name in ignored)}
    return [path for path in ROOT.rglob("*") if path.is_file() and not left_behind & set(path.relative_to(ROOT).parts)]


def domain_words(source: str) -> list[tuple[int, str]]:
    """Domain words in names and in strings (docstrings excepted), with their lines."""
    found: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in {tokenize.NAME, tokenize.STRING} and not token.string.startswith(('"""', "'''")):
            parts = re.findall(r"[A-Z]?[a-z]+", token.string)
            found += [(token.start[0], part) for part in parts if part.lower() in DOMAIN]
    return found


def places(text: str) -> list[tuple[int, str]]:
    lines = enumerate(text.splitlines(), 1)
    return [(number, found[0]) for number, line in lines if (found := PLACES.search(line))]


def test_widgets_hold_no_domain_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for path in sorted((ROOT / "inbox_app/widgets").rglob("*.py"))
        for line, word in domain_words(path.read_text(encoding="utf-8"))
    ]
    assert not found, "widgets do not know what they show:\n" + "\n".join(found)


def test_no_place_of_one_machine_is_named() -> None:
    found: list[str] = []
    for path in tracked_files():
        content = path.read_bytes()
        if b"\0" not in content and path != Path(__file__):
            text = content.decode("utf-8", "replace")
            found += [f"{path.relative_to(ROOT)}:{line}: {place}" for line, place in places(text)]
    assert not found, "\n" + "\n".join(found)


def test_top_level_is_the_fixed_layout() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in tracked_files()}
    assert names <= TOP_LEVEL, f"outside the fixed layout: {sorted(names - TOP_LEVEL)}"


@pytest.mark.parametrize("source", ["class ApprovalRow: ...\n", "pause_id = 1\n", "text = 'Send request'\n"])
def test_domain_words_are_found(source: str) -> None:
    assert domain_words(source)


def test_words_that_only_contain_one_are_not() -> None:
    assert not domain_words('"""Paints the row of a request."""\npaused_at = requested = 1\n')


@pytest.mark.parametrize(
    "text", ["see /srv/main/x", "open('/home/bob/x')", "https://registry.example.org/simple", "/root/.cache"]
)
def test_places_are_found(text: str) -> None:
    assert places(text)


@pytest.mark.parametrize("text", ["at /home/ann/data", "agents/srv/x", "https://example.org/root/", "my.pypi.example"])
def test_other_places_are_not(text: str) -> None:
    assert not places(text)
