"""``automations``: what is started by the clock, switched on and off, started by hand, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inbox_app import cli_arguments, cli_options
from inbox_app.cli_arguments import FOLDER, TEXT
from inbox_app.cli_session import (
    DONE,
    PARKED,
    REFUSED,
    Options,
    complain,
    say,
    say_json,
    warn,
    with_gateway,
    with_runtime,
)

if TYPE_CHECKING:
    from inbox_app.gateway.embedded import EmbeddedGateway
    from runtime_core.automations.book import Listed
    from runtime_core.automations.definition import Definition
    from runtime_core.repo.bundle import Bundle
    from runtime_core.runtime import Runtime
    from runtime_core.wire.automations import Firing

_WAITING = frozenset({"awaiting-input", "sleeping", "needs-attention"})


@click.group("automations")
@cli_options.data
def group(data: Path | None) -> None:
    """List, make and switch what is started by the clock.

    An automation starts a durable tool, or tells an agent something, when it is due while the window is open, or:
    automations watch.
    """
    del data  # what `cli_options.given` finds


@group.command("list")
@click.argument("path", type=FOLDER, required=False)
@cli_options.json
@cli_options.data
def list_(path: Path | None, as_json: bool, data: Path | None) -> int:
    """List automations: those of the repository at PATH, else all that are known here."""
    root = path.expanduser().absolute() if path is not None else None

    async def work(runtime: Runtime) -> Sequence[Listed]:
        return await runtime.automations.listed(root)

    found = with_runtime(cli_options.given(data, as_json), work)
    if as_json:
        say_json({"automations": [one.to_wire() for one in found]})
    else:
        say(_table(found))
    return DONE


@group.command()
@click.argument("path", type=FOLDER)
@click.option("--tool", type=TEXT, metavar="NAME", help="Start this durable tool.")
@click.option("--input", "given", type=TEXT, default="{}", metavar="JSON", help="Its input; @FILE reads a file.")
@click.option("--prompt", type=TEXT, metavar="TEXT", help="Tell an agent this; @FILE reads a file.")
@click.option("--agent", type=TEXT, default="", metavar="NAME", help="The agent that is told (default: default).")
@click.option("--cron", type=TEXT, default="", metavar="EXPR", help='When, e.g. "30 9 * * MON-FRI" or @daily.')
@click.option("--every", type=TEXT, default="", metavar="SPAN", help="Or after each 15m, 1h, 2d.")
@click.option("--at", "moment", type=TEXT, default="", metavar="TIME", help="Or once, e.g. 2026-12-24T18:00.")
@click.option("--timezone", type=TEXT, default="", metavar="NAME", help="e.g. Europe/Berlin (default: the computer's).")
@click.option("--label", type=TEXT, default="", metavar="TEXT", help="What it is called.")
@click.option("--scope", type=TEXT, default="", metavar="S", help="Scope of what it starts.")
@click.option("--off", is_flag=True, help="Add it, but leave it off.")
@cli_options.user
@cli_options.json
@cli_options.data
def add(path: Path, as_json: bool, data: Path | None, user: str | None, off: bool, **given: Any) -> int:
    """Add an automation to the repository at PATH.

    Give --tool or --prompt, and one of --cron, --every and --at.
    """
    definition = _definition(given)
    options = cli_options.given(data, as_json, user)
    root = path.expanduser().absolute()

    async def work(runtime: Runtime) -> Listed:
        listed = await runtime.automations.add(root, definition, who=_who(options), enabled=not off)
        misfit = _misfit((await runtime.catalog.look(root)).bundle, definition)
        if misfit:
            warn(f"The input does not fit: {misfit}. It is started with it all the same.", as_json=as_json)
        return listed

    return _told(options, with_runtime(options, work))


@group.command()
@click.argument("automation", metavar="ID", type=TEXT)
@cli_options.json
@cli_options.data
def remove(automation: str, as_json: bool, data: Path | None) -> int:
    """Remove an automation with its history. What it started stays; an agent that still works is stopped."""

    async def work(runtime: Runtime) -> None:
        await runtime.automations.remove(automation)

    with_runtime(cli_options.given(data, as_json), work)
    if as_json:
        say_json({"removed": automation})
    else:
        say([f"{automation} is removed"])
    return DONE


@group.command()
@click.argument("automation", metavar="ID", type=TEXT)
@cli_options.user
@cli_options.json
@cli_options.data
def enable(automation: str, user: str | None, as_json: bool, data: Path | None) -> int:
    """Switch an automation on. One that a file states works on your behalf then."""
    return _switch(cli_options.given(data, as_json, user), automation, is_on=True)


@group.command()
@click.argument("automation", metavar="ID", type=TEXT)
@cli_options.user
@cli_options.json
@cli_options.data
def disable(automation: str, user: str | None, as_json: bool, data: Path | None) -> int:
    """Switch an automation off. What it started goes on."""
    return _switch(cli_options.given(data, as_json, user), automation, is_on=False)


@group.command()
@click.argument("automation", metavar="ID", type=TEXT)
@cli_options.model
@cli_options.user
@cli_options.json
@cli_options.data
def run(automation: str, model: str | None, user: str | None, as_json: bool, data: Path | None) -> int:
    """Start an automation now, whether it is on or off, and wait.

    Exit code: 0 completed, 3 waiting for somebody or something, 1 anything else.
    """

    async def work(gateway: EmbeddedGateway) -> int:
        firing, listed = await gateway.automations.started(automation)
        waits = firing.state == "running" and firing.status in _WAITING
        if as_json:
            say_json(
                {
                    "automation": automation,
                    "state": firing.state,
                    "status": firing.status or None,
                    "session_id": firing.session_id or None,
                    "error": firing.error or None,
                }
            )
        else:
            say(_started(listed.label or listed.name, firing.state, firing.status, firing.session_id))
            if firing.error:
                complain(firing.error)
        return DONE if firing.state == "completed" else PARKED if waits else REFUSED

    return with_gateway(cli_options.given(data, as_json, user, model), work)


@group.command()
@click.argument("automation", metavar="ID", type=TEXT)
@click.option("--limit", type=click.IntRange(min=1), default=20, metavar="N", help="At most so many (20).")
@cli_options.json
@cli_options.data
def history(automation: str, limit: int, as_json: bool, data: Path | None) -> int:
    """List what became of the starts of an automation, the latest first."""

    async def work(runtime: Runtime) -> Sequence[Firing]:
        return await runtime.automations.history(automation, limit)

    found = with_runtime(cli_options.given(data, as_json), work)
    if as_json:
        from runtime_core.automations.book import firing_wire

        say_json({"history": [firing_wire(one) for one in found]})
    else:
        say(_history(found))
    return DONE


@group.command()
@cli_options.model
@cli_options.data
def watch(model: str | None, data: Path | None) -> int:
    """Start what is due, without a window, until Ctrl+C.

    What is asked meanwhile waits in the inbox: operator-inbox list.
    """

    async def work(gateway: EmbeddedGateway) -> int:
        from inbox_app.cli_text import visible

        if not gateway.executes:
            complain("another process works with this data folder, and starts what is due if it is a window")
            return REFUSED
        say(["Starting what is due. Stop with Ctrl+C."])
        told: dict[str, str] = {}
        async for automation in gateway.automations.watch():
            found = {one.id: one for one in await gateway.automations.automations()}
            one = found.get(automation)
            if one is not None and one.last is not None:
                last = one.last
                (line,) = _started(visible(one.label or one.name), last.state, last.status, last.session_id)
                if told.get(automation) != line:
                    told[automation] = line
                    say([line])
        return DONE

    return with_gateway(cli_options.given(data, as_json=False, model=model), work, keeps_schedules=True)


def _definition(given: dict[str, Any]) -> Definition:
    from runtime_core.automations.definition import Definition
    from runtime_core.automations.schedule import Schedule, ScheduleError

    tool, prompt, agent = given["tool"], given["prompt"], given["agent"]
    if (tool is None) == (prompt is None):
        raise click.UsageError("give what to start: either --tool NAME or --prompt TEXT")
    if tool is not None and agent:
        raise click.UsageError("--agent goes with --prompt: a tool is started without an agent")
    if sum(bool(given[name]) for name in ("cron", "every", "moment")) != 1:
        raise click.UsageError("give when to start it: one of --cron, --every and --at")
    try:
        schedule = Schedule(given["cron"], given["every"], given["moment"], given["timezone"])
    except ScheduleError as error:
        raise click.UsageError(str(error)) from error
    label, scope = given["label"].strip(), given["scope"]
    if tool is not None:
        text = cli_arguments.json_text("--input", given["given"])
        return Definition(label, schedule, tool=tool, input=text, scope=scope)
    said = cli_arguments.text("--prompt", prompt)
    return Definition(label, schedule, agent or "default", said, scope=scope)


def _misfit(bundle: Bundle | None, definition: Definition) -> str | None:
    from runtime_core.repo.params import check_params

    tool = bundle.tools.get(definition.tool) if bundle is not None else None
    return check_params(tool, definition.input) if tool is not None else None


def _switch(options: Options, automation: str, *, is_on: bool) -> int:
    async def work(runtime: Runtime) -> Listed:
        return await runtime.automations.switch(automation, is_on=is_on, who=_who(options))

    return _told(options, with_runtime(options, work))


def _told(options: Options, listed: Listed) -> int:
    if options.as_json:
        say_json({"automation": listed.to_wire()})
    else:
        say(_table([listed]))
    return DONE


def _who(options: Options) -> str:
    from inbox_app.gateway.embedded import local_identity

    return options.identity or local_identity()


def _table(found: Sequence[Listed]) -> Iterator[str]:
    from inbox_app.cli_text import moment, table, visible

    if not found:
        yield "There are none here. What a repository states is listed with: operator-inbox automations list PATH"
        return
    rows = [
        (
            one.row.id,
            "on" if one.row.enabled else "off",
            moment(one.row.next_at),
            _state(one.last) if one.last is not None else "",
            visible(f"tool {one.definition.tool}" if one.definition.tool else f"agent {one.definition.agent}"),
            visible(_name(one)),
        )
        for one in found
    ]
    yield table(("ID", "STATE", "NEXT", "LAST", "STARTS", ""), rows)
    for one in found:
        if one.problem:
            yield visible(f"{one.row.id}: {one.problem}")


def _name(one: Listed) -> str:
    label = one.definition.label or (one.row.name if one.row.origin == "file" else "")
    words = one.definition.schedule.in_words()
    return f"{label}: {words}" if label else words


def _history(found: Sequence[Firing]) -> Iterator[str]:
    from inbox_app.cli_text import moment, table, visible

    if not found:
        yield "It was never started."
        return
    rows = [
        (
            moment(one.started_at),
            "late" if one.late else "by hand" if one.source == "manual" else "",
            _state(one),
            one.session_id or "",
            visible(one.error or ""),
        )
        for one in found
    ]
    yield table(("STARTED", "", "STATE", "SESSION", ""), rows)


def _state(firing: Firing) -> str:
    return firing.status if firing.status in _WAITING and firing.state == "running" else firing.state


def _started(name: str, state: str, status: str, session_id: str) -> Iterator[str]:
    word = status if state == "running" and status in _WAITING else state
    yield f"{name}: {word}" + (f" ({session_id})" if session_id else "")
