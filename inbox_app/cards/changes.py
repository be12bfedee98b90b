"""What an edit changes, a row each: the field, what it is now and what it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inbox_app.gateway import values
from inbox_app.gateway.base import Json
from inbox_app.theme.theme import Theme
from inbox_app.widgets.marked_label import MarkedLabel

VALUE: Final = 120
MOST_ROWS: Final = 50

translate: Callable[[str, str], str] = QCoreApplication.translate


class ChangeList(QWidget):
    """Made anew for every edit; empty while nothing is changed."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._labels: list[MarkedLabel] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.hide()

    def show_changes(self, before: Json, after: Json) -> None:
        rows = changes(before, after)
        shown = rows[:MOST_ROWS]
        if len(rows) > MOST_ROWS:
            shown.append(translate("Changes", "{count} more").format(count=len(rows) - MOST_ROWS))
        while len(self._labels) < len(shown):
            label = MarkedLabel("", self._theme, "mono", "draft", self)
            self._labels.append(label)
            self._column.addWidget(label)
        for at, label in enumerate(self._labels):
            label.show_text(shown[at] if at < len(shown) else "")
            label.setVisible(at < len(shown))
        self.setVisible(bool(shown))


def changes(before: Json, after: Json) -> list[str]:
    """A line for each field that is different, or one for the whole if it is not an object any more."""
    if values.canonical(before) == values.canonical(after):
        return []
    if not isinstance(before, dict) or not isinstance(after, dict):
        return [_whole(before, after)]
    old, new = cast("dict[str, Json]", before), cast("dict[str, Json]", after)
    lines: list[str] = []
    for key in [*old, *(key for key in new if key not in old)]:
        if key not in new:
            text = translate("Changes", "{field}: left out, was {was}")
        elif key not in old:
            text = translate("Changes", "{field}: {now}, new")
        elif values.canonical(old[key]) != values.canonical(new[key]):
            text = translate("Changes", "{field}: {now}, was {was}")
        else:
            continue
        lines.append(text.format(field=key, now=_short(new.get(key)), was=_short(old.get(key))))
    return lines


def _whole(before: Json, after: Json) -> str:
    kind = _kind(after)
    if kind == _kind(before):
        return translate("Changes", "The payload was {was}").format(was=_short(before))
    return translate("Changes", "The payload is now {kind}. It was {was}").format(kind=kind, was=_short(before))


def _short(value: Json) -> str:
    return values.compact(value, VALUE)


def _kind(value: object) -> str:
    if value is None:
        return translate("Changes", "empty (null)")
    if isinstance(value, bool):
        return translate("Changes", "true or false")
    if isinstance(value, str):
        return translate("Changes", "a text")
    if isinstance(value, dict):
        return translate("Changes", "an object")
    return translate("Changes", "a list") if isinstance(value, list | tuple) else translate("Changes", "a number")
