"""The sample repositories that ship with the application load without a word, and the demo starts what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from runtime_core.agents.models import Naming, named_models
from runtime_core.repo.loader import load_bundle
from runtime_core.repo.params import check_params
from runtime_core.wire.json import dumps, loads
from runtime_core.wire.settings import DefaultModels

SAMPLES = Path(__file__).parents[3] / "resources" / "samples"


@pytest.mark.parametrize("name", ["release-desk", "refund-desk"])
def test_a_sample_loads_without_a_problem(name: str) -> None:
    bundle = load_bundle(SAMPLES / name)
    assert bundle.problems == ()
    assert bundle.name == name
    assert all(tool.invocable for tool in bundle.tools.values() if tool.durable)
    assert any(tool.durable for tool in bundle.tools.values())


def test_the_release_desk_has_a_model() -> None:
    bundle = load_bundle(SAMPLES / "release-desk")
    (spec,) = named_models(Naming(bundle.manifest, bundle.root, DefaultModels(), None, bundle.root))
    assert Path(spec.model).is_file()


def test_the_demo_starts_durable_tools_with_fitting_input() -> None:
    starts = cast("list[dict[str, Any]]", loads((SAMPLES / "demo.json").read_text()))
    assert len(starts) == 3
    for start in starts:
        tool = load_bundle(SAMPLES / start["repository"]).tools[start["tool"]]
        assert tool.durable
        assert tool.invocable
        assert check_params(tool, dumps(start["input"])) is None
