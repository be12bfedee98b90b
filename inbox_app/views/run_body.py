"""A run without a question to answer: how it stands, its result and input, the code it ran on."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.cards.payload_part import Payload
from inbox_app.gateway.base import Run
from inbox_app.models.wording import SHORT, moment
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON_SMALL, SPACE_1, SPACE_2, SPACE_5
from inbox_app.views.divergence_part import DivergencePart, WaysOn
from inbox_app.views.run_acts import Acting
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.strip import Strip


class RunBody(QWidget):
    payload_wanted = Signal()

    def __init__(self, theme: Theme, run: Run, acting: Acting, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.ways: WaysOn | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(theme.px(SPACE_5))
        self._add_end(run, acting)
        if run.warnings:
            strip = WarningStrip(theme, self)
            strip.show_warnings(run.warnings)
            self._column.addWidget(strip)
        if run.pruned_at is not None:
            self._column.addWidget(self._pruned(run.pruned_at))
        if run.result is not None or run.status == "completed":
            self._add_payload(self.tr("Result"), run.result)
        if run.input is not None:
            given = self._add_payload(self.tr("Input"), run.input, self.tr("Open payload"))
            given.link.clicked.connect(self.payload_wanted)
        if run.revision:
            self._column.addWidget(self._code(run))

    def _add_end(self, run: Run, acting: Acting) -> None:
        """Why it stopped or failed."""
        if run.divergence is not None and run.status == "diverged":
            self._column.addWidget(DivergencePart(self._theme, run.divergence, self))
            self.ways = WaysOn(self._theme, run, acting, self)
            self._column.addWidget(self.ways)
        elif run.error is not None:
            code, message = str(run.error.get("code") or ""), str(run.error.get("message") or "")
            self._column.addWidget(_Problem(self._theme, code, message, run.status == "expired", self))

    def _add_payload(self, title: str, value: object, link: str = "") -> Payload:
        part = Payload(self._theme, title, link, self)
        part.show_value(value)
        self._column.addWidget(part)
        return part

    def _pruned(self, at: float) -> QWidget:
        text = self.tr(
            "Its journal was removed {0}: calls, questions and answers are gone, what is shown here is kept."
        )
        return MarkedLabel(text.format(moment(at)), self._theme, "body", "muted", self)

    def _code(self, run: Run) -> QWidget:
        theme = self._theme
        frame = QWidget(self)
        column = QVBoxLayout(frame)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(PlainLabel(self.tr("Code"), theme, "label", "muted", frame))
        for line in self._versions(run):
            column.addWidget(MarkedLabel(line, theme, "body", parent=frame))
        return frame

    def _versions(self, run: Run) -> list[str]:
        lines = [self.tr("Started on {0}").format(run.revision[:SHORT])]
        for one in run.versions[1:]:
            text = self.tr("Ran on {0} from leg {1}, {2}") if one.at is not None else self.tr("Ran on {0} from leg {1}")
            lines.append(text.format(one.revision[:SHORT], one.leg, moment(one.at or 0.0)))
        if run.resume_on:
            lines.append(self.tr("Goes on with {0}, as somebody chose").format(run.resume_on[:SHORT]))
        elif run.code_changed:
            lines.append(self.tr("The code has changed since: it is replayed on the present code when it goes on"))
        return lines


class WarningStrip(Strip):
    """What is odd about a run and stopped nothing."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "triangle-alert", parent)

    def show_warnings(self, warnings: Sequence[str]) -> None:
        count = len(warnings)
        title = self.tr("1 warning of this run") if count == 1 else self.tr("{0} warnings of this run").format(count)
        self.show_words(title, "\n".join(warnings))


class _Problem(QWidget):
    """Why a run failed, or expired."""

    def __init__(self, theme: Theme, code: str, message: str, expired: bool, parent: QWidget) -> None:
        super().__init__(parent)
        icon = IconBox(theme, self, ICON_SMALL)
        icon.set_icon("timer-off" if expired else "triangle-alert", "expired" if expired else "failed")
        words = QHBoxLayout()
        words.setSpacing(theme.px(SPACE_2))
        words.addWidget(icon)
        words.addWidget(MarkedLabel(code, theme, "body", "expired" if expired else "failed", self, strong=True), 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addLayout(words)
        column.addWidget(MarkedLabel(message, theme, "body", "text", self))
