"""One choice as a row: radio, key hint, label, a second line. Picking is all it does."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QHBoxLayout, QRadioButton, QSizePolicy, QVBoxLayout, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import (
    FOCUS_RING,
    ICON,
    KEY_HINT,
    LINE_HEIGHT,
    RADIUS_OPTION,
    RADIUS_TAG,
    ROW_OPTION,
    SPACE_2,
    SPACE_3,
)
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel

OUTSET = SPACE_3
ROW_ONE_LINE = 40
BY_KEY = frozenset(
    {Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason}
)


class OptionRow(QRadioButton):
    """The whole row is the target. A click or Space checks it and it stays checked; Enter does nothing.

    ``key_hint`` is a blank to keep its room free. ``remark`` are muted words at the right; ``detail`` follows the label
    in mono where labels alone are not enough. Rows are not exclusive by themselves: whoever owns several keeps one
    checked. The row reaches `OUTSET` pixels beyond its content on both sides.
    """

    def __init__(
        self,
        theme: Theme,
        label: str,
        *,
        sub: str = "",
        remark: str = "",
        detail: str = "",
        key_hint: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._key_hint = key_hint
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self._ring = False
        self.setAutoExclusive(False)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(reveal(" ".join(part for part in (label, detail) if part)))
        self.setAccessibleDescription(reveal(". ".join(part for part in (sub, remark) if part)))
        self._build(label, sub, remark, detail)
        theme.changed.connect(self._on_theme_changed)

    def set_awake(self, awake: bool) -> None:
        """A row that sleeps stays readable and focusable but cannot be checked by the operator."""
        self._awake = awake

    def nextCheckState(self) -> None:
        if self._awake:
            self.setChecked(True)

    def hitButton(self, pos: QPoint) -> bool:
        return self.rect().contains(pos)

    def sizeHint(self) -> QSize:
        layout = self.layout()
        return layout.totalSizeHint() if layout is not None else QSize()

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(160), self.minimumHeight())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space:
            super().keyPressEvent(event)
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() in BY_KEY
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring = False
        super().focusOutEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        color = self._theme.color
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.isChecked():
            painter.fillPath(rounded(self.rect(), RADIUS_OPTION), color("selection"))
        elif self.underMouse() and self.isEnabled():
            painter.fillPath(rounded(self.rect(), RADIUS_OPTION), color("hover"))
        if self._ring and self.hasFocus():
            painter.setPen(QPen(color("focus"), FOCUS_RING))
            painter.drawPath(rounded(self.rect(), RADIUS_OPTION, FOCUS_RING / 2))
        self._paint_radio(painter)
        self._paint_hint(painter)
        painter.end()

    def _paint_radio(self, painter: QPainter) -> None:
        theme = self._theme
        size = theme.px(ICON)
        box = QRectF(self._mirrored(QRect(theme.px(OUTSET), self._beside(size), size, size)))
        if self.isChecked():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("ink"))
            painter.drawEllipse(box)
            painter.setBrush(theme.color("selection" if theme.is_contrast else "card"))
            painter.drawEllipse(box.center(), size / 2 - theme.px(5), size / 2 - theme.px(5))
        else:
            painter.setPen(QPen(theme.color("line_strong"), 1.5))
            painter.setBrush(theme.color("card"))
            painter.drawEllipse(box.adjusted(0.75, 0.75, -0.75, -0.75))
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_hint(self, painter: QPainter) -> None:
        if not self._key_hint.strip():
            return
        theme = self._theme
        size = theme.px(KEY_HINT)
        left = theme.px(OUTSET) + theme.px(ICON) + theme.px(SPACE_3)
        box = self._mirrored(QRect(left, self._beside(size), size, size))
        painter.setPen(QPen(theme.color("line_strong"), 1))
        painter.drawPath(rounded(box, RADIUS_TAG, 0.5))
        font = theme.font("label")
        painter.setFont(font)
        painter.setPen(theme.color("muted"))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self._key_hint)

    def _beside(self, size: int) -> int:
        """The top of something that stands beside the first line of the label."""
        return self._name.y() + (self._theme.px(LINE_HEIGHT["body"]) - size) // 2

    def _mirrored(self, rect: QRect) -> QRect:
        if self.layoutDirection() == Qt.LayoutDirection.LeftToRight:
            return rect
        return QRect(self.width() - rect.x() - rect.width(), rect.y(), rect.width(), rect.height())

    def _build(self, label: str, sub: str, remark: str, detail: str) -> None:
        theme = self._theme
        self._awake = True
        texts = QVBoxLayout()
        texts.setSpacing(0)
        name = MarkedLabel(label, theme, "body", strong=True, parent=self)
        self._name = name
        first = QHBoxLayout()
        first.setSpacing(theme.px(SPACE_3))
        first.addWidget(name, 1)
        labels: list[PlainLabel] = [name]
        if remark:
            words = PlainLabel(remark, theme, "body", "muted", self)
            words.setForegroundRole(QPalette.ColorRole.WindowText)  # a button's children would take its text colour
            words.setFixedHeight(theme.px(LINE_HEIGHT["body"]))
            first.addWidget(words, 0, Qt.AlignmentFlag.AlignTop)
            labels.append(words)
        texts.addLayout(first)
        for text, kind in ((detail, "mono"), (sub, "body")):
            if text:
                line = MarkedLabel(text, theme, kind, "muted", self)  # pyright: ignore[reportArgumentType]
                texts.addWidget(line)
                labels.append(line)
        for item in labels:
            item.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        left = theme.px(OUTSET) + theme.px(ICON) + theme.px(SPACE_3)
        if self._key_hint:
            left += theme.px(KEY_HINT) + theme.px(SPACE_3)
        row = QHBoxLayout(self)
        row.setContentsMargins(left, theme.px(SPACE_2), theme.px(OUTSET), theme.px(SPACE_2 - 1))
        row.addLayout(texts, 1)
        row.setAlignment(texts, Qt.AlignmentFlag.AlignVCenter)
        self.setMinimumHeight(theme.px(ROW_OPTION if sub or detail else ROW_ONE_LINE))

    @Slot()
    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()
