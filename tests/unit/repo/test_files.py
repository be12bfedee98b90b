"""Links, limits and the revision of a repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime_core.hosts.files import read_repo_file
from runtime_core.hosts.source import Source
from runtime_core.repo.bundle import BundleError
from runtime_core.repo.loader import load_bundle
from runtime_core.repo.revision import FILE_LIMIT, TooLarge, code_files, revision_of, stamp_of
from runtime_core.repo.versions import Versions
from tests.unit.repo.building import Repository

BROKEN_LINKS = ["amodal/_lib/data.json", "amodal/tools/ship/extra", "agents/x", "tools", "package.json", "node_modules"]


@pytest.mark.parametrize("name", BROKEN_LINKS)
def test_a_link_that_leaves_the_repository_is_refused_by_name(tmp_path: Path, name: str) -> None:
    repository = Repository(tmp_path / "repository")
    (tmp_path / "secret.txt").write_text("x")
    link = repository.root / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "secret.txt")
    problem = next(problem for problem in repository.problems() if problem.severity == "error")
    assert problem.file == name
    assert "secret.txt" in problem.message
    assert problem.remedy


def test_a_link_to_a_sibling_folder_with_the_same_beginning_leaves(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "desk")
    (tmp_path / "desk-secrets").mkdir()
    (repository.root / "hooks").symlink_to("../desk-secrets")
    assert repository.only_error().file == "hooks"


@pytest.mark.parametrize(
    "name",
    ["node_modules/.bin/x", "node_modules/@me/shared", "amodal/tools/ship/node_modules/x", "venv/bin/python", "src/x"],
)
def test_a_link_out_of_what_nobody_reads_is_fine(tmp_path: Path, name: str) -> None:
    """A checkout as developers have them: environments, packages of a workspace, data elsewhere."""
    repository = Repository(tmp_path / "repository")
    repository.tool("ship")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("x")
    link = repository.root / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "outside")
    assert not load_bundle(repository.root).problems
    (repository.root / "amodal/other").symlink_to(os.path.relpath(link.parent, repository.root / "amodal"))
    assert repository.only_error().file == f"amodal/other/{link.name}"


def test_links_inside_the_repository_and_in_environments_are_fine(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.tool("ship")
    (repository.root / "amodal/tools/sail").symlink_to("ship")
    (repository.root / "again").symlink_to(".")
    for environment in (".venv", "venv"):
        repository.write(f"{environment}/pyvenv.cfg", "x")
        (repository.root / environment / "python").symlink_to("/usr/bin/env")
    assert set(load_bundle(repository.root).tools) == {"ship", "sail"}


def test_a_repository_reached_through_a_link_loads(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.tool("ship")
    (tmp_path / "link").symlink_to(repository.root)
    assert "ship" in load_bundle(tmp_path / "link").tools


def test_links_in_a_circle_end(repository: Repository) -> None:
    repository.tool("ship")
    (repository.root / "amodal/tools/ship/loop").symlink_to("..")
    assert "ship" in load_bundle(repository.root).tools
    (repository.root / "amodal/self").symlink_to("self")
    assert repository.only_error().file == "amodal/self"


@pytest.mark.parametrize(
    "links",
    [
        {"amodal/h": "../.h", ".h/e": "%OUT%"},
        {"amodal/h": "../.h", ".h/e": "%OUT%/secret.txt"},
        {"amodal/h": "../.h", ".h/e": "../.i", ".i/f": "%OUT%"},
        {"tools": "%OUT%"},
        {"amodal/tools/ship/env/e": "%OUT%"},
    ],
    ids=["folder", "file", "three hops", "a code folder", "beside what looks like an environment"],
)
def test_a_link_that_only_a_link_leads_to_is_refused_and_not_followed(tmp_path: Path, links: dict[str, str]) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "secret.txt").write_text("secret")
    repository = Repository(tmp_path / "repository")
    repository.tool("ship")
    repository.write("amodal/tools/ship/env/pyvenv.cfg", "x")
    for name, target in links.items():
        link = repository.root / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target.replace("%OUT%", str(outside)))
    assert any("leads out of the repository" in problem.message for problem in repository.problems())
    assert not [
        name for name in code_files(repository.root) if (repository.root / name).resolve().is_relative_to(outside)
    ]


def test_a_link_to_what_has_a_dot_is_no_code(repository: Repository, tmp_path: Path) -> None:
    """Neither the environment file itself nor a copy of it may be read under another name."""
    repository.tool("ship")
    repository.write(".env", "KEY=1")
    (repository.root / "amodal/notenv.txt").symlink_to("../.env")
    (repository.root / "amodal/git").symlink_to("../.git")
    repository.write(".git/config", "token")
    revision = load_bundle(repository.root).revision
    kept = Versions(tmp_path / "versions").keep(repository.root, revision)
    assert kept is not None
    assert {path.name for path in kept.rglob("*")}.isdisjoint({"notenv.txt", "git", "config"})
    for code in (None, kept):
        ok, _ = read_repo_file(Source(repository.root.resolve(), code), "amodal/notenv.txt")
        assert not ok


def test_folders_that_lead_to_each_other_over_and_over_end_in_a_limit(repository: Repository) -> None:
    for number in range(40):
        (repository.root / f"amodal/f{number}").mkdir(parents=True)
    for number in range(39):
        for way in ("a", "b"):
            (repository.root / f"amodal/f{number}/{way}").symlink_to(f"../f{number + 1}")
    with pytest.raises(TooLarge):
        code_files(repository.root)


def test_a_file_that_is_too_large_is_refused_by_name(repository: Repository) -> None:
    repository.tool("ship")
    repository.tool("broken", timeout=-1)
    with (repository.root / "amodal/tools/ship/data.bin").open("wb") as file:
        file.truncate(FILE_LIMIT + 1)
    assert {(problem.code, problem.file) for problem in repository.problems()} == {
        ("READ_FAILED", "amodal/tools/ship/data.bin"),
        ("CONFIG_VALIDATION_FAILED", "amodal/tools/broken/tool.json"),
    }


@pytest.mark.parametrize("name", ["amodal/tools/ship/tool.json", "agents/checker/AGENT.md"])
def test_a_folder_where_a_file_should_be_is_named(repository: Repository, name: str) -> None:
    repository.tool("ship")
    repository.agent("checker")
    (repository.root / name).unlink()
    (repository.root / name).mkdir()
    problem = repository.only_error()
    assert (problem.code, problem.file) == ("READ_FAILED", name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(repository: Repository) -> None:
    repository.tool("ship")
    (repository.root / "amodal/tools/ship/tool.json").chmod(0)
    assert repository.only_error().file == "amodal/tools/ship/tool.json"


@pytest.mark.parametrize("place", ["too long", "in a locked folder"])
def test_a_folder_that_cannot_be_looked_at_is_a_problem_as_others_are(
    tmp_path: Path, place: str, request: pytest.FixtureRequest
) -> None:
    root = tmp_path / ("x" * 300)
    if place == "in a locked folder":
        if os.geteuid() == 0:
            pytest.skip("root may read everything")
        root = tmp_path / "locked" / "repo"
        root.parent.mkdir(mode=0)
        request.addfinalizer(lambda: root.parent.chmod(0o700))
    with pytest.raises(BundleError, match="This cannot be read: ") as refused:
        load_bundle(root)
    assert [problem.code for problem in refused.value.problems] == ["READ_FAILED"]


CHANGES = {
    "amodal.json": True,
    "amodal/tools/ship/handler.ts": True,
    "amodal/tools/ship/tool.json": True,
    "amodal/_lib/shared.ts": True,
    "amodal/knowledge/policy.md": True,
    "agents/checker/AGENT.md": True,
    "package.json": True,
    "amodal/tools/ship/handler.test.ts": False,
    "amodal/_lib/test_shared.py": False,
    "amodal/.env": False,
    "amodal/node_modules/x/index.js": False,
    "amodal/__pycache__/x.pyc": False,
    "evals/one.md": False,
    "src/app.tsx": False,
    "README.md": False,
}


@pytest.mark.parametrize(("name", "counts"), CHANGES.items())
def test_the_revision_follows_code_and_definitions_only(repository: Repository, name: str, counts: bool) -> None:
    repository.tool("ship")
    repository.agent("checker")
    repository.write("amodal/_lib/shared.ts", "export const a = 1;")
    before, stamp = revision_of(repository.root), stamp_of(repository.root)
    assert load_bundle(repository.root).revision == before
    path = repository.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(" ")
    assert (revision_of(repository.root) != before) == counts
    assert (stamp_of(repository.root) != stamp) == counts


def test_the_revision_sees_a_renamed_file_and_ignores_where_the_repository_lies(tmp_path: Path) -> None:
    one, two = Repository(tmp_path / "one"), Repository(tmp_path / "two")
    for repository in (one, two):
        repository.write("amodal/_lib/a.ts", "same")
    assert revision_of(one.root) == revision_of(two.root)
    (two.root / "amodal/_lib/a.ts").rename(two.root / "amodal/_lib/b.ts")
    assert revision_of(one.root) != revision_of(two.root)
