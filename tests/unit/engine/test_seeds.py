"""The workflows of the founding document, as they stand there, with child tools of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime_core.journal.base import Answer
from runtime_core.runtime import Runtime
from runtime_core.wire.json import dumps
from tests.unit.engine.workshop import play

SEEDS = Path(__file__).parent / "fixtures" / "seeds"


@pytest.mark.parametrize(
    ("value", "kind", "result"),
    [
        ("staging", "complete", {"target": "staging", "result": {"released": "staging"}}),
        ("the moon", "failed", None),
    ],
)
def test_release_to_environment(tmp_path: Path, value: str, kind: str, result: object) -> None:
    async def story() -> None:
        runtime = Runtime(tmp_path / "data")
        await runtime.open()
        try:
            asked = await runtime.run_tool(SEEDS, "release_to_environment", "{}", who="ann")
            options = asked["outcome"]["options"]
            assert options == [
                {"value": "staging", "label": "Staging", "recommended": True},
                {"value": "production", "label": "Production", "sub": "Makes the release live"},
            ]
            done = await runtime.answer(Answer(asked["sessionId"], f'"{value}"', "ann"))
            assert (done["outcome"]["kind"], done["result"]) == (kind, result)
        finally:
            await runtime.close()

    play(story())


def test_review_request(tmp_path: Path) -> None:
    async def story() -> None:
        runtime = Runtime(tmp_path / "data")
        await runtime.open()
        try:
            reply = await runtime.run_tool(SEEDS, "review_request", '{"request_id": "R-7"}', who="ann")
            assert reply["result"] == {
                "request_id": "R-7",
                "findings": {"completeness": "All fields are there.", "policy": "Within policy."},
            }
        finally:
            await runtime.close()

    play(story())


@pytest.mark.parametrize("tool", ["extract_facts", "extract_facts_py"])
def test_fanning_out_attachments(tmp_path: Path, tool: str) -> None:
    kinds = {"a.pdf": "application/pdf", "b.png": "image/png", "c.mp4": "video/mp4"}
    files = [{"filename": name, "mimeType": kind, "data": "AA=="} for name, kind in kinds.items()]

    async def story() -> None:
        runtime = Runtime(tmp_path / "data")
        await runtime.open()
        try:
            reply = await runtime.run_tool(SEEDS, tool, "{}", who="ann", attachments=dumps(files))
        finally:
            await runtime.close()
        facts = ["Facts of a.pdf from: a.pdf.", "Facts of b.png from: b.png.", "Facts of c.mp4 from: ."]
        assert reply["result"] == {"results": facts}

    play(story())
    log = (tmp_path / "data/logs/handlers.log").read_text()
    assert log.count("subagent_attachments_stripped") == 1
    assert 'the model of "document-extractor" does not take c.mp4 (video/mp4)' in log
