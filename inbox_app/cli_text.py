"""What the command line prints for people: plain text, aligned, with nothing of a run able to act on the terminal."""

from __future__ import annotations

import shutil
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, cast

from inbox_app.cli_session import shell
from inbox_app.gateway.base import Call, Decision, Json, Option, Pause, Run, RunDetail
from runtime_core.wire.json import JsonError, dumps, loads, pretty

QUESTION_WIDTH: Final = 60
"""Cells that a question keeps in a table, however narrow the window is."""

USE_RESULT: Final = '{"use_result": …}'
"""What an interrupted call takes beside its options."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK_LOOKALIKES = frozenset("\u00a0\u115f\u1160\u2800\u3164\uffa0") | {chr(code) for code in range(0x2000, 0x200B)}
_VARIATION_SELECTORS = frozenset(range(0xFE00, 0xFE10)) | frozenset(range(0xE0100, 0xE01F0))


def visible(text: str, *, lines: bool = False) -> str:
    """The text with every character that cannot be seen, or that a terminal would obey, shown as ``<U+202E>``.

    With ``lines`` line breaks and tabs stay what they are; without, they become a blank.
    """
    return text.translate(_SHOWN_LINES if lines else _SHOWN)


class _Shown(dict[int, str]):
    """What is shown for each character, found out once."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        hidden = char in _BLANK_LOOKALIKES or unicodedata.category(char) in _HIDDEN or code in _VARIATION_SELECTORS
        shown = self[code] = f"<U+{code:04X}>" if hidden else char
        return shown


_SHOWN: Final = _Shown({ord("\n"): " ", ord("\t"): " "})
_SHOWN_LINES: Final = _Shown({ord("\n"): "\n", ord("\t"): "\t"})


def columns(text: str) -> int:
    """How many cells of a terminal the text takes."""
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    return 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit(text: str, width: int) -> str:
    """The text cut to the width, with an ellipsis where something is missing. Marks that take no room count too."""
    used = kept = 0
    for place, char in enumerate(text):
        used += _cells(char)
        if used > width or place > 8 * width:
            return text[:kept] + "…"
        if used < width:
            kept = place + 1
    return text


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, cut: int | None = None) -> str:
    """Aligned columns; on a terminal the last one is cut to the window. With ``cut`` it is cut everywhere, to the
    window but never to less than this."""
    lines = [head, *rows]
    widths = [max(columns(line[place]) for line in lines) for place in range(len(head) - 1)]
    room = shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths)
    if cut is not None:
        room = max(room, cut)
    elif sys.stdout.isatty():
        room = max(room, 20)
    else:
        room = None
    return "\n".join(_table_line(line, widths, room) for line in lines)


def _table_line(line: Sequence[str], widths: Sequence[int], room: int | None) -> str:
    cells = [cell + " " * (width - columns(cell)) for cell, width in zip(line, widths, strict=False)]
    last = line[-1] if room is None else fit(line[-1], room)
    return "  ".join([*cells, last]).rstrip()


def span_of(seconds: float) -> str:
    """A duration in the largest unit that fits: ``12 ms``, ``4 s``, ``3 min``, ``2 h``, ``5 d``."""
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"


