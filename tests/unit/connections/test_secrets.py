"""``env:NAME``: an empty value is none, wherever it is looked up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime_core.connections.credentials import Unusable, read_access
from runtime_core.connections.mcp_config import McpServer, McpUnavailable, filled
from runtime_core.connections.openapi_source import DocumentUnavailable, OpenApiDocuments
from runtime_core.connections.secrets import EnvironmentSecrets, NotSet, Secrets, looked_up
from runtime_core.engine.definitions import Definitions
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.tools.base import ToolFailed
from runtime_core.tools.web_google import _key
from tests.unit.connections.calling import Kept, connection

NAME = "DESK_TOKEN"
REFERENCE = f"env:{NAME}"


def _request(secrets: Secrets) -> Any:
    chosen = connection("https://desk.example", auth={"type": "bearer", "token": REFERENCE})
    return read_access(chosen, secrets, "").credentials["Authorization"].removeprefix("Bearer ")


USES: dict[str, Callable[[Secrets], Any]] = {
    "resolver": lambda secrets: looked_up(REFERENCE, secrets),
    "request": _request,
    "mcp": lambda secrets: filled(McpServer("desk", "amodal.json"), "env.A", REFERENCE, secrets),
    "openapi": lambda secrets: OpenApiDocuments(Path("none"), secrets).source(connection("", openapi=REFERENCE)),
    "web": lambda secrets: _key(REFERENCE, secrets),
}


@pytest.mark.parametrize("use", USES)
def test_an_empty_value_is_none(use: str) -> None:
    assert USES[use](Kept({NAME: "value"})) == "value"
    with pytest.raises((NotSet, Unusable, McpUnavailable, DocumentUnavailable, ToolFailed)) as caught:
        USES[use](Kept({NAME: ""}))
    assert NAME in str(caught.value)


def test_an_empty_variable_is_none_for_the_check_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "repo"
    (root / "connections" / "desk").mkdir(parents=True)
    (root / "amodal.json").write_text('{"name": "x", "version": "1"}')
    (root / "connections" / "desk" / "spec.json").write_text(f'{{"baseUrl": "{REFERENCE}"}}')

    def reason() -> str | None:
        definitions = Definitions(HandlerHosts(tmp_path / "hosts"), EnvironmentSecrets())
        return asyncio.run(definitions.load(root)).connections["desk"].unavailable

    monkeypatch.setenv(NAME, "")
    assert f"{NAME} is not set" in str(reason())
    monkeypatch.setenv(NAME, "https://desk.example")
    assert reason() is None
