"""Definitions in code: read and asked in processes of their own, so that one that hangs takes no run with it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from runtime_core.connections.secrets import EnvironmentSecrets, Secrets
from runtime_core.engine.asking import Note, ask
from runtime_core.engine.losses import started
from runtime_core.hosts.base import HandlerFailure, HandlerJob, HandlerLoadError, HostRepo, Hosts, HostUnavailable
from runtime_core.repo.bundle import Bundle, BundleError, Condition, Problem
from runtime_core.repo.definitions import CodeFile, Description, code_files
from runtime_core.repo.revision import TooLarge, revision_of
from runtime_core.wire.json import JsonText

LOAD_S: Final = 30.0
"""How long the definitions of one repository may take in all."""
PREDICATE_S: Final = 5.0
AT_ONCE_S: Final = 0.2
_ATTEMPTS: Final = 5
_KEPT: Final = 32

_Known = Mapping[str, Description]


class Definitions:
    """Loads repositories together with what they define in code, and asks the predicates in it.

    ``secrets``: where it is looked up whether there is a value for ``env:NAME``.
    """

    def __init__(self, hosts: Hosts, secrets: Secrets | None = None) -> None:
        self._hosts = hosts
        self._secrets = secrets or EnvironmentSecrets()
        self._known: OrderedDict[tuple[Path, str], _Known] = OrderedDict()
        self._looking: dict[frozenset[str], asyncio.Future[bool]] = {}
        self._hung: set[tuple[Path, str, str, tuple[str | int, ...]]] = set()

    async def load(self, root: Path, code: Path | None = None) -> Bundle:
        """Load a repository, or the copy ``code`` of its code. Raises `BundleError`."""
        for _ in range(_ATTEMPTS):
            revision, files = await asyncio.to_thread(_look, code or root)
            known: _Known = await self._read(HostRepo(root, revision, code), files) if files else {}
            bundle = await asyncio.to_thread(_load, code or root, known, self._secrets)
            if not files or bundle.revision == revision:
                return bundle if code is None else replace(bundle, root=root, code=code)
        message = "Its files change faster than its definitions can be read."
        raise BundleError(
            root, [Problem("error", "CONFIG_NOT_FOUND", ".", message, "Try again when they are written.")]
        )

    async def has_values_for(self, bundle: Bundle) -> bool:
        """Whether a name that had no value when the repository was loaded has one now.

        A keychain that does not answer at once holds up nobody: what it says counts when this is asked again.
        """
        if not bundle.unset:
            return False
        names = frozenset(bundle.unset)
        looking = self._looking.get(names)
        if looking is None:
            looking = asyncio.ensure_future(asyncio.to_thread(lambda: any(map(self._secrets.get, names))))
            self._looking[names] = looking
        await asyncio.wait({looking}, timeout=AT_ONCE_S)
        if not looking.done():
            return False
        self._looking.pop(names, None)
        return looking.result()

    async def holds(self, bundle: Bundle, entry: str, condition: Condition, surface: JsonText, note: Note) -> bool:
        """Ask a predicate; one that does not say true or false in time is noted and does not hold."""
        place = f"{entry} [{condition.key}: {condition.name}]"
        key = (bundle.root, bundle.revision, entry, condition.path)
        if key in self._hung:
            note("warning", f"{place}: its condition did not answer before and is not asked again.")
            return False
        job = HandlerJob(
            entry=entry,
            language="python" if entry.endswith(".py") else "typescript",
            params=surface,
            durable=False,
            methods=frozenset(),
            session_id=None,
            scope_id="",
            started_ms=0,
            seed="",
            timeout_s=PREDICATE_S,
            form="agent",
            path=condition.path,
        )
        repo = HostRepo(bundle.root, bundle.revision, bundle.code)
        answer = await ask(self._hosts, repo, job, note)
        if not isinstance(answer, HandlerFailure):
            return answer == "true"
        if answer.code in ("deadline", "host-hung", "out-of-memory"):
            self._hung.add(key)
        note("warning", f"{place} is left out because its condition failed: {answer.message}")
        return False

    async def retire(self, bundle: Bundle) -> None:
        await self._hosts.retire(HostRepo(bundle.root, bundle.revision, bundle.code))
        self._hung = {key for key in self._hung if key[:2] != (bundle.root, bundle.revision)}

    async def close(self) -> None:
        await self._hosts.close()

    async def _read(self, repo: HostRepo, files: Sequence[CodeFile]) -> _Known:
        """One after the other: one that ends the process shall not be the end of another."""
        key = (repo.root, repo.revision)
        if key in self._known:
            return self._known[key]
        loop = asyncio.get_running_loop()
        until = loop.time() + LOAD_S
        found: dict[str, Description] = {}
        for file in files:
            if loop.time() > until:
                found[file.name] = Description(unread=f"those before it took more than {LOAD_S:g} s")
            else:
                found[file.name] = await self._describe(repo, file)
        await self._hosts.retire(repo)
        if not any(description.passing for description in found.values()):
            self._known[key] = found
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    async def _describe(self, repo: HostRepo, file: CodeFile) -> Description:
        try:
            said = await started(file.name, lambda: self._hosts.describe(repo, file.language, file.name, file.form))
        except HandlerLoadError as error:
            return Description(unread=" ".join(str(error).removeprefix(f"{file.name} cannot be loaded: ").split()))
        except HostUnavailable as error:
            return Description(unread=str(error).rstrip("."), passing=True, code=error.code)
        return Description(said["value"], said["problem"])


def _look(root: Path) -> tuple[str, Sequence[CodeFile]]:
    """The revision is looked up only where there is something to read; what is wrong with files, the loader says."""
    try:
        files = code_files(root)
        return (revision_of(root), files) if files else ("", ())
    except (OSError, TooLarge):
        return "", ()


def _load(root: Path, known: _Known, secrets: Secrets) -> Bundle:
    from runtime_core.connections.vetting import Vetting
    from runtime_core.repo.loader import load_bundle  # with pydantic and jsonschema: not for commands that only look

    return load_bundle(root, known, lambda name: bool(secrets.get(name)), Vetting(root))
