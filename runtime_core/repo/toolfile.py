"""The fields of `tool.json` (contract 2.3). A field's description is what to do when it is wrong."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from runtime_core.repo.bundle import Effect
from runtime_core.repo.fields import Fields

NO_EFFECT: Final = ("enabled", "exposure", "llm_callable", "llmCallable")
"""What means something in a definition in code only."""


class Uses(Fields):
    model_config = ConfigDict(strict=True)

    tools: list[str] = Field([], description="List the names of the tools the handler calls.")
    subagents: list[str] = Field([], description="List the names of the agents the handler calls.")


class Trigger(Fields):
    model_config = ConfigDict(strict=True)

    also = frozenset({"cron"})

    kind: str = Field(description='Name the kind: "invoke" or "regex".')
    pattern: str | None = Field(None, description="Give the regular expression as a text.")
    flags: str | None = Field(None, description="Give JavaScript flags as a text, such as i, or leave this out.")
    continue_to_llm: bool | None = Field(None, alias="continueToLLM", description="Write true or false.")

    @model_validator(mode="after")
    def _regex_has_pattern(self) -> Trigger:
        if self.kind == "regex" and not self.pattern:
            raise ValueError("A regex trigger needs a pattern")
        return self


class ToolFile(Fields):
    model_config = ConfigDict(strict=True, allow_inf_nan=False, alias_generator=to_camel)
    also = frozenset({"internal", "responseShaping", "sandbox", "type", *NO_EFFECT})

    name: str | None = Field(None, description="Leave the name out, or repeat the folder's name.")
    title: str | None = Field(None, description="Give the title as a text, or leave it out.")
    description: str = Field(min_length=1, description="Say in a text what the tool does, for the model that picks it.")
    parameters: dict[str, Any] = Field({}, description="Give a JSON Schema as an object.")
    execution: Literal["durable"] | None = Field(None, description='Write "durable", or leave it out.')
    uses: Uses | None = Field(None, description='Write {"tools": […], "subagents": […]}.')
    triggers: list[Trigger] = Field([], description='List objects such as {"kind": "invoke"}.')
    confirm: bool | Literal["review", "never"] = Field(False, description='Write false, true, "review" or "never".')
    effect: Effect = Field("once", description='Write "read", "idempotent" or "once".')
    timeout: float = Field(30_000, gt=0, description="Give a number of milliseconds above 0.")
    env: list[str] = Field([], description="List the names of environment variables the handler may read.")
    running_label: str | None = Field(None, description="Give the label as a text, or leave it out.")
    completed_label: str | None = Field(None, description="Give the label as a text, or leave it out.")

    @field_validator("confirm", mode="plain")
    @classmethod
    def _known_confirm(cls, value: object) -> object:
        if isinstance(value, bool) or value in ("review", "never"):
            return value
        raise ValueError('This should be false, true, "review" or "never"')
