"""The page of a repository that a person has to look at: what is wrong with it, what it needs, what can be done."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from inbox_app.gateway.catalog import Repository
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_1, SPACE_2, SPACE_5, SPACE_6
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.strip import Strip


class RepositoryPage(QWidget):
    trust_wanted = Signal()
    remove_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._name = MarkedLabel("", theme, "title", parent=self, lines=2)
        self._path = MarkedLabel("", theme, "mono", "muted", self)
        self._strip = Strip(theme, "triangle-alert", self)
        self._needs = QWidget(self)
        self._problems = QWidget(self)
        for box in (self._needs, self._problems):
            column = QVBoxLayout(box)
            column.setContentsMargins(0, 0, 0, 0)
            column.setSpacing(theme.px(SPACE_2))
        self._trust = ActionButton(theme, self.tr("Trust it…"), "outline", parent=self, icon_name="shield-alert")
        self._remove = ActionButton(theme, self.tr("Remove from the list…"), "outline", parent=self, icon_name="x")
        self._trust.clicked.connect(self.trust_wanted)
        self._remove.clicked.connect(self.remove_wanted)
        self._build()

    def show_repository(self, repository: Repository) -> None:
        self._name.show_text(repository.name)
        self._path.show_text(repository.path)
        needs = repository.needs if not repository.trusted else ()
        if repository.broken:
            self._strip.show_words(
                self.tr("It cannot be used"),
                self.tr(
                    "It is read again as soon as one of its files changes. Runs that are going on keep their code."
                ),
            )
        elif needs:
            self._strip.show_words(
                self.tr("Part of what it does needs your trust"),
                self.tr("Its code as it is now may do this only after you have said so. The rest works without."),
            )
        else:
            self._strip.show_words(self.tr("It can be used, but look at this"), "")
        self._fill(self._needs, self.tr("What it needs trust for"), needs)
        self._fill(self._problems, self.tr("Problems"), repository.problems)
        self._trust.setVisible(bool(needs))

    def focus_first(self) -> None:
        (self._remove if self._trust.isHidden() else self._trust).setFocus(Qt.FocusReason.TabFocusReason)

    def _fill(self, box: QWidget, title: str, lines: Sequence[str]) -> None:
        column = box.layout()
        assert column is not None
        while (item := column.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        if lines:
            column.addWidget(PlainLabel(title, self._theme, "label", "muted", box))
        for line in lines:
            column.addWidget(MarkedLabel(line, self._theme, "body", parent=box))
        box.setVisible(bool(lines))

    def _build(self) -> None:
        theme = self._theme
        body = QWidget()
        column = QVBoxLayout(body)
        side = theme.px(SPACE_6)
        column.setContentsMargins(side, theme.px(SPACE_5), side, side)
        column.setSpacing(theme.px(SPACE_5))
        names = QVBoxLayout()
        names.setSpacing(theme.px(SPACE_1))
        names.addWidget(self._name)
        names.addWidget(self._path)
        column.addLayout(names)
        for part in (self._strip, self._needs, self._problems):
            column.addWidget(part)
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.px(SPACE_2))
        buttons.addWidget(self._trust)
        buttons.addWidget(self._remove)
        buttons.addStretch(1)
        column.addLayout(buttons)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.viewport().setAutoFillBackground(False)
        area.setWidget(body)
        body.setAutoFillBackground(False)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(area)
