"""Wires the window: gateway to state, state to models and panes, what the operator does back to the gateway.

Everything here runs on the window's loop. What the runtime says goes one way: `Inbox`, `History` and `Reading` take
it in; selection and focus are only ever moved by the operator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication

from inbox_app.commands.base import TabName, ViewName
from inbox_app.commands.registry import CommandAction, build_actions
from inbox_app.commands.sending import Sender
from inbox_app.errors import sentence
from inbox_app.gateway.base import Batch, Gateway, Pause
from inbox_app.section import Answering, Section, Surroundings
from inbox_app.state.drafts import Draft, Drafts
from inbox_app.state.memory import Memory
from inbox_app.state.outbox import Outbox
from inbox_app.theme.palettes import ThemeChoice
from inbox_app.theme.theme import Theme
from inbox_app.views import idle
from inbox_app.views.ages import Ages
from inbox_app.views.history import History
from inbox_app.views.inbox import Inbox
from inbox_app.views.keys import key_groups
from inbox_app.views.leaving import Leaving
from inbox_app.views.link import Link
from inbox_app.views.main_window import MainWindow
from inbox_app.views.marks import Marks
from inbox_app.views.missed import Missed
from inbox_app.views.reading import Reading
from inbox_app.views.request_pane import RequestPane
from inbox_app.views.run_acts import RunActs
from inbox_app.views.sections import MADE_BY, make
from inbox_app.views.undo_toast import UndoToast
from inbox_app.widgets.dialogs import KeysDialog

Spawn = Callable[[Coroutine[Any, Any, None], str], object]


class Desk(QObject):
    """What the commands act on (`commands.base.Desk`). Call `connect_to` when the window has been painted."""

    listed = Signal()
    """The waiting questions are on the screen for the first time."""

    def __init__(
        self,
        window: MainWindow,
        reading: RequestPane,
        theme: Theme,
        spawn: Spawn,
        drafts: Drafts,
        outbox: Outbox,
        *,
        memory: Memory | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(window)
        self._memory = memory or Memory(None)
        self._clock = clock
        self._window = window
        self._pane = reading
        self._theme = theme
        self._spawn = spawn
        self._drafts = drafts
        self._outbox = outbox
        self._marks = Marks(drafts, outbox)
        self._link = Link(self._take, spawn, clock, self)
        self._actions: Sequence[CommandAction] = ()
        self._inbox = Inbox(window.inbox, self._link.current, spawn, self._memory, clock=clock, parent=self)
        self._history = History(
            window.history, self._link.current, lambda: self._inbox.asking_runs, spawn, clock=clock, parent=self
        )
        self._reading = Reading(reading, self._link.current, self._inbox.get, spawn, drafts, outbox, self)
        self._sender = Sender(outbox, drafts, self._link.gateway_of, spawn, clock=clock, parent=self)
        self._toast = UndoToast(window.toast, outbox, clock=clock, parent=self)
        self._ages = Ages(self._inbox.next_deadline, clock, self)
        self._missed = Missed(self._inbox.get, window.show_notice, self)
        self._acts = RunActs(theme, self._link.current, spawn, window)
        reading.acting = self._acts.acting
        reading.decisions.draft_of = drafts.get
        self._sections: dict[ViewName, Section] = {}
        self._actions = build_actions(self, self)
        window.furnish(reading, self._actions)
        self._connect()
        self._leaving = Leaving(theme, outbox, self._sender, self._link.working, window)
        window.may_close = self._leaving.may_close
        self._show_all()
        self._show_idle()
        window.inbox.setFocus()

    # What commands ask

    @property
    def view(self) -> ViewName:
        return self._window.view

    @property
    def pause(self) -> Pause | None:
        return self._answering.pause if self._answering is not None else None

    @property
    def run_id(self) -> str | None:
        return self._answering.run_id if self._answering is not None else None

    @property
    def run_is_open(self) -> bool:
        acting = self._acts.acting(self.run_id or "")
        return self._section is None and self._reading.run_is_open and not acting.pending

    @property
    def new_count(self) -> int:
        return self._inbox.new_count

    @property
    def is_answerable(self) -> bool:
        return self._answering is not None and self._answering.is_answerable

    @property
    def can_send(self) -> bool:
        return self._answering is not None and self._answering.can_send

    @property
    def can_undo(self) -> bool:
        here = self._answering is not None and self._answering.can_undo
        return here or self._outbox.last_held() is not None

    def move(self, step: int) -> None:
        self._window.list_pane.table.move_current(step)

    @Slot()
    def open_selected(self) -> None:
        if self._section is not None:
            self._window.show_page(card=True)
            self._section.enter()
        elif self._window.list_pane.current_id is not None:
            self._window.show_page(card=True)
            self._pane.enter()

    @Slot()
    def leave(self) -> None:
        if self._section.leave() if self._section is not None else self._pane.leave():
            return
        self._window.show_page(card=False)
        self._window.list_pane.table.setFocus()

    @Slot(str)
    def show_view(self, view: ViewName) -> None:
        if not self.has_view(view):
            return
        if view != self._window.view:
            self._add_section(view)
            self._window.show_view(view)
            self._show_current()
        if view == "history":
            self._history.load()
        if self._section is not None:
            self._section.shown()
        self._refresh_actions()

    @Slot()
    def show_new(self) -> None:
        self._inbox.show_new()

    def show_tab(self, tab: TabName) -> None:
        if self._section is not None and self.pause is not None:
            self._on_go_to_pause(self.pause.id)
        self._pane.show_tab(tab)

    def pick(self, number: int) -> None:
        if self._answering is not None:
            self._answering.pick(number)

    def pick_word(self, yes: bool) -> None:
        if self._answering is not None:
            self._answering.pick_word(yes)

    def send(self) -> None:
        if self._answering is not None:
            self._answering.send()

    @Slot()
    def undo(self) -> None:
        """What is shown, or else the answer that was held last."""
        if self._answering is not None and self._answering.can_undo:
            self._answering.undo()
        else:
            self._sender.undo("")

    def edit(self) -> None:
        if self._answering is not None:
            self._answering.edit()

    def write_note(self) -> None:
        if self._answering is not None:
            self._answering.write_note()

    def cancel_run(self) -> None:
        if self._section is None and self.run_id is not None:
            self._acts.ask_cancel(self.run_id, self._reading.run, self._pane.pause)

    def can_resume(self, old: bool) -> bool:
        return self._section is None and self._acts.can_resume(self._reading.run, old)

    def has_view(self, view: ViewName) -> bool:
        return view in ("inbox", "history") or (view in MADE_BY and view in self._link.parts)

    def can(self, verb: str) -> bool:
        found = self._section.verbs.get(verb) if self._section is not None else None
        return found is not None and found.can()

    def act(self, verb: str) -> None:
        if self._section is not None and self.can(verb):
            self._section.verbs[verb].act()

    @Slot(bool)
    def resume_run(self, old: bool) -> None:
        self._acts.ask_resume(self._reading.run, old)

    def copy_run_id(self) -> None:
        if self.run_id is not None:
            QGuiApplication.clipboard().setText(self.run_id)

    @property
    def theme(self) -> ThemeChoice:
        return self._theme.choice

    def show_theme(self, name: ThemeChoice) -> None:
        self._theme.set_palette(name)
        self._memory.set_theme(name)
        self._refresh_actions()

    def show_keys(self) -> None:
        KeysDialog(self._theme, self.tr("Keys"), key_groups(), self._window).open()

    def quit(self) -> None:
        self._window.close()

    # The connection

    def connect_to(self, factory: Callable[[], Gateway]) -> None:
        """Build the gateway, open it and follow it. A failure is shown with a way to try again."""
        self._link.connect_to(factory)

    async def close(self) -> None:
        """Give up held answers to drafts, then let the gateway go. Parked runs stay parked."""
        self._ages.stop()
        for section in self._sections.values():
            section.close()
        self._sender.close()
        await self._link.close()

    def report(self, error: BaseException) -> None:
        """The one place for errors nobody else showed."""
        self._window.show_notice(self.tr("Something failed."), sentence(error))

    def _take(self, batch: Batch) -> None:
        first = not self._inbox.loaded
        self._missed.take(batch)
        self._inbox.take(batch, self._reading.pause_id)
        for pause in batch.opened:
            mark, until = self._marks.of(pause.id)
            if mark:
                self._inbox.mark(pause.id, mark, until)
        if batch.reset:
            self._history.forget()
            self._history.load()
        if batch.runs or batch.opened or batch.closed:
            self._history.take(batch.runs)
        self._sender.withdraw(batch.closed)
        self._sender.accept(pause_id for pause_id, ended in batch.outcomes.items() if ended in {"answered", "refused"})
        self._reading.take(batch)
        for section in self._sections.values():
            section.take(batch)
        if first:
            self._start_reading()

    def _start_reading(self) -> None:
        """The first load: nobody reads anything yet, so the first question may be shown."""
        if self._window.view == "inbox" and self._window.inbox.current_id is None:
            self._window.inbox.table.move_current(1)
        self.listed.emit()

    # What is read

    @Slot(str)
    def _on_inbox_selected(self, pause_id: str) -> None:
        if self._window.view == "inbox" and pause_id != self._reading.pause_id:
            self._show_pause(pause_id)

    @Slot(str)
    def _on_run_selected(self, run_id: str) -> None:
        if self._window.view == "history":
            self._reading.show_run(run_id)
            self._show_place()

    @property
    def _section(self) -> Section | None:
        """The section that is shown; None for inbox and history."""
        return self._sections.get(self._window.view)

    @property
    def _answering(self) -> Answering | None:
        return self._pane if self._section is None else self._section.answering

    @Slot()
    def _on_section_changed(self) -> None:
        pause = self._answering.pause if self._section is not None and self._answering is not None else None
        if self._section is not None:
            self._toast.look_at(pause.id if pause is not None else None)
        self._refresh_actions()

    def _add_section(self, view: ViewName) -> None:
        if view in self._sections or view in ("inbox", "history"):
            return
        around = Surroundings(
            theme=self._theme,
            window=self._window,
            gateway=self._link.current,
            spawn=self._spawn,
            drafts=self._drafts,
            keep_draft=self._on_draft_changed,
            outbox=self._outbox,
            sender=self._sender,
            memory=self._memory,
            questions=self._inbox.questions,
            go_to_pause=self._on_go_to_pause,
            go_to_run=self._on_go_to_run,
            go_to_chat=self._go_to_chat,
            show_notice=self._window.show_notice,
            changed=self._on_section_changed,
            clock=self._clock,
        )
        section = self._sections[view] = make(view, around)
        section.list_pane.opened.connect(self.open_selected)
        self._window.add_section(view, section.list_pane, section.page, section.enter)

    def _show_current(self) -> None:
        """After a change of view: what its list has selected."""
        self._show_place()
        if self._section is not None:
            self._on_section_changed()
            return
        current = self._window.list_pane.current_id
        if current is None:
            self._show_idle()
        elif self._window.view == "history":
            self._reading.show_run(current)
        else:
            self._show_pause(current)

    def _show_pause(self, pause_id: str) -> None:
        entry = self._inbox.get(pause_id)
        if entry is None:
            self._show_idle()
            return
        self._reading.show_pause(entry)
        self._inbox.set_read(pause_id)
        self._toast.look_at(pause_id)

    def _show_idle(self) -> None:
        self._reading.show_nothing(*idle.reading_words(self._link, self._inbox, self._history, self._window.view))

    @Slot(str)
    def _on_stopped(self, pause_id: str) -> None:
        self._inbox.leave(pause_id)
        self._toast.look_at(None)

    @Slot(str)
    def _on_go_to_pause(self, pause_id: str) -> None:
        comes_back = self._window.view != "inbox"
        if comes_back:
            self._window.show_view("inbox")
        if self._inbox.select(pause_id) and (comes_back or self._reading.pause_id != pause_id):
            self._show_pause(pause_id)  # also with what was prepared for it elsewhere meanwhile

    @Slot(str)
    def _on_go_to_run(self, run_id: str) -> None:
        self.show_view("history")
        self._history.show_run(run_id)

    def _go_to_chat(self, session_id: str) -> None:
        self.show_view("chat")
        if self._section is not None:
            self._section.open(session_id)

    # Drafts, answers, cancelling

    @Slot(object)
    def _on_draft_changed(self, draft: Draft) -> None:
        self._drafts.put(draft)
        self._inbox.mark(draft.pause_id, *self._marks.of(draft.pause_id))

    @Slot(str)
    def _on_sending_changed(self, pause_id: str) -> None:
        self._inbox.mark(pause_id, *self._marks.of(pause_id))
        self._reading.refresh_outbox(pause_id)
        self._toast.refresh()
        self._refresh_actions()

    @Slot(str, str, str)
    def _on_refused(self, run_id: str, what: str, why: str) -> None:
        """Said above the panes, unless the page of the run says it."""
        if run_id != self.run_id or not self._pane.tells_acts:
            self._window.show_notice(what, why)

    # What stands around the list

    @Slot()
    def _show_all(self) -> None:
        """Counts, health and empty states, from what is known now."""
        link = self._link
        self._inbox.show_counts()
        idle.show_empty(self._window.inbox.empty, link, self._inbox)
        if self._reading.is_idle:
            self._show_idle()
        self._window.sidebar.show_sections({view for view in MADE_BY if self.has_view(view)})
        self._window.sidebar.show_waiting(self._inbox.waiting)
        self._window.sidebar.show_stopped(self._history.stopped)
        self._window.show_health(link.name, link.health, idle.health_line(link), self._inbox.waiting)
        self._show_place()
        self._refresh_actions()

    def _show_place(self) -> None:
        bar, new = self._window.page_bar, self._inbox.new_count
        if self._window.view != "inbox":
            bar.show_place(self._window.list_pane.title, "", "")
        else:
            words = self.tr("{0} new").format(new) if new else ""
            bar.show_place(self.tr("Inbox"), self._inbox.place(self._reading.pause_id), words)

    @Slot()
    def _refresh_actions(self) -> None:
        for action in self._actions:
            action.refresh()

    @Slot()
    def _on_ages_due(self) -> None:
        self._inbox.list_due()
        self._window.list_pane.table.viewport().update()

    @Slot()
    def _on_empty_followed(self) -> None:
        if self._link.problem is not None:
            self._window.inbox.setFocus()
            self._link.retry()

    @Slot(str)
    def _on_page_failed(self, message: str) -> None:
        self._window.show_notice(self.tr("More questions could not be read."), message)

    def _connect(self) -> None:
        window, pane = self._window, self._pane
        window.sidebar.chosen.connect(self.show_view)
        window.escaped.connect(self.leave)
        window.menu_opened.connect(self._refresh_actions)
        window.notice.acted.connect(window.hide_notice)
        window.notice.acted.connect(self._missed.forget)
        window.page_bar.back.clicked.connect(self.leave)
        window.page_bar.new.clicked.connect(self.show_new)
        window.inbox.selected.connect(self._on_inbox_selected)
        window.inbox.opened.connect(self.open_selected)
        window.inbox.empty.followed.connect(self._on_empty_followed)
        window.history.selected.connect(self._on_run_selected)
        window.history.opened.connect(self.open_selected)
        window.toast.undone.connect(self.undo)
        self._inbox.changed.connect(self._show_all)
        self._history.changed.connect(self._show_all)
        self._inbox.lost.connect(self._reading.lose)
        self._inbox.failed.connect(self._on_page_failed)
        self._reading.stopped.connect(self._on_stopped)
        pane.answer_requested.connect(self._sender.hold)
        pane.undo_requested.connect(self._sender.undo)
        pane.retry_requested.connect(self._sender.retry)
        pane.draft_changed.connect(self._on_draft_changed)
        pane.go_to_pause.connect(self._on_go_to_pause)
        pane.state_changed.connect(self._refresh_actions)
        self._sender.changed.connect(self._on_sending_changed)
        self._ages.due.connect(self._on_ages_due)
        self._inbox.changed.connect(self._ages.wind)
        self._link.changed.connect(self._show_all)
        self._acts.refused.connect(self._on_refused)
        self._acts.changed.connect(pane.show_acting)
        self._acts.changed.connect(self._refresh_actions)
        pane.go_to_run.connect(self._on_go_to_run)
        pane.resume_wanted.connect(self.resume_run)
        pane.cancel_wanted.connect(self.cancel_run)
