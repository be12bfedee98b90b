"""Fields whose value is written as JSON, because no other field can hold it."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from inbox_app.cards.json_field import JsonField
from inbox_app.gateway import values
from inbox_app.gateway.base import Json
from inbox_app.theme.theme import Theme
from inbox_app.tools_panel.fields import Field, json_text
from inbox_app.tools_panel.shapes import Shape
from inbox_app.widgets.plain_label import PlainLabel


class JsonPart(Field):
    """Whatever no other field can hold, as JSON."""

    def __init__(self, theme: Theme, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(theme, name, shape, parent, keeps=keeps)
        self.is_block = True
        self._json = JsonField(theme, self.tr("{0}, as JSON").format(name), lines=2, parent=self)
        self._json.area.setPlaceholderText(self._hint() or self.tr("JSON; a text stands in double quotes"))
        self._column.addWidget(self._json)
        self.setFocusProxy(self._json)
        self._json.changed.connect(self._on_changed)

    @property
    def is_given(self) -> bool:
        return not self._json.is_blank

    def text(self, lead: str = "") -> str:
        try:
            return json_text(self._json.value(), lead)
        except values.BadJsonError:
            return self._json.text()

    def take(self, value: Json) -> bool:
        self._json.set_text(json_text(value))
        return True

    def clear(self) -> None:
        self._json.set_text("")

    def problem(self) -> str:
        return self._json.problem() if self.is_given else ""


class LargePart(JsonPart):
    """An object with more fields than a form can show, as JSON; it says so."""

    can_be_empty = True

    def __init__(self, theme: Theme, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(theme, name, shape, parent, keeps=keeps)
        why = self.tr("{0} fields are too many for a form. Write them as JSON.").format(len(shape.properties))
        self._column.insertWidget(0, PlainLabel(why, theme, "meta", "muted", self, wrap=True))

    def give(self) -> None:
        if not self.is_given:
            self.take({})
