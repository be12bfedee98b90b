"""Values that a repository leaves to whoever runs it, `env:NAME` and `scope:KEY`, and secrets it must not hold.

What they stand for is looked up when it is used and kept nowhere else (contract 1.2, 1.6, decision 31).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from runtime_core.repo.report import INVALID, Report

if TYPE_CHECKING:  # with pydantic: not for commands that only look
    from runtime_core.repo.files import JsonFile, Key

ENV: Final = "env:"
SCOPE: Final = "scope:"
Known = Callable[[str], bool]
"""Whether there is a value for the NAME of ``env:NAME``. May ask a keychain, so it is called only in threads."""

_EMBEDDED: Final = re.compile(r"(?<![A-Za-z])env:[A-Za-z_][A-Za-z0-9_]*")
_SECRET: Final = re.compile(
    r"(token|secret|password|passwd|passphrase|apikey|accesskey|privatekey|secretkey|authkey|subscriptionkey"
    r"|functionskey|authorization|cookie|credentials?)\Z"
)
_SECRET_IN_AUTH: Final = frozenset({"key", "value"})
_NOT_SEARCHED: Final = frozenset({"contextInjection", "openapi", "test"})
_IN_ADDRESS: Final = re.compile(
    r"://[^/?#@:]*:[^/?#@]+@|[?&](access_?token|api_?key|key|token|secret|password)=[^&#]", re.I
)


def is_reference(value: str) -> bool:
    return value.startswith((ENV, SCOPE))


def named_values(value: Any) -> Iterator[tuple[Key, str]]:
    """Place and text of each ``env:NAME`` and ``scope:KEY``."""
    return ((place, text) for place, text in _texts(value, ()) if is_reference(text))


def unset_names(value: Any, known: Known, key: Key = ()) -> Iterator[tuple[Key, str]]:
    """Place and NAME of each ``env:NAME`` that has no value."""
    for place, text in _texts(value, key):
        if text.startswith(ENV) and not known(text.removeprefix(ENV)):
            yield place, text.removeprefix(ENV)


def names_secret(name: str) -> bool:
    """Whether the NAME of an ``env:NAME`` says that its value is a secret."""
    return name.upper().endswith(("_KEY", "_PASS")) or _SECRET.search(_letters(name)) is not None


def warn_of_embedded_names(file: JsonFile, value: Any, report: Report, key: Key = ()) -> None:
    """An ``env:NAME`` with something around it is never looked up."""
    for place, text in _texts(value, key):
        found = None if is_reference(text) else _EMBEDDED.search(text)
        if found is not None:
            message = f"{found[0]} stands inside a longer text, which is used as it is: nothing is looked up there."
            remedy = f"Write {found[0]} alone, and put the whole text into that variable."
            report.warning(INVALID, file.name, message, remedy, **file.place(place))


def literal_secrets(value: Any, key: Key = ()) -> Iterator[Key]:
    """Where a secret stands as it is, judged by the names of keys, or in an address."""
    for place, text in _texts(value, key):
        if text and not is_reference(text) and _holds_secret(place[len(key) :], text):
            yield place


def _holds_secret(key: Key, text: str) -> bool:
    if _IN_ADDRESS.search(text):
        return True
    name = next((part for part in reversed(key) if isinstance(part, str)), "")
    plain = _letters(name)
    if _NOT_SEARCHED.intersection(key):
        return False
    return _SECRET.search(plain) is not None or ("auth" in key[:-1] and plain in _SECRET_IN_AUTH)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _texts(value: Any, key: Key) -> Iterator[tuple[Key, str]]:
    todo: list[tuple[Key, Any]] = [(key, value)]
    while todo:
        place, current = todo.pop()
        if isinstance(current, str):
            yield place, current
        elif isinstance(current, dict):
            todo += [((*place, name), item) for name, item in reversed(cast("dict[str, Any]", current).items())]
        elif isinstance(current, list):
            todo += [((*place, n), item) for n, item in reversed(list(enumerate(cast("list[Any]", current))))]
