"""The links of a question: what they are called and where they lead. Opened by a press of their button, never else."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QGridLayout, QWidget

from inbox_app.cards.base import short_label
from inbox_app.gateway.base import Link
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import SPACE_1, SPACE_3
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel

MOST = 50
LINE = 20
SCHEMES = frozenset({"http", "https"})


class LinksPart(QWidget):
    def __init__(self, theme: Theme, links: Sequence[Link], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(theme.px(SPACE_3))
        self._grid.setVerticalSpacing(theme.px(SPACE_1))
        self._grid.setColumnStretch(0, 1)
        self._grid.addWidget(PlainLabel(self.tr("Links"), theme, "label", "muted", self), 0, 0)
        for link in links[:MOST]:
            self._add(link)
        if len(links) > MOST:
            more = self.tr("{0} more are under “As asked”.").format(len(links) - MOST)
            self._grid.addWidget(PlainLabel(more, theme, "meta", "muted", self), self._grid.rowCount(), 0)

    def _add(self, link: Link) -> None:
        row, url = self._grid.rowCount(), _web(link.url)
        target = link.url if url is None else url.toString(QUrl.ComponentFormattingOption.FullyEncoded)
        if link.label and link.label != target:
            self._grid.addWidget(MarkedLabel(link.label, self._theme, "body", parent=self), row, 0)
            row += 1
        self._grid.addWidget(MarkedLabel(target, self._theme, "mono", "muted", self), row, 0)
        if url is None:
            words = self.tr("Not a web address")
            self._grid.addWidget(PlainLabel(words, self._theme, "meta", "muted", self), row, 1)
        else:
            self._grid.addWidget(_LinkButton(self._theme, url, target, link.label, self), row, 1)


class _LinkButton(ActionButton):
    def __init__(self, theme: Theme, url: QUrl, target: str, label: str, parent: QWidget) -> None:
        super().__init__(theme, parent.tr("Open in the browser"), "link", parent=parent, height=LINE)
        self._url = url
        self.setAccessibleName(parent.tr("Open {0} in the browser").format(short_label(label or target)))
        self.setAccessibleDescription(target)
        self.clicked.connect(self._on_clicked)

    @Slot()
    def _on_clicked(self) -> None:
        QDesktopServices.openUrl(self._url)


def _web(text: str) -> QUrl | None:
    """A whole web address; None for anything else, however it looks."""
    url = QUrl(text, QUrl.ParsingMode.StrictMode)
    return url if url.isValid() and url.scheme() in SCHEMES and url.host() else None
