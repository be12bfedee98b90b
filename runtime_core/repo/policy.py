"""What a connection's ``policy.json`` says about the calls that models make (contract 9.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal

METHODS: Final = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
"""Those that requests may have."""
READ_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

Tier = Literal["allow", "confirm", "review", "never"]
"""From the lowest to the highest."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """``field`` is a dot path into the request (``body.value_eur``); strictly more than ``above`` raises the tier."""

    field: str
    above: Decimal
    escalate: Literal["review", "never"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``method`` in capitals, ``path`` as written: ``POST``, ``/shipments/{id}``."""

    method: str
    path: str
    tier: Tier = "allow"
    is_read: bool = False
    reason: str | None = None
    thresholds: tuple[Threshold, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldRestriction:
    """``role_gated`` takes a field out as ``never_retrieve`` does: nobody has proved any role to a runtime on a
    desktop."""

    entity: str
    field: str
    policy: Literal["never_retrieve", "retrieve_but_redact", "role_gated"]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """``endpoints`` by what they are called in the file."""

    endpoints: Mapping[str, Endpoint] = field(default_factory=dict[str, Endpoint])
    restrictions: tuple[FieldRestriction, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the policy of a connection says about a call of a model. ``shown`` is what a person is asked about: the
    request as it would be sent, without credentials."""

    tier: Tier
    reason: str | None = None
    shown: Any = None
