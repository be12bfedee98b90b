"""The window: menu bar, three panes, and two pages instead when it is narrow. Layout only; `views.desk` drives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QMainWindow,
    QMenu,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from inbox_app.commands.base import MENUS, SUBMENUS, Menu, ViewName, menu_title
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import (
    DECISION_BAR,
    ICON_SMALL,
    LIST_HEAD,
    LIST_WIDTH,
    MENU_BAR,
    MINIMUM_HEIGHT,
    MINIMUM_WIDTH,
    NARROW_WIDTH,
    SIDEBAR_WIDTH,
    SPACE_2,
    SPACE_3,
    SPACE_4,
)
from inbox_app.views.history_pane import HistoryPane
from inbox_app.views.inbox_pane import InboxPane
from inbox_app.views.sidebar import HEALTH_MARKS, Sidebar
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.key_hint import KeyHint
from inbox_app.widgets.list_pane import ListPane
from inbox_app.widgets.notice import Notice
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.surface import Hairline, Surface
from inbox_app.widgets.toast import Toast

if TYPE_CHECKING:
    from inbox_app.commands.registry import CommandAction
    from inbox_app.gateway.base import Health
    from inbox_app.views.request_pane import RequestPane

START_SIZE = (1280, 772)
HEALTH_WIDTH = 240


class MainWindow(QMainWindow):
    """Painted first without a reading pane and with empty menus: `furnish` brings both, when they were imported."""

    painted = Signal()
    """The first picture is on the screen."""
    closed = Signal()
    escaped = Signal()
    """Escape was pressed and no field wanted it."""
    menu_opened = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.may_close: Callable[[], bool] = _always
        """Asked before the window closes; whoever answers no has asked the operator."""
        self._painted = False
        self._narrow = False
        self._on_card = False
        self.setWindowTitle(self.tr("Operator Inbox"))
        self.setMinimumSize(theme.px(MINIMUM_WIDTH), theme.px(MINIMUM_HEIGHT))
        self.resize(theme.px(START_SIZE[0]), theme.px(START_SIZE[1]))

        self.sidebar = Sidebar(theme, self)
        self.inbox = InboxPane(theme, self)
        self.history = HistoryPane(theme, self)
        self._reading: RequestPane | None = None
        self.notice = Notice(theme, self)
        self.page_bar = PageBar(theme, self)
        self.page_bar.hide()
        self._lists = QStackedWidget(self)
        self._list_panes: dict[ViewName, ListPane] = {"inbox": self.inbox, "history": self.history}
        self._lists.addWidget(self.inbox)
        self._lists.addWidget(self.history)
        self._view: ViewName = "inbox"
        self._reading_box = Surface(theme, "card", self)
        QVBoxLayout(self._reading_box).setContentsMargins(0, 0, 0, 0)
        self._pages = QStackedWidget(self._reading_box)
        self._sections: dict[ViewName, tuple[QWidget, Callable[[], None]]] = {}
        self.toast = Toast(theme, DECISION_BAR + SPACE_4, self._reading_box)

        self._panes = QSplitter(Qt.Orientation.Horizontal, self)
        self._panes.setChildrenCollapsible(False)
        for pane, name in (
            (self.sidebar, self.tr("Views and connections")),
            (self._lists, self.tr("List")),
            (self._reading_box, self.tr("Reading pane")),
        ):
            pane.setAccessibleName(name)
            self._panes.addWidget(pane)
        self._panes.setStretchFactor(2, 1)
        self._wide_sizes = [theme.px(SIDEBAR_WIDTH), theme.px(LIST_WIDTH), theme.px(START_SIZE[0])]
        self._panes.setSizes(self._wide_sizes)
        self._panes.splitterMoved.connect(self._on_panes_moved)
        self._widening = QTimer(self)
        self._widening.setSingleShot(True)
        self._widening.timeout.connect(self._on_widened)

        body = QWidget(self)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(Hairline(theme, self))
        column.addWidget(self.notice)
        column.addWidget(self.page_bar)
        column.addWidget(self._panes, 1)
        self.setCentralWidget(body)

        self._health = HealthLine(theme, self)
        self.menuBar().setNativeMenuBar(False)
        self.menuBar().setMinimumHeight(theme.px(MENU_BAR))
        self.menuBar().setCornerWidget(self._health, Qt.Corner.TopRightCorner)
        self.menuBar().setAccessibleName(self.tr("Menu"))
        self._menus = {name: self._add_menu(name) for name in (*MENUS, *SUBMENUS)}
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus_changed)

    @property
    def view(self) -> ViewName:
        return self._view

    @property
    def list_pane(self) -> ListPane:
        return self._list_panes[self._view]

    @property
    def reading(self) -> RequestPane:
        """The reading pane; there is none before `furnish`."""
        assert self._reading is not None
        return self._reading

    def furnish(self, reading: RequestPane, actions: Sequence[CommandAction]) -> None:
        """Put in the reading pane, and every command into its menu; those without one are reached by their keys."""
        self._reading = reading
        layout = self._reading_box.layout()
        assert layout is not None
        layout.addWidget(self._pages)
        self._pages.addWidget(reading)
        self.toast.raise_()
        groups = dict.fromkeys(self._menus, 0)
        for action in actions:
            name = action.command.menu
            if name is None:
                continue
            if action.command.group != groups[name]:
                groups[name] = action.command.group
                self._menus[name].addSeparator()
            self._menus[name].addAction(action)
        for name, parent in SUBMENUS.items():
            self._menus[parent].addSeparator()
            self._menus[parent].addMenu(self._menus[name])
        self.addActions(actions)

    def add_section(self, view: ViewName, list_pane: ListPane, page: QWidget, enter: Callable[[], None]) -> None:
        """One more view. ``enter`` gives the keyboard to its page."""
        self._list_panes[view] = list_pane
        self._sections[view] = page, enter
        self._lists.addWidget(list_pane)
        self._pages.addWidget(page)

    @Slot()
    def fit_screen(self) -> None:
        """No larger than its screen and wholly on it. Call it before and after the window is shown: only then the
        system's frame is known. From then on it is called whenever the window comes to another screen.
        """
        theme, room = self._theme, self.screen().availableGeometry()
        most = room.size() - (self.frameGeometry().size() - self.size())
        self.setMinimumSize(QSize(theme.px(MINIMUM_WIDTH), theme.px(MINIMUM_HEIGHT)).boundedTo(most))
        if self.isMaximized() or self.isFullScreen():
            return
        self.resize(self.size().boundedTo(most))
        if not self.isVisible():
            return
        self.windowHandle().screenChanged.connect(self.fit_screen, Qt.ConnectionType.UniqueConnection)
        outer = self.frameGeometry()
        x = max(room.left(), min(outer.x(), room.right() + 1 - outer.width()))
        y = max(room.top(), min(outer.y(), room.bottom() + 1 - outer.height()))
        if (x, y) != (outer.x(), outer.y()):
            self.move(x, y)

    def show_view(self, view: ViewName) -> None:
        self._view = view
        pane = self.list_pane
        if pane is not self._lists.currentWidget():
            self._lists.setCurrentWidget(pane)
        page = self._sections[view][0] if view in self._sections else self._reading
        if page is not None:
            self._pages.setCurrentWidget(page)
        self.sidebar.show_view(view)
        self.show_page(card=False)
        pane.table.setFocus()

    def show_page(self, *, card: bool) -> None:
        """Narrow windows show the list or the card. The focus leaves what is hidden first."""
        self._on_card = card
        if not self._narrow:
            return
        if card:
            self._arrange()
            if self._view in self._sections:
                self._sections[self._view][1]()
            else:
                self.reading.focus_home()
        else:
            self._arrange()
            self.list_pane.table.setFocus()

    def show_health(self, name: str, health: Health | None, state: str, waiting: int | None) -> None:
        self.sidebar.show_connection(name, health, state, waiting)
        self._health.show_health(health)

    def show_notice(self, strong: str, text: str) -> None:
        self.notice.show_text(strong, text, self.tr("Dismiss"))

    @Slot()
    def hide_notice(self) -> None:
        if self.notice.has_focus():
            self.list_pane.table.setFocus()
        self.notice.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.fillRect(event.rect(), self._theme.color("window"))
        painter.end()
        if not self._painted:
            self._painted = True
            self.painted.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < self._theme.px(NARROW_WIDTH)
        if narrow == self._narrow:
            return
        self._narrow = narrow
        self._arrange()
        sidebar = self._wide_sizes[0]
        self._panes.setSizes([sidebar, self.width() - sidebar, self.width()] if narrow else self._wide_sizes)
        self._widening.start(0)

    @Slot()
    def _on_widened(self) -> None:
        """Only now the panes have the room that they had."""
        if not self._narrow:
            sidebar, lists, _ = self._wide_sizes
            self._panes.setSizes([sidebar, lists, max(1, self._panes.width() - sidebar - lists)])

    @Slot()
    def _on_panes_moved(self) -> None:
        """The operator's own widths are the ones to come back to."""
        if not self._narrow:
            self._wide_sizes = self._panes.sizes()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
            return
        super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.may_close():
            event.ignore()
            return
        super().closeEvent(event)
        self.closed.emit()

    def _add_menu(self, name: Menu) -> QMenu:
        menu = QMenu(menu_title(name), self)
        menu.setAccessibleName(menu.title().replace("&", ""))
        menu.aboutToShow.connect(self.menu_opened)
        if name in MENUS:
            self.menuBar().addMenu(menu)
        return menu

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        """What is out of sight must not have the keys: show the card if it is on it, or else stay on this page."""
        if new is None or new.isVisible() or not self.isVisible() or not self.isAncestorOf(new):
            return
        if self._narrow and not self._on_card and self._reading_box.isAncestorOf(new):
            self.show_page(card=True)
        (new if new.isVisible() else self._focus_home).setFocus()

    @property
    def _focus_home(self) -> QWidget:
        return self.page_bar.back if self._narrow and self._on_card else self.list_pane.table

    def _arrange(self) -> None:
        lists, card = not self._narrow or not self._on_card, not self._narrow or self._on_card
        focused: QWidget | None = self.focusWidget()
        hidden = [pane for pane, shown in ((self._lists, lists), (self._reading_box, card)) if not shown]
        if any(pane.isAncestorOf(focused or self) for pane in (*hidden, self.sidebar)):
            self.setFocus()
        self._reading_box.setVisible(card)
        self.sidebar.setVisible(lists)
        self._lists.setVisible(lists)
        self.page_bar.setVisible(self._narrow and self._on_card)


