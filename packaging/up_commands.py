"""The newcomer's commands: what ``packaging/up.py`` does once the Python is known to be suitable."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import up_checks
import up_environment
from up_say import SetupError, say

ROOT = Path(__file__).resolve().parent.parent

EPILOG = """\
commands:
  (none)       set up, then open the window on the sample agents with questions waiting
  test         set up with the test tools, then run every check and test; with arguments: only pytest with them
  bench        set up with the test tools, then run the benchmarks; with arguments: only those whose name contains one
  shots DIR    set up, then save pictures of the window's screens in DIR

The set-up is made once, in .venv of this checkout (in your cache folder if the checkout cannot be written), and
repeated only when pyproject.toml or the Python changes. pip's own settings (its configuration files, PIP_... in the
environment) decide where packages come from.
"""


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    command: str = options.command
    rest: list[str] = options.rest
    try:
        if command == "shots" and len(rest) != 1:
            raise SetupError("shots needs exactly one folder: python3 packaging/up.py shots DIR")
        extras = ("test",) if command in {"test", "bench"} else ()
        python = up_environment.ready(ROOT, extras)
        match command:
            case "test":
                return up_checks.run_tests(python, ROOT, rest)
            case "bench":
                return up_checks.run_benchmarks(python, ROOT, rest)
            case "shots":
                folder = Path(rest[0]).absolute()
                os.chdir(ROOT)
                return _become([str(python), "-m", "tests.support.shots", str(folder)])
            case _:
                return _become([str(python), "-P", "-m", "inbox_app", "demo"])
    except SetupError as error:
        if error.output:
            say(error.output)
        say(f"error: {error}")
        return 1
    except OSError as error:
        say(f"error: {error.strerror or error}: {error.filename or ROOT}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next start goes on from here")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="packaging/up.py",
        description="Set Operator Inbox up and open it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="python3 packaging/up.py [test [ARGS] | bench [NAMES] | shots DIR]",
    )
    parser.add_argument(
        "command", nargs="?", choices=["demo", "test", "bench", "shots"], default="demo", help=argparse.SUPPRESS
    )
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _become(command: list[str]) -> int:
    """Hand this process over to the application, so that signals and the exit code are its own."""
    environment = up_environment.clean_environment()
    if sys.platform != "win32":
        os.execve(command[0], command, environment)
    return subprocess.call(command, env=environment)
