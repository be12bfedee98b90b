"""The body of the reading pane: why, answer, reason, exact arguments. It knows how much of it was in view."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from inbox_app.cards.base import Card
from inbox_app.cards.links_part import LinksPart
from inbox_app.cards.payload_part import Payload
from inbox_app.cards.registry import make_card
from inbox_app.cards.votes_part import VotesPart
from inbox_app.gateway.base import Json, Pause, Run
from inbox_app.models.pause_facts import content
from inbox_app.state.seen import Seen
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON, SPACE_1, SPACE_5, SPACE_6
from inbox_app.views.divergence_part import WaysOn
from inbox_app.views.run_acts import Acting
from inbox_app.views.run_body import RunBody, WarningStrip
from inbox_app.widgets.line_field import LineField
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.option_row import OUTSET
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.strip import Strip

LINE = 20
SLACK = 8
DWELL_MS = 150
"""What flies by in less is not counted as seen."""
NOTE_WIDTH = 640


class CardPage(QScrollArea):
    """Made anew for every question. ``unseen_changed`` counts lines not yet in view, wherever they are."""

    changed = Signal()
    payload_wanted = Signal()
    resume_wanted = Signal(bool)
    cancel_wanted = Signal()
    unseen_changed = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.card: Card | None = None
        self.note: LineField | None = None
        self._payload: Payload | None = None
        self._question: MarkedLabel | None = None
        self._code_note: Strip | None = None
        self._votes: VotesPart | None = None
        self._warnings: WarningStrip | None = None
        self._ways: WaysOn | None = None
        self._seen: dict[QWidget, Seen] = {}
        self._view = (0, 0)
        self._wanted: QWidget | None = None
        self._read: set[str] = set()
        self._key = ""
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.timeout.connect(self._show_wanted)
        self._measure = QTimer(self)
        self._measure.setSingleShot(True)
        self._measure.timeout.connect(self._on_measure)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        self.verticalScrollBar().valueChanged.connect(self._on_moved)
        self.verticalScrollBar().rangeChanged.connect(self._on_moved)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus_changed)

    def show_pause(self, pause: Pause) -> Card:
        """Build the page of one question."""
        body = self._start()
        self._key = f"{pause.id} {content(pause)}"
        self._question = MarkedLabel(pause.question, self._theme, "body", parent=self._page)
        self._question.setVisible(False)
        body.addLayout(self._inset(self._question))
        self._code_note = Strip(self._theme, "git-compare", self._page)
        self._code_note.show_words(
            self.tr("The code changed since this was asked"),
            self.tr("The run is replayed on the new code before your answer reaches it. If it does not fit, it stops."),
        )
        body.addLayout(self._inset(self._code_note))
        if pause.votes is not None:
            self._votes = VotesPart(self._theme, pause.votes, self._page)
            body.addLayout(self._inset(self._votes))
        self.show_news(pause)
        card = make_card(self._theme, pause, self._page)
        card.changed.connect(self.changed)
        self.card = card
        body.addWidget(card)
        if card.takes_note:
            body.addLayout(self._inset(self._note_field()))
        if pause.has_context:
            link = self.tr("Edit") if pause.allow_edits and pause.eligible else self.tr("Open payload")
            self._payload = Payload(self._theme, self._evidence(pause), link, self._page)
            self._payload.show_value(pause.cut_off.params if pause.cut_off is not None else pause.context)
            self._payload.link.clicked.connect(self.payload_wanted)
            body.addLayout(self._inset(self._payload))
        if pause.links:
            body.addLayout(self._inset(LinksPart(self._theme, pause.links, self._page)))
        self._warnings = WarningStrip(self._theme, self._page)
        self._warnings.hide()
        body.addLayout(self._inset(self._warnings))
        self._finish(body)
        return card

    def show_news(self, pause: Pause) -> None:
        """What may change about a question while it is read: whose answers are there, and the code it was asked by."""
        if self._code_note is not None:
            self._code_note.setVisible(pause.code_changed)
        if self._votes is not None and pause.votes is not None:
            self._votes.show_votes(pause.votes)

    def show_warnings(self, warnings: Sequence[str]) -> None:
        """Of the run that asks; below everything else, so that nothing moves."""
        if self._warnings is not None and warnings:
            self._warnings.show_warnings(warnings)
            self._warnings.show()

    def show_run(self, run: Run, acting: Acting) -> None:
        """A run without a question; with what can be done about it, if it stopped."""
        body = self._start()
        shown = RunBody(self._theme, run, acting, self._page)
        shown.payload_wanted.connect(self.payload_wanted)
        body.addLayout(self._inset(shown))
        self._finish(body)
        self._ways = shown.ways
        if self._ways is not None:
            self._ways.resume_wanted.connect(self.resume_wanted)
            self._ways.cancel_wanted.connect(self.cancel_wanted)

    @property
    def has_ways(self) -> bool:
        """Whether the page offers ways on, and says what is being done about the run."""
        return self._ways is not None

    def show_acting(self, acting: Acting) -> None:
        if self._ways is not None:
            self._ways.show_acting(acting)

    def repeat_question(self, wanted: bool) -> None:
        """Show the whole question where the head has no room for all of it."""
        if self._question is not None:
            self._question.setVisible(wanted)

    def show_edited(self, original: Json, value: Json) -> None:
        """The payload as it will be sent."""
        if self._payload is not None:
            self._payload.show_edited(original, value)

    def show_rest(self) -> None:
        """Scroll to what was not in view yet, from the top."""
        gaps = self._gaps()
        if gaps:
            self.verticalScrollBar().setValue(gaps[0][0] - self._theme.px(LINE))

    def turn(self, pages: int) -> None:
        """Scroll by whole views, two lines less."""
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + pages * max(LINE, bar.pageStep() - 2 * LINE))

    def show_part(self, part: QWidget | None) -> None:
        """Scroll to something on the page."""
        if part is not None:
            self._wanted = part
            self._show_wanted()
            self._settling.start(0)  # what has just been shown has its place only then

    @Slot()
    def _show_wanted(self) -> None:
        if self._wanted is not None:
            self.ensureWidgetVisible(self._wanted, 0, self._theme.px(SPACE_5))

    def set_closed(self, closed: bool) -> None:
        if self.card is not None:
            self.card.set_closed(closed)
        if self.note is not None:
            self.note.setReadOnly(closed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._on_moved()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._view = self._in_view()
        self._on_moved()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QResizeEvent) and isinstance(watched, QWidget):
            old, new = event.oldSize(), event.size()
            if watched in self._seen and old.width() != new.width() and old.height() != new.height():
                self._seen[watched] = Seen()  # its lines broke anew and stand elsewhere
            self._on_moved()
        elif event.type() == QEvent.Type.LayoutRequest:
            self._on_moved()
        return super().eventFilter(watched, event)

    def _start(self) -> QVBoxLayout:
        self.card = self.note = self._payload = self._question = None
        self._code_note = self._votes = self._warnings = self._ways = None
        self._seen = {}
        self._wanted, self._key = None, ""
        self._page = QWidget()
        self._page.setAutoFillBackground(False)
        side = self._theme.px(SPACE_6 - OUTSET)
        body = QVBoxLayout(self._page)
        body.setContentsMargins(side, self._theme.px(SPACE_5), side, self._theme.px(SPACE_6))
        body.setSpacing(self._theme.px(SPACE_5))
        return body

    def _finish(self, body: QVBoxLayout) -> None:
        body.addStretch(1)
        self.setWidget(self._page)
        self._page.setAutoFillBackground(False)
        self._page.installEventFilter(self)
        for part in self._page.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
            part.installEventFilter(self)
            self._seen[part] = Seen()
        self.verticalScrollBar().setValue(0)
        self._measure.start(0)  # the card sleeps for longer than a look takes
        self._view = (0, self.viewport().height())

    def _inset(self, widget: QWidget) -> QVBoxLayout:
        frame = QVBoxLayout()
        frame.setContentsMargins(self._theme.px(OUTSET), 0, self._theme.px(OUTSET), 0)
        frame.addWidget(widget)
        return frame

    def _evidence(self, pause: Pause) -> str:
        """What the context of a question is called."""
        if pause.cut_off is not None:
            return self.tr("Parameters of the call")
        return self.tr("Exact arguments") if pause.kind == "approval" else self.tr("Context")

    def _note_field(self) -> QWidget:
        theme = self._theme
        frame = QWidget(self._page)
        column = QVBoxLayout(frame)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        words = QHBoxLayout()
        words.setSpacing(theme.px(6))
        words.addWidget(PlainLabel(self.tr("Reason"), theme, "label", "muted", frame))
        words.addWidget(PlainLabel(self.tr("sent to the agent and kept in the record"), theme, "meta", "muted", frame))
        words.addStretch(1)
        column.addLayout(words)
        self.note = LineField(frame)
        self.note.setAccessibleName(self.tr("Reason, sent to the agent and kept in the record"))
        self.note.setMinimumHeight(theme.px(BUTTON))
        self.note.setMaximumWidth(theme.px(NOTE_WIDTH))
        self.note.textChanged.connect(self.changed)
        column.addWidget(self.note)
        return frame

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        """Show what the keyboard reached; under the mouse nothing moves."""
        if new is None or QApplication.mouseButtons() or not self.isAncestorOf(new):
            return
        if new.height() < self.viewport().height():
            self.show_part(new)

    @Slot()
    def _on_moved(self) -> None:
        if not self._measure.isActive():
            self._measure.start(DWELL_MS)

    @Slot()
    def _on_measure(self) -> None:
        """What was in view a moment ago and still is, was seen."""
        if not self.isVisible() or not self._seen:
            return
        before, now = self._view, self._in_view()
        self._view = now
        top, bottom = max(before[0], now[0]), min(before[1], now[1])
        for part, seen in self._seen.items():
            seen.add(max(top - part.y(), 0), min(bottom - part.y(), part.height()))
        missing = sum(end - start for start, end in self._gaps())
        if not missing:
            self._read.add(self._key)
        self.unseen_changed.emit(math.ceil(missing / self._theme.px(LINE)))
        if now != before:
            self._measure.start(DWELL_MS)

    def _in_view(self) -> tuple[int, int]:
        top = self.verticalScrollBar().value()
        return top, top + self.viewport().height()

    def _gaps(self) -> list[tuple[int, int]]:
        """What was never in view, in the coordinates of the page; nothing of what was read to its end before."""
        if self._key in self._read:
            return []
        slack = self._theme.px(SLACK)
        return [
            (part.y() + start, part.y() + end)
            for part, seen in self._seen.items()
            if not part.isHidden()
            for start, end in seen.missing(part.height())
            if end - start > slack
        ]
