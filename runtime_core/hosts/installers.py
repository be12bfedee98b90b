"""What installs packages into a folder: Deno for npm, without running any script of a package, and pip for Python.

Registries, credentials and proxies are those of the user, whose settings nobody but the installer gets to see.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from runtime_core.hosts.base import Language
from runtime_core.hosts.deno import find_deno
from runtime_core.hosts.sandbox import boxed
from runtime_core.wire.json import JsonError, dumps, loads

TIMEOUT_S: Final = 300.0
NPM_FOLDER: Final = "node_modules"
PYTHON_FOLDER: Final = "site-packages"

_OUTPUT_LIMIT: Final = 256 * 1024
_REASON_LIMIT: Final = 600
_NPM_KEYS: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides")
_INSTALLED_KEYS: Final = ("dependencies", "optionalDependencies")
_PASSED: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "NETRC"),
        *("USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "NODE_AUTH_TOKEN"),
        *("DENO_CERT", "DENO_TLS_CA_STORE", "DENO_AUTH_TOKENS"),
    }
)
_PASSED_PREFIXES: Final = ("NPM_", "PIP_")
_KEPT_BACK: Final = frozenset({"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV"})
"""Settings of pip that say where to install."""

_UNREACHABLE: Final = re.compile(
    r"error sending request|Failed loading|Retrying \(|Connection|timed? ?out|resolve host|name resolution|getaddrinfo"
    r"|status (code )?(5\d\d|429)|\b5\d\d (Server Error|Internal)",
    re.IGNORECASE,
)
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/\s@]+@")
_NOISE: Final = re.compile(r"^\s*(\d+:|Caused by:)?\s*")


class InstallationFailed(Exception):  # noqa: N818
    """Why packages were not installed, as a clause, and what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.remedy = remedy


