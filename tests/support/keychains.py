"""Keychains that stand in for that of a desktop; `keyring` finds them by ``PYTHON_KEYRING_BACKEND``."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import InitError

FILE = "TEST_KEYCHAIN"


class FileKeychain(KeyringBackend):
    """Shared by processes: a file whose name stands in the environment."""

    priority = 1  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def get_password(self, service: str, username: str) -> str | None:
        return self._read().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._path.write_text(json.dumps({**self._read(), f"{service}/{username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        entries = self._read()
        del entries[f"{service}/{username}"]
        self._path.write_text(json.dumps(entries))

    def _read(self) -> dict[str, str]:
        return json.loads(self._path.read_text()) if self._path.exists() else {}

    @property
    def _path(self) -> Path:
        return Path(os.environ[FILE])


class MemoryKeychain(KeyringBackend):
    priority = 1  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}
        self.asked = 0

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.entries[service, username]


class ForgetfulKeychain(MemoryKeychain):
    """Accepts everything and keeps nothing."""

    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class LockedKeychain(MemoryKeychain):
    """Does not answer until it is unlocked."""

    def __init__(self) -> None:
        super().__init__()
        self.unlocked = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.unlocked.wait(30)
        return super().get_password(service, username)


class DismissedKeychain(MemoryKeychain):
    """Nobody typed its password."""

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        raise InitError("Failed to unlock the collection!")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise InitError(f"Prompt dismissed while storing {password}")
