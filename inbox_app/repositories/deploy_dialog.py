"""Asks what to deploy where. Production is asked for by its name, and its button wakes only when one can have read."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.cards.arming import Arming, KeyWatch
from inbox_app.gateway.builds import Deploy, is_production
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_2, SPACE_3
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.dialogs import SheetDialog
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.line_field import LineField
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.surface import Surface

FIELD_WIDTH = 320


class DeployDialog(SheetDialog):
    """``ordered`` comes only from a press of its button, once."""

    ordered = Signal(object)
    """A `Deploy`."""

    def __init__(
        self,
        theme: Theme,
        name: str,
        target: Deploy,
        parent: QWidget,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(theme, parent.tr("Deploy {0}").format(name), parent)
        self._target = target
        text = self.tr("The platform builds what is pushed to the branch, not the files on this computer.")
        self.column.addWidget(PlainLabel(text, theme, "body", "muted", self, wrap=True))
        self.column.addSpacing(theme.px(SPACE_2))
        self._agent = self._field(self.tr("Agent ID"), target.agent)
        self._branch = self._field(self.tr("Branch"), target.branch)
        self._environment = self._field(self.tr("Environment"), target.environment)
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme.px(SPACE_3))
        grid.setVerticalSpacing(theme.px(SPACE_2))
        for row, field in enumerate((self._agent, self._branch, self._environment)):
            grid.addWidget(PlainLabel(field.accessibleName(), theme, "body", parent=self), row, 0)
            grid.addWidget(field, row, 1)
        self.column.addLayout(grid)
        self._guard = _Guard(theme, self)
        self.column.addWidget(self._guard)
        self.column.addSpacing(theme.px(SPACE_2))
        self._why = PlainLabel("", theme, "meta", "muted", self, wrap=True)
        self._safe = ActionButton(theme, self.tr("Do not deploy"), "flat", "Esc", self)
        self._safe.clicked.connect(self.reject)
        self._do = ActionButton(theme, self.tr("Deploy"), "filled", parent=self)
        self._do.clicked.connect(self._on_do_clicked)
        row = QHBoxLayout()
        row.setSpacing(theme.px(SPACE_2))
        row.addWidget(self._why, 1)
        row.addWidget(self._safe)
        row.addWidget(self._do)
        self.column.addLayout(row)
        self._arming = Arming(KeyWatch(clock, self), clock, self)
        self._arming.armed.connect(self._update)
        for field in (self._agent, self._branch, self._environment, self._guard.field):
            field.textChanged.connect(self._update)
        self._environment.textChanged.connect(self._guard.forget)
        self._arming.start()
        self._update()

    @property
    def order(self) -> Deploy:
        given = (field.text().strip() for field in (self._agent, self._branch, self._environment))
        return Deploy(self._target.repository, *given)

    def _field(self, name: str, text: str) -> LineField:
        field = LineField(self)
        field.setAccessibleName(name)
        field.setFont(self._theme.font("body"))
        field.setFixedHeight(self._theme.px(32))
        field.setMinimumWidth(self._theme.px(FIELD_WIDTH))
        field.setText(text)
        return field

    def _hindrance(self) -> str:
        """Why it cannot be ordered now; "" if it can."""
        order = self.order
        for text, words in (
            (order.agent, self.tr("Name the agent to deploy")),
            (order.branch, self.tr("Name a branch to deploy")),
            (order.environment, self.tr("Name an environment to deploy to")),
        ):
            if not text:
                return words
        if is_production(order.environment) and self._guard.field.text().strip() != order.environment:
            return self.tr("Type {0} to deploy").format(reveal(order.environment))
        return "" if self._arming.is_armed else self.tr("Reading. The button wakes in a moment")

    @Slot()
    def _update(self) -> None:
        environment = self.order.environment
        production = is_production(environment)
        self._guard.show_environment(environment if production else "")
        self._do.set_production(production)
        self._do.set_text(self.tr("Deploy to {0}").format(reveal(environment)) if environment else self.tr("Deploy"))
        hindrance = self._hindrance()
        self._why.setText(hindrance)
        if hindrance and self._do.hasFocus() and self._safe is not None:
            self._safe.setFocus()
        self._do.setEnabled(not hindrance)
        for field, text in ((self._agent, self.order.agent), (self._branch, self.order.branch)):
            field.set_wrong(not text)
        self._environment.set_wrong(not environment)

    @Slot()
    def _on_do_clicked(self) -> None:
        if not self._hindrance():
            self._do.setEnabled(False)
            self.ordered.emit(self.order)
            self.accept()


class _Guard(Surface):
    """Says that it reaches production, and takes the name that is to be typed."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, "prod_wash", parent)
        self._words = PlainLabel("", theme, "body", "production", self, strong=True, wrap=True)
        self.field = LineField(self)
        self.field.setFont(theme.font("body"))
        self.field.setFixedHeight(theme.px(32))
        column = QVBoxLayout(self)
        edge = theme.px(SPACE_3)
        column.setContentsMargins(edge, edge, edge, edge)
        column.setSpacing(theme.px(SPACE_2))
        column.addWidget(self._words)
        column.addWidget(self.field)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._theme.is_contrast:
            painter = QPainter(self)
            painter.setPen(QPen(self._theme.color("line"), 1))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
            painter.end()

    def show_environment(self, environment: str) -> None:
        """``environment`` "" for one that needs no guard."""
        if environment:
            text = self.tr("This reaches production. Type {0} to deploy.").format(reveal(environment))
            self._words.setText(text)
            self.field.setAccessibleName(text)
        self.setVisible(bool(environment))

    @Slot()
    def forget(self) -> None:
        """What was typed was meant for another environment."""
        self.field.clear()
