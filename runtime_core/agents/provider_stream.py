"""One request to a provider: sends it, and listens until the reply is complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.models import Model as Client
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from runtime_core.agents.provider_lines import hanging_up
from runtime_core.agents.turns import Heard
from runtime_core.connections.masking import masked

_SHORTEST_KEY: Final = 16
"""Shorter ones are no secrets but what local servers are given, as "test", and masking them would spoil texts."""
OUTPUT_TOKENS: Final = 16_384
_CUT_OFF: Final = "[The reply was cut off here: it reached the limit of what the model may say at once.]"


@dataclass(frozen=True, slots=True)
class Asking:
    """A request that is ready to be sent."""

    client: Client
    messages: Sequence[ModelMessage]
    parameters: ModelRequestParameters

    async def send(self, ear: Ear, *, is_limited: bool, begins_in_s: float | None = None) -> ModelResponse:
        """Whoever stops listening closes the connection. Raises whatever the libraries raise, and `TimeoutError` if the
        answer does not begin in time."""
        is_used_again = len(self.messages) > 1 or bool(self.parameters.function_tools)
        settings = ModelSettings(cache=is_used_again)
        if is_limited:
            settings["max_tokens"] = OUTPUT_TOKENS
        async with (
            hanging_up(begins_in_s),
            model_request_stream(
                self.client,
                self.messages,
                model_settings=settings,
                model_request_parameters=self.parameters,
                instrument=False,
            ) as stream,
        ):
            try:
                async for event in stream:
                    ear.event(event)
            finally:
                ear.end()
            response = stream.get()
        if response.finish_reason is None and "finish_reason" not in (response.provider_details or {}):
            raise UnexpectedModelBehavior("it broke off")
        if response.finish_reason == "length" and not response.tool_calls:
            ear.begin("text")
            ear.say("text", _CUT_OFF)
        return response


class Ear:
    """Passes on what is said, piece by piece, without the key, which a model may have been told by what it reads;
    several texts of one reply are paragraphs."""

    def __init__(self, heard: Heard, key: str | None = None) -> None:
        self._heard = heard
        self._key = key if key is not None and len(key) >= _SHORTEST_KEY else ""
        self._held: dict[Literal["text", "reasoning"], str] = {"text": "", "reasoning": ""}
        self._is_next = {"text": False, "reasoning": False}
        self.text: list[str] = []
        self.reasoning: list[str] = []

    @property
    def has_heard(self) -> bool:
        return bool(self.text or self.reasoning)

    def event(self, event: ModelResponseStreamEvent) -> None:
        if isinstance(event, PartStartEvent):
            part = event.part
            if isinstance(part, TextPart | ThinkingPart):
                kind = "text" if isinstance(part, TextPart) else "reasoning"
                self.begin(kind)
                self.say(kind, part.content)
        elif isinstance(event, PartDeltaEvent):
            delta = event.delta
            if isinstance(delta, TextPartDelta | ThinkingPartDelta):
                self.say("text" if isinstance(delta, TextPartDelta) else "reasoning", delta.content_delta or "")

    def without_key(self, text: str) -> str:
        return masked(text, [self._key])

    def end(self) -> None:
        """Pass on what may have been the beginning of the key."""
        for kind, piece in self._held.items():
            self._held[kind] = ""
            self._pass_on(kind, piece)

    def begin(self, kind: Literal["text", "reasoning"]) -> None:
        self.end()
        self._is_next[kind] = bool(self.text if kind == "text" else self.reasoning)

    def say(self, kind: Literal["text", "reasoning"], piece: str) -> None:
        """A piece that ends as the key begins waits for what comes next."""
        whole = self.without_key(self._held[kind] + piece)
        ends = (n for n in range(min(len(self._key) - 1, len(whole)), 0, -1) if whole.endswith(self._key[:n]))
        at = len(whole) - next(ends, 0)
        self._held[kind] = whole[at:]
        self._pass_on(kind, whole[:at])

    def _pass_on(self, kind: Literal["text", "reasoning"], piece: str) -> None:
        if not piece:
            return
        if self._is_next[kind]:
            self._is_next[kind], piece = False, f"\n\n{piece}"
        (self.text if kind == "text" else self.reasoning).append(piece)
        self._heard(kind, piece)
