"""Times and single lines as the lists show them."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale

MINUTE, HOUR, DAY = 60, 3600, 86400
SHORT = 12
"""Characters of a digest that are enough to tell versions of code apart."""


def span(seconds: float) -> str:
    """A length of time in one number: ``12s``, ``14m``, ``2h``, ``3d``."""
    seconds = max(0.0, seconds)
    if seconds < MINUTE:
        return QCoreApplication.translate("times", "{0}s").format(int(seconds))
    if seconds < HOUR:
        return QCoreApplication.translate("times", "{0}m").format(int(seconds // MINUTE))
    if seconds < 2 * DAY:
        return QCoreApplication.translate("times", "{0}h").format(int(seconds // HOUR))
    return QCoreApplication.translate("times", "{0}d").format(int(seconds // DAY))


def age(then: float, now: float) -> str:
    """How long ago: ``now`` under a minute, so that nothing ticks by the second."""
    if now - then < MINUTE:
        return QCoreApplication.translate("times", "now")
    return span(now - then)


def left(deadline: float, now: float) -> str:
    """How long until a deadline, or since when it has passed."""
    if deadline <= now:
        return QCoreApplication.translate("times", "{0} over").format(span(now - deadline))
    return QCoreApplication.translate("times", "{0} left").format(span(deadline - now))


def clock(moment: float) -> str:
    """The time of day in the operator's own format."""
    when = QDateTime.fromMSecsSinceEpoch(int(moment * 1000))
    return QLocale().toString(when.time(), QLocale.FormatType.ShortFormat)


def moment(at: float, now: float | None = None) -> str:
    """A time of today, or a date and a time. ``now`` is what today is told by; None: the clock of this machine."""
    when = QDateTime.fromMSecsSinceEpoch(int(at * 1000))
    today = QDateTime.currentDateTime() if now is None else QDateTime.fromMSecsSinceEpoch(int(now * 1000))
    if when.date() == today.date():
        return clock(at)
    return date_and_time(at)


def date_and_time(at: float) -> str:
    """In the operator's own format; without one (``LANG`` unset) as ISO 8601 has it."""
    when, locale = QDateTime.fromMSecsSinceEpoch(int(at * 1000)), QLocale()
    if locale.language() == QLocale.Language.C:
        return locale.toString(when, "yyyy-MM-dd HH:mm")
    return locale.toString(when, QLocale.FormatType.ShortFormat)


def first_line(text: str) -> str:
    """The first line with anything on it, blanks folded."""
    for line in text.splitlines():
        folded = " ".join(line.split())
        if folded:
            return folded
    return ""
