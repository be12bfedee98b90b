"""One turn of a conversation: hooks, triggers, the loop of the model, and what is told of them (contract 10).

In this order: the hooks before the model, a trigger that fits, the model with its tools, the hooks before anybody sees
its answer (until they have allowed it, nothing of it is told), the hooks after the turn. Whatever happens, the turn
ends with ``done``, and what was said until then is kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from runtime_core.agents.loop import NO_MODEL, Bounds, Ending, OutcomeUnknown, ToolDenied, as_seen, converse
from runtime_core.agents.turns import File, Message, ModelError, ModelUnusable, ToolCall, Usage
from runtime_core.chat.calls import TurnCalls
from runtime_core.chat.events import Event, as_text, event
from runtime_core.chat.record import TurnRecord
from runtime_core.chat.transcript import body_of, for_model, withheld
from runtime_core.chat.triggers import Fired, fired
from runtime_core.engine.agent_calls import CallRefused
from runtime_core.engine.engine import Engine
from runtime_core.engine.hooks import is_asked
from runtime_core.engine.talk import Talk, TalkRequest
from runtime_core.repo.bundle import HookPoint
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText, dumps, loads

log = logging.getLogger(__name__)

INTERRUPTED: Final = "interrupted"
USER_ABORT: Final = "user_abort"

_REASONS: Final = {"answered": "model_stop", "stopped": "model_stop", "blocked": "error"}


@dataclass(frozen=True, slots=True)
class End:
    """How a turn ended: ``reason`` as in ``done`` (contract 7.2), or ``interrupted`` with its runtime.

    ``code`` and ``message``: of the error that ended it. ``blocked``: what a hook did not let pass.
    """

    reason: str
    code: str | None = None
    message: str | None = None
    blocked: Literal["input", "output"] | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What a person says, and what was said before. ``tokens``: how many the whole conversation may take, None for any
    number; ``taken``: how many it has taken. ``is_choice``: it is an option that the agent gave."""

    text: str
    files: Sequence[File]
    before: Sequence[Message]
    tokens: int | None = None
    taken: int = 0
    is_choice: bool = False


