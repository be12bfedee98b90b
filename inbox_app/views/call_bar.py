"""Above the call tree: how many levels are open, which calls are shown, and the search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QSizePolicy, QWidget

from inbox_app.gateway.base import Call
from inbox_app.state.calls import is_error, is_replayed, is_waiting
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_2, SPACE_3, SPACE_4
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.filter_chip import FilterChip
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.segments import Segments

ALL_LEVELS: Final = 3
FIND_WIDTH: Final = 220
FIND_LEAST: Final = 64


class CallBar(QWidget):
    level_changed = Signal()
    filtered = Signal()
    find_changed = Signal()
    next_wanted = Signal()
    previous_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._level_label = PlainLabel(self.tr("Level"), theme, "body", "muted", self)
        self._levels = Segments(theme, self.tr("Open to level"), ("1", "2", "3", self.tr("All")), self)
        self._levels.setCurrentIndex(ALL_LEVELS - 1)
        self._errors = FilterChip(theme, self.tr("Errors"), "triangle-alert", "failed", self)
        self._waiting = FilterChip(theme, self.tr("Waiting"), "circle-pause", "waiting", self)
        self._replayed = FilterChip(theme, self.tr("Replayed"), "rotate-ccw", "sent", self)
        self._chips = {"errors": self._errors, "waiting": self._waiting, "replayed": self._replayed}
        self._found = PlainLabel("", theme, "meta", "muted", self)
        self._find = QLineEdit(self)
        self._previous = self._find_button("chevron-up", self.tr("Previous find"))
        self._next = self._find_button("chevron-down", self.tr("Next find"))
        self._build()
        self._connect()

    @property
    def level(self) -> int | None:
        """How many levels are to be open; None for all."""
        at = self._levels.currentIndex()
        return None if at == ALL_LEVELS else at + 1

    @property
    def is_filtered(self) -> bool:
        return any(chip.isChecked() for chip in self._chips.values())

    def is_wanted(self, call: Call) -> bool:
        """Whether one of the filters that are on lets a call through."""
        return (
            (self._errors.isChecked() and is_error(call))
            or (self._waiting.isChecked() and is_waiting(call))
            or (self._replayed.isChecked() and is_replayed(call))
        )

    def clear_filters(self) -> None:
        for chip in self._chips.values():
            chip.setChecked(False)

    @property
    def text(self) -> str:
        """What is searched for."""
        return self._find.text().strip()

    def start_find(self) -> None:
        self._find.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._find.selectAll()

    def show_found(self, at: int, count: int) -> None:
        """Which find is shown, counting from 0, of how many."""
        if not self.text:
            self._found.setText("")
        elif not count:
            self._found.setText(self.tr("Nothing found"))
        else:
            self._found.setText(self.tr("{at} of {count}").format(at=at + 1, count=count))

    def show_counts(self, counts: Mapping[str, int]) -> None:
        """How many calls each filter would show (`Calls.counts`)."""
        for key, chip in self._chips.items():
            chip.set_count(counts[key])

    def set_narrow(self, narrow: bool) -> None:
        self._level_label.setVisible(not narrow)
        for chip in self._chips.values():
            chip.set_compact(narrow)

    def _find_button(self, icon: str, name: str) -> ActionButton:
        button = ActionButton(self._theme, "", "flat", parent=self, icon_name=icon, height=BUTTON_ROW)
        button.setAccessibleName(name)
        button.setToolTip(name)
        return button

    def _build(self) -> None:
        theme = self._theme
        self._find.setPlaceholderText(self.tr("Find"))
        self._find.setAccessibleName(self.tr("Find a call by name, code or message"))
        self._find.setMinimumHeight(theme.px(BUTTON_ROW))
        self._find.setMinimumWidth(theme.px(FIND_LEAST))
        self._find.setMaximumWidth(theme.px(FIND_WIDTH))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        bar = QHBoxLayout(self)
        bar.setContentsMargins(theme.px(SPACE_4), theme.px(SPACE_3), theme.px(SPACE_4), theme.px(SPACE_3))
        bar.setSpacing(theme.px(SPACE_2))
        bar.addWidget(self._level_label)
        bar.addWidget(self._levels)
        for chip in self._chips.values():
            bar.addWidget(chip)
        bar.addStretch(1)
        bar.addWidget(self._found)
        bar.addWidget(self._find)
        bar.addWidget(self._previous)
        bar.addWidget(self._next)

    def _connect(self) -> None:
        self._levels.currentChanged.connect(self.level_changed)
        for chip in self._chips.values():
            chip.toggled.connect(self.filtered)
        self._find.textChanged.connect(self.find_changed)
        self._find.returnPressed.connect(self.next_wanted)
        self._next.clicked.connect(self.next_wanted)
        self._previous.clicked.connect(self.previous_wanted)
