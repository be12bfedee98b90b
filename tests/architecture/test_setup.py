"""The set-up: where it installs, what it refuses to touch, which packages and wheels it finds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import up_checks
import up_environment
import up_libraries
import up_pip
from up_say import SetupError

from tests.architecture.lints import ROOT

DEBIAN_12 = {"ID": "debian", "VERSION_ID": "12"}
DEBIAN_13 = {"ID": "debian", "VERSION_ID": "13"}
THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    return tmp_path


def made(venv: Path, version: str, *, ours: bool) -> Path:
    python = up_environment.python_of(venv)
    python.parent.mkdir(parents=True)
    python.touch()
    (venv / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {version}.4\n", encoding="utf-8")
    if ours:
        (venv / up_environment.STAMP).write_text("{}", encoding="utf-8")
    return venv


def stamped(venv: Path, root: Path, extras: list[str]) -> None:
    stamp = {"key": up_environment._key(root), "extras": extras, "libraries": True}
    (venv / up_environment.STAMP).write_text(json.dumps(stamp), encoding="utf-8")


def test_fitting_environment_is_used_as_it_is(checkout: Path) -> None:
    venv = made(checkout / ".venv", THIS, ours=True)
    stamped(venv, checkout, ["test"])
    assert up_environment.ready(checkout, ()) == up_environment.python_of(venv)
    assert up_environment.ready(checkout, ("test",)) == up_environment.python_of(venv)


@pytest.mark.parametrize("change", ["pyproject", "extras", "unfinished", "no python", "broken stamp", "moved"])
def test_environment_that_no_longer_fits_is_set_up_again(checkout: Path, change: str) -> None:
    venv = made(checkout / ".venv", THIS, ours=True)
    stamped(venv, checkout, [])
    extras = ["test"] if change == "extras" else []
    assert up_environment._fitting_stamp(venv, checkout, []) is not None
    match change:
        case "pyproject":
            (checkout / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
        case "unfinished":
            (venv / up_environment.UNFINISHED).touch()
        case "no python":
            up_environment.python_of(venv).unlink()
        case "broken stamp":
            (venv / up_environment.STAMP).write_text('{"key": 1', encoding="utf-8")
        case "moved":
            stamped(venv, ROOT, [])
        case _:
            pass
    assert up_environment._fitting_stamp(venv, checkout, extras) is None


def test_half_made_environment_is_removed(checkout: Path) -> None:
    venv = made(checkout / ".venv", THIS, ours=False)
    (venv / up_environment.UNFINISHED).touch()
    up_environment._discard_unusable(venv)
    assert not venv.exists()


def test_environment_of_another_python_is_removed_only_if_it_is_ours(checkout: Path) -> None:
    venv = made(checkout / ".venv", "3.9", ours=False)
    with pytest.raises(SetupError, match=r"belongs to Python 3\.9 and was not made by this command"):
        up_environment._discard_unusable(venv)
    assert venv.exists()
    (venv / up_environment.STAMP).write_text("{}", encoding="utf-8")
    up_environment._discard_unusable(venv)
    assert not venv.exists()


def test_working_environment_of_somebody_else_is_kept_and_used(checkout: Path) -> None:
    venv = made(checkout / ".venv", THIS, ours=False)
    up_environment._discard_unusable(venv)
    assert up_environment.python_of(venv).exists()


def test_packages_have_the_names_of_the_release() -> None:
    glib, *_ = up_libraries.BASE
    assert up_libraries.packages([glib], DEBIAN_12) == ["libglib2.0-0"]
    assert up_libraries.packages([glib], {"ID": "ubuntu", "VERSION_ID": "22.04"}) == ["libglib2.0-0"]
    assert up_libraries.packages([glib], DEBIAN_13) == ["libglib2.0-0t64"]
    assert up_libraries.packages([glib], {"ID": "ubuntu", "VERSION_ID": "24.04"}) == ["libglib2.0-0t64"]
    assert up_libraries.packages([glib], {"ID": "debian"}) == ["libglib2.0-0t64"]
    assert up_libraries.packages([glib], {}) == ["libglib2.0-0"]


def test_each_package_is_named_once() -> None:
    names = up_libraries.packages(up_libraries.BASE + up_libraries.SCREEN, DEBIAN_12)
    assert len(names) == len(set(names))
    assert {"libegl1", "libxcb-cursor0", "libwayland-cursor0"} <= set(names)


def test_release_file_is_read_with_its_quotes(tmp_path: Path) -> None:
    path = tmp_path / "os-release"
    path.write_text('# comment\nID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12"\n', encoding="utf-8")
    assert up_libraries.os_release(path)["VERSION_ID"] == "12"
    assert up_libraries.os_release(tmp_path / "none") == {}


@pytest.fixture
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing tells pip where packages come from; returns its home."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONFIG_FILE", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(up_pip, "_disk_folders", list[Path])
    monkeypatch.setattr(up_pip, "_shared_configuration", list[Path])
    return home


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "simple/pip"
    folder.mkdir(parents=True)
    for version in ("9.0.1", "23.1", "24.0"):
        (folder / f"pip-{version}-py3-none-any.whl").write_bytes(b"wheel " + version.encode())
    links = ("'pip-9.0.1-py3-none-any.whl'", '"pip-24.0-py3-none-any.whl"', "'pip-25.0.tar.gz'")
    page = "".join(f"<a data-x=1 href={link}>x</a>" for link in links)
    (folder / "index.html").write_text(page, encoding="utf-8")
    return folder.parent


def test_without_a_setting_no_wheel_is_looked_for(no_settings: Path, tmp_path: Path) -> None:
    assert list(up_pip.wheels(tmp_path)) == []


def test_wheel_comes_from_the_index_of_the_environment(
    no_settings: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.as_uri())
    (wheel,) = up_pip.wheels(tmp_path)
    assert (wheel.name, wheel.read_bytes()) == ("pip-24.0-py3-none-any.whl", b"wheel 24.0")


def test_wheel_comes_from_the_folder_of_the_configuration_file(no_settings: Path, index: Path, tmp_path: Path) -> None:
    (index / "pip/index.html").unlink()
    settings = no_settings / ".config/pip/pip.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[global]\nfind-links = {index}/pip\n", encoding="utf-8")
    names = [wheel.name.split("-")[1] for wheel in up_pip.wheels(tmp_path)]
    assert names == ["24.0", "23.1", "9.0.1"]


def test_wheel_with_another_digest_than_the_index_names_is_not_used(
    no_settings: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "<a href='pip-24.0-py3-none-any.whl#sha256=00ff'>x</a>"
    (index / "pip/index.html").write_text(page, encoding="utf-8")
    monkeypatch.setenv("PIP_INDEX_URL", index.as_uri())
    assert list(up_pip.wheels(tmp_path)) == []


def test_benchmark_that_is_not_there_is_named() -> None:
    with pytest.raises(SetupError, match="no benchmark is named nosuch"):
        up_checks.run_benchmarks(Path(sys.executable), ROOT, ["nosuch"])


def test_each_check_is_named_with_its_outcome(capfd: pytest.CaptureFixture[str]) -> None:
    stages = {"good": ("-c", "pass"), "bad": ("-c", "raise SystemExit(3)"), "after": ("-c", "print('still run')")}
    assert up_checks._run_stages(Path(sys.executable), ROOT, stages) == 1
    out, err = capfd.readouterr()
    outcomes = {line.split()[0]: line.split()[1] for line in err.splitlines() if line.endswith(" s")}
    assert outcomes == {"good": "passed", "bad": "FAILED", "after": "passed"}
    assert "still run" in out
    assert up_checks._run_stages(Path(sys.executable), ROOT, {"good": ("-c", "pass")}) == 0


def test_help_needs_no_set_up() -> None:
    shown = subprocess.run(
        [sys.executable, "packaging/up.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0
    assert all(word in shown.stdout for word in ("test", "bench", "shots DIR"))
