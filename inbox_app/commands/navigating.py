"""Moving around: rows, views, tabs, help."""

from __future__ import annotations

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, Desk


def next_row(desk: Desk) -> None:
    desk.move(1)


def previous_row(desk: Desk) -> None:
    desk.move(-1)


def open_selected(desk: Desk) -> None:
    desk.open_selected()


def leave(desk: Desk) -> None:
    desk.leave()


def show_inbox(desk: Desk) -> None:
    desk.show_view("inbox")


def show_history(desk: Desk) -> None:
    desk.show_view("history")


def show_new(desk: Desk) -> None:
    desk.show_new()


def has_new(desk: Desk) -> bool:
    return desk.new_count > 0


def show_light(desk: Desk) -> None:
    desk.show_theme("light")


def show_dark(desk: Desk) -> None:
    desk.show_theme("dark")


def show_contrast(desk: Desk) -> None:
    desk.show_theme("contrast")


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
    Command("show_inbox", QT_TRANSLATE_NOOP("commands", "Inbox"), show_inbox, "View", ("G, I",)),
    Command("show_history", QT_TRANSLATE_NOOP("commands", "History"), show_history, "View", ("G, H",)),
    Command("theme_light", QT_TRANSLATE_NOOP("commands", "Light"), show_light, "View", group=1),
    Command("theme_dark", QT_TRANSLATE_NOOP("commands", "Dark"), show_dark, "View", group=1),
    Command("theme_contrast", QT_TRANSLATE_NOOP("commands", "High contrast"), show_contrast, "View", group=1),
    Command("show_keys", QT_TRANSLATE_NOOP("commands", "Keys"), show_keys, "Help", ("?",)),
)