def _always() -> bool:
    return True


class PageBar(Surface):
    """Above the card of a narrow window: the way back, the place in the list, what is new."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, "panel", parent)
        self.setFixedHeight(theme.px(LIST_HEAD))
        self.back = ActionButton(theme, self.tr("Inbox"), "flat", parent=self, icon_name="chevron-left", strong=True)
        self._place = PlainLabel("", theme, "meta", "muted", self)
        self.new = ActionButton(theme, "", "link", parent=self)
        self._new_key = KeyHint(theme, ".", self, "accent")
        upper = QWidget(self)
        upper.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        row = QHBoxLayout(upper)
        row.setContentsMargins(theme.px(SPACE_2), 0, theme.px(SPACE_3), 0)
        row.setSpacing(theme.px(SPACE_2))
        row.addWidget(self.back)
        row.addWidget(self._place)
        row.addWidget(KeyHint(theme, "K", self))
        row.addWidget(KeyHint(theme, "J", self))
        row.addStretch(1)
        row.addWidget(self.new)
        row.addWidget(self._new_key)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(upper, 1)
        column.addWidget(Hairline(theme, self))

    def show_place(self, back: str, place: str, new: str) -> None:
        self.back.set_text(back)
        self._place.setText(place)
        if not new and self.new.hasFocus():
            self.back.setFocus()
        self.new.set_text(new)
        self.new.setVisible(bool(new))
        self._new_key.setVisible(bool(new))


class HealthLine(QWidget):
    """At the right of the menu bar: how the connections are."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = IconBox(theme, self, ICON_SMALL)
        self._text = PlainLabel("", theme, "meta", parent=self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, theme.px(SPACE_4), 0)
        row.setSpacing(theme.px(6))
        row.addStretch(1)
        row.addWidget(self._icon)
        row.addWidget(self._text)

    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(HEALTH_WIDTH), self._theme.px(MENU_BAR))

    def show_health(self, health: Health | None) -> None:
        icon, role = HEALTH_MARKS[health] if health else ("circle-dashed", "muted")
        self._icon.set_icon(icon, role)
        text = self._words(health)
        self._text.setText(text)
        self.setAccessibleName(text)

    def _words(self, health: Health | None) -> str:
        if health == "live":
            return self.tr("1 live")
        if health == "catching-up":
            return self.tr("1 catching up")
        if health == "polling":
            return self.tr("1 polling")
        if health == "signed-out":
            return self.tr("1 signed out")
        if health == "unreachable":
            return self.tr("1 unreachable")
        return self.tr("Connecting")
