"""The page of one eval: what it asks and expects, how it went, and how it went before."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import PurePath

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.evals import words
from inbox_app.evals.result_part import ResultPart
from inbox_app.evals.tables import ResultTable
from inbox_app.gateway.evals import EvalInfo, EvalResult
from inbox_app.models.wording import moment
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ROW_NORMAL, SPACE_1, SPACE_2, SPACE_5, SPACE_6
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import EmptyState
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.row_view import RowView
from inbox_app.widgets.scrolled import Scrolled
from inbox_app.widgets.surface import NeutralFrame

RESULTS_SHOWN = 5


class EvalPage(NeutralFrame):
    """Shows what it is given; everything that is done goes out as a signal."""

    run_wanted = Signal()
    run_all_wanted = Signal()
    stop_wanted = Signal()
    result_chosen = Signal(str)

    def __init__(self, theme: Theme, clock: Callable[[], float] = time.time, parent: QWidget | None = None) -> None:
        super().__init__(theme, "card", "", parent)
        self.setAccessibleName(self.tr("Eval"))
        self._clock = clock
        self._info: EvalInfo | None = None
        self._result: EvalResult | None = None
        self._part: QWidget | None = None
        self._empty = EmptyState(theme, self)
        self._scroll = Scrolled(self)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._scroll.setAccessibleName(self.tr("What came of it"))
        self._inner = inner = self._scroll.inner
        self._title = MarkedLabel("", theme, "title", parent=inner)
        self._facts = MarkedLabel("", theme, "meta", "muted", inner)
        self.run = ActionButton(theme, self.tr("Run"), "outline", parent=inner)
        self.run_all = ActionButton(theme, self.tr("Run all"), "outline", parent=inner)
        self.stop = ActionButton(theme, self.tr("Stop"), "outline", parent=inner, icon_name="circle-stop")
        self._busy = PlainLabel("", theme, "body", "muted", inner, elide=True)
        self._refusal = MarkedLabel("", theme, "body", "failed", inner)
        self._description = MarkedLabel("", theme, "body", parent=inner)
        self._asks_label = PlainLabel("", theme, "label", "muted", inner)
        self._asks = MarkedLabel("", theme, "body", parent=inner)
        self._expects_label = PlainLabel(self.tr("Assertions"), theme, "label", "muted", inner)
        self._expects = MarkedLabel("", theme, "body", parent=inner)
        self._problem = MarkedLabel("", theme, "body", "failed", inner)
        self._past_label = PlainLabel(self.tr("History"), theme, "label", "muted", inner)
        self.results = ResultTable(self)
        self.result_rows = RowView(theme, self.tr("History"), inner)
        self.result_rows.setModel(self.results)
        self._lay_out(inner)
        self.run.clicked.connect(self.run_wanted)
        self.run_all.clicked.connect(self.run_all_wanted)
        self.stop.clicked.connect(self.stop_wanted)
        self.result_rows.current_moved.connect(self._on_result_moved)
        self.show_nothing()

    def _lay_out(self, inner: QWidget) -> None:
        theme = self._theme
        acts = QHBoxLayout()
        acts.setSpacing(theme.px(SPACE_2))
        for button in (self.run, self.run_all, self.stop):
            acts.addWidget(button)
        acts.addSpacing(theme.px(SPACE_2))
        acts.addWidget(self._busy, 1)
        head = QVBoxLayout()
        head.setSpacing(theme.px(SPACE_1))
        head.addWidget(self._title)
        head.addWidget(self._facts)
        head.addSpacing(theme.px(SPACE_2))
        head.addLayout(acts)
        head.addWidget(self._refusal)
        self._column = QVBoxLayout(inner)
        edge = theme.px(SPACE_6)
        self._column.setContentsMargins(edge, edge, edge, edge)
        self._column.setSpacing(theme.px(SPACE_5))
        self._column.addLayout(head)
        self._column.addWidget(self._problem)
        self._column.addWidget(self._description)
        self._column.addLayout(self._group(self._asks_label, self._asks))
        self._column.addLayout(self._group(self._expects_label, self._expects))
        self._column.addLayout(self._group(self._past_label, self.result_rows))
        self._column.addStretch(1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._empty)
        whole.addWidget(self._scroll)

    def _group(self, label: QWidget, content: QWidget) -> QVBoxLayout:
        group = QVBoxLayout()
        group.setSpacing(self._theme.px(SPACE_1))
        group.addWidget(label)
        group.addWidget(content)
        return group

    @property
    def eval_id(self) -> str:
        """Of the eval that is shown, "" for none."""
        return self._info.id if self._info is not None else ""

    def show_nothing(self) -> None:
        self._info = None
        self._empty.show_text("circle-check", self.tr("No eval is selected"), "")
        self._show(filled=False)

    def show_eval(self, info: EvalInfo) -> None:
        is_other = info.id != self.eval_id
        self._info = info
        self._title.show_text(info.title)
        self._facts.show_text(" · ".join((PurePath(info.repository).name, words.place(info))))
        _fill(self._description, info.description)
        _fill(self._problem, info.problem)
        self._asks_label.setText(self.tr("Starts") if info.tool else self.tr("Asks"))
        _fill(self._asks, info.asks, self._asks_label)
        if is_other:
            self._scroll.verticalScrollBar().setValue(0)
            self.show_results(())
            self.show_result(info.last)
        self._show(filled=True)

    def show_acting(self, *, can_run: bool, busy: str, refusal: str) -> None:
        """``busy``: what is being done, "" for nothing; ``refusal``: why something was not done."""
        for button, is_on in ((self.run, can_run and not busy), (self.run_all, not busy), (self.stop, bool(busy))):
            button.setEnabled(is_on)
        self._busy.setText(busy)
        _fill(self._refusal, refusal)

    def show_result(self, result: EvalResult | None) -> None:
        """What came of it, or what is expected of one that has not been run."""
        if self._part is not None and result == self._result:
            return
        self._result = result
        if self._part is not None:
            self._column.removeWidget(self._part)
            self._part.hide()
            self._part.deleteLater()
            self._part = None
        expected = self._info.assertions if self._info is not None and result is None else ()
        _fill(self._expects, "\n".join(expected), self._expects_label)
        if result is not None:
            self._part = ResultPart(self._theme, result, moment(result.at, self._clock()), self._inner)
            self._column.insertWidget(4, self._part)

    def show_results(self, results: Sequence[EvalResult]) -> None:
        self.results.put(results)
        count = len(results)
        self.result_rows.setFixedHeight(self._theme.px(ROW_NORMAL) * min(count, RESULTS_SHOWN))
        self.result_rows.setVisible(count > 1)
        self._past_label.setVisible(count > 1)

    def select_result(self, result: EvalResult) -> None:
        row = self.results.find(str(result.id))
        if row is not None and row != self.result_rows.current_row:
            self.result_rows.select_row(row)

    def enter(self) -> None:
        """The keyboard comes from the list."""
        target = next((one for one in (self.run, self.stop) if one.isVisible() and one.isEnabled()), self._scroll)
        target.setFocus(Qt.FocusReason.TabFocusReason)

    def _show(self, *, filled: bool) -> None:
        if not filled and self._scroll.isAncestorOf(self.focusWidget() or self):
            self.setFocus()
        self._empty.setVisible(not filled)
        self._scroll.setVisible(filled)

    def _on_result_moved(self) -> None:
        row = self.result_rows.current_row
        result = self.results.row(row) if row is not None else None
        if result is not None:
            self.result_chosen.emit(str(result.id))


def _fill(label: MarkedLabel, text: str, title: QWidget | None = None) -> None:
    label.show_text(text)
    label.setVisible(bool(text))
    if title is not None:
        title.setVisible(bool(text))
