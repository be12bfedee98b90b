"""A form for any JSON Schema, and the same value as JSON text beside it: nothing is lost on the way there and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.cards.json_field import JsonField
from inbox_app.gateway import schemas, values
from inbox_app.gateway.base import Json
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_3
from inbox_app.tools_panel.fields import Wrong, json_text
from inbox_app.tools_panel.groups import Making
from inbox_app.tools_panel.row import Row
from inbox_app.tools_panel.shapes import Schema
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.segments import Segments

CHECK_MS: Final = 120
JSON_LINES: Final = 24
_FORM, _JSON = 0, 1


class SchemaForm(QWidget):
    """``changed``: the operator changed the value; ``checked``: what is wrong with it may be different now."""

    changed = Signal()
    checked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._schema: Json = None
        self._root: Row | None = None
        self._misfits: Sequence[schemas.Misfit] = ()
        self._tells_missing = False
        self._modes = Segments(theme, self.tr("Form or JSON"), [self.tr("Form"), self.tr("JSON")], self)
        self._why = MarkedLabel("", theme, "meta", "failed", self)
        self._why.hide()
        self._json = JsonField(theme, self.tr("Input as JSON"), lines=8, most=JSON_LINES, parent=self)
        self._form = QWidget(self)
        self._form_column = QVBoxLayout(self._form)
        self._form_column.setContentsMargins(0, 0, 0, 0)
        self.top = QHBoxLayout()
        self.top.setSpacing(theme.px(SPACE_3))
        self.top.addWidget(self._modes)
        self.top.addWidget(self._why, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_3))
        column.addLayout(self.top)
        column.addWidget(self._form)
        column.addWidget(self._json)
        self._checking = QTimer(self)
        self._checking.setSingleShot(True)
        self._checking.setInterval(CHECK_MS)
        self._checking.timeout.connect(self.check)
        self._modes.currentChanged.connect(self._on_mode_chosen)
        self._json.changed.connect(self._on_changed)

    def show_schema(self, schema: Json) -> None:
        """Begin anew, with nothing filled in."""
        self._schema = schema
        self._tells_missing = False
        self._misfits = ()
        if self._root is not None:
            self._form_column.removeWidget(self._root)
            self._root.hide()
            self._root.deleteLater()
        known = Schema(schema if isinstance(schema, dict) and schema else {"type": "object"})
        root = Making(self._theme, known).row(known.whole, "", "", self._form, always=True)
        self._root = root
        root.start()
        root.changed.connect(self._on_changed)
        self._form_column.addWidget(root)
        root.show()
        self._json.set_text("")
        self._show_mode(_FORM)
        self.check()

    def text(self) -> str:
        """What is filled in as JSON text, also while it is none yet."""
        return self._json.text() if self.shows_json or self._root is None else self._root.text()

    def put_text(self, text: str) -> None:
        """Show text that `text` gave: in the form if it is JSON, else as it is."""
        try:
            self.set_value(values.parse(text))
        except values.BadJsonError:
            self._json.set_text(text)
            self._show_mode(_JSON)
            self.check()

    def value(self) -> Json:
        """Raises `values.BadJsonError` while there is none."""
        bad = next((wrong for wrong in self.wrong() if wrong.is_bad), None)
        if bad is not None:
            raise values.BadJsonError(f"{bad.spoken} {bad.problem}".strip())
        return values.parse(self.text())

    def set_value(self, value: Json) -> None:
        assert self._root is not None
        self._root.show_value(value)
        self._json.set_text(json_text(value))
        self._show_mode(_FORM)
        self.check()

    @property
    def shows_json(self) -> bool:
        return not self._json.isHidden()

    def show_json(self) -> None:
        if not self.shows_json:
            self._json.set_text(self.text())
            self._show_mode(_JSON)
            self.check()

    def show_form(self) -> bool:
        """Go on in the form; False, with the reason on the screen, if the text is no JSON."""
        if self.shows_json:
            try:
                self.set_value(values.parse(self._json.text()))
            except values.BadJsonError as error:
                self._show_mode(_JSON)
                self._why.show_text(self.tr("This is no JSON yet: {0}").format(error))
                self._why.show()
                return False
        return True

    def wrong(self) -> list[Wrong]:
        """The places of the form with a problem, in its order; none while it shows JSON."""
        return [] if self.shows_json or self._root is None else list(self._root.wrong())

    def misfits(self) -> Sequence[schemas.Misfit]:
        """Where the value breaks the schema, as far as there is a value; see `check`."""
        return self._misfits

    def tell_missing(self) -> None:
        """From now on say at its place what has to be there and is not."""
        self._tells_missing = True
        self.check()

    def focus_problem(self) -> QWidget | None:
        """Put the keyboard where the first problem is."""
        if self.shows_json:
            self._json.focus_field()
            return self._json
        first = next(iter(self.wrong()), None)
        if first is not None:
            first.focus_field()
        return first if isinstance(first, QWidget) else None

    def focus_first(self) -> None:
        if self.shows_json:
            self._json.focus_field()
        elif self._root is None or not self._root.focus_field():
            self._modes.setFocus(Qt.FocusReason.ShortcutFocusReason)

    @Slot()
    def check(self) -> None:
        """Look again at what breaks the schema, and say so at the fields."""
        self._checking.stop()
        try:
            self._misfits = schemas.misfits(self._schema, self.value())
        except values.BadJsonError:
            self._misfits = ()
        if self._root is not None and not self.shows_json:
            self._root.show_misfits(self._misfits, missing=self._tells_missing)
        self.checked.emit()

    def _show_mode(self, mode: int) -> None:
        self._why.hide()
        self._modes.blockSignals(True)
        self._modes.setCurrentIndex(mode)
        self._modes.blockSignals(False)
        self._modes.update()
        shown, hidden = (self._form, self._json) if mode == _FORM else (self._json, self._form)
        if hidden.isAncestorOf(self.window().focusWidget() or self.window()):
            self._modes.setFocus()
        hidden.hide()
        shown.show()

    @Slot(int)
    def _on_mode_chosen(self, mode: int) -> None:
        if mode == _JSON:
            self.show_json()
        elif self.show_form():
            self.changed.emit()

    @Slot()
    def _on_changed(self) -> None:
        self._why.hide()
        self._checking.start()
        self.changed.emit()
