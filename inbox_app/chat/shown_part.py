"""Data that the agent presents: rows as a table, an object by its fields, a text as text, anything else as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from PySide6.QtWidgets import QVBoxLayout, QWidget

from inbox_app.cards.base import short_label
from inbox_app.chat.part import Part
from inbox_app.chat.value_box import ValueBox
from inbox_app.gateway.base import Json
from inbox_app.gateway.chats import Shown
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_1
from inbox_app.widgets.data_table import DataTable
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.prose import Prose

MOST_COLUMNS = 30


class ShownPart(Part):
    def __init__(self, theme: Theme, shown: Shown, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        title = short_label(shown.widget) or self.tr("Data")
        self.setAccessibleName(title)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        rows = rows_of(shown.data)
        if rows is not None or isinstance(shown.data, str):
            column.addWidget(PlainLabel(title, theme, "label", "muted", self))
        if rows is not None:
            column.addWidget(DataTable(theme, title, rows, self))
        elif isinstance(shown.data, str):
            words = Prose(theme, title, parent=self)
            words.show_text(shown.data)
            column.addWidget(words)
        else:
            box = ValueBox(theme, title, self)
            box.show_value(shown.data)
            column.addWidget(box)


def rows_of(data: Json) -> Sequence[Mapping[str, Any]] | None:
    """The rows of a list of objects, also if it stands alone under one name; None for anything else."""
    if isinstance(data, dict):
        fields = list(cast("dict[str, Json]", data).values())
        data = fields[0] if len(fields) == 1 else None
    if not isinstance(data, list) or not data:
        return None
    rows = cast("list[Any]", data)
    if not all(isinstance(row, dict) for row in rows):
        return None
    names = {name for row in rows for name in row}
    return rows if names and len(names) <= MOST_COLUMNS else None
