"""Fields for one value each. What a field holds is JSON text, so every digit stays as it was typed or loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, Protocol

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.gateway import values
from inbox_app.gateway.base import Json
from inbox_app.gateway.schemas import Misfit
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_1
from inbox_app.tools_panel.shapes import Shape, is_number
from inbox_app.widgets.choice_box import ChoiceBox
from inbox_app.widgets.hidden_text import count_hidden, escape_hidden, reveal
from inbox_app.widgets.line_field import LineField
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.segments import Segments
from inbox_app.widgets.text_area import TextArea

MOST_LINES: Final = 10
_EXAMPLES: Final = {
    "date": "2026-01-31",
    "time": "09:30:00Z",
    "date-time": "2026-01-31T09:30:00Z",
    "email": "name@example.org",
    "uri": "https://example.org/page",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}


class Wrong(Protocol):
    """A place of the form with a problem."""

    @property
    def spoken(self) -> str: ...
    @property
    def problem(self) -> str: ...
    @property
    def is_bad(self) -> bool:
        """Whether there is no value at all to be sent."""
        ...

    def focus_field(self) -> bool: ...


class Field(QWidget):
    """One value, or none: ``is_given`` says whether it is sent. ``changed`` tells of every change by the operator.

    ``can_be_empty``: `give` makes an empty value of it. ``keeps``: a text that was erased is still given.
    """

    changed = Signal()
    can_be_empty: ClassVar[bool] = False
    can_be_left_out: ClassVar[bool] = True
    """Whether a button is needed to send no value; some fields have a word for that."""

    def __init__(self, theme: Theme, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(parent)
        self._theme = theme
        self._name = name
        self.shape = shape
        self._keeps = keeps
        self.is_block = False
        """Whether it wants the whole width, below its name."""
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(theme.px(SPACE_1))

    @property
    def is_given(self) -> bool:
        raise NotImplementedError

    def text(self, lead: str = "") -> str:
        """The value as JSON text whose further lines are indented by ``lead``; no JSON while something is wrong."""
        raise NotImplementedError

    def take(self, value: Json) -> bool:
        """Show a value; False, with nothing promised about what is shown, if this field cannot hold it exactly."""
        raise NotImplementedError

    def give(self) -> None:
        """An empty value instead of none, where there is one."""

    def clear(self) -> None:
        """No value."""
        raise NotImplementedError

    def leave_out(self) -> None:
        """No value, as the operator wants it; what is inside comes back with `give`."""
        self.clear()

    def problem(self) -> str:
        """Why the text is no JSON value of this kind; "" if it is."""
        return ""

    def show_misfits(self, found: Sequence[Misfit], *, missing: bool) -> Sequence[Misfit]:
        """Show what is wrong inside at its place, what is missing only if asked to; returns what has none."""
        return found

    def inner(self) -> Iterator[Wrong]:
        """What inside it is wrong, in the order of the form."""
        yield from ()

    def set_wrong(self, wrong: bool) -> None:
        """Mark the field as one with a problem."""

    def focus_field(self) -> bool:
        """Take the keyboard; False if there is nothing to be filled in."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return True

    @property
    def hidden(self) -> str:
        """The text if some of its characters do not show, else ""."""
        return ""

    @Slot()
    def _on_changed(self) -> None:
        self.changed.emit()

    def _hint(self) -> str:
        if self.shape.default:
            return self.tr("not sent; default {0}").format(reveal(self.shape.default))
        return _EXAMPLES.get(self.shape.format, "")


