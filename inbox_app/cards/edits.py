"""Editing a copy of the payload: a row a field, or the whole as JSON. What is not touched stays digit for digit."""

from __future__ import annotations

from typing import Final, cast

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from inbox_app.gateway import values
from inbox_app.gateway.base import Json
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_1, SPACE_3, SPACE_4
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.check_box import CheckBox
from inbox_app.widgets.hidden_text import count_hidden, escape_hidden, reveal
from inbox_app.widgets.line_field import LineField
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.text_area import TextArea

FORM_FIELDS: Final = 200
ONE_LINE: Final = 200
KEY_WIDTH, TYPE_WIDTH, MARK_WIDTH, ROW, NARROW = 128, 128, 104, 32, 560


class FieldRow(QWidget):
    """One field of an object: key, value, what it was, type, mark."""

    changed = Signal()

    def __init__(self, theme: Theme, key: str, original: Json, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._key = key
        self._original = original
        self._line: LineField | None = None
        self._area: TextArea | None = None
        self._check: CheckBox | None = None
        self._was = PlainLabel("", theme, "mono", "muted", self, elide=True)
        self._mark = PlainLabel("", theme, "body", "draft", self)
        self._build()
        self._start = self._text()
        self._refresh()

    @property
    def is_changed(self) -> bool:
        return self._text() != self._start

    def value(self) -> Json:
        """The field as it is now; the untouched one is the original itself. Raises `values.BadJsonError`."""
        if not self.is_changed:
            return self._original
        if self._check is not None:
            return self._check.isChecked()
        if isinstance(self._original, str):
            return self._text()
        number = values.parse(self._text().strip() or "?") if self._looks_numeric() else None
        if number is None:
            raise values.BadJsonError(self.tr("{field} is not a number").format(field=reveal(self._key)))
        return number

    def set_value(self, value: Json) -> None:
        """Show an edited value of the same type."""
        if self._check is not None:
            self._check.setChecked(value is True)
        elif self._line is not None:
            self._line.setText(_field_text(value))
        elif self._area is not None:
            self._area.set_text(_field_text(value))

    def fits(self, value: Json) -> bool:
        """Whether the row can show this value in place of the original one."""
        if self._check is not None:
            return isinstance(value, bool)
        if self._line is None and self._area is None:
            return values.canonical(value) == values.canonical(self._original)
        return _kind(value) == _kind(self._original)

    def set_closed(self, closed: bool) -> None:
        if self._line is not None:
            self._line.setReadOnly(closed)
        if self._area is not None:
            self._area.set_locked(closed)
        if self._check is not None:
            self._check.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, closed)
            self._check.setFocusPolicy(Qt.FocusPolicy.NoFocus if closed else Qt.FocusPolicy.StrongFocus)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._type.setVisible(event.size().width() >= self._theme.px(NARROW))

    def _build(self) -> None:
        theme = self._theme
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.px(SPACE_3))
        name = PlainLabel(reveal(self._key), theme, "mono", "muted", self, elide=True)
        name.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        name.setFixedWidth(theme.px(KEY_WIDTH))
        row.addWidget(name)
        row.addWidget(self._value_widget(), 2)
        row.addWidget(self._was, 1)
        self._type = PlainLabel(self._type_words(), theme, "meta", "muted", self)
        self._type.setFixedWidth(theme.px(TYPE_WIDTH))
        row.addWidget(self._type)
        self._mark.setFixedWidth(theme.px(MARK_WIDTH))
        self._mark.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._mark)
        self.setMinimumHeight(theme.px(ROW))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def _value_widget(self) -> QWidget:
        theme, original, name = self._theme, self._original, reveal(self._key)
        if isinstance(original, bool):
            self._check = CheckBox(theme, "true", "mono", self)
            self._check.setChecked(original)
            self._check.setAccessibleName(name)
            self._check.toggled.connect(self._on_changed)
            return self._check
        if isinstance(original, str) and (
            len(original) > ONE_LINE or any(end in original for end in "\n\r\u2028\u2029")
        ):
            self._area = TextArea(theme, name, font="mono", lines=2, most=8, parent=self)
            self._area.set_text(original)
            self._area.textChanged.connect(self._on_changed)
            return self._area
        if isinstance(original, str | int | float):
            self._line = LineField(_field_text(original), self)
            self._line.setFont(theme.font("mono"))
            self._line.setAccessibleName(name)
            self._line.setMinimumHeight(theme.px(BUTTON_ROW))
            self._line.setCursorPosition(0)
            self._line.textChanged.connect(self._on_changed)
            return self._line
        return MarkedLabel(values.compact(original, ONE_LINE), theme, "mono", parent=self, lines=2)

    def _text(self) -> str:
        if self._check is not None:
            return "true" if self._check.isChecked() else "false"
        if self._line is not None:
            return self._line.text()
        return self._area.text() if self._area is not None else ""

    def _looks_numeric(self) -> bool:
        try:
            number = values.parse(self._text())
        except values.BadJsonError:
            return False
        return isinstance(number, int | float) and not isinstance(number, bool)

    def _type_words(self) -> str:
        original = self._original
        if isinstance(original, list | dict):
            count = len(cast("list[object] | dict[str, object]", original))
            kind = self.tr("list") if isinstance(original, list) else self.tr("object")
            return self.tr("{kind}, {count} in it").format(kind=kind, count=count)
        if isinstance(original, float):
            places = len(str(original).partition(".")[2])
            return (
                self.tr("number, {count} places").format(count=places)
                if str(original).count(".")
                else self.tr("number")
            )
        words = {
            "bool": self.tr("yes or no"),
            "int": self.tr("integer, exact"),
            "str": self.tr("text"),
        }
        return words.get(type(original).__name__, self.tr("empty (null)"))

    @Slot()
    def _on_changed(self) -> None:
        self._refresh()
        self.changed.emit()

    def _refresh(self) -> None:
        edited = self.is_changed
        self._was.setText(
            self.tr("was {value}").format(value=reveal(values.compact(self._original, 80))) if edited else ""
        )
        hidden = count_hidden(self._text())
        if edited:
            self._mark.set_role("draft")
            self._mark.setText(self.tr("Edited"))
        elif hidden:
            self._mark.set_role("due")
            self._mark.setText(self.tr("Hidden {count}").format(count=hidden))
        else:
            self._mark.setText("")


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
        self._rows: dict[str, FieldRow] = {}
        self._form: QWidget | None = None
        self._about = PlainLabel(self.tr("Editing a copy. The original is kept."), theme, "meta", "muted", self)
        self._revert = ActionButton(theme, self.tr("Revert"), "flat", parent=self, height=BUTTON_ROW)
        self._state = PlainLabel("", theme, "meta", "muted", self, wrap=True)
        self._json = TextArea(theme, self.tr("Payload as JSON"), font="mono", lines=8, most=24, parent=self)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self._json)
        self._json.textChanged.connect(self._on_changed)
        self._revert.clicked.connect(self._on_revert)
        self._build()

    def show_value(self, original: Json, edited: str | None) -> None:
        """``edited`` is JSON text prepared earlier, possibly not (yet) valid."""
        self._original = original
        self._load(original, edited)

    def value(self) -> Json:
        """The edited copy. Raises `values.BadJsonError` while there is none that could be sent."""
        if not self.shows_form:
            return values.parse(self._json.text())
        edited = {key: row.value() for key, row in self._rows.items()}
        return edited if any(row.is_changed for row in self._rows.values()) else self._original

    def problem(self) -> str:
        try:
            self.value()
        except values.BadJsonError as error:
            return str(error)
        return ""

    @property
    def is_changed(self) -> bool:
        """Whether there is something to send; something that is not valid counts as changed."""
        try:
            return values.canonical(self.value()) != values.canonical(self._original)
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
            kept = {key: row.value() for key, row in self._rows.items() if not _fails(row)}
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
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_4))
        column.addLayout(top)
        column.addWidget(self._pages)
        column.addWidget(self._state)
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
        self._refresh()
        self.changed.emit()

    def _refresh(self) -> None:
        problem = self.problem()
        self._state.set_role("due" if problem else "muted")
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


def _field_text(value: Json) -> str:
    return value if isinstance(value, str) else values.compact(value)


def _kind(value: Json) -> str:
    if isinstance(value, bool) or value is None:
        return type(value).__name__
    return "number" if isinstance(value, int | float) else type(value).__name__


def _fails(row: FieldRow) -> bool:
    try:
        row.value()
    except values.BadJsonError:
        return True
    return False
