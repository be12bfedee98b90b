"""The parts of the reading pane, how they lie together, and where the keyboard is among them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QStackedWidget, QVBoxLayout, QWidget

from inbox_app.cards.base import Card
from inbox_app.cards.decision_bar import DecisionBar
from inbox_app.gateway.base import RunDetail
from inbox_app.models.pause_facts import calls_of, outcomes_of_calls
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import EDGE
from inbox_app.views.call_pane import CallPane
from inbox_app.views.card_page import CardPage
from inbox_app.views.decision_list import DecisionList
from inbox_app.views.payload_page import PayloadPage
from inbox_app.views.request_head import RequestHead
from inbox_app.widgets.empty_state import EmptyState
from inbox_app.widgets.line_field import is_field
from inbox_app.widgets.surface import Hairline, NeutralFrame
from inbox_app.widgets.tab_strip import TabStrip

_PAGES: Final = {Qt.Key.Key_Space: 1, Qt.Key.Key_PageDown: 1, Qt.Key.Key_PageUp: -1}

FREE_MS: Final = 1500
"""So long after a question ended in mid-word the keys stay in its field."""


class RequestFrame(QWidget):
    """Head, tabs over their pages, decision bar; or an empty state in place of all of it."""

    def __init__(
        self,
        theme: Theme,
        clock: Callable[[], float],
        steady_clock: Callable[[], float],
        parent: QWidget | None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._clock = clock
        self._production = False
        self._home = NeutralFrame(theme, "card", "", self)
        self._head = RequestHead(theme, clock, self._home)
        words = (self.tr("Card"), self.tr("Payload"), self.tr("Tree"), self.tr("History"))
        self._tabs = TabStrip(theme, self.tr("Parts of the request"), words, self._home)
        self._card_page = CardPage(theme, self._home)
        self._payload_page = PayloadPage(theme, self._home)
        self._calls = CallPane(theme, clock=clock, parent=self._home)
        self._decisions = DecisionList(theme, self._home)
        self._pages = QStackedWidget(self._home)
        for page in (self._card_page, self._payload_page, self._calls, self._decisions):
            self._pages.addWidget(page)
        self._bar = DecisionBar(theme, self._home, clock=clock, steady_clock=steady_clock, parent=self._home)
        self._empty = EmptyState(theme, self)
        self._whole = QStackedWidget(self)
        self._build()
        self._tabs.currentChanged.connect(self._on_tab_changed)
        self._head.title_fitted.connect(self._on_title_fitted)
        self._card_page.unseen_changed.connect(self._bar.set_unseen)
        self._payload_page.rebuilt.connect(self._chain)
        self._calls.count_changed.connect(self._on_count_changed)
        self._bar.rest_requested.connect(self._on_rest)
        self._freeing = QTimer(self)
        self._freeing.setSingleShot(True)
        self._freeing.setInterval(FREE_MS)
        self._freeing.timeout.connect(self._on_typed_out)

    @property
    def is_answerable(self) -> bool:
        """Whether something can be picked or written for the shown question."""
        raise NotImplementedError

    @property
    def can_send(self) -> bool:
        return self._bar.can_send

    @property
    def can_undo(self) -> bool:
        return self._bar.can_undo

    @property
    def bar(self) -> DecisionBar:
        return self._bar

    @property
    def decisions(self) -> DecisionList:
        return self._decisions

    @property
    def calls(self) -> CallPane:
        return self._calls

    def pick(self, number: int) -> None:
        """Pick option ``number``, counting from 1, and show it."""
        card = self._card_page.card
        if card is not None and self._bar.can_pick and card.pick(number):
            self._show_picked(card)

    def pick_word(self, yes: bool) -> None:
        card = self._card_page.card
        if card is not None and self._bar.can_pick and card.pick_word(yes):
            self._show_picked(card)

    def _show_picked(self, card: Card) -> None:
        self._tabs.setCurrentIndex(0)
        self._card_page.show_part(card.picked_part())

    def send(self) -> None:
        self._bar.send()

    def write_note(self) -> None:
        if self._card_page.note is not None:
            self._tabs.setCurrentIndex(0)
            self._card_page.note.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def leave(self) -> bool:
        """Out of a field to the neutral frame; False if nothing in the pane had the focus in a field."""
        if self._focused_field() is None:
            return False
        self.focus_home()
        return True

    def enter(self) -> None:
        """Move the keyboard into the card, as Tab would: to its options, or with the caret into its field.

        Where nothing can be answered it goes to the tabs: a locked field would keep the keys.
        """
        card = self._card_page.card if self.is_answerable else None
        stop = card.focus_stop() if card is not None else None
        if stop is not None:
            self._tabs.setCurrentIndex(0)
        (stop or self._tabs).setFocus(Qt.FocusReason.TabFocusReason)

    def focus_home(self) -> None:
        """Put the focus on the neutral frame: keys there neither type nor send."""
        self._home.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space and the page keys turn the pages of the card, unless a field or a control wants them."""
        pages = _PAGES.get(Qt.Key(event.key()), 0)
        if not pages or self._pages.currentWidget() is not self._card_page or is_field(QApplication.focusWidget()):
            super().keyPressEvent(event)
        elif event.key() == Qt.Key.Key_Space and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._card_page.turn(-pages)
        elif event.key() == Qt.Key.Key_Space and self._bar.unseen:
            self._card_page.show_rest()
        else:
            self._card_page.turn(pages)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("card"))
        if self._production:
            edge = self._theme.px(EDGE)
            left = 0 if self.layoutDirection() == Qt.LayoutDirection.LeftToRight else self.width() - edge
            painter.fillRect(left, 0, edge, self.height(), self._theme.color("production"))
        painter.end()

    def _build(self) -> None:
        column = QVBoxLayout(self._home)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        tabs = QVBoxLayout()
        tabs.setContentsMargins(self._theme.px(24), 0, self._theme.px(24), 0)
        tabs.addWidget(self._tabs)
        column.addWidget(self._head)
        column.addLayout(tabs)
        column.addWidget(Hairline(self._theme, self._home))
        column.addWidget(self._pages, 1)
        column.addWidget(self._bar)
        self._whole.addWidget(self._empty)
        self._whole.addWidget(self._home)
        self._frame = QVBoxLayout(self)
        self._frame.setContentsMargins(0, 0, 0, 0)
        self._frame.addWidget(self._whole)

    def _set_production(self, production: bool) -> None:
        self._production = production
        self._frame.setContentsMargins(self._theme.px(EDGE) if production else 0, 0, 0, 0)
        self.update()

    def _show_course(self, detail: RunDetail, *, first: bool) -> None:
        """The calls of a run and what was decided in it."""
        if first:
            self._calls.load(calls_of(detail))
        else:
            self._calls.apply(calls_of(detail))
        self._calls.show_outcomes(outcomes_of_calls(detail))
        self._tabs.set_count(3, len(detail.decisions))
        self._decisions.show_decisions(detail.decisions)

    @Slot()
    def _chain(self) -> None:
        """The order of the Tab key: head, tabs, body from top to bottom, bar from left to right."""
        pages = (self._card_page, self._payload_page, self._calls, self._decisions)
        stops: list[QWidget] = []
        for part in (self._head, self._tabs, *pages, self._bar):
            stops += [part, *part.findChildren(QWidget)]
        stops = [stop for stop in stops if stop.focusPolicy() != Qt.FocusPolicy.NoFocus]
        for before, after in pairwise([self._home, *stops]):
            self.setTabOrder(before, after)

    def _take_focus(self) -> None:
        """A page that is about to be replaced must not hand its focus to some button."""
        focus = QApplication.focusWidget()
        if focus is not None and self.isAncestorOf(focus):
            self.focus_home()

    def _free_keys(self) -> None:
        """A field was locked under the operator: when the typing has stopped, its keys are commands again."""
        if self._focused_field() is not None:
            self._freeing.start()

    def _focused_field(self) -> QWidget | None:
        focus = QApplication.focusWidget()
        return focus if focus is not None and is_field(focus) and self.isAncestorOf(focus) else None

    @Slot()
    def _on_typed_out(self) -> None:
        if self._focused_field() is None or self.is_answerable:
            return
        if self._bar.is_typed_into:
            self._freeing.start()
        else:
            self.focus_home()

    @Slot()
    def _on_title_fitted(self) -> None:
        self._card_page.repeat_question(self._head.is_title_cut)

    @Slot(int)
    def _on_tab_changed(self, tab: int) -> None:
        focus = QApplication.focusWidget()
        if focus is not None and self._pages.isAncestorOf(focus):
            self.focus_home()
        self._pages.setCurrentIndex(tab)

    @Slot(int)
    def _on_count_changed(self, count: int) -> None:
        self._tabs.set_count(2, count or None)

    @Slot()
    def _on_rest(self) -> None:
        self._tabs.setCurrentIndex(0)
        self._card_page.show_rest()
