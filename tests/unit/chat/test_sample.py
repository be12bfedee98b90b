"""The sample that talks loads without a word, with all that is defined in code."""

from __future__ import annotations

from pathlib import Path

from runtime_core.runtime import Runtime
from tests.unit.engine.workshop import play

SUPPORT = Path(__file__).parents[3] / "resources" / "samples" / "support-desk"


def test_the_support_desk_has_no_problem(tmp_path: Path) -> None:
    async def story() -> None:
        runtime = Runtime(tmp_path)
        await runtime.open()
        try:
            bundle = await runtime.add_repository(SUPPORT)
        finally:
            await runtime.close()
        assert bundle.problems == ()
        assert bundle.tools["close_account"].exposure == "requires-confirmation"
        assert {tool.language for tool in bundle.tools.values()} == {"python", "typescript"}

    play(story())
