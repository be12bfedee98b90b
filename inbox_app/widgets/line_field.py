"""A field for one line of text, and what all fields do with the keys and the looks of their state."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

WRONG: Final = "wrong"
"""A dynamic property of a field; `theme.style` draws its border in the colour of a failure."""
_ALT_GR: Final = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
_COMMAND_KEYS: Final = _ALT_GR | Qt.KeyboardModifier.MetaModifier


class LineField(QLineEdit):
    """What is typed here never becomes a command, also while it is read only."""

    def event(self, event: QEvent) -> bool:
        return keep_typing(event) or super().event(event)

    def set_wrong(self, wrong: bool) -> None:
        mark_wrong(self, wrong)


def keep_typing(event: QEvent) -> bool:
    """Claim a key that types something, before the window takes it for a shortcut.

    Qt does so only for fields that can be written; one that locks under the hands of a typist has to do it too.
    """
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    held = event.modifiers() & _COMMAND_KEYS
    if not event.text().isprintable() or not event.text() or (held and held != _ALT_GR):
        return False
    event.accept()
    return True


def is_field(widget: QWidget | None) -> bool:
    """Whether the keyboard is in a text field, read-only ones included."""
    return isinstance(widget, QLineEdit | QPlainTextEdit)


def mark_wrong(field: QWidget, wrong: bool) -> None:
    if bool(field.property(WRONG)) != wrong:
        field.setProperty(WRONG, wrong)
        field.update()
