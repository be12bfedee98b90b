"""Automations and their starts in words, with the icon and the colour of each state."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale

from inbox_app.gateway.automations import Automation, Firing
from inbox_app.models.agent_names import AgentNames
from inbox_app.models.wording import date_and_time, first_line, moment, span
from inbox_app.theme.tokens import Role
from inbox_app.widgets.hidden_text import reveal

_MARKS: dict[str, tuple[str, Role]] = {
    "running": ("circle-dashed", "muted"),
    "waiting": ("hand", "due"),
    "completed": ("circle-check", "answered"),
    "failed": ("triangle-alert", "failed"),
    "skipped": ("skip-forward", "muted"),
    "unknown": ("circle-question-mark", "due"),
}
_WAITING = frozenset({"awaiting-input", "needs-attention"})


def title(automation: Automation) -> str:
    """What it is called: its label, or what it starts."""
    if automation.label:
        return reveal(first_line(automation.label))
    if automation.origin == "file":
        return reveal(automation.name)
    return reveal(automation.tool or first_line(automation.prompt))


def target(automation: Automation, names: AgentNames | None = None) -> str:
    """What it starts, by the names that agents are shown under."""
    translate, names = QCoreApplication.translate, names or AgentNames()
    if not automation.tool:
        return translate("automations", "Agent {0}").format(reveal(names.of(automation.repository, automation.agent)))
    where = names.where(automation.repository)
    tool = f"{automation.tool} · {where}" if where else automation.tool
    return translate("automations", "Tool {0}").format(reveal(tool))


def schedule(automation: Automation) -> str:
    if not automation.is_timed:
        return QCoreApplication.translate("automations", "By hand only")
    return reveal(automation.in_words)


def mark(automation: Automation) -> tuple[str, Role]:
    if automation.problem:
        return "triangle-alert", "failed" if automation.enabled else "muted"
    return ("clock", "text") if automation.enabled else ("circle-pause", "muted")


def due(automation: Automation, now: float) -> str:
    """How long until the next start; whether it is off."""
    translate = QCoreApplication.translate
    if not automation.enabled:
        return translate("automations", "off") if automation.is_timed else ""
    if automation.next_at is None:
        return ""
    return until(automation.next_at, now)


def until(at: float, now: float) -> str:
    if at <= now:
        return QCoreApplication.translate("automations", "now")
    return QCoreApplication.translate("automations", "in {0}").format(span(at - now))


def day_and_time(at: float) -> str:
    """With the day of the week: schedules are thought of in weeks."""
    when = QDateTime.fromMSecsSinceEpoch(int(at * 1000))
    locale = QLocale()
    day = locale.dayName(when.date().dayOfWeek(), QLocale.FormatType.ShortFormat)
    return f"{day} {date_and_time(at)}"


def next_line(automation: Automation, now: float) -> str:
    """When it is due next, at the clock and from now; why it is not."""
    translate = QCoreApplication.translate
    if automation.gone:
        return translate("automations", "Its file is there no more, so it is off")
    if not automation.is_timed:
        return translate("automations", "Nothing starts it but you")
    if not automation.enabled:
        return translate("automations", "Off: it is not started")
    if automation.next_at is None:
        return translate("automations", "It has no next time")
    words = translate("automations", "Next {0}, {1}")
    return words.format(day_and_time(automation.next_at), until(automation.next_at, now))


def state_of(firing: Firing) -> str:
    """A start whose run asks somebody is ``waiting``."""
    return "waiting" if firing.state == "running" and firing.status in _WAITING else firing.state


def firing_mark(firing: Firing) -> tuple[str, Role]:
    return _MARKS.get(state_of(firing), _MARKS["unknown"])


def firing_state(firing: Firing) -> tuple[str, Role]:
    translate = QCoreApplication.translate
    words = {
        "running": translate("automations", "Running"),
        "waiting": translate("automations", "Waits for an answer"),
        "completed": translate("automations", "Completed"),
        "failed": translate("automations", "Failed"),
        "skipped": translate("automations", "Skipped"),
        "unknown": translate("automations", "Not known how it ended"),
    }
    state = state_of(firing)
    role: Role = "muted" if state in {"completed", "skipped", "running"} else firing_mark(firing)[1]
    return words.get(state, words["unknown"]), role


def standing(automation: Automation) -> tuple[str, Role]:
    """Whether it can be started at all, else how its last start went."""
    if automation.problem:
        return QCoreApplication.translate("automations", "Cannot be started"), "failed"
    return firing_state(automation.last) if automation.last is not None else ("", "muted")


def firing_title(firing: Firing, now: float) -> str:
    translate = QCoreApplication.translate
    if firing.source == "manual":
        return translate("automations", "By hand, {0}").format(moment(firing.started_at, now))
    if firing.late:
        late = span(firing.started_at - firing.due_at)
        return translate("automations", "{0}, {1} late").format(day_and_time(firing.due_at), late)
    return day_and_time(firing.due_at)


def firing_detail(firing: Firing) -> str:
    """What went wrong, or what it began and how long it took."""
    translate = QCoreApplication.translate
    if firing.error:
        return reveal(first_line(firing.error))
    parts: list[str] = []
    if firing.session_id:
        words = translate("automations", "Run {0}") if firing.is_run else translate("automations", "Conversation {0}")
        parts.append(words.format(reveal(firing.session_id)))
    if firing.ended_at is not None:
        parts.append(translate("automations", "took {0}").format(span(firing.ended_at - firing.started_at)))
    return " · ".join(parts)
