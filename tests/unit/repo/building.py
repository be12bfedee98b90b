"""Writing small agent repositories for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime_core.repo.bundle import BundleError, Problem
from runtime_core.repo.definitions import Described
from runtime_core.repo.loader import load_bundle

NOTHING: Described = {}
HANDLER = "export default async function (params, ctx) { return {}; }\n"


class Repository:
    """A repository that loads; tests break one thing of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("amodal.json", {"name": "test", "version": "1.0.0"})

    def write(self, name: str, content: str | bytes | dict[str, Any]) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8")
        return path

    def tool(self, name: str, /, handler: str = "handler.ts", folder: str = "amodal/tools", **fields: Any) -> None:
        self.write(f"{folder}/{name}/tool.json", {"description": f"Does {name}.", **fields})
        self.write(f"{folder}/{name}/{handler}", HANDLER)

    def agent(self, name: str, prompt: str = "You check things.", /, **fields: Any) -> None:
        self.write(f"agents/{name}/AGENT.md", prompt)
        if fields:
            self.write(f"agents/{name}/agent.json", fields)

    def store(self, name: str, /, folder: str = "amodal/stores", **fields: Any) -> None:
        schema = {"id": {"type": "string"}, "note": {"type": "string", "nullable": True}}
        self.write(f"{folder}/{name}.json", {"name": name, "key": "{id}", "schema": schema, **fields})

    def connection(self, name: str, /, folder: str = "connections", **spec: Any) -> None:
        self.write(f"{folder}/{name}/spec.json", {"baseUrl": "https://crm.example", **spec})

    def hook(self, name: str, /, **fields: Any) -> None:
        self.write(f"hooks/{name}/hook.json", {"points": ["preToolUse"], **fields})
        self.write(f"hooks/{name}/index.mjs", "export function createHook() { return {}; }\n")

    def problems(self, described: Described = NOTHING) -> list[Problem]:
        """All problems, whether or not the repository loads."""
        try:
            return list(load_bundle(self.root, described).problems)
        except BundleError as error:
            return list(error.problems)

    def only_error(self) -> Problem:
        with pytest.raises(BundleError) as caught:
            load_bundle(self.root)
        errors = [problem for problem in caught.value.problems if problem.severity == "error"]
        assert len(errors) == 1, [str(error) for error in errors]
        assert str(errors[0]) in str(caught.value)
        assert errors[0].remedy
        return errors[0]

    def only_warning(self) -> Problem:
        (warning,) = load_bundle(self.root).problems
        assert warning.severity == "warning"
        assert warning.remedy
        return warning
