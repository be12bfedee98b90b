"""Moving around: rows, views, tabs, help."""

from __future__ import annotations

from collections.abc import Callable

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, Desk, ThemeName, ViewName


def next_row(desk: Desk) -> None:
    desk.move(1)


def previous_row(desk: Desk) -> None:
    desk.move(-1)


def open_selected(desk: Desk) -> None:
    desk.open_selected()


def leave(desk: Desk) -> None:
    desk.leave()


def show_view(view: ViewName) -> Callable[[Desk], None]:
    def run(desk: Desk) -> None:
        desk.show_view(view)

    return run


def has_view(view: ViewName) -> Callable[[Desk], bool]:
    def holds(desk: Desk) -> bool:
        return desk.has_view(view)

    return holds


def _view(view: ViewName, title: str, keys: str) -> Command:
    return Command(f"show_{view}", title, show_view(view), "View", (keys,), has_view(view))


def show_new(desk: Desk) -> None:
    desk.show_new()


def has_new(desk: Desk) -> bool:
    return desk.new_count > 0


def show_theme(name: ThemeName) -> Callable[[Desk], None]:
    def run(desk: Desk) -> None:
        desk.show_theme(name)

    return run


def is_theme(name: ThemeName) -> Callable[[Desk], bool]:
    def holds(desk: Desk) -> bool:
        return desk.theme == name

    return holds


def _theme(name: ThemeName, title: str) -> Command:
    return Command(f"theme_{name}", title, show_theme(name), "Theme", checked=is_theme(name))


def show_keys(desk: Desk) -> None:
    desk.show_keys()


def quit_program(desk: Desk) -> None:
    desk.quit()


COMMANDS = (
    Command("next_row", QT_TRANSLATE_NOOP("commands", "Next"), next_row, "Inbox", ("J",)),
    Command("previous_row", QT_TRANSLATE_NOOP("commands", "Previous"), previous_row, "Inbox", ("K",)),
    Command("open_selected", QT_TRANSLATE_NOOP("commands", "Open"), open_selected, "Inbox", ("Return",), bound=False),
    Command("leave", QT_TRANSLATE_NOOP("commands", "Leave field, then card"), leave, "Inbox", ("Escape",), bound=False),
    Command("show_new", QT_TRANSLATE_NOOP("commands", "Show new items"), show_new, "Inbox", (".",), has_new, group=1),
    Command("quit", QT_TRANSLATE_NOOP("commands", "Quit"), quit_program, "Inbox", ("Ctrl+Q",), group=2),
    _view("inbox", QT_TRANSLATE_NOOP("commands", "Inbox"), "G, I"),
    _view("history", QT_TRANSLATE_NOOP("commands", "History"), "G, H"),
    _view("chat", QT_TRANSLATE_NOOP("commands", "Chat"), "G, C"),
    _view("tools", QT_TRANSLATE_NOOP("commands", "Tools"), "G, T"),
    _view("evals", QT_TRANSLATE_NOOP("commands", "Evals"), "G, E"),
    _view("automations", QT_TRANSLATE_NOOP("commands", "Automations"), "G, A"),
    _view("repositories", QT_TRANSLATE_NOOP("commands", "Repositories"), "G, R"),
    _theme("system", QT_TRANSLATE_NOOP("commands", "As the system")),
    _theme("light", QT_TRANSLATE_NOOP("commands", "Light")),
    _theme("dark", QT_TRANSLATE_NOOP("commands", "Dark")),
    _theme("contrast", QT_TRANSLATE_NOOP("commands", "High contrast")),
    Command("show_keys", QT_TRANSLATE_NOOP("commands", "Keys"), show_keys, "Help", ("?",)),
)
