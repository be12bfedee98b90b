"""``eval``: carry out the evals of a repository, and say what holds and what does not."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from inbox_app import cli_arguments, cli_options
from inbox_app.cli_arguments import FOLDER, TEXT
from inbox_app.cli_session import DONE, REFUSED, Options, complain, is_output, say, say_json, with_gateway
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.evals import EvalEnded, EvalResult, EvalRun, EvalVerdict

if TYPE_CHECKING:
    from inbox_app.gateway.embedded import EmbeddedGateway


@click.command("eval")
@click.argument("path", type=FOLDER)
@click.argument("names", type=TEXT, nargs=-1, metavar="[NAME]...")
@click.option(
    "--judge",
    type=TEXT,
    metavar="SPEC",
    callback=cli_arguments.usable_model,
    help="Model that judges what no rule can (default: the one that answers).",
)
@click.option("--junit", type=FOLDER, metavar="FILE", help="Write the results as JUnit XML.")
@click.option(
    "--timeout", type=click.FloatRange(min=1), metavar="SECONDS", help="What one eval may take (default: 300)."
)
@click.option(
    "--ready-made", is_flag=True, help="Put durable tools through four situations instead; NAME is then a tool."
)
@click.option(
    "--input", "given", type=TEXT, metavar="JSON", help="With --ready-made, the input of the tool; or @FILE, or -."
)
@cli_options.model
@cli_options.trust
@cli_options.json
@cli_options.data
def command(
    path: Path,
    names: tuple[str, ...],
    judge: str | None,
    junit: Path | None,
    timeout: float | None,
    ready_made: bool,
    given: str | None,
    model: str | None,
    trust: bool,
    as_json: bool,
    data: Path | None,
) -> int:
    """Carry out the evals of the repository at PATH.

    All of them, or those with the NAMEs. They run apart from the data folder, which only keeps their results: nobody is
    asked anything, and no run of theirs is listed. The tools are the real ones: what they do to other systems is done,
    also with --ready-made, which gives every approval that they ask for. Exit code: 0 if all passed, else 1.
    """
    if given is not None and not ready_made:
        raise click.UsageError("--input goes with --ready-made")
    if given is not None and len(names) != 1:
        raise click.UsageError("--input is for one tool: name it")
    asked = EvalRun(
        repository=str(path.expanduser().absolute()),
        names=names or None,
        model=model,
        judge=judge,
        limit_s=timeout,
        ready_made=ready_made,
        input=_input(given),
    )
    return run(cli_options.given(data, as_json, model=model), asked, trust=trust, junit=junit)


REAL = (
    "The tools are the real ones: what they do to other systems is done. "
    "Every approval that they ask for is given, and nobody is asked."
)


def run(options: Options, asked: EvalRun, *, trust: bool, junit: Path | None) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        if trust:
            from inbox_app.cli_runs import trust_repository

            await trust_repository(gateway, asked.repository)
        if asked.ready_made:
            complain(REAL)
        is_quiet = options.as_json or (junit is not None and is_output(junit))
        began, ended = time.time(), list[EvalEnded]()
        async with aclosing(gateway.evals.run(asked)) as events:
            async for event in events:
                if isinstance(event, EvalEnded):
                    ended.append(event)
                    if not is_quiet:
                        say(_lines(event))
        failed = sum(not one.result.passed for one in ended)
        if options.as_json:
            results = [one.result.raw for one in ended]
            passed = len(ended) - failed
            say_json({"path": asked.repository, "passed": passed, "failed": failed, "results": results})
        elif not is_quiet:
            say([_summary(ended, failed, asked)])
        if junit is not None:
            _write(junit, asked, began, ended)
        return REFUSED if failed else DONE

    return with_gateway(options, work, execute=False)


def _input(given: str | None) -> Mapping[str, Any] | None:
    from runtime_core.wire.json import loads

    text = cli_arguments.json_object("--input", given)
    return None if text is None else cast("dict[str, Any]", loads(text))


def _lines(ended: EvalEnded) -> Iterator[str]:
    from inbox_app.cli_text import visible

    result = ended.result
    yield f"{'passed' if result.passed else 'FAILED'}  {visible(ended.name)}  {visible(ended.title)}{_facts(result)}"
    if result.error:
        yield f"  error: {visible(result.error)}"
    for verdict in result.verdicts:
        yield f"  {_WORDS[verdict.passed]}  {visible(verdict.text)}{_because(verdict)}"
    if not result.passed and result.response:
        yield f"  response: {visible(_short(result.response))}"


_WORDS: Mapping[bool | None, str] = {True: "ok        ", False: "NOT ok    ", None: "not judged"}
_SHOWN = 300


def _facts(result: EvalResult) -> str:
    tokens = f", {result.tokens:,} tokens" if result.tokens else ""
    return f"  ({result.duration_s:.1f} s{tokens})"


def _because(verdict: EvalVerdict) -> str:
    from inbox_app.cli_text import visible

    return f": {visible(verdict.reason)}" if verdict.reason else ""


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _summary(ended: Sequence[EvalEnded], failed: int, asked: EvalRun) -> str:
    if not ended and asked.ready_made:
        return f"{asked.repository} has no durable tool that uses others."
    if not ended:
        return f"{asked.repository} has no evals: write evals/NAME.md."
    count = "1 eval" if len(ended) == 1 else f"{len(ended)} evals"
    return f"{count}: {len(ended) - failed} passed, {failed} failed"


def _write(target: Path, asked: EvalRun, began: float, ended: Sequence[EvalEnded]) -> None:
    """The JUnit file, whole or not at all."""
    from runtime_core.evals.junit import report
    from runtime_core.journal.exporting import whole_file

    text = report(Path(asked.repository).name, began, [one.result.raw for one in ended])
    if is_output(target):
        click.echo(text, nl=False)
        return
    try:
        with whole_file(target) as file:
            file.write(text)
    except OSError as error:
        raise GatewayError("VALIDATION_ERROR", f"{target} cannot be written: {error.strerror}.") from error
    complain(f"results written to {target}")
