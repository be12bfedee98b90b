"""The scripted model: replies from a file, for samples, tests and work without a network (design 4)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal

import regex
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from runtime_core.agents.turns import Heard, ModelError, ModelUnusable, Reply, ToolCall, Turn, Usage, unheard
from runtime_core.repo.position import show_key
from runtime_core.repo.wording import in_words
from runtime_core.wire.json import JsonError, dumps, loads

FILE_LIMIT: Final = 16 * 1024 * 1024
MATCH_S: Final = 2.0
"""How long one turn looks for a reply that fits: a pattern may take for ever."""
_LAST_RESULT: Final = "{{last_tool_result}}"
_FILES: Final = "{{files}}"
_WORD: Final = regex.compile(r"\s*\S+\s*|\s+")
_PIECES: Final = 400
"""In how many a text is said at most, of a word or more each."""
_FAILURES: Final = {
    "rate_limited": "the model is rate limited",
    "unavailable": "the model is not available",
    "bad_key": "the model refused the key",
}


class ScriptedCall(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    name: str = Field(min_length=1)
    args: dict[str, Any] = Field({})


class ScriptedUsage(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    input_tokens: int = Field(0, ge=0)
    output_tokens: int = Field(0, ge=0)
    cached_tokens: int = Field(0, ge=0)
    cache_creation_tokens: int = Field(0, ge=0)


class ScriptedReply(BaseModel):
    """One reply of the file. An absent ``agent`` or ``match`` fits any."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    agent: str | None = None
    match: str | None = None
    text: str | None = None
    tool_calls: list[ScriptedCall] = Field([])
    repeat: bool = False
    delay_ms: float = Field(0, ge=0)
    error: Literal["rate_limited", "unavailable", "bad_key"] | None = None
    usage: ScriptedUsage | None = None

    @field_validator("match")
    @classmethod
    def _is_pattern(cls, value: str | None) -> str | None:
        try:
            regex.compile(value or "")
        except (regex.error, RecursionError) as error:
            raise ValueError(f"this is not a regular expression: {error}") from None
        return value

    @model_validator(mode="after")
    def _says_something(self) -> ScriptedReply:
        if self.text is None and not self.tool_calls and self.error is None:
            raise ValueError("a reply needs text, tool_calls or error")
        return self

    def fits(self, agent: str, text: str, until: float) -> bool:
        """Raises `TimeoutError` if that cannot be told before ``until`` (of the monotonic clock)."""
        if self.agent not in (None, agent) or self.match is None:
            return self.agent in (None, agent)
        left = max(until - time.monotonic(), 0.001)
        return regex.search(self.match, text, timeout=left, concurrent=True) is not None


class Script(BaseModel):
    """``takes``: the types of files that can be part of a message, with ``image/*`` for all of a kind; absent: any."""

    model_config = ConfigDict(strict=True)

    replies: list[ScriptedReply]
    takes: list[str] | None = None


