"""The names of the look: colour roles, fonts, sizes. Values live in `palettes`; all sizes are logical pixels."""

from __future__ import annotations

from typing import Literal, TypeAlias

Role: TypeAlias = Literal[
    "window",
    "panel",
    "list",
    "card",
    "sunken",
    "line",
    "line_strong",
    "text",
    "muted",
    "accent",
    "on_accent",
    "focus",
    "selection",
    "hover",
    "ink",
    "on_ink",
    "waiting",
    "due",
    "draft",
    "held",
    "sent",
    "answered",
    "refused",
    "expired",
    "failed",
    "production",
    "prod_wash",
    "on_prod",
    "due_wash",
    "add_wash",
    "del_wash",
    "add_mark",
    "del_mark",
]

FontKind: TypeAlias = Literal["title", "heading", "question", "body", "meta", "label", "mono"]

FONT_SIZE: dict[FontKind, int] = {
    "title": 20,
    "heading": 15,
    "question": 13,
    "body": 13,
    "meta": 12,
    "label": 11,
    "mono": 12,
}
LINE_HEIGHT: dict[FontKind, int] = {
    "title": 28,
    "heading": 20,
    "question": 20,
    "body": 20,
    "meta": 16,
    "label": 16,
    "mono": 20,
}
STRONG_FONTS: frozenset[FontKind] = frozenset({"title", "heading", "label"})
BODY_SIZE = FONT_SIZE["body"]

SPACE_1, SPACE_2, SPACE_3, SPACE_4, SPACE_5, SPACE_6, SPACE_8 = 4, 8, 12, 16, 20, 24, 32

RADIUS_TAG, RADIUS_FIELD, RADIUS_OPTION = 3, 4, 6

ROW_NORMAL, ROW_TREE, ROW_OPTION = 44, 24, 52
ROW_GROUP, ROW_SIDEBAR, ROW_CONNECTION = 28, 28, 44
BUTTON, BUTTON_SEND, BUTTON_ROW = 32, 36, 28
MENU_BAR, LIST_HEAD, NEW_BAR, FOOTER, DECISION_BAR = 28, 48, 28, 32, 64
SIDEBAR_WIDTH, LIST_WIDTH = 200, 360
MINIMUM_WIDTH, MINIMUM_HEIGHT, NARROW_WIDTH = 800, 600, 1000

ICON, ICON_SMALL, ICON_TINY, ICON_LARGE = 16, 14, 12, 24
EDGE = 4
FOCUS_RING = 2
SELECTION_MARK = 3
KEY_HINT = 18
