"""Evals that nobody has to write: every durable tool that uses others, put through all situations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, get_args

from runtime_core.repo.bundle import Bundle, Eval, Situation, Tool
from runtime_core.repo.report import did_you_mean
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps


def ready_made(bundle: Bundle, names: Sequence[str] | None, given: Mapping[str, Any] | None) -> Sequence[Eval]:
    """An eval with all situations for each durable tool that uses others, or for those that are named.

    ``given`` is their input; without it that is made of the examples and defaults of their parameters. Raises
    `RuntimeFault` NOT_FOUND.
    """
    able = {name: tool for name, tool in bundle.tools.items() if tool.durable and (tool.tools or tool.subagents)}
    for name in names or ():
        if name not in able:
            known = ", ".join(sorted(able)) or "none"
            text = f'{bundle.root} has no durable tool "{name}" that uses others. Those that do: {known}.'
            raise RuntimeFault("NOT_FOUND", text, names=sorted(able))
    return [
        Eval(
            name=f"situations-{name}",
            title=f"{name} in every situation",
            file="",
            tool=name,
            input=given if given is not None else example(able[name]),
            situations=get_args(Situation),
        )
        for name in (sorted(able) if names is None else names)
    ]


def example(tool: Tool) -> dict[str, Any]:
    """The parameters of a tool as its schema exemplifies them; what has no example is left out."""
    whole: Any = tool.parameters.get("examples")
    if isinstance(whole, list) and whole and isinstance(whole[0], dict):
        return cast("dict[str, Any]", whole[0])
    found: dict[str, Any] = {}
    for name, schema in cast("dict[str, Any]", tool.parameters.get("properties", {})).items():
        if isinstance(schema, dict):
            found.update((name, value) for value in _example_of(cast("dict[str, Any]", schema)))
    return found


def _example_of(schema: Mapping[str, Any]) -> Iterator[Any]:
    for key in ("const", "default"):
        if key in schema:
            yield schema[key]
            return
    for key in ("examples", "enum"):
        if schema.get(key):
            yield schema[key][0]
            return


def problem_of_input(bundle: Bundle, of: Eval) -> str | None:
    from runtime_core.repo.params import check_params  # with jsonschema: not for commands that only look

    tool = bundle.tools.get(of.tool)
    if tool is None:
        return f'{bundle.root} has no tool "{of.tool}".{did_you_mean(of.tool, bundle.tools)}'
    problem = check_params(tool, dumps(of.input))
    if problem is None:
        return None
    return f"The input of {of.tool} does not fit it: {problem}. Give one that fits, or write examples into its schema."
