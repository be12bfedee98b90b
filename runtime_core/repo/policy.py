"""What a connection's ``policy.json`` says about the calls that models make (contract 9.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Tier = Literal["allow", "confirm", "review", "never"]
"""From the lowest to the highest."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """``field`` is a dot path into the request (``body.value_eur``); strictly more than ``above`` raises the tier."""

    field: str
    above: float
    escalate: Literal["review", "never"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``method`` and ``path`` as written: ``POST``, ``/shipments/{id}``."""

    method: str
    path: str
    tier: Tier = "allow"
    is_read: bool = False
    reason: str | None = None
    returns: tuple[str, ...] = ()
    thresholds: tuple[Threshold, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldRestriction:
    entity: str
    field: str
    policy: Literal["never_retrieve", "retrieve_but_redact", "role_gated"]
    sensitivity: str | None = None
    reason: str | None = None
    allowed_roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict[str, Endpoint])
    restrictions: tuple[FieldRestriction, ...] = ()
