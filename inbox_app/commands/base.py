"""What a person can do, as declarations. Menus, shortcuts and the key help are derived from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from PySide6.QtCore import QCoreApplication

if TYPE_CHECKING:
    from inbox_app.gateway.base import Pause

ViewName: TypeAlias = Literal["inbox", "history", "chat", "tools", "evals", "automations", "repositories"]
ThemeName: TypeAlias = Literal["system", "light", "dark", "contrast"]
TabName: TypeAlias = Literal["card", "payload", "tree", "history"]
Menu: TypeAlias = Literal["Inbox", "Request", "Run", "Agents", "View", "Theme", "Help"]
MENUS: tuple[Menu, ...] = ("Inbox", "Request", "Run", "Agents", "View", "Help")
SUBMENUS: dict[Menu, Menu] = {"Theme": "View"}
"""Menus that open from another one, at its end."""


class Desk(Protocol):
    """What commands act on: the window as seen from the keyboard. `views.desk.DeskWindow` is the real one."""

    @property
    def view(self) -> ViewName: ...
    @property
    def pause(self) -> Pause | None:
        """The question in the reading pane, None if it shows none."""
        ...

    @property
    def is_answerable(self) -> bool:
        """Whether something can be picked or written for that question."""
        ...

    @property
    def run_id(self) -> str | None:
        """The run in the reading pane."""
        ...

    @property
    def run_is_open(self) -> bool:
        """Whether that run can still be cancelled."""
        ...

    @property
    def new_count(self) -> int:
        """Questions that wait behind the bar."""
        ...

    @property
    def can_send(self) -> bool: ...
    @property
    def can_undo(self) -> bool: ...
    def move(self, step: int) -> None:
        """Select the next (1) or previous (-1) row."""
        ...

    def open_selected(self) -> None:
        """Move the focus into the card."""
        ...

    def leave(self) -> None:
        """Out of the field, then of the card, to the list."""
        ...

    def show_view(self, view: ViewName) -> None: ...
    def show_new(self) -> None: ...
    def show_tab(self, tab: TabName) -> None: ...
    def pick(self, number: int) -> None:
        """Pick option ``number``, counting from 1. Never sends."""
        ...

    def pick_word(self, yes: bool) -> None:
        """Pick yes or no on a yes/no card. Never sends."""
        ...

    def send(self) -> None: ...
    def undo(self) -> None: ...
    def edit(self) -> None: ...
    def write_note(self) -> None: ...
    def cancel_run(self) -> None:
        """Ask whether to cancel the run, then do it."""
        ...

    def can_resume(self, old: bool) -> bool:
        """Whether the run stopped as diverged and can go on, with the old code or the present one."""
        ...

    def resume_run(self, old: bool) -> None:
        """Ask whether to let the run go on, then do it."""
        ...

    def copy_run_id(self) -> None: ...
    def has_view(self, view: ViewName) -> bool:
        """Whether the runtime has what this view shows."""
        ...

    def can(self, verb: str) -> bool:
        """Whether the section that is shown can do this now; its name says which section knows it (``chat.new``)."""
        ...

    def act(self, verb: str) -> None: ...
    @property
    def theme(self) -> ThemeName: ...
    def show_theme(self, name: ThemeName) -> None: ...
    def show_keys(self) -> None: ...
    def quit(self) -> None: ...


def QT_TRANSLATE_NOOP(context: str, text: str) -> str:
    """Mark ``text`` for translation and return it as it is."""
    return text


def menu_title(menu: Menu) -> str:
    """The translated name of a menu, with the mark of its access key."""
    titles: dict[Menu, str] = {
        "Inbox": QT_TRANSLATE_NOOP("menus", "&Inbox"),
        "Request": QT_TRANSLATE_NOOP("menus", "Re&quest"),
        "Run": QT_TRANSLATE_NOOP("menus", "&Run"),
        "Agents": QT_TRANSLATE_NOOP("menus", "&Agents"),
        "View": QT_TRANSLATE_NOOP("menus", "&View"),
        "Theme": QT_TRANSLATE_NOOP("menus", "&Theme"),
        "Help": QT_TRANSLATE_NOOP("menus", "&Help"),
    }
    return QCoreApplication.translate("menus", titles[menu])


def always(desk: Desk) -> bool:
    return True


def act(verb: str) -> Callable[[Desk], None]:
    """Do something that the section which is shown can do."""

    def run(desk: Desk) -> None:
        desk.act(verb)

    return run


def can(verb: str) -> Callable[[Desk], bool]:
    def holds(desk: Desk) -> bool:
        return desk.can(verb)

    return holds


@dataclass(frozen=True, slots=True)
class Command:
    """One thing to do. ``title`` is source text of the translation context "commands" (mark it with QT_TRANSLATE_NOOP).

    ``menu`` None: reached by its keys only. ``shortcuts`` are portable key sequences; single letters never fire while
    the focus is in a text field. ``bound`` False: the focused view handles the keys itself, they are listed for the
    menu and the help. ``when`` says whether the command makes sense now; ``group`` separates parts of a menu;
    ``checked`` says whether it is the one of its menu that holds now.
    """

    id: str
    title: str
    run: Callable[[Desk], None]
    menu: Menu | None = None
    shortcuts: tuple[str, ...] = ()
    when: Callable[[Desk], bool] = always
    bound: bool = True
    group: int = 0
    checked: Callable[[Desk], bool] | None = None

    def translated(self) -> str:
        return QCoreApplication.translate("commands", self.title)
