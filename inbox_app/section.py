"""A section: a view of the window beside inbox and history, with its list at the left and its page at the right.

The window makes a section when it is shown for the first time (`views.sections` says how) and keeps it. A section
reaches the rest of the window only through its `Surroundings`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from PySide6.QtWidgets import QWidget

from inbox_app.commands.sending import Sender
from inbox_app.gateway.base import Batch, Gateway, Pause
from inbox_app.state.drafts import Draft, Drafts
from inbox_app.state.memory import Memory
from inbox_app.state.outbox import Outbox
from inbox_app.state.requests import Entry
from inbox_app.theme.theme import Theme
from inbox_app.widgets.list_pane import ListPane


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the window gives to a section. ``window`` is the parent of dialogs.

    ``gateway`` is None until the runtime is there. ``questions``: the listed open questions of a run. ``changed`` tells
    the window that what the section can do is different. Answers leave through ``sender`` and drafts are kept through
    ``keep_draft`` only, so that the inbox shows the same.
    """

    theme: Theme
    window: QWidget
    gateway: Callable[[], Gateway | None]
    spawn: Callable[[Coroutine[Any, Any, None], str], object]
    drafts: Drafts
    keep_draft: Callable[[Draft], None]
    outbox: Outbox
    sender: Sender
    memory: Memory
    questions: Callable[[str], Sequence[Entry]]
    go_to_pause: Callable[[str], None]
    go_to_run: Callable[[str], None]
    go_to_chat: Callable[[str], None]
    show_notice: Callable[[str, str], None]
    changed: Callable[[], None]
    clock: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class Verb:
    """Something that can be done in a section, under the name that commands know it by (``chat.new``)."""

    act: Callable[[], None]
    can: Callable[[], bool] = field(default=lambda: True)


class Answering(Protocol):
    """The part of the window in which a question is answered; commands act on it. `RequestPane` is one."""

    @property
    def pause(self) -> Pause | None: ...
    @property
    def run_id(self) -> str | None: ...
    @property
    def is_answerable(self) -> bool: ...
    @property
    def can_send(self) -> bool: ...
    @property
    def can_undo(self) -> bool: ...
    def pick(self, number: int) -> None: ...
    def pick_word(self, yes: bool) -> None: ...
    def send(self) -> None: ...
    def undo(self) -> None: ...
    def edit(self) -> None: ...
    def write_note(self) -> None: ...


class Section(Protocol):
    @property
    def list_pane(self) -> ListPane: ...
    @property
    def page(self) -> QWidget: ...
    @property
    def verbs(self) -> Mapping[str, Verb]: ...
    @property
    def answering(self) -> Answering | None:
        """Where the keyboard answers a question now, if it is in one."""
        ...

    def shown(self) -> None:
        """The section has become the view of the window, or the runtime is there while it is."""
        ...

    def take(self, batch: Batch) -> None:
        """Changes of the runtime, also while another view is shown."""
        ...

    def enter(self) -> None:
        """Enter was pressed in the list: the keyboard goes on to the page."""
        ...

    def leave(self) -> bool:
        """Escape was pressed: out of a field or a part of the page. False if the keyboard is to go to the list."""
        ...

    def open(self, name: str) -> None:
        """Select one entry of the list, now or as soon as it is listed."""
        ...

    def close(self) -> None:
        """The window closes."""
        ...
