"""The page of one automation: when it starts what, what can be done with it, and what became of its starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.automations import words
from inbox_app.automations.tables import FiringTable
from inbox_app.gateway.automations import Automation, Firing
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON_SMALL, ROW_NORMAL, SPACE_1, SPACE_2, SPACE_3, SPACE_5, SPACE_6
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import EmptyState, IconBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.row_view import RowView
from inbox_app.widgets.scrolled import Scrolled
from inbox_app.widgets.surface import NeutralFrame

STARTS_SHOWN = 10


class AutomationPage(NeutralFrame):
    """Shows what it is given; everything that is done goes out as a signal."""

    switch_wanted = Signal()
    run_wanted = Signal()
    edit_wanted = Signal()
    remove_wanted = Signal()
    firing_opened = Signal(object)
    """A `Firing` whose run or conversation is to be shown."""

    def __init__(self, theme: Theme, clock: Callable[[], float] = time.time, parent: QWidget | None = None) -> None:
        super().__init__(theme, "card", "", parent)
        self.setAccessibleName(self.tr("Automation"))
        self._clock = clock
        self._automation: Automation | None = None
        self._empty = EmptyState(theme, self)
        self._scroll = Scrolled(self)
        inner = self._scroll.inner
        self._title = MarkedLabel("", theme, "title", parent=inner)
        self._schedule = MarkedLabel("", theme, "body", "text", inner)
        self._next = PlainLabel("", theme, "body", "muted", inner, wrap=True)
        self._facts = MarkedLabel("", theme, "meta", "muted", inner)
        self._problem = _Problem(theme, inner)
        self._refusal = MarkedLabel("", theme, "body", "failed", inner)
        self.switch = ActionButton(theme, self.tr("Switch on"), "outline", parent=inner)
        self.run = ActionButton(theme, self.tr("Start now"), "outline", parent=inner)
        self.edit = ActionButton(theme, self.tr("Edit…"), "outline", parent=inner, icon_name="pencil")
        self.remove = ActionButton(theme, self.tr("Remove…"), "flat", parent=inner)
        self._what_label = PlainLabel("", theme, "label", "muted", inner)
        self._what = MarkedLabel("", theme, "body", parent=inner)
        self._starts_label = PlainLabel(self.tr("Starts"), theme, "label", "muted", inner)
        self._no_starts = PlainLabel(self.tr("It was never started."), theme, "body", "muted", inner)
        self.firings = FiringTable(self, clock)
        self.rows = RowView(theme, self.tr("Starts, latest first"), inner)
        self.rows.setModel(self.firings)
        self._lay_out(inner)
        self.switch.clicked.connect(self.switch_wanted)
        self.run.clicked.connect(self.run_wanted)
        self.edit.clicked.connect(self.edit_wanted)
        self.remove.clicked.connect(self.remove_wanted)
        self.rows.opened.connect(self._on_opened)
        self.show_nothing()

    def _lay_out(self, inner: QWidget) -> None:
        theme = self._theme
        acts = QHBoxLayout()
        acts.setSpacing(theme.px(SPACE_2))
        for button in (self.switch, self.run, self.edit, self.remove):
            acts.addWidget(button)
        acts.addStretch(1)
        head = QVBoxLayout()
        head.setSpacing(theme.px(SPACE_1))
        for label in (self._title, self._schedule, self._next, self._facts):
            head.addWidget(label)
        head.addSpacing(theme.px(SPACE_3))
        head.addLayout(acts)
        head.addWidget(self._refusal)
        what = QVBoxLayout()
        what.setSpacing(theme.px(SPACE_1))
        what.addWidget(self._what_label)
        what.addWidget(self._what)
        starts = QVBoxLayout()
        starts.setSpacing(theme.px(SPACE_1))
        starts.addWidget(self._starts_label)
        starts.addWidget(self._no_starts)
        starts.addWidget(self.rows)
        column = QVBoxLayout(inner)
        edge = theme.px(SPACE_6)
        column.setContentsMargins(edge, edge, edge, edge)
        column.setSpacing(theme.px(SPACE_5))
        column.addLayout(head)
        column.addWidget(self._problem)
        column.addLayout(what)
        column.addLayout(starts)
        column.addStretch(1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._empty)
        whole.addWidget(self._scroll)

    @property
    def automation(self) -> Automation | None:
        return self._automation

    @property
    def current_firing(self) -> Firing | None:
        row = self.rows.current_row
        return self.firings.row(row) if row is not None else None

    def show_nothing(self) -> None:
        self._automation = None
        self._empty.show_text("clock", self.tr("No automation is selected"), "")
        self._show(filled=False)

    def show_automation(self, automation: Automation) -> None:
        is_other = self._automation is None or automation.id != self._automation.id
        self._automation = automation
        self._title.show_text(words.title(automation))
        self._schedule.show_text(words.schedule(automation))
        self._facts.show_text(self._facts_of(automation))
        self._problem.show_text(automation.problem)
        self._what_label.setText(words.target(automation))
        self._what.show_text(automation.input if automation.tool else automation.prompt)
        self.switch.set_text(self.tr("Switch off") if automation.enabled else self.tr("Switch on"))
        for button, can in (
            (self.switch, automation.enabled or (automation.is_timed and not automation.problem)),
            (self.run, not automation.problem),
            (self.edit, automation.origin == "person"),
            (self.remove, automation.origin == "person" or automation.gone),
        ):
            button.setEnabled(can)
        self.edit.setVisible(automation.origin == "person")
        self.remove.setVisible(automation.origin == "person" or automation.gone)
        self.tick()
        if is_other:
            self.show_refusal("")
            self.show_history(())
            self._scroll.verticalScrollBar().setValue(0)
        self._show(filled=True)

    def tick(self) -> None:
        if self._automation is not None:
            self._next.setText(words.next_line(self._automation, self._clock()))

    def show_refusal(self, text: str) -> None:
        """Why something was not done."""
        self._refusal.show_text(text)
        self._refusal.setVisible(bool(text))

    def show_history(self, firings: Sequence[Firing]) -> None:
        self.firings.put(firings)
        count = len(firings)
        if not count and self.rows.hasFocus():
            self.setFocus()
        self.rows.setFixedHeight(self._theme.px(ROW_NORMAL) * min(count, STARTS_SHOWN))
        self.rows.setVisible(count > 0)
        self._no_starts.setVisible(not count)

    def enter(self) -> None:
        """The keyboard comes from the list."""
        target = self.switch if self.switch.isEnabled() else self.run if self.run.isEnabled() else self
        target.setFocus(Qt.FocusReason.TabFocusReason)

    def _facts_of(self, automation: Automation) -> str:
        if automation.origin == "file":
            origin = self.tr("From {0}").format(automation.name)
        else:
            origin = self.tr("By {0}").format(automation.created_by)
        scope = self.tr("scope {0}").format(automation.scope) if automation.scope else ""
        return " · ".join(part for part in (origin, scope, automation.repository) if part)

    def _show(self, *, filled: bool) -> None:
        if not filled and self._scroll.isAncestorOf(self.focusWidget() or self):
            self.setFocus()
        self._empty.setVisible(not filled)
        self._scroll.setVisible(filled)

    @Slot()
    def _on_opened(self) -> None:
        firing = self.current_firing
        if firing is not None and firing.session_id:
            self.firing_opened.emit(firing)


class _Problem(QWidget):
    """Why an automation cannot be started."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.px(SPACE_2))
        icon = IconBox(theme, self, ICON_SMALL)
        icon.set_icon("triangle-alert", "failed")
        self._label = MarkedLabel("", theme, "body", parent=self)
        row.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._label, 1)

    def show_text(self, text: str) -> None:
        self._label.show_text(text)
        self.setVisible(bool(text))
