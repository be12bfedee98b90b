"""What ``chat`` does: one turn, or a conversation on the terminal, with the questions of its runs (design.md 5)."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
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
    forget_typed,
    report,
    say,
    say_json,
    warn,
    with_gateway,
)
from inbox_app.gateway.base import Answer, GatewayError, Pause
from inbox_app.gateway.chats import ChatFile, ChatRequest

if TYPE_CHECKING:
    from inbox_app.cli_chat_text import Printer, Told
    from inbox_app.gateway.embedded import EmbeddedGateway

Wire = Mapping[str, Any]


@click.command("chat")
@click.argument("path", type=FOLDER, required=False)
@click.argument("message", type=TEXT, required=False)
@click.option("--agent", type=TEXT, metavar="NAME", help="Talk with this agent (default: default).")
@click.option("--session", type=TEXT, metavar="ID", help="Go on with this conversation.")
@click.option("--attach", "attached", type=FOLDER, multiple=True, metavar="FILE", help="Show it a file (repeatable).")
@click.option("--scope", type=TEXT, default="", metavar="S", help="Scope of the conversation; its last one goes on.")
@click.option("--context", type=TEXT, metavar="JSON", help="What the client says beside; or @FILE, or -.")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="What the whole conversation may take.")
@click.option("--events", is_flag=True, help="Print the stream of events as JSON Lines.")
@click.option("--list", "lists", is_flag=True, help="List the conversations instead.")
@click.option("--show", metavar="ID", type=TEXT, help="Show a conversation instead.")
@click.option("--delete", metavar="ID", type=TEXT, help="Delete a conversation instead, with all that was said.")
@click.option("--limit", type=click.IntRange(min=1), default=100, metavar="N", help="List at most so many (100).")
@click.option("--cursor", type=TEXT, metavar="C", help="Go on after an earlier page of the list.")
@cli_options.model
@cli_options.trust
@cli_options.user
@cli_options.json
@cli_options.data
def command(
    path: Path | None,
    message: str | None,
    agent: str | None,
    session: str | None,
    attached: tuple[Path, ...],
    scope: str,
    context: str | None,
    max_tokens: int | None,
    events: bool,
    lists: bool,
    show: str | None,
    delete: str | None,
    limit: int,
    cursor: str | None,
    model: str | None,
    trust: bool,
    user: str | None,
    as_json: bool,
    data: Path | None,
) -> int:
    """Talk with an agent.

    Says MESSAGE to an agent of the repository at PATH and prints what it answers, with a line for every call. Without
    MESSAGE: a conversation, a turn for every line of the standard input. On a terminal the questions of its runs can be
    answered right there. Exit code: 0 done, 3 something waits for an answer, 1 an error.
    """
    options = cli_options.given(data, as_json, user, model)
    if lists + (show is not None) + (delete is not None) > 1 or (path is not None and (lists or show or delete)):
        raise click.UsageError("--list, --show and --delete each stand alone, without PATH")
    if lists:
        return listed(options, limit, cursor)
    if show is not None:
        return shown(options, show)
    if delete is not None:
        return deleted(options, delete)
    if path is None:
        raise click.UsageError("Missing argument 'PATH'.")
    request = ChatRequest(
        message=message or "",
        repository=str(path.expanduser().absolute()),
        agent=agent or "",
        session_id=session,
        scope=scope,
        files=files(attached),
    )
    talk = Talk(request, cli_arguments.json_object("--context", context), max_tokens, trust, events)
    return turn(options, talk) if message is not None else conversation(options, talk)


@dataclass(frozen=True, slots=True)
class Talk:
    """What ``chat`` was told beside its `Options`. ``events``: print the stream itself."""

    request: ChatRequest
    context: str | None = None
    max_tokens: int | None = None
    trust: bool = False
    events: bool = False


def turn(options: Options, talk: Talk) -> int:
    """One turn."""

    async def work(gateway: EmbeddedGateway) -> int:
        await _prepare(gateway, talk)
        lines = _Lines(is_shown=True) if _is_for_people(options, talk) else None
        talking = _Conversation(gateway, options, talk, lines)
        try:
            return await talking.turn(talk.request.message)
        finally:
            talking.say_how_to_go_on()

    return with_gateway(options, work)


def conversation(options: Options, talk: Talk) -> int:
    """A turn for every line of the standard input; on a terminal the person is asked for them, and for answers."""

    async def work(gateway: EmbeddedGateway) -> int:
        await _prepare(gateway, talk)
        lines = _Lines(is_shown=_is_for_people(options, talk))
        talking = _Conversation(gateway, options, talk, lines)
        try:
            return await talking.go_on()
        finally:
            talking.say_how_to_go_on()

    return with_gateway(options, work)


def listed(options: Options, limit: int, cursor: str | None) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        page = await gateway.chats.sessions(limit, cursor)
        if options.as_json:
            say_json(await gateway.chats.raw_sessions(limit, cursor))
        elif not page.items:
            say(["There are no conversations." if not page.total else f"Nothing more; there are {page.total}."])
        else:
            from inbox_app.cli_text import moment, table, visible

            rows = [(one.id, moment(one.updated_at), visible(one.agent), visible(one.title)) for one in page.items]
            say([table(("CONVERSATION", "LAST USED", "AGENT", "TITLE"), rows, cut=3)])
            if page.next_cursor is not None:
                say([f"{len(page.items)} of {page.total}; the next ones with --cursor {page.next_cursor}"])
        return DONE

    return with_gateway(options, work)


def shown(options: Options, session: str) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        from inbox_app.cli_chat_text import turn_lines
        from inbox_app.gateway.chat_events import turn_of
        from runtime_core.chat.events import redacted_session

        wire = await gateway.chats.raw(session)
        if options.as_json:
            say_json(redacted_session(wire))
        else:
            for one in wire["turns"]:
                say(turn_lines(turn_of(one)))
        return DONE

    return with_gateway(options, work)


def deleted(options: Options, session: str) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        await gateway.chats.delete(session)
        say([f"{session} is deleted."])
        return DONE

    return with_gateway(options, work)


def files(paths: Sequence[Path]) -> Sequence[ChatFile]:
    """Files as they are given to an agent."""
    read = (cli_arguments.attachment(path) for path in paths)
    return [ChatFile(one["filename"], one["mimeType"], base64.b64decode(one["data"])) for one in read]


def _is_for_people(options: Options, talk: Talk) -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and not (talk.events or options.as_json)


async def _prepare(gateway: EmbeddedGateway, talk: Talk) -> None:
    if talk.trust:
        from inbox_app.cli_runs import trust_repository

        await trust_repository(gateway, talk.request.repository)


class _Conversation:
    """``lines``: where the person writes, None where nothing is read."""

    def __init__(self, gateway: EmbeddedGateway, options: Options, talk: Talk, lines: _Lines | None) -> None:
        self._gateway = gateway
        self._options = options
        self._talk = talk
        self._lines = lines
        self._session = talk.request.session_id
        self._files = talk.request.files
        self._prints = not (talk.events or options.as_json)
        self._runs: dict[str, None] = {}

    async def go_on(self) -> int:
        assert self._lines is not None
        code = DONE
        while (line := await self._lines.read("you> ")) is not None:
            if not line.strip():
                continue
            try:
                code = await self.turn(line)
            except GatewayError as error:
                if self._session is None:
                    raise
                report(error, as_json=self._options.as_json)
                code = REFUSED
        if code == DONE and [run_id for run_id in self._runs if await self._is_waiting(run_id, shows=False)]:
            return PARKED
        return code

    def say_how_to_go_on(self) -> None:
        if self._session is not None and self._prints:
            complain(f"go on with: --session {self._session}")

    async def turn(self, message: str) -> int:
        from inbox_app.cli_chat_text import Printer, Told

        told = Told()
        request = replace(self._talk.request, message=message, session_id=self._session, files=self._files)
        self._files = ()
        printer = Printer() if self._prints else None
        if self._talk.events:
            await self._followed_to_its_end(request, told)
        else:
            await self._follow(request, told, printer)
        if printer is not None:
            printer.break_line()
        elif self._options.as_json and not self._talk.events:
            say_json(told.reply())
        self._runs |= told.runs
        waiting = [run_id for run_id in told.runs if await self._is_waiting(run_id, shows=printer is not None)]
        if told.reason == "error":
            return REFUSED
        return PARKED if waiting else DONE

    async def _followed_to_its_end(self, request: ChatRequest, told: Told) -> None:
        """As `_follow`; an interrupt stops the turn, and how it ended is told all the same."""
        following = asyncio.create_task(self._follow(request, told, None))
        try:
            await asyncio.shield(following)
        except asyncio.CancelledError:
            if told.session_id and not following.done():
                await self._gateway.chats.stop(told.session_id)
                await asyncio.wait([following])
            following.cancel()
            raise

    async def _follow(self, request: ChatRequest, told: Told, printer: Printer | None) -> None:
        from runtime_core.chat.events import redacted

        stream = self._gateway.chats.stream(request, context=self._talk.context, max_tokens=self._talk.max_tokens)
        async with aclosing(stream):
            async for event in stream:
                told.take(event)
                if told.session_id not in ("", self._session):
                    self._begin(told.session_id)
                if self._talk.events:
                    say_json(redacted(event))
                elif printer is not None:
                    printer.tell(event)
                if event["type"] == "confirmation_required" and printer is not None:
                    await self._ask_now(event, printer)

    def _begin(self, session: str) -> None:
        if self._session is not None:
            told = f"There is no conversation {self._session} here any more, or there never was: another one begins."
            warn(told, as_json=self._options.as_json or self._talk.events)
        self._session = session

    async def _ask_now(self, event: Wire, printer: Printer) -> None:
        """A call of the agent needs a person before the turn can go on."""
        printer.break_line()
        await self._is_waiting(str(event["correlation_id"]), shows=True)

    async def _is_waiting(self, run_id: str, *, shows: bool) -> bool:
        """Whether a run that began in the conversation waits, after what it asks was shown or answered."""
        from inbox_app.cli_runs import answer_lines
        from inbox_app.cli_text import indented, question_lines

        while True:
            pauses = (await self._gateway.run(run_id)).pauses
            if not pauses or not shows:
                return bool(pauses)
            for pause in pauses:
                say(indented("\n".join(question_lines(pause)), "  "))
                if self._lines is None or not self._lines.is_shown:
                    say(indented("\n".join(answer_lines(pause, self._options, is_named=len(pauses) > 1)), "  "))
                elif not await self._answered(pause, self._lines):
                    return True
            if self._lines is None or not self._lines.is_shown:
                return True

    async def _answered(self, pause: Pause, lines: _Lines) -> bool:
        """Take an answer from the terminal; an empty line leaves the question to the inbox."""
        from inbox_app.cli_text import indented, visible
        from runtime_core.wire.json import dumps

        while True:
            line = await lines.answer("answer (empty: later)> ")
            if not line or not line.strip():
                return False
            try:
                value = cli_arguments.answer_value(line)
                given = Answer(pause.run_id, value, pause_id=pause.id, fingerprint=pause.fingerprint)
                outcome = await self._gateway.answer(given)
            except click.UsageError as error:
                complain(error.format_message())
            except GatewayError as error:
                complain(error.message)
                return False
            else:
                say([f"  {outcome.kind}  {pause.run_id}"])
                if outcome.kind == "complete":
                    say(indented(visible(dumps(outcome.result)), "  "))
                return True


class _Lines:
    """The lines of the standard input, read beside the loop so that an interrupt ends the wait for them.

    ``is_shown``: the person sees what is asked for.
    """

    def __init__(self, *, is_shown: bool) -> None:
        self.is_shown = is_shown
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._left = b""
        self._loop = asyncio.get_running_loop()
        self._thread: threading.Thread | None = None

    async def read(self, prompt: str) -> str | None:
        """The next line, None at the end of the input."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._pump, name="standard input", daemon=True)
            self._thread.start()
        if self.is_shown:
            click.echo(prompt, nl=False)
            sys.stdout.flush()
        return await self._lines.get()

    async def answer(self, prompt: str) -> str | None:
        """The next line that is written while ``prompt`` is there: nothing that was typed or pasted before answers a
        question that nobody had seen."""
        forget_typed()
        await asyncio.sleep(0)  # what the thread has read is in the queue
        self._left, has_ended, dropped = b"", False, 0
        while not self._lines.empty():
            has_ended = self._lines.get_nowait() is None
            dropped += not has_ended
        if has_ended:
            self._lines.put_nowait(None)
        if dropped:
            complain(f"what was written before the question is no answer to it and was left out (lines: {dropped})")
        return await self.read(prompt)

    def _pump(self) -> None:
        """Reads the descriptor: a lock of ``sys.stdin`` that is held when the program ends would break it off."""
        try:
            while data := os.read(0, 65536):
                *whole, self._left = (self._left + data).split(b"\n")
                for line in whole:
                    self._put(line.decode("utf-8", "replace").removesuffix("\r"))
            if self._left:
                self._put(self._left.decode("utf-8", "replace"))
            self._put(None)
        except (OSError, RuntimeError):  # closed, or the command has ended
            return

    def _put(self, line: str | None) -> None:
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
