"""The head of the reading pane: where it comes from, what is asked, the facts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from inbox_app.gateway.base import Pause, Run
from inbox_app.models.deadline_words import then
from inbox_app.models.wording import moment, span
from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import RADIUS_TAG, SPACE_1, SPACE_2, SPACE_3, SPACE_6, Role
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel

TICK_MS = 10_000
NEAR_MS, NEAR_S = 1000, 90.0
"""Seconds count when so few are left until the deadline."""
TAG_HEIGHT = 20
LINE = 24
TITLE_LINES = 3
LOW = 400
"""Below this height of the pane the facts are one line and the title is another."""


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    text: str
    role: Role = "text"
    strong: bool = False


class RequestHead(QWidget):
    """``title_fitted``: the title has other room, so `is_title_cut` may have changed. In a low ``parent`` it is low."""

    title_fitted = Signal()

    def __init__(self, theme: Theme, clock: Callable[[], float] = time.time, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._low = False
        self._columns: tuple[list[Fact], list[Fact]] = ([], [])
        self._closed_at: float | None = None
        self._clock = clock
        self._pause: Pause | None = None
        self._tag = _Tag(theme, self)
        self._connection = PlainLabel("", theme, "body", "text", self, strong=True)
        self._run = PlainLabel("", theme, "meta", "muted", self)
        self._tool = PlainLabel("", theme, "mono", "muted", self, elide=True)
        self._summary = PlainLabel("", theme, "meta", "text", self, elide=True)
        self._topic = MarkedLabel("", theme, "body", "muted", self, lines=1)
        self._title = MarkedLabel("", theme, "title", parent=self, lines=TITLE_LINES)
        self._title.fitted.connect(self.title_fitted)
        self._facts = QGridLayout()
        self._facts.setContentsMargins(0, 0, 0, 0)
        self._facts.setHorizontalSpacing(theme.px(SPACE_3))
        self._facts.setVerticalSpacing(theme.px(SPACE_1))
        self._facts.setColumnMinimumWidth(0, theme.px(52))
        self._facts.setColumnMinimumWidth(2, theme.px(44))
        self._facts.setColumnStretch(1, 1)
        self._facts.setColumnStretch(3, 1)
        self._fact_labels: list[PlainLabel] = []
        self._build()
        self._ticker = QTimer(self)
        self._ticker.setInterval(TICK_MS)
        self._ticker.timeout.connect(self._on_tick)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        if parent is not None:
            parent.installEventFilter(self)

    @property
    def is_title_cut(self) -> bool:
        return self._title.is_cut()

    def show_pause(self, pause: Pause, *, production: bool) -> None:
        self._pause = pause
        self._closed_at = None
        self._show_origin(pause.connection, pause.run_id, pause.tool, production=production)
        self._show_topic(pause.title)
        self._title.show_text(pause.question or self.tr("No question text"))
        self.setAccessibleName(reveal(pause.question)[:1000])
        self._on_tick()
        self._ticker.start()

    def close_pause(self) -> None:
        """The question waits no longer: its times stand still."""
        if self._pause is not None and self._closed_at is None:
            self._closed_at = self._clock()
            self._ticker.stop()
            self._on_tick()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QResizeEvent) and (low := event.size().height() < self._theme.px(LOW)) != self._low:
            self._low = low
            self._fit()
        return super().eventFilter(watched, event)

    def show_run(self, run: Run, title: str, *, production: bool) -> None:
        self._pause = None
        self._ticker.stop()
        self._show_origin(run.connection, run.id, run.tool, production=production)
        self._show_topic("")
        self._title.show_text(title)
        self.setAccessibleName(title)
        self._show_facts(self._run_facts(run))

    def _build(self) -> None:
        theme = self._theme
        origin = QHBoxLayout()
        origin.setContentsMargins(0, 0, 0, 0)
        origin.setSpacing(theme.px(SPACE_3))
        origin.addWidget(self._tag)
        origin.addWidget(self._connection)
        origin.addWidget(self._run)
        origin.addWidget(self._tool, 1)
        origin.addWidget(self._summary, 1)
        self._column = column = QVBoxLayout(self)
        column.setSpacing(theme.px(SPACE_2))
        line = QWidget(self)
        line.setLayout(origin)
        line.setFixedHeight(theme.px(LINE))
        column.addWidget(line)
        column.addWidget(self._topic)
        column.addWidget(self._title)
        column.addLayout(self._facts)
        self._fit()

    def _fit(self) -> None:
        """Lay out for the height there is."""
        theme, low = self._theme, self._low
        side, top, bottom = theme.px(SPACE_6), theme.px(SPACE_1 if low else 14), theme.px(SPACE_1 if low else SPACE_3)
        self._column.setContentsMargins(side, top, side, bottom)
        self._column.setSpacing(0 if low else theme.px(SPACE_2))
        self._title.set_lines(1 if low else TITLE_LINES)
        self._topic.setVisible(not low and bool(self._topic.text()))
        self._summary.setVisible(low)
        self._run.setVisible(not low)
        self._tool.setVisible(not low)
        self._show_facts(self._columns)

    def _show_topic(self, text: str) -> None:
        """What the author put over the question."""
        self._topic.show_text(text)
        self._topic.setVisible(bool(text) and not self._low)

    def _show_origin(self, connection: str, run_id: str, tool: str, *, production: bool) -> None:
        self._tag.setVisible(production)
        self._connection.setVisible(not production)
        self._tag.show_name(reveal(connection))
        self._connection.setText(reveal(connection))
        self._run.setText(self.tr("run {id}").format(id=reveal(run_id)))
        self._tool.setText(reveal(tool))

    def _show_facts(self, columns: tuple[list[Fact], list[Fact]]) -> None:
        theme = self._theme
        self._columns = columns
        left, right = columns
        self._summary.setText(" · ".join(f"{fact.label} {reveal(fact.text)}" for fact in (*right, *left)))
        shown = () if self._low else columns
        facts = [(side, row, fact) for side, column in enumerate(shown) for row, fact in enumerate(column)]
        while len(self._fact_labels) < 2 * len(facts):
            self._fact_labels.append(
                PlainLabel("", theme, "meta", "muted", self, elide=len(self._fact_labels) % 2 == 1)
            )
        for label in self._fact_labels:
            self._facts.removeWidget(label)
            label.hide()
        for at, (side, row, fact) in enumerate(facts):
            name, text = self._fact_labels[2 * at], self._fact_labels[2 * at + 1]
            name.setText(fact.label)
            text.setText(reveal(fact.text))
            text.set_role(fact.role)
            text.set_strong(fact.strong)
            self._facts.addWidget(name, row, 2 * side)
            self._facts.addWidget(text, row, 2 * side + 1)
            name.show()
            text.show()

    def _pause_facts(self, pause: Pause) -> tuple[list[Fact], list[Fact]]:
        closed = self._closed_at is not None
        now = self._closed_at if self._closed_at is not None else self._clock()
        left = [Fact(self.tr("Asked by"), pause.path[-1] if pause.path else pause.tool)]
        if pause.requested_by:
            left.append(Fact(self.tr("For"), pause.requested_by))
        if len(pause.path) > 1:
            left.append(Fact(self.tr("Path"), " › ".join(pause.path)))
        since = self.tr("{age}, since {time}").format(age=span(now - pause.asked_at), time=moment(pause.asked_at, now))
        right = [Fact(self.tr("Waited") if closed else self.tr("Waiting"), since)]
        if pause.expires_at is not None and not closed:
            left_over = pause.expires_at - now
            when = moment(pause.expires_at, now)
            text = (
                self.tr("{time}, in {age}").format(time=when, age=span(left_over))
                if left_over > 0
                else self.tr("{time}, passed").format(time=when)
            )
            right.append(Fact(self.tr("Due"), text, "due", strong=True))
            right.append(Fact(self.tr("Then"), then(pause.on_expire)))
        return left, right

    def _run_facts(self, run: Run) -> tuple[list[Fact], list[Fact]]:
        now = self._clock()
        left = [Fact(self.tr("For"), run.requested_by)] if run.requested_by else []
        right = [Fact(self.tr("Started"), moment(run.created_at, now))]
        if run.finished_at is not None:
            left.append(Fact(self.tr("Took"), span(run.finished_at - run.created_at)))
            right.append(Fact(self.tr("Ended"), moment(run.finished_at, now)))
        elif run.wake_at is not None:
            right.append(Fact(self.tr("Wakes"), moment(run.wake_at, now)))
        return left, right

    @Slot()
    def _on_tick(self) -> None:
        pause = self._pause
        if pause is not None:
            self._show_facts(self._pause_facts(pause))
            left = math.inf if pause.expires_at is None else pause.expires_at - self._clock()
            self._ticker.setInterval(NEAR_MS if 0 < left < NEAR_S else TICK_MS)


class _Tag(QWidget):
    """The filled tag of a production connection."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = ""
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_name(self, name: str) -> None:
        self._text = self.tr("PROD {name}").format(name=name)
        self.setAccessibleName(self._text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        width = self._theme.metrics("label").horizontalAdvance(self._text)
        return QSize(width + 2 * self._theme.px(SPACE_2) + 2, self._theme.px(TAG_HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillPath(rounded(self.rect(), RADIUS_TAG), self._theme.color("production"))
        painter.setPen(self._theme.color("on_prod"))
        painter.setFont(self._theme.font("label"))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._text)
        painter.end()
