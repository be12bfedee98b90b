"""What ``run``, ``list``, ``show``, ``answer`` and ``cancel`` do on the gateway."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from inbox_app.cli_session import (
    DONE,
    Options,
    command_line,
    complain,
    exit_of,
    is_output,
    output_lost,
    say,
    say_json,
    with_gateway,
)
from inbox_app.cli_text import indented, question_lines, run_lines, runs_table, visible, waiting_table
from inbox_app.gateway.base import Answer, GatewayError, Outcome, PausePage, RunDetail, RunPage, Start
from runtime_core.wire.json import pretty

if TYPE_CHECKING:
    from inbox_app.gateway.embedded import EmbeddedGateway


def run(options: Options, start: Start, *, trust: bool) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        if trust and start.repository is not None:
            await _trust(gateway, start.repository)
        return tell(await gateway.start(start), options)

    return with_gateway(options, work)


def answer(options: Options, given: Answer, *, trust: bool) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        if trust:
            await _trust(gateway, (await gateway.run(given.run_id)).raw["run"]["repository"])
        return tell(await gateway.answer(given), options)

    return with_gateway(options, work)


async def _trust(gateway: EmbeddedGateway, repository: str) -> None:
    """Trust the code of a repository as it is now, and say for what, beside the output of the command."""
    needs = await gateway.trust(Path(repository))
    allowed = f"as long as its code stays as it is, it may use {'; '.join(needs)}" if needs else "it needs no trust"
    complain(f"{repository}: {allowed}.")


def cancel(options: Options, session: str) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        tell(await gateway.cancel(session), options)
        return DONE

    return with_gateway(options, work)


def waiting(options: Options, limit: int, cursor: str | None) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        page = await gateway.pending(limit, cursor)
        if options.as_json:
            say_json(
                {
                    "approvals": [pause.raw for pause in page.items],
                    "total": page.total,
                    "next_cursor": page.next_cursor,
                }
            )
        elif not page.items:
            say(["Nothing is waiting." if not page.total else f"Nothing more; {page.total} are waiting."])
        else:
            say([waiting_table(page.items, time.time()), *_page_end(page)])
        return DONE

    return with_gateway(options, work)


def runs(options: Options, limit: int, cursor: str | None) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        page = await gateway.runs(finished=None, limit=limit, cursor=cursor)
        if options.as_json:
            say_json({"runs": [run.raw for run in page.items], "total": page.total, "next_cursor": page.next_cursor})
        elif not page.items:
            say(["There are no runs." if not page.total else f"Nothing more; there are {page.total} runs."])
        else:
            say([runs_table(page.items), *_page_end(page)])
        return DONE

    return with_gateway(options, work)


def _page_end(page: PausePage | RunPage) -> Iterator[str]:
    if page.next_cursor is not None:
        yield f"{len(page.items)} of {page.total}; the next ones with --cursor {page.next_cursor}"


def show(options: Options, session: str, *, tree: bool, export: Path | None) -> int:
    from inbox_app import cli_code

    async def work(gateway: EmbeddedGateway) -> int:
        detail = await gateway.run(session)
        if export is not None:
            _export(detail, export)
        elif options.as_json:
            say_json(detail.raw)
        else:
            say([*run_lines(detail, tree=tree), *cli_code.code_lines(detail, options)])
        return DONE

    return with_gateway(options, work)


def tell(outcome: Outcome, options: Options) -> int:
    try:
        if options.as_json:
            say_json(outcome.raw)
        else:
            say(_outcome_lines(outcome, options))
    except OSError as error:
        session = outcome.run_id
        hint = f" See the run with: {command_line('show', session, '--data', str(options.data))}" if session else ""
        raise output_lost(error, hint) from error
    return exit_of(outcome.kind)


def _outcome_lines(outcome: Outcome, options: Options) -> Iterator[str]:
    yield "  ".join(word for word in (outcome.kind, outcome.run_id) if word)
    if outcome.reason:
        yield visible(outcome.reason)
    if outcome.kind == "complete":
        yield from indented(pretty(outcome.result), "")
    if outcome.pause is not None:
        yield from question_lines(outcome.pause)
        yield f"answer with: {command_line('answer', outcome.pause.run_id, 'VALUE', '--data', str(options.data))}"


def _export(detail: RunDetail, target: Path) -> None:
    """Write the run as JSON, whole or not at all."""
    from runtime_core.journal.exporting import whole_file

    text = pretty(detail.raw) + "\n"
    if is_output(target):
        click.echo(text, nl=False)
        return
    try:
        with whole_file(target) as file:
            file.write(text.encode(errors="backslashreplace").decode())  # a lone surrogate stays JSON
    except OSError as error:
        raise GatewayError("VALIDATION_ERROR", f"{target} cannot be written: {error.strerror}.") from error