def moment(at: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else ""


def answers(pause: Pause) -> str:
    """What may be typed as VALUE, in a few words."""
    if pause.options:
        words = [value_word(option.value) for option in pause.options]
        return " | ".join([*words, USE_RESULT] if pause.cut_off is not None else words)
    if pause.input_type == "yesno" or pause.kind == "approval":
        return "yes | no"
    return "TEXT" if pause.input_type == "text" else "VALUE"


def argument(value: Json) -> str:
    """VALUE of ``answer`` for a value: a text as it stands if it is read back as one, everything else as JSON."""
    if isinstance(value, str) and value[:1] not in _NOT_TEXT and visible(value) == value and not _is_json(value):
        return value
    return dumps(value)


_NOT_TEXT: Final = frozenset('{["@- ')


def _is_json(text: str) -> bool:
    try:
        loads(text)
    except JsonError:
        return False
    return True


def value_word(value: Json) -> str:
    """A value as it is typed into a shell: bare where that can be, quoted where it has to be."""
    return shell([argument(value)])


CODE_CHANGED: Final = "the repository holds other code now than when this was asked"


def waiting_table(pauses: Sequence[Pause], now: float) -> str:
    """The waiting questions; pause ids only where a run has more than one, deadlines only if a question has one."""
    per_run: dict[str, int] = {}
    for pause in pauses:
        per_run[pause.run_id] = per_run.get(pause.run_id, 0) + 1
    several = any(count > 1 for count in per_run.values())
    limited = any(pause.expires_at is not None for pause in pauses)
    head = [
        "SESSION",
        *(["PAUSE"] if several else []),
        "TOOL",
        "WAITING",
        *(["EXPIRES"] if limited else []),
        "ANSWER",
        "QUESTION",
    ]
    rows: list[list[str]] = []
    for pause in pauses:
        question = visible(f"{pause.title}: {pause.question}" if pause.title else pause.question)
        if not pause.eligible:
            question = f"(not yours to answer: {visible(pause.reason)}) {question}"
        elif pause.code_changed:
            question = f"(code changed) {question}"
        elif pause.votes is not None:
            question = f"({pause.votes.given} of {pause.votes.needed} answers) {question}"
        rows.append(
            [
                pause.run_id,
                *([pause.id] if several else []),
                visible(pause.tool),
                span_of(max(now - pause.asked_at, 1)),
                *([_left(pause.expires_at, now)] if limited else []),
                fit(answers(pause), 40),
                question,
            ]
        )
    return table(head, rows, cut=QUESTION_WIDTH)


def runs_table(runs: Sequence[Run]) -> str:
    """All runs: which, of what tool, how they stand, from when to when."""
    return table(
        ["SESSION", "TOOL", "STATUS", "STARTED", "ENDED"],
        [
            [run.id, visible(run.tool), _status_word(run), moment(run.created_at), moment(run.finished_at)]
            for run in runs
        ],
    )


def _status_word(run: Run) -> str:
    return f"{visible(run.status)} (damaged)" if run.raw.get("damage") else visible(run.status)


def question_lines(pause: Pause) -> Iterator[str]:
    """One question with its choices and what it is about."""
    if pause.title:
        yield visible(pause.title)
    yield visible(pause.question)
    for option in pause.options or ():
        yield f"  {_option_line(option)}"
    if pause.cut_off is not None:
        yield f"  {USE_RESULT}: Use this result: the call is not made again, the handler gets what is written here"
    if not pause.options:
        yield f"  answer: {answers(pause)}"
    if pause.path[1:]:
        yield f"  asked by {visible(' > '.join(pause.path))}"
    if pause.has_context:
        yield "  about" + (" (can be changed with --edits)" if pause.allow_edits else "")
        yield from indented(pretty(pause.context), "    ")
    if pause.votes is not None:
        by = f" ({visible(', '.join(pause.votes.by))})" if pause.votes.by else ""
        yield f"  {pause.votes.given} of {pause.votes.needed} answers given{by}: they must be equal, and one no refuses"
    if pause.expires_at is not None:
        left = _left(pause.expires_at, time.time())
        yield f"  expires {moment(pause.expires_at)} ({left}): then {_at_expiry(pause.on_expire)}"
    if pause.code_changed:
        yield f"  {CODE_CHANGED}: show {pause.run_id} tells more"
    if not pause.eligible:
        yield f"  not yours to answer: {visible(pause.reason)}"


def _left(expires_at: float | None, now: float) -> str:
    if expires_at is None:
        return ""
    return f"in {span_of(max(expires_at - now, 1))}" if expires_at > now else "over"


def _at_expiry(on_expire: Json) -> str:
    """What happens to the call of a question that nobody answers in time."""
    if isinstance(on_expire, dict) and "value" in on_expire:
        return f"the run goes on with {visible(dumps_for_people(cast('dict[str, Json]', on_expire)['value']))}"
    return "the call fails"


def _option_line(option: Option) -> str:
    recommended = " (recommended)" if option.recommended else ""
    sub = f", {visible(option.sub)}" if option.sub else ""
    return f"{value_word(option.value)}: {visible(option.label)}{recommended}{sub}"


def indented(text: str, by: str) -> Iterator[str]:
    for line in visible(text, lines=True).split("\n"):
        yield by + line


def run_lines(detail: RunDetail, *, tree: bool) -> Iterator[str]:
    """One run: what it is, what it waits for, what was decided and what came of it."""
    run = detail.run
    yield f"{visible(run.tool)}  {run.status}"
    yield from _facts(run)
    if detail.pauses:
        yield ""
        yield f"waiting ({len(detail.pauses)})"
        for pause in detail.pauses:
            yield f"  pause {pause.id}"
            yield from (f"  {line}" for line in question_lines(pause))
    if detail.decisions:
        yield ""
        yield f"decisions ({len(detail.decisions)})"
        for decision in detail.decisions:
            yield from decision_lines(decision)
    if tree:
        yield ""
        yield from tree_lines(detail.calls, run.finished_at or time.time())
    elif detail.calls:
        yield ""
        yield f"{len(detail.calls)} calls: --tree shows them"


def _facts(run: Run) -> Iterator[str]:
    yield f"session   {run.id}"
    yield f"started   {moment(run.created_at)} by {visible(run.requested_by)}"
    if run.finished_at is not None:
        yield f"ended     {moment(run.finished_at)} after {span_of(run.finished_at - run.created_at)}"
    if run.wake_at is not None and not run.finished:
        yield f"wakes     {moment(run.wake_at)}"
    if run.pruned_at is not None:
        yield f"pruned    {moment(run.pruned_at)}: calls, questions and answers are gone, the run and its result stay"
    match run.raw.get("usage"):
        case {"total_tokens": int(total), "input_tokens": int(read), "output_tokens": int(written)}:
            yield f"tokens    {total:,} ({read:,} read, {written:,} written)"
        case _:
            pass
    if damage := run.raw.get("damage"):
        yield f"damaged   {visible(str(damage))}"
    yield from (f"warning   {visible(warning)}" for warning in run.warnings)
    yield f"input     {visible(dumps_for_people(run.input))}"
    if run.error is not None:
        code = run.error.get("code")
        yield f"error     {visible(str(run.error.get('message', '')))}" + (f" [{visible(str(code))}]" if code else "")
        if at := run.error.get("at"):
            yield f"thrown    at {visible(str(at))}"
    if run.status == "completed":
        yield "result"
        yield from indented(pretty(run.result), "  ")


def dumps_for_people(value: Json) -> str:
    """JSON on one line with characters as they are."""
    return " ".join(line.strip() for line in pretty(value).split("\n"))


def decision_lines(decision: Decision) -> Iterator[str]:
    """How one question ended, and what was said with it."""
    people = (", ".join(decision.voters) if decision.outcome == "answered" else "") or decision.by
    by = f" by {visible(people)}" if people else ""
    at = f" at {moment(decision.at)}" if decision.at else ""
    value = f" {visible(dumps_for_people(decision.value))}" if decision.outcome in {"answered", "refused"} else ""
    yield f"  {decision.outcome}{value}{by}{at}{_aftermath(decision)}"
    yield f"    {visible(decision.question)}"
    if decision.note:
        yield f"    note: {visible(decision.note)}"
    if decision.has_edits:
        yield f"    edits: {visible(dumps_for_people(decision.edits))}"


def _aftermath(decision: Decision) -> str:
    """What became of the call of a question that nobody answered."""
    if decision.outcome == "expired":
        return f": {_at_expiry(decision.on_expire)}"
    return ": the run went on or ended without an answer" if decision.outcome == "superseded" else ""


def tree_lines(calls: Sequence[Call], now: float) -> Iterator[str]:
    """The call tree, a line a call: name, kind, state and code, how long, and whether it was replayed."""
    known = {call.id for call in calls}
    children: dict[str | None, list[Call]] = {}
    for call in calls:
        children.setdefault(call.parent if call.parent in known else None, []).append(call)
    rows: list[list[str]] = []
    stack: list[tuple[Call, str, bool, bool]] = [(call, "", True, True) for call in reversed(children.get(None, []))]
    while stack:
        call, lead, last, top = stack.pop()
        branch = "" if top else "└─ " if last else "├─ "
        rows.append(
            [
                lead + branch + visible(call.name or call.kind),
                call.kind,
                _state_word(call),
                _took(call, now),
                _marks(call),
            ]
        )
        below = children.get(call.id, [])
        deeper = "" if top else lead + ("   " if last else "│  ")
        stack.extend((child, deeper, child is below[-1], False) for child in reversed(below))
    if rows:
        yield table(["CALL", "KIND", "STATE", "TOOK", ""], rows)


def _state_word(call: Call) -> str:
    word = {"unknown": "unknown: interrupted"}.get(call.state, call.state)
    return f"{word}: {visible(call.code)}" if call.code else word


def _took(call: Call, now: float) -> str:
    end = call.ended_at if call.ended_at is not None else now if call.state in {"running", "waiting"} else None
    return span_of(end - call.started_at) if end is not None else ""


def _marks(call: Call) -> str:
    message = visible(call.message) if call.message else ""
    return ", ".join(word for word in ("replayed" if call.replayed and call.state == "ok" else "", message) if word)
