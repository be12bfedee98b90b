"""The page of one repository: what it is, what can be done with it, its switches, its builds with their logs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.gateway.builds import Build, LogLine
from inbox_app.gateway.catalog import Repository
from inbox_app.models.wording import SHORT
from inbox_app.repositories import words
from inbox_app.repositories.build_detail import BuildDetail
from inbox_app.repositories.parts import ProblemsPart, SwitchesPart, TrustPart
from inbox_app.repositories.tables import BuildTable
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ROW_NORMAL, SPACE_1, SPACE_2, SPACE_3, SPACE_5, SPACE_6
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import EmptyState
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.row_view import RowView
from inbox_app.widgets.scrolled import Scrolled
from inbox_app.widgets.surface import NeutralFrame

BUILDS_SHOWN = 5


class RepositoryPage(NeutralFrame):
    """Shows what it is given; everything that is done goes out as a signal."""

    reload_wanted = Signal()
    deploy_wanted = Signal()
    trust_wanted = Signal()
    switched = Signal(str, bool)
    build_chosen = Signal(str)
    follow_wanted = Signal()

    def __init__(
        self,
        theme: Theme,
        go_to_run: Callable[[str], None],
        clock: Callable[[], float] = time.time,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, "card", "", parent)
        self.setAccessibleName(self.tr("Repository"))
        self._repository: Repository | None = None
        self._above: QWidget | None = None
        self._empty = EmptyState(theme, self)
        self._scroll = Scrolled(self)
        inner = self._scroll.inner
        self._title = MarkedLabel("", theme, "title", parent=inner)
        self._facts = MarkedLabel("", theme, "meta", "muted", inner)
        self.reload = ActionButton(theme, self.tr("Reload"), "outline", parent=inner, icon_name="refresh-cw")
        self.deploy = ActionButton(theme, self.tr("Deploy…"), "outline", parent=inner, icon_name="arrow-up-right")
        self._busy = PlainLabel("", theme, "body", "muted", inner, elide=True)
        self._refusal = MarkedLabel("", theme, "body", "failed", inner)
        self.switches = SwitchesPart(theme, inner)
        self._builds_label = PlainLabel(self.tr("Builds"), theme, "label", "muted", inner)
        self._no_builds = PlainLabel("", theme, "body", "muted", inner, wrap=True)
        self.builds = BuildTable(self, clock)
        self.build_rows = RowView(theme, self.tr("Builds"), inner)
        self.build_rows.setModel(self.builds)
        self.detail = BuildDetail(theme, go_to_run, inner)
        self._lay_out(inner)
        self.reload.clicked.connect(self.reload_wanted)
        self.deploy.clicked.connect(self.deploy_wanted)
        self.switches.switched.connect(self.switched)
        self.detail.follow_wanted.connect(self.follow_wanted)
        self.build_rows.current_moved.connect(self._on_build_moved)
        self.show_nothing()

    def _lay_out(self, inner: QWidget) -> None:
        theme = self._theme
        acts = QHBoxLayout()
        acts.setSpacing(theme.px(SPACE_2))
        acts.addWidget(self.reload)
        acts.addWidget(self.deploy)
        acts.addSpacing(theme.px(SPACE_2))
        acts.addWidget(self._busy, 1)
        head = QVBoxLayout()
        head.setSpacing(theme.px(SPACE_1))
        head.addWidget(self._title)
        head.addWidget(self._facts)
        head.addSpacing(theme.px(SPACE_2))
        head.addLayout(acts)
        head.addWidget(self._refusal)
        builds = QVBoxLayout()
        builds.setSpacing(theme.px(SPACE_1))
        builds.addWidget(self._builds_label)
        builds.addWidget(self._no_builds)
        builds.addWidget(self.build_rows)
        builds.addSpacing(theme.px(SPACE_3))
        builds.addWidget(self.detail)
        self._column = QVBoxLayout(inner)
        edge = theme.px(SPACE_6)
        self._column.setContentsMargins(edge, edge, edge, edge)
        self._column.setSpacing(theme.px(SPACE_5))
        self._column.addLayout(head)
        self._column.addLayout(builds)
        self._column.addWidget(self.switches)
        self._column.addStretch(1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._empty)
        whole.addWidget(self._scroll)

    @property
    def path(self) -> str:
        """Of the repository that is shown, "" for none."""
        return self._repository.path if self._repository is not None else ""

    def show_nothing(self) -> None:
        self._repository = None
        self._empty.show_text("git-branch", self.tr("No repository is selected"), "")
        self._show(filled=False)

    def show_repository(self, repository: Repository) -> None:
        if repository == self._repository:
            return
        is_other = repository.path != self.path
        self._repository = repository
        self._title.show_text(repository.name)
        parts = [repository.version, repository.revision[:SHORT], words.contents(repository), repository.path]
        if repository.broken:
            parts = [repository.path]
        self._facts.show_text(" · ".join(part for part in parts if part))
        self._tell(repository)
        self.switches.setVisible(bool(repository.builtins))
        self.switches.show_tools(repository.builtins)
        if is_other:
            self._scroll.verticalScrollBar().setValue(0)
        self._show(filled=True)

    def show_acting(self, busy: str, refusal: str) -> None:
        """``busy``: what is being done, "" for nothing; ``refusal``: why something was not done."""
        for button in (self.reload, self.deploy):
            button.setEnabled(not busy)
        self._busy.setText(busy)
        self._refusal.show_text(refusal)
        self._refusal.setVisible(bool(refusal))

    def show_builds(self, builds: Sequence[Build]) -> None:
        self.builds.put(builds)
        count = len(builds)
        self.build_rows.setFixedHeight(self._theme.px(ROW_NORMAL) * min(count, BUILDS_SHOWN))
        self.build_rows.setVisible(count > 0)
        self._no_builds.setVisible(not count)
        self._no_builds.setText(self.tr("Not built yet. Reload it to see whether everything in it works."))
        if not count:
            self.detail.hide()

    def show_build(self, build: Build, log: Sequence[LogLine], *, is_followed: bool) -> None:
        self.detail.show_build(build, log, is_followed=is_followed)
        self.detail.show()

    def select_build(self, build_id: str) -> None:
        row = self.builds.find(build_id)
        if row is not None and row != self.build_rows.current_row:
            self.build_rows.select_row(row)

    def enter(self) -> None:
        """The keyboard comes from the list."""
        target = self.reload if self.reload.isVisible() and self.reload.isEnabled() else self
        target.setFocus(Qt.FocusReason.TabFocusReason)

    def _tell(self, repository: Repository) -> None:
        """What is wrong and what needs trust, anew."""
        theme = self._theme
        if self._above is not None:
            if self._above.isAncestorOf(self.focusWidget() or self):
                self.setFocus()
            self._column.removeWidget(self._above)
            self._above.hide()
            self._above.deleteLater()
            self._above = None
        if not repository.problems and repository.trusted:
            return
        self._above = QWidget(self._scroll.widget())
        column = QVBoxLayout(self._above)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_5))
        if not repository.trusted and repository.needs:
            trust = TrustPart(theme, repository.needs, self._above)
            trust.wanted.connect(self.trust_wanted)
            column.addWidget(trust)
        if repository.problems:
            column.addWidget(ProblemsPart(theme, repository, self._above))
        self._column.insertWidget(1, self._above)

    def _show(self, *, filled: bool) -> None:
        if not filled and self._scroll.isAncestorOf(self.focusWidget() or self):
            self.setFocus()
        self._empty.setVisible(not filled)
        self._scroll.setVisible(filled)

    def _on_build_moved(self) -> None:
        row = self.build_rows.current_row
        build = self.builds.row(row) if row is not None else None
        if build is not None:
            self.build_chosen.emit(build.id)


def spoken(repository: Repository) -> str:
    """A repository by its name, for sentences."""
    return reveal(repository.name)
