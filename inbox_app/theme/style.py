"""Fusion without its bevels: flat fields, hairline splitters, quiet scroll bars, one focus ring."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPainterPath, QPalette, QPen
from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QProxyStyle,
    QStyle,
    QStyleOption,
    QStyleOptionComplex,
    QStyleOptionMenuItem,
    QStyleOptionSlider,
    QWidget,
)

from inbox_app.theme.palettes import LIGHT
from inbox_app.theme.tokens import FOCUS_RING, MENU_BAR, RADIUS_FIELD, Role

SCROLL_BAR = 10
FRAME_MARGIN = 4
FIELD_PADDING = 6
MENU_PADDING = 8

_Primitive = QStyle.PrimitiveElement
_Control = QStyle.ControlElement
_Metric = QStyle.PixelMetric


def rounded(rect: QRect, radius: float, inset: float = 0.0) -> QPainterPath:
    path = QPainterPath()
    path.addRoundedRect(QRectF(rect).adjusted(inset, inset, -inset, -inset), radius, radius)
    return path


class FlatStyle(QProxyStyle):
    """The only style. It draws with the colours it was given last."""

    def __init__(self) -> None:
        super().__init__("Fusion")
        self._colors: Mapping[Role, QColor] = {role: QColor(value) for role, value in LIGHT.items()}

    def set_colors(self, colors: Mapping[Role, QColor]) -> None:
        self._colors = colors

    def drawPrimitive(
        self, element: QStyle.PrimitiveElement, option: QStyleOption, painter: QPainter, widget: QWidget | None = None
    ) -> None:
        if element in {_Primitive.PE_PanelLineEdit, _Primitive.PE_FrameLineEdit}:
            self._draw_field(option, painter, widget)
        elif element == _Primitive.PE_Frame:
            if self._is_field(widget):
                self._draw_field(option, painter, widget, filled=False)
        elif element == _Primitive.PE_FrameFocusRect:
            self._draw_ring(option.rect, painter)
        elif element in {_Primitive.PE_PanelMenu, _Primitive.PE_FrameMenu}:
            self._draw_menu_frame(option, painter)
        else:
            super().drawPrimitive(element, option, painter, widget)

    def drawControl(
        self, element: QStyle.ControlElement, option: QStyleOption, painter: QPainter, widget: QWidget | None = None
    ) -> None:
        if element == _Control.CE_Splitter:
            painter.fillRect(self._hairline(option), self._colors["line"])
        elif element == _Control.CE_FocusFrame:
            self._draw_ring(option.rect, painter, RADIUS_FIELD + FRAME_MARGIN / 2)
        elif element == _Control.CE_MenuBarEmptyArea:
            painter.fillRect(option.rect, self._colors["window"])
        elif element == _Control.CE_MenuBarItem:
            self._draw_menu_bar_item(option, painter)
        else:
            super().drawControl(element, option, painter, widget)

    def drawComplexControl(
        self,
        control: QStyle.ComplexControl,
        option: QStyleOptionComplex,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        if control == QStyle.ComplexControl.CC_ScrollBar and isinstance(option, QStyleOptionSlider):
            self._draw_scroll_bar(option, painter)
        else:
            super().drawComplexControl(control, option, painter, widget)

    def pixelMetric(
        self, metric: QStyle.PixelMetric, option: QStyleOption | None = None, widget: QWidget | None = None
    ) -> int:
        if metric == _Metric.PM_SplitterWidth:
            return 1
        if metric == _Metric.PM_ScrollBarExtent:
            return SCROLL_BAR
        if metric in {_Metric.PM_FocusFrameHMargin, _Metric.PM_FocusFrameVMargin}:
            return FRAME_MARGIN
        if metric == _Metric.PM_MenuPanelWidth:
            return 1
        if metric in {_Metric.PM_MenuVMargin, _Metric.PM_MenuBarHMargin}:
            return 4
        if metric in {_Metric.PM_MenuBarVMargin, _Metric.PM_MenuBarPanelWidth, _Metric.PM_MenuBarItemSpacing}:
            return 0
        return super().pixelMetric(metric, option, widget)

    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returnData: object = None,  # noqa: N803
    ) -> int:
        if hint == QStyle.StyleHint.SH_FocusFrame_AboveWidget:
            return 1
        if hint == QStyle.StyleHint.SH_EtchDisabledText:
            return 0
        if hint == QStyle.StyleHint.SH_UnderlineShortcut:
            return int(bool(QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.AltModifier))
        return super().styleHint(hint, option, widget, returnData)  # pyright: ignore[reportArgumentType]

    def sizeFromContents(
        self, contents: QStyle.ContentsType, option: QStyleOption, size: QSize, widget: QWidget | None = None
    ) -> QSize:
        if contents == QStyle.ContentsType.CT_MenuBarItem:
            return QSize(size.width() + 2 * MENU_PADDING, max(size.height(), MENU_BAR))
        return super().sizeFromContents(contents, option, size, widget)  # pyright: ignore[reportArgumentType]

    def subElementRect(self, element: QStyle.SubElement, option: QStyleOption, widget: QWidget | None = None) -> QRect:
        rect = super().subElementRect(element, option, widget)  # pyright: ignore[reportArgumentType]
        if element == QStyle.SubElement.SE_LineEditContents:
            return rect.adjusted(FIELD_PADDING, 0, -FIELD_PADDING, 0)
        return rect

    def subControlRect(
        self,
        control: QStyle.ComplexControl,
        option: QStyleOptionComplex,
        element: QStyle.SubControl,
        widget: QWidget | None = None,
    ) -> QRect:
        rect = super().subControlRect(control, option, element, widget)  # pyright: ignore[reportArgumentType]
        if control != QStyle.ComplexControl.CC_ScrollBar or not isinstance(option, QStyleOptionSlider):
            return rect
        return self._scroll_bar_part(option, element, rect)

    def _draw_field(
        self, option: QStyleOption, painter: QPainter, widget: QWidget | None, *, filled: bool = True
    ) -> None:
        """One that is read only looks locked, with the focus too; one marked ``wrong`` has the border of a failure."""
        read_only = isinstance(widget, QLineEdit | QPlainTextEdit) and widget.isReadOnly()
        wrong = widget is not None and bool(widget.property("wrong"))
        focused = bool(option.state & QStyle.StateFlag.State_HasFocus) and not read_only
        enabled = bool(option.state & QStyle.StateFlag.State_Enabled) and not read_only
        border = "failed" if wrong else "focus" if focused else "line" if read_only else "line_strong"
        width = FOCUS_RING if focused else 1
        path = rounded(option.rect, RADIUS_FIELD, width / 2)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if filled or read_only:
            painter.fillPath(path, self._colors["card" if enabled else "sunken"])
        painter.setPen(QPen(self._colors[border], width))
        painter.drawPath(path)
        painter.restore()

    def _draw_ring(self, rect: QRect, painter: QPainter, radius: float = RADIUS_FIELD) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._colors["focus"], FOCUS_RING))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(rounded(rect, radius, FOCUS_RING / 2))
        painter.restore()

    def _draw_menu_frame(self, option: QStyleOption, painter: QPainter) -> None:
        painter.save()
        painter.setPen(QPen(self._colors["line_strong"], 1))
        painter.setBrush(self._colors["card"])
        painter.drawRect(option.rect.adjusted(0, 0, -1, -1))
        painter.restore()

    def _draw_menu_bar_item(self, option: QStyleOption, painter: QPainter) -> None:
        painter.fillRect(option.rect, self._colors["window"])
        if not isinstance(option, QStyleOptionMenuItem):
            return
        active = option.state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_Sunken)
        if active and option.state & QStyle.StateFlag.State_Enabled:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            inner = option.rect.adjusted(0, 2, 0, -2)
            painter.fillPath(rounded(inner, RADIUS_FIELD), self._colors["selection"])
            painter.restore()
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextShowMnemonic | Qt.TextFlag.TextSingleLine
        if not self.styleHint(QStyle.StyleHint.SH_UnderlineShortcut, option):
            flags |= Qt.TextFlag.TextHideMnemonic
        enabled = bool(option.state & QStyle.StateFlag.State_Enabled)
        self.drawItemText(
            painter, option.rect, int(flags), option.palette, enabled, option.text, QPalette.ColorRole.WindowText
        )

    def _draw_scroll_bar(self, option: QStyleOptionSlider, painter: QPainter) -> None:
        slider = self._scroll_bar_part(option, QStyle.SubControl.SC_ScrollBarSlider, option.rect)
        if option.minimum >= option.maximum:
            return
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver) or bool(
            option.state & QStyle.StateFlag.State_Sunken
        )
        inner = slider.adjusted(2, 2, -2, -2)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        radius = min(inner.width(), inner.height()) / 2
        painter.fillPath(rounded(inner, radius), self._colors["muted" if hovered else "line_strong"])
        painter.restore()

    def _scroll_bar_part(self, option: QStyleOptionSlider, element: QStyle.SubControl, rect: QRect) -> QRect:
        """No arrow buttons: the groove is the whole bar, the slider is placed in it."""
        sub = QStyle.SubControl
        whole = option.rect
        if element in {sub.SC_ScrollBarAddLine, sub.SC_ScrollBarSubLine}:
            return QRect()
        if element == sub.SC_ScrollBarGroove:
            return whole
        upright = option.orientation == Qt.Orientation.Vertical
        length = whole.height() if upright else whole.width()
        span = option.maximum - option.minimum
        size = length if span <= 0 else max(24, length * option.pageStep // max(1, span + option.pageStep))
        size = min(size, length)
        start = QStyle.sliderPositionFromValue(
            option.minimum, option.maximum, option.sliderPosition, length - size, option.upsideDown
        )
        if element == sub.SC_ScrollBarSlider:
            begin, extent = start, size
        elif element == sub.SC_ScrollBarSubPage:
            begin, extent = 0, start
        elif element == sub.SC_ScrollBarAddPage:
            begin, extent = start + size, length - start - size
        else:
            return rect
        if upright:
            return QRect(whole.x(), whole.y() + begin, whole.width(), extent)
        return QRect(whole.x() + begin, whole.y(), extent, whole.height())

    def _hairline(self, option: QStyleOption) -> QRect:
        rect = option.rect
        if option.state & QStyle.StateFlag.State_Horizontal:
            return QRect(rect.x() + rect.width() // 2, rect.y(), 1, rect.height())
        return QRect(rect.x(), rect.y() + rect.height() // 2, rect.width(), 1)

    @staticmethod
    def _is_field(widget: QWidget | None) -> bool:
        """Whether a framed widget is something to type in (others have no frame)."""
        return (
            widget is not None and widget.inherits("QAbstractScrollArea") and bool(widget.property("field"))
        ) or isinstance(widget, QComboBox)
