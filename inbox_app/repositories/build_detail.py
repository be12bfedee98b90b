"""One build: what came of it, why it failed, which waiting runs it touches, and its log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.gateway.builds import Build, BuildFailure, LogLine, TouchedRun
from inbox_app.repositories import words
from inbox_app.repositories.log_view import LogView
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, ICON_SMALL, SPACE_1, SPACE_2, SPACE_4, SPACE_5
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel

LINE = 20


class BuildDetail(QWidget):
    """``follow_wanted``: the log of a build on the platform that went on while nobody followed it."""

    follow_wanted = Signal()

    def __init__(self, theme: Theme, go_to_run: Callable[[str], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._go_to_run = go_to_run
        self._build: Build | None = None
        self._told: QWidget | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(theme.px(SPACE_4))
        self._log_label = PlainLabel(self.tr("Log"), theme, "label", "muted", self)
        self._follow = ActionButton(theme, self.tr("Follow it"), "link", parent=self, height=BUTTON_ROW)
        self._follow.clicked.connect(self.follow_wanted)
        self._log = LogView(theme, self)
        head = QHBoxLayout()
        head.addWidget(self._log_label)
        head.addStretch(1)
        head.addWidget(self._follow)
        log = QVBoxLayout()
        log.setSpacing(theme.px(SPACE_1))
        log.addLayout(head)
        log.addWidget(self._log)
        self._column.addLayout(log)

    def show_build(self, build: Build, log: Sequence[LogLine], *, is_followed: bool) -> None:
        if build != self._build:
            self._tell(build)
        self._build = build
        self._follow.setVisible(build.kind == "platform" and build.state == "running" and not is_followed)
        self._log.show_lines(log)

    def add_lines(self, lines: Sequence[LogLine]) -> None:
        self._log.add_lines(lines)

    def _tell(self, build: Build) -> None:
        """Everything above the log, anew."""
        if self._told is not None:
            self._column.removeWidget(self._told)
            self._told.hide()
            self._told.deleteLater()
            self._told = None
        lines = words.change_lines(build)
        if not (lines or build.touched or build.failures):
            return
        self._told = QWidget(self)
        column = QVBoxLayout(self._told)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self._theme.px(SPACE_5))
        if build.failures:
            column.addWidget(_Failures(self._theme, build.failures, self._told))
        if lines:
            column.addWidget(_Lines(self._theme, self.tr("What has changed"), lines, self._told))
        if build.touched:
            column.addWidget(_Touched(self._theme, build.touched, self._go_to_run, self._told))
        self._column.insertWidget(0, self._told)


class _Failures(QWidget):
    def __init__(self, theme: Theme, failures: Sequence[BuildFailure], parent: QWidget) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_2))
        column.addWidget(PlainLabel(self.tr("Why it failed"), theme, "label", "muted", self))
        for failure in failures:
            column.addWidget(_FailureRow(theme, failure, self))


class _FailureRow(QWidget):
    def __init__(self, theme: Theme, failure: BuildFailure, parent: QWidget) -> None:
        super().__init__(parent)
        icon = IconBox(theme, self, ICON_SMALL)
        icon.set_icon("triangle-alert", "failed")
        head = QHBoxLayout()
        head.setSpacing(theme.px(SPACE_2))
        head.addWidget(icon)
        kind = words.failure_kind(failure.kind)
        head.addWidget(PlainLabel(kind, theme, "body", "failed", self, strong=True))
        place = words.failure_place(failure)
        head.addWidget(PlainLabel(place, theme, "mono", "text", self, elide=True), 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addLayout(head)
        inner = QVBoxLayout()
        inner.setContentsMargins(theme.px(ICON_SMALL) + theme.px(SPACE_2), 0, 0, 0)
        inner.setSpacing(0)
        for line in failure.lines:
            inner.addWidget(MarkedLabel(line, theme, "mono", parent=self))
        inner.addWidget(MarkedLabel(failure.advice, theme, "body", "muted", self))
        column.addLayout(inner)
        self.setAccessibleName(", ".join(part for part in (kind, place) if part))


class _Lines(QWidget):
    def __init__(self, theme: Theme, title: str, lines: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(PlainLabel(title, theme, "label", "muted", self))
        for line in lines:
            column.addWidget(MarkedLabel(line, theme, "body", parent=self))


class _Touched(QWidget):
    """The waiting runs whose code changed, each with the way to it."""

    def __init__(
        self, theme: Theme, runs: Sequence[TouchedRun], go_to_run: Callable[[str], None], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._go_to_run = go_to_run
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(PlainLabel(self.tr("Waiting runs that it touches"), theme, "label", "muted", self))
        for run in runs:
            text, role = words.touched_line(run)
            link = ActionButton(theme, self.tr("Open the run"), "link", parent=self, height=LINE)
            link.setProperty("run", run.run_id)
            link.setAccessibleName(self.tr("Open the run of {0}").format(run.tool))
            link.clicked.connect(self._on_clicked)
            row = QHBoxLayout()
            row.setSpacing(theme.px(SPACE_2))
            row.addWidget(MarkedLabel(text, theme, "body", role, self), 1)
            row.addWidget(link)
            column.addLayout(row)

    @Slot()
    def _on_clicked(self) -> None:
        link = self.sender()
        if isinstance(link, ActionButton):
            self._go_to_run(link.property("run"))
