"""Hooks: code of a repository that is asked around what a model does, and may forbid it (contract 9.2).

Asked only about what a model selected or says, never about calls of handlers, triggers or direct starts. Where around
the call of a model they come, `agent_calls` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, Protocol, cast

from runtime_core.engine.asking import ask
from runtime_core.engine.frames import Outcome
from runtime_core.engine.losses import LOST_LIMIT
from runtime_core.hosts.base import HandlerCall, HandlerFailure, HandlerJob, HostRepo, Hosts, NoteKind
from runtime_core.repo.bundle import Bundle, Hook, HookPoint
from runtime_core.tools.documents import Documents
from runtime_core.wire.json import JsonText, dumps, loads
from runtime_core.wire.stores import StoreQuery

HOOK_S: Final = 5.0
"""How long one hook may take for one answer."""
GATES: Final = frozenset[HookPoint]({"preInput", "preToolUse", "preOutput"})
"""Where a hook may block; elsewhere it only looks."""
ROWS: Final = 10_000
"""What ``ctx.store.query`` gives at most: a guard that judges by a part of what there is would be none."""
UNUSABLE: Final = frozenset({"load-failed", "no-handler"})
"""Codes of a hook that was never made: it blocks, whatever its failPolicy says of one that works otherwise."""
NO_REASON: Final = "it gave no reason"
REASON_LIMIT: Final = 2_000
"""Characters of a reason that a model and a person see."""

Source = Literal["chat", "automation", "webhook", "intent", "skill"]


def is_asked(bundle: Bundle, point: HookPoint) -> bool:
    """Whether there is a hook at a point."""
    return any(point in hook.points for hook in bundle.hooks)


class HookNote(Protocol):
    def __call__(self, hook: str, kind: NoteKind, value: Any) -> None:
        """Take what a hook logs or prints, and what is wrong with it."""
        ...


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose model does something: ``who`` started it, ``scope`` is where its documents are."""

    bundle: Bundle
    scope: str
    who: str
    note: HookNote
    source: Source = "chat"

    @property
    def caller(self) -> dict[str, str]:
        return {"userId": self.who, "source": self.source} if self.who else {"source": self.source}


class Hooks:
    """Asks the hooks of repositories, in processes of their own. ``documents``: what those with ``store:read`` see."""

    def __init__(self, hosts: Hosts, documents: Documents) -> None:
        self._hosts = hosts
        self._documents = documents

    async def ask(self, subject: Subject, point: HookPoint, payload: JsonText) -> str | None:
        """Ask the hooks of a point, those of a lower priority first; the reason of the first one that blocks.

        ``payload``: ``{"toolName", "args"}``, after a call with ``result`` or ``error``; ``{"text"}`` of what a person
        says, ``{"text", "kind"}`` of what a model does; what `chat.turn` gives after a turn.
        """
        hooks = (hook for hook in subject.bundle.hooks if point in hook.points)
        for hook in sorted(hooks, key=lambda hook: (hook.priority, hook.name)):
            reason = await self._blocks(hook, subject, point, payload)
            if reason is not None and point in GATES:
                return f'The hook "{hook.name}" blocked this: {reason}'
            if reason is not None:
                subject.note(hook.name, "warning", f"its block at {point} counts for nothing: {reason}")
        return None

    async def retire(self, bundle: Bundle) -> None:
        await self._hosts.retire(HostRepo(bundle.root, bundle.revision, bundle.code))

    async def close(self) -> None:
        await self._hosts.close()

    async def _blocks(self, hook: Hook, subject: Subject, point: HookPoint, payload: JsonText) -> str | None:
        answer = await self._answer(hook, subject, point, payload)
        is_made = True
        if isinstance(answer, HandlerFailure):
            is_made = answer.begun and answer.code not in UNUSABLE
            problem = f"{'it failed' if is_made else 'it cannot be used'}: {answer.message}"
        else:
            said = loads(answer)
            verdict = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
            if verdict.get("action") == "allow":
                return None
            if verdict.get("action") == "block":
                reason = verdict.get("reason")
                return reason[:REASON_LIMIT] if isinstance(reason, str) and reason else NO_REASON
            problem = f'it has to return {{action: "allow"}} or {{action: "block", reason}}, not {answer[:200]}'
        subject.note(hook.name, "warning", f"{point}: {problem}")
        if not is_made:
            return f"{problem} (a guard is never left out)"
        return f"{problem} (failPolicy closed)" if hook.is_closed else None

    async def _answer(
        self, hook: Hook, subject: Subject, point: HookPoint, payload: JsonText
    ) -> JsonText | HandlerFailure:
        """Asked again if its process went away for no known fault of its own: it changes nothing."""
        bundle = subject.bundle
        given = f'"config":{dumps(hook.config)},"point":"{point}","caller":{dumps(subject.caller)}'
        job = HandlerJob(
            entry=hook.entry,
            language=hook.language,
            params=JsonText(f'{{{given},"payload":{payload}}}'),
            durable=False,
            methods=frozenset({"store"} if "store:read" in hook.capabilities else ()),
            session_id=None,
            scope_id=subject.scope,
            started_ms=0,
            seed="",
            timeout_s=HOOK_S,
            form="hook",
        )
        repo = HostRepo(bundle.root, bundle.revision, bundle.code)
        note, serve = partial(subject.note, hook.name), partial(self._look, subject)
        answer: JsonText | HandlerFailure = JsonText("null")
        for _ in range(LOST_LIMIT):
            answer = await ask(self._hosts, repo, job, note, serve)
            if not isinstance(answer, HandlerFailure) or answer.code != "host-lost":
                break
        return answer

    async def _look(self, subject: Subject, call: HandlerCall) -> Outcome:
        """``ctx.store.get`` and ``ctx.store.query``."""
        name, what = cast("list[Any]", loads(call.args))
        bundle, scope = subject.bundle, subject.scope
        store = bundle.stores.get(name) if isinstance(name, str) else None
        if store is None:
            return _refused(f"ctx.store.{call.name}: the repository has no store {dumps(name)}")
        if call.name == "get":
            return True, await self._documents.payload(bundle, scope, store, str(what)) or JsonText("null")
        if not isinstance(what, dict | None):
            return _refused("ctx.store.query: the filter has to be an object of fields and the values they have")
        query = StoreQuery(cast("dict[str, Any]", what or {}), limit=ROWS + 1, indexed=store.indexed)
        rows = await self._documents.payloads(bundle, scope, store, query)
        if len(rows) > ROWS:
            return _refused(f"ctx.store.query: more than {ROWS:,} documents of {store.name} fit; ask for fewer")
        return True, JsonText(f"[{','.join(rows)}]")


def _refused(message: str) -> Outcome:
    return False, dumps({"name": "Error", "message": message})
