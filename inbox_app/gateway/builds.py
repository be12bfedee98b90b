"""Builds of repositories, on the platform and here as the application knows them. Plain data, as `gateway.base`."""

from __future__ import annotations

from typing import Protocol


class BuildGateway(Protocol):
    """Every coroutine may raise `GatewayError`."""
