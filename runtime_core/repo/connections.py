"""Connections: `connections/<name>/` with `spec.json`, `policy.json` and texts for models (contract 1.6).

One that cannot be used stays known as unavailable: it stops nothing, and nothing goes around its policy
(decision 31).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, Protocol

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime_core.repo.builtins import DRIVERS
from runtime_core.repo.bundle import Connection
from runtime_core.repo.fields import Fields
from runtime_core.repo.files import JsonFile, read_json, validate
from runtime_core.repo.items import folders_of
from runtime_core.repo.policy import Policy
from runtime_core.repo.policyfile import POLICY, load_policy
from runtime_core.repo.references import Known, literal_secrets, unset_names, warn_of_embedded_names
from runtime_core.repo.report import ENV_NOT_SET, INVALID, NOT_FOUND, PartReport, Report, TooManyProblems
from runtime_core.repo.servers import McpEntry

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
_FIELDS: Final = ConfigDict(strict=True, allow_inf_nan=False, alias_generator=to_camel, validate_by_name=True)
_VARIABLE: Final = re.compile(r"[^\s=]+")
_TEXTS: Final = ("surface", "entities", "rules")


class Auth(Fields):
    model_config = _FIELDS
    also = frozenset(
        {"provider", "in", "name", "key", "value", "apiKey", "username", "password", "audience", "clientAuth"}
    )
    also |= {"tokenUrl", "token_url", "clientId", "client_id", "clientSecret", "client_secret", "scope", "scopes"}

    type: Literal["bearer", "api_key", "oauth2", "basic", "header", "none"] = Field(
        description="Write bearer, api_key, oauth2, basic, header or none as the type."
    )
    token: str | None = Field(None, description='Write "env:NAME", or leave it out.')
    header: str | None = Field(None, description="Name the header, or leave it out.")
    prefix: str | None = Field(None, description="Give what stands before the value as a text, or leave it out.")


class Injection(Fields):
    model_config = _FIELDS

    place: Literal["header", "query", "path", "body"] = Field(
        alias="in", description='Write "header", "query", "path" or "body".'
    )
    field: str = Field(min_length=1, description="Name the header, parameter or field.")
    required: bool = Field(False, description="Write true or false, or leave it out.")


class Spec(Fields):
    model_config = _FIELDS
    also = frozenset(
        {"openapi", "specUrl", "format", "test", "testPath", "sync", "filter", "driverPackage", "accessToken"}
    )
    also |= {"fromAddress", "userId", "devInboxDir", "devSinkDir"}

    protocol: str = Field("rest", min_length=1, description='Write "rest", "mcp" or the name of a driver.')
    base_url: str | None = Field(None, description="Give the address that paths are added to.")
    headers: dict[str, str] = Field({}, description="Map the names of headers to texts.")
    auth: Auth | None = Field(None, description='Write {"type": "bearer", "token": "env:NAME"}, or leave it out.')
    context_injection: dict[str, Injection] = Field({}, description='Write {"key": {"in": "header", "field": …}}.')


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a connection can never work: what is wrong with ``key`` (``auth.token``) of its spec.json, and what to do."""

    key: str
    reason: str


class Vetting(Protocol):
    """What whoever sends the requests of connections can say of one, without asking another system."""

    def flaws(self, connection: Connection) -> Iterable[Flaw]: ...
    def others(self, connection: Connection, operation: str) -> Sequence[str] | None:
        """The operations of a connection, if the one that is asked for is certainly none of them."""
        ...


def load_connections(
    root: Path, report: Report, known: Known, vetting: Vetting | None = None
) -> Mapping[str, Connection]:
    return {
        name: _load(root, name, folder, report, known, vetting)
        for name, folder in folders_of(root, "connections", report).items()
    }


