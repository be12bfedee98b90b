"""Loads the handlers and hooks of a repository in their sandbox without calling any, and says what is wrong with them:
syntax errors, missing imports and packages, no function to call. Definitions in code are read by the loader.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Final

from runtime_core.hosts.base import DependenciesUnavailable, HandlerLoadError, HostRepo, Hosts, HostUnavailable
from runtime_core.repo.bundle import Bundle, Hook, Problem, Tool

_HANDLER: Final = {
    "typescript": "Write: export default async function (params, ctx) { … }.",
    "python": "Write: async def handler(params, ctx).",
}
_HOOK: Final = {
    "typescript": "Write: export function createHook(config) { return { run(point, payload, ctx) { … } }; }.",
    "python": "Write: def create_hook(config), which returns an object with a function run(point, payload, ctx).",
}


async def load_handlers(bundle: Bundle, hosts: Hosts) -> AsyncGenerator[tuple[str, Problem | None]]:
    """Each file with what is wrong with it; the first of those with the same problem stands for all of them."""
    repo = HostRepo(bundle.root, bundle.revision, bundle.code)
    told: list[Problem] = []
    for tool in bundle.tools.values():
        if tool.layout == "code":  # was read with the repository, else it was no tool of it
            yield tool.entry, None
        else:
            problem = await _load_handler(hosts, repo, tool)
            if problem is None or problem not in told:
                yield tool.entry, problem
            told += [problem] if problem is not None else []
    for hook in bundle.hooks:
        problem = await _load_hook(hosts, repo, hook)
        if problem is None or problem not in told:
            yield hook.entry, problem
        told += [problem] if problem is not None else []


async def _load_handler(hosts: Hosts, repo: HostRepo, tool: Tool) -> Problem | None:
    try:
        described = await hosts.describe(repo, tool.language, tool.entry)
    except HandlerLoadError as error:
        return _broken("handler", tool.entry, error)
    except DependenciesUnavailable as error:
        if error.code != "untrusted":
            return Problem("error", "CONFIG_VALIDATION_FAILED", tool.entry, str(error), "")
        message = f"Its handler is not checked: the packages in {tool.dependencies} are installed when it first runs."
        return Problem("warning", "READ_FAILED", tool.entry, message, "")
    except HostUnavailable as error:
        return _unchecked(error)
    if described["problem"] is None:
        return None
    message = f"Its handler cannot be called: {described['problem']}."
    return Problem("error", "CONFIG_VALIDATION_FAILED", tool.entry, message, _HANDLER[tool.language])


async def _load_hook(hosts: Hosts, repo: HostRepo, hook: Hook) -> Problem | None:
    try:
        await hosts.describe(repo, hook.language, hook.entry, "hook", hook.config)
    except HandlerLoadError as error:
        broken = _broken("hook", hook.entry, error)
    except HostUnavailable as error:
        return _unchecked(error)
    else:
        return None
    return replace(broken, remedy=_HOOK[hook.language]) if "has no hook" in broken.message else broken


def _broken(what: str, entry: str, error: HandlerLoadError) -> Problem:
    reason = " ".join(str(error).removeprefix(f"{entry} cannot be loaded: ").split())
    message = f"The {what} cannot be loaded: {reason}."
    return Problem("error", "CONFIG_VALIDATION_FAILED", entry, message, "Correct it there.")


def _unchecked(error: HostUnavailable) -> Problem:
    return Problem("warning", "READ_FAILED", ".", f"Handlers of this language are not checked here: {error}", "")
