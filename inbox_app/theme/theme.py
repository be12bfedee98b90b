"""The look as one object: colours, fonts and icons of the current palette, and a signal when it changes."""

from __future__ import annotations

from PySide6.QtCore import QObject, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontMetrics, QGuiApplication, QIcon, QPalette, QPixmap
from PySide6.QtWidgets import QApplication, QToolTip

from inbox_app.theme import icons
from inbox_app.theme.fonts import Fonts
from inbox_app.theme.palettes import PALETTES, PaletteName, ThemeChoice
from inbox_app.theme.style import FlatStyle
from inbox_app.theme.tokens import ICON, FontKind, Role

_PALETTE: dict[QPalette.ColorRole, Role] = {
    QPalette.ColorRole.Window: "window",
    QPalette.ColorRole.Base: "card",
    QPalette.ColorRole.AlternateBase: "list",
    QPalette.ColorRole.Text: "text",
    QPalette.ColorRole.WindowText: "text",
    QPalette.ColorRole.ButtonText: "text",
    QPalette.ColorRole.BrightText: "text",
    QPalette.ColorRole.PlaceholderText: "muted",
    QPalette.ColorRole.Button: "card",
    QPalette.ColorRole.Highlight: "selection",
    QPalette.ColorRole.HighlightedText: "text",
    QPalette.ColorRole.Link: "accent",
    QPalette.ColorRole.LinkVisited: "accent",
    QPalette.ColorRole.Accent: "ink",
    QPalette.ColorRole.ToolTipBase: "ink",
    QPalette.ColorRole.ToolTipText: "on_ink",
    QPalette.ColorRole.Light: "card",
    QPalette.ColorRole.Midlight: "hover",
    QPalette.ColorRole.Mid: "line",
    QPalette.ColorRole.Dark: "line_strong",
    QPalette.ColorRole.Shadow: "line_strong",
}
_DISABLED = (QPalette.ColorRole.Text, QPalette.ColorRole.WindowText, QPalette.ColorRole.ButtonText)
_TEXT_FIELDS = ("QLineEdit", "QPlainTextEdit", "QTextEdit")


def _colors(name: PaletteName) -> dict[Role, QColor]:
    return {role: QColor(value) for role, value in PALETTES[name].items()}


class Theme(QObject):
    """Give this to every widget; connect ``changed`` to repaint what was derived from it."""

    changed = Signal()

    def __init__(
        self, choice: ThemeChoice = "light", *, bundled_fonts: bool = False, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._choice: ThemeChoice = choice
        self._name: PaletteName = _resolved(choice)
        self._fonts = Fonts(bundled=bundled_fonts)
        self._font_cache: dict[tuple[FontKind, bool], QFont] = {}
        self._metrics_cache: dict[tuple[FontKind, bool], QFontMetrics] = {}
        self._colors = _colors(self._name)
        self._pixmaps: dict[tuple[str, Role, int, float], QPixmap] = {}
        self._style: FlatStyle | None = None
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_scheme_changed)

    @property
    def choice(self) -> ThemeChoice:
        return self._choice

    @property
    def name(self) -> PaletteName:
        return self._name

    @property
    def is_contrast(self) -> bool:
        """Surfaces do not differ: blocks, banners and popups get a line."""
        return self._name == "contrast"

    def color(self, role: Role) -> QColor:
        return self._colors[role]

    def font(self, kind: FontKind, *, strong: bool = False) -> QFont:
        """The font of a role; ``strong`` makes any of them weight 600."""
        key = (kind, strong)
        if key not in self._font_cache:
            self._font_cache[key] = self._fonts.font(kind, strong=strong)
        return self._font_cache[key]

    def metrics(self, kind: FontKind, *, strong: bool = False) -> QFontMetrics:
        key = (kind, strong)
        if key not in self._metrics_cache:
            self._metrics_cache[key] = QFontMetrics(self.font(kind, strong=strong))
        return self._metrics_cache[key]

    def px(self, size: float) -> int:
        """A size of the design in logical pixels, grown with the system's text size."""
        return round(size * self._fonts.scale)

    def pixmap(self, icon: str, role: Role = "text", size: int = ICON, *, scale: float | None = None) -> QPixmap:
        """An icon in the colour of a role; ``size`` is of the design, ``scale`` device pixels per logical pixel."""
        screen = QGuiApplication.primaryScreen()
        ratio = scale or (screen.devicePixelRatio() if screen else 1.0)
        key = (icon, role, size, ratio)
        if key not in self._pixmaps:
            self._pixmaps[key] = icons.paint(icon, self.color(role), self.px(size), ratio)
        return self._pixmaps[key]

    def icon(self, name: str, role: Role = "text", size: int = ICON) -> QIcon:
        icon = QIcon()
        for ratio in (1.0, 2.0, 3.0):
            icon.addPixmap(self.pixmap(name, role, size, scale=ratio))
        return icon

    def icon_size(self, size: int = ICON) -> QSize:
        return QSize(self.px(size), self.px(size))

    def palette(self) -> QPalette:
        palette = QPalette()
        for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive, QPalette.ColorGroup.Disabled):
            for qt_role, role in _PALETTE.items():
                palette.setColor(group, qt_role, self.color(role))
        for qt_role in _DISABLED:
            palette.setColor(QPalette.ColorGroup.Disabled, qt_role, self.color("muted"))
        return palette

    def apply(self, app: QApplication) -> None:
        """Dress the whole application: style, palette, font."""
        if self._style is None:
            self._style = FlatStyle()
            app.setStyle(self._style)
        self._style.set_colors(self._colors)
        palette = self.palette()
        app.setPalette(palette)
        field = QPalette(palette)
        for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive):
            field.setColor(group, QPalette.ColorRole.Highlight, self.color("accent"))
            field.setColor(group, QPalette.ColorRole.HighlightedText, self.color("on_accent"))
        for widget_class in _TEXT_FIELDS:
            app.setPalette(field, widget_class)  # pyright: ignore[reportArgumentType]  (the binding wants str)
        app.setFont(self.font("body"))
        QToolTip.setFont(self.font("body"))

    def set_palette(self, choice: ThemeChoice) -> None:
        self._choice = choice
        self._show(_resolved(choice))

    def _show(self, name: PaletteName) -> None:
        if name == self._name:
            return
        self._name = name
        self._colors = _colors(name)
        self._pixmaps.clear()
        app = QApplication.instance()
        if self._style is not None and isinstance(app, QApplication):
            self.apply(app)
        self.changed.emit()

    @Slot(Qt.ColorScheme)
    def _on_scheme_changed(self, scheme: Qt.ColorScheme) -> None:
        if self._choice == "system":
            self._show(_of_scheme(scheme))


def _resolved(choice: ThemeChoice) -> PaletteName:
    return _of_scheme(QGuiApplication.styleHints().colorScheme()) if choice == "system" else choice


def _of_scheme(scheme: Qt.ColorScheme) -> PaletteName:
    return "dark" if scheme == Qt.ColorScheme.Dark else "light"
