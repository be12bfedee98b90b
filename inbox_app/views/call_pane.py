"""The call tree of a run: tree, levels, filters, find, and the values of the selected call."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from inbox_app.gateway.base import Call
from inbox_app.models import call_words
from inbox_app.models.call_tree import CallTree
from inbox_app.state.calls import NOT_PLACED, ROOT, Calls
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_2, SPACE_3, SPACE_4
from inbox_app.views.call_bar import ALL_LEVELS, CallBar
from inbox_app.views.call_detail import CallDetail
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.call_delegate import has_link
from inbox_app.widgets.call_view import CallView
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.surface import Hairline, Surface

BATCH_MS: Final = 50
TICK_MS: Final = 1000
REST_FACTOR: Final = 20
OPEN_MOST: Final = 10_000
"""Rows a level may open; every change of the tree lays all open rows out again."""
NARROW: Final = 680
DETAIL_HEIGHT: Final = 150
LEAST_HEIGHT: Final = 80
SHORT: Final = 300
"""Below this height there is the tree, or in its place the values of one of its calls."""


class CallPane(QWidget):
    """`load` shows a run, `apply` brings changes. ``go_to_card`` carries the id of a waiting call."""

    go_to_card = Signal(str)
    count_changed = Signal(int)

    def __init__(self, theme: Theme, *, clock: Callable[[], float] = time.time, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setMinimumHeight(theme.px(LEAST_HEIGHT))
        self._model = CallTree(clock, self)
        self._view = CallView(theme, self._model, self)
        self._pending: dict[str, Call] = {}
        self._hits: list[int] = []
        self._hit = -1
        self._times_due = 0.0
        self._short = False
        self._values_alone = False
        self._upper = QWidget(self)
        self._bar = CallBar(theme, self)
        self._skew = PlainLabel("", theme, "meta", "due", self, wrap=True)
        self._skew_strip = Surface(theme, "due_wash", self)
        self._show_values = ActionButton(
            theme, self.tr("Show input and output"), "link", parent=self, height=BUTTON_ROW
        )
        self._detail = CallDetail(theme, self)
        self._batch = QTimer(self)
        self._batch.setSingleShot(True)
        self._batch.setInterval(BATCH_MS)
        self._batch.timeout.connect(self._on_batch)
        self._ticker = QTimer(self)
        self._ticker.setInterval(TICK_MS)
        self._ticker.timeout.connect(self._on_tick)
        self._build()
        self._connect()

    @property
    def model(self) -> CallTree:
        return self._model

    @property
    def view(self) -> CallView:
        return self._view

    def load(self, calls: Sequence[Call]) -> None:
        """Show another run: open to the level, the way to what waits open and selected."""
        self._pending.clear()
        self._batch.stop()
        self._on_back()
        self._bar.clear_filters()
        self._model.show_only(None)
        self._model.load(calls)
        self._open_level()
        waiting = next((number for number in self._model.calls.walk() if self._leads_to_card(number)), None)
        first = next(self._model.calls.walk(), None)
        chosen = waiting if waiting is not None else first
        if chosen is not None:
            self._view.show_number(chosen)
        self._refresh()

    def apply(self, calls: Sequence[Call]) -> None:
        """Changes of the shown run; they are taken over together after `BATCH_MS`."""
        for call in calls:
            self._pending[f"{call.id}\n{call.parent}\n{call.kind}\n{call.name}"] = call
        if self._pending and not self._batch.isActive():
            self._batch.start()

    def show_outcomes(self, outcomes: Mapping[str, str]) -> None:
        """How the questions of the shown run ended, by the call that asked."""
        if outcomes != self._model.calls.outcomes:
            self._model.calls.outcomes = outcomes
            self._view.viewport().update()

    def show_call(self, call_id: str) -> None:
        """Select a call by its id."""
        number = self._model.calls.number(call_id)
        if number is not None:
            self._on_back()
            self._bar.clear_filters()
            self._view.show_number(number)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._bar.set_narrow(event.size().width() < self._theme.px(NARROW))
        short = event.size().height() < self._theme.px(SHORT)
        if short != self._short:
            self._short = short
            self._arrange(values_alone=False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """F starts a search; N and Shift+N move between the finds; Escape leads from the values to the tree."""
        if event.key() == Qt.Key.Key_Escape and self._values_alone:
            self._on_back()
        elif event.key() == Qt.Key.Key_F and not event.modifiers():
            self._on_back()
            self._bar.start_find()
        elif event.key() in (Qt.Key.Key_N, Qt.Key.Key_F3) and self._hits:
            back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._go_to_hit(self._hit + (-1 if back else 1))
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Whoever gives the focus to the tree wants to see it."""
        if event.type() == QEvent.Type.FocusIn:
            self._on_back()
        return super().eventFilter(watched, event)

    def _arrange(self, *, values_alone: bool) -> None:
        """Show tree and values, or one of them; the focus leaves what is hidden first."""
        self._values_alone = values_alone
        focus = self.focusWidget() or self
        values = values_alone or not self._short
        self._upper.setVisible(not values_alone or self._upper.isAncestorOf(focus))
        self._detail.setVisible(values or self._detail.isAncestorOf(focus))
        if values_alone and self._upper.isAncestorOf(focus):
            self._detail.take_focus()
        elif not values_alone and self._detail.isAncestorOf(focus) and (self._short or self._detail.back.hasFocus()):
            self._view.setFocus()
        self._upper.setVisible(not values_alone)
        self._detail.setVisible(values)
        self._detail.back.setVisible(values_alone)
        if self._show_values.hasFocus():
            self._view.setFocus()
        self._show_values.setVisible(self._short)
        self._view.setExpandsOnDoubleClick(not self._short)

    def _build(self) -> None:
        theme = self._theme
        strip = QVBoxLayout(self._skew_strip)
        strip.setContentsMargins(theme.px(SPACE_3), theme.px(SPACE_2), theme.px(SPACE_3), theme.px(SPACE_2))
        strip.addWidget(self._skew)
        acts = QHBoxLayout()
        acts.setContentsMargins(theme.px(SPACE_4), 0, theme.px(SPACE_4), 0)
        acts.addWidget(self._show_values)
        acts.addStretch(1)
        self._show_values.hide()
        column = QVBoxLayout(self._upper)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._bar)
        column.addWidget(Hairline(theme, self._upper))
        column.addWidget(self._view, 1)
        column.addWidget(self._skew_strip)
        column.addLayout(acts)
        split = QSplitter(Qt.Orientation.Vertical, self)
        split.setChildrenCollapsible(False)
        split.addWidget(self._upper)
        split.addWidget(self._detail)
        split.setStretchFactor(0, 1)
        split.setStretchFactor(1, 0)
        split.setSizes([10_000, theme.px(DETAIL_HEIGHT)])
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(split)

    def _connect(self) -> None:
        self._bar.level_changed.connect(self._on_level_changed)
        self._bar.filtered.connect(self._on_filtered)
        self._bar.find_changed.connect(self._on_find_changed)
        self._bar.next_wanted.connect(self._on_next)
        self._bar.previous_wanted.connect(self._on_previous)
        self._view.link_followed.connect(self._on_link_followed)
        self._view.activated.connect(self._on_activated)
        self._view.installEventFilter(self)
        self._show_values.clicked.connect(self._on_show_values)
        self._detail.back.clicked.connect(self._on_back)
        self._view.row_chosen.connect(self._on_row_chosen)
        self._theme.changed.connect(self._view.viewport().update)

    def _open_level(self) -> None:
        level = self._bar.level
        if level is None and len(self._model.calls) <= OPEN_MOST:
            self._view.expandAll()
            return
        level = level or ALL_LEVELS
        while level > 2 and self._model.calls.count_to_level(level, OPEN_MOST) >= OPEN_MOST:
            level -= 1
        self._view.collapseAll()
        if level > 1:
            self._view.expandToDepth(level - 2)
        self._view.expand(self._model.index_of(NOT_PLACED))

    def _leads_to_card(self, number: int) -> bool:
        return has_link(self._model.calls.node(number))

    @Slot()
    def _on_batch(self) -> None:
        batch = list(self._pending.values())
        self._pending.clear()
        known = len(self._model.calls)
        top = self._view.top_number()
        current = self._view.current_number()
        self._model.apply(batch)
        self._open_new(range(known + 2, len(self._model.calls) + 2))
        if self._bar.is_filtered:
            self._view.expandAll()
        if current and self._view.current_number() != current and self._model.index_of(current).isValid():
            self._view.setCurrentIndex(self._model.index_of(current))
        self._view.hold(top)
        self._search(keep=True)
        self._refresh()

    def _open_new(self, numbers: range) -> None:
        """New calls are as open as the level says."""
        calls, level = self._model.calls, self._bar.level
        parents = {calls.node(number).parent for number in numbers} - {ROOT}
        for parent in parents:
            if parent == NOT_PLACED or level is None or self._model.level(parent) < level:
                self._view.expand(self._model.index_of(parent))

    def _refresh(self) -> None:
        calls = self._model.calls
        current = self._refresh_times()
        self._bar.show_counts(calls.counts)
        if calls.open_count or not current:
            self._ticker.start()
        else:
            self._ticker.stop()
        self._show_skew(calls)
        self._on_row_chosen(self._view.current_number() or 0)
        self._view.viewport().update()
        self._view.header().viewport().update()
        self.count_changed.emit(len(calls))

    def _show_skew(self, calls: Calls) -> None:
        worst, number = calls.worst_skew
        self._skew_strip.setVisible(worst > 0)
        if worst > 0:
            text = self.tr("The clock of {name} is {time} behind its parent. Raw times are shown, nothing was moved.")
            self._skew.setText(text.format(name=reveal(calls.call(number).name), time=call_words.duration(worst)))

    def _refresh_times(self) -> bool:
        """Lay the time axis out again, unless that is so much work that it has to wait for a later tick."""
        began = time.perf_counter()
        if began < self._times_due:
            return False
        self._model.refresh_times()
        took = time.perf_counter() - began
        self._times_due = began + took * REST_FACTOR
        return True

    @Slot()
    def _on_tick(self) -> None:
        if self.isVisible() and self._refresh_times():
            self._view.viewport().update()
            self._view.header().viewport().update()
            if not self._model.calls.open_count:
                self._ticker.stop()

    @Slot()
    def _on_level_changed(self) -> None:
        current = self._view.current_number()
        self._open_level()
        if current and self._model.index_of(current).isValid():
            self._view.show_number(self._view.nearest_open(current))

    @Slot()
    def _on_filtered(self) -> None:
        current = self._view.current_number()
        filtered = self._bar.is_filtered
        self._model.show_only(self._bar.is_wanted if filtered else None)
        if filtered:
            self._view.expandAll()
        else:
            self._open_level()
        if current and self._model.index_of(current).isValid():
            self._view.show_number(current)
        self._view.header().viewport().update()

    @Slot()
    def _on_find_changed(self) -> None:
        self._search(keep=False)
        if self._hits:
            self._go_to_hit(0)

    def _search(self, *, keep: bool) -> None:
        """Find again; ``keep`` stays at the call that was found last."""
        last = self._hits[self._hit] if keep and 0 <= self._hit < len(self._hits) else None
        self._hits = self._model.calls.find(self._bar.text)
        self._hit = self._hits.index(last) if last in self._hits else (0 if self._hits else -1)
        self._bar.show_found(self._hit, len(self._hits))

    @Slot()
    def _on_next(self) -> None:
        self._go_to_hit(self._hit + 1)

    @Slot()
    def _on_previous(self) -> None:
        self._go_to_hit(self._hit - 1)

    def _go_to_hit(self, at: int) -> None:
        if not self._hits:
            return
        self._hit = at % len(self._hits)
        if not self._model.index_of(self._hits[self._hit]).isValid():
            self._bar.clear_filters()
        self._view.show_number(self._hits[self._hit])
        self._bar.show_found(self._hit, len(self._hits))

    @Slot(int)
    def _on_link_followed(self, number: int) -> None:
        self.go_to_card.emit(self._model.calls.call(number).id)

    @Slot()
    def _on_activated(self) -> None:
        number = self._view.current_number()
        if number and self._leads_to_card(number):
            self._on_link_followed(number)
        elif self._short:
            self._on_show_values()

    @Slot()
    def _on_show_values(self) -> None:
        self._arrange(values_alone=True)

    @Slot()
    def _on_back(self) -> None:
        if self._values_alone:
            self._arrange(values_alone=False)

    @Slot(int)
    def _on_row_chosen(self, number: int) -> None:
        self._detail.show_node(self._model.calls.node(number) if number else None)
