"""Which model an agent uses (contract 1.2, design 4).

``--model`` and what is chosen for one conversation go before the repository; the settings of the person who runs the
program count where a repository names no model.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from runtime_core.agents.fallback import Fallback
from runtime_core.agents.provider_lines import Lines
from runtime_core.agents.provider_model import ProviderModel, Secret, Trouble, no_trouble
from runtime_core.agents.providers import SCRIPTED, ModelSpec, check, read_spec
from runtime_core.agents.turns import Model, ModelUnusable
from runtime_core.repo.references import ENV
from runtime_core.wire.settings import DefaultModels

if TYPE_CHECKING:
    from runtime_core.agents.scripted import ScriptedModel

Tier = Literal["default", "simple", "advanced"]

_KEPT_USERS: Final = 256
_FALLBACKS: Final = 10


@dataclass(frozen=True, slots=True)
class Naming:
    """Where models are named: in a manifest, whose files are below ``root``; by the person who runs the program, in
    ``defaults`` or in ``override``, whose file is relative to ``folder``."""

    manifest: Mapping[str, Any]
    root: Path
    defaults: DefaultModels
    override: str | None
    folder: Path


def named_models(naming: Naming, tier: Tier = "default") -> Sequence[ModelSpec]:
    """The model of a tier and those it falls back to; none if nobody names one. The ``model`` of a scripted one is the
    whole path of its file. Raises `ModelUnusable`."""
    if naming.override is not None:
        return [_personal(naming.override, "--model", naming.folder)]
    levels = ("main",) if tier == "default" else (tier, "main")
    models = naming.manifest.get("models")
    for level in levels:
        chosen = cast("Mapping[str, Any]", models).get(level) if isinstance(models, Mapping) else None
        if chosen is not None:
            return list(_of_manifest(chosen, f"models.{level}", naming.root))
    for level in levels:
        if spec := cast("str", getattr(naming.defaults, level)):
            return [_personal(spec, f"config.toml [models] {level}", naming.folder)]
    return []


def shown(spec: ModelSpec, root: Path) -> str:
    """A model as people read it; the file of a scripted one relative to the repository at ``root``."""
    path = Path(spec.model)
    is_inside = spec.provider == SCRIPTED and path.is_relative_to(root)
    return f"{SCRIPTED}:{path.relative_to(root)}" if is_inside else str(spec)


class Models:
    """All models of one runtime; belongs to its loop. Which scripted replies are used up is remembered for each user,
    that is, a run or a conversation, as long as this process runs."""

    def __init__(
        self, override: str | None, defaults: DefaultModels, secret: Secret, trouble: Trouble = no_trouble
    ) -> None:
        self._override = override
        self._defaults = defaults
        self._secret = secret
        self._trouble = trouble
        self._folder = Path.cwd()
        self._lines = Lines()
        self._scripts: OrderedDict[str, dict[str, ScriptedModel]] = OrderedDict()

    async def choose(
        self, user: str, manifest: Mapping[str, Any], root: Path, tier: Tier = "default", override: str | None = None
    ) -> Model | None:
        """The model of an agent of this tier; None if nobody names one. ``override``: the one of a conversation.

        A thread reads a script, which may be large. Raises `ModelUnusable`.
        """
        naming = Naming(manifest, root, self._defaults, override or self._override, self._folder)
        specs = named_models(naming, tier)
        scripts = self._scripts.setdefault(user, {})
        self._scripts.move_to_end(user)
        if len(self._scripts) > _KEPT_USERS:
            self._scripts.popitem(last=False)
        models = [await self._model(spec, scripts, has_next=spec is not specs[-1]) for spec in specs]
        return Fallback(models) if len(models) > 1 else next(iter(models), None)

    def named(self, manifest: Mapping[str, Any], root: Path, tier: Tier = "default") -> str:
        """The model that `choose` would give first, as people read it; "" if there is none that can be used."""
        try:
            specs = named_models(Naming(manifest, root, self._defaults, self._override, self._folder), tier)
        except ModelUnusable:
            return ""
        return shown(specs[0], root) if specs else ""

    async def close(self) -> None:
        """Close the connections that are kept open."""
        await self._lines.close()

    async def _model(self, spec: ModelSpec, scripts: dict[str, ScriptedModel], *, has_next: bool) -> Model:
        if spec.provider != SCRIPTED:
            return ProviderModel(spec, self._lines, self._secret, self._trouble, has_next=has_next)
        if spec.model not in scripts:
            loaded = await asyncio.to_thread(load_script, Path(spec.model))
            scripts.setdefault(spec.model, loaded)  # somebody may have been faster
        return scripts[spec.model]


def check_spec(spec: str, folder: Path) -> None:
    """Whether ``scripted:FILE``, FILE relative to ``folder``, or ``provider:model`` can be used. Raises
    `ModelUnusable`."""
    found = _personal(spec, "--model", folder)
    if found.provider == SCRIPTED:
        load_script(Path(found.model))


def absolute(spec: str, cwd: Path) -> str:
    """A spec as it reads from everywhere."""
    provider, _, name = spec.partition(":")
    return f"{provider}:{cwd / name}" if provider == SCRIPTED else spec


def _personal(spec: str, named_in: str, folder: Path) -> ModelSpec:
    provider, _, name = spec.partition(":")
    if provider != SCRIPTED:
        return read_spec(spec, named_in)
    if not name:
        raise ModelUnusable(f"{named_in}: the scripted model needs a file. Write scripted:FILE.json.")
    return ModelSpec(SCRIPTED, str(folder / Path(name).expanduser()), named_in, is_personal=True)


def _of_manifest(chosen: Mapping[str, Any], key: str, root: Path) -> Iterator[ModelSpec]:
    for _ in range(_FALLBACKS + 1):
        named_in = f"amodal.json [{key}]"
        spec = ModelSpec(
            str(chosen.get("provider")),
            str(chosen.get("model")),
            named_in,
            chosen.get("baseUrl"),
            _credentials(chosen.get("credentials"), named_in),
        )
        if spec.provider == SCRIPTED:
            yield ModelSpec(SCRIPTED, str(_inside(root, spec.model, named_in)), named_in)
        else:
            check(spec)
            yield spec
        after = chosen.get("fallback")
        if not isinstance(after, Mapping):
            return
        chosen, key = cast("Mapping[str, Any]", after), f"{key}.fallback"
    raise ModelUnusable(f"amodal.json [{key}]: a model has at most {_FALLBACKS} fallbacks. Leave some out.")


def _credentials(value: Any, named_in: str) -> str | None:
    """``env:NAME``, which may stand in an object of its own. Raises `ModelUnusable`, without what else stands there."""
    if isinstance(value, Mapping):
        value = next(iter(cast("Mapping[str, Any]", value).values()), None)
    if value is None or (isinstance(value, str) and value.startswith(ENV) and value != ENV):
        return value
    raise ModelUnusable(f'{named_in}: credentials name no key. Write "env:NAME", and store the key under that NAME.')


def load_script(path: Path) -> ScriptedModel:
    """Raises `ModelUnusable`."""
    from runtime_core.agents.scripted import ScriptedModel  # with pydantic: not before a model is wanted

    return ScriptedModel.load(path)


def _inside(root: Path, name: str, named_in: str) -> Path:
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        raise ModelUnusable(f"{named_in}: {name} lies outside the repository. Move the file into it.")
    return path
