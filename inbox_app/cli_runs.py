"""What ``run``, ``list``, ``show``, ``answer`` and ``cancel`` do on the gateway."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

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
from inbox_app.cli_text import (
    CODE_CHANGED,
    answers,
    indented,
    question_lines,
    run_lines,
    runs_table,
    visible,
    waiting_table,
)
from inbox_app.gateway.base import Answer, GatewayError, Outcome, Pause, PausePage, RunDetail, RunPage, Start
from runtime_core.wire.json import dumps, pretty

if TYPE_CHECKING:
    from inbox_app.gateway.embedded import EmbeddedGateway


def run(options: Options, start: Start, *, trust: bool) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        if trust and start.repository is not None:
            await trust_repository(gateway, start.repository)
        return await report_outcome(gateway, await gateway.start(start), options)

    return with_gateway(options, work)


def answer(options: Options, given: Answer, *, trust: bool) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        if trust:
            await trust_repository(gateway, (await gateway.run(given.run_id)).raw["run"]["repository"])
        is_changed = (await gateway.run(given.run_id)).run.code_changed
        outcome = await gateway.answer(given)
        if is_changed:
            complain(f"{given.run_id}: {CODE_CHANGED}; it went on with the code that is there now.")
        return await report_outcome(gateway, outcome, options)

    return with_gateway(options, work)


async def trust_repository(gateway: EmbeddedGateway, repository: str) -> None:
    """Trust the code of a repository as it is now, and say for what, beside the output of the command."""
    needs = await gateway.trust(Path(repository))
    allowed = f"as long as its code stays as it is, it may use {'; '.join(needs)}" if needs else "it needs no trust"
    complain(f"{repository}: {allowed}.")


def cancel(options: Options, session: str) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        tell(await gateway.cancel(session), options)
        return DONE

    return with_gateway(options, work, execute=False)


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
            say([waiting_table(page.items, time.time()), *_interrupted(page, options), *_page_end(page)])
        return DONE

    return with_gateway(options, work)


def _interrupted(page: PausePage, options: Options) -> Iterator[str]:
    """How the first interrupted call is answered, which takes more than a word."""
    pause = next((pause for pause in page.items if pause.cut_off is not None), None)
    if pause is not None:
        yield ""
        yield f"What became of an interrupted call is said with {visible(answers(pause))}:"
        yield from answer_lines(pause, options, is_named=True)


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


async def report_outcome(gateway: EmbeddedGateway, outcome: Outcome, options: Options) -> int:
    """Print how a command's run stands, with everything it asks; the exit code."""
    if outcome.run_id is not None and outcome.kind in ("complete", "failed"):
        for warning in (await gateway.run(outcome.run_id)).run.warnings:
            complain(f"warning: {visible(warning)}")
    first = outcome.pause
    if options.as_json or first is None:
        return tell(outcome, options)
    waiting = (await gateway.run(first.run_id)).pauses
    return tell(outcome, options, sorted(waiting, key=lambda pause: pause.id != first.id) or [first])


def tell(outcome: Outcome, options: Options, questions: Sequence[Pause] = ()) -> int:
    try:
        if options.as_json:
            say_json(outcome.raw)
        else:
            say(_outcome_lines(outcome, options, questions))
    except OSError as error:
        session = outcome.run_id
        hint = f" See the run with: {command_line('show', session, '--data', str(options.data))}" if session else ""
        raise output_lost(error, hint) from error
    if outcome.kind == "running":
        command = command_line("show", str(outcome.run_id), "--data", str(options.data))
        complain(
            f"session {outcome.run_id} does not go on now: {outcome.reason or 'it is being executed elsewhere.'} "
            f"What was asked for is stored, and it goes on when the data folder is next used, for example by: {command}"
        )
    return exit_of(outcome.kind)


def _outcome_lines(outcome: Outcome, options: Options, questions: Sequence[Pause]) -> Iterator[str]:
    yield "  ".join(word for word in (outcome.kind, outcome.run_id) if word)
    if outcome.reason:
        yield visible(outcome.reason)
    if at := cast("Mapping[str, Any]", outcome.raw.get("outcome") or {}).get("at"):
        yield f"at {visible(str(at))}"
    if outcome.kind == "complete":
        yield from indented(pretty(outcome.result), "")
    for pause in questions:
        yield from question_lines(pause)
        yield from answer_lines(pause, options, is_named=len(questions) > 1)


def answer_lines(pause: Pause, options: Options, *, is_named: bool) -> Iterator[str]:
    """How a question is answered. ``is_named``: by its id, since there are others."""
    named = ("--pause", pause.id) if is_named else ()
    model = ("--model", options.model) if options.model is not None else ()
    rest = (*named, "--data", str(options.data), *model)
    yield f"answer with: {command_line('answer', pause.run_id, 'VALUE', *rest)}"
    if pause.cut_off is not None:
        example = dumps({"use_result": "its answer" if pause.cut_off.gives_text else {"done": True}})
        yield f"with its result, for example: {command_line('answer', pause.run_id, example, *rest)}"


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
