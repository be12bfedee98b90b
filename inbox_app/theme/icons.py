"""Lucide icons, painted from SVG in one colour at the scale of the device."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from inbox_app.theme import resources

_DOTS = {
    # Solid and half marks that the icon family does not have; same grid and stroke.
    "dot": '<circle cx="12" cy="12" r="7" fill="currentColor" stroke="none"/>',
    "ring": '<circle cx="12" cy="12" r="5.5" stroke-width="3"/>',
    "half": '<circle cx="12" cy="12" r="5.5" stroke-width="3"/>'
    '<path d="M12 6.5a5.5 5.5 0 0 0 0 11z" fill="currentColor" stroke="none"/>',
}
_FRAME = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24" fill="none" '
    'stroke="currentColor" stroke-width="2">{}</svg>'
)


@cache
def svg(name: str) -> str:
    """The source of one icon; raises `FileNotFoundError` for an unknown name."""
    if name in _DOTS:
        return _FRAME.format(_DOTS[name])
    return resources.read("icons", f"{name}.svg").decode()


def paint(name: str, colour: QColor, size: int, scale: float) -> QPixmap:
    """A pixmap of ``size`` logical pixels for a screen of ``scale`` device pixels each."""
    source = svg(name).replace("currentColor", colour.name())
    pixels = max(1, round(size * scale))
    pixmap = QPixmap(pixels, pixels)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(source.encode())).render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    pixmap.setDevicePixelRatio(scale)
    return pixmap
