"""One short-lived message over a pane, with a way back. It never takes the focus."""

from __future__ import annotations

from PySide6.QtCore import QEasingCurve, QEvent, QObject, QPoint, QPropertyAnimation, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from inbox_app.theme.style import rounded
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON, RADIUS_OPTION, SPACE_2, SPACE_3, SPACE_4, SPACE_6
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.plain_label import PlainLabel

HEIGHT, LINE, SLIDE, SLIDE_MS, TICK_MS = 44, 3, 8, 120, 100


class Toast(QWidget):
    """Sits at the lower right of its parent, ``bottom`` design pixels above its edge, until told to go."""

    undone = Signal()

    def __init__(self, theme: Theme, bottom: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pane = parent
        self._bottom = bottom
        self._left = 1.0
        self.setFixedHeight(theme.px(HEIGHT))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._icon = IconBox(theme, self, ICON)
        self._text = PlainLabel("", theme, "body", "on_ink", self)
        self._undo = ActionButton(theme, self.tr("Undo"), "on_ink", "Z", self, height=28)
        self._undo.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._undo.clicked.connect(self.undone)
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(SPACE_4), 0, theme.px(SPACE_2), 0)
        row.setSpacing(theme.px(SPACE_3))
        row.addWidget(self._icon)
        row.addWidget(self._text)
        row.addWidget(self._undo)
        self._slide = QPropertyAnimation(self, b"pos", self)
        self._slide.setDuration(SLIDE_MS)
        self._slide.setEasingCurve(QEasingCurve.Type.OutCubic)
        parent.installEventFilter(self)
        self.hide()

    def show_text(self, icon: str, text: str, left: float) -> None:
        """``left`` is the part of the time that is left, 1 to 0: the length of the line below."""
        self._icon.set_icon(icon, "on_ink")
        self._left = min(1.0, max(0.0, left))
        if text != self._text.text():
            self._text.setText(text)
            self.setAccessibleName(text)
            self.adjustSize()
            self.move(self._home())
        if self.isHidden():
            self.show()
            self.raise_()
            self._slide.setStartValue(self._home() + QPoint(0, self._theme.px(SLIDE)))
            self._slide.setEndValue(self._home())
            self._slide.start()
        self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self._pane:
            self._slide.stop()
            self.move(self._home())
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = rounded(self.rect(), RADIUS_OPTION)
        painter.fillPath(ground, self._theme.color("ink"))
        painter.setClipPath(ground)
        height = self._theme.px(LINE)
        width = round(self.width() * self._left)
        painter.fillRect(0, self.height() - height, width, height, self._theme.color("line_strong"))
        painter.end()

    def _home(self) -> QPoint:
        edge, bottom = self._theme.px(SPACE_6), self._theme.px(self._bottom)
        room = self._pane.size() - self.size()
        return QPoint(room.width() - edge, room.height() - bottom)


class Countdown(QObject):
    """Ticks while somebody waits for a moment to come."""

    ticked = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._on_timeout)

    def run(self, running: bool) -> None:
        if running != self._timer.isActive():
            self._timer.start() if running else self._timer.stop()

    @Slot()
    def _on_timeout(self) -> None:
        self.ticked.emit()
