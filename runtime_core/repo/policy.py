"""What a connection's ``policy.json`` says about the calls that models make (contract 9.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

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
    """``endpoints`` by what they are called in the file. ``row_scoping``, ``delegations`` and ``alternative_lookups``
    are kept as they stand there; nothing acts on them."""

    endpoints: Mapping[str, Endpoint] = field(default_factory=dict[str, Endpoint])
    restrictions: tuple[FieldRestriction, ...] = ()
    row_scoping: Any = None
    delegations: Any = None
    alternative_lookups: Any = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the policy of a connection says about a call of a model. ``shown`` is what a person is asked about: the
    request as it would be sent, without credentials."""

    tier: Tier
    reason: str | None = None
    shown: Any = None
