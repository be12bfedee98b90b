"""The command ``operator-inbox``: the window, and everything that can be done without one (design.md 5).

Only click and plain data are imported here; each command imports what it needs when it runs.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NoReturn

import click

from inbox_app import (
    cli_arguments,
    cli_automations,
    cli_chat,
    cli_deploy,
    cli_eval,
    cli_options,
    cli_session,
    cli_tools,
)
from inbox_app.cli_arguments import TEXT
from inbox_app.desktop.paths import data_folder
from inbox_app.gateway.base import Answer, Gateway, GatewayError, Start


def _version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    """Print the version of the installed distribution and stop."""
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            click.echo(f"operator-inbox {version('operator-inbox')}")
        except PackageNotFoundError:
            click.echo("operator-inbox, from a checkout that is not installed")
        context.exit()


_FOLDER = cli_arguments.FOLDER
_HELP = {"help_option_names": ["-h", "--help"]}


@click.group(invoke_without_command=True, context_settings=_HELP)
@click.option(
    "--agent", "agents", type=_FOLDER, multiple=True, metavar="PATH", help="Open this repository (repeatable)."
)
@cli_options.model
@cli_options.trust
@cli_options.data
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and exit."
)
@click.pass_context
def cli(context: click.Context, agents: tuple[Path, ...], model: str | None, trust: bool, data: Path | None) -> int:
    """Answer the questions of durable agent runs. Without a command: open the window."""
    if context.invoked_subcommand is not None:
        if agents or model or trust:
            raise click.UsageError(f"--agent, --model and --trust before {context.invoked_subcommand} have no effect")
        return cli_session.DONE
    if trust and not agents:
        raise click.UsageError("--trust needs the repositories to trust: --agent PATH")
    return _open_window(data_folder(data), agents, model, trust=trust)


@cli.command()
@click.argument("path", type=_FOLDER)
@cli_options.json
@cli_options.data
def check(path: Path, as_json: bool, data: Path | None) -> int:
    """Check the repository at PATH.

    Prints its tools, its agents, what they reach, and every problem. Exit code 1 if it cannot be used.
    """
    from inbox_app import cli_check

    return cli_check.check(path, cli_options.given(data, as_json).data, as_json=as_json)


@cli.command()
@click.argument("path", type=_FOLDER)
@click.argument("tool", type=TEXT)
@click.option(
    "--input", "given", type=TEXT, default="{}", metavar="JSON", help="Input of the tool; @FILE reads a file, - stdin."
)
@click.option("--scope", type=TEXT, default="", metavar="S", help="Scope the run belongs to.")
@click.option(
    "--context", type=TEXT, metavar="JSON", help="What the run is started with beside its input; or @FILE, or -."
)
@click.option(
    "--attach", "files", type=_FOLDER, multiple=True, metavar="FILE", help="Give the tool a file (repeatable)."
)
@click.option(
    "--lane", type=click.Choice(["direct", "invoke"]), default="direct", help="invoke: only tools with that trigger."
)
@cli_options.model
@cli_options.trust
@cli_options.replay_twice
@cli_options.user
@cli_options.json
@cli_options.data
def run(
    path: Path,
    tool: str,
    given: str,
    scope: str,
    context: str | None,
    files: tuple[Path, ...],
    lane: Literal["direct", "invoke"],
    model: str | None,
    trust: bool,
    replay_twice: bool,
    user: str | None,
    as_json: bool,
    data: Path | None,
) -> int:
    """Start a tool.

    Runs TOOL of the repository at PATH until it ends or asks something. Exit code: 0 complete, 3 waiting for somebody
    or something, 1 anything else.
    """
    from inbox_app import cli_runs

    text = cli_arguments.json_text("--input", given)
    start = Start(
        tool=tool,
        input=text,
        repository=str(path.expanduser().absolute()),
        scope=scope,
        lane=lane,
        context=cli_arguments.json_object("--context", context),
        attachments=cli_arguments.attachments(files),
    )
    options = cli_options.given(data, as_json, user, model, replay_twice=replay_twice)
    return cli_runs.run(options, start, trust=trust)


@cli.command("list")
@click.option("--runs", "all_runs", is_flag=True, help="List all runs instead, the latest first.")
@click.option("--limit", type=click.IntRange(min=1), default=100, metavar="N", help="At most so many (100).")
@click.option("--cursor", type=TEXT, metavar="C", help="Go on after an earlier page.")
@cli_options.json
@cli_options.data
def list_(all_runs: bool, limit: int, cursor: str | None, as_json: bool, data: Path | None) -> int:
    """List the questions that wait for an answer, or all runs."""
    from inbox_app import cli_runs

    what = cli_runs.runs if all_runs else cli_runs.waiting
    return what(cli_options.given(data, as_json), limit, cursor)


@cli.command()
@click.argument("session", type=TEXT)
@click.option("--tree", is_flag=True, help="Show every call, nested.")
@click.option(
    "--export", nargs=2, type=(click.Choice(["json"]), _FOLDER), metavar="json FILE", help="Write the run to FILE."
)
@cli_options.json
@cli_options.data
def show(session: str, tree: bool, export: tuple[str, Path] | None, as_json: bool, data: Path | None) -> int:
    """Show one run: status, questions, decisions, result and calls."""
    from inbox_app import cli_runs

    target = export[1] if export is not None else None
    return cli_runs.show(cli_options.given(data, as_json), session, tree=tree, export=target)


@cli.command(cls=cli_arguments.WithNegativeNumbers)
@click.argument("session", type=TEXT)
@click.argument("value", type=TEXT)
@click.option(
    "--edits", type=TEXT, metavar="JSON", help="The complete edited copy of what the question is about; or @FILE, or -."
)
@click.option("--note", type=TEXT, default="", metavar="TEXT", help="A reason, kept with the answer.")
@click.option("--pause", type=TEXT, metavar="ID", help="Answer this question of the run (default: the oldest).")
@cli_options.model
@cli_options.trust
@cli_options.replay_twice
@cli_options.user
@cli_options.json
@cli_options.data
def answer(
    session: str,
    value: str,
    edits: str | None,
    note: str,
    pause: str | None,
    model: str | None,
    trust: bool,
    replay_twice: bool,
    user: str | None,
    as_json: bool,
    data: Path | None,
) -> int:
    """Answer a question.

    Sends VALUE to the run SESSION and waits until the run ends or asks again. VALUE is JSON; what is not JSON is sent
    as text. @FILE reads it from a file, - from the standard input. To send a number, or a text that starts with @,
    as text quote it twice: '"42"'. A text that starts with a dash follows a lone --.
    Exit code: 0 completed, 3 waiting again, 1 refused or ended otherwise.
    """
    from inbox_app import cli_runs

    given = _given(session, value, edits, pause, note)
    options = cli_options.given(data, as_json, user, model, replay_twice=replay_twice)
    return cli_runs.answer(options, given, trust=trust)


@cli.command(cls=cli_arguments.WithNegativeNumbers)
@click.argument("session", type=TEXT)
@click.argument("value", type=TEXT)
@click.option("--edits", type=TEXT, metavar="JSON", help="Edits as with `answer`; or @FILE, or -.")
@click.option("--pause", type=TEXT, metavar="ID", help="The question of the run (default: the oldest).")
@cli_options.user
@cli_options.json
@cli_options.data
def preview(
    session: str, value: str, edits: str | None, pause: str | None, user: str | None, as_json: bool, data: Path | None
) -> int:
    """Say what an answer would lead to.

    Shows what the run SESSION would do next if it was answered with VALUE: which calls with which parameters, which
    question, or which result. Nothing is executed and nothing is stored. VALUE is read as by `answer`.
    Exit code: 0 if it can be told, 1 if not, or if the answer would be refused.
    """
    from inbox_app import cli_dry

    return cli_dry.preview(cli_options.given(data, as_json, user), _given(session, value, edits, pause))


@cli.command("replay-check")
@click.argument("path", type=_FOLDER)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the N latest runs.")
@cli_options.json
@cli_options.data
def replay_check(path: Path, limit: int | None, as_json: bool, data: Path | None) -> int:
    """Replay stored runs against changed code.

    Replays every stored run of the repository at PATH against its present code, also the ended ones, and says which of
    them the code would not repeat. Nothing is executed and nothing is stored. Exit code: 0 if all are fine, else 1.
    """
    from inbox_app import cli_dry

    return cli_dry.replay_check(cli_options.given(data, as_json), path, limit)


def _given(session: str, value: str, edits: str | None, pause: str | None, note: str = "") -> Answer:
    from runtime_core.wire.json import loads

    return Answer(
        run_id=session,
        value=cli_arguments.answer_value(value),
        pause_id=pause,
        edits=loads(cli_arguments.json_text("--edits", edits)) if edits is not None else None,
        has_edits=edits is not None,
        note=note,
    )


@cli.command()
@click.argument("session", type=TEXT)
@click.option("--old-code", is_flag=True, help="Go on with the stored code that recorded the last call of the run.")
@click.option("--revision", type=TEXT, metavar="DIGEST", help="Go on with this stored code; `show` lists them.")
@cli_options.model
@cli_options.user
@cli_options.json
@cli_options.data
def resume(
    session: str,
    old_code: bool,
    revision: str | None,
    model: str | None,
    user: str | None,
    as_json: bool,
    data: Path | None,
) -> int:
    """Let a run go on that stopped as diverged.

    It stopped because its code did something else than was recorded. Without an option it goes on with the
    repository's present code. What it goes on with counts for all that is left of the run.
    Exit code: 0 completed, 3 waiting again, 1 refused, diverged again or ended otherwise.
    """
    from inbox_app import cli_code

    if old_code and revision is not None:
        raise click.UsageError("--old-code and --revision exclude each other")
    return cli_code.resume(cli_options.given(data, as_json, user, model), session, revision, old_code=old_code)


@cli.command()
@click.argument("session", type=TEXT)
@cli_options.user
@cli_options.json
@cli_options.data
def cancel(session: str, user: str | None, as_json: bool, data: Path | None) -> int:
    """Cancel an unfinished run."""
    from inbox_app import cli_runs

    return cli_runs.cancel(cli_options.given(data, as_json, user), session)


@cli.command()
@click.argument("file", type=_FOLDER)
@click.option("--run", "runs", type=TEXT, multiple=True, metavar="ID", help="Only this run (repeatable).")
@cli_options.json
@cli_options.data
def export(file: Path, runs: tuple[str, ...], as_json: bool, data: Path | None) -> int:
    """Write runs to FILE.

    JSON Lines with everything that is kept of the runs, all of them unless some are named; - is the standard output.
    The file appears when it is complete.
    """
    from inbox_app import cli_data

    return cli_data.export_to(cli_options.given(data, as_json), file, runs)


@cli.command("import")
@click.argument("file", type=_FOLDER)
@cli_options.json
@cli_options.data
def import_(file: Path, as_json: bool, data: Path | None) -> int:
    """Take in the runs of FILE.

    All runs of an export or none; they keep their ids, and those that wait can be answered here. A run that is here
    already with the same content is left as it is.
    """
    from inbox_app import cli_data

    return cli_data.import_from(cli_options.given(data, as_json), file)


@cli.command()
@click.option("--compact", is_flag=True, help="Then take away what has had its time, and make the file small.")
@cli_options.json
@cli_options.data
def doctor(compact: bool, as_json: bool, data: Path | None) -> int:
    """Check the data folder and the settings.

    Says what is found and what to do about it, and changes nothing (without --compact). Exit code 1 if there is a
    problem; warnings are none.
    """
    from inbox_app import cli_doctor

    return cli_doctor.doctor(cli_options.given(data, as_json), compact=compact)


@cli.command()
@click.argument("path", type=_FOLDER)
@click.argument("name", type=TEXT, required=False)
@click.argument("key", type=TEXT, required=False)
@click.option("--where", type=TEXT, metavar="JSON", help="The values that fields must have, as a JSON object.")
@click.option("--sort", type=TEXT, metavar="FIELD", help="Sort by the text of a field; -FIELD the other way round.")
@click.option(
    "--limit", type=click.IntRange(0, 1000), default=20, show_default=True, help="How many documents to show."
)
@click.option("--put", type=TEXT, metavar="JSON", help="Write this document into NAME; @FILE reads a file, - stdin.")
@click.option("--scope", type=TEXT, default="", metavar="S", help="The scope whose documents these are.")
@cli_options.json
@cli_options.data
def store(
    path: Path,
    name: str | None,
    key: str | None,
    where: str | None,
    sort: str | None,
    limit: int,
    put: str | None,
    scope: str,
    as_json: bool,
    data: Path | None,
) -> int:
    """Show the stores of the agent repository at PATH, the documents of the store NAME, or the one with this KEY."""
    from inbox_app import cli_store

    if put is not None:
        if name is None or key is not None:
            raise click.UsageError("--put needs the NAME of a store and no KEY: that is made of the document's fields")
        document = cli_arguments.json_text("--put", put)
        return cli_store.put(cli_options.given(data, as_json), path, name, document, scope)
    where = cli_arguments.json_object("--where", where)
    return cli_store.show(
        cli_options.given(data, as_json), cli_store.Wanted(path, name, key, where, sort, limit, scope)
    )


@cli.group()
def secret() -> None:
    """Keep secrets in the keychain of this computer.

    An agent repository names them as env:NAME, or as scope:NAME for that of the scope a run belongs to, which is
    stored as SCOPE/NAME. An environment variable of the same name goes before what is stored.
    """


@secret.command("set")
@click.argument("name", type=TEXT)
@cli_options.json
def secret_set(name: str, as_json: bool) -> int:
    """Store a secret.

    The value is asked for without being shown, or read from the standard input if that is no terminal.
    """
    from inbox_app import cli_secret

    return cli_secret.store(name, as_json=as_json)


@secret.command("list")
@cli_options.json
def secret_list(as_json: bool) -> int:
    """List the names of the stored secrets."""
    from inbox_app import cli_secret

    return cli_secret.list_names(as_json=as_json)


@secret.command("remove")
@click.argument("name", type=TEXT)
@cli_options.json
def secret_remove(name: str, as_json: bool) -> int:
    """Remove a stored secret."""
    from inbox_app import cli_secret

    return cli_secret.remove(name, as_json=as_json)


@cli.command()
@click.option("--fresh", is_flag=True, help="Ask the three questions again, even if they were asked before.")
@cli_options.json
@cli_options.data
def demo(fresh: bool, as_json: bool, data: Path | None) -> int:
    """Open the window on sample agents.

    Three questions are waiting. Without a display: write demo.png to the current folder and say how to answer from
    the terminal.
    """
    from inbox_app import demo as samples

    folder = data or click.get_current_context().find_root().params.get("data")
    return samples.demo(data_folder(folder) if folder else data_folder() / "demo", fresh=fresh, as_json=as_json)


for _command in (
    cli_chat.command,
    cli_automations.group,
    cli_deploy.deploy,
    cli_deploy.logs,
    cli_deploy.reload,
    cli_eval.command,
    cli_tools.tools,
):
    cli.add_command(_command)


def _open_window(data: Path, agents: Sequence[Path], model: str | None, *, trust: bool) -> int:
    if not cli_session.has_display() and not os.environ.get("QT_QPA_PLATFORM"):
        raise GatewayError(
            "VALIDATION_ERROR",
            "There is no display to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is set). "
            "In a terminal use: operator-inbox list, answer, show.",
        )
    from inbox_app.app import run_window

    def gateway() -> Gateway:
        from inbox_app.desktop.secrets import Keychain
        from inbox_app.gateway.embedded import EmbeddedGateway
        from inbox_app.state.memory import Memory
        from inbox_app.state.repositories import opened

        roots = [path.expanduser().absolute() for path in agents]
        return EmbeddedGateway(
            data,
            repositories=roots,
            remembered=[Path(path) for path in opened(Memory(data / "desk.db"))],
            model=model,
            settings=cli_session.settings(),
            trust=trust,
            secrets=Keychain(),
            keeps_schedules=True,
        )

    return run_window(gateway, desk_file=data / "desk.db", settings_warnings=cli_session.settings_warnings)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The entry point: run one command and exit with its code."""
    cli_session.hold_standard_streams()
    logging.getLogger().addHandler(logging.NullHandler())
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)  # Ctrl+C before it began
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_run(list(sys.argv[1:] if arguments is None else arguments)))


def _run(arguments: list[str]) -> int:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = "--json" in options
    try:
        if not cli_session.can_write():
            raise GatewayError("VALIDATION_ERROR", "The standard output is closed, so nothing was done.")
        code = cli.main(arguments, prog_name="operator-inbox", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else cli_session.DONE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "operator-inbox"
        message = f"{error.format_message()} (see: {command} --help)"
        cli_session.report(GatewayError("VALIDATION_ERROR", message), as_json=as_json)
        return cli_session.USAGE
    except GatewayError as error:
        cli_session.report(error, as_json=as_json)
        return cli_session.REFUSED
    except (click.Abort, KeyboardInterrupt):
        works = not {"doctor", "check", "eval", "export", "import"} & set(options)
        stay = "; unfinished runs stay in the data folder and go on later" if works else "; nothing was changed"
        cli_session.complain(f"interrupted{stay}")
        return cli_session.INTERRUPTED
    except BrokenPipeError:  # the reader of our output has left
        return cli_session.REFUSED
    except OSError as error:  # everything else that touches files says what is wrong with which
        cli_session.report(cli_session.output_lost(error), as_json=as_json)
        return cli_session.REFUSED
    finally:
        cli_session.drop_unwritten()