class ScriptedModel:
    """Answers each turn with the first unused reply that fits. What is used is forgotten when the process ends."""

    provider = "scripted"

    def __init__(
        self, replies: Sequence[ScriptedReply], source: str = "the script", takes: Sequence[str] | None = None
    ) -> None:
        self._takes = takes
        self._unused = list(replies)
        self._source = source
        self._choosing = asyncio.Lock()

    @classmethod
    def load(cls, path: Path) -> ScriptedModel:
        """Read a file. Raises `ModelUnusable` naming file, line or key."""
        try:
            if not path.is_file():
                raise ModelUnusable(f"The scripted model's file {path} does not exist. Create it or correct the name.")
            if path.stat().st_size > FILE_LIMIT:
                raise ModelUnusable(f"The scripted model's file {path} is larger than {FILE_LIMIT:,} bytes.")
            value = loads(path.read_bytes())
            script = Script.model_validate(value)
            return cls(script.replies, str(path), script.takes)
        except OSError as error:
            raise ModelUnusable(f"The scripted model's file {path} cannot be read: {error.strerror}.") from None
        except JsonError as error:
            raise ModelUnusable(f"{path}:{error.line}:{error.column}: not valid JSON: {error.reason}.") from None
        except ValidationError as error:
            raise ModelUnusable("\n".join(_complaints(path, error))) from None

    @property
    def name(self) -> str:
        return self._source

    def takes(self, mime_type: str) -> bool:
        return self._takes is None or any(fnmatchcase(mime_type, pattern) for pattern in self._takes)

    async def reply(self, turn: Turn, heard: Heard = unheard) -> Reply:
        asked = _asked(turn)
        async with self._choosing:
            chosen = await asyncio.to_thread(self._take, turn.agent, asked)
        if chosen.delay_ms:
            await asyncio.sleep(chosen.delay_ms / 1000)
        if chosen.error is not None:
            raise ModelError(chosen.error, f"{_FAILURES[chosen.error]} (as {self._source} says)")
        text = (chosen.text or "").replace(_FILES, _file_names(turn)).replace(_LAST_RESULT, _last_tool_result(turn))
        for piece in _pieces(text):
            heard("text", piece)
            await asyncio.sleep(0)
        return Reply(
            text=text,
            tool_calls=tuple(ToolCall(call.name, dumps(call.args)) for call in chosen.tool_calls),
            usage=Usage(**chosen.usage.model_dump()) if chosen.usage is not None else Usage(),
        )

    def _take(self, agent: str, text: str) -> ScriptedReply:
        until = time.monotonic() + MATCH_S
        for number, reply in enumerate(self._unused):
            try:
                is_fitting = reply.fits(agent, text, until)
            except TimeoutError:
                told = f"{self._source}: it takes more than {MATCH_S:g} s to tell whether {_describe(reply)} fits"
                raise ModelError("unavailable", f"{told}. Write a simpler match.") from None
            if is_fitting:
                return reply if reply.repeat else self._unused.pop(number)
        raise ModelError("no_reply", self._no_reply(agent, text))

    def _no_reply(self, agent: str, text: str) -> str:
        unused = "; ".join(map(_describe, self._unused[:10])) or "none"
        more = f"; and {len(self._unused) - 10} more" if len(self._unused) > 10 else ""
        return (
            f'{self._source} has no reply left for the agent "{agent}" to: {_short(text, 500)}. '
            f"Unused replies: {unused}{more}."
        )


def _pieces(text: str) -> Iterator[str]:
    words = _WORD.findall(text)
    some = -(-len(words) // _PIECES) or 1
    return ("".join(words[at : at + some]) for at in range(0, len(words), some))


def _asked(turn: Turn) -> str:
    """What ``match`` is tried on: the latest message that is not the model's own, with a line for each of its files."""
    message = next(message for message in reversed(turn.messages) if message.role != "assistant")
    return "\n".join((message.text, *(f"[file: {file.filename}, {file.mime_type}]" for file in message.files)))


def _file_names(turn: Turn) -> str:
    """Those of the latest message of a person, or of who sent the agent."""
    said = next((message for message in reversed(turn.messages) if message.role == "user"), None)
    return ", ".join(file.filename for file in said.files) if said is not None else ""


def _last_tool_result(turn: Turn) -> str:
    return next((message.text for message in reversed(turn.messages) if message.role == "tool"), "")


def _describe(reply: ScriptedReply) -> str:
    agent = "any agent" if reply.agent is None else f'agent "{reply.agent}"'
    match = "any text" if reply.match is None else f"/{_short(reply.match, 60)}/"
    return f"{agent}, {match}"


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def _complaints(path: Path, error: ValidationError) -> list[str]:
    found: list[str] = []
    for problem in error.errors(include_url=False, include_input=False):
        found.append(f"{path} [{show_key(problem['loc']) or 'whole file'}]: {in_words(problem)}.")
    return found
