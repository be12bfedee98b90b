"""Editing a copy of the payload: a row a field, or the whole as JSON. What is not touched stays digit for digit."""

from __future__ import annotations

from typing import Final, cast

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from inbox_app.cards.field_row import FieldRow
from inbox_app.cards.payload_part import Payload
from inbox_app.gateway import schemas, values
from inbox_app.gateway.base import Json
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_1, SPACE_3, SPACE_4
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.hidden_banner import HiddenBanner
from inbox_app.widgets.hidden_text import escape_hidden
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.text_area import TextArea

FORM_FIELDS: Final = 200


class EditPanel(QWidget):
    """Holds the edited copy. It counts as an edit only when it differs from the original.

    ``reverting`` is emitted before the fields are made anew: take the focus away from them.
    """

    changed = Signal()
    reverting = Signal()
    rebuilt = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._original: Json = None
        self._schema: Json = None
        self._refusal = ""
        self._rows: dict[str, FieldRow] = {}
        self._form: QWidget | None = None
        self._about = PlainLabel(self.tr("Editing a copy. The original is kept."), theme, "meta", "muted", self)
        self._revert = ActionButton(theme, self.tr("Revert"), "flat", parent=self, height=BUTTON_ROW)
        self.banner = HiddenBanner(theme, self)
        self._state = PlainLabel("", theme, "meta", "muted", self, wrap=True)
        self._json = TextArea(theme, self.tr("Payload as JSON"), font="mono", lines=8, most=24, parent=self)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self._json)
        self._sent = Payload(theme, self.tr("What will be sent"), "", self)
        self._json.textChanged.connect(self._on_changed)
        self._revert.clicked.connect(self._on_revert)
        self._build()

    def show_value(self, original: Json, edited: str | None, schema: Json = None) -> None:
        """``edited`` is JSON text prepared earlier, possibly not (yet) valid. An edited copy has to fit ``schema``."""
        self._original = original
        self._schema = schema
        self._refusal = ""
        self._load(original, edited)

    def value(self) -> Json:
        """The edited copy. Raises `values.BadJsonError` while there is none that could be sent."""
        if not self.shows_form:
            return values.parse(self._json.text())
        edited = {key: row.value() for key, row in self._rows.items()}
        return edited if any(row.is_changed for row in self._rows.values()) else self._original

    def show_refusal(self, problem: str) -> None:
        """What the runtime found wrong with the edited copy, the path first; shown until it is changed."""
        self._refusal = problem
        self._refresh()

    def problem_field(self) -> str:
        """What is wrong, by name."""
        row = self._wrong_row()
        return row.key if row is not None else self.tr("the JSON")

    def go_to_problem(self) -> QWidget:
        row = self._wrong_row()
        if row is None:
            self._json.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return self._json
        row.focus_field()
        return row

    def go_to_hidden(self) -> QWidget | None:
        """Put the keyboard into the first field with characters that do not show."""
        row = next((row for row in self._rows.values() if row.hidden_count), None)
        if row is not None:
            row.focus_field()
        return row

    def _wrong_row(self) -> FieldRow | None:
        return next((row for row in self._rows.values() if row.problem()), None) if self.shows_form else None

    def problem(self) -> str:
        try:
            value = self.value()
        except values.BadJsonError as error:
            return str(error)
        return self._misfit(value)

    def _misfit(self, value: Json) -> str:
        """What about a changed value breaks the rules of the question."""
        if self._refusal or self._schema is None or not self._differs(value):
            return self._refusal
        return schemas.problem(self._schema, value)

    def _differs(self, value: Json) -> bool:
        return values.canonical(value) != values.canonical(self._original)

    @property
    def is_changed(self) -> bool:
        """Whether there is something to send; something that is not valid counts as changed."""
        try:
            return self._differs(self.value())
        except values.BadJsonError:
            return True

    def draft_text(self) -> str | None:
        """What to keep of it; None if nothing was changed."""
        if not self.is_changed:
            return None
        if not self.shows_form:
            return self._json.text()
        try:
            return _json_text(self.value())
        except values.BadJsonError:
            kept = {key: row.value() for key, row in self._rows.items() if not row.problem()}
            return _json_text({**(_fields(self._original) or {}), **kept})

    def set_closed(self, closed: bool) -> None:
        self._json.set_locked(closed)
        for row in self._rows.values():
            row.set_closed(closed)
        self._revert.setVisible(not closed)

    @property
    def has_form(self) -> bool:
        """Whether there can be a form at all: only for an object that is not too wide."""
        return self._form is not None

    @property
    def shows_form(self) -> bool:
        return self._form is not None and self._pages.currentWidget() is self._form

    def show_form(self) -> bool:
        """Go on in the form; False, with the reason on the screen, if the JSON does not fit it."""
        if self.shows_form:
            return True
        if self._form is None or not self._put(self._json.text()):
            self._state.setText(self.tr("This cannot be shown as a form: {why}").format(why=self._why_no_form()))
            return False
        self._pages.setCurrentWidget(self._form)
        self._on_changed()
        return True

    def show_json(self) -> None:
        """Go on in the JSON text."""
        if self.shows_form:
            text = self.draft_text()
            self._set_json(text if text is not None else _json_text(self._original))
            self._pages.setCurrentWidget(self._json)
            self._on_changed()

    def _build(self) -> None:
        theme = self._theme
        top = QHBoxLayout()
        top.setSpacing(theme.px(SPACE_3))
        top.addWidget(self._about, 1)
        top.addWidget(self._revert)
        column = QVBoxLayout(self)
        ring = theme.px(SPACE_1)
        column.setContentsMargins(0, ring, theme.px(SPACE_3), ring)
        column.setSpacing(theme.px(SPACE_4))
        column.addLayout(top)
        column.addWidget(self.banner)
        column.addWidget(self._pages)
        column.addWidget(self._state)
        column.addWidget(self._sent)
        column.addStretch(1)

    def _load(self, original: Json, edited: str | None) -> None:
        self._rows = {}
        old, self._form = self._form, None
        fields = _fields(original)
        if fields and len(fields) <= FORM_FIELDS:
            self._form = self._make_form(fields)
            self._pages.addWidget(self._form)
        if old is not None:
            self._pages.removeWidget(old)
            old.deleteLater()
        fits = self._form is not None and (edited is None or self._put(edited))
        self._set_json(edited if edited is not None else _json_text(original))
        self._pages.setCurrentWidget(self._form if fits and self._form is not None else self._json)
        self._refresh()

    def _make_form(self, original: dict[str, Json]) -> QWidget:
        form = QWidget(self)
        column = QVBoxLayout(form)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self._theme.px(SPACE_1))
        for key, value in original.items():
            row = FieldRow(self._theme, key, value, form)
            row.changed.connect(self._on_changed)
            self._rows[key] = row
            column.addWidget(row)
        column.addStretch(1)
        return form

    def _put(self, text: str) -> bool:
        """Fill the form from JSON text; False if it does not fit the fields."""
        try:
            value = values.parse(text)
        except values.BadJsonError:
            return False
        fields = _fields(value)
        if fields is None:
            return False
        if list(fields) != list(self._rows) or not all(row.fits(fields[key]) for key, row in self._rows.items()):
            return False
        for key, row in self._rows.items():
            row.set_value(fields[key])
        return True

    def _set_json(self, text: str) -> None:
        self._json.blockSignals(True)
        self._json.set_text(text)
        self._json.blockSignals(False)

    def _why_no_form(self) -> str:
        return self.problem() or self.tr("fields were added, removed, moved or changed their type")

    @Slot()
    def _on_revert(self) -> None:
        self.reverting.emit()
        self._load(self._original, None)
        self.rebuilt.emit()
        self.changed.emit()

    @Slot()
    def _on_changed(self) -> None:
        self._refusal = ""
        self._refresh()
        self.changed.emit()

    def _refresh(self) -> None:
        problem = self.problem()
        for key, row in self._rows.items():
            row.set_misfit(problem if schemas.is_about(problem, key) else "")
        hidden = [row for row in self._rows.values() if row.hidden_count] if self.shows_form else []
        self.banner.show_count(sum(row.hidden_count for row in hidden), hidden[0].key if hidden else "")
        self._json.set_wrong(bool(problem) and not self.shows_form)
        self._sent.setVisible(not problem and self.is_changed)
        if not self._sent.isHidden():
            self._sent.show_edited(self._original, self.value())
        self._state.set_role("failed" if problem else "muted")
        if problem:
            self._state.setText(problem)
        elif self.shows_form:
            count = sum(row.is_changed for row in self._rows.values())
            text = self.tr("{changed} of {count} fields changed").format(changed=count, count=len(self._rows))
            self._state.setText(text if count else self.tr("Nothing changed"))
        else:
            self._state.setText(self.tr("Changed") if self.is_changed else self.tr("Nothing changed"))


def _fields(value: object) -> dict[str, Json] | None:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None


def _json_text(value: Json) -> str:
    return escape_hidden(values.pretty(value))
