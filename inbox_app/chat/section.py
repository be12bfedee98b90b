"""The chat: conversations at the left, one of them at the right. Wires what is shown to the runtime and the inbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from PySide6.QtCore import QObject, QTimer, Slot

from inbox_app.chat.asking import Asking
from inbox_app.chat.conversation_pane import ConversationPane
from inbox_app.chat.conversation_table import title_of
from inbox_app.chat.conversations import Conversations
from inbox_app.chat.page import ChatPage
from inbox_app.chat.partners import Partners
from inbox_app.chat.question import Clocks
from inbox_app.chat.questions import Questions
from inbox_app.chat.run_watch import RunWatch
from inbox_app.chat.standing import deleted, remark_on, why_closed, why_empty
from inbox_app.chat.talk import Talk
from inbox_app.chat.turn_view import Sources
from inbox_app.commands.repositories import RepositoryActs
from inbox_app.gateway.base import Batch, GatewayError
from inbox_app.gateway.catalog import Catalog
from inbox_app.gateway.chats import ChatFile, ChatGateway
from inbox_app.models.agent_names import names_in
from inbox_app.section import Answering, Surroundings, Verb
from inbox_app.widgets.dialogs import ConfirmDialog

TICK_MS: Final = 1000
LOOK_AGAIN_TICKS: Final = 3
"""What may have been said elsewhere is read again after so many ticks."""


class ChatSection(QObject):
    def __init__(self, around: Surroundings) -> None:
        super().__init__(around.window)
        self._around = around
        self._partners = Partners(around.gateway, around.spawn, around.memory, self)
        self._acts = RepositoryActs(
            around.theme, around.window, self._catalog, around.spawn, around.memory, around.show_notice, self
        )
        self._talks: dict[str, Talk] = {}
        self._new_files: list[ChatFile] = []
        """What waits to be sent along with the first message of a new conversation."""
        self._ticks = 0
        self._runs = RunWatch(around.gateway, around.spawn, around.questions, self)
        sources = Sources(self._runs.of, around.drafts.get, around.outbox.get, Clocks(around.clock))
        self._pane = ConversationPane(around.theme, around.window)
        self._page = ChatPage(around.theme, sources, around.spawn, around.window)
        self._list = Conversations(self._pane, self._chats, self._busy, around.spawn, around.clock, self)
        self._asking = Asking(around.gateway, around.spawn, self)
        self._questions = Questions(around, self._page.transcript, self)
        self._talk = self._begin()
        self._ticker = QTimer(self)
        self._ticker.setInterval(TICK_MS)
        self._ticker.timeout.connect(self._on_tick)
        self._ticker.start()
        self._connect()
        self._show_talk()

    # What the window asks

    @property
    def list_pane(self) -> ConversationPane:
        return self._pane

    @property
    def page(self) -> ChatPage:
        return self._page

    @property
    def verbs(self) -> Mapping[str, Verb]:
        return {
            "chat.new": Verb(self.begin),
            "chat.write": Verb(self.write, self._can_write),
            "chat.attach": Verb(self._page.composer.choose_files, self._can_write),
            "chat.stop": Verb(self.stop, self._is_running),
            "chat.calls": Verb(self._page.toggle_internal, self._has_turns),
            "chat.rename": Verb(self._list.rename_current, self._has_current),
            "chat.delete": Verb(self.ask_delete, self._can_delete),
        }

    @property
    def answering(self) -> Answering | None:
        return self._questions.answering

    def shown(self) -> None:
        self._list.load()
        self._partners.load()
        self._asking.load()
        self._questions.renew()

    def take(self, batch: Batch) -> None:
        self._runs.take(batch)
        self._asking.take(batch)
        if batch.reset:
            self._list.load()
            self._partners.load()

    def enter(self) -> None:
        if self._can_write() or not self._page.transcript.enter():
            self._page.composer.take_keys()

    def leave(self) -> bool:
        answering = self._questions.answering
        return answering is not None and answering.leave()

    def open(self, name: str) -> None:
        self._list.select(name)

    def close(self) -> None:
        self._ticker.stop()

    # What a person does

    @Slot()
    def begin(self) -> None:
        """A new conversation; nothing is kept of it before something is said."""
        self._pane.table.select_none()
        if self._talk.session_id is not None or self._talk.logs:
            self._talk = self._begin()
            self._show_talk()
        self._page.composer.take_keys()

    def write(self) -> None:
        self._page.composer.take_keys()

    @Slot()
    def stop(self) -> None:
        self._talk.stop()

    def ask_delete(self) -> None:
        session = self._list.get(self._pane.current_id or "")
        if session is None:
            return
        words = self.tr("“{0}” is deleted with all its messages. Durable runs that it started stay in the inbox.")
        dialog = ConfirmDialog(
            self._around.theme,
            self.tr("Delete this conversation?"),
            words.format(title_of(session)),
            self.tr("Delete"),
            self.tr("Keep it"),
            self._around.window,
        )
        dialog.setProperty("session", session.id)
        dialog.confirmed.connect(self._on_delete_confirmed)
        dialog.open()

    # The conversation that is shown

    def _begin(self) -> Talk:
        partner = self._partners.current
        repository = partner.repository.path if partner is not None else ""
        agent = partner.agent.name if partner is not None else "default"
        talk = self._made(Talk(repository, agent, self._around.spawn, self._around.clock, self))
        talk.files = self._new_files
        return talk

    def _made(self, talk: Talk) -> Talk:
        talk.changed.connect(self._on_turn_changed)
        talk.began.connect(self._on_began)
        talk.ended.connect(self._on_ended)
        talk.refused.connect(self._on_refused)
        return talk

    def _show_talk(self) -> None:
        """Show the present conversation from its end, with what is being written to it."""
        page, talk = self._page, self._talk
        page.transcript.show_turns(talk.logs)
        page.composer.blockSignals(True)
        page.composer.set_text(self._around.memory.recall(self._draft_name(talk)))
        page.composer.set_files(talk.files)
        page.composer.blockSignals(False)
        self._show_state()

    def _show_state(self) -> None:
        """Everything around the turns."""
        page, talk = self._page, self._talk
        partner = self._partners.find(talk.repository, talk.agent)
        name = partner.name if partner is not None else talk.agent
        session = self._list.get(talk.session_id or "")
        barrier = "" if self._partners.repositories is None else why_closed(talk, partner)
        page.show_head(title_of(session) if session is not None else talk.title, name)
        page.composer.show_state(busy=talk.is_running, barrier=barrier, remark=remark_on(partner))
        page.composer.show_hint(self.tr("Write to {0}").format(name))
        page.transcript.set_ready(not talk.is_running and not barrier)
        if talk.is_deleted:
            page.show_empty(*deleted(), writable=True)
        elif talk.logs or talk.session_id is not None:
            page.show_transcript()
        elif self._partners.all:
            page.choice.show_partners(self._partners.all, self._partners.picked)
            page.show_choice()
        else:
            page.show_empty(*why_empty(self._partners.repositories, self._partners.problem))
        self._around.changed()

    def _chats(self) -> ChatGateway | None:
        gateway = self._around.gateway()
        return gateway.chats if gateway is not None else None

    def _catalog(self) -> Catalog | None:
        gateway = self._around.gateway()
        return gateway.catalog if gateway is not None else None

    def _busy(self) -> set[str]:
        return {session_id for session_id, talk in self._talks.items() if talk.is_running}

    def _draft_name(self, talk: Talk) -> str:
        return f"chat.draft:{'new' if talk.is_deleted else talk.session_id or 'new'}"

    def _is_running(self) -> bool:
        return self._talk.is_running

    def _can_write(self) -> bool:
        return not self._page.composer.isHidden()

    def _has_turns(self) -> bool:
        return bool(self._talk.logs) and not self._talk.is_deleted

    def _has_current(self) -> bool:
        return self._list.get(self._pane.current_id or "") is not None

    def _can_delete(self) -> bool:
        session = self._list.get(self._pane.current_id or "")
        return session is not None and session.id not in self._busy()

    # Saying something

    def _say(self, text: str, files: Sequence[ChatFile] = (), *, is_choice: bool = False) -> None:
        chats = self._chats()
        if chats is None:
            self._page.composer.show_problem(self.tr("The runtime is not there yet."))
            return
        self._talk.say(chats, text, files, is_choice=is_choice)
        self._show_state()
        self._page.transcript.add_turn(self._talk.logs[-1])
        self._list.show_busy()

    @Slot()
    def _on_sent(self) -> None:
        composer = self._page.composer
        if self._chats() is None:
            composer.show_problem(self.tr("The runtime is not there yet."))
            return
        text, files = composer.text, composer.files
        composer.clear()
        self._say(text, files)

    @Slot(str)
    def _on_chosen(self, text: str) -> None:
        if not self._talk.is_running:
            self._say(text, is_choice=True)

    @Slot()
    def _on_again(self) -> None:
        talk, composer = self._talk, self._page.composer
        if talk.is_running or not talk.logs:
            return
        log, sent = talk.logs[-1], talk.sent
        if sent is not None and sent.message == log.asked:
            self._say(sent.message, sent.files, is_choice=sent.is_choice)
        elif not log.files:
            self._say(log.asked)
        else:
            composer.set_text("\n".join(part for part in (log.asked, composer.text) if part))
            composer.show_problem(self.tr("Attach the files of this message again, then send it."))

    @Slot()
    def _on_typed(self) -> None:
        self._around.memory.keep(self._draft_name(self._talk), self._page.composer.text)

    @Slot(str)
    def _on_began(self, session_id: str) -> None:
        talk = self.sender()
        if not isinstance(talk, Talk):
            return
        self._talks[session_id] = talk
        if talk is not self._talk:
            talk.files = []  # what waits is for the next conversation
        else:
            self._new_files = []
            self._around.memory.keep("chat.draft:new", "")
            self._on_typed()
            self._list.select(session_id)
        self._list.load()

    @Slot()
    def _on_turn_changed(self) -> None:
        if self.sender() is self._talk and self._talk.logs:
            self._page.transcript.renew(self._talk.logs[-1])

    @Slot()
    def _on_ended(self) -> None:
        if self.sender() is self._talk:
            self._show_state()
        self._list.load()

    @Slot(str)
    def _on_refused(self, why: str) -> None:
        """What was written comes back, before what was written since."""
        talk = self.sender()
        if not isinstance(talk, Talk) or talk.unsent is None:
            return
        asked, talk.unsent = talk.unsent, None
        name = self._draft_name(talk)
        since = self._around.memory.recall(name)
        text = "\n".join(part for part in (asked.message, since) if part)
        talk.files[:0] = asked.files
        self._around.memory.keep(name, text)
        if talk is self._talk:
            self._page.transcript.drop_last()
            self._show_state()
        if name == self._draft_name(self._talk):  # also of another new conversation
            self._page.composer.set_text(text)
            self._page.composer.set_files(talk.files)
            self._page.composer.show_problem(why)
        else:
            self._around.show_notice(self.tr("A message was not taken."), why)
        self._list.show_busy()
        if talk.session_id is not None:
            self._list.load()

    # The list

    @Slot(str)
    def _on_selected(self, session_id: str) -> None:
        if session_id == self._talk.session_id:
            return
        known = self._talks.get(session_id)
        if known is not None:
            self._talk = known
            self._show_talk()
        session = self._list.get(session_id)
        if known is None and session is not None:
            talk = Talk(session.repository, session.agent, self._around.spawn, self._around.clock, self)
            talk.session_id, talk.title = session_id, session.title
            self._talks[session_id] = self._talk = self._made(talk)
            self._show_talk()
        if not self._talk.is_running:
            self._around.spawn(self._load(self._talk), f"read {session_id}")

    async def _load(self, talk: Talk) -> None:
        chats, session_id = self._chats(), talk.session_id
        if chats is None or session_id is None:
            return
        try:
            detail = await chats.session(session_id)
        except GatewayError as error:
            if error.code == "NOT_FOUND":
                self._on_gone(talk)
            elif talk is self._talk:
                self._page.show_empty("triangle-alert", self.tr("The conversation could not be read"), error.message)
            return
        was_empty = not talk.logs
        talk.load(detail)
        if talk is not self._talk:
            return
        if was_empty:
            self._show_talk()
        else:  # somebody may be reading it
            self._page.transcript.show_turns(talk.logs, again=True)
            self._show_state()

    def _on_gone(self, talk: Talk) -> None:
        """Somebody else deleted it. It stays where it is, and what is being written to it waits for a new one."""
        if talk.is_deleted or talk.is_running or self._talks.get(talk.session_id or "") is not talk:
            return
        self._talks.pop(talk.session_id or "")
        memory, name = self._around.memory, self._draft_name(talk)
        texts = memory.recall(name), memory.recall("chat.draft:new")
        memory.keep(name, "")
        talk.is_deleted = True
        memory.keep(self._draft_name(talk), "\n".join(text for text in texts if text))
        self._new_files[:0] = talk.files
        talk.files = self._new_files
        if talk is self._talk:
            if texts[1]:
                self._page.composer.set_text(memory.recall(self._draft_name(talk)))
            self._page.composer.set_files(talk.files)
            self._show_state()

    @Slot(str)
    def _on_deleted(self, session_id: str) -> None:
        talk = self._talks.pop(session_id, None)
        self._around.memory.keep(f"chat.draft:{session_id}", "")
        if talk is not None and talk is self._talk:
            self._talk = self._begin()
            self._show_talk()

    @Slot()
    def _on_delete_confirmed(self) -> None:
        self._list.delete(str(self.sender().property("session")))

    @Slot(str, str)
    def _on_failed(self, what: str, why: str) -> None:
        self._around.show_notice(what, why)

    @Slot()
    def _on_list_changed(self) -> None:
        talk = self._talk
        session = self._list.get(talk.session_id or "")
        if talk.session_id and not talk.is_running and not talk.is_deleted and (not session or talk.is_news(session)):
            self._around.spawn(self._load(talk), "read what was said elsewhere, or whether it was deleted")
        self._show_state()

    @Slot()
    def _on_link_followed(self) -> None:
        """What the page leads to that has nothing to show."""
        if self._talk.is_deleted:
            self.begin()
        elif self._partners.repositories == []:
            self._acts.ask_open()
        else:
            self._partners.load()

    @Slot()
    def _on_partners_changed(self) -> None:
        talk, partner = self._talk, self._partners.current
        if talk.session_id is None and not talk.is_running and partner is not None:
            talk.repository, talk.agent = partner.repository.path, partner.agent.name
        self._list.show_names(names_in(self._partners.repositories or ()))
        self._show_state()

    @Slot(int)
    def _on_partner_chosen(self, number: int) -> None:
        self._partners.pick(number)
        self._page.composer.take_keys()

    @Slot()
    def _on_run_changed(self) -> None:
        self._page.transcript.renew()

    @Slot()
    def _on_asking_changed(self) -> None:
        self._list.show_asking(self._asking.sessions)

    @Slot()
    def _on_tick(self) -> None:
        """Times go on; what is at work elsewhere is looked at again."""
        if not self._page.isVisible():
            return
        self._ticks += 1
        if self._talk.is_running:
            self._page.transcript.renew(self._talk.logs[-1])
        if self._ticks % LOOK_AGAIN_TICKS == 0:
            self._list.look()
            if self._talk.is_busy_elsewhere:
                self._around.spawn(self._load(self._talk), "read again")

    @Slot()
    def _on_left_above(self) -> None:
        self._page.transcript.enter()

    @Slot()
    def _on_left_below(self) -> None:
        self._page.composer.take_keys()

    def _connect(self) -> None:
        page = self._page
        self._pane.new_wanted.connect(self.begin)
        self._pane.selected.connect(self._on_selected)
        self._list.changed.connect(self._on_list_changed)
        self._list.deleted.connect(self._on_deleted)
        self._list.failed.connect(self._on_failed)
        page.composer.sent.connect(self._on_sent)
        page.composer.stopped.connect(self.stop)
        page.composer.typed.connect(self._on_typed)
        page.composer.left_above.connect(self._on_left_above)
        page.transcript.left_below.connect(self._on_left_below)
        page.transcript.said.connect(self._on_chosen)
        page.transcript.again.connect(self._on_again)
        page.choice.chosen.connect(self._on_partner_chosen)
        page.empty.followed.connect(self._on_link_followed)
        self._acts.changed.connect(self._partners.load)
        self._partners.changed.connect(self._on_partners_changed)
        self._runs.changed.connect(self._on_run_changed)
        self._asking.changed.connect(self._on_asking_changed)
