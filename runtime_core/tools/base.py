"""What a tool is that comes with the runtime, and where one is found by its name (contract 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol, cast, runtime_checkable

from runtime_core.repo.bundle import Agent, Bundle, Effect
from runtime_core.repo.policy import Verdict
from runtime_core.wire.json import JsonText, digest
from runtime_core.wire.stores import StoreWrite

Category = Literal["store", "connection", "web", "knowledge", "memory", "chat"]
"""``connection``: ``request``, operations of a connection, mail and MCP tools, which inline composites may not call
(decision 27)."""


class Subagent(Protocol):
    def __call__(self, name: str, task: str, input: JsonText | None) -> Awaitable[str]:
        """What a specialist answers, whom the caller has to have declared. Raises what the call fails with."""
        ...


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a tool works: a handler's code, or, with ``agent``, a model that selected it.

    ``context``: what the run was started with, unverified (decision 29). ``call_id``: the same on every attempt, to be
    passed downstream (decision 13). ``note`` takes kind (``log``, ``emit``, ``warning``) and value. ``allowed``: what
    was shown to the person who allowed the call, if somebody did (``Verdict.shown``).
    """

    bundle: Bundle
    scope: str
    who: str
    note: Callable[[str, Any], None]
    subagent: Subagent
    session_id: str | None = None
    call_id: str | None = None
    context: JsonText | None = None
    agent: Agent | None = None
    allowed: Any = None

    def check_allowed(self, shown: Any) -> None:
        """Whether what is about to be done is what a person allowed. Raises `ToolFailed`."""
        if self.allowed is not None and (changes := _changes(self.allowed, shown)):
            raise ToolFailed(
                f"Nothing was sent, because it would not be what was allowed any more: {changes}. The connection, its "
                "OpenAPI document or the tool has changed since the question was asked. Have it asked again.",
                CHANGED,
            )


CHANGED: Final = "content_changed"


def _changes(allowed: Any, now: Any) -> str:
    """What is not as it was shown; empty if everything is."""
    before, after = (cast("dict[str, Any]", one if isinstance(one, dict) else {}) for one in (allowed, now))
    names = sorted(name for name in before.keys() | after if digest(before.get(name)) != digest(after.get(name)))
    told = [f"{name} was {before.get(name)} and is {after.get(name)} now" for name in _TOLD if name in names]
    return "; ".join(told + [name for name in names if name not in _TOLD])


_TOLD: Final = ("connection", "method", "url")
"""What everybody may read in a message; bodies may be long."""


Prepare = Callable[[JsonText, Caller], StoreWrite]
"""Checks the params of a tool that only writes a store and says what to write. Raises `ToolFailed`."""


@dataclass(frozen=True, slots=True)
class ReadyTool:
    """A tool that comes with the runtime. ``call`` takes the params and returns the result, both JSON text; it raises
    `ToolFailed`. A failure that contract 5 gives as a value is a result.

    ``effect`` may depend on the params. ``prepare``, for a tool that only writes a store: so that a durable run can
    store the write together with its journal entry (decision 8). ``judge``, for a tool of a connection: asked before a
    call that a model selected.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    category: Category
    effect: Effect | Callable[[JsonText], Effect]
    call: Callable[[JsonText, Caller], Awaitable[JsonText]]
    prepare: Prepare | None = None
    judge: Callable[[JsonText, Caller], Awaitable[Verdict]] | None = None
    timeout_s: float | None = 30.0
    """None: what it does has limits of its own."""

    def effect_with(self, params: JsonText) -> Effect:
        return self.effect(params) if callable(self.effect) else self.effect


class ToolFailed(Exception):  # noqa: N818
    """A tool did not do its work; the message says why, without any secret. ``code`` stands beside it, if given."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class Provider(Protocol):
    """One family of ready tools."""

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        """The tool of this name, as far as the repository declares what it needs."""
        ...

    def names(self, bundle: Bundle) -> Sequence[str]:
        """The names that can be told without asking another system."""
        ...


ASK_S: Final = 15.0
"""How long a turn of a model waits for other systems to tell their tools."""


@runtime_checkable
class Asking(Provider, Protocol):
    """A family whose names other systems tell."""

    async def ask(self, bundle: Bundle, sources: Sequence[str]) -> None:
        """Ask those of these connections and servers that were not asked so far; what fails fails when it is called."""
        ...

    def knows(self, bundle: Bundle, source: str) -> bool:
        """Whether all tools are told that a connection or server gives, as far as it is one of this family."""
        ...


class Switches(Protocol):
    """What an operator has switched off."""

    async def look(self, root: Path) -> None:
        """Find out what is off now for the repository at ``root``."""
        ...

    def is_off(self, root: Path, tool: str) -> bool:
        """As of the last `look`."""
        ...


class Toolbox:
    """All families, the first one that knows a name counts. Tools that a repository writes come before any of them."""

    def __init__(self, providers: Sequence[Provider], switches: Switches | None = None) -> None:
        self._providers = providers
        self._switches = switches

    def find(self, bundle: Bundle, name: str) -> ReadyTool | None:
        return next((tool for provider in self._providers if (tool := provider.find(bundle, name)) is not None), None)

    def names(self, bundle: Bundle) -> Sequence[str]:
        return sorted({name for provider in self._providers for name in provider.names(bundle)})

    async def ask(self, bundle: Bundle, sources: Sequence[str]) -> None:
        """Have the names told that a model with these connections and servers may use, and what is switched off."""
        await self.look(bundle)
        asked = (provider.ask(bundle, sources) for provider in self._providers if isinstance(provider, Asking))
        await asyncio.gather(*asked)

    async def look(self, bundle: Bundle) -> None:
        """Find out which tools are switched off now."""
        if self._switches is not None:
            await self._switches.look(bundle.root)

    def is_off(self, bundle: Bundle, name: str) -> bool:
        """Whether an operator had switched off this tool when that was looked at; one of the repository never is."""
        return self._switches is not None and name not in bundle.tools and self._switches.is_off(bundle.root, name)

    def knows(self, bundle: Bundle, sources: Sequence[str]) -> bool:
        """Whether `names` holds all that these connections and servers give."""
        asking = [provider for provider in self._providers if isinstance(provider, Asking)]
        return all(provider.knows(bundle, source) for provider in asking for source in sources)


Member = Callable[[JsonText, "MemberCall"], Awaitable[JsonText]]
"""``ctx.request`` or ``ctx.store`` of a handler that is not durable: takes the array of arguments."""


@dataclass(frozen=True, slots=True)
class MemberCall:
    """Who calls a member: ``may_write`` says whether the tool is marked for writes (contract 3.2)."""

    caller: Caller
    tool: str
    may_write: bool


class MemberRefused(Exception):  # noqa: N818
    """A member call that failed; ``error`` is the object that its handler gets: ``{"name", "code", "message"}``."""

    def __init__(self, error: JsonText) -> None:
        super().__init__(error)
        self.error = error
