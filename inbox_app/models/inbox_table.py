"""The waiting questions as rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QObject

from inbox_app.models.deadline_words import then_short
from inbox_app.models.outcome_words import outcome
from inbox_app.models.row_table import RowTable
from inbox_app.models.wording import age, first_line, left, span
from inbox_app.state.requests import Entry, Group, Header, Row
from inbox_app.theme.tokens import Role
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.row_delegate import HeadLook, RowLook

KNOWN_TYPES = frozenset({"text", "choice", "yesno"})


class InboxTable(RowTable[Row]):
    """`state.requests` for a view. Ages are counted when a row is drawn."""

    def __init__(self, parent: QObject, clock: Callable[[], float] = time.time) -> None:
        super().__init__(parent)
        self._clock = clock

    def row_id(self, row: Row) -> str:
        return row.id if isinstance(row, Entry) else ""

    def look(self, row: Row) -> RowLook | HeadLook:
        if isinstance(row, Header):
            return HeadLook(_group_title(row.group), _group_order(row.group))
        now = self._clock()
        pause = row.pause
        icon, icon_role = _icon(row, now)
        word, word_role, word_icon = _word(row, now)
        due = pause.expires_at is not None and not row.gone
        urgent = due and not pause.is_over(now)
        return RowLook(
            icon=icon,
            icon_role=icon_role,
            title=_question(row),
            strong=row.new and not row.gone and pause.eligible,
            when=left(pause.expires_at, now) if due and pause.expires_at else age(pause.asked_at, now),
            when_role="due" if urgent else "muted",
            when_strong=urgent,
            detail=_detail(row),
            word=word,
            word_role=word_role,
            word_icon="" if word_icon == icon else word_icon,
        )

    def spoken(self, row: Row) -> str:
        if isinstance(row, Header):
            return f"{_group_title(row.group)}, {_group_order(row.group)}"
        look = self.look(row)
        assert isinstance(look, RowLook)
        return ", ".join(part for part in (look.title, look.word, look.when, look.detail) if part)


def _question(row: Entry) -> str:
    return reveal(first_line(row.pause.question)) or QCoreApplication.translate("inbox", "No question text")


def _detail(row: Entry) -> str:
    pause = row.pause
    path = " › ".join(reveal(first_line(name)) for name in pause.path or (pause.tool,))
    then = [reveal(then_short(pause.on_expire))] if pause.expires_at is not None and not row.gone else []
    return " · ".join([pause.connection, *then, path])


class _Closed(NamedTuple):
    word: str
    role: Role
    icon: str


def _closed(row: Entry, now: float) -> _Closed | None:
    """How a question ended that is still listed; None while it may be answered or an answer is on its way."""
    translate = QCoreApplication.translate
    if not row.gone and not row.mark and row.pause.is_over(now):
        return _Closed(translate("Outcome", "Expired"), "expired", "timer-off")
    if row.mark == "answered" and row.outcome in {"", "answered"}:
        return _Closed(translate("inbox", "Answered"), "answered", "circle-check")
    if not row.gone or (row.mark == "sending" and row.outcome in {"", "answered", "refused"}):
        return None
    if row.outcome == "answered":
        return _Closed(translate("inbox", "Elsewhere"), "muted", "user-x")
    ended = outcome(row.outcome)
    if ended is None:
        return _Closed(translate("inbox", "No longer open"), "muted", "circle-minus")
    return _Closed(ended.word, ended.role, ended.icon)


def _icon(row: Entry, now: float) -> tuple[str, Role]:
    """The state icon: the first fact that is true, strongest first."""
    pause = row.pause
    closed = _closed(row, now)
    if closed is not None:
        return closed.icon, closed.role
    facts: tuple[tuple[bool, str, Role], ...] = (
        (row.mark == "failed", "triangle-alert", "failed"),
        (row.mark == "held", "undo-2", "held"),
        (row.mark == "sending", "arrow-up-right", "sent"),
        (pause.stopped, "git-compare", "failed"),
        (pause.votes is not None and pause.votes.mine, "users", "waiting"),
        (not pause.eligible, "lock", "muted"),
        (pause.kind == "attention", "triangle-alert", "due"),
        (pause.expires_at is not None, "clock", "due"),
        (row.mark == "draft", "pencil", "draft"),
        (pause.votes is not None, "users", "waiting"),
        (row.again, "circle-pause", "waiting"),
        (row.new, "dot", "waiting"),
    )
    for true, icon, role in facts:
        if true:
            return icon, role
    return "ring", "waiting"


def _word(row: Entry, now: float) -> tuple[str, Role, str]:
    """The one state word of a row, its colour, and the icon that says the same."""
    translate = QCoreApplication.translate
    pause = row.pause
    closed = _closed(row, now)
    if closed is not None:
        return closed.word, closed.role, closed.icon
    if row.mark == "failed":
        return translate("inbox", "Failed to send"), "failed", "triangle-alert"
    if row.mark == "held":
        rest = span(math.ceil((row.mark_until or now) - now))
        return translate("inbox", "Held {0}").format(rest), "held", "undo-2"
    if row.mark == "sending":
        return translate("inbox", "Sending"), "sent", "arrow-up-right"
    if pause.stopped:
        return translate("inbox", "Run stopped"), "failed", "git-compare"
    votes = translate("inbox", "{0} of {1}").format(pause.votes.given, pause.votes.needed) if pause.votes else ""
    if pause.votes is not None and pause.votes.mine:
        return translate("inbox", "Counted, {0}").format(votes), "waiting", "users"
    if not pause.eligible:
        return translate("inbox", "Not yours"), "muted", "lock"
    if row.mark == "draft":
        return translate("inbox", "Draft"), "draft", "pencil"
    if pause.kind == "attention":
        return translate("inbox", "Needs attention"), "due", "triangle-alert"
    if pause.input_type not in KNOWN_TYPES and pause.kind == "input":
        return translate("inbox", "Unknown type"), "due", "circle-question-mark"
    if votes:
        return votes, "waiting", "users"
    if row.again:
        return translate("inbox", "Asks again"), "muted", "circle-pause"
    if row.new:
        return translate("inbox", "New"), "muted", ""
    return translate("inbox", "Read"), "muted", ""


def _group_title(group: Group) -> str:
    translate = QCoreApplication.translate
    if group == "due":
        return translate("inbox", "Due soon")
    if group == "waiting":
        return translate("inbox", "Waiting")
    return translate("inbox", "Others act first")


def _group_order(group: Group) -> str:
    translate = QCoreApplication.translate
    return translate("inbox", "by deadline") if group == "due" else translate("inbox", "newest first")
