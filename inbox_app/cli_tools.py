"""``tools``: the built-in tools of a repository, here or on the platform, and which of them are on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from inbox_app import cli_options
from inbox_app.cli_arguments import FOLDER, TEXT
from inbox_app.cli_session import DONE, Options, say, say_json, with_runtime

if TYPE_CHECKING:
    from runtime_core.deploys.switching import Switchable
    from runtime_core.runtime import Runtime


@click.command()
@click.argument("path", type=FOLDER, required=False)
@click.option("--enable", type=TEXT, metavar="NAME", help="Switch this built-in tool on.")
@click.option("--disable", type=TEXT, metavar="NAME", help="Switch this built-in tool off.")
@click.option("--remote", is_flag=True, help="Those of the platform, for the agent there.")
@click.option("--agent-id", "agent", type=TEXT, metavar="ID", help="The agent on the platform.")
@cli_options.user
@cli_options.json
@cli_options.data
def tools(
    path: Path | None,
    enable: str | None,
    disable: str | None,
    remote: bool,
    agent: str | None,
    user: str | None,
    as_json: bool,
    data: Path | None,
) -> int:
    """Show and switch built-in tools.

    Of the repository at PATH in this data folder: no model is offered a tool that is off, and calls of it fail. With
    --remote those of the platform instead. Tools that a repository defines are changed in its code.
    """
    if enable is not None and disable is not None:
        raise click.UsageError("--enable and --disable exclude each other")
    options = cli_options.given(data, as_json, user)
    wanted = (enable or disable or "", enable is not None) if enable is not None or disable is not None else None
    if remote:
        if path is not None:
            raise click.UsageError("--remote is about an agent of the platform: give --agent-id ID instead of a PATH")
        return _remote(options, agent, wanted)
    if path is None:
        raise click.UsageError("PATH is missing: name the repository, or give --remote")
    if agent is not None:
        raise click.UsageError("--agent-id needs --remote")
    return _local(options, path.expanduser().absolute(), wanted)


def _local(options: Options, root: Path, wanted: tuple[str, bool] | None) -> int:
    from inbox_app.gateway.embedded import local_identity

    async def work(runtime: Runtime) -> Sequence[Switchable]:
        bundle = await runtime.add_repository(root)
        if wanted is not None:
            who = options.identity or local_identity()
            await runtime.switches.switch(root, wanted[0], is_on=wanted[1], who=who)
        return await runtime.switches.of(bundle)

    found = with_runtime(options, work)
    if wanted is not None:
        found = [one for one in found if one.name == wanted[0]]
    if options.as_json:
        say_json({"tools": [one.to_wire() for one in found]})
    else:
        say(_table(found))
    return DONE


def _remote(options: Options, agent: str | None, wanted: tuple[str, bool] | None) -> int:
    async def work(runtime: Runtime) -> Mapping[str, bool]:
        if wanted is not None:
            await runtime.platform_switches.switch(agent, wanted[0], is_on=wanted[1])
            return {wanted[0]: wanted[1]}
        return await runtime.platform_switches.of(agent)

    found = with_runtime(options, work)
    if options.as_json:
        say_json({"tools": [{"name": name, "enabled": is_on} for name, is_on in found.items()]})
    else:
        say(_remote_table(found))
    return DONE


def _table(found: Sequence[Switchable]) -> Iterator[str]:
    from inbox_app.cli_text import moment, table, visible

    rows = [
        (
            visible(one.name),
            "on" if one.is_on else "off",
            visible(one.who),
            moment(one.at),
            visible(f"needs {one.lacks}" if one.lacks else ""),
        )
        for one in found
    ]
    yield table(("TOOL", "STATE", "SWITCHED BY", "AT", ""), rows)


def _remote_table(found: Mapping[str, bool]) -> Iterator[str]:
    from inbox_app.cli_text import table, visible

    if not found:
        yield "The platform names no built-in tools."
        return
    yield table(("TOOL", "STATE"), [(visible(name), "on" if is_on else "off") for name, is_on in found.items()])
