"""One field to edit: key, value, what it was or its type, mark; below it what does not show or is wrong."""

from __future__ import annotations

from typing import Final, cast

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from inbox_app.gateway import values
from inbox_app.gateway.base import Json
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, ICON_SMALL, LINE_HEIGHT, SPACE_1, SPACE_3, Role
from inbox_app.widgets.check_box import CheckBox
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.hidden_text import count_hidden, reveal
from inbox_app.widgets.line_field import LineField
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.text_area import TextArea

ONE_LINE: Final = 200
KEY_WIDTH, TYPE_WIDTH, MARK_WIDTH, ROW, NARROW = 112, 116, 84, 32, 560


class FieldRow(QWidget):
    """One field of an object: key, value, what it was, type, mark."""

    changed = Signal()

    def __init__(self, theme: Theme, key: str, original: Json, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._key = key
        self._original = original
        self._misfit = ""
        self._line: LineField | None = None
        self._area: TextArea | None = None
        self._check: CheckBox | None = None
        self._beside = PlainLabel("", theme, "meta", "muted", self, elide=True)
        self._icon = IconBox(theme, self, ICON_SMALL)
        self._mark = PlainLabel("", theme, "body", "draft", self)
        self._shown = MarkedLabel("", theme, "mono", "muted", self)
        self._problem = MarkedLabel("", theme, "meta", "failed", self)
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
            raise values.BadJsonError(self.tr("{field} is not a number").format(field=self._key))
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

    @property
    def key(self) -> str:
        return self._key

    @property
    def hidden_count(self) -> int:
        """Characters of the text that do not show."""
        return count_hidden(self._text())

    def problem(self) -> str:
        """Why the field cannot be sent; "" if it can."""
        try:
            self.value()
        except values.BadJsonError as error:
            return str(error)
        return self._misfit

    def set_misfit(self, problem: str) -> None:
        """What is wrong with the field beyond its type, by the rules of the question."""
        if problem != self._misfit:
            self._misfit = problem
            self._refresh()

    def focus_field(self) -> None:
        field = self._line or self._area or self._check
        if field is not None:
            field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _build(self) -> None:
        theme = self._theme
        name = PlainLabel(reveal(self._key), theme, "mono", "muted", self, elide=True)
        for part, width in ((name, KEY_WIDTH), (self._beside, TYPE_WIDTH)):
            part.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
            part.setFixedWidth(theme.px(width))
        mark = QWidget(self)
        mark.setFixedWidth(theme.px(MARK_WIDTH))
        words = QHBoxLayout(mark)
        words.setContentsMargins(0, 0, 0, 0)
        words.setSpacing(theme.px(SPACE_1))
        words.addStretch(1)
        words.addWidget(self._icon)
        words.addWidget(self._mark)
        for part in (name, self._beside, mark):
            part.setFixedHeight(theme.px(ROW))
        below = QVBoxLayout()
        below.setSpacing(0)
        value = self._value_widget()
        edge = theme.px((ROW - BUTTON_ROW) // 2) if value in (self._line, self._area) else 0
        below.setContentsMargins(0, edge, 0, edge)
        below.addWidget(value, 0, Qt.AlignmentFlag.AlignLeft if value is self._check else Qt.AlignmentFlag(0))
        below.addWidget(self._shown)
        below.addWidget(self._problem)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.px(SPACE_3))
        row.addWidget(name, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(below, 1)
        row.addWidget(self._beside, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(mark, 0, Qt.AlignmentFlag.AlignTop)
        self.setMinimumHeight(theme.px(ROW))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def _fit(self) -> None:
        """A narrow row has no room for the type, but always for what the value was."""
        self._beside.setVisible(self.is_changed or self.width() >= self._theme.px(NARROW))

    def _value_widget(self) -> QWidget:
        theme, original, name = self._theme, self._original, reveal(self._key)
        if isinstance(original, bool):
            self._check = CheckBox(theme, _field_text(original), "mono", self)
            self._check.setMinimumHeight(theme.px(ROW))
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
        return _fixed(MarkedLabel(values.compact(original, ONE_LINE), theme, "mono", lines=2), theme, self)

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
            if places == 1:
                return self.tr("number, 1 place")
            return self.tr("number, {count} places").format(count=places) if places else self.tr("number")
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
        edited, hidden, problem = self.is_changed, self.hidden_count, self.problem()
        if self._check is not None:
            self._check.setText(self._text())
        was = self.tr("was {value}").format(value=reveal(values.compact(self._original, 80)))
        self._beside.setText(was if edited else self._type_words())
        self._show_mark(edited=edited, hidden=hidden)
        self._shown.show_text(self.tr("shown: {text}").format(text=self._text()) if hidden else "")
        self._shown.setVisible(hidden > 0)
        self._problem.show_text(problem)
        self._problem.setVisible(bool(problem))
        for field in (self._line, self._area):
            if field is not None:
                field.set_wrong(bool(problem))
        self._fit()

    def _show_mark(self, *, edited: bool, hidden: int) -> None:
        role: Role = "draft" if edited else "due"
        words = self.tr("Edited") if edited else self.tr("Hidden {count}").format(count=hidden) if hidden else ""
        self._icon.set_icon("pencil" if edited else "eye", role)
        self._icon.setVisible(bool(words))
        self._mark.set_role(role)
        self._mark.setText(words)


def _fixed(label: MarkedLabel, theme: Theme, parent: QWidget) -> QWidget:
    """A value that cannot be edited here, on the line of its key."""
    holder = QWidget(parent)
    edge = (theme.px(ROW) - theme.px(LINE_HEIGHT["mono"])) // 2
    column = QVBoxLayout(holder)
    column.setContentsMargins(0, edge, 0, edge)
    column.addWidget(label)
    return holder


def _field_text(value: Json) -> str:
    return value if isinstance(value, str) else values.compact(value)


def _kind(value: Json) -> str:
    if isinstance(value, bool) or value is None:
        return type(value).__name__
    return "number" if isinstance(value, int | float) else type(value).__name__
