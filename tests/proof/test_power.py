"""The short form of ``python -m tests.proof power``, and that it can fail."""

from __future__ import annotations

from pathlib import Path

from tests.proof.power import prove, sweep, tell

EVERY = 11


def test_nothing_acknowledged_is_lost_and_nothing_is_half_there(tmp_path: Path) -> None:
    for durability, figures in prove(EVERY, 1, tmp_path).items():
        assert not figures.problems, f"{durability}: {figures}"
        assert figures.acts > 300
        assert figures.disks > 200
        if durability == "relaxed":
            assert figures.lost


def test_a_disk_that_lies_about_syncing_is_noticed(tmp_path: Path) -> None:
    figures = sweep(tell("full", tmp_path), "full", 1, every=40, losses=["dropped"], lies=True)
    assert figures.problems


def test_a_journal_that_does_not_sync_is_noticed(tmp_path: Path) -> None:
    figures = sweep(tell("full", tmp_path, synchronous="OFF"), "full", 1, every=40, losses=["dropped"])
    assert any("were acknowledged" in problem for problem in figures.problems)
