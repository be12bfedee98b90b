"""Models that are asked one after the other until one answers (contract 1.2, ``fallback``)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, Literal

from runtime_core.agents.turns import Heard, Model, ModelError, Reply, Turn, unheard

log = logging.getLogger(__name__)

_NEXT: Final = frozenset({"rate_limited", "unavailable", "bad_key"})
"""After these another one may do better; what was asked for is not at fault."""


class Fallback:
    """Implements `Model`: for each turn the first of the models, and the next ones as long as none said anything."""

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = models

    @property
    def provider(self) -> str:
        return self._models[0].provider

    @property
    def name(self) -> str:
        return self._models[0].name

    def takes(self, mime_type: str) -> bool:
        return self._models[0].takes(mime_type)

    async def reply(self, turn: Turn, heard: Heard = unheard) -> Reply:
        failed: list[str] = []
        has_spoken = False

        def listen(kind: Literal["text", "reasoning"], piece: str) -> None:
            nonlocal has_spoken
            has_spoken = True
            heard(kind, piece)

        for model in self._models:
            try:
                return await model.reply(turn, listen)
            except ModelError as error:
                failed.append(error.message)
                if has_spoken or error.code not in _NEXT or len(failed) == len(self._models):
                    raise _told(error, failed) from None
                log.warning("%s:%s did not answer, the next model is asked: %s", model.provider, model.name, error)
        raise AssertionError("there is no model")


def _told(error: ModelError, failed: Sequence[str]) -> ModelError:
    if len(failed) == 1:
        return error
    message = f"No model answered, {len(failed)} were asked. {' '.join(failed)}"
    return ModelError(error.code, message, retry_after_s=error.retry_after_s)
