"""How one eval went: what held, what the agent said, and what was called for it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.evals import words
from inbox_app.gateway.evals import EvalCall, EvalResult, EvalVerdict
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON, ICON_SMALL, SPACE_1, SPACE_2, SPACE_4, SPACE_5
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel

MOST_CALLS = 200


class ResultPart(QWidget):
    """Made for one result; another one gets another part."""

    def __init__(self, theme: Theme, result: EvalResult, when: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_5))
        column.addLayout(self._head(result, when))
        if result.error:
            column.addWidget(MarkedLabel(result.error, theme, "body", "failed", self))
        if result.verdicts:
            column.addWidget(_Verdicts(theme, result.verdicts, self))
        if result.response:
            column.addWidget(_Response(theme, result.response, self))
        if result.calls:
            column.addWidget(_Calls(theme, result.calls, self))

    def _head(self, result: EvalResult, when: str) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(self._theme.px(SPACE_2))
        icon = IconBox(self._theme, self, ICON)
        name, role = words.result_mark(result)
        icon.set_icon(name, role)
        row.addWidget(icon)
        row.addWidget(PlainLabel(words.outcome(result), self._theme, "heading", "text", self))
        row.addWidget(PlainLabel(when, self._theme, "meta", "muted", self))
        row.addWidget(PlainLabel(words.facts(result), self._theme, "meta", "muted", self, elide=True), 1)
        return row


class _Verdicts(QWidget):
    def __init__(self, theme: Theme, verdicts: Sequence[EvalVerdict], parent: QWidget) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_2))
        column.addWidget(PlainLabel(self.tr("Assertions"), theme, "label", "muted", self))
        for verdict in verdicts:
            column.addWidget(_Verdict(theme, verdict, self))


class _Verdict(QWidget):
    def __init__(self, theme: Theme, verdict: EvalVerdict, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(f"{words.verdict_word(verdict)}: {verdict.text}")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.px(SPACE_2))
        icon = IconBox(theme, self, ICON_SMALL)
        name, role = words.verdict_mark(verdict)
        icon.set_icon(name, role)
        mark = QVBoxLayout()
        mark.setContentsMargins(0, theme.px(SPACE_1) // 2, 0, 0)
        mark.addWidget(icon)
        mark.addStretch(1)
        row.addLayout(mark)
        text = QVBoxLayout()
        text.setSpacing(0)
        text.addWidget(MarkedLabel(verdict.text, theme, "body", parent=self))
        reason = verdict.reason
        if verdict.judged and verdict.passed is not None:
            reason = self.tr("The judge: {0}").format(reason)
        is_good = verdict.passed is True
        text.addWidget(MarkedLabel(reason, theme, "meta", "muted" if is_good else role, self))
        row.addLayout(text, 1)


class _Response(QWidget):
    def __init__(self, theme: Theme, response: str, parent: QWidget) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(PlainLabel(self.tr("Response"), theme, "label", "muted", self))
        column.addWidget(MarkedLabel(response, theme, "body", parent=self))


class _Calls(QWidget):
    def __init__(self, theme: Theme, calls: Sequence[EvalCall], parent: QWidget) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_2))
        column.addWidget(PlainLabel(self.tr("Calls"), theme, "label", "muted", self))
        for call in calls[:MOST_CALLS]:
            inner = QVBoxLayout()
            inner.setContentsMargins(theme.px(SPACE_4) * min(call.depth, 8), 0, 0, 0)
            inner.setSpacing(0)
            inner.addWidget(MarkedLabel(words.call_line(call), theme, "mono", parent=self))
            end = MarkedLabel(words.call_end(call), theme, "meta", "failed" if call.error else "muted", self, lines=2)
            inner.addWidget(end)
            column.addLayout(inner)
        if len(calls) > MOST_CALLS:
            more = self.tr("{0} more calls are not shown").format(len(calls) - MOST_CALLS)
            column.addWidget(PlainLabel(more, theme, "meta", "muted", self))
