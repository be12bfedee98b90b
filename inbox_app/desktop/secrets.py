"""Secrets of the person who runs the program: the process environment, then the keychain of the desktop.

A keychain may be locked, absent or dead. It is asked in a thread of its own with a time limit, one question at a time,
and nothing is ever written to a file of ours.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar, cast

SERVICE: Final = "operator-inbox"
LIMIT_S: Final = 10.0
_INDEX: Final = "operator-inbox:names"
"""The entry with the names of all others, which no keychain lists by itself."""
_KEPT_S: Final = 60.0
"""How long what it said about a name is not asked for again, also that there is none."""
_QUIET_S: Final = 60.0
"""How long a keychain that failed is not asked for values: it may show a dialog each time."""
_NAME: Final = re.compile(r"(?:[^\x00-\x20\x7f/][^\x00-\x1f\x7f]*/)?[A-Za-z_][A-Za-z0-9_.-]*")

T = TypeVar("T")


class KeychainUnavailable(Exception):  # noqa: N818
    """The keychain did not do what it was asked; the message says why and what to do, without any secret."""


class _Silent(KeychainUnavailable):
    """It did not answer in time; as long as it does not, it is not asked again."""


class Keychain:
    """Where ``env:NAME`` and ``scope:KEY`` (as ``SCOPE/KEY``) are looked up. May be asked from any thread."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._turn = threading.Lock()
        self._stuck: threading.Thread | None = None
        self._kept: dict[str, tuple[float, str | None]] = {}
        self._quiet_until = 0.0
        self._trouble: str | None = None

    def get(self, name: str) -> str | None:
        """The value in the environment, else in the keychain, else None; None too if that does not answer in time."""
        found = os.environ.get(name)
        if found:
            return found
        kept = self._kept.get(name)
        if kept is not None and time.monotonic() - kept[0] < _KEPT_S:
            self._trouble = None
            return kept[1]
        if time.monotonic() < self._quiet_until:
            return None
        try:
            value = self._ask(lambda: _backend().get_password(SERVICE, name))
        except KeychainUnavailable as error:
            self._trouble = str(error)
            if not isinstance(error, _Silent):
                self._quiet_until = time.monotonic() + _QUIET_S
            return None
        self._trouble = None
        self._kept[name] = (time.monotonic(), value)
        return value

    def trouble(self) -> str | None:
        """Why the keychain gave no value when it was last asked for one; None if it answered."""
        return self._trouble

    def names(self) -> Sequence[str]:
        """What is stored in the keychain. Raises `KeychainUnavailable`."""
        return self._ask(_names)

    def set(self, name: str, value: str) -> None:
        """Store a value, in place of the one before. Raises `ValueError`, `KeychainUnavailable`."""
        check_name(name)

        def store() -> bool:
            backend = _backend()
            if type(backend).__module__.startswith("keyrings.alt.file"):
                raise KeychainUnavailable(
                    "The keychain of this computer is a plain file, which secrets are not kept in."
                )
            backend.set_password(SERVICE, name, value)
            if backend.get_password(SERVICE, name) != value:
                return False
            _write_names(sorted({*_names(), name}))
            return True

        self._kept.pop(name, None)
        if not self._ask(store, hide=value):
            raise KeychainUnavailable(f"The keychain of this computer keeps nothing. {_INSTEAD}")

    def remove(self, name: str) -> bool:
        """Whether there was a value to remove. Raises `KeychainUnavailable`."""

        def forget() -> bool:
            backend = _backend()
            found = backend.get_password(SERVICE, name) is not None
            if found:
                backend.delete_password(SERVICE, name)
            names = _names()
            if name in names:
                _write_names([one for one in names if one != name])
            return found

        self._kept.pop(name, None)
        return self._ask(forget)

    def _ask(self, work: Callable[[], T], *, hide: str = "") -> T:
        """Do the work in a thread; one that does not come back is left behind, and nothing is asked while it hangs."""
        if not self._turn.acquire(timeout=self._limit_s):
            raise _Silent(self._silent())
        try:
            if self._stuck is not None and self._stuck.is_alive():
                raise _Silent(self._silent())
            answer: Future[T] = Future()
            thread = threading.Thread(target=_answer, args=(answer, work), name="keychain", daemon=True)
            thread.start()
            try:
                return answer.result(self._limit_s)
            except TimeoutError:
                self._stuck = thread
                raise _Silent(self._silent()) from None
            except KeychainUnavailable:
                raise
            except Exception as error:  # noqa: BLE001 - backends raise what their system raises
                raise KeychainUnavailable(_reason(error, hide)) from None
        finally:
            self._turn.release()

    def _silent(self) -> str:
        return (
            f"The keychain of this computer did not answer within {self._limit_s:g} s. Unlock it and try again. "
            f"{_INSTEAD}"
        )


_INSTEAD: Final = "Without a keychain, set environment variables of the same names."


def check_name(name: str) -> None:
    """Raises `ValueError` for what cannot be the NAME of ``env:NAME`` or ``SCOPE/KEY``."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is no name of a secret: letters, digits and _, after SCOPE/ for the secret of a scope"
        )


def _backend() -> Any:
    """A `keyring.backend.KeyringBackend`, whose methods have no types."""
    import keyring

    return keyring.get_keyring()


def _names() -> list[str]:
    stored = _backend().get_password(SERVICE, _INDEX)
    try:
        names: object = json.loads(stored or "[]")
    except ValueError:
        return []
    return [name for name in cast("list[object]", names) if isinstance(name, str)] if isinstance(names, list) else []


def _write_names(names: Sequence[str]) -> None:
    _backend().set_password(SERVICE, _INDEX, json.dumps(names))


def _answer(answer: Future[T], work: Callable[[], T]) -> None:
    try:
        answer.set_result(work())
    except BaseException as error:  # noqa: BLE001 - goes to whoever asked
        answer.set_exception(error)


def _reason(error: Exception, hide: str) -> str:
    from keyring.errors import NoKeyringError

    if isinstance(error, NoKeyringError):
        return f"There is no keychain on this computer. {_INSTEAD}"
    text = " ".join(str(error).split())
    words = text.replace(hide, "***") if hide else text
    return f"The keychain of this computer failed ({type(error).__name__}{f': {words}' if words else ''}). {_INSTEAD}"
