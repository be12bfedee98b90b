"""`amodal.json` (contract 1.2): checked where this version uses it, everything else kept as it stands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from runtime_core.repo.files import JsonFile, Key, read_json, validate
from runtime_core.repo.position import show_key
from runtime_core.repo.report import ENV_NOT_SET, NOT_FOUND, READ_FAILED, Report

MANIFEST: Final = "amodal.json"


class ModelChoice(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    provider: str = Field(min_length=1, description='Name the provider, for example "scripted".')
    model: str = Field(min_length=1, description="Name the model; for the scripted provider, a file in the repository.")
    fallback: ModelChoice | None = Field(None, description="Give another model as an object, or leave this out.")


class Models(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    main: ModelChoice | None = Field(None, description='Write {"provider": …, "model": …}, or leave it out.')
    simple: ModelChoice | None = Field(None, description='Write {"provider": …, "model": …}, or leave it out.')
    advanced: ModelChoice | None = Field(None, description='Write {"provider": …, "model": …}, or leave it out.')


class Sandbox(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    shell_exec: bool = Field(False, alias="shellExec", description="Write true or false, or leave it out.")
    max_timeout: float = Field(30_000, alias="maxTimeout", gt=0, description="Give a number of milliseconds above 0.")


class Manifest(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    name: str = Field(min_length=1, description='Give the agent a name, for example "name": "release-desk".')
    version: str = Field(min_length=1, description='Give a version as text, for example "version": "1.0.0".')
    description: str | None = Field(None, description="Describe the agent in a text, or leave this out.")
    base_prompt: str | None = Field(None, alias="basePrompt", description="Give a text, or leave this out.")
    sandbox: Sandbox | None = Field(None, description='Write {"shellExec": true}, or leave it out.')
    models: Models | None = Field(None, description='Write {"main": {"provider": …, "model": …}}, or leave it out.')


def load_manifest(root: Path, report: Report) -> Mapping[str, Any] | None:
    """The manifest with its ``env:NAME`` values filled in; None, and a problem, if there is none to work with."""
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
    filled = _fill(file, report)
    if validate(Manifest, JsonFile(file.name, file.text, filled), report) is None:
        return None
    return filled


def _fill(file: JsonFile, report: Report) -> dict[str, Any]:
    """Replace ``env:NAME`` by the environment's value. An unset name disables web tools or a model with a warning
    (decision 31) and is an error anywhere else."""
    filled = cast("dict[str, Any]", _replaced(file.value))
    for key, name in _unset(file.value, ()):
        block = _optional_block(key)
        if block is None:
            report.error(
                ENV_NOT_SET,
                file.name,
                f"The environment variable {name} is not set.",
                f"Set {name} before starting, or write the value instead of env:{name}.",
                **file.place(key),
            )
            continue
        report.warning(
            ENV_NOT_SET,
            file.name,
            f"The environment variable {name} is not set, so {show_key(block)} is switched off.",
            f"Set {name} before starting.",
            **file.place(key),
        )
        _remove(filled, block)
    return filled


def _replaced(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("env:"):
        return os.environ.get(value[4:], value)
    if isinstance(value, dict):
        return {key: _replaced(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_replaced(item) for item in cast("list[Any]", value)]
    return value


def _unset(value: Any, key: Key) -> list[tuple[Key, str]]:
    if isinstance(value, str):
        return [(key, value[4:])] if value.startswith("env:") and value[4:] not in os.environ else []
    if isinstance(value, dict):
        items: Any = cast("dict[str, Any]", value).items()
    elif isinstance(value, list):
        items = enumerate(cast("list[Any]", value))
    else:
        return []
    return [found for part, item in items for found in _unset(item, (*key, part))]


def _optional_block(key: Key) -> Key | None:
    if key[0] == "webTools":
        return key[:1]
    if key[0] == "models":
        return key[:2]
    return None


def _remove(manifest: dict[str, Any], block: Key) -> None:
    holder: Any = manifest
    for part in block[:-1]:
        holder = holder[part]
    if isinstance(holder, dict):
        cast("dict[str | int, Any]", holder).pop(block[-1], None)
