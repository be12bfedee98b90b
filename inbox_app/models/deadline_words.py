"""What becomes of a question that nobody answers in time, in words. Silence never approves."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QCoreApplication

from inbox_app.gateway import values
from inbox_app.gateway.base import Json

VALUE_CHARACTERS = 60

translate = QCoreApplication.translate


def then(on_expire: Json) -> str:
    """What will happen, to follow a time."""
    value = _value(on_expire)
    if value is None:
        return translate("Deadline", "the call fails, nothing is approved")
    return translate("Deadline", "{value} is taken as the answer").format(value=value)


def then_short(on_expire: Json) -> str:
    """The same for a row of a list."""
    value = _value(on_expire)
    return translate("Deadline", "then fails") if value is None else translate("Deadline", "then {0}").format(value)


def what_happened(on_expire: Json) -> str:
    """What did happen, as a sentence without its full stop."""
    value = _value(on_expire)
    if value is None:
        return translate("Deadline", "Expired: nobody answered in time, the call failed and nothing was approved")
    text = translate("Deadline", "Expired: nobody answered in time, {value} was taken as the answer")
    return text.format(value=value)


def _value(on_expire: Json) -> str | None:
    """The value the author wrote for this case, as JSON; None if the call fails."""
    if isinstance(on_expire, dict) and "value" in on_expire:
        return values.compact(cast("dict[str, Json]", on_expire)["value"], VALUE_CHARACTERS)
    return None
