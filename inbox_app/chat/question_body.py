"""What a question within a conversation shows: its words, its card, the reason, the exact arguments."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.cards.base import short_label
from inbox_app.cards.links_part import LinksPart
from inbox_app.cards.payload_part import Payload
from inbox_app.cards.registry import make_card
from inbox_app.cards.votes_part import VotesPart
from inbox_app.gateway.base import Json, Pause, Votes
from inbox_app.models.deadline_words import then
from inbox_app.models.wording import moment
from inbox_app.state.drafts import Draft
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON, ICON, LINE_HEIGHT, SPACE_1, SPACE_2, SPACE_4, SPACE_6
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.line_field import LineField
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.option_row import OUTSET
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.strip import Strip


class QuestionBody(QWidget):
    """Made for one question as it is now. ``changed``: something was picked or written; ``open_wanted``: the inbox's
    page of it is wanted."""

    changed = Signal()
    open_wanted = Signal()

    def __init__(self, theme: Theme, pause: Pause, draft: Draft, now: float, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._votes: VotesPart | None = None
        self._payload: Payload | None = None
        self._note: LineField | None = None
        self._due: MarkedLabel | None = None
        side, top = theme.px(SPACE_6 - OUTSET), theme.px(SPACE_4)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(side, top, side, top)
        self._column.setSpacing(theme.px(SPACE_4))
        self._add_titles(pause, now)
        if pause.code_changed:
            strip = Strip(theme, "git-compare", self)
            what = self.tr("The code changed since this was asked")
            strip.show_words(what, self.tr("The run is replayed on the new code before your answer reaches it."))
            self._add(strip)
        if pause.votes is not None:
            self._votes = VotesPart(theme, pause.votes, self)
            self._add(self._votes)
        self.card = make_card(theme, pause, self)
        self.card.restore(draft)
        self._column.addWidget(self.card)
        if self.card.takes_note:
            self._add_note(draft.note)
        if pause.has_context:
            link = self.tr("Edit in the inbox") if pause.allow_edits and pause.eligible else ""
            self._payload = Payload(theme, self._evidence(pause), link, self)
            self._payload.show_value(pause.cut_off.params if pause.cut_off is not None else pause.context)
            self._payload.link.clicked.connect(self.open_wanted)
            self._add(self._payload)
        if pause.links:
            self._add(LinksPart(theme, pause.links, self))
        self.card.changed.connect(self.changed)

    @property
    def note(self) -> str:
        return self._note.text() if self._note is not None else ""

    def write_note(self, reason: Qt.FocusReason) -> None:
        if self._note is not None:
            self._note.setFocus(reason)

    def set_closed(self, closed: bool) -> None:
        self._icon.set_icon("circle-pause", "muted" if closed else "waiting")
        if self._due is not None:
            self._due.set_role("muted" if closed else "due")
        self.card.set_closed(closed)
        if self._note is not None:
            self._note.setReadOnly(closed)

    def show_votes(self, votes: Votes | None) -> None:
        if self._votes is not None and votes is not None:
            self._votes.show_votes(votes)

    def show_edited(self, original: Json, edited: Json) -> None:
        """The payload as it will be sent."""
        if self._payload is not None:
            self._payload.show_edited(original, edited)

    def _add_titles(self, pause: Pause, now: float) -> None:
        """Who asks and until when, the way to the inbox, the question."""
        theme = self._theme
        self._icon = IconBox(theme, self, ICON)
        self._icon.set_icon("circle-pause", "waiting")
        who = " ".join(reveal(pause.title).split()) or self.tr("{0} asks").format(short_label(pause.tool))
        link = ActionButton(theme, self.tr("Open in inbox"), "link", parent=self, height=LINE_HEIGHT["body"])
        link.setAccessibleDescription(self.tr("The same question in the inbox, with its payload, tree and history"))
        link.clicked.connect(self.open_wanted)
        head = QHBoxLayout()
        head.setSpacing(theme.px(SPACE_2))
        head.addWidget(self._icon)
        head.addWidget(PlainLabel(who, theme, "meta", "muted", self, elide=True), 1)
        head.addWidget(link)
        titles = QVBoxLayout()
        titles.setContentsMargins(theme.px(OUTSET), 0, theme.px(OUTSET), 0)
        titles.setSpacing(theme.px(SPACE_1))
        titles.addLayout(head)
        question = MarkedLabel(pause.question, theme, "heading", parent=self)
        titles.addWidget(question)
        if pause.expires_at is not None:
            due = self.tr("Due {0}, then {1}").format(moment(pause.expires_at, now), then(pause.on_expire))
            self._due = MarkedLabel(due, theme, "meta", "due", self)
            titles.addWidget(self._due)
        self._column.addLayout(titles)
        self.setAccessibleName(question.text()[:1000])
        self.setAccessibleDescription(who)

    def _add_note(self, text: str) -> None:
        theme = self._theme
        frame = QWidget(self)
        column = QVBoxLayout(frame)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(PlainLabel(self.tr("Reason"), theme, "label", "muted", frame))
        self._note = LineField(frame)
        self._note.setAccessibleName(self.tr("Reason, sent to the agent and kept in the record"))
        self._note.setMinimumHeight(theme.px(BUTTON))
        self._note.setText(text)
        self._note.textChanged.connect(self.changed)
        column.addWidget(self._note)
        self._add(frame)

    def _add(self, widget: QWidget) -> None:
        frame = QVBoxLayout()
        frame.setContentsMargins(self._theme.px(OUTSET), 0, self._theme.px(OUTSET), 0)
        frame.addWidget(widget)
        self._column.addLayout(frame)

    def _evidence(self, pause: Pause) -> str:
        if pause.cut_off is not None:
            return self.tr("Parameters of the call")
        return self.tr("Exact arguments") if pause.kind == "approval" else self.tr("Context")
