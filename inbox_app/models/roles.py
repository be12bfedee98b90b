"""Every custom role of the item models, once."""

from __future__ import annotations

from enum import IntEnum

from PySide6.QtCore import Qt

_FIRST = int(Qt.ItemDataRole.UserRole) + 1


class ItemRole(IntEnum):
    """What a delegate or a view asks a model for beyond Qt's own roles."""

    ID = _FIRST
    """The id of a question, run or call; empty for rows that are only a head."""
    LOOK = _FIRST + 1
    """What the row delegate draws: a `RowLook` or a `HeadLook`."""
