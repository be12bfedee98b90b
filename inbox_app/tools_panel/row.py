"""A value of the form with everything around its field: its name, what it is, how to leave it out, what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLayout, QSizePolicy, QVBoxLayout, QWidget

from inbox_app.gateway.base import Json
from inbox_app.gateway.schemas import Misfit
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_1, SPACE_3, SPACE_4
from inbox_app.tools_panel.fields import Field, Wrong
from inbox_app.tools_panel.kind_words import kind_words
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.line_field import LineField
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel

NAME_WIDTH, KIND_WIDTH, NARROW = 160, 128, 520
GIVEN_AT_ONCE: Final = frozenset({"object", "list", "fixed", "null"})

Make = Callable[[QWidget, str, bool], Field]
"""Makes a field with a parent and a spoken name; True for one that is always given."""


class Row(QWidget):
    """``always``: there is no way to leave it out. Without a name only the field is shown.

    A value that the field cannot hold exactly is shown as JSON in its place.
    """

    changed = Signal()

    def __init__(
        self,
        theme: Theme,
        name: str,
        spoken: str,
        make: Make,
        make_json: Make,
        parent: QWidget,
        *,
        required: bool = False,
        always: bool = False,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._name = name
        self._spoken = spoken
        self._make_json = make_json
        self._always = always
        self._required = required
        self._misfit = ""
        self._is_missing = False
        self._own = self.field = make(self, spoken, always)
        self._problem: MarkedLabel | None = None
        self._hidden: MarkedLabel | None = None
        self._kind = PlainLabel("", theme, "meta", "muted", self, elide=True)
        self._toggle = ActionButton(theme, "", "flat", parent=self, icon_name="plus", height=BUTTON_ROW)
        self._toggle.clicked.connect(self._on_toggled)
        self._own.changed.connect(self._on_changed)
        self._build()
        self._place()

    # What it holds

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_given(self) -> bool:
        return self.field.is_given

    def text(self, lead: str = "") -> str:
        return self.field.text(lead)

    def start(self) -> None:
        """What has to be there and can only begin in one way is there from the beginning."""
        can_start = self.field.shape.kind in GIVEN_AT_ONCE or (self._always and self.field.can_be_empty)
        if can_start and (self._required or self._always):
            self.field.give()
            self.refresh()

    def show_value(self, value: Json) -> None:
        self._use(self._own)
        if not self._own.take(value):
            self._own.clear()
            part = self._make_json(self, self._spoken, self._always)
            part.changed.connect(self._on_changed)
            part.take(value)
            self._use(part)
        self.refresh()

    def clear(self) -> None:
        self._use(self._own)
        self.field.clear()
        self._misfit = ""
        self.refresh()

    # What is wrong

    @property
    def spoken(self) -> str:
        return self._spoken

    @property
    def problem(self) -> str:
        if own := self.field.problem():
            return own
        if self._always and not self.is_given:
            return self.tr("has no value yet")
        return self._misfit

    @property
    def is_bad(self) -> bool:
        return bool(self.field.problem()) or (self._always and not self.is_given)

    def show_misfits(self, found: Sequence[Misfit], *, missing: bool) -> None:
        """``found`` with paths from here; what is missing is told where it is asked for."""
        here = [one for one in found if not one.path]
        rest = self.field.show_misfits([one for one in found if one.path], missing=missing)
        told = [one for one in here if missing or not one.is_missing]
        words = [one.message for one in told] + [f"{_where(one)}: {one.message}" for one in rest]
        misfit = "\n".join(words[:3])
        if misfit != self._misfit:
            self._misfit = misfit
            self.refresh()

    def wrong(self) -> Iterator[Wrong]:
        """Itself and what is inside, as far as something is wrong there."""
        if self.problem:
            yield self
        yield from self.field.inner()

    def focus_field(self) -> bool:
        """False if there is nothing to be filled in."""
        return self.field.focus_field()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._kind.setVisible(bool(self._name) and self.width() >= self._theme.px(NARROW))

    # How it looks

    def _build(self) -> None:
        theme = self._theme
        self._top = QHBoxLayout()
        self._top.setSpacing(theme.px(SPACE_3))
        if self._name:
            self._top.addWidget(self._name_widget(), 0, Qt.AlignmentFlag.AlignTop)
        self._beside = QVBoxLayout()
        self._beside.setSpacing(theme.px(SPACE_1 / 2))
        self._top.addLayout(self._beside, 1)
        self._kind.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self._kind.setFixedSize(theme.px(KIND_WIDTH), theme.px(BUTTON_ROW))
        self._kind.setText(kind_words(self._own.shape, required=self._required))
        self._top.addWidget(self._kind, 0, Qt.AlignmentFlag.AlignTop)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(0)
        self._buttons.addWidget(self._toggle)
        self._top.addLayout(self._buttons)
        self._top.setAlignment(self._buttons, Qt.AlignmentFlag.AlignTop)
        policy = self._toggle.sizePolicy()
        policy.setRetainSizeWhenHidden(not self._always)
        self._toggle.setSizePolicy(policy)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(theme.px(SPACE_1))
        self._column.addLayout(self._top)
        self._below = QVBoxLayout()
        self._below.setContentsMargins(theme.px(SPACE_4) if self._name else 0, 0, 0, 0)
        self._column.addLayout(self._below)
        if self._name:
            for words in (self._own.shape.title if self._own.shape.title != self._name else "", self._own.shape.about):
                if words.strip():
                    self._beside.addWidget(MarkedLabel(words, theme, "meta", "muted", self))
        self._kind.setVisible(bool(self._name))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def _name_widget(self) -> QWidget:
        label = PlainLabel(reveal(self._name), self._theme, "mono", "text", self, elide=True)
        label.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        label.setFixedSize(self._theme.px(NAME_WIDTH), self._theme.px(BUTTON_ROW))
        return label

    def add_button(self, button: QWidget) -> None:
        self._buttons.addWidget(button)

    def _use(self, field: Field) -> None:
        if field is self.field:
            return
        old, self.field = self.field, field
        (self._below if old.is_block else self._beside).removeWidget(old)
        old.hide()
        if old is not self._own:
            old.deleteLater()
        self._place()

    def _place(self) -> None:
        field = self.field
        if field.is_block:
            self._below.addWidget(field)
        else:
            self._beside.insertWidget(0, field)
        field.show()
        self.refresh()

    def refresh(self) -> None:
        """The button, and the lines below the field, as they are now."""
        self._show_toggle()
        problem, hidden = self.problem, self.field.hidden
        shown = self.tr("shown: {text}").format(text=hidden) if hidden else ""
        below = self._below if self.field.is_block else self._beside
        self._hidden = self._line(self._hidden, shown, below, is_problem=False)
        self._problem = self._line(self._problem, problem if not self._is_quiet else "", below, is_problem=True)
        self.field.set_wrong(bool(problem) and not self._is_quiet)

    @property
    def _is_quiet(self) -> bool:
        """What was never filled in is not wrong before somebody wants to send it."""
        return self._always and not self.is_given and not self._misfit

    def _line(self, label: MarkedLabel | None, text: str, layout: QLayout, *, is_problem: bool) -> MarkedLabel | None:
        if label is None and not text:
            return None
        if label is None:
            label = MarkedLabel("", self._theme, "meta" if is_problem else "mono", parent=self)
            label.set_role("failed" if is_problem else "muted")
        layout.addWidget(label)
        label.show_text(text)
        label.setVisible(bool(text))
        return label

    def _show_toggle(self) -> None:
        given = self.is_given
        can = self.field.can_be_left_out if given else self.field.can_be_empty
        self._toggle.setVisible(bool(self._name) and not self._always and can)
        if given:
            self._toggle.set_icon("x", self.tr("Leave {0} out").format(self._spoken))
        elif self.field.shape.kind == "text":
            self._toggle.set_icon("plus", self.tr("Send {0} as an empty text").format(self._spoken))
        else:
            self._toggle.set_icon("plus", self.tr("Send {0}").format(self._spoken))

    @Slot()
    def _on_toggled(self) -> None:
        if self.is_given:
            self._use(self._own)
            self.field.leave_out()
        else:
            self.field.give()
        self._on_changed()

    @Slot()
    def _on_changed(self) -> None:
        self._misfit = ""
        self.refresh()
        self.changed.emit()


class NamedRow(Row):
    """A row whose name is typed: a field that the schema does not name."""

    def _name_widget(self) -> QWidget:
        self._line_field = LineField(self._name.strip(), self)
        self._line_field.setFont(self._theme.font("mono"))
        self._line_field.setAccessibleName(self.tr("Name of the field"))
        self._line_field.setPlaceholderText(self.tr("name"))
        self._line_field.setFixedSize(self._theme.px(NAME_WIDTH), self._theme.px(BUTTON_ROW))
        self._line_field.textChanged.connect(self._on_changed)
        return self._line_field

    @property
    def name(self) -> str:
        return self._line_field.text()

    def set_name(self, name: str) -> bool:
        """False if a line of text cannot hold it."""
        self._line_field.setText(name)
        return self._line_field.text() == name

    def set_twice(self, twice: bool) -> None:
        self._line_field.set_wrong(twice)

    def focus_name(self) -> None:
        self._line_field.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _where(misfit: Misfit) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in misfit.path]
    return "".join(steps).lstrip(".")