def _load(root: Path, name: str, folder: str, report: Report, known: Known, vetting: Vetting | None) -> Connection:
    part = PartReport(report, "The connection cannot be used.")
    if not _NAME.match(name):
        remedy = "Rename the folder: letters, digits, _ and -."
        part.error(INVALID, folder, f'"{name}" cannot be the name of a connection.', remedy)
    file = _spec(root, f"{folder}/spec.json", part, known)
    spec = file.value
    policy = _policy(root, folder, report)
    if spec.get("protocol", "rest") != "rest" and policy not in (None, Policy()):
        message = f"This policy guards nothing: nobody asks it about a connection of the protocol {spec['protocol']}."
        report.warning(INVALID, f"{folder}/{POLICY}", message, "Take it out, and give agents only tools they may use.")
    connection = Connection(
        name=name,
        folder=folder,
        protocol=str(spec.get("protocol", "rest")),
        spec=spec,
        policy=policy or Policy(),
        texts={kind: f"{folder}/{kind}.md" for kind in _TEXTS if (root / folder / f"{kind}.md").is_file()},
    )
    for flaw in vetting.flaws(connection) if vetting is not None and not part.failed else ():
        place = file.place(tuple(flaw.key.split(".")))
        part.error(INVALID, file.name, flaw.reason, "", **{**place, "key": flaw.key})
    unavailable = part.failure or (f"{folder}: Its policy cannot be used." if policy is None else None)
    return replace(connection, unavailable=unavailable)


def _spec(root: Path, name: str, report: Report, known: Known) -> JsonFile:
    """What spec.json says, nothing where it says a secret."""
    nothing = JsonFile(name, None, {})
    if not (root / name).exists():
        report.error(NOT_FOUND, name, "The connection does not say how to reach it.", "Write this file.")
        return nothing
    file = read_json(root, name, report)
    if file is None:
        return nothing
    validate(McpEntry if file.value.get("protocol") == "mcp" else Spec, file, report)
    _check_address(file, report)
    _check_folders(file, report)
    needed = file.value if file.value.get("protocol", "rest") in ("rest", "mcp") else {}  # drivers do without
    for key, variable in unset_names(needed, known):
        message = f"{variable} is not set."
        remedy = f"Set the environment variable {variable}, or store it: operator-inbox secret set {variable}."
        if not _VARIABLE.fullmatch(variable):
            message, remedy = f'"env:{variable}" names no variable.', 'Write "env:NAME", without spaces.'
        report.error(ENV_NOT_SET, name, message, remedy, **file.place(key))
    warn_of_embedded_names(file, file.value, report)
    secrets = list(literal_secrets(file.value))
    for key in secrets:
        message = "A secret must not stand in a file of the repository."
        remedy = (
            'Write "env:NAME", set NAME in the environment or the keychain, and replace the secret where it is from.'
        )
        report.error(INVALID, name, message, remedy, **file.place(key))
    return replace(nothing, value={"protocol": file.value.get("protocol", "rest")}) if secrets else file


def _check_address(file: JsonFile, report: Report) -> None:
    given = file.value
    protocol = given.get("protocol", "rest")
    if isinstance(protocol, str) and protocol not in ("rest", "mcp", *DRIVERS):
        message, remedy = f'There is no driver "{protocol}" here.', f"Use rest, mcp, {' or '.join(DRIVERS)}."
        report.error(INVALID, file.name, message, remedy, **file.place(("protocol",)))
    if (
        given.get("protocol", "rest") == "rest"
        and not given.get("baseUrl")
        and not isinstance(given.get("openapi"), dict)
    ):
        message, remedy = "baseUrl is missing.", "Give the address that paths are added to."
        report.error(INVALID, file.name, message, remedy, **{**file.place(()), "key": "baseUrl"})


def _check_folders(file: JsonFile, report: Report) -> None:
    """Folders for mail that the repository itself names are taken below that of its mail only."""
    for key in ("devInboxDir", "devSinkDir") if file.value.get("protocol") in DRIVERS else ():
        given = file.value.get(key)
        if isinstance(given, str) and (given.startswith("~") or os.path.isabs(given) or ".." in Path(given).parts):
            message = f"{given} lies outside of the folder for the mail of this repository, so it is refused."
            remedy = "Write env:NAME, and set that variable to the folder."
            report.warning(INVALID, file.name, message, remedy, **file.place((key,)))


def _policy(root: Path, folder: str, report: Report) -> Policy | None:
    """None for one that cannot be used, which the report says."""
    try:
        return load_policy(root, folder, report)
    except TooManyProblems:
        message, remedy = "There is too much wrong with the policy.", "Correct it."
        report.warning(INVALID, folder, message, remedy)
        return None
