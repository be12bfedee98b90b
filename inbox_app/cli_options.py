"""Options that several commands have, as decorators, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from inbox_app import cli_arguments, cli_session
from inbox_app.cli_arguments import FOLDER, TEXT
from inbox_app.desktop.paths import data_folder

F = TypeVar("F", bound=Callable[..., Any])


def data(command: F) -> F:
    return click.option("--data", type=FOLDER, metavar="DIR", help="Data folder (default: the platform's).")(command)


def json(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON with the keys of the contract.")(command)


def user(command: F) -> F:
    return click.option(
        "--as",
        "user",
        type=TEXT,
        metavar="USER",
        callback=cli_arguments.named_user,
        help="Act as this user (default: local:LOGIN).",
    )(command)


def model(command: F) -> F:
    return click.option(
        "--model",
        type=TEXT,
        metavar="SPEC",
        callback=cli_arguments.usable_model,
        help="Model of all agents, e.g. anthropic:NAME, openai:NAME@http://localhost:11434/v1 or scripted:FILE.json.",
    )(command)


def trust(command: F) -> F:
    return click.option(
        "--trust", is_flag=True, help="Trust the repository's code as it is now (see what it needs with: check)."
    )(command)


def replay_twice(command: F) -> F:
    return click.option("--replay-twice", is_flag=True, help="Replay each leg at once, and compare (for development).")(
        command
    )


def given(
    data: Path | None, as_json: bool, user: str | None = None, model: str | None = None, *, replay_twice: bool = False
) -> cli_session.Options:
    """What a command was told; ``--data`` may also stand before the command, or before the one it belongs to."""
    context = click.get_current_context().parent
    while data is None and context is not None:
        data = context.params.get("data")
        context = context.parent
    return cli_session.Options(data_folder(data), as_json, user, model, replay_twice)
