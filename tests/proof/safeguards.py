"""The safeguards of the runtime, how each is taken away, and the tests that have to miss it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Cut:
    """One text of a file, which stands there exactly once, and what takes its place."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """``tests``: files or tests, below ``tests/``; at least one of them has to fail."""

    promise: str
    cuts: tuple[Cut, ...]
    tests: tuple[str, ...]


def _mutant(promise: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    return Mutant(promise, (Cut(file, old, new),), tests)


_TRANSACTIONS: Final = "runtime_core/journal/transactions.py"
_ANSWERS: Final = "runtime_core/journal/answers.py"
_QUERIES: Final = "runtime_core/journal/queries.py"
_WRITER: Final = "runtime_core/journal/writer.py"
_JUDGE: Final = "runtime_core/approvals/answering.py"
_VOTES: Final = "runtime_core/approvals/votes.py"
_LEDGER: Final = "runtime_core/engine/ledger.py"
_TAKE: Final = "        batch, self._queue = self._queue, []\n"
_EARLY: Final = "        for entry, after, _ in batch:\n            self._keep(entry)\n            after(entry)\n"
_HAND_OUT: Final = (
    "        for entry, (_, after, _) in zip(stored, batch, strict=True):\n"
    "            self._keep(entry)\n"
    "            after(entry)\n"
)
_HOST_TS: Final = "runtime_core/hosts/programs/run.mjs"
_HOST_PY: Final = "runtime_core/hosts/programs/handler_host/run.py"
_DRIVER: Final = "runtime_core/engine/driver.py"
_CONFORMANCE: Final = "unit/journal/test_conformance.py"
_ANSWERING: Final = "unit/approvals/test_answering.py"
_EXPIRY: Final = "unit/journal/test_expiry.py"
_REPLAY: Final = "unit/hosts/test_replay.py"
_OTHERS: Final = "unit/engine/test_divergence.py::test_no_child_goes_on_before_all_of_them_have_been_replayed"

MUTANTS: Final = {
    "fence: epoch": _mutant(
        "a leg that was replaced never writes again",
        _TRANSACTIONS,
        'row[:2] != (claim.epoch, "running")',
        'row[1] != "running"',
        f"{_CONFORMANCE}::test_a_run_left_by_a_dead_executor_is_taken_over_and_the_old_leg_is_fenced",
    ),
    "fence: status": _mutant(
        "a leg whose run does not run never writes",
        _TRANSACTIONS,
        'row[:2] != (claim.epoch, "running")',
        "row[0] != claim.epoch",
        f"{_CONFORMANCE}::test_abandoned_claims_become_runnable_and_their_legs_cannot_write",
    ),
    "claim: owner": _mutant(
        "an executor does not claim twice what it is running",
        _TRANSACTIONS,
        "(status = 'running' AND lease_owner IS NOT :owner)",
        "status = 'running'",
        f"{_CONFORMANCE}::test_a_claim_is_given_once_and_raises_the_epoch",
    ),
    "claim: epoch": _mutant(
        "every claim has a number of its own",
        _TRANSACTIONS,
        "epoch = epoch + 1, lease_owner",
        "lease_owner",
        f"{_CONFORMANCE}::test_a_claim_is_given_once_and_raises_the_epoch",
    ),
    "append: finished entries stay": _mutant(
        "a recorded call never changes",
        _TRANSACTIONS,
        "AND n = ? AND state = 'started'",
        "AND n = ?",
        f"{_CONFORMANCE}::test_a_finished_entry_never_changes",
    ),
    "append: key of entries": _mutant(
        "there is one entry for each call",
        "runtime_core/journal/formats.py",
        '["run_id", "path", "n"], unique=True',
        '["run_id", "path", "n"]',
        f"{_CONFORMANCE}::test_a_finished_entry_never_changes",
    ),
    "load: order of completion": _mutant(
        "results are handed out as they were the first time",
        _QUERIES,
        "ORDER BY state = 'started', id",
        "ORDER BY state = 'started', n",
        f"{_CONFORMANCE}::test_entries_load_in_the_order_of_completion_then_started_ones",
    ),
    "park: other questions": _mutant(
        "a question that is not asked any more is closed",
        _TRANSACTIONS,
        "for pause_id, pause in open_before.items() if pause_id not in given",
        "for pause_id, pause in open_before.items() if pause_id in ()",
        f"{_CONFORMANCE}::test_a_question_that_is_not_asked_again_is_superseded",
    ),
    "finish: questions": _mutant(
        "a run that ended has no open question",
        _TRANSACTIONS,
        'closed = _close_all(db, claim.run.id, "superseded", None, now)',
        "closed: list[PauseRow] = []",
        f"{_CONFORMANCE}::test_a_finished_run_keeps_its_result_and_closes_open_questions",
    ),
    "answer: open question": _mutant(
        "a question is answered once",
        _JUDGE,
        "if pause.outcome is None and not is_over(pause, now)]",
        "if not is_over(pause, now)]",
        "unit/journal/test_races.py",
    ),
    "answer: status": _mutant(
        "a run that runs takes no answer",
        _JUDGE,
        "if not waiting or run.status not in _ANSWERABLE:",
        "if not waiting:",
        _ANSWERING,
    ),
    "answer: wake": _mutant(
        "the run becomes runnable with its answer",
        _ANSWERS,
        'events(db, move(db, run.id, "runnable", now, error=None, wake_at=run.wake_at), [pause])\n'
        "    return pause, True",
        "events(db, run, [pause])\n    return pause, True",
        f"{_CONFORMANCE}::test_an_answer_closes_the_question_completes_the_call_and_wakes_the_run",
    ),
    "answer: record": _mutant(
        "the answer is in the journal with the closed question",
        _ANSWERS,
        "    now = time.time()\n    _record(db, run, pause, recorded(pause), now)\n",
        "    now = time.time()\n",
        f"{_CONFORMANCE}::test_an_answer_closes_the_question_completes_the_call_and_wakes_the_run",
    ),
    "answer: shown question": _mutant(
        "nobody answers a question that has changed since it was shown",
        _JUDGE,
        "answer.fingerprint is not None and answer.fingerprint != pause.fingerprint",
        "False",
        _ANSWERING,
    ),
    "answer: key": _mutant(
        "a repeat with the same key is told what was stored",
        _ANSWERS,
        "    if stored is not None:\n        return stored, False\n",
        "",
        f"{_CONFORMANCE}::test_a_repeat_with_the_same_key_returns_the_stored_answer_even_after_the_end",
    ),
    "answer: body of the key": _mutant(
        "one key stands for one answer",
        _ANSWERS,
        "if row[1] != body:",
        "if False:",
        f"{_CONFORMANCE}::test_the_same_key_with_another_body_is_a_mismatch",
    ),
    "answer: deadline": Mutant(
        "an answer after the deadline does not count",
        (
            Cut(_JUDGE, 'if late is not None and run.status != "cancelled":', "if False:"),
            Cut(_JUDGE, "pause.outcome is None and not is_over(pause, now)]", "pause.outcome is None]"),
        ),
        (_ANSWERING,),
    ),
    "answer: who": _mutant(
        "only those answer who may",
        "runtime_core/approvals/eligibility.py",
        "if who in excluded:",
        "if False:",
        "unit/approvals/test_eligibility.py",
    ),
    "votes: equal": _mutant(
        "votes that differ are not added up",
        _VOTES,
        "if pause.votes and not _agree(pause.kind, pause.votes[0], vote):",
        "if False:",
        "unit/approvals/test_votes.py",
    ),
    "votes: enough": _mutant(
        "a question that takes several people waits for them",
        _VOTES,
        "if len(votes) < quorum(pause.spec):",
        "if False:",
        "unit/approvals/test_votes.py",
    ),
    "expire: open question": _mutant(
        "what was answered does not expire",
        _QUERIES,
        "WHERE question.outcome IS NULL AND expires_at IS NOT NULL AND run.status",
        "WHERE expires_at IS NOT NULL AND run.status",
        _EXPIRY,
    ),
    "expire: running": _mutant(
        "a leg that runs keeps its questions to itself",
        _QUERIES,
        " AND run.status NOT IN ('running', 'diverged')",
        "",
        _EXPIRY,
    ),
    "expire: wake": _mutant(
        "the run becomes runnable when its question expires",
        _ANSWERS,
        'events(db, move(db, run_id, "runnable", now, error=None, wake_at=run.wake_at), [pause])',
        "events(db, run, [pause])",
        _EXPIRY,
    ),
    "cancel: unfinished": _mutant(
        "what has ended stays as it ended",
        _TRANSACTIONS,
        "    if run.status in FINISHED:\n        code =",
        "    if False:\n        code =",
        _CONFORMANCE,
    ),
    "cancel: epoch": _mutant(
        "a cancelled run's leg is replaced by nobody",
        _TRANSACTIONS,
        "finished_at=now, epoch=run.epoch + 1)",
        "finished_at=now)",
        f"{_CONFORMANCE}::test_cancel_ends_the_run_closes_its_questions_and_fences_its_leg",
    ),
    "cancel: questions": _mutant(
        "a cancelled run has no open question",
        _TRANSACTIONS,
        'closed = _close_all(db, run_id, "cancelled", who, now)',
        "closed: list[PauseRow] = []",
        f"{_CONFORMANCE}::test_cancel_ends_the_run_closes_its_questions_and_fences_its_leg",
    ),
    "wake: time": _mutant(
        "a sleeper sleeps until its time has come",
        _TRANSACTIONS,
        "wake_at IS NOT NULL AND wake_at <= ?",
        "wake_at IS NOT NULL AND ? = ?1",
        f"{_CONFORMANCE}::test_sleeping_runs_wake_when_their_time_has_come",
    ),
    "abandon: running": _mutant(
        "what a dead executor left becomes runnable",
        _TRANSACTIONS,
        "AND status = 'running' AND {READABLE} RETURNING id",
        "AND status = 'left' AND {READABLE} RETURNING id",
        f"{_CONFORMANCE}::test_abandoned_claims_become_runnable_and_their_legs_cannot_write",
    ),
    "commit: sync": _mutant(
        "what was acknowledged survives a loss of power",
        "runtime_core/journal/driver.py",
        "'FULL' if durability == 'full' else 'NORMAL'",
        "'NORMAL'",
        "proof/test_power.py",
    ),
    "commit: one job fails": _mutant(
        "a refused change is undone, those committed with it are not",
        _WRITER,
        'db.execute("ROLLBACK TO job")',
        "pass",
        "unit/journal/test_contents.py",
    ),
    "commit: a lone job fails": _mutant(
        "a refused change is undone",
        _WRITER,
        "if jobs[0].error:\n                    rollback(db)",
        'if jobs[0].error:\n                    db.execute("COMMIT")',
        f"{_CONFORMANCE}::test_a_finished_entry_never_changes",
    ),
    "run: stored before told": Mutant(
        "a handler gets a result only when it is stored",
        (
            Cut(_LEDGER, f"take(), expired)\n{_HAND_OUT}", "take(), expired)\n"),
            Cut(_LEDGER, _TAKE, f"{_TAKE}{_EARLY}"),
        ),
        ("unit/engine/test_storing.py",),
    ),
    "store: with its entry": _mutant(
        "a write of a store is made if, and only if, its call is recorded",
        _DRIVER,
        "if ready is not None and ready.prepare is not None:",
        "if ready is not None and ready.prepare is not None and False:",
        "unit/engine/test_stores.py::test_a_write_whose_entry_is_not_stored_is_not_made",
    ),
    "store: undone with its entry": _mutant(
        "a write of a store that cannot be recorded is undone",
        _WRITER,
        "if jobs[0].error:\n                    rollback(db)",
        'if jobs[0].error:\n                    db.execute("COMMIT")',
        "unit/journal/test_documents.py::test_a_write_is_made_with_its_entry_or_not_at_all",
    ),
    "store: index": _mutant(
        "a query finds what was written",
        "runtime_core/journal/documents.py",
        "    if added is not None and fields:\n",
        "    if False and added is not None:\n",
        "unit/journal/test_documents.py::test_what_is_stored_is_what_a_dictionary_would_hold",
    ),
    "store: newer ones stay": _mutant(
        "an import replaces no document that was saved later",
        "runtime_core/journal/documents.py",
        '    db.execute("DELETE FROM temp.moved WHERE is_kept")\n',
        "",
        "unit/journal/test_documents.py::test_of_two_documents_with_one_key_the_one_saved_later_stays",
    ),
    "run: intent": _mutant(
        "a call that may not be repeated is noted before it is made",
        _DRIVER,
        "await self._open.store_intent(frame, call, began)",
        "pass",
        "crash/test_kill_runtime.py::test_killed_in_the_middle_of_a_call_asks_instead_of_repeating_it",
    ),
    "run: doubt": _mutant(
        "a person is asked what became of a call that was in flight",
        _DRIVER,
        "self._waiting.ask_what_happened(frame, call, intent)\n                return\n",
        "pass\n",
        "crash/test_kill_runtime.py::test_killed_in_the_middle_of_a_call_asks_instead_of_repeating_it",
    ),
    "answer: time first": _mutant(
        "a time that has come goes before an answer that came after it",
        _JUDGE,
        "if run.wake_at is not None and run.wake_at <= now:",
        "if False:",
        "unit/engine/test_time.py::test_a_time_that_has_come_goes_before_an_answer",
    ),
    "run: given up": _mutant(
        "a child that its caller has given up begins nothing more",
        _DRIVER,
        "self._handlers.give_up(at)",
        "pass",
        "unit/engine/test_cancelled_waits.py::test_a_durable_child_that_was_given_up_begins_nothing_more",
    ),
    "run: changed question": Mutant(
        "an answer reaches the question it was given to",
        (
            Cut(
                "runtime_core/engine/waiting.py",
                "elif fingerprint(known.kind, known.spec) == asked.fingerprint:",
                "elif True:",
            ),
            Cut("runtime_core/engine/changes.py", "if not _is_asked(pause, span):", "if False:"),
            Cut(
                _HOST_TS,
                "this.strict || made.kind === 'input' || made.kind === 'approval'",
                "this.strict",
            ),
            Cut(
                _HOST_PY,
                'self._is_strict or made["kind"] in {"input", "approval"}',
                "self._is_strict",
            ),
        ),
        ("unit/engine/test_divergence.py::test_a_changed_question_names_the_part_that_changed",),
    ),
    "run: all are replayed": _mutant(
        "no handler of a run makes a new call before all of them have been replayed",
        "runtime_core/engine/replays.py",
        "return len(self._expected) > 1 or bool(self._waiting)",
        "return False",
        _OTHERS,
    ),
    "resume: diverged": _mutant(
        "only a run that stopped is resumed with other code",
        _TRANSACTIONS,
        'if run.status != "diverged" and not (',
        "if False and not (",
        "unit/engine/test_versions.py::test_resuming_is_refused_with_a_reason",
    ),
    "exec: trust": _mutant(
        "no command is run for code that nobody has trusted",
        "runtime_core/engine/shell.py",
        "if not is_trusted:",
        "if False:",
        "unit/engine/test_shell.py::test_a_repository_that_does_not_ask_or_is_not_trusted_runs_nothing",
    ),
    "exec: trust of the code": _mutant(
        "trust is for the code as it was seen",
        "runtime_core/journal/trust.py",
        "WHERE repo = ? AND revision = ?",
        "WHERE repo = ? AND ? <> ''",
        "unit/engine/test_shell.py::test_trust_is_for_the_code_as_it_was_and_lasts",
    ),
    "retention: age": _mutant(
        "what ended lately keeps its journal",
        "runtime_core/journal/retention.py",
        "pruned_at IS NULL AND finished_at < ? ",
        "pruned_at IS NULL AND ? > 0 ",
        "unit/journal/test_retention.py::test_a_run_that_ended_later_keeps_everything",
    ),
    "retention: values in use": _mutant(
        "a value that a row names is kept",
        "runtime_core/journal/retention.py",
        "if not is_named(db, digest):",
        "if True:",
        "unit/journal/test_retention.py::test_an_ended_run_keeps_its_row_and_its_result",
    ),
    "run: one executor": _mutant(
        "one process executes the runs of a data folder",
        "runtime_core/dispatch/lock.py",
        "        except OSError:\n            os.close(descriptor)\n            return False\n",
        "        except OSError:\n            pass\n",
        "unit/engine/test_sharing.py",
    ),
    "replay, TypeScript: kind and name": _mutant(
        "another call than the recorded one stops the run",
        _HOST_TS,
        "if (record.kind !== made.kind || record.name !== made.name || (isFixed && isChanged)) {",
        "if (isFixed && isChanged) {",
        _REPLAY,
    ),
    "replay, Python: kind and name": _mutant(
        "another call than the recorded one stops the run",
        _HOST_PY,
        'if record["kind"] != made["kind"] or record["name"] != made["name"] or (is_fixed and is_changed):',
        "if is_fixed and is_changed:",
        _REPLAY,
    ),
    "replay, TypeScript: new calls wait for others": _mutant(
        "nothing new is made before the other handlers of the run have been replayed",
        _HOST_TS,
        "if (this.phase !== LIVE && !this.known.has(made.seq))",
        "if (false)",
        _OTHERS,
    ),
    "replay, Python: new calls wait for others": _mutant(
        "nothing new is made before the other handlers of the run have been replayed",
        _HOST_PY,
        'if self._phase is Phase.LIVE or made["seq"] in self._known:',
        "if True:",
        _OTHERS,
    ),
    "replay, TypeScript: one at a time": _mutant(
        "a result is handed out when nothing of the one before moves any more",
        _HOST_TS,
        "      this.deliver(this.queue[this.at++]);\n      await tick();\n",
        "      this.deliver(this.queue[this.at++]);\n",
        _REPLAY,
    ),
    "replay, Python: one at a time": _mutant(
        "a result is handed out when nothing of the one before moves any more",
        _HOST_PY,
        "            self._at += 1\n            self._port.turns.then(partial(self._hand_out, calm))\n",
        "            self._at += 1\n            self._hand_out(calm)\n",
        _REPLAY,
    ),
}