class LiveTurn:
    """A turn that goes on. Implements `Listener`. ``events`` ends with None."""

    def __init__(self, engine: Engine, request: TalkRequest, said: Said, record: TurnRecord) -> None:
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._usage = Usage()
        self._by_others = Usage()
        self._engine = engine
        self._said = said
        self._record = record
        record.draft = self._draft
        calls = TurnCalls(request.bundle, self.events.put_nowait, record, self._spent_by_others)
        self._request = replace(request, on_span=calls.on_span, ears=calls)
        self._holds_back = is_asked(request.bundle, "preOutput")
        self._talk: Talk | None = None
        self._heard = {"text": "", "reasoning": ""}
        self._withheld: str | None = None
        self._stop: str | None = None
        self._work = asyncio.create_task(self._whole(), name=f"turn of {request.session_id}")
        self._task = asyncio.create_task(self._to_its_end(), name=f"end of a turn of {request.session_id}")

    @property
    def agent(self) -> str:
        return self._request.agent.name

    async def stop(self, reason: str) -> None:
        """End it where it stands, and wait until what was said is kept. Its durable runs go on."""
        if not self._work.done():
            self._stop = self._stop or reason
            self._work.cancel()
        await self.over()

    async def over(self) -> None:
        """Wait until it has ended, by itself or because it was stopped."""
        await asyncio.wait([self._task])

    async def _to_its_end(self) -> None:
        keeping = asyncio.create_task(self._record.keep())
        await asyncio.wait([self._work, keeping], return_when=asyncio.FIRST_COMPLETED)
        if not self._work.done():
            self._work.cancel()
            await asyncio.wait([self._work])
        keeping.cancel()
        await asyncio.wait([keeping])
        await self._finish(self._ended(keeping))

    def _ended(self, keeping: asyncio.Task[None]) -> End:
        deleted = None if keeping.cancelled() else keeping.exception()
        if not self._work.cancelled():
            return self._work.result()
        if isinstance(deleted, RuntimeFault) and self._stop is None:  # by another process
            return self._failed(deleted.code, deleted.message)
        return End(self._stop or INTERRUPTED)

    async def _whole(self) -> End:
        try:
            return await self._turn()
        except (ModelError, RuntimeFault) as error:
            return self._failed(error.code, error.message)
        except ModelUnusable as error:
            return self._failed("model_unusable", str(error))
        except OutcomeUnknown as error:
            return self._failed("outcome_unknown", f"A call was cut off, and nobody knows whether it was made: {error}")
        except Exception as error:
            log.exception("%s: the turn failed", self._request.session_id)
            return self._failed("INTERNAL_ERROR", f"The runtime failed: {type(error).__name__}: {error}")

    async def _turn(self) -> End:
        talk = self._talk = await self._engine.talk(self._request)
        asked = self._said.text
        if (reason := await talk.ask_hooks("preInput", dumps({"text": asked}))) is not None:
            end = End("error", "blocked", reason, "input")
            self._tell("error", message=reason, code="blocked")
            await self._after(talk, Ending("blocked", reason=reason))
            return end
        if is_asked(self._request.bundle, "preInput"):
            self._record.add("passed", dumps({}))
        messages = [*self._said.before, Message("user", asked, files=self._said.files)]
        found, slow = None, None
        if not self._said.is_choice:  # its words are the agent's
            found, slow = await asyncio.to_thread(fired, self._request.bundle, asked)
        if slow is not None:
            self._note("warning", message=slow)
        if found is not None:
            words = await self._triggered(talk, found, messages)
            if not found.goes_on:
                ending = Ending("answered", words)
                await self.said(Message("assistant", ending.text))
                await self._after(talk, ending)
                return self._end_of(ending)
        ending = await self._model(talk, messages)
        await self._after(talk, ending)
        return self._end_of(ending)

    async def _model(self, talk: Talk, messages: list[Message]) -> Ending:
        model = await talk.model()
        if model is None:
            raise ModelUnusable(f'The agent "{talk.agent.name}" cannot answer: {NO_MODEL}.')
        self._record.answered_by(model)
        seen, lacking = for_model(messages, model)
        if lacking:
            names = ", ".join(file.filename for file in lacking)
            self._note("warning", message=f"The model cannot see these files; tools get them all the same: {names}.")
        bounds = Bounds.of_chat(talk.agent, tokens=self._said.tokens, others=self._taken_by_others)
        return await converse(talk.agent, seen, model, talk.tools, bounds, self)

    def _taken_by_others(self) -> int:
        """The tokens of the conversation that the model itself does not take in this turn."""
        return self._said.taken + self._by_others.total_tokens

    async def _triggered(self, talk: Talk, found: Fired, messages: list[Message]) -> str:
        """Run the tool of a trigger, and put it into the conversation as if the model had called it; what is said of
        its result if no model goes on."""
        call = ToolCall(found.tool.name, found.params)
        asking = Message("assistant", "", (call,))
        messages.append(asking)
        await self.said(asking)
        try:
            value = await talk.trigger(found.tool.name, found.params)
            result, words = as_seen(value), as_text(loads(value or "null"))
        except ToolDenied as denied:
            result = words = str(denied)
        except CallRefused as failed:
            result = words = f"Tool execution failed: {failed}"
        told = Message("tool", result, call=call)
        messages.append(told)
        await self.said(told)
        return words

    def _end_of(self, ending: Ending) -> End:
        if self._withheld is not None and ending.kind == "answered":
            self._tell("error", message=self._withheld, code="blocked")
            return End("error", "blocked", self._withheld, "output")
        if ending.kind == "stopped":
            self._note("warning", message=f"The agent ended its turn: {ending.reason}")
        elif ending.reason:
            self._note("warning", message=ending.reason)
        return End(_REASONS.get(ending.kind, ending.kind))

    async def _after(self, talk: Talk, ending: Ending) -> None:
        """The hooks after a turn, which only look."""
        kind, reason = ("blocked", self._withheld) if self._withheld is not None else (ending.kind, ending.reason)
        point: HookPoint = "postTurn"
        over = {"input": self._said.text, "output": ending.text, "end": kind, "reason": reason}
        await talk.ask_hooks(point, dumps(over))

    def heard(self, kind: Literal["text", "reasoning"], piece: str) -> None:
        self._heard[kind] += piece
        if piece and not self._holds_back:
            self._tell_piece(kind, piece)
            self._record.say_more()

    async def said(self, message: Message) -> None:
        if message.role == "tool":
            self._record.add("tool", body_of(message))
        else:
            await self._answered(message)
        await self._record.flush()

    def spent(self, usage: Usage) -> None:
        self._usage += usage
        self._record.spend(usage)

    def _spent_by_others(self, usage: Usage) -> None:
        self._by_others += usage
        self.spent(usage)

    async def _answered(self, message: Message) -> None:
        self._withheld = await self._hooks_on(message)
        if self._withheld is not None:
            self._record.add("assistant", withheld(message, self._withheld))
        else:
            for kind, whole in (("reasoning", message.reasoning), ("text", message.text)):
                told = "" if self._holds_back else self._heard[kind]
                rest = whole.removeprefix(told)
                if rest:  # of a model that says all at once, or that another one stood in for
                    self._tell_piece(kind, rest)
            self._record.add("assistant", body_of(message))
        self._heard = {"text": "", "reasoning": ""}

    async def _hooks_on(self, message: Message) -> str | None:
        """Why nothing of an answer may be told: the hooks see all that it would be told of it."""
        if not self._holds_back or self._talk is None:
            return None
        for kind, text in (("reasoning", message.reasoning), ("text", message.text)):
            reason = await self._talk.ask_hooks("preOutput", dumps({"text": text, "kind": kind})) if text else None
            if reason is not None:
                return reason
        return None

    def _draft(self) -> JsonText | None:
        """What was said so far of a message, as far as anybody may see it."""
        if self._holds_back or not any(self._heard.values()):
            return None
        return body_of(Message("assistant", self._heard["text"], reasoning=self._heard["reasoning"]), cut=True)

    async def _finish(self, end: End) -> None:
        """Tell the end, whatever becomes of keeping it: who listens waits for that."""
        try:
            await self._keep(end)
        except RuntimeFault as fault:
            if fault.code != "NOT_FOUND":  # of a conversation that was deleted meanwhile nothing is to be kept
                log.error("%s: the end of a turn cannot be kept: %s", self._request.session_id, fault)
                self._tell("error", message=fault.message, code=fault.code)
        except Exception as error:
            log.exception("%s: the end of a turn cannot be kept", self._request.session_id)
            message = f"The end of this turn cannot be kept: {type(error).__name__}: {error}"
            self._tell("error", message=message, code="INTERNAL_ERROR")
        finally:
            self._tell("done", reason=end.reason, usage=self._usage.to_wire())
            self.events.put_nowait(None)

    async def _keep(self, end: End) -> None:
        if self._talk is not None:
            self._talk.spans.close()
        if (cut := self._draft()) is not None:
            self._record.add("assistant", cut)
            self._heard = {"text": "", "reasoning": ""}
        told = {"reason": end.reason, "code": end.code, "message": end.message, "blocked": end.blocked}
        kept = {name: value for name, value in told.items() if value is not None}
        self._record.add("end", dumps({**kept, "usage": self._usage.to_wire()}))
        await self._record.flush()

    def _failed(self, code: str, message: str) -> End:
        self._tell("error", message=message, code=code)
        return End("error", code, message)

    def _tell_piece(self, kind: str, piece: str) -> None:
        if kind == "text":
            self._tell("text_delta", content=piece)
        else:
            self._tell("reasoning", text=piece)

    def _note(self, kind: str, **fields: Any) -> None:
        """Tell something that is shown again when the conversation is read later."""
        told = event(kind, **fields)
        self.events.put_nowait(told)
        self._record.add("event", dumps(told))

    def _tell(self, kind: str, **fields: Any) -> None:
        self.events.put_nowait(event(kind, **fields))
