"""A field for one JSON value, typed or pasted: what it is, or where it goes wrong."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QCoreApplication, Qt, Signal, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inbox_app.gateway import values
from inbox_app.gateway.base import Json
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_1
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.text_area import TextArea

translate = QCoreApplication.translate


class JsonField(QWidget):
    """``set_text`` counts as no change by the operator."""

    changed = Signal()

    def __init__(
        self, theme: Theme, name: str, *, lines: int = 2, most: int = 14, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.area = TextArea(theme, name, font="mono", lines=lines, most=most, parent=self)
        self._state = PlainLabel("", theme, "meta", "muted", self, wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(self.area)
        column.addWidget(self._state)
        self.setFocusProxy(self.area)
        self.area.textChanged.connect(self._on_text_changed)
        self._show_state()

    def text(self) -> str:
        return self.area.text()

    def set_text(self, text: str) -> None:
        self.area.blockSignals(True)
        self.area.set_text(text)
        self.area.blockSignals(False)
        self._show_state()

    def set_locked(self, locked: bool) -> None:
        self.area.set_locked(locked)

    @property
    def is_blank(self) -> bool:
        return not self.area.text().strip()

    def value(self) -> Json:
        """Raises `values.BadJsonError`, also for a blank field."""
        return values.parse(self.area.text())

    def problem(self) -> str:
        """Why the text is no JSON value; "" if it is one."""
        error = self._error()
        return str(error) if error is not None else ""

    def focus_field(self) -> None:
        self.area.setFocus(Qt.FocusReason.OtherFocusReason)

    def _error(self) -> values.BadJsonError | None:
        try:
            self.value()
        except values.BadJsonError as error:
            return error
        return None

    def _show_state(self) -> None:
        """One line that is always there, so that nothing moves while somebody types."""
        error = None if self.is_blank else self._error()
        self.area.set_wrong(error is not None)
        self.area.mark_place(error.line if error else 0, error.column if error else 0)
        self._state.set_role("failed" if error else "muted")
        if error is not None:
            self._state.setText(str(error))
        else:
            self._state.setText("" if self.is_blank else kind_of(self.value()))

    @Slot()
    def _on_text_changed(self) -> None:
        self._show_state()
        self.changed.emit()


def kind_of(value: Json) -> str:
    """What kind of value it is, as the operator should know before it is used."""
    if value is None:
        return translate("JsonField", "null: no value")
    if isinstance(value, bool):
        return translate("JsonField", "yes or no (true or false)")
    if isinstance(value, str):
        return translate("JsonField", "text, {0} characters").format(len(value))
    if isinstance(value, int | float):
        return translate("JsonField", "number")
    count = len(cast("list[Json] | dict[str, Json]", value))
    if isinstance(value, dict):
        return translate("JsonField", "object, {0} fields").format(count)
    return translate("JsonField", "list, {0} items").format(count)
