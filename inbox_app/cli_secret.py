"""``secret``: values that repositories name as ``env:NAME``, kept in the keychain of this computer."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import click

from inbox_app.cli_session import DONE, complain, say, say_json
from inbox_app.desktop.secrets import Keychain, KeychainUnavailable, check_name
from inbox_app.gateway.base import GatewayError


def store(name: str, *, as_json: bool) -> int:
    """Store what is typed without being shown, or what comes from the standard input, without white space around it."""
    try:
        check_name(name)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    value = _value(name)
    if not value:
        raise click.UsageError("there is no value on the standard input; remove a secret with: secret remove")
    with _failures():
        Keychain().set(name, value)
    if as_json:
        say_json({"name": name, "stored": True})
    else:
        say([f"{name} is stored. Repositories that are open see it within a minute."])
    if name in os.environ:
        complain(f"warning: the environment variable {name} is set too, and goes before what is stored")
    return DONE


def list_names(*, as_json: bool) -> int:
    with _failures():
        names = Keychain().names()
    if as_json:
        say_json({"names": list(names)})
    else:
        say(names)
    return DONE


def remove(name: str, *, as_json: bool) -> int:
    with _failures():
        found = Keychain().remove(name)
    if not found:
        raise GatewayError("NOT_FOUND", f"There is no secret {name} in the keychain. See: operator-inbox secret list")
    if as_json:
        say_json({"name": name, "removed": True})
    else:
        say([f"{name} is removed."])
    return DONE


def _value(name: str) -> str:
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - None where it was closed
        raise click.UsageError("the standard input is closed")
    if sys.stdin.isatty():
        return getpass.getpass(f"Value of {name} (is not shown): ").strip()
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise click.UsageError("the value on the standard input is not UTF-8 text") from None


@contextmanager
def _failures() -> Generator[None]:
    try:
        yield
    except KeychainUnavailable as error:
        raise GatewayError("keychain_unavailable", str(error)) from None
