"""``connections/<name>/policy.json``: read strictly, because a guard that is not understood must not be left out."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime_core.repo.fields import Fields
from runtime_core.repo.files import JsonFile, read_json, validate
from runtime_core.repo.policy import METHODS, READ_METHODS, Endpoint, FieldRestriction, Policy, Threshold, Tier
from runtime_core.repo.report import INVALID, Report

POLICY: Final = "policy.json"
OLDER: Final = "access.json"


def load_policy(root: Path, name: str, report: Report) -> Policy | None:
    """The policy of the connection in the folder ``name`` (``amodal/connections/crm``, relative to ``root``).

    An empty policy if there is no file; None if there is one that cannot be used: the connection is unavailable then,
    never unguarded. Whatever is wrong is reported as a warning.
    """
    found = _files(root / name)
    current = [file for file in found if file.casefold() == POLICY]
    if current and len(current) < len(found):
        text = f"{current[0]} is there as well, and only that is read."
        report.warning(INVALID, f"{name}/{(set(found) - set(current)).pop()}", text, "Keep one of the two.")
    chosen = current or found
    if not chosen:
        return Policy()
    if len(chosen) > 1:
        report.warning(INVALID, name, f"There are several policies: {', '.join(chosen)}.", f"Keep {POLICY}.")
        return None
    file = f"{name}/{chosen[0]}"
    if not current:
        report.warning(INVALID, file, f"{OLDER} is the old name of this file.", f"Rename it to {POLICY}.")
    problems = Report()
    policy = _read(root, file, problems)
    report.problems += [replace(problem, severity="warning") for problem in problems.problems]
    if problems.failed or policy is None:
        text = "The policy cannot be used, so the connection is unavailable."
        report.warning(INVALID, file, text, "Correct it; without its policy a connection would be unguarded.")
        return None
    return policy


def _files(folder: Path) -> list[str]:
    """The files that are a policy, in whatever case their names are written."""
    try:
        return sorted(path.name for path in folder.iterdir() if path.name.casefold() in (POLICY, OLDER))
    except OSError:
        return []


def _read(root: Path, name: str, report: Report) -> Policy | None:
    file = read_json(root, name, report)
    if file is None:
        return None
    model = validate(PolicyFile, file, report)
    if model is None:
        return None
    confirms: Tier = "review" if model.escalates else "confirm"
    _warn_of_idle(file, model, report)
    endpoints: dict[str, Endpoint] = {}
    for key, given in model.endpoints.items():
        at = ("endpoints", key)
        match = _KEY.fullmatch(key)
        problem = _problem(match)
        if problem is not None:
            remedy = 'Write a method and a path, for example "POST /shipments/{id}".'
            report.error(INVALID, name, problem, remedy, **file.place(at))
        elif match is not None:
            endpoint = endpoints[key] = _endpoint(match[1].upper(), match[2], given, confirms)
            if endpoint.method in READ_METHODS and (endpoint.tier != "allow" or endpoint.thresholds):
                text = f"This holds up nothing: a policy never stops {endpoint.method}."
                remedy = "Take it out; fieldRestrictions keep fields from models, and an agent's tools the calls."
                report.warning(INVALID, name, text, remedy, **file.place(at))
    return Policy(endpoints, tuple(_restriction(given) for given in model.field_restrictions))


def _warn_of_idle(file: JsonFile, model: PolicyFile, report: Report) -> None:
    """What reads as a guard or a help, and is none here."""
    delegations = "Nobody can delegate anything here."
    if model.escalates:
        delegations += ' escalateConfirm holds for all models: "confirm": true counts as "review".'
    idle = {
        "rowScoping": (model.row_scoping, "No rows are left out: models see all that the connection gives."),
        "delegations": (model.delegates, delegations),
        "alternativeLookups": (model.alternative_lookups, "No model is told of them."),
    }
    for key, (is_said, message) in idle.items():
        if is_said:
            report.warning(INVALID, file.name, message, "Take it out, or do not rely on it.", **file.place((key,)))


_KEY: Final = re.compile(r"\s*([A-Za-z]+)\s+(\S+)\s*")
_SEGMENT: Final = re.compile(r"(?!:)(?:[^\s%{}<>\[\]$*^|\"`\\]|%[0-9A-Fa-f]{2}|\{[\w.:-]*\})*")
"""Plain characters (others are written as %24 and so on) and placeholders."""


def _problem(key: re.Match[str] | None) -> str | None:
    if key is None:
        return "This is no endpoint."
    method, path = key[1].upper(), key[2]
    if method not in METHODS:
        return f"{key[1]} is no method of HTTP that a policy can name."
    if not path.startswith("/"):
        return f"The path {path} does not begin with a slash."
    if "?" in path or "#" in path:
        return f"The path {path} has a query; a policy is about paths, so this would never be found."
    if not all(map(_SEGMENT.fullmatch, path.split("/"))):
        return f"The path {path} has a placeholder or a character that is none here, so this would never be found."
    return None


def _endpoint(method: str, path: str, given: EndpointEntry, confirms: Tier) -> Endpoint:
    tier: Tier = "allow" if given.confirm is None else confirms if given.confirm is True else given.confirm
    return Endpoint(
        method,
        path,
        tier,
        given.intent == "read",
        given.reason,
        tuple(Threshold(one.field, one.above, one.escalate) for one in given.thresholds),
    )


def _restriction(given: RestrictionEntry) -> FieldRestriction:
    return FieldRestriction(
        given.entity,
        given.field,
        given.policy,
        given.reason,
    )


def _limit(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("This should be a number")
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError("This should be a number") from None


def _tier(value: object) -> object:
    if value is False:
        raise ValueError("false is not accepted here, because nothing in this file can switch a question off")
    if value is not True and value not in ("review", "never"):
        raise ValueError('This should be true, "review" or "never"')
    return value


class _Entry(Fields):
    model_config = ConfigDict(strict=True, allow_inf_nan=False, alias_generator=to_camel)
    guards = None


class ThresholdEntry(_Entry):
    field: str = Field(min_length=1, description='Give the dot path of a value, for example "body.value_eur".')
    above: Annotated[Decimal, BeforeValidator(_limit)] = Field(description="Give the number above which it counts.")
    escalate: Literal["review", "never"] = Field(description='Give "review" or "never".')


class EndpointEntry(_Entry):
    confirm: Annotated[Literal[True, "review", "never"] | None, BeforeValidator(_tier)] = Field(
        None, description='Give true, "review" or "never", or leave it out: then nobody is asked.'
    )
    intent: Literal["read", "write"] | None = Field(None, description='Give "read" for a call that changes nothing.')
    reason: str | None = Field(None, description="Say in a text why, or leave it out.")
    returns: list[str] = Field([], description="List the names of what it returns.")
    thresholds: list[ThresholdEntry] = Field([], description="Give a list of {field, above, escalate}.")


class RestrictionEntry(_Entry):
    entity: str = Field(min_length=1, description="Name what has the field.")
    field: str = Field(min_length=1, description="Name the field.")
    policy: Literal["never_retrieve", "retrieve_but_redact", "role_gated"] = Field(
        description='Give "never_retrieve", "retrieve_but_redact" or "role_gated".'
    )
    sensitivity: str | None = Field(None, description="Give a text, or leave it out.")
    reason: str | None = Field(None, description="Say in a text why, or leave it out.")
    allowed_roles: list[str] = Field([], description="List the roles that may see it.")


class DelegationsEntry(_Entry):
    enabled: bool | None = Field(None, description="Write true or false, or leave it out.")
    max_duration_days: Any = None
    escalate_confirm: bool = Field(False, description="Write true or false, or leave it out.")


class PolicyFile(_Entry):
    endpoints: dict[str, EndpointEntry] = Field({}, description='Map "METHOD /path" to what holds there.')
    field_restrictions: list[RestrictionEntry] = Field([], description="Give a list of restrictions.")
    row_scoping: Any = None
    delegations: DelegationsEntry | None = Field(None, description="Write {enabled, escalateConfirm}.")
    alternative_lookups: Any = None

    @property
    def delegates(self) -> bool:
        return self.delegations is not None and self.delegations.enabled is not False

    @property
    def escalates(self) -> bool:
        return self.delegations is not None and self.delegates and self.delegations.escalate_confirm
