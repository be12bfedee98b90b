"""What kind of value a field takes, in a few words."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from inbox_app.tools_panel.shapes import Shape
from inbox_app.widgets.hidden_text import reveal

translate = QCoreApplication.translate


def kind_words(shape: Shape, *, required: bool) -> str:
    words = _kind(shape)
    return translate("KindWords", "{0}, required").format(words) if required else words


def _kind(shape: Shape) -> str:
    if shape.kind == "text":
        return reveal(shape.format) or translate("KindWords", "text")
    if shape.kind == "number":
        return translate("KindWords", "integer") if shape.is_integer else translate("KindWords", "number")
    words = {
        "yesno": translate("KindWords", "yes or no"),
        "choice": translate("KindWords", "choice"),
        "fixed": translate("KindWords", "fixed"),
        "null": translate("KindWords", "null"),
        "object": translate("KindWords", "object"),
        "list": translate("KindWords", "list"),
        "variants": translate("KindWords", "one of several"),
    }
    return words.get(shape.kind, translate("KindWords", "any JSON"))
