"""What the demo opens: runs that wait, and agents that one can talk to at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from inbox_app.demo import DemoGateway
from inbox_app.gateway.catalog import Repository
from inbox_app.gateway.chats import ChatRequest
from runtime_core.wire.settings import DefaultModels, Settings

OTHER = "scripted:/other.json"


def test_three_questions_wait_and_agents_answer_with_the_models_of_the_settings(tmp_path: Path) -> None:
    async def work() -> None:
        gateway = DemoGateway(tmp_path / "data", Settings(models=DefaultModels(main=OTHER)))
        await gateway.open()
        try:
            assert (await gateway.pending()).total == 3
            found = await gateway.catalog.repositories()
            assert {one.name for one in found} == {"refund-desk", "release-desk", "support-desk"}
            models = {one.name: one.agents[0].model for one in found}
            assert models["refund-desk"] == OTHER
            said = {one.name: await _said(gateway, one) for one in found if one.name != "refund-desk"}
            assert "Release rel-481" in said["release-desk"]
            assert "Review t-1042" in said["support-desk"]
        finally:
            await gateway.close()

    asyncio.run(work())


async def _said(gateway: DemoGateway, repository: Repository) -> str:
    asked = ChatRequest(message="Hello", repository=repository.path, agent="default")
    pieces: Sequence[str] = [
        str(event["content"]) async for event in gateway.chats.stream(asked) if event["type"] == "text_delta"
    ]
    return "".join(pieces)
