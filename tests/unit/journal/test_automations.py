"""Starts of automations in the journal."""

from __future__ import annotations

from pathlib import Path

from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.automations import AutomationRow, AutomationStart
from tests.unit.journal.stories import play


def test_the_latest_start_is_the_last_one_that_was_not_skipped_if_there_is_one(tmp_path: Path) -> None:
    async def story(journal: SqliteJournal) -> None:
        for name in ("auto_a", "auto_b", "auto_c"):
            await journal.add_automation(
                AutomationRow(name, "/repo", name, "person", "{}", True, "ann", 1.0, 1.0, None)
            )
        first = await journal.start_automation(AutomationStart("auto_a", "manual", 1.0, 1.0))
        assert first is not None
        skipped = await journal.start_automation(AutomationStart("auto_a", "manual", 2.0, 2.0))
        assert skipped is not None
        assert skipped.state == "skipped"
        before = await journal.start_automation(AutomationStart("auto_b", "manual", 1.0, 1.0))
        assert before is not None
        await journal.end_automation(before.id, "failed", 2.0, "No.")
        last = await journal.start_automation(AutomationStart("auto_b", "manual", 3.0, 3.0))
        assert await journal.latest_firings() == {"auto_a": first, "auto_b": last}
        await journal.end_automation(first.id, "skipped", 3.0)
        assert (await journal.latest_firings())["auto_a"] == skipped

    play(tmp_path, story)
