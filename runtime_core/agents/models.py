"""Which model a repository uses (design 4)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from runtime_core.agents.turns import Model, ModelUnusable

SCRIPTED: Final = "scripted"


def choose_model(manifest: Mapping[str, Any], override: str | None, root: Path, cwd: Path) -> Model | None:
    """The model of a repository: ``override`` (``scripted:FILE``, relative to ``cwd``) before ``models.main`` of the
    manifest (FILE relative to ``root``); None if neither names one. Raises `ModelUnusable`."""
    if override is not None:
        return explicit_model(override, cwd)
    chosen = _main(manifest)
    if chosen is None:
        return None
    if chosen.get("provider") != SCRIPTED:
        raise ModelUnusable(
            f"amodal.json [models.main.provider]: {_later(str(chosen.get('provider')))} "
            'Use {"provider": "scripted", "model": "FILE.json"}, or --model scripted:FILE.json.'
        )
    return _scripted(_inside(root, str(chosen.get("model"))))


def explicit_model(spec: str, cwd: Path) -> Model:
    """The model of ``scripted:FILE``, FILE relative to ``cwd``. Raises `ModelUnusable`."""
    provider, _, name = spec.partition(":")
    if provider != SCRIPTED or not name:
        raise ModelUnusable(f"{_later(spec)} Use --model scripted:FILE.json.")
    return _scripted(cwd / name)


def absolute(spec: str, cwd: Path) -> str:
    """``scripted:FILE`` as it reads from everywhere."""
    provider, _, name = spec.partition(":")
    return f"{provider}:{cwd / name}"


def _scripted(path: Path) -> Model:
    from runtime_core.agents.scripted import ScriptedModel  # with pydantic: not before a model is wanted

    return ScriptedModel.load(path)


def _main(manifest: Mapping[str, Any]) -> Mapping[str, Any] | None:
    models = manifest.get("models")
    return cast("Mapping[str, Mapping[str, Any] | None]", models).get("main") if isinstance(models, Mapping) else None


def _later(name: str) -> str:
    return f'The model provider "{name}" comes with a later version; this one has only the scripted model.'


def _inside(root: Path, name: str) -> Path:
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        raise ModelUnusable(
            f"amodal.json [models.main.model]: {name} lies outside the repository. Move the file into it."
        )
    return path
