"""``export`` and ``import``: runs out of a data folder and into one, without a runtime on it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Final

from inbox_app.cli_session import DONE, REFUSED, Options, complain, is_output, say, say_json
from inbox_app.gateway.base import GatewayError
from runtime_core.doctor.contents import first_problem
from runtime_core.journal.exporting import Exported, export, whole_file
from runtime_core.journal.folder import prepare
from runtime_core.journal.importing import Imported, import_runs
from runtime_core.journal.parts import HELD
from runtime_core.wire.codes import RuntimeFault


def export_to(options: Options, target: Path, runs: Sequence[str]) -> int:
    """Write runs to a file, or to the standard output for ``-``. Exit code 1 if damaged ones had to be left out."""
    with _faults():
        if is_output(target):
            done = export(_journal(options), runs, program_version(), _to_stdout)
        else:
            done = _to_file(options, target, runs)
    if is_output(target):
        if not options.as_json:
            complain(f"{_what(done)} exported")
    elif options.as_json:
        say_json(
            {
                "file": str(target),
                "runs": done.runs,
                "unfinished": list(done.unfinished),
                "damaged": list(done.damaged),
                **_held(done),
                "lost": list(done.lost),
            }
        )
    else:
        say([f"{_what(done)} exported to {target}"])
    for run_id, problem in done.damaged.items():
        complain(f"session {run_id} was left out: {problem}")
    for name in done.lost:
        complain(f"{name} was left out: it is damaged")
    if count := len(done.unfinished):
        they_go = "it goes" if count == 1 else "they go"
        complain(
            f"{_runs(count)} of the file {_have(count)} not ended. Imported elsewhere {they_go} on there as well as "
            "here: from then on use only one of the two data folders, or cancel in one of them."
        )
    return REFUSED if done.damaged or done.lost else DONE


def _to_file(options: Options, target: Path, runs: Sequence[str]) -> Exported:
    try:
        with whole_file(target) as file:
            return export(_journal(options), runs, program_version(), file.write)
    except OSError as error:
        raise GatewayError("VALIDATION_ERROR", f"{target} cannot be written: {error.strerror}.") from error


def _to_stdout(text: str) -> None:
    sys.stdout.buffer.write(text.encode())


def import_from(options: Options, source: Path) -> int:
    """Take runs in from a file, or from the standard input for ``-``."""
    with _faults(), _opened(source) as file:
        prepare(options.data)
        name = "standard input" if str(source) == "-" else str(source)
        done = import_runs(_journal(options), file, name, first_problem)
    if options.as_json:
        say_json(
            {
                "runs": done.runs,
                "known": done.known,
                "unfinished": list(done.unfinished),
                **_held(done),
                "kept": done.kept,
            }
        )
    else:
        known = f"; {_runs(done.known)} of the file {'was' if done.known == 1 else 'were'} there already"
        kept = f"; {_count(done.kept, 'document')} stayed as saved here, at the same time or later"
        say([f"{_what(done)} imported" + (known if done.known else "") + (kept if done.kept else "")])
    if count := done.held.get("automation"):
        complain(f"{_count(count, 'automation')} {'is' if count == 1 else 'are'} off here; see: automations list")
    if count := len(done.unfinished):
        complain(
            f"{_runs(count)} of them {_have(count)} not ended and {'goes' if count == 1 else 'go'} on here from now "
            "on. Where they come from they go on too: use only one of the two data folders, or cancel them in one."
        )
    return DONE


def program_version() -> str:
    try:
        return version("operator-inbox")
    except PackageNotFoundError:
        return "unknown"


def _journal(options: Options) -> Path:
    return options.data / "runtime.db"


@contextlib.contextmanager
def _opened(source: Path) -> Generator[IO[bytes]]:
    if str(source) == "-":
        if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - None where it was closed
            raise GatewayError("VALIDATION_ERROR", "The standard input is closed, so nothing was imported.")
        yield sys.stdin.buffer
        return
    try:
        file = source.open("rb")
    except OSError as error:
        raise GatewayError("VALIDATION_ERROR", f"{source} cannot be read: {error.strerror}.") from error
    with file:
        yield file


@contextlib.contextmanager
def _faults() -> Generator[None]:
    try:
        yield
    except RuntimeFault as fault:
        raise GatewayError(fault.code, fault.message, fault.details) from fault


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _runs(count: int) -> str:
    return _count(count, "run")


def _held(done: Exported | Imported) -> dict[str, int]:
    """What was moved beside runs, without what belongs to something else."""
    return {_plural(kind): done.held.get(kind, 0) for kind, part in HELD.items() if not part.owner}


def _what(done: Exported | Imported) -> str:
    held = [_count(count, word) for kind, word in _WORDS.items() if (count := done.held.get(kind))]
    return ", ".join([_runs(done.runs), *held])


_WORDS: Final = {
    "document": "document",
    "note": "note",
    "chat": "conversation",
    "automation": "automation",
    "eval_result": "eval result",
    "build": "build",
    "tool_switch": "tool switch",
}


def _count(count: int, what: str) -> str:
    return f"{count} {what if count == 1 else _plural(what)}"


def _plural(what: str) -> str:
    return f"{what}es" if what.endswith("ch") else f"{what}s"
