"""Fields that hold other fields: objects, lists, and values that may be one of several things."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.gateway import values
from inbox_app.gateway.base import Json
from inbox_app.gateway.schemas import Misfit
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_2, SPACE_3
from inbox_app.tools_panel.fields import (
    ChoiceField,
    Field,
    FixedField,
    NumberField,
    TextField,
    Wrong,
    YesNoField,
)
from inbox_app.tools_panel.json_part import JsonPart, LargePart
from inbox_app.tools_panel.row import NamedRow, Row
from inbox_app.tools_panel.shapes import Rules, Schema, Shape
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.choice_box import ChoiceBox
from inbox_app.widgets.hidden_text import escape_hidden, reveal
from inbox_app.widgets.plain_label import PlainLabel

DEEPEST: Final = 8
MOST_ITEMS: Final = 200
MOST_FIELDS: Final = 1000
_SIMPLE: Final[dict[str, type[Field]]] = {
    "text": TextField,
    "number": NumberField,
    "yesno": YesNoField,
    "choice": ChoiceField,
    "fixed": FixedField,
    "json": JsonPart,
}


@dataclass(frozen=True, slots=True)
class Making:
    """What fields are made from: the whole schema, and how deep the next one stands."""

    theme: Theme
    schema: Schema
    depth: int = 0

    def field(self, shape: Shape, parent: QWidget, spoken: str, keeps: bool) -> Field:
        deeper = replace(self, depth=self.depth + 1)
        if shape.kind == "null":
            return FixedField(self.theme, spoken, replace(shape, fixed=None), parent, keeps=keeps)
        if shape.kind in _SIMPLE:
            return _SIMPLE[shape.kind](self.theme, spoken, shape, parent, keeps=keeps)
        if len(shape.properties) > MOST_FIELDS:
            return LargePart(self.theme, spoken, replace(shape, kind="json"), parent, keeps=keeps)
        if self.depth >= DEEPEST:
            return JsonPart(self.theme, spoken, replace(shape, kind="json"), parent, keeps=keeps)
        kinds: dict[str, type[Group]] = {"object": ObjectField, "list": ListField, "variants": VariantsField}
        return kinds[shape.kind](deeper, spoken, shape, parent, keeps=keeps)

    def row(
        self,
        rules: Rules,
        name: str,
        spoken: str,
        parent: QWidget,
        *,
        required: bool = False,
        always: bool = False,
        named: bool = False,
    ) -> Row:
        shape = self.schema.shape(rules)

        def make(of: QWidget, words: str, keeps: bool) -> Field:
            return self.field(shape, of, words, keeps)

        def make_json(of: QWidget, words: str, keeps: bool) -> Field:
            return JsonPart(self.theme, words, replace(shape, kind="json"), of, keeps=keeps)

        kind = NamedRow if named else Row
        return kind(self.theme, name, spoken, make, make_json, parent, required=required, always=always)


class Group(Field):
    """A field of fields: those inside are made when there is a value, and stand beside a line."""

    can_be_empty = True

    def __init__(self, making: Making, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(making.theme, name, shape, parent, keeps=keeps)
        self.is_block = True
        self._making = making
        self._given = False
        self._box = QWidget(self)
        self._inside = QVBoxLayout(self._box)
        self._inside.setContentsMargins(0, 0, 0, 0)
        self._inside.setSpacing(making.theme.px(SPACE_2))
        self._column.addWidget(self._box)
        self._box.hide()

    @property
    def is_given(self) -> bool:
        return self._given

    def rows(self) -> Sequence[Row]:
        raise NotImplementedError

    def leave_out(self) -> None:
        self._given = False
        self._box.hide()

    def inner(self) -> Iterator[Wrong]:
        for row in self.rows() if self._given else ():
            yield from row.wrong()

    def focus_field(self) -> bool:
        return any(row.focus_field() for row in self.rows()) if self._given else False

    def _spoken(self, name: str) -> str:
        return f"{self._name} › {name}" if self._name else name

    def _drop(self, row: Row) -> None:
        self._inside.removeWidget(row)
        row.hide()
        row.deleteLater()


class ObjectField(Group):
    def __init__(self, making: Making, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(making, name, shape, parent, keeps=keeps)
        self._rows: dict[str, Row] = {}
        self._more: list[NamedRow] = []
        self._order: dict[str, int] = {}
        self._is_built = False
        self._add = ActionButton(
            making.theme, self.tr("Add a field"), "link", parent=self._box, icon_name="plus", height=BUTTON_ROW
        )
        self._add.setAccessibleName(self.tr("Add a field to {0}").format(name) if name else self.tr("Add a field"))
        self._add.clicked.connect(self._on_add)
        self._add.setVisible(shape.extra is not None)
        if not shape.properties:
            words = self.tr("No parameters are named.") if not name else self.tr("No fields are named.")
            self._inside.addWidget(PlainLabel(words, making.theme, "meta", "muted", self._box))
        self._inside.addWidget(self._add)

    def rows(self) -> Sequence[Row]:
        return [*self._rows.values(), *self._more]

    def give(self) -> None:
        self._build()
        self._given = True
        self._box.show()

    def clear(self) -> None:
        self._given = False
        self._order = {}
        for row in self._more:
            self._drop(row)
        self._more = []
        for row in self._rows.values():
            row.clear()
        self._box.hide()

    def text(self, lead: str = "") -> str:
        inner = f"{lead}  "
        given = [row for row in self.rows() if row.is_given or isinstance(row, NamedRow)]
        last = len(self._order)
        given.sort(key=lambda row: self._order.get(row.name, last))
        parts = [f"{inner}{escape_hidden(values.pretty(row.name))}: {row.text(inner)}" for row in given]
        return "{\n" + ",\n".join(parts) + f"\n{lead}}}" if parts else "{}"

    def take(self, value: Json) -> bool:
        if not isinstance(value, dict):
            return False
        fields = cast("dict[str, Json]", value)
        if len(fields) > MOST_FIELDS:
            return False
        self.clear()
        self.give()
        self._order = {name: at for at, name in enumerate(fields)}
        for name, item in fields.items():
            row = self._rows.get(name) or self._more_row(name)
            if row is None:
                return False
            row.show_value(item)
        return True

    def problem(self) -> str:
        names = [row.name for row in self.rows()] if self._given and self._more else []
        twice = {name for name in names if names.count(name) > 1}
        for row in self._more:
            row.set_twice(row.name in twice)
        if not twice:
            return ""
        return self.tr("has the name {0} twice").format(reveal(values.compact(sorted(twice)[0])))

    def show_misfits(self, found: Sequence[Misfit], *, missing: bool) -> Sequence[Misfit]:
        rows = {row.name: row for row in self.rows()}
        at: dict[str, list[Misfit]] = {name: [] for name in rows}
        rest: list[Misfit] = []
        for one in found:
            if one.path[0] in at:
                at[str(one.path[0])].append(replace(one, path=one.path[1:]))
            elif missing or not one.is_missing:
                rest.append(one)
        for name, row in rows.items():
            row.show_misfits(at[name], missing=missing)
        return rest

    def _build(self) -> None:
        if self._is_built:
            return
        self._is_built = True
        for name, rules in self.shape.properties.items():
            required = name in self.shape.required
            row = self._making.row(rules, name, self._spoken(reveal(name)), self._box, required=required)
            row.start()
            row.changed.connect(self._on_changed)
            self._rows[name] = row
            self._inside.insertWidget(self._inside.count() - 1, row)

    def _more_row(self, name: str) -> NamedRow | None:
        making = self._making
        row = making.row(self.shape.extra or {}, " ", self._spoken(reveal(name)), self._box, always=True, named=True)
        assert isinstance(row, NamedRow)
        if not row.set_name(name):
            row.deleteLater()
            return None
        remove = ActionButton(self._theme, "", "flat", parent=row, icon_name="x", height=BUTTON_ROW)
        remove.set_icon("x", self.tr("Remove this field"))
        remove.clicked.connect(self._on_remove)
        row.add_button(remove)
        row.changed.connect(self._on_changed)
        self._more.append(row)
        self._inside.insertWidget(self._inside.count() - 1, row)
        row.show()
        return row

    @Slot()
    def _on_add(self) -> None:
        row = self._more_row("")
        assert row is not None
        row.start()
        row.focus_name()
        self.changed.emit()

    @Slot()
    def _on_remove(self) -> None:
        button = self.sender()
        row = next(row for row in self._more if isinstance(button, QWidget) and row.isAncestorOf(button))
        self._add.setFocus(Qt.FocusReason.OtherFocusReason)
        self._more.remove(row)
        self._drop(row)
        self.changed.emit()


class ListField(Group):
    def __init__(self, making: Making, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(making, name, shape, parent, keeps=keeps)
        self._items: list[ItemRow] = []
        self._add = ActionButton(
            making.theme, self.tr("Add"), "link", parent=self._box, icon_name="plus", height=BUTTON_ROW
        )
        self._add.setAccessibleName(self.tr("Add to {0}").format(name))
        self._add.clicked.connect(self._on_add)
        self._inside.addWidget(self._add)

    def rows(self) -> Sequence[Row]:
        return [item.row for item in self._items]

    def give(self) -> None:
        self._given = True
        self._box.show()

    def clear(self) -> None:
        self._given = False
        for item in self._items:
            self._inside.removeWidget(item)
            item.hide()
            item.deleteLater()
        self._items = []
        self._box.hide()

    def text(self, lead: str = "") -> str:
        inner = f"{lead}  "
        parts = [f"{inner}{row.text(inner)}" for row in self.rows()]
        return "[\n" + ",\n".join(parts) + f"\n{lead}]" if parts else "[]"

    def take(self, value: Json) -> bool:
        if not isinstance(value, list):
            return False
        items = cast("list[Json]", value)
        if len(items) > MOST_ITEMS:
            return False
        self.clear()
        self.give()
        for item in items:
            self._append().row.show_value(item)
        self._number()
        return True

    def show_misfits(self, found: Sequence[Misfit], *, missing: bool) -> Sequence[Misfit]:
        for number, row in enumerate(self.rows()):
            at = [replace(one, path=one.path[1:]) for one in found if one.path[0] == number]
            row.show_misfits(at, missing=missing)
        return [one for one in found if not isinstance(one.path[0], int) or one.path[0] >= len(self._items)]

    def _append(self) -> ItemRow:
        number = len(self._items) + 1
        row = self._making.row(self.shape.items, "", self._spoken(str(number)), self._box, always=True)
        item = ItemRow(self._theme, row, self._box)
        item.moved.connect(self._on_moved)
        item.removed.connect(self._on_removed)
        row.changed.connect(self._on_changed)
        self._items.append(item)
        self._inside.insertWidget(self._inside.count() - 1, item)
        item.show()
        return item

    def _number(self) -> None:
        for at, item in enumerate(self._items):
            item.set_place(at, len(self._items), self._name)

    @Slot()
    def _on_add(self) -> None:
        item = self._append()
        item.row.start()
        self._number()
        item.row.focus_field()
        self.changed.emit()

    @Slot(int)
    def _on_moved(self, step: int) -> None:
        item = next(item for item in self._items if item is self.sender())
        at = self._items.index(item)
        self._items.insert(at + step, self._items.pop(at))
        self._inside.removeWidget(item)
        self._inside.insertWidget(at + step, item)
        self._number()
        item.keep_focus(step)
        self.changed.emit()

    @Slot()
    def _on_removed(self) -> None:
        item = next(item for item in self._items if item is self.sender())
        self._add.setFocus(Qt.FocusReason.OtherFocusReason)
        self._items.remove(item)
        self._inside.removeWidget(item)
        item.hide()
        item.deleteLater()
        self._number()
        self.changed.emit()


class ItemRow(QWidget):
    """One item of a list: its number, its field, the ways to move and remove it."""

    moved = Signal(int)
    removed = Signal()

    def __init__(self, theme: Theme, row: Row, parent: QWidget) -> None:
        super().__init__(parent)
        self.row = row
        self._number = PlainLabel("", theme, "mono", "muted", self)
        self._number.setFixedHeight(theme.px(BUTTON_ROW))
        self._number.setMinimumWidth(theme.px(SPACE_3 * 2))
        self._up, self._down, self._remove = (
            ActionButton(theme, "", "flat", parent=self, icon_name=icon, height=BUTTON_ROW)
            for icon in ("chevron-up", "chevron-down", "x")
        )
        self._up.clicked.connect(self._on_up)
        self._down.clicked.connect(self._on_down)
        self._remove.clicked.connect(self.removed)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(0)
        line.addWidget(self._number, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(row, 1)
        for button in (self._up, self._down, self._remove):
            line.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)

    def set_place(self, at: int, count: int, of: str) -> None:
        self._number.setText(str(at + 1))
        self._up.setEnabled(at > 0)
        self._down.setEnabled(at < count - 1)
        self._up.set_icon("chevron-up", self.tr("Move {0} {1} up").format(of, at + 1))
        self._down.set_icon("chevron-down", self.tr("Move {0} {1} down").format(of, at + 1))
        self._remove.set_icon("x", self.tr("Remove {0} {1}").format(of, at + 1))

    def keep_focus(self, step: int) -> None:
        """On the button that was pressed, or on the other one at the end of the list."""
        first, second = (self._up, self._down) if step < 0 else (self._down, self._up)
        (first if first.isEnabled() else second).setFocus(Qt.FocusReason.TabFocusReason)

    @Slot()
    def _on_up(self) -> None:
        self.moved.emit(-1)

    @Slot()
    def _on_down(self) -> None:
        self.moved.emit(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Nothing but its parts."""


