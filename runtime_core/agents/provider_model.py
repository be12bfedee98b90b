"""A model of a provider, asked in the protocol of the provider (contract 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from runtime_core.agents.provider_lines import Lines, hanging_up
from runtime_core.agents.providers import ModelSpec, address_of, bare, is_private_way
from runtime_core.agents.turns import Heard, ModelError, ModelUnusable, Reply, Turn, unheard
from runtime_core.repo.references import ENV

if TYPE_CHECKING:  # takes more than a second, so it is imported in threads
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model as Client
    from pydantic_ai.models import ModelRequestParameters

Secret = Callable[[str], str | None]
"""The value for the NAME of an ``env:NAME``. May block while a keychain answers."""

OUTPUT_TOKENS: Final = 16_384
RETRY_WAITS_S: Final = (0.5, 2.0)
"""How long it is waited before a request is sent once more, unless the provider says how long."""
_CUT_OFF: Final = "[The reply was cut off here: it reached the limit of what the model may say at once.]"


class ProviderModel:
    """Implements `Model`. Its key is looked up for each request."""

    def __init__(self, spec: ModelSpec, lines: Lines, secret: Secret) -> None:
        self._spec = spec
        self._lines = lines
        self._secret = secret

    @property
    def provider(self) -> str:
        return self._spec.provider

    @property
    def name(self) -> str:
        return self._spec.model

    def takes(self, mime_type: str) -> bool:
        return self._spec.service.takes(bare(mime_type))

    async def reply(self, turn: Turn, heard: Heard = unheard) -> Reply:
        try:
            asking = await asyncio.to_thread(self._prepared, turn)
        except (OSError, ValueError) as error:
            raise ModelError("unavailable", f"{self._spec} cannot be asked from here: {error}") from None
        from runtime_core.agents import provider_errors as errors

        waits = iter(RETRY_WAITS_S)
        is_limited = self._spec not in self._lines.unlimited
        while True:
            ear = _Ear(heard)
            try:
                response = await _asked(asking, ear, OUTPUT_TOKENS if is_limited else None)
                break
            except Exception as error:  # noqa: BLE001 - the libraries let through whatever an answer breaks
                failed = error
            if is_limited and errors.is_about_limit(failed):
                is_limited = False
                continue
            default_s = next(waits, None)
            wait_s = errors.retry_in(failed, default_s) if default_s is not None and not ear.has_heard else None
            if wait_s is None:
                raise errors.told(failed, self._spec, asking.key)  # without the other one, which may hold the key
            await asyncio.sleep(wait_s)
        if not is_limited:
            self._lines.unlimited.add(self._spec)
        return await asyncio.to_thread(self._reply, response, turn, ear)

    def _prepared(self, turn: Turn) -> _Asking:
        """Raises `ModelError`, and `OSError` or `ValueError` for what of the environment cannot be used."""
        from runtime_core.agents.provider_messages import request

        spec = self._spec
        key, service = self._key(), spec.service
        try:
            base_url = self._looked_up(service.base_url)
            address = address_of(base_url, spec.named_in)
        except ModelUnusable as error:
            raise ModelError("refused", str(error)) from None
        if key is not None and not is_private_way(address):
            message = f"{spec} is not asked: its key would go through the network in plain sight. Use https://"
            raise ModelError("refused", f"{message} in {spec.named_in}.")
        client = self._lines.client(service.protocol, spec.provider, spec.model, base_url, key)
        messages, parameters = request(turn, str(spec), service.takes)
        return _Asking(client, messages, parameters, key)

    def _key(self) -> str | None:
        from runtime_core.agents.provider_errors import missing_key

        name = self._spec.key
        key = self._secret(name) if name is not None else None
        if name is not None and key is None and self._spec.wants_key:
            raise missing_key(self._spec, name)
        return key

    def _looked_up(self, base_url: str) -> str:
        if not base_url.startswith(ENV):
            return base_url
        name = base_url.removeprefix(ENV)
        found = self._secret(name)
        if found is None:
            raise ModelUnusable(f"{self._spec.named_in}: {name} is not set, which holds the address of the model.")
        return found

    def _reply(self, response: ModelResponse, turn: Turn, ear: _Ear) -> Reply:
        from runtime_core.agents.provider_messages import reply

        if response.finish_reason == "content_filter" and not ear.has_heard and not response.tool_calls:
            raise ModelError("refused", f"{self._spec} declined to answer this.")
        return reply(response, turn, str(self._spec), "".join(ear.text), "".join(ear.reasoning))


@dataclass(frozen=True, slots=True)
class _Asking:
    """A request that is ready to be sent."""

    client: Client
    messages: Sequence[ModelMessage]
    parameters: ModelRequestParameters
    key: str | None


async def _asked(asking: _Asking, ear: _Ear, output_tokens: int | None) -> ModelResponse:
    """Send a request and listen until the reply is complete; whoever gives up closes the connection."""
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.exceptions import UnexpectedModelBehavior
    from pydantic_ai.settings import ModelSettings

    settings = ModelSettings(cache=len(asking.messages) > 1 or bool(asking.parameters.function_tools))
    if output_tokens is not None:
        settings["max_tokens"] = output_tokens
    async with (
        hanging_up(),
        model_request_stream(
            asking.client,
            asking.messages,
            model_settings=settings,
            model_request_parameters=asking.parameters,
            instrument=False,
        ) as stream,
    ):
        async for event in stream:
            ear.event(event)
        response = stream.get()
    if response.finish_reason is None and "finish_reason" not in (response.provider_details or {}):
        raise UnexpectedModelBehavior("it broke off")
    if response.finish_reason == "length" and not response.tool_calls:
        ear.begin("text")
        ear.say("text", _CUT_OFF)
    return response


class _Ear:
    """Passes on what is said, piece by piece; several texts of one reply are paragraphs."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._is_next = {"text": False, "reasoning": False}
        self.text: list[str] = []
        self.reasoning: list[str] = []

    @property
    def has_heard(self) -> bool:
        return bool(self.text or self.reasoning)

    def event(self, event: Any) -> None:
        from pydantic_ai.messages import (
            PartDeltaEvent,
            PartStartEvent,
            TextPart,
            TextPartDelta,
            ThinkingPart,
            ThinkingPartDelta,
        )

        part = (
            event.part
            if isinstance(event, PartStartEvent)
            else event.delta
            if isinstance(event, PartDeltaEvent)
            else None
        )
        if isinstance(part, TextPart | ThinkingPart):
            kind = "text" if isinstance(part, TextPart) else "reasoning"
            self.begin(kind)
            self.say(kind, part.content)
        elif isinstance(part, TextPartDelta | ThinkingPartDelta):
            self.say("text" if isinstance(part, TextPartDelta) else "reasoning", part.content_delta or "")

    def begin(self, kind: Literal["text", "reasoning"]) -> None:
        self._is_next[kind] = bool(self.text if kind == "text" else self.reasoning)

    def say(self, kind: Literal["text", "reasoning"], piece: str) -> None:
        if not piece:
            return
        if self._is_next[kind]:
            self._is_next[kind], piece = False, f"\n\n{piece}"
        (self.text if kind == "text" else self.reasoning).append(piece)
        self._heard(kind, piece)
