"""The fields of a tool that is defined in code (contract 2.6). A field's description is what to do when it is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import AliasChoices, ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime_core.repo.bundle import Effect, Exposure
from runtime_core.repo.fields import Fields

_FIELDS: Final = ConfigDict(strict=True, allow_inf_nan=False, alias_generator=to_camel, validate_by_name=True)
_NO_EFFECT: Final[Mapping[str, str]] = {
    "uses": "call other tools",
    "execution": "be durable",
    "triggers": "have triggers",
    "env": "read environment variables",
}


class ExposureField(Fields):
    model_config = _FIELDS
    guards = None

    kind: Exposure = Field(description='Write "open", "requires-confirmation" or "operator-gated".')
    prompt: str | None = Field(None, description="Give what a person is asked as a text, or leave it out.")


class Base(Fields):
    model_config = _FIELDS

    name: str | None = Field(None, description="Repeat the id.")
    description: str | None = Field(None, description="Say in a text what the tool does, for the model that picks it.")
    parameters_json_schema: dict[str, Any] | None = Field(None, description="Give a JSON Schema as an object.")


class CodeTool(Fields):
    model_config = _FIELDS
    also = frozenset({"confirm", "handle", "internal", *_NO_EFFECT})
    guards = frozenset({"exposure", "enabled", "llm_callable", "llmCallable"})

    id: str = Field(description="Give the name of the tool as a text: lower-case letters, digits and underscores.")
    exposure: ExposureField = Field(ExposureField(kind="open", prompt=None), description='Write {kind: "open"}.')
    llm_callable: bool = Field(
        True,
        validation_alias=AliasChoices("llm_callable", "llmCallable"),
        description="Write true, or false to keep the tool from models.",
    )
    enabled: bool = Field(True, description="Write true, or false to leave the tool out.")
    base: Base = Field(Base.model_validate({}), description="Write {name, description, parametersJsonSchema}.")
    title: str | None = Field(None, description="Give the title as a text, or leave it out.")
    effect: Effect = Field("once", description='Write "read", "idempotent" or "once".')
    timeout: float = Field(30_000, gt=0, description="Give a number of milliseconds above 0.")
    running_label: str | None = Field(None, description="Give the label as a text, or leave it out.")
    completed_label: str | None = Field(None, description="Give the label as a text, or leave it out.")

    def oddities(self, given: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        """Key, message and remedy of what such a tool loads with all the same (decision 30)."""
        if self.base.name is None:
            yield "base.name", f"base.name is missing; the tool is called {self.id}.", "Repeat the id there."
        elif self.base.name != self.id:
            message = f'base.name says "{self.base.name}", but the tool goes by its id "{self.id}".'
            yield "base.name", message, "Write the same name in both."
        if not self.base.description:
            remedy = "Say there what the tool does."
            yield "base.description", "base.description is missing: no model knows what the tool is for.", remedy
        if self.base.parameters_json_schema is None:
            message = "base.parametersJsonSchema is missing, so parameters are not checked."
            yield "base.parametersJsonSchema", message, "Give a JSON Schema there."
        if "confirm" in given:
            remedy = 'Write exposure: {kind: "requires-confirmation"}, or take confirm out.'
            yield "confirm", "confirm has no effect here: exposure says whether a person is asked.", remedy
        for key, what in _NO_EFFECT.items():
            if key in given:
                message = f"{key} has no effect here: a tool that is defined in code cannot {what}."
                yield key, message, f"Use tool.json with a handler if it has to {what}, or take {key} out."
