"""`amodal.json` (contract 1.2): checked where this version uses it, everything else kept as it stands."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

from pydantic import ConfigDict, Field

from runtime_core.repo.bundle import McpServer
from runtime_core.repo.fields import Fields
from runtime_core.repo.files import JsonFile, Key, read_json, validate
from runtime_core.repo.position import show_key
from runtime_core.repo.references import (
    ENV,
    Known,
    literal_secrets,
    names_secret,
    unset_names,
    warn_of_embedded_names,
)
from runtime_core.repo.report import ENV_NOT_SET, INVALID, NOT_FOUND, READ_FAILED, PartReport, Report
from runtime_core.repo.servers import McpEntry, server_of

MANIFEST: Final = "amodal.json"
_SERVER_AT: Final = 2
_TIER_AT: Final = 2
_UNUSED: Final = ("embed", "platform", "proactive")
"""What another host of the repository may need and nothing here uses."""
_NOT_YET: Final[Mapping[Key, str]] = {
    ("disabledSubagents",): "every agent can be called that a tool or an agent names",
    ("fileTools",): "there are no tools for files",
    ("packages",): "packages of content are not loaded",
    ("stores", "backend"): "documents are kept in the data folder",
}
"""What is known and has no effect here."""
_WITH_SECRETS: Final = ("mcp", "models", "platform", "proactive", "stores", "webTools")


class ModelChoice(Fields):
    model_config = ConfigDict(extra="allow", strict=True)
    also = frozenset({"credentials", "region"})

    provider: str = Field(min_length=1, description='Name the provider, for example "anthropic" or "scripted".')
    model: str = Field(min_length=1, description="Name the model; for the scripted provider, a file in the repository.")
    base_url: str | None = Field(
        None, alias="baseUrl", pattern="^(https?://|env:).", description="Write the address of its server, or env:NAME."
    )
    fallback: ModelChoice | None = Field(None, description="Give another model as an object, or leave this out.")


class Models(Fields):
    model_config = ConfigDict(extra="allow", strict=True)

    main: ModelChoice | None = Field(None, description='Write {"provider": …, "model": …}, or leave it out.')
    simple: ModelChoice | None = Field(None, description='Write {"provider": …, "model": …}, or leave it out.')
    advanced: ModelChoice | None = Field(None, description='Write {"provider": …, "model": …}, or leave it out.')


class Sandbox(Fields):
    model_config = ConfigDict(extra="allow", strict=True)
    also = frozenset({"template"})

    shell_exec: bool = Field(False, alias="shellExec", description="Write true or false, or leave it out.")
    max_timeout: float = Field(30_000, alias="maxTimeout", gt=0, description="Give a number of milliseconds above 0.")


class WebTools(Fields):
    model_config = ConfigDict(extra="allow", strict=True)

    provider: Literal["google"] = Field(description='Write "google": web tools need it, whatever the model is.')
    api_key: str = Field(alias="apiKey", min_length=1, description='Write "env:NAME".')
    model: str | None = Field(None, description="Name a Gemini model, or leave it out.")


class Memory(Fields):
    model_config = ConfigDict(extra="allow", strict=True)
    also = frozenset({"nudgeInterval", "sessionSearch"})

    enabled: bool = Field(False, description="Write true or false.")
    editable_by: Literal["any", "admin", "none"] = Field(
        "any", alias="editableBy", description='Write "any", "admin" or "none".'
    )
    max_entries: int = Field(50, alias="maxEntries", gt=0, description="Give a whole number above 0.")
    max_total_chars: int = Field(8000, alias="maxTotalChars", gt=0, description="Give a whole number above 0.")


class Manifest(Fields):
    model_config = ConfigDict(extra="allow", strict=True)
    also = frozenset({"adminAgent", "adminAgentVersion", "ci", "disabledSubagents", "fileTools", "mcp", "packages"})
    also |= {"runtimeApp", "scope", "stores", "webTools", *_UNUSED}

    name: str = Field(min_length=1, description='Give the agent a name, for example "name": "release-desk".')
    version: str = Field(min_length=1, description='Give a version as text, for example "version": "1.0.0".')
    description: str | None = Field(None, description="Describe the agent in a text, or leave this out.")
    base_prompt: str | None = Field(None, alias="basePrompt", description="Give a text, or leave this out.")
    sandbox: Sandbox | None = Field(None, description='Write {"shellExec": true}, or leave it out.')
    memory: Memory | None = Field(None, description='Write {"enabled": true}, or leave it out.')
    models: Models | None = Field(None, description='Write {"main": {"provider": …, "model": …}}, or leave it out.')


@dataclass(frozen=True, slots=True)
class Loaded:
    """A manifest without what is switched off, and all MCP servers that it names."""

    values: Mapping[str, Any]
    servers: Mapping[str, McpServer]


_Off = dict[Key, tuple[str, str]]
"""Code and words of what switched a block off."""


def load_manifest(root: Path, report: Report, known: Known) -> Loaded | None:
    """None, and a problem, if there is none to work with."""
    if not root.exists():
        report.error(NOT_FOUND, ".", f"{root} does not exist.", "Give the path of an agent repository.")
        return None
    if not root.is_dir():
        report.error(READ_FAILED, ".", f"{root} is a file, not a folder.", f"Give the folder that holds {MANIFEST}.")
        return None
    if not os.access(root, os.R_OK | os.X_OK):
        report.error(READ_FAILED, ".", f"The folder {root} may not be read.", "Change its permissions.")
        return None
    if not (root / MANIFEST).exists():
        report.error(
            NOT_FOUND,
            MANIFEST,
            f"{root} is not an agent repository: it holds no {MANIFEST}.",
            f"Give the folder that holds {MANIFEST}, or create one with a name and a version.",
        )
        return None
    file = read_json(root, MANIFEST, report)
    if file is None:
        return None
    off: _Off = {}
    filled = _filled(file, known, report, off)
    if validate(Manifest, JsonFile(file.name, file.text, filled), report) is None:
        return None
    for key, reason in _NOT_YET.items():
        if _at(file.value, key):
            report.ignore(f"{MANIFEST} [{show_key(key)}]", f"not used: {reason}")
    for key in _choices(file.value):
        if _at(file.value, (*key, "region")) is not None:
            reason = "providers are asked at their one address; give another one as baseUrl"
            report.ignore(f"{MANIFEST} [{show_key((*key, 'region'))}]", f"not used: {reason}")
    return Loaded(filled, _servers(file, off))


def _servers(file: JsonFile, off: _Off) -> Mapping[str, McpServer]:
    """One that lacks nothing but a value is there as soon as it has it, without a change of the code."""
    found: dict[str, McpServer] = {}
    for name, entry in _declared_servers(file.value).items():
        code, words = off.get(("mcp", "servers", name), (ENV_NOT_SET, None))
        found[name] = server_of(
            name, f"mcp.servers.{name} in {file.name}", entry if code == ENV_NOT_SET else None, words
        )
    return found


def _filled(file: JsonFile, known: Known, report: Report, off: _Off) -> dict[str, Any]:
    """The manifest without the blocks that cannot be used, and with the names in it that are shown looked up.

    All other ``env:NAME`` values stay as they are: whoever needs one looks it up (contract 1.2). An unset name switches
    an optional block off (decision 31), but for the key of a model, and is an error anywhere else. A secret that stands
    there as it is goes with its block, or alone; one that would be shown is not looked up.
    """
    filled = cast("dict[str, Any]", _copied(file.value))
    for key, name in list(unset_names(file.value, known)):
        block = _optional_block(key)
        what = f"The environment variable {name} is not set"
        if key[0] == "models" and "credentials" in key:  # asked without it, the model says so, or its fallback answers
            message = (
                f"There is no {name}, so the model of {show_key(key[: key.index('credentials')])} cannot be asked."
            )
            remedy = f"Store it with: operator-inbox secret set {name}, or set {name} in the environment."
            report.warning(ENV_NOT_SET, file.name, message, remedy, **file.place(key))
        elif block is None:
            remedy = f"Set {name} before starting, or write the value instead of env:{name}."
            report.error(ENV_NOT_SET, file.name, f"{what}.", remedy, **file.place(key))
        else:
            off[block] = _switch_off(
                file, filled, key, block, (ENV_NOT_SET, what, f"Set {name} before starting."), report
            )
    for section in _WITH_SECRETS:
        warn_of_embedded_names(file, file.value.get(section), report, (section,))
        for key in list(literal_secrets(file.value.get(section), (section,))):
            remedy = 'Write "env:NAME", set NAME in the environment or the keychain, and replace the secret.'
            problem = (INVALID, "A secret must not stand in a file of the repository", remedy)
            block = _optional_block(key) or key
            off[block] = _switch_off(file, filled, key, block, problem, report)
    for block, model in _parts(filled):
        part = PartReport(report, f"{show_key(block)} is switched off.")
        holder = _at(filled, block)
        if not isinstance(holder, dict):
            problem = (INVALID, "This should be an object", "Correct it, or take it out.")
            off[block] = _switch_off(file, filled, block, block, problem, report)
        elif validate(model, file.part(block, cast("dict[str, Any]", holder)), part) is None:
            off[block] = (INVALID, part.failure or "")
            _remove(filled, block)
    for key in list(_shown_names(filled)):
        holder, value = _at(filled, key[:-1]), _at(filled, key)
        name = value.removeprefix(ENV) if isinstance(value, str) and value.startswith(ENV) else None
        if name is not None and names_secret(name):
            _refuse_to_show(file, filled, key, name, report)
        elif name is not None:
            holder[key[-1]] = os.environ.get(name, value)
    return filled


def _refuse_to_show(file: JsonFile, filled: dict[str, Any], key: Key, name: str, report: Report) -> None:
    what = f"{name} is named as a secret, and {show_key(key)} is shown and stored as it is"
    block = _optional_block(key)
    if block is None:
        remedy = "Write the text itself, or give the variable a name that is not that of a secret."
        report.error(INVALID, file.name, f"{what}.", remedy, **file.place(key))
    else:
        remedy = f'Write the name itself, and the key beside it as "credentials": "env:{name}".'
        _switch_off(file, filled, key, block, (INVALID, what, remedy), report)


def _switch_off(
    file: JsonFile, filled: dict[str, Any], key: Key, block: Key, problem: tuple[str, str, str], report: Report
) -> tuple[str, str]:
    code, what, remedy = problem
    report.warning(code, file.name, f"{what}, so {show_key(block)} is switched off.", remedy, **file.place(key))
    _remove(filled, block)
    return code, what


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_copied(item) for item in cast("list[Any]", value)]
    return value


def _optional_block(key: Key) -> Key | None:
    if key[0] in ("webTools", *_UNUSED):
        return key[:1]
    if key[0] == "models" and len(key) > 1:
        depth = len(list(itertools.takewhile("fallback".__eq__, key[_TIER_AT:])))
        return key[: _TIER_AT + depth]
    if key[:2] == ("mcp", "servers") and len(key) > _SERVER_AT:
        return key[: _SERVER_AT + 1]
    return None


def _parts(manifest: Mapping[str, Any]) -> Iterator[tuple[Key, type[Fields]]]:
    if "webTools" in manifest:
        yield ("webTools",), WebTools
    for name in list(_declared_servers(manifest)):
        yield ("mcp", "servers", name), McpEntry


def _declared_servers(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    servers = _at(manifest, ("mcp", "servers"))
    return cast("dict[str, Any]", servers) if isinstance(servers, dict) else {}


def _shown_names(manifest: Mapping[str, Any]) -> Iterator[Key]:
    yield from ((name,) for name in ("name", "version", "description", "basePrompt"))
    for key in _choices(manifest):
        yield from ((*key, name) for name in ("provider", "model"))


def _choices(manifest: Mapping[str, Any]) -> Iterator[Key]:
    """Where models are chosen: each tier, and the fallbacks of each."""
    models = manifest.get("models")
    for tier in list(cast("dict[str, Any]", models)) if isinstance(models, dict) else ():
        key: Key = ("models", tier)
        while isinstance(_at(manifest, key), dict):
            yield key
            key = (*key, "fallback")


def _at(value: Any, key: Key) -> Any:
    for part in key:
        if isinstance(value, dict):
            value = cast("dict[str | int, Any]", value).get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(cast("list[Any]", value)):
            value = cast("list[Any]", value)[part]
        else:
            return None
    return value


def _remove(manifest: dict[str, Any], block: Key) -> None:
    holder = _at(manifest, block[:-1])
    if isinstance(holder, dict):
        cast("dict[str | int, Any]", holder).pop(block[-1], None)
