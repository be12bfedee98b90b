"""Where the values of ``env:NAME`` and ``scope:KEY`` come from: never from a file of a repository."""

from __future__ import annotations

import os
from typing import Protocol


class Secrets(Protocol):
    """The process environment first, then the keychain of whoever runs the runtime. May be asked from any thread."""

    def get(self, name: str) -> str | None:
        """The value of an environment variable or keychain entry, None where there is none."""
        ...


class EnvironmentSecrets:
    """The process environment alone."""

    def get(self, name: str) -> str | None:
        return os.environ.get(name)
