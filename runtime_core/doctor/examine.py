"""All checks of one data folder, in an order in which the first finding explains the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from runtime_core.config import Config
from runtime_core.doctor import contents, folder
from runtime_core.doctor.findings import Finding, counted, in_megabytes, ok, problem, some, warning
from runtime_core.journal.driver import Connection, DriverError, fault, pragma
from runtime_core.journal.formats import FORMAT
from runtime_core.journal.look import holder, look
from runtime_core.wire.settings import Retention

_SLACK_S: Final = 86_400.0
"""Retention may come so much later than it could."""

_FOLDER_CHECKS: Final[tuple[Callable[[Path], Iterator[Finding]], ...]] = (
    folder.place,
    folder.executor,
    folder.privacy,
    folder.leftovers,
    folder.sizes,
    folder.desk,
)


def examine(data: Path, config: Config) -> Sequence[Finding]:
    """Everything there is to say. Changes nothing and never fails."""
    found = [
        warning("settings", told, "Correct it; resources/docs/settings.md lists every key.") for told in config.warnings
    ]
    if not data.exists():
        hindrance = folder.hindrance(data)
        if hindrance is not None:
            told = f"There is no data folder at {data}, and it cannot be made: {hindrance}."
            return [*found, problem("folder-missing", told, "Choose another data folder with --data.")]
        return [*found, warning("folder-missing", f"There is no data folder at {data} yet.", "It is made when needed.")]
    if not data.is_dir():
        return [*found, problem("folder-missing", f"{data} is a file.", "Choose another data folder with --data.")]
    for check in _FOLDER_CHECKS:
        try:
            found += check(data)
        except OSError as error:
            found.append(
                problem("unreadable", f"{error.filename or data}: {error.strerror}.", "Check its permissions.")
            )
    return [*found, *_journal(data, config.settings.retention)]


def _journal(data: Path, retention: Retention) -> Iterator[Finding]:
    file = data / "runtime.db"
    try:
        if (not file.exists() or file.stat().st_size == 0) and any((data / "versions").glob("*")):
            yield problem(
                "journal-lost",
                f"{file} is {'empty' if file.exists() else 'not there'}, but {data / 'versions'} holds code of runs: "
                "there was a journal.",
                "Restore a copy of it; else its runs are lost, and a new journal is made when the folder is next used.",
            )
        elif not file.exists():
            yield warning("journal-missing", f"There is no journal at {file} yet.", "It is made when needed.")
        elif file.stat().st_size == 0:
            yield warning("journal-empty", f"{file} is empty.", "It is made anew when needed.")
        else:
            with look(file) as db:
                db.text_factory = _readable
                yield from _contents(db, data, file, retention)
    except (DriverError, UnicodeDecodeError) as error:
        yield _unreadable(file, error)
    except OSError as error:
        yield problem("unreadable", f"{error.filename or file}: {error.strerror}.", "Check permissions and free space.")


def _contents(db: Connection, data: Path, file: Path, retention: Retention) -> Iterator[Finding]:
    found = pragma(db, "user_version")
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()}
    if found > FORMAT:
        yield problem(
            "newer-format",
            f"{file} has format {found}, made by a newer version of this program, which reads up to format {FORMAT}.",
            "Install the newer version, or choose another data folder.",
        )
        return
    if "durable_run" not in tables and found < FORMAT:
        yield problem("not-a-journal", f"{file} is not a journal.", "Move it away, or choose another data folder.")
        return
    wrong = list(contents.schema(db, str(file)))
    if wrong:
        yield from wrong
        return
    if found < FORMAT:
        yield warning(
            "older-format",
            f"{file} has format {found}; its contents are checked when it has format {FORMAT}.",
            "It is brought there, and a copy is made, when the folder is next used, for example by: list",
        )
        return
    yield ok("format", f"{file} has format {FORMAT} and {in_megabytes(file.stat().st_size)}.")
    told: set[Finding] = set()
    for check in (*contents.CHECKS, _retention(retention), _moving(data), _repositories, _versions(data)):
        try:
            yield from check(db)
        except Exception as error:  # noqa: BLE001 - there is no end to what a damaged file makes of a check
            finding = _unreadable(file, error)
            if finding not in told:
                told.add(finding)
                yield finding


def _readable(text: bytes) -> str:
    return text.decode(errors="backslashreplace")


def _unreadable(file: Path, error: Exception) -> Finding:
    if isinstance(error, DriverError) and fault(file, error).code == "data_folder_busy":
        return problem("locked", f"{file} is locked by another program.", "Close that program (a database browser?).")
    return problem("damaged", f"{file} cannot be read: {error}.", contents.RESTORE)


def _retention(retention: Retention) -> contents.Check:
    def check(db: Connection) -> Iterator[Finding]:
        before = retention.limit(time.time() - _SLACK_S)
        due = []
        if before is not None:
            due = db.execute(
                "SELECT id FROM durable_run WHERE pruned_at IS NULL AND finished_at < ? ORDER BY finished_at", (before,)
            ).fetchall()
        if due:
            yield warning(
                "retention-due",
                f"{counted(len(due), 'run')} ended more than retention.journal_days ago and still "
                f"{'has its' if len(due) == 1 else 'have their'} calls: {some([row[0] for row in due])}.",
                "They go bit by bit while the program is used, or all at once with: operator-inbox doctor --compact",
            )

    return check


def _moving(data: Path) -> contents.Check:
    def check(db: Connection) -> Iterator[Finding]:
        rows = db.execute("SELECT id FROM durable_run WHERE status = 'running'").fetchall()
        if rows and holder(data / "executor.lock") is None:
            names = some([row[0] for row in rows])
            yield warning(
                "executor-died",
                f"Runs were being executed when their process ended: {names}.",
                "They go on when the folder is next used, for example by: list",
            )

    return check


def _repositories(db: Connection) -> Iterator[Finding]:
    rows = db.execute(
        "SELECT repo, count(*) FROM durable_run WHERE finished_at IS NULL GROUP BY repo ORDER BY repo"
    ).fetchall()
    for repo, count in rows:
        if not (Path(repo) / "amodal.json").is_file():
            yield warning(
                "repository-gone",
                f"The agent repository {repo} is not there; {counted(count, 'run')} that "
                f"{'has' if count == 1 else 'have'} not ended {'needs' if count == 1 else 'need'} it.",
                "Move it back, or cancel these runs.",
            )


def _versions(data: Path) -> contents.Check:
    def check(db: Connection) -> Iterator[Finding]:
        rows = db.execute(
            "SELECT id, coalesce(resume_on, leg_revision, revision), resume_on IS NOT NULL FROM durable_run "
            "WHERE finished_at IS NULL AND epoch > 0"
        ).fetchall()
        missing = [(run_id, chosen) for run_id, revision, chosen in rows if not (data / "versions" / revision).is_dir()]
        needed = [run_id for run_id, chosen in missing if chosen]
        if needed:
            yield problem(
                "code-missing",
                f"The code that was chosen for these runs is not in {data / 'versions'}: {some(needed)}.",
                "Resume them on the newest code, or cancel them.",
            )
        lost = [run_id for run_id, chosen in missing if not chosen]
        if lost:
            yield warning(
                "code-missing",
                f"The code these runs were executed with is not in {data / 'versions'}: {some(lost)}.",
                "They go on with the code of their repository; nothing is to be done unless that was changed.",
            )

    return check
