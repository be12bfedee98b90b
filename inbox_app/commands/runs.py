"""What can be done to the run in the reading pane."""

from __future__ import annotations

import time

from PySide6.QtCore import QCoreApplication

from inbox_app.commands.base import QT_TRANSLATE_NOOP, Command, Desk
from inbox_app.gateway.base import Gateway, GatewayError
from inbox_app.models.wording import clock


def cancel_run(desk: Desk) -> None:
    desk.cancel_run()


async def withdraw(gateway: Gateway, run_id: str) -> str:
    """End a run as cancelled. Returns the sentence of a refusal, empty if it was cancelled."""
    try:
        await gateway.cancel(run_id)
    except GatewayError as error:
        return error.message
    return ""


async def go_on(gateway: Gateway, run_id: str, revision: str | None) -> str:
    """Let a run that stopped go on with other code (None: the present). Returns the sentence of a refusal, or "".

    One that stops again at once was tried in vain.
    """
    try:
        outcome = await gateway.resume(run_id, revision)
    except GatewayError as error:
        return error.message
    if outcome.kind != "diverged":
        return ""
    words = QCoreApplication.translate("commands", "Tried {0}: it stopped again, its code still does not fit.")
    return words.format(clock(time.time()))


def resume_old(desk: Desk) -> None:
    desk.resume_run(True)


def resume_new(desk: Desk) -> None:
    desk.resume_run(False)


def can_resume_old(desk: Desk) -> bool:
    return desk.can_resume(True)


def can_resume_new(desk: Desk) -> bool:
    return desk.can_resume(False)


def copy_run_id(desk: Desk) -> None:
    desk.copy_run_id()


def run_is_open(desk: Desk) -> bool:
    return desk.run_is_open


def run_is_shown(desk: Desk) -> bool:
    return desk.run_id is not None


COMMANDS = (
    Command("copy_run_id", QT_TRANSLATE_NOOP("commands", "Copy run id"), copy_run_id, "Run", (), run_is_shown),
    Command(
        "resume_old",
        QT_TRANSLATE_NOOP("commands", "Go on with the old code…"),
        resume_old,
        "Run",
        ("Ctrl+Shift+O",),
        can_resume_old,
        group=1,
    ),
    Command(
        "resume_new",
        QT_TRANSLATE_NOOP("commands", "Try the present code…"),
        resume_new,
        "Run",
        ("Ctrl+Shift+P",),
        can_resume_new,
        group=1,
    ),
    Command(
        "cancel_run",
        QT_TRANSLATE_NOOP("commands", "Cancel run…"),
        cancel_run,
        "Run",
        ("Ctrl+Shift+X",),
        run_is_open,
        group=1,
    ),
)
