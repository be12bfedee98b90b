"""Characters that do not show, made visible: each becomes a mark with its code point, on every surface.

`shown` gives the text to lay out and where its marks are; `reveal` is the same for places that take plain text only.
Line breaks and tabs are ordinary; a long run of blanks becomes one mark that counts them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFont, QPainter, QTextCharFormat, QTextLayout, QTextLine

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import RADIUS_TAG

BLANKS_SHOWN: Final = 24
_BLANK: Final = "[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
_HIDDEN: Final = (
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_MARKED: Final = re.compile(f"{_HIDDEN}|{_BLANK}{{{BLANKS_SHOWN + 1},}}")
_HIDDEN_ONE: Final = re.compile(_HIDDEN)
_NOTHING: Final = re.compile(f"(?:{_HIDDEN}|\\s)*")
_PAD: Final = "\u2009"
ISOLATE: Final = "\u2066"
ISOLATE_END: Final = "\u2069"
"""Between them text runs from left to right and moves nothing around it, whatever is in it."""
TAG_FONT: Final = 11
TAG_HEIGHT: Final = 16


_BLANK_RUN: Final = " " * (BLANKS_SHOWN + 1)


def _is_plain(text: str) -> bool:
    """A quick look that finds most texts without any mark."""
    return text.isascii() and _BLANK_RUN not in text and text.isprintable()


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text as it is (``text``) and as it is shown; ``marked`` parts are shown as a mark."""

    text: str
    shown: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Tag:
    """Where a mark stands in the shown text."""

    start: int
    length: int


def pieces(text: str) -> list[Piece]:
    found: list[Piece] = []
    end = 0
    for hit in _MARKED.finditer(text):
        if hit.start() > end:
            plain = text[end : hit.start()]
            found.append(Piece(plain, plain, False))
        found.append(Piece(hit[0], f"{ISOLATE}{_PAD}{_name(hit[0])}{_PAD}{ISOLATE_END}", True))
        end = hit.end()
    if end < len(text):
        found.append(Piece(text[end:], text[end:], False))
    return found


def shown(text: str) -> tuple[str, list[Tag]]:
    """The text to lay out, and its marks."""
    if _is_plain(text) or _MARKED.search(text) is None:
        return text, []
    return joined(pieces(text))


def joined(parts: list[Piece]) -> tuple[str, list[Tag]]:
    """What pieces look like together, and their marks."""
    tags: list[Tag] = []
    at = 0
    for piece in parts:
        if piece.marked:
            tags.append(Tag(at + len(ISOLATE), len(piece.shown) - len(ISOLATE + ISOLATE_END)))
        at += len(piece.shown)
    return "".join(piece.shown for piece in parts), tags


def original(parts: list[Piece], start: int, stop: int | None) -> str:
    """The characters behind columns ``start`` to ``stop`` of what is shown; a mark counts as soon as it is touched."""
    out: list[str] = []
    at = 0
    for piece in parts:
        end = at + len(piece.shown)
        if end > start and (stop is None or at < stop):
            whole = piece.marked
            out.append(piece.text if whole else piece.text[max(0, start - at) : None if stop is None else stop - at])
        at = end
    return "".join(out)


def reveal(text: str) -> str:
    """The text with its marks in angle brackets, for tool tips, accessible names and single-font labels."""
    if _is_plain(text) or _MARKED.search(text) is None:
        return text
    return "".join(f"⟨{_name(piece.text)}⟩" if piece.marked else piece.text for piece in pieces(text))


def escape_hidden(json_text: str) -> str:
    """JSON text with its hidden characters as escapes: the same value, and all of it can be seen and edited."""
    return json_text if _is_plain(json_text) else _HIDDEN_ONE.sub(_escape, json_text)


def count_hidden(text: str) -> int:
    """How many characters of the text do not show (long blanks count as one)."""
    return 0 if _is_plain(text) else sum(1 for _ in _MARKED.finditer(text))


def is_blank(text: str) -> bool:
    """Whether there is nothing to see: only blanks and hidden characters."""
    return _NOTHING.fullmatch(text) is not None


def tag_formats(tags: list[Tag], theme: Theme) -> list[QTextLayout.FormatRange]:
    """Formats that set the marks of a shown text in their own font and colour."""
    ranges: list[QTextLayout.FormatRange] = []
    for tag in tags:
        look = QTextCharFormat()
        font = QFont(theme.font("mono"))
        font.setPixelSize(theme.px(TAG_FONT))
        look.setFont(font)
        look.setForeground(theme.color("card"))
        part = QTextLayout.FormatRange()
        part.start, part.length, part.format = tag.start, tag.length, look  # pyright: ignore[reportAttributeAccessIssue]
        ranges.append(part)
    return ranges


def paint_tags(painter: QPainter, layout: QTextLayout, tags: list[Tag], at: QPointF, theme: Theme) -> None:
    """Fill the ground of the marks; call it before the layout itself is drawn at ``at``."""
    height = theme.px(TAG_HEIGHT)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(theme.color("due"))
    painter.setBrush(theme.color("due"))
    for tag in tags:
        for number in range(layout.lineCount()):
            line = layout.lineAt(number)
            first = max(tag.start, line.textStart())
            last = min(tag.start + tag.length, line.textStart() + line.textLength())
            if first >= last:
                continue
            left, right = _ends(line, first, last - first)
            top = at.y() + line.y() + line.ascent() - theme.px(TAG_FONT) * 0.36 - height / 2
            rect = QRectF(at.x() + left, top, right - left, height)
            painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS_TAG, RADIUS_TAG)
    painter.restore()


def _ends(line: QTextLine, start: int, length: int) -> tuple[float, float]:
    """Where a mark really is: cursor positions are ambiguous where the direction of the text changes."""
    glyphs = [
        (place.x(), place.x() + advance.x())
        for run in line.glyphRuns(start, length)
        for place, advance in zip(
            run.positions(), run.rawFont().advancesForGlyphIndexes(run.glyphIndexes()), strict=True
        )
    ]
    return min((left for left, _ in glyphs), default=0.0), max((right for _, right in glyphs), default=0.0)


def _escape(hit: re.Match[str]) -> str:
    units = hit[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


@cache
def _name(text: str) -> str:
    return f"{len(text)} blanks" if len(text) > 1 else f"U+{ord(text):04X}"
