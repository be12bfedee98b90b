"""A model of a provider, asked in the protocol of the provider (contract 10)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from runtime_core.agents.clock import left
from runtime_core.agents.provider_lines import Lines
from runtime_core.agents.providers import ModelSpec, address_of, bare, is_private_way
from runtime_core.agents.turns import Heard, ModelError, ModelUnusable, Reply, Turn, unheard
from runtime_core.repo.references import ENV

if TYPE_CHECKING:  # takes more than a second, so it is imported in threads
    from pydantic_ai.messages import ModelResponse

    from runtime_core.agents.provider_stream import Asking, Ear

Secret = Callable[[str], str | None]
"""The value for the NAME of an ``env:NAME``. May block while a keychain answers."""

Trouble = Callable[[], str | None]
"""Why the last value was not found out, None if it was or if there is none."""


def no_trouble() -> str | None:
    """Of those who are always answered."""


_KEY: Final = re.compile(r"[!-~]+")
RETRY_WAITS_S: Final = (0.5, 2.0)
"""How long it is waited before a request is sent once more, unless the provider says how long."""


BEGINS_IN_S: Final = 30.0
"""How long a model may take to begin its answer while another one waits to be asked in its place."""


class ProviderModel:
    """Implements `Model`. Its key is looked up for each request. ``has_next``: another one is asked if it is silent."""

    def __init__(
        self, spec: ModelSpec, lines: Lines, secret: Secret, trouble: Trouble, *, has_next: bool = False
    ) -> None:
        self._spec = spec
        self._lines = lines
        self._secret = secret
        self._trouble = trouble
        self._has_next = has_next

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
            key, asking = await asyncio.to_thread(self._prepared, turn)
        except (OSError, ValueError) as error:
            raise ModelError("unavailable", f"{self._spec} cannot be asked from here: {error}") from None
        from runtime_core.agents import provider_errors as errors
        from runtime_core.agents.provider_stream import Ear

        waits = iter(RETRY_WAITS_S)
        is_limited = self._spec not in self._lines.unlimited
        while True:
            ear = Ear(heard, key)
            try:
                response = await asking.send(ear, is_limited=is_limited, begins_in_s=self._begins_in_s())
                break
            except Exception as error:  # noqa: BLE001 - the libraries let through whatever an answer breaks
                failed = error
            if is_limited and errors.is_about_limit(failed):
                is_limited = False
                continue
            default_s = next(waits, None)
            wait_s = errors.retry_in(failed, default_s) if default_s is not None and not ear.has_heard else None
            if wait_s is None:
                raise errors.told(failed, self._spec, key)  # without the other one, which may hold the key
            await asyncio.sleep(wait_s)
        if not is_limited:
            self._lines.unlimited.add(self._spec)
        return await asyncio.to_thread(self._reply, response, turn, ear)

    def _begins_in_s(self) -> float | None:
        return min(BEGINS_IN_S, left() / 3) if self._has_next else None

    def _prepared(self, turn: Turn) -> tuple[str | None, Asking]:
        """The key, and what to send. Raises `ModelError`, and `OSError` or `ValueError` for what of the environment
        cannot be used."""
        from runtime_core.agents.provider_messages import request
        from runtime_core.agents.provider_stream import Asking

        spec = self._spec
        key, service = self._key(), spec.service
        try:
            base_url = self._looked_up(service.base_url)
            address = address_of(base_url, spec.named_in)
        except ModelUnusable as error:
            raise ModelError("refused", str(error)) from None
        if key is not None and not is_private_way(address):
            if spec.wants_key:
                message = f"{spec} is not asked: its key would go through the network in plain sight. Use https://"
                raise ModelError("refused", f"{message} in {spec.named_in}.")
            key = None
        client = self._lines.client(service.protocol, spec.provider, spec.model, base_url, key)
        messages, parameters = request(turn, str(spec), service.takes)
        return key, Asking(client, messages, parameters)

    def _key(self) -> str | None:
        from runtime_core.agents.provider_errors import missing_key, unfit_key

        name = self._spec.key
        key = self._secret(name) if name is not None else None
        if name is None or key is None or not key.strip():
            if name is not None and self._spec.wants_key:
                raise missing_key(self._spec, name, self._trouble())
            return None
        if _KEY.fullmatch(key) is None:
            raise unfit_key(self._spec, name)
        return key

    def _looked_up(self, base_url: str) -> str:
        if not base_url.startswith(ENV):
            return base_url
        name = base_url.removeprefix(ENV)
        found = self._secret(name)
        if found is None:
            raise ModelUnusable(f"{self._spec.named_in}: {name} is not set, which holds the address of the model.")
        return found

    def _reply(self, response: ModelResponse, turn: Turn, ear: Ear) -> Reply:
        from runtime_core.agents.provider_messages import reply

        if response.finish_reason == "content_filter" and not ear.has_heard and not response.tool_calls:
            raise ModelError("refused", f"{self._spec} declined to answer this.")
        return reply(response, turn, str(self._spec), ear)
