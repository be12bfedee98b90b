"""What a file that names packages asks for and will not get is said when the repository is loaded."""

from __future__ import annotations

import pytest

from runtime_core.repo.bundle import BundleError
from runtime_core.repo.loader import load_bundle
from tests.unit.repo.conftest import Repository


@pytest.mark.parametrize("source", ["git+https://a.example/x.git", "file:../x", "../x", "github:a/b"])
def test_packages_of_npm_from_elsewhere(repository: Repository, source: str) -> None:
    repository.tool("ship")
    repository.write("amodal/tools/ship/package.json", {"dependencies": {"x": source, "y": "^1.0.0"}})
    (problem,) = [one for one in load_bundle(repository.root).problems if "package.json" in one.file]
    assert source in problem.message


@pytest.mark.parametrize("line", ["../x", "-r other.txt", "-e .", "./wheel.whl", "file:///x"])
def test_requirements_from_elsewhere(repository: Repository, line: str) -> None:
    repository.tool("sail", handler="handler.py")
    repository.write("amodal/tools/sail/requirements.txt", f"humanize==4.9\n{line}\n")
    (problem,) = [one for one in load_bundle(repository.root).problems if "requirements" in one.file]
    assert (problem.line, problem.severity) == (2, "warning")
    assert line in problem.message


@pytest.mark.parametrize("line", ["git+https://a.example/x.git", "x @ git+https://a.example/x.git@main"])
def test_requirements_from_version_control_are_refused(repository: Repository, line: str) -> None:
    repository.tool("sail", handler="handler.py")
    repository.write("amodal/tools/sail/requirements.txt", f"humanize==4.9  # not git+x\n{line}\n")
    with pytest.raises(BundleError) as refused:
        load_bundle(repository.root)
    assert [(one.line, one.severity) for one in refused.value.problems] == [(2, "error")]
