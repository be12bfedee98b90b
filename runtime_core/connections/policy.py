"""Whether a model may make a call of a connection, and what it may see of the result (contract 9.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime_core.repo.policy import Policy, Verdict


def judge(
    policy: Policy,
    method: str,
    endpoint: str,
    params: Mapping[str, Any] | None = None,
    data: Any = None,
    intent: str | None = None,
    headers: Mapping[str, Any] | None = None,
) -> Verdict:
    """What the policy says about a request that a model selected. ``endpoint`` as the model wrote it, or the path
    template of an operation with its values filled in; ``params`` the query, ``data`` the body. ``shown`` of the
    verdict holds method, endpoint, params and data.
    """
    raise NotImplementedError


def restrict(policy: Policy, data: Any, roles: Sequence[str] = ()) -> tuple[Any, Sequence[str]]:
    """A result as a model may see it, and the names of the fields that were taken out or masked
    (``fields_stripped``)."""
    raise NotImplementedError