class TextField(Field):
    can_be_empty = True

    def __init__(self, theme: Theme, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(theme, name, shape, parent, keeps=keeps)
        lines = 4 if shape.is_long else 1
        self._area = TextArea(theme, name, font="mono", lines=lines, most=MOST_LINES, is_tight=True, parent=self)
        self._given = False
        self._column.addWidget(self._area)
        self.setFocusProxy(self._area)
        self._area.textChanged.connect(self._on_typed)
        self._show_hint()

    @property
    def is_given(self) -> bool:
        return self._given

    @property
    def hidden(self) -> str:
        text = self._area.text()
        return text if count_hidden(text) else ""

    def text(self, lead: str = "") -> str:
        return escape_hidden(values.pretty(self._area.text()))

    def take(self, value: Json) -> bool:
        if not isinstance(value, str) or any("\ud800" <= char <= "\udfff" for char in value):
            return False
        self._set(value, given=True)
        return self._area.text() == value

    def give(self) -> None:
        self._set("", given=True)

    def clear(self) -> None:
        self._set("", given=False)

    def set_wrong(self, wrong: bool) -> None:
        self._area.set_wrong(wrong)

    def _set(self, text: str, *, given: bool) -> None:
        with QSignalBlocker(self._area):
            self._area.set_text(text)
        self._given = given
        self._show_hint()

    @Slot()
    def _on_typed(self) -> None:
        self._given = self._keeps or bool(self._area.text())
        self._show_hint()
        self.changed.emit()

    def _show_hint(self) -> None:
        hint = self.tr("an empty text is sent") if self._given else self._hint()
        if hint != self._area.placeholderText():
            self._area.setPlaceholderText(hint)


class NumberField(Field):
    def __init__(self, theme: Theme, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(theme, name, shape, parent, keeps=keeps)
        self._line = LineField(self)
        self._line.setAccessibleName(name)
        self._line.setFont(theme.font("mono"))
        self._line.setMinimumHeight(theme.px(BUTTON_ROW))
        self._line.setPlaceholderText(self._hint())
        self._column.addWidget(self._line)
        self.setFocusProxy(self._line)
        self._line.textChanged.connect(self._on_changed)

    @property
    def is_given(self) -> bool:
        return bool(self._line.text().strip())

    @property
    def hidden(self) -> str:
        return self._line.text() if count_hidden(self._line.text()) else ""

    def text(self, lead: str = "") -> str:
        return self._line.text().strip()

    def take(self, value: Json) -> bool:
        if not is_number(value):
            return False
        self._set(values.pretty(value))
        return self._line.text() == values.pretty(value)

    def clear(self) -> None:
        self._set("")

    def problem(self) -> str:
        if not self.is_given:
            return ""
        try:
            if is_number(values.parse(self.text())):
                return ""
        except values.BadJsonError:
            pass
        return self.tr("is not a number: write digits, with a point before decimals")

    def set_wrong(self, wrong: bool) -> None:
        self._line.set_wrong(wrong)

    def _set(self, text: str) -> None:
        with QSignalBlocker(self._line):
            self._line.setText(text)
            self._line.setCursorPosition(0)


class YesNoField(Field):
    """Yes, no, or not sent."""

    can_be_left_out = False

    def __init__(self, theme: Theme, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(theme, name, shape, parent, keeps=keeps)
        self._segments = Segments(theme, name, [self.tr("Not sent"), "true", "false"], self)
        self._column.addWidget(self._segments, 0, Qt.AlignmentFlag.AlignLeft)
        self.setFocusProxy(self._segments)
        self._segments.currentChanged.connect(self._on_changed)

    @property
    def is_given(self) -> bool:
        return self._segments.currentIndex() > 0

    def text(self, lead: str = "") -> str:
        return ("", "true", "false")[self._segments.currentIndex()]

    def take(self, value: Json) -> bool:
        if isinstance(value, bool):
            self._set(1 if value else 2)
        return isinstance(value, bool)

    def clear(self) -> None:
        self._set(0)

    def _set(self, index: int) -> None:
        with QSignalBlocker(self._segments):
            self._segments.setCurrentIndex(index)
        self._segments.update()


class ChoiceField(Field):
    can_be_left_out = False

    def __init__(self, theme: Theme, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(theme, name, shape, parent, keeps=keeps)
        nothing = self._hint() or self.tr("not sent")
        self._box = ChoiceBox(theme, name, [nothing, *(choice.label for choice in shape.choices)], "mono", self)
        self._box.set_muted(True)
        self._column.addWidget(self._box)
        self.setFocusProxy(self._box)
        self._box.currentIndexChanged.connect(self._on_chosen)

    @property
    def is_given(self) -> bool:
        return self._box.currentIndex() > 0

    def text(self, lead: str = "") -> str:
        if not self.is_given:
            return ""
        return json_text(self.shape.choices[self._box.currentIndex() - 1].value, lead)

    def take(self, value: Json) -> bool:
        wanted = values.canonical(value)
        found = (at for at, choice in enumerate(self.shape.choices) if values.canonical(choice.value) == wanted)
        at = next(found, None)
        if at is not None:
            self._set(at + 1)
        return at is not None

    def clear(self) -> None:
        self._set(0)

    def set_wrong(self, wrong: bool) -> None:
        self._box.set_wrong(wrong)

    def _set(self, index: int) -> None:
        with QSignalBlocker(self._box):
            self._box.setCurrentIndex(index)
        self._box.set_muted(index == 0)

    @Slot()
    def _on_chosen(self) -> None:
        self._box.set_muted(not self.is_given)
        self.changed.emit()


class FixedField(Field):
    """The only value there can be, sent or not; null is one of these."""

    can_be_empty = True

    def __init__(self, theme: Theme, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(theme, name, shape, parent, keeps=keeps)
        self._label = MarkedLabel("", theme, "mono", "muted", self, lines=3)
        self._given = False
        row = QHBoxLayout()
        row.setContentsMargins(0, theme.px(SPACE_1), 0, theme.px(SPACE_1))
        row.addWidget(self._label, 1)
        self._column.addLayout(row)
        self._show()

    @property
    def is_given(self) -> bool:
        return self._given

    def text(self, lead: str = "") -> str:
        return json_text(self.shape.fixed, lead)

    def take(self, value: Json) -> bool:
        self._given = values.canonical(value) == values.canonical(self.shape.fixed)
        self._show()
        return self._given

    def give(self) -> None:
        self._given = True
        self._show()

    def clear(self) -> None:
        self._given = False
        self._show()

    def focus_field(self) -> bool:
        return False

    def _show(self) -> None:
        self._label.set_role("text" if self._given else "muted")
        words = "{0}" if self._given else self.tr("not sent: {0}")
        self._label.show_text(words.format(values.compact(self.shape.fixed)))


def json_text(value: Json, lead: str = "") -> str:
    """JSON over several lines, those after the first indented by ``lead``; hidden characters as escapes."""
    return escape_hidden(values.pretty(value)).replace("\n", f"\n{lead}")
