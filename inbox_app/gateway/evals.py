"""Evals as the application knows them. Plain data, as `gateway.base`."""

from __future__ import annotations

from typing import Protocol


class EvalGateway(Protocol):
    """Every coroutine may raise `GatewayError`."""
