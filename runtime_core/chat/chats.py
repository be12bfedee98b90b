"""All conversations of one runtime (contract 6.3 and 6.8)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from runtime_core.agents.turns import File, Message
from runtime_core.chat.events import Event, event
from runtime_core.chat.history import first_words, item_of, known_now, messages_of, turns_of
from runtime_core.chat.record import TurnRecord
from runtime_core.chat.transcript import body_of, messages
from runtime_core.chat.turn import INTERRUPTED, USER_ABORT, LiveTurn, Said
from runtime_core.engine.attachments import check_attachments
from runtime_core.engine.engine import Engine
from runtime_core.engine.hooks import Source, is_asked
from runtime_core.engine.ids import new_id
from runtime_core.engine.quota import check_value
from runtime_core.engine.talk import TalkRequest
from runtime_core.journal.base import Journal
from runtime_core.journal.chats import no_chat
from runtime_core.repo.bundle import Agent, Bundle, BundleError, no_agent
from runtime_core.wire.chats import ChatCall, ChatRow
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.runs import RunRow
from runtime_core.wire.settings import Settings

DEFAULT_AGENT: Final = "default"
LISTED: Final[Sequence[Source]] = ("chat", "automation")
"""Who speaks in the conversations that are listed."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is said to an agent.

    ``root``: the repository, and ``agent`` None for its default one, of a new conversation; that of an old one never
    changes. ``scope`` None: that of the conversation, else "". ``context``: a JSON object, unverified. ``attachments``:
    files as the array of ``ctx.attachments``. ``model``: ``provider:name`` instead of what settings and repository say.
    ``max_session_tokens``: what the whole conversation may take. ``human_present``: somebody can be asked.
    ``is_choice``: the message is what the agent offered by ``ask_choice``; no trigger is tried on it.
    """

    message: str
    who: str
    root: Path | None = None
    session_id: str | None = None
    agent: str | None = None
    scope: str | None = None
    context: JsonText | None = None
    attachments: JsonText | None = None
    model: str | None = None
    max_session_tokens: int | None = None
    source: Source = "chat"
    human_present: bool = True
    is_choice: bool = False


class Chats:
    """``executes``: whether this process may have turns."""

    def __init__(self, journal: Journal, engine: Engine, settings: Settings, executes: Callable[[], bool]) -> None:
        self._journal = journal
        self._engine = engine
        self._settings = settings
        self._executes = executes
        self._live: dict[str, LiveTurn | None] = {}

    @property
    def working(self) -> Sequence[str]:
        """The agents whose turn goes on; may be asked from any thread."""
        return [turn.agent for turn in list(self._live.values()) if turn is not None]

    async def send(self, request: ChatRequest) -> AsyncGenerator[Event]:
        """Have a turn; its events as contract 7.2 has them, with their parameters as they are (`events.redacted`).

        Whoever closes this before its end aborts the turn. Raises `RuntimeFault` VALIDATION_ERROR, scope_required,
        chat_busy and not_executing, and `BundleError`, all before the first event.
        """
        self._check(request)
        row, bundle, agent = await self._chosen(request)
        if row.id in self._live:
            raise RuntimeFault(
                "chat_busy",
                f"The agent still answers in the conversation {row.id}. Wait until it has, or stop it.",
                session_id=row.id,
            )
        self._live[row.id] = None
        try:
            turn = self._live[row.id] = await self._begun(request, row, bundle, agent)
            try:
                yield event("init", session_id=row.id)
                while (told := await turn.events.get()) is not None:
                    yield told
            finally:
                await turn.stop(USER_ABORT)
        finally:
            self._live.pop(row.id, None)

    async def stop(self, session_id: str) -> bool:
        """Abort the turn that goes on in a conversation; False if there is none."""
        turn = self._live.get(session_id)
        if turn is None:
            return False
        await turn.stop(USER_ABORT)
        return True

    async def history(
        self, limit: int = 100, cursor: str | None = None, sources: Sequence[Source] = LISTED
    ) -> dict[str, Any]:
        """``{"sessions", "total", "next_cursor"}``, those of ``sources``, the one that was used last first."""
        page = await self._journal.chats(sources, limit, cursor)
        first = await self._journal.first_words([row.id for row in page.items if not row.title])
        items = [item_of(row, first.get(row.id), busy=row.id in self._live) for row in page.items]
        return {"sessions": items, "total": page.total, "next_cursor": page.next_cursor}

    async def session(self, session_id: str) -> dict[str, Any]:
        """The item of a conversation with ``metadata``, ``messages`` and ``turns`` (see `history`).

        Raises `RuntimeFault` NOT_FOUND.
        """
        row = await self._row(session_id)
        entries = await self._journal.chat_entries(session_id)
        calls = await self._journal.chat_calls(session_id)
        first = next((entry.body for entry in entries if entry.role == "user"), None)
        is_live = session_id in self._live or not self._executes()
        live = entries[-1].turn if entries and is_live else None
        calls = known_now(entries, calls, await self._runs_of(calls), live)
        return {
            **item_of(row, first, busy=session_id in self._live),
            "metadata": {"context": loads(row.context) if row.context is not None else None},
            "messages": messages_of(entries, calls),
            "turns": turns_of(entries, calls, await self._bundle_of(row), live),
        }

    async def check_known(self, session_id: str) -> None:
        """Raises `RuntimeFault` NOT_FOUND."""
        await self._row(session_id)

    async def rename(self, session_id: str, title: str) -> None:
        """An empty title: its first words again. Raises `RuntimeFault` NOT_FOUND and VALIDATION_ERROR."""
        check_value("title", dumps(title), self._settings.limits)
        if not await self._journal.rename_chat(session_id, " ".join(title.split()) or None):
            raise no_chat(session_id)

    async def delete(self, session_id: str) -> None:
        """With everything that was said, and what it asks; a turn that goes on is stopped, in another process as soon
        as it tells something. Raises `RuntimeFault` NOT_FOUND."""
        await self.stop(session_id)
        if not await self._journal.delete_chat(session_id):
            raise no_chat(session_id)
        await self._engine.tidy(session_id)

    async def close(self) -> None:
        """End all turns as interrupted."""
        turns = [turn for turn in self._live.values() if turn is not None]
        await asyncio.gather(*(turn.stop(INTERRUPTED) for turn in turns))

    def _check(self, request: ChatRequest) -> None:
        if not self._executes():
            raise RuntimeFault(
                "not_executing",
                "Another process works with this data folder, and only that one can talk to agents. Use its window, or "
                "close it and try again.",
            )
        if not request.message.strip() and not request.attachments:
            raise RuntimeFault("VALIDATION_ERROR", "message: say something.", key="message")
        check_value("message", dumps(request.message), self._settings.limits)
        if request.context is not None:
            check_value("context", request.context, self._settings.limits)
            if not isinstance(loads(request.context), dict):
                raise RuntimeFault("VALIDATION_ERROR", "context: give a JSON object.", key="context")
        if request.attachments is not None:
            check_attachments(request.attachments, durable=False)
        if request.max_session_tokens is not None and request.max_session_tokens < 1:
            message = "max_session_tokens: give a whole number above 0, or leave it out."
            raise RuntimeFault("VALIDATION_ERROR", message, key="max_session_tokens")

    async def _chosen(self, request: ChatRequest) -> tuple[ChatRow, Bundle, Agent]:
        """The conversation that is meant: by its id, else the last one of the scope that is given, else a new one."""
        known = await self._journal.chat(request.session_id) if request.session_id is not None else None
        if known is not None and request.scope not in (None, known.scope):
            known = None
        root = Path(known.repo) if request.root is None and known is not None else request.root
        if root is None:
            raise RuntimeFault("VALIDATION_ERROR", "Say which repository the conversation is about.", key="repository")
        bundle = await self._engine.shelf.kept(root)
        if known is not None:
            _check_same(known, str(bundle.root), request.agent)
        elif request.session_id is None and request.scope and request.source == "chat":
            name = request.agent or DEFAULT_AGENT
            known = await self._journal.latest_chat(str(bundle.root), name, request.scope)
        agent = _agent(bundle, known.agent if known is not None else request.agent or DEFAULT_AGENT)
        scope = known.scope if known is not None else request.scope or ""
        if not scope and _requires_scope(bundle):
            raise RuntimeFault(
                "scope_required", f"{bundle.name} wants to know whom it works for: give a scope.", key="scope_id"
            )
        return known or await self._new(request, bundle, agent, scope), bundle, agent

    async def _new(self, request: ChatRequest, bundle: Bundle, agent: Agent, scope: str) -> ChatRow:
        now = time.time()
        row = ChatRow(
            id=new_id("chat", now),
            repo=str(bundle.root),
            agent=agent.name,
            scope=scope,
            source=request.source,
            created_by=request.who,
            created_at=now,
            updated_at=now,
            title=first_words(request.message) or None,
            context=request.context,
        )
        await self._journal.create_chat(row)
        return row

    async def _begun(self, request: ChatRequest, row: ChatRow, bundle: Bundle, agent: Agent) -> LiveTurn:
        """The turn, after what was said is kept."""
        number = await self._journal.last_chat_turn(row.id) + 1
        entries, calls = await self._journal.chat_entries(row.id), await self._journal.chat_calls(row.id)
        before = messages(entries, calls, await self._runs_of(calls))
        files = _files(request.attachments)
        record = TurnRecord(self._journal, row, number)
        held = {"held": True} if is_asked(bundle, "preInput") else {}
        record.add("user", body_of(Message("user", request.message, files=files), **held))
        await record.flush()
        said = Said(request.message, files, before, request.max_session_tokens, _taken(row.usage), request.is_choice)
        talk = TalkRequest(
            bundle=bundle,
            agent=agent,
            session_id=row.id,
            turn=number,
            who=request.who,
            scope=row.scope,
            context=request.context if request.context is not None else row.context,
            source=request.source,
            human_present=request.human_present,
            model=request.model,
            attachments=request.attachments,
        )
        return LiveTurn(self._engine, talk, said, record)

    async def _runs_of(self, calls: Sequence[ChatCall]) -> Mapping[str, RunRow]:
        """The runs that calls became, by their ids."""
        runs = [await self._journal.run(call.run_id) for call in calls if call.run_id is not None]
        return {run.id: run for run in runs if run is not None}

    async def _bundle_of(self, row: ChatRow) -> Bundle | None:
        try:
            return await self._engine.shelf.bundle(Path(row.repo))
        except (BundleError, RuntimeFault):  # its tools are shown without their labels
            return None

    async def _row(self, session_id: str) -> ChatRow:
        row = await self._journal.chat(session_id)
        if row is None:
            raise no_chat(session_id)
        return row


def _check_same(row: ChatRow, root: str, agent: str | None) -> None:
    """Whether a conversation is about the repository, and with the agent, that are asked for."""
    if row.repo != root:
        message = f"The conversation {row.id} is about {row.repo}. Begin another one for {root}."
        raise RuntimeFault("VALIDATION_ERROR", message, key="session_id")
    if agent not in (None, row.agent):
        message = f'The conversation {row.id} is with the agent "{row.agent}". Begin another one with "{agent}".'
        raise RuntimeFault("VALIDATION_ERROR", message, key="agent")


def _agent(bundle: Bundle, name: str) -> Agent:
    found = bundle.agents.get(name)
    if found is None:
        raise RuntimeFault("VALIDATION_ERROR", no_agent(bundle, name), key="agent")
    return found


def _requires_scope(bundle: Bundle) -> bool:
    scope = bundle.manifest.get("scope")
    return isinstance(scope, Mapping) and cast("Mapping[str, Any]", scope).get("requireScope") is True


def _files(attachments: JsonText | None) -> list[File]:
    given = cast("list[dict[str, str]]", loads(attachments)) if attachments is not None else []
    return [File(file["filename"], file["mimeType"], file["data"]) for file in given]


def _taken(usage: Mapping[str, int] | None) -> int:
    used = usage or {}
    return used.get("input_tokens", 0) + used.get("output_tokens", 0)
