"""A replay that met other code than the journal was written by: what differs, and in which words (decision 9)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from runtime_core.approvals import questions
from runtime_core.hosts.base import Divergence
from runtime_core.journal.base import Journal
from runtime_core.wire.json import JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import PAUSE_KINDS, CallKind, Entry, LegRow, RunRow, SlotPath, slot

Code = Literal["replay-diverged", "content_changed"]

MEMBERS: Final = {
    "tool": "callTool",
    "subagent": "callSubagent",
    "input": "requestInput",
    "approval": "waitForApproval",
    "sleep": "sleepUntil",
    "timer": "timer",
    "step": "step",
}
SHOWN: Final = 100
"""Characters of a value that are shown."""
_BEFORE: Final = 20
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two values differ first: a path like ``$.a[2].b`` and the shortened JSON of both; None: there is none."""

    path: str
    recorded: str | None
    attempted: str | None

    def __str__(self) -> str:
        return f"{self.path}: {self.recorded or 'nothing'} is recorded, {self.attempted or 'nothing'} was attempted"


@dataclass(frozen=True, slots=True)
class Found:
    """A divergence with all that is known about it. Revisions are digests of code; ``names`` from the top tool down."""

    session: str
    names: Sequence[str]
    path: SlotPath
    divergence: Divergence
    recorded_args: JsonText | None
    difference: Difference | None
    recorded_revision: str
    revision: str

    @property
    def code(self) -> Code:
        return code_of(self.divergence)

    def to_json(self) -> JsonText:
        """The error of the run: ``{"name", "code", "message", "call", "recorded", "attempted", "difference", …}``."""
        recorded, made = self.divergence.recorded, self.divergence.made
        return dumps(
            {
                "name": "Error",
                "code": self.code,
                "message": self.message,
                "tool": " > ".join(self.names),
                "call": slot(self.path, self.divergence.seq),
                "recorded": _side(recorded.kind, recorded.name, self.recorded_args),
                "attempted": None if made is None else _side(made.kind, made.name, made.args),
                "difference": None
                if self.difference is None
                else {
                    "path": self.difference.path,
                    "recorded": self.difference.recorded,
                    "attempted": self.difference.attempted,
                },
                "recorded_revision": self.recorded_revision,
                "revision": self.revision,
            }
        )

    @property
    def message(self) -> str:
        what = words(" > ".join(self.names), self.divergence)
        first = f" First difference: {self.difference}." if self.difference is not None else ""
        return f"Session {self.session}: {what}{first} {self._codes} Nothing new was executed. {self._ways_on}"

    @property
    def _codes(self) -> str:
        if self.recorded_revision == self.revision:
            return f"The code is the same ({short(self.revision)}): the handler does not repeat itself."
        return f"Recorded by code {short(self.recorded_revision)}, now running {short(self.revision)}."

    @property
    def _ways_on(self) -> str:
        old = "" if self.recorded_revision == self.revision else "resume on the old code, "
        return f"Ways on: {old}put the code right and resume, or cancel the run."


def words(tool: str, divergence: Divergence) -> str:
    """What was recorded and what was attempted, as a sentence."""
    recorded, made = divergence.recorded, divergence.made
    was = describe(recorded.kind, recorded.name)
    if code_of(divergence) == "content_changed":
        what = f"the question is not the one that was shown ({was}); no answer reached the handler"
    elif divergence.failure is not None:
        what = f"{was} is recorded, but the handler failed before it made it again: {divergence.failure.message}"
    elif made is None:
        failed = f", it failed: {divergence.failure.message}" if divergence.failure is not None else ""
        what = f"{was} is recorded, but the handler did not make it again{failed}"
    elif (made.kind, made.name) == (recorded.kind, recorded.name):
        what = f"{was} is recorded with other parameters than it was made with"
    else:
        what = f"{was} is recorded, {describe(made.kind, made.name)} was attempted"
    return f'tool "{tool}", call number {divergence.seq + 1}: {what}.'


async def find(
    journal: Journal, run: RunRow, revision: str, names: Sequence[str], path: SlotPath, divergence: Divergence
) -> Found:
    """Look up in the journal what the call that was met in place of another one was recorded with.

    ``path`` is that of the handler, ``revision`` the code that runs it now.
    """
    at = slot(path, divergence.seq)
    span = next((span for span in await journal.spans(run.id) if span.slot == at), None)
    entry = next((entry for entry in await journal.load(run.id) if slot(entry.path, entry.n) == at), None)
    asked = [pause.spec for pause in await journal.pauses(run.id) if pause.slot == at and pause.kind in PAUSE_KINDS]
    recorded_args = span.input if span is not None else None
    return Found(
        session=run.id,
        names=names,
        path=path,
        divergence=divergence,
        recorded_args=recorded_args,
        difference=_difference(divergence, recorded_args, asked[-1] if asked else None),
        recorded_revision=recorded_by(await journal.legs(run.id), entry, run) if entry is not None else revision,
        revision=revision,
    )


