"""A run whose replay met other code: what is recorded, what was attempted, where they differ, and the ways on."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.gateway.base import Divergence, Run, Side
from inbox_app.models.wording import SHORT
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON, SPACE_1, SPACE_2, SPACE_3, SPACE_5, Role
from inbox_app.views.run_acts import Acting
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.surface import Surface

LABEL_WIDTH = 104
WAY_WIDTH = 220


class DivergencePart(QWidget):
    def __init__(self, theme: Theme, found: Divergence, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._found = found
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(theme.px(SPACE_3))
        self._grid.setVerticalSpacing(theme.px(SPACE_2))
        self._grid.setColumnMinimumWidth(0, theme.px(LABEL_WIDTH))
        self._grid.setColumnStretch(1, 1)
        icon = IconBox(theme, self, ICON)
        icon.set_icon("git-compare", "failed")
        title = QHBoxLayout()
        title.setSpacing(theme.px(SPACE_2))
        title.addWidget(icon)
        title.addWidget(MarkedLabel(self._title(), theme, "body", "failed", self, strong=True), 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_3))
        column.addLayout(title)
        column.addLayout(self._grid)
        self._fill()

    def _title(self) -> str:
        found = self._found
        if found.code == "content_changed":
            return self.tr("The question is no longer the one that was shown. No answer reached the run")
        if found.is_same_code:
            return self.tr("The handler does not repeat itself: the same code made another call than before")
        return self.tr("The code no longer makes the calls that are recorded. Nothing new was executed")

    def _fill(self) -> None:
        found = self._found
        self._add(self.tr("Where"), self._where(found), "text")
        self._add_side(self.tr("Recorded"), found.recorded, "")
        self._add_side(self.tr("Attempted"), found.attempted, self.tr("Nothing: the handler ended or failed before it"))
        if found.path:
            self._add(self.tr("First difference"), found.path, "text", mono=True)
            self._add_value(self.tr("Value recorded"), "- ", found.was, "del_wash")
            self._add_value(self.tr("Value now"), "+ ", found.now, "add_wash")
        self._add(self.tr("Code"), self._versions(found), "text")

    def _where(self, found: Divergence) -> str:
        seq = found.call.rpartition("/")[2]
        return self.tr("{0}, call number {1}").format(found.tool, int(seq) + 1) if seq.isdecimal() else found.tool

    def _versions(self, found: Divergence) -> str:
        if found.is_same_code:
            return self.tr("{0}, the same as recorded").format(found.new[:SHORT])
        return self.tr("recorded by {0}, now {1}").format(found.old[:SHORT], found.new[:SHORT])

    def _add_side(self, label: str, side: Side | None, otherwise: str) -> None:
        if side is None:
            self._add(label, otherwise, "muted")
        else:
            self._add(label, f"{side.call}  {side.arguments}".rstrip(), "text", mono=True)

    def _add_value(self, label: str, sign: str, value: str, wash: Role) -> None:
        """One side of the first difference, as a line of a diff."""
        theme = self._theme
        ground = Surface(theme, wash, self)
        line = QHBoxLayout(ground)
        line.setContentsMargins(theme.px(SPACE_2), 0, theme.px(SPACE_2), 0)
        shown = MarkedLabel(f"{sign}{value or self.tr('nothing')}", theme, "mono", parent=ground)
        line.addWidget(shown)
        self._place(label, ground, shown)

    def _add(self, label: str, text: str, role: Role, *, mono: bool = False) -> None:
        shown = MarkedLabel(text, self._theme, "mono" if mono else "body", role, self)
        self._place(label, shown, shown)

    def _place(self, label: str, widget: QWidget, shown: MarkedLabel) -> None:
        row = self._grid.rowCount()
        shown.setAccessibleName(f"{label}: {shown.text()}")
        self._grid.addWidget(PlainLabel(label, self._theme, "body", "muted", self), row, 0)
        self._grid.addWidget(widget, row, 1)


class WaysOn(QWidget):
    """What can be done about a run that stopped. While one of them is being done, none can be pressed."""

    resume_wanted = Signal(bool)
    """True: with the old code."""
    cancel_wanted = Signal()

    def __init__(self, theme: Theme, run: Run, acting: Acting, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(theme.px(SPACE_2))
        self._column.addWidget(PlainLabel(self.tr("Ways on"), theme, "label", "muted", self))
        self._old: ActionButton | None = None
        self._has_old = bool(run.old_code)
        if run.divergence is None or not run.divergence.is_same_code:
            what = self.tr("With code {0}, now and in later legs. Recorded calls are not run again.")
            if not self._has_old:
                what = self.tr("The code that recorded its calls is not stored, so it cannot be used.")
            self._old = self._way(self.tr("Go on with the old code…"), what.format(run.old_code[:SHORT]))
            self._old.clicked.connect(self._on_old_clicked)
        self._new = self._way(
            self.tr("Try the present code…"),
            self.tr("After you have put the code right: recorded calls are replayed and checked again."),
        )
        self._new.clicked.connect(self._on_new_clicked)
        self._cancel = self._way(self.tr("Cancel run…"), self.tr("Ends it. Calls that have run are not undone."))
        self._cancel.clicked.connect(self.cancel_wanted)
        self._state = MarkedLabel("", theme, "body", "muted", self)
        self._column.addSpacing(theme.px(SPACE_1))
        self._column.addWidget(self._state)
        self.show_acting(acting)

    def show_acting(self, acting: Acting) -> None:
        """What is being done about it, or why it was refused."""
        for button in (self._old, self._new, self._cancel):
            if button is not None:
                button.setEnabled(not acting.pending and (button is not self._old or self._has_old))
        self._state.set_role("failed" if acting.refusal else "muted")
        self._state.show_text(acting.refusal or acting.pending)
        self._state.setVisible(bool(acting.refusal or acting.pending))

    @Slot()
    def _on_old_clicked(self) -> None:
        self.resume_wanted.emit(True)

    @Slot()
    def _on_new_clicked(self) -> None:
        self.resume_wanted.emit(False)

    def _way(self, text: str, what: str) -> ActionButton:
        theme = self._theme
        button = ActionButton(theme, text, "outline", parent=self)
        button.setMinimumWidth(theme.px(WAY_WIDTH))
        button.setAccessibleDescription(what)
        line = QHBoxLayout()
        line.setSpacing(theme.px(SPACE_5))
        line.addWidget(button)
        line.addWidget(PlainLabel(what, theme, "body", "muted", self, wrap=True), 1)
        self._column.addLayout(line)
        return button
