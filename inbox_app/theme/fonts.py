"""Which fonts the window uses: the system's, or the bundled ones where the system has nothing readable."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray
from PySide6.QtGui import QFont, QFontDatabase, QFontInfo

from inbox_app.theme import resources
from inbox_app.theme.tokens import BODY_SIZE, FONT_SIZE, STRONG_FONTS, FontKind

BUNDLED_UI = "Inter"
BUNDLED_MONO = "JetBrains Mono"
_UI_FILES = ("Inter-Regular.otf", "Inter-SemiBold.otf", "Inter-Bold.otf")
_MONO_FILES = ("JetBrainsMono-Regular.ttf", "JetBrainsMono-SemiBold.ttf")
_REWRITING = ("calt", "liga", "clig", "dlig", "hlig", "frac", "numr", "dnom", "ordn")
"""What fonts do to Latin text unasked: ``4x4`` becomes ``4×4``, ``->`` an arrow. What joins Arabic (rlig) stays."""
_LAST_RESORTS = frozenset({"", "DejaVu Sans", "Bitstream Vera Sans", "Liberation Sans", "FreeSans", "Nimbus Sans"})


class Fonts:
    """Font families and the scale of the interface; ``bundled`` ignores the system's font (tests, pictures).

    Every font shows text as it was written: one glyph for one letter, whatever stands beside it.
    """

    def __init__(self, *, bundled: bool) -> None:
        _load(*_MONO_FILES)
        system = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        found = QFontInfo(system)
        if bundled or found.family() in _LAST_RESORTS:
            _load(*_UI_FILES)
            self.family = BUNDLED_UI
        else:
            self.family = found.family()
        # Never smaller than designed: the smallest text (11) would become unreadable.
        self.scale = 1.0 if bundled else max(1.0, found.pixelSize() / BODY_SIZE)

    def font(self, kind: FontKind, *, strong: bool = False) -> QFont:
        font = QFont(BUNDLED_MONO if kind == "mono" else self.family)
        font.setPixelSize(round(FONT_SIZE[kind] * self.scale))
        if kind == "mono":
            font.setStyleHint(QFont.StyleHint.Monospace)
        else:
            font.setFeature(QFont.Tag("tnum"), 1)
        for tag in _REWRITING:
            font.setFeature(QFont.Tag(tag), 0)
        if strong or kind in STRONG_FONTS:
            font.setWeight(QFont.Weight.DemiBold)
        if kind == "title":
            font.setLetterSpacing(QFont.SpacingType.PercentageSpacing, 99.0)
        return font


@cache
def _load(*names: str) -> None:
    for name in names:
        QFontDatabase.addApplicationFontFromData(QByteArray(resources.read("fonts", name)))
