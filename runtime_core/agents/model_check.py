"""Which models the agents of a repository would use, and what these lack, for whoever checks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime_core.agents.models import Naming, load_script, named_models, shown
from runtime_core.agents.provider_model import Secret, Trouble, no_trouble
from runtime_core.agents.providers import SCRIPTED, ModelSpec
from runtime_core.agents.turns import ModelUnusable
from runtime_core.repo.bundle import Bundle, Problem
from runtime_core.repo.report import ENV_NOT_SET, INVALID
from runtime_core.wire.settings import DefaultModels


@dataclass(frozen=True, slots=True)
class Used:
    """``models`` by agent, each with those it falls back to after it; none where nobody names one."""

    models: Mapping[str, Sequence[str]]
    problems: Sequence[Problem] = ()


def used_models(bundle: Bundle, defaults: DefaultModels, secret: Secret, trouble: Trouble = no_trouble) -> Used:
    """Looks keys up, so it may block; asks no provider for anything."""
    naming = Naming(bundle.manifest, bundle.root, defaults, None, Path.cwd())
    found: dict[str, Sequence[str]] = {}
    problems: dict[Problem, None] = {}
    for agent in bundle.agents.values():
        found[agent.name] = []
        try:
            specs = named_models(naming, agent.model_tier)
            found[agent.name] = [shown(spec, bundle.root) for spec in specs]
            for spec in specs:
                if spec.provider == SCRIPTED:
                    load_script(Path(spec.model))
                problem = _missing_key(spec, secret, trouble)
                if problem is not None:
                    problems[problem] = None
        except ModelUnusable as unusable:
            problems[Problem("warning", INVALID, ".", str(unusable), "")] = None
    return Used(found, list(problems))


def _missing_key(spec: ModelSpec, secret: Secret, trouble: Trouble) -> Problem | None:
    """Of one that its repository names, the repository says so itself."""
    is_silent = spec.provider == SCRIPTED or spec.credentials is not None or not spec.wants_key
    if is_silent or spec.key is None or secret(spec.key) is not None:
        return None
    failed = trouble()
    if failed is not None:
        message = f"{spec} ({spec.named_in}) cannot be asked: {spec.key} is not in the environment."
        return Problem("warning", ENV_NOT_SET, ".", message, failed)
    message = f"{spec} ({spec.named_in}) cannot be asked: there is no {spec.key}."
    remedy = f"Store it with: operator-inbox secret set {spec.key}, or set {spec.key} in the environment."
    return Problem("warning", ENV_NOT_SET, ".", message, remedy)
