"""Every command and option of the command line stands in the README."""

from __future__ import annotations

import re

import click

from inbox_app.cli import cli
from tests.architecture.lints import ROOT


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_command_has_a_row() -> None:
    missing = [name for name in cli.commands if f"| `{name}" not in readme()]
    assert not missing, f"add a row to the command table of README.md for: {missing}"


def test_every_row_is_a_command() -> None:
    table = readme().partition("| command | does |")[2].partition("\n\n")[0]
    rows = set(re.findall(r"^\| `([a-z-]+)", table, re.MULTILINE))
    assert rows
    assert rows <= set(cli.commands), f"README.md describes what is not there: {rows - set(cli.commands)}"


def test_every_option_is_named() -> None:
    commands: list[click.Command] = [cli, *cli.commands.values()]
    options = {
        option
        for command in commands
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for option in parameter.opts
        if option.startswith("--")
    }
    missing = sorted(option for option in options if option not in readme())
    assert options
    assert not missing, f"README.md does not mention: {missing}"