class VariantsField(Group):
    """A choice of what it is, and the field of that below. What was filled in elsewhere comes back with its variant."""

    can_be_empty = False
    can_be_left_out = False

    def __init__(self, making: Making, name: str, shape: Shape, parent: QWidget, *, keeps: bool = False) -> None:
        super().__init__(making, name, shape, parent, keeps=keeps)
        shapes = [making.schema.shape(variant.rules) for variant in shape.variants]
        self.is_block = any(one.kind in ("object", "list", "variants", "json") for one in shapes)
        words = [self.tr("not sent"), *(variant.label for variant in shape.variants)]
        self._choice = ChoiceBox(making.theme, self.tr("{0}: what it is").format(name), words, "body", self)
        self._choice.set_muted(True)
        self._choice.currentIndexChanged.connect(self._on_chosen)
        self._column.insertWidget(0, self._choice)
        self._made: dict[int, Row] = {}

    @property
    def is_given(self) -> bool:
        return self._choice.currentIndex() > 0

    def rows(self) -> Sequence[Row]:
        chosen = self._made.get(self._choice.currentIndex() - 1)
        return [] if chosen is None else [chosen]

    def inner(self) -> Iterator[Wrong]:
        for row in self.rows():
            yield from row.wrong()

    def focus_field(self) -> bool:
        self._choice.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return True

    def clear(self) -> None:
        for row in self._made.values():
            self._drop(row)
        self._made = {}
        self._choose(-1)

    def text(self, lead: str = "") -> str:
        return self.rows()[0].text(lead) if self.rows() else ""

    def take(self, value: Json) -> bool:
        fitting = (at for at, one in enumerate(self.shape.variants) if self._making.schema.fits(one.rules, value))
        at = next(fitting, None)
        self.clear()
        if at is None:
            return False
        self._choose(at)
        self.rows()[0].show_value(value)
        return True

    def show_misfits(self, found: Sequence[Misfit], *, missing: bool) -> Sequence[Misfit]:
        for row in self.rows():
            row.show_misfits(found, missing=missing)
        return () if self.rows() else found

    def set_wrong(self, wrong: bool) -> None:
        self._choice.set_wrong(wrong)

    def _choose(self, at: int) -> None:
        with QSignalBlocker(self._choice):
            self._choice.setCurrentIndex(at + 1)
        self._show()

    def _show(self) -> None:
        at = self._choice.currentIndex() - 1
        self._choice.set_muted(at < 0)
        if at >= 0 and at not in self._made:
            row = self._making.row(self.shape.variants[at].rules, "", self._name, self._box, always=True)
            row.changed.connect(self._on_changed)
            row.start()
            self._inside.addWidget(row)
            self._made[at] = row
        shapes = {number: row.field.shape.kind for number, row in self._made.items()}
        for number, row in self._made.items():
            row.setVisible(number == at and shapes[number] not in ("fixed", "null"))
        self._box.setVisible(at >= 0 and shapes[at] not in ("fixed", "null"))

    @Slot()
    def _on_chosen(self) -> None:
        self._show()
        self.changed.emit()