def code_of(divergence: Divergence) -> Code:
    made, recorded = divergence.made, divergence.recorded
    is_question = made is not None and made.kind in PAUSE_KINDS
    same = made is not None and (made.kind, made.name) == (recorded.kind, recorded.name)
    return "content_changed" if is_question and same else "replay-diverged"


def recorded_by(legs: Sequence[LegRow], entry: Entry | None, run: RunRow) -> str:
    """The code that recorded an entry: that of the last leg that is noted before or at the one that wrote it."""
    if entry is None:
        return run.revision
    return next((leg.revision for leg in reversed(legs) if leg.epoch <= entry.epoch), run.revision)


def changed_params(recorded: JsonText | None, made: JsonText) -> Difference | None:
    """The first difference between the parameters of two calls; None if it cannot be seen."""
    return None if recorded is None else first_difference(loads(recorded), loads(made))


def _difference(divergence: Divergence, recorded_args: JsonText | None, spec: JsonText | None) -> Difference | None:
    recorded, made = divergence.recorded, divergence.made
    if made is None:
        return None
    if made.kind != recorded.kind:
        return Difference("kind", recorded.kind, made.kind)
    if made.name != recorded.name:
        return Difference("name", dumps(recorded.name), dumps(made.name))
    if made.kind in PAUSE_KINDS and spec is not None:
        found = changed_params(spec, _spec(made.kind, made.args))
        if found is not None:
            return found
    return changed_params(recorded_args, made.args)


def _spec(kind: CallKind, args: JsonText) -> JsonText:
    try:
        return questions.question(cast("questions.AskKind", kind), args)
    except questions.QuestionError:
        return args


def first_difference(recorded: JsonValue, attempted: JsonValue) -> Difference | None:
    """In the order in which things were recorded; what was added comes last."""
    for path, old, new in _walk(recorded, attempted, "$"):
        return Difference(path, *_shown(old, new))
    return None


_ABSENT: Final = object()


def _walk(old: object, new: object, path: str) -> Iterator[tuple[str, object, object]]:
    if isinstance(old, dict) and isinstance(new, dict):
        was, now = cast("dict[str, object]", old), cast("dict[str, object]", new)
        for key in dict.fromkeys([*was, *now]):
            step = f".{key}" if _PLAIN_KEY.fullmatch(key) else f"[{dumps(key)}]"
            yield from _walk(was.get(key, _ABSENT), now.get(key, _ABSENT), path + step)
    elif isinstance(old, list) and isinstance(new, list):
        was, now = cast("list[object]", old), cast("list[object]", new)
        for place in range(max(len(was), len(now))):
            before = was[place] if place < len(was) else _ABSENT
            yield from _walk(before, now[place] if place < len(now) else _ABSENT, f"{path}[{place}]")
    elif not _equal(old, new):
        yield path, old, new


def _equal(old: Any, new: Any) -> bool:
    return old is not _ABSENT and new is not _ABSENT and dumps(old) == dumps(new)


def _shown(old: object, new: object) -> tuple[str | None, str | None]:
    """Both as JSON, shortened so that the place where they begin to differ can be seen."""
    was = None if old is _ABSENT else dumps(old)
    now = None if new is _ABSENT else dumps(new)
    same = _common(was or "", now or "")
    start = max(same - _BEFORE, 0) if same > SHOWN - _BEFORE else 0
    return shortened(was, start), shortened(now, start)


def _common(was: str, now: str) -> int:
    return next(
        (place for place, (old, new) in enumerate(zip(was, now, strict=False)) if old != new), min(len(was), len(now))
    )


def shortened(text: JsonText | None, start: int = 0) -> str | None:
    if text is None:
        return None
    head = "…" if start else ""
    tail = "…" if len(text) - start > SHOWN else ""
    return head + text[start : start + SHOWN] + tail


def _side(kind: CallKind, name: str, args: JsonText | None) -> dict[str, Any]:
    """``arguments`` is shortened JSON text; null if they were too large to be kept."""
    return {"kind": kind, "name": name, "call": describe(kind, name), "arguments": shortened(args)}


def short(revision: str) -> str:
    return revision[:12]


def describe(kind: str, name: str) -> str:
    member = MEMBERS.get(kind, kind)
    return f'{member} "{name}"' if name and name != member else member


def span_name(kind: str, name: str) -> str:
    """What a call is called in the call tree; pauses and sleeps have no name of their own."""
    return name or MEMBERS.get(kind, kind)
