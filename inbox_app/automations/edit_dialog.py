"""Makes an automation, or another one of it: what it starts, when, and the next times while that is typed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from inbox_app.automations import words
from inbox_app.gateway.automations import Automation, AutomationRequest, Preview, When
from inbox_app.gateway.catalog import Repository
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_1, SPACE_2, SPACE_3
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.choice_box import ChoiceBox
from inbox_app.widgets.dialogs import ConfirmDialog, SheetDialog
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.line_field import LineField
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.segments import Segments
from inbox_app.widgets.text_area import TextArea

FIELD_WIDTH: Final = 420
LOOK_MS: Final = 150
"""The next times are asked for when nothing was typed for so long."""

CRON, EVERY, AT = range(3)
PROMPT, TOOL = range(2)
DEFAULT_AGENT: Final = "default"


class EditDialog(SheetDialog):
    """``preview_wanted`` carries a `When`: give `show_preview` what it comes to. ``ordered`` an `AutomationRequest`;
    the dialog stays until `accept`, so that a refusal can be shown in it."""

    preview_wanted = Signal(object)
    ordered = Signal(object)

    def __init__(
        self,
        theme: Theme,
        repositories: Sequence[Repository],
        parent: QWidget,
        automation: Automation | None = None,
    ) -> None:
        title = parent.tr("New automation") if automation is None else parent.tr("Edit automation")
        super().__init__(theme, title, parent)
        self._repositories = repositories
        self._automation = automation
        self._preview = Preview()
        self._listed: list[str] = []
        self._busy = False
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(theme.px(SPACE_3))
        self._grid.setVerticalSpacing(theme.px(SPACE_2))
        self._grid.setColumnStretch(1, 1)
        self.column.addLayout(self._grid)
        self.label = self._line(self.tr("Name"), self.tr("Optional"))
        self.repository = self._choice(self.tr("Repository"), [one.name for one in repositories])
        self.kind = self._segments(self.tr("Starts"), [self.tr("An agent"), self.tr("A durable tool")])
        self.target = self._choice(self.tr("Agent"), [])
        self.prompt = self._text(self.tr("Prompt"), 3)
        self.input = self._text(self.tr("Input"), 2)
        self.input.setFont(theme.font("mono"))
        names = [self.tr("At times"), self.tr("In intervals"), self.tr("Once")]
        self.when = self._segments(self.tr("When"), names)
        self.cron = self._line(self.tr("Cron expression"), "30 9 * * MON-FRI")
        self.every = self._line(self.tr("Every"), "15m, 1h, 2d")
        self.at = self._line(self.tr("Time"), "2026-12-24T18:00")
        self.timezone = self._line(self.tr("Time zone"), self.tr("That of this computer"))
        self._show_next()
        self._buttons()
        self._fill()
        self._written_first = self._written
        self._looking = QTimer(self)
        self._looking.setSingleShot(True)
        self._looking.setInterval(LOOK_MS)
        self._looking.timeout.connect(self._on_look)
        self.repository.currentIndexChanged.connect(self._on_repository_changed)
        self.kind.currentChanged.connect(self._on_kind_changed)
        self.when.currentChanged.connect(self._on_when_changed)
        for field in (self.cron, self.every, self.at, self.timezone):
            field.textChanged.connect(self._on_schedule_typed)
        for area in (self.prompt, self.input):
            area.textChanged.connect(self._update)
        self._on_kind_changed()
        self._on_when_changed()

    def open(self) -> None:
        super().open()
        self.label.setFocus()

    def reject(self) -> None:
        """Close it; where something was written, only when that may be lost."""
        if self._busy or self._written == self._written_first:
            super().reject()
            return
        title, text = self.tr("Discard what you wrote?"), self.tr("It is not stored yet.")
        asking = ConfirmDialog(self._theme, title, text, self.tr("Discard"), self.tr("Go on writing"), self)
        asking.confirmed.connect(self._on_discarded)
        asking.open()

    @property
    def _written(self) -> Sequence[str]:
        lines = (self.label, self.cron, self.every, self.at, self.timezone, self.prompt, self.input)
        return [field.text() for field in lines]

    @property
    def schedule(self) -> When:
        timezone = self.timezone.text().strip()
        match self.when.currentIndex():
            case 0:
                return When(cron=self.cron.text().strip(), timezone=timezone)
            case 1:
                return When(every=self.every.text().strip(), timezone=timezone)
            case _:
                return When(at=self.at.text().strip(), timezone=timezone)

    @property
    def order(self) -> AutomationRequest:
        asked = AutomationRequest(self._repository_path, self.schedule, self.label.text().strip())
        scope = self._automation.scope if self._automation is not None else ""
        if self.kind.currentIndex() == TOOL:
            return replace(asked, tool=self._target_name, input=self.input.text().strip() or "{}", scope=scope)
        return replace(asked, agent=self._target_name, prompt=self.prompt.text().strip(), scope=scope)

    def show_preview(self, when: When, preview: Preview) -> None:
        """What a schedule comes to, unless another one has been typed since."""
        if when == self.schedule:
            self._preview = preview
            self._tell_preview()
            self._update()

    def show_refusal(self, text: str) -> None:
        """It was not stored."""
        self._busy = False
        self._why.setText(reveal(text))
        self._why.set_role("failed")
        self._do.setEnabled(True)

    # Making it

    def _row(self, name: str, field: QWidget) -> None:
        label = PlainLabel(name, self._theme, "body", parent=self)
        row = self._grid.rowCount()
        is_tall = isinstance(field, TextArea)
        self._grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop if is_tall else Qt.AlignmentFlag.AlignVCenter)
        self._grid.addWidget(field, row, 1)
        field.setProperty("row", row)

    def _line(self, name: str, hint: str) -> LineField:
        field = LineField(self)
        field.setAccessibleName(name)
        field.setFont(self._theme.font("body"))
        field.setFixedHeight(self._theme.px(32))
        field.setMinimumWidth(self._theme.px(FIELD_WIDTH))
        field.setPlaceholderText(hint)
        self._row(name, field)
        return field

    def _text(self, name: str, lines: int) -> TextArea:
        area = TextArea(self._theme, name, lines=lines, most=8, parent=self)
        self._row(name, area)
        return area

    def _choice(self, name: str, names: Sequence[str]) -> ChoiceBox:
        box = ChoiceBox(self._theme, name, names, parent=self)
        self._row(name, box)
        return box

    def _segments(self, name: str, names: Sequence[str]) -> Segments:
        segments = Segments(self._theme, name, names, self)
        self._row(name, segments)
        return segments

    def _show_next(self) -> None:
        theme = self._theme
        box = QVBoxLayout()
        box.setSpacing(theme.px(SPACE_1))
        self._in_words = PlainLabel("", theme, "body", "text", self, wrap=True)
        self._times = PlainLabel("", theme, "meta", "muted", self, wrap=True)
        for label in (self._in_words, self._times):
            label.setMinimumWidth(theme.px(FIELD_WIDTH))
            box.addWidget(label)
        self._grid.addLayout(box, self._grid.rowCount(), 1)

    def _buttons(self) -> None:
        theme = self._theme
        self._why = PlainLabel("", theme, "meta", "muted", self, wrap=True)
        self._safe = ActionButton(theme, self.tr("Cancel"), "flat", "Esc", self)
        self._safe.clicked.connect(self.reject)
        text = self.tr("Save") if self._automation is not None else self.tr("Make and switch on")
        self._do = ActionButton(theme, text, "filled", parent=self)
        self._do.clicked.connect(self._on_do_clicked)
        row = QHBoxLayout()
        row.setSpacing(theme.px(SPACE_2))
        row.addWidget(self._why, 1)
        row.addWidget(self._safe)
        row.addWidget(self._do)
        self.column.addSpacing(theme.px(SPACE_2))
        self.column.addLayout(row)
        for layout in (self.layout(), self.column):
            if layout is not None:
                layout.setSizeConstraint(QLayout.SizeConstraint.SetMinimumSize)

    def _fit(self) -> None:
        """What is shown takes as much room as it needs, and no more."""
        self._grid.activate()
        self.column.activate()
        self.adjustSize()

    def _fill(self) -> None:
        given = self._automation
        if given is None:
            self._choose_targets("")
            return
        self.label.setText(given.label)
        paths = [one.path for one in self._repositories]
        if given.repository in paths:
            self.repository.setCurrentIndex(paths.index(given.repository))
        self.repository.setEnabled(False)
        self.kind.setCurrentIndex(TOOL if given.tool else PROMPT)
        self._choose_targets(given.tool or given.agent)
        self.prompt.set_text(given.prompt)
        self.input.set_text(given.input if given.tool and given.input != "{}" else "")
        self.cron.setText(given.when.cron)
        self.every.setText(given.when.every)
        self.at.setText(given.when.at)
        self.timezone.setText(given.when.timezone)
        self.when.setCurrentIndex(EVERY if given.when.every else AT if given.when.at else CRON)

    # What is chosen

    @property
    def _repository(self) -> Repository | None:
        at = self.repository.currentIndex()
        return self._repositories[at] if 0 <= at < len(self._repositories) else None

    @property
    def _repository_path(self) -> str:
        if self._automation is not None:
            return self._automation.repository
        return self._repository.path if self._repository is not None else ""

    @property
    def _target_names(self) -> Sequence[str]:
        repository = self._repository
        if repository is None:
            return ()
        if self.kind.currentIndex() == TOOL:
            return [tool.name for tool in repository.tools if tool.durable]
        return [agent.name for agent in repository.agents]

    @property
    def _target_name(self) -> str:
        at, names = self.target.currentIndex(), self._target_names
        return names[at] if 0 <= at < len(names) else ""

    def _choose_targets(self, name: str) -> None:
        names = self._listed = [*self._target_names]
        self.target.clear()
        self.target.addItems([reveal(one) for one in names])
        wanted = name or DEFAULT_AGENT
        if wanted in names:
            self.target.setCurrentIndex(names.index(wanted))

    def _show_row(self, field: QWidget, shown: bool) -> None:
        item = self._grid.itemAtPosition(field.property("row"), 0)
        label = item.widget() if item is not None else None
        for widget in (field, label):
            if widget is not None:
                widget.setVisible(shown)

    @Slot()
    def _on_repository_changed(self) -> None:
        self._choose_targets("")
        self._update()

    @Slot()
    def _on_kind_changed(self) -> None:
        is_tool = self.kind.currentIndex() == TOOL
        name = self.tr("Tool") if is_tool else self.tr("Agent")
        self.target.setAccessibleName(name)
        label = self._grid.itemAtPosition(self.target.property("row"), 0)
        widget = label.widget() if label is not None else None
        if isinstance(widget, PlainLabel):
            widget.setText(name)
        if [*self._target_names] != self._listed:
            self._choose_targets("")
        self._show_row(self.prompt, not is_tool)
        self._show_row(self.input, is_tool)
        self._fit()
        self._update()

    @Slot()
    def _on_when_changed(self) -> None:
        for place, field in ((CRON, self.cron), (EVERY, self.every), (AT, self.at)):
            self._show_row(field, self.when.currentIndex() == place)
        self._show_row(self.timezone, self.when.currentIndex() != EVERY)
        self._on_schedule_typed()

    @Slot()
    def _on_schedule_typed(self) -> None:
        self._preview = Preview()
        self._looking.start()
        self._update()

    @Slot()
    def _on_look(self) -> None:
        when = self.schedule
        if when.cron or when.every or when.at:
            self.preview_wanted.emit(when)
        else:
            self._tell_preview()

    def _tell_preview(self) -> None:
        preview = self._preview
        self._in_words.set_role("failed" if preview.problem else "text")
        self._in_words.setText(reveal(preview.problem or preview.in_words))
        times = [words.day_and_time(at) for at in preview.times]
        self._times.setText("\n".join([self.tr("Next times"), *times]) if times else "")
        wrong = bool(preview.problem)
        for field in (self.cron, self.every, self.at):
            field.set_wrong(wrong and not preview.in_zone and field.isVisible())
        self.timezone.set_wrong(wrong and preview.in_zone)
        self._fit()

    def _hindrance(self) -> str:
        """Why it cannot be stored now, "" if it can."""
        if not self._repository_path:
            return self.tr("Open a repository first")
        if not self._target_name:
            if self.kind.currentIndex() == TOOL:
                return self.tr("This repository has no durable tool")
            return self.tr("This repository has no agent")
        if self.kind.currentIndex() == TOOL:
            if not _is_json(self.input.text()):
                return self.tr("The input is not JSON")
        elif not self.prompt.text().strip():
            return self.tr("Write what the agent is to do")
        when = self.schedule
        if not (when.cron or when.every or when.at):
            return self.tr("Say when it is to start")
        if self._preview.problem:
            return self.tr("The schedule is not understood")
        if not self._preview.in_words:
            return self.tr("Looking at the schedule")
        return "" if self._preview.times else self.tr("This time has passed")

    @Slot()
    def _update(self) -> None:
        hindrance = self._hindrance()
        self._why.set_role("muted")
        self._why.setText(hindrance)
        if hindrance and self._do.hasFocus() and self._safe is not None:
            self._safe.setFocus()
        self._do.setEnabled(not hindrance and not self._busy)

    @Slot()
    def _on_discarded(self) -> None:
        self.done(EditDialog.DialogCode.Rejected.value)

    @Slot()
    def _on_do_clicked(self) -> None:
        if not self._hindrance() and not self._busy:
            self._busy = True
            self._do.setEnabled(False)
            self.ordered.emit(self.order)


def _is_json(text: str) -> bool:
    try:
        json.loads(text.strip() or "{}")
    except ValueError:
        return False
    return True
