"""What is said where nothing can be listed or read: why, and what to do."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from inbox_app.models.wording import clock
from inbox_app.views.history import History
from inbox_app.views.inbox import Inbox
from inbox_app.views.link import Link
from inbox_app.views.problems import problem_lines, problem_roots
from inbox_app.widgets.empty_state import EmptyState

translate = QCoreApplication.translate


def reading_words(link: Link, inbox: Inbox, history: History, view: str) -> tuple[str, str]:
    """In place of a question or run: a heading, and what to do. Two empty texts if there is nothing to say."""
    choose = translate("Idle", "J and K move through the list, Enter opens.")
    if link.problem is not None:
        listed = problem_lines(link.problem)
        return unavailable(link), translate("Idle", "The list says why.") if listed else link.problem.message
    if view == "history":
        return (translate("Idle", "Choose a run"), choose) if history.has_rows else ("", "")
    if not inbox.loaded:
        return ("", "") if link.is_fresh else (translate("Idle", "Opening the runtime…"), "")
    if inbox.has_rows:
        return translate("Idle", "Choose a question"), choose
    more = translate("Idle", "Runs that go on or have ended are in the history.")
    return translate("Idle", "Nothing is waiting"), more


def show_empty(empty: EmptyState, link: Link, inbox: Inbox) -> None:
    """In place of the list of questions."""
    if link.problem is not None:
        lines = problem_lines(link.problem)
        text = link.problem.message
        if lines:
            text = translate("Idle", "Cannot be used: {0}").format(", ".join(problem_roots(link.problem)))
        again = translate("Idle", "Try again")
        empty.show_text("triangle-alert", unavailable(link), text, again, "failed", lines)
    elif inbox.loaded:
        text = translate("Idle", "{0} was last heard at {1}. A question is listed here as soon as a run asks it.")
        text = text.format(link.name, clock(link.heard_at))
        empty.show_text("inbox", translate("Idle", "Nothing is waiting"), text)
    elif link.is_fresh:
        empty.show_text("", "", "")
    else:
        empty.show_text("inbox", translate("Idle", "Opening the runtime…"), "")


def unavailable(link: Link) -> str:
    return translate("Idle", "{0} is not available").format(link.name)


def health_line(link: Link) -> str:
    if link.problem:
        return translate("Idle", "unreachable")
    return translate("Idle", "live · this computer") if link.health == "live" else translate("Idle", "opening")
