"""What became of the last start of a tool: its outcome and result, and where to go from there."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.cards.payload_part import Payload
from inbox_app.models.wording import clock as time_of_day
from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, ICON, RADIUS_OPTION, SPACE_2, SPACE_3
from inbox_app.tools_panel.launch_words import standing
from inbox_app.tools_panel.launches import Launch
from inbox_app.widgets.announce import announce
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel


class OutcomePart(QWidget):
    run_wanted = Signal(str)
    question_wanted = Signal(str)

    def __init__(self, theme: Theme, clock: Callable[[], float] = time.time, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._clock = clock
        self._run_id = self._pause_id = self._said = ""
        self._icon = IconBox(theme, self, ICON)
        self._word = PlainLabel("", theme, "body", parent=self, strong=True)
        self._when = PlainLabel("", theme, "meta", "muted", self)
        self._answer = ActionButton(theme, self.tr("Answer its question"), "link", parent=self, height=BUTTON_ROW)
        self._open = ActionButton(theme, self.tr("Open run"), "link", parent=self, height=BUTTON_ROW)
        self._text = MarkedLabel("", theme, "body", parent=self, lines=12)
        self._result = Payload(theme, self.tr("Result"), "", self)
        self._answer.clicked.connect(self._on_answer)
        self._open.clicked.connect(self._on_open)
        line = QHBoxLayout()
        line.setSpacing(theme.px(SPACE_2))
        for part in (self._icon, self._word, self._when):
            line.addWidget(part)
        line.addStretch(1)
        line.addWidget(self._answer)
        line.addSpacing(theme.px(SPACE_2))
        line.addWidget(self._open)
        column = QVBoxLayout(self)
        edge = theme.px(SPACE_3)
        column.setContentsMargins(edge, theme.px(SPACE_2), edge, edge)
        column.setSpacing(theme.px(SPACE_2))
        column.addLayout(line)
        column.addWidget(self._text)
        column.addWidget(self._result)

    def show_launch(self, launch: Launch, *, speak: bool) -> None:
        """``speak``: this has just happened, so it is said aloud as well."""
        now, outcome = standing(launch), launch.outcome
        self._icon.set_icon(now.icon, now.role)
        self._word.setText(now.word)
        self._word.set_role(now.role)
        self._when.setText(self._time(launch))
        self._run_id = launch.run_id or ""
        pause = outcome.pause if outcome is not None else None
        self._pause_id = pause.id if pause is not None else ""
        text = self._words(launch)
        self._text.show_text(text)
        self._text.setVisible(bool(text))
        has_result = outcome is not None and outcome.kind == "complete"
        if has_result and outcome is not None:
            self._result.show_value(outcome.result)
        self._result.setVisible(has_result)
        for button, wanted in ((self._answer, self._pause_id), (self._open, self._run_id and not self._pause_id)):
            if button.hasFocus() and not wanted:
                self.setFocus()
            button.setVisible(bool(wanted))
        said = f"{now.word}. {text}".strip()
        self.setAccessibleName(self.tr("Last start: {0}").format(said))
        if speak and said != self._said:
            announce(self, said)
        self._said = said

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("line_strong"), 1))
        painter.drawPath(rounded(self.rect(), RADIUS_OPTION, 0.5))
        painter.end()

    def _time(self, launch: Launch) -> str:
        if launch.is_on_its_way:
            return self.tr("since {0}; you can leave this page").format(time_of_day(launch.started_at))
        return time_of_day(launch.at)

    def _words(self, launch: Launch) -> str:
        outcome = launch.outcome
        if launch.refusal is not None:
            return self.tr("{0}: {1}").format(launch.refusal.code, launch.refusal.message)
        if outcome is None:
            return ""
        if outcome.pause is not None:
            return outcome.pause.question
        return outcome.reason

    @Slot()
    def _on_answer(self) -> None:
        self.question_wanted.emit(self._pause_id)

    @Slot()
    def _on_open(self) -> None:
        self.run_wanted.emit(self._run_id)
