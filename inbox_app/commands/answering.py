"""Answering the question in the reading pane. Picking and sending are two acts; only `send` sends."""

from __future__ import annotations

from collections.abc import Callable

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, Desk

PICKS = 9


def pick(number: int) -> Callable[[Desk], None]:
    """The act of picking option ``number``, counting from 1."""

    def run(desk: Desk) -> None:
        desk.pick(number)

    return run


def pick_yes(desk: Desk) -> None:
    desk.pick_word(True)


def pick_no(desk: Desk) -> None:
    desk.pick_word(False)


def send(desk: Desk) -> None:
    desk.send()


def undo(desk: Desk) -> None:
    desk.undo()


def edit(desk: Desk) -> None:
    desk.edit()


def write_note(desk: Desk) -> None:
    desk.write_note()


def show_tree(desk: Desk) -> None:
    desk.show_tab("tree")


def can_answer(desk: Desk) -> bool:
    return desk.pause is not None and desk.is_answerable


def can_pick_word(desk: Desk) -> bool:
    pause = desk.pause
    return can_answer(desk) and pause is not None and pause.input_type == "yesno" and not pause.options


def can_write_note(desk: Desk) -> bool:
    return can_answer(desk) and desk.pause is not None and desk.pause.input_type != "text"


def can_edit(desk: Desk) -> bool:
    return can_answer(desk) and desk.pause is not None and desk.pause.allow_edits


def can_send(desk: Desk) -> bool:
    return desk.can_send


def can_undo(desk: Desk) -> bool:
    return desk.can_undo


def has_run(desk: Desk) -> bool:
    return desk.run_id is not None


COMMANDS = (
    Command(
        "send", QT_TRANSLATE_NOOP("commands", "Send answer"), send, "Request", ("Ctrl+Enter", "Ctrl+Return"), can_send
    ),
    Command("undo", QT_TRANSLATE_NOOP("commands", "Undo"), undo, "Request", ("Z", "Ctrl+Z"), can_undo),
    Command("pick_yes", QT_TRANSLATE_NOOP("commands", "Pick yes"), pick_yes, "Request", ("Y",), can_pick_word, group=1),
    Command("pick_no", QT_TRANSLATE_NOOP("commands", "Pick no"), pick_no, "Request", ("N",), can_pick_word, group=1),
    *(
        Command(
            f"pick_{number}",
            QT_TRANSLATE_NOOP("commands", "Pick an option"),
            pick(number),
            None,
            (str(number),),
            can_answer,
        )
        for number in range(1, PICKS + 1)
    ),
    Command("edit", QT_TRANSLATE_NOOP("commands", "Edit payload"), edit, "Request", ("E",), can_edit, group=2),
    Command(
        "write_note",
        QT_TRANSLATE_NOOP("commands", "Write a reason"),
        write_note,
        "Request",
        ("R",),
        can_write_note,
        group=2,
    ),
    Command("show_tree", QT_TRANSLATE_NOOP("commands", "Show the call tree"), show_tree, "Run", ("T",), has_run),
)
