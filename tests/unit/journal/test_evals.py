"""Results of evals in the journal."""

from __future__ import annotations

from pathlib import Path

from runtime_core.journal.evals import KEPT
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.evals import EvalRow
from runtime_core.wire.json import dumps
from tests.unit.journal.stories import play


def row(number: int, name: str = "late", repo: str = "/repo", body: str = "{}") -> EvalRow:
    return EvalRow(repo, name, float(number), number % 2 == 0, body)


def test_results_are_kept_latest_first(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        large = dumps({"response": "x" * 200_000})
        for number in range(1, 4):
            await journal.add_eval_result(row(number, body=large))
        await journal.add_eval_result(row(9, "dock"))
        await journal.add_eval_result(row(9, "late", "/other"))
        found = await journal.eval_results("/repo", "late", 2)
        assert [(one.at, one.passed) for one in found] == [(3.0, False), (2.0, True)]
        assert found[0].body == large
        latest = await journal.latest_eval_results("/repo")
        assert [(one.eval, one.at) for one in latest] == [("dock", 9.0), ("late", 3.0)]

    play(tmp_path, story)


def test_only_the_latest_results_of_an_eval_are_kept(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        await journal.add_eval_result(row(0, "dock"))
        numbers = [await journal.add_eval_result(row(number)) for number in range(KEPT + 2)]
        found = await journal.eval_results("/repo", "late", 1000)
        assert [one.id for one in found] == numbers[:1:-1]
        assert len(await journal.eval_results("/repo", "dock", 10)) == 1

    play(tmp_path, story)
