"""Servers that speak the protocols of providers, for the tests of their models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from runtime_core.agents import provider_model, providers
from tests.support.providers import Providers


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are sent once more without a pause."""
    monkeypatch.setattr(provider_model, "RETRY_WAITS_S", (0.0, 0.0))


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[Providers, str], str]:
    """The spec of a protocol at a server; ``responses`` is spoken with OpenAI itself only."""

    def spec(far: Providers, protocol: str) -> str:
        if protocol != "responses":
            return far.spec(protocol)
        own = replace(providers.PROVIDERS["openai"], base_url=far.base_url("openai"))
        monkeypatch.setattr(providers, "PROVIDERS", {**providers.PROVIDERS, "openai": own})
        return "openai:gpt-5"

    return spec
