"""Where the values of ``env:NAME`` and ``scope:KEY`` come from: never from a file of a repository."""

from __future__ import annotations

import os
from typing import Protocol, runtime_checkable

from runtime_core.repo.references import ENV


class Secrets(Protocol):
    """The process environment first, then the keychain of whoever runs the runtime. May be asked from any thread."""

    def get(self, name: str) -> str | None:
        """The value of an environment variable or keychain entry, None where there is none or an empty one."""
        ...


@runtime_checkable
class MayFail(Protocol):
    """Of `Secrets` that are asked somewhere else, which may not answer."""

    def trouble(self) -> str | None:
        """Why the last value was not found out, and what to do; None if it was, or if there is none."""
        ...


def trouble(secrets: Secrets) -> str | None:
    """As `MayFail.trouble`."""
    return secrets.trouble() if isinstance(secrets, MayFail) else None


class EnvironmentSecrets:
    """The process environment alone."""

    def get(self, name: str) -> str | None:
        return os.environ.get(name) or None


class NotSet(ValueError):  # noqa: N818
    """There is no value for the ``name`` of an ``env:NAME``."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def looked_up(value: str, secrets: Secrets) -> str:
    """The value of ``env:NAME``, everything else as it is; may block while a keychain answers. Raises `NotSet`."""
    if not value.startswith(ENV):
        return value
    name = value.removeprefix(ENV)
    found = secrets.get(name)
    if not found:
        raise NotSet(name)
    return found
