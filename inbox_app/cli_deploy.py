"""``deploy``, ``logs`` and ``reload``: builds of the platform and their local counterpart, with their live logs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from inbox_app import cli_options
from inbox_app.cli_arguments import FOLDER, TEXT
from inbox_app.cli_session import (
    DONE,
    INTERRUPTED,
    REFUSED,
    Options,
    command_line,
    complain,
    forget_typed,
    say,
    say_json,
    with_runtime,
)
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.builds import is_production

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from runtime_core.deploys.builds import Order, Tell
    from runtime_core.runtime import Runtime
    from runtime_core.wire.builds import Build, Failure, Line


@click.command()
@click.argument("path", type=FOLDER, required=False)
@click.option("--branch", type=TEXT, default="", metavar="B", help="The branch to deploy (default: main).")
@click.option("--environment", type=TEXT, default="", metavar="E", help="Where to (default: production).")
@click.option("--agent-id", "agent", type=TEXT, default="", metavar="ID", help="The agent on the platform.")
@click.option("--no-follow", is_flag=True, help="Do not wait for the build to end.")
@click.option("--yes", is_flag=True, help="Deploy to production without asking.")
@cli_options.user
@cli_options.json
@cli_options.data
def deploy(
    path: Path | None,
    branch: str,
    environment: str,
    agent: str,
    no_follow: bool,
    yes: bool,
    user: str | None,
    as_json: bool,
    data: Path | None,
) -> int:
    """Deploy an agent on the platform.

    Orders a build of the pushed branch and shows its log until it ends; Ctrl+C stops the showing, not the build. PATH
    is the repository whose page in the window lists the build. Exit code: 0 succeeded, 1 failed or not known.
    """
    from runtime_core.deploys.builds import Order

    order = Order(str(path.expanduser().absolute()) if path is not None else "", agent, branch, environment)
    return _deploy(cli_options.given(data, as_json, user), order, follow=not no_follow, is_sure=yes)


@click.command()
@click.argument("build", type=TEXT, envvar="AMODAL_BUILD_ID")
@click.option("--follow", is_flag=True, help="Go on until the build ends.")
@cli_options.json
@cli_options.data
def logs(build: str, follow: bool, as_json: bool, data: Path | None) -> int:
    """Show the log of a build.

    BUILD is the id that the platform or `deploy` told, or that of a build on this computer. Exit code: 1 if the build
    failed or its log cannot be read, else 0.
    """
    options = cli_options.given(data, as_json)

    async def work(runtime: Runtime, tell: Tell) -> Build:
        return await runtime.builds.follow(build, who=options.identity or _me(), tell=tell, follow=follow)

    return _shown(options, work)


@click.command()
@click.argument("path", type=FOLDER)
@cli_options.user
@cli_options.json
@cli_options.data
def reload(path: Path, user: str | None, as_json: bool, data: Path | None) -> int:
    """Build the repository at PATH on this computer.

    Loads it and every handler anew, installs its packages if it is trusted, and says what has changed and which waiting
    runs the change touches. Exit code: 0 succeeded, 1 failed.
    """
    options, root = cli_options.given(data, as_json, user), path.expanduser().absolute()

    async def work(runtime: Runtime, tell: Tell) -> Build:
        return await runtime.builds.reload(root, who=options.identity or _me(), tell=tell)

    return _shown(options, work)


def _deploy(options: Options, order: Order, *, follow: bool, is_sure: bool) -> int:
    async def target(runtime: Runtime) -> Order:
        from runtime_core.deploys.switching import no_agent

        found = await runtime.builds.target(order)
        if not found.agent:
            raise no_agent()
        return found

    if not is_sure:
        order = with_runtime(options, target)  # what is asked about is what is ordered, whatever is deployed meanwhile
        if is_production(order.environment) and not _is_agreed(options, order):
            complain("nothing was deployed")
            return REFUSED

    async def work(runtime: Runtime, tell: Tell) -> Build:
        return await runtime.builds.deploy(order, who=options.identity or _me(), tell=tell, follow=follow)

    return _shown(options, work, is_order=True, is_followed=follow)


def _is_agreed(options: Options, order: Order) -> bool:
    """Raises `GatewayError` where nobody can be asked."""
    if options.as_json or not _is_asked():
        raise GatewayError(
            "VALIDATION_ERROR",
            f"A deploy to {order.environment} reaches production, and nobody can be asked about it here: nothing was "
            "ordered. Give --yes if it is meant.",
        )
    forget_typed()
    return click.confirm(_question(order))


def _question(order: Order) -> str:
    from inbox_app.cli_text import visible

    return visible(f"Deploy branch {order.branch} of agent {order.agent} to {order.environment}?")


def _is_asked() -> bool:
    """Whether somebody is there to ask; Python has None for a standard input that was closed."""
    return sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]


def _shown(
    options: Options,
    work: Callable[[Runtime, Tell], Awaitable[Build]],
    *,
    is_order: bool = False,
    is_followed: bool = True,
) -> int:
    """Print what is told while the work is done, and how the build stands then."""
    from runtime_core.wire import builds

    seen: list[Build] = []

    def tell(told: Line | Build) -> None:
        if isinstance(told, builds.Build):
            if is_order and not options.as_json and not seen:
                say([_began(told)])
            seen.append(told)
        elif not options.as_json:
            say([_line(told)])

    async def done(runtime: Runtime) -> Build:
        return await work(runtime, tell)

    try:
        build = with_runtime(options, done)
    except KeyboardInterrupt:
        if not seen or seen[-1].kind == "local":
            raise
        if seen[-1].remote:
            again = command_line("logs", seen[-1].remote, "--follow")
            complain(f"no longer followed; the build goes on. See it with: {again}")
        else:
            complain("nobody knows whether the platform began the build: look there before you order it again")
        return INTERRUPTED
    if options.as_json:
        say_json({"build": build.to_wire()})
    else:
        say(_ending(build, is_followed=is_followed))
    return DONE if build.state in ("succeeded", "running") else REFUSED


def _began(build: Build) -> str:
    from inbox_app.cli_text import visible

    where = f"agent {build.agent}, branch {build.branch}, to {build.environment}"
    return visible(f"build {build.remote or '(unnamed)'}: {where}")


def _line(line: Line) -> str:
    from inbox_app.cli_text import visible

    level = "" if line.level == "info" else f"{line.level}: "
    return visible(f"{f'{line.stage}: ' if line.stage else ''}{level}{line.text}").rstrip()


def _ending(build: Build, *, is_followed: bool) -> Iterator[str]:
    from inbox_app.cli_text import visible

    if build.failures:
        yield ""
    for failure in build.failures:
        yield visible(_cause(failure))
        yield from (f"    {visible(text)}" for text in failure.lines)
        yield f"    → {visible(failure.advice)}"
    if build.kind == "local":
        yield f"build {build.id}; show its log again with: {command_line('logs', build.id)}"
    elif build.state == "running" and not is_followed:
        yield f"ordered; follow it with: {command_line('logs', build.remote or build.id, '--follow')}"
    elif build.state == "unknown":
        yield "It is not known how the build ended."
    else:
        yield f"build {build.state}"


def _cause(failure: Failure) -> str:
    place = f"{failure.file}{f':{failure.line}' if failure.line is not None else ''}"
    return f"{KINDS[failure.kind]}{f' ({place})' if place else ''}:"


KINDS = {
    "typescript": "TypeScript",
    "python": "Python",
    "dependency": "Dependencies",
    "manifest": "Manifest",
    "validation": "Validation",
    "network": "Network",
    "authorization": "Authorization",
    "not-found": "Not found",
    "rate-limit": "Rate limit",
    "unknown": "Not classified",
}


def _me() -> str:
    from inbox_app.gateway.embedded import local_identity

    return local_identity()