def staged(language: Language, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """The part of the files that decides what is installed; empty if that is nothing. Raises `ValueError`."""
    if language == "python":
        lines = contents["requirements.txt"].decode("utf-8-sig", "replace").splitlines()
        asks = any(line.strip() and not line.lstrip().startswith("#") for line in lines)
        return dict(contents) if asks else {}
    try:
        manifest: Any = loads(contents["package.json"])
    except JsonError as error:
        raise ValueError(f"is not valid JSON: {error}") from None
    if not isinstance(manifest, dict):
        raise ValueError("has to hold an object")
    asked = {key: value for key, value in cast("dict[str, Any]", manifest).items() if key in _NPM_KEYS and value}
    for key, value in asked.items():
        if not isinstance(value, dict):
            raise ValueError(f"is wrong: {key} has to be an object of names and versions")
    if not any(key in asked for key in _INSTALLED_KEYS):
        return {}
    return {**contents, "package.json": dumps(asked).encode()}


async def install(language: Language, contents: Mapping[str, bytes], stage: Path) -> None:
    """Leave in ``stage`` nothing but the folder with the packages. Raises `InstallationFailed`, `OSError`."""
    work = stage / "work"
    await asyncio.to_thread(_write, work, contents)
    target = NPM_FOLDER if language == "typescript" else PYTHON_FOLDER
    command = _npm(contents) if language == "typescript" else _pip(work / target)
    code, output = await _run(command, work, stage)
    if code != 0:
        raise _failure(language, output)
    if language == "typescript":
        _check_npm(work, contents)
    await asyncio.to_thread(_leave_only, work / target, stage)


def _npm(contents: Mapping[str, bytes]) -> list[str]:
    locks = [] if "package-lock.json" in contents else ["--no-lock"]  # a lock of npm becomes one of Deno, for once
    return [
        os.path.realpath(find_deno()),
        "install",
        *("--prod", "--node-modules-dir=manual", "--node-modules-linker=hoisted"),
        *(["--frozen"] if "deno.lock" in contents else locks),
    ]


def _pip(target: Path) -> list[str]:
    return [
        *(sys.executable, "-I", "-m", "pip", "install", "--target", str(target), "-r", "requirements.txt"),
        *("--prefer-binary", "--no-input", "--no-cache-dir", "--disable-pip-version-check", "--no-warn-conflicts"),
        *("--no-warn-script-location", "--progress-bar", "off"),
    ]


def environment(work: Path) -> dict[str, str]:
    """What an installer finds of the application's environment, with its caches in its own folder."""
    passed = {
        name: value
        for name, value in os.environ.items()
        if (name.upper() in _PASSED or name.upper().startswith(_PASSED_PREFIXES)) and name.upper() not in _KEPT_BACK
    }
    own = str(work / "tmp")
    places = {"TMPDIR": own, "TMP": own, "TEMP": own, "DENO_DIR": str(work / "cache")}
    quiet = {"NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"}
    return {"PATH": os.defpath, "PIP_RETRIES": "2", **passed, **places, **quiet}


async def _run(command: list[str], work: Path, stage: Path) -> tuple[int, str]:
    """The exit code and what was printed. Nothing but ``stage`` can be written where the kernel has Landlock."""
    line = boxed(
        command,
        ["/"],
        [str(stage), "/dev/null"],
        interpreter=[sys.executable, "-I", "-S"],
        is_trusted=True,
    )
    options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *line,
            cwd=work,
            env=environment(work),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **options,
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _end(await starting)
        raise
    try:
        async with asyncio.timeout(TIMEOUT_S):
            output = await _output(process)
            return await process.wait(), output
    except TimeoutError:
        raise InstallationFailed(
            f"it took more than {TIMEOUT_S:g} s.", "Try again when the registry answers faster."
        ) from None
    finally:
        await asyncio.shield(_end(process))


async def _output(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    kept = bytearray()
    while piece := await process.stdout.read(65536):
        kept = (kept + piece)[-_OUTPUT_LIMIT:]
    return kept.decode("utf-8", "replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    """The installer, and whatever it has started and left."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _failure(language: Language, output: str) -> InstallationFailed:
    lines = [_NOISE.sub("", line).strip() for line in output.splitlines()]
    first = next((at for at, line in enumerate(lines) if line.lower().startswith("error:")), None)
    said = lines[first:] if first is not None else lines[-5:]
    reason = " ".join(line.partition(":")[2].strip() if line.lower().startswith("error:") else line for line in said)
    reason = _CREDENTIALS.sub("…@", " ".join(reason.split()))[:_REASON_LIMIT].rstrip(".") or "it gave no reason"
    registry = "npm registry" if language == "typescript" else "package index"
    if _UNREACHABLE.search(output):
        settings = "registry in .npmrc" if language == "typescript" else "index-url of pip"
        remedy = f"The {registry} cannot be reached: check the network and your settings ({settings}), and try again."
    else:
        remedy = f"Ask for names and versions that the {registry} has."
    return InstallationFailed(f"{reason}.", remedy)


def _check_npm(work: Path, contents: Mapping[str, bytes]) -> None:
    """What is no package of a registry (a path, a git address) is passed over by Deno without a word."""
    manifest: Any = loads(contents["package.json"])
    wanted: dict[str, Any] = manifest.get("dependencies", {})
    missing = [name for name in wanted if not (work / NPM_FOLDER / name).is_dir()]
    if missing:
        asked = ", ".join(f"{name} ({wanted[name]})" for name in missing)
        raise InstallationFailed(
            f"{asked} did not come from a registry.", "Give a version, or copy the code you need into the repository."
        )


def _write(work: Path, contents: Mapping[str, bytes]) -> None:
    (work / "tmp").mkdir(parents=True)
    for name, content in contents.items():
        (work / name).write_bytes(content)


def _leave_only(packages: Path, stage: Path) -> None:
    import shutil

    packages.mkdir(exist_ok=True)  # everything asked for may be left out on this machine
    packages.rename(stage / packages.name)
    shutil.rmtree(stage / "work")
