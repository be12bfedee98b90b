"""What can be done with the repository that the section of repositories shows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeAlias, cast

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, Desk, act, can
from inbox_app.gateway.base import GatewayError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from inbox_app.gateway.builds import BuildEvent, BuildGateway, Deploy

Hear: TypeAlias = Callable[["BuildEvent"], None]
"""Told of everything that happens in a build."""


async def reload_repository(gateway: BuildGateway, path: str, hear: Hear) -> str:
    """Build a repository here. Returns the sentence of a refusal, or ""; a build that fails is none."""
    return await _heard(gateway.reload(path), hear)


async def deploy_repository(gateway: BuildGateway, order: Deploy, hear: Hear) -> str:
    """Order a build and follow it until it ends. Returns the sentence of a refusal, or ""."""
    return await _heard(gateway.deploy(order), hear)


async def follow_build(gateway: BuildGateway, build_id: str, hear: Hear) -> str:
    """Follow an ordered build again. Returns the sentence of a refusal, or ""."""
    return await _heard(gateway.follow(build_id), hear)


async def switch_tool(gateway: BuildGateway, path: str, tool: str, *, is_on: bool) -> str:
    """Switch a built-in tool of a repository. Returns the sentence of a refusal, or ""."""
    try:
        await gateway.switch(path, tool, is_on=is_on)
    except GatewayError as error:
        return error.message
    return ""


async def _heard(events: AsyncIterator[BuildEvent], hear: Hear) -> str:
    try:
        async with aclosing(cast("AsyncGenerator[BuildEvent]", events)) as told:
            async for event in told:
                hear(event)
    except GatewayError as error:
        return error.message
    return ""


def _command(verb: str, title: str, *keys: str) -> Command:
    name = f"repositories.{verb}"
    return Command(f"{verb}_repository", title, act(name), "Agents", keys, can(name), group=5)


def ask_open(desk: Desk) -> None:
    """From wherever the window is: what was opened is shown with the others."""
    desk.show_view("repositories")
    desk.act("repositories.open")


def has_repositories(desk: Desk) -> bool:
    return desk.has_view("repositories")


COMMANDS = (
    Command(
        "open_repository",
        QT_TRANSLATE_NOOP("commands", "Open a repository…"),
        ask_open,
        "Agents",
        ("Ctrl+O",),
        has_repositories,
        group=5,
    ),
    _command("reload", QT_TRANSLATE_NOOP("commands", "Reload the repository"), "Ctrl+R"),
    _command("deploy", QT_TRANSLATE_NOOP("commands", "Deploy the repository…")),
    _command("remove", QT_TRANSLATE_NOOP("commands", "Remove the repository from the list…")),
)
