"""The list of waiting questions."""

from __future__ import annotations

from PySide6.QtCore import QLocale, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.widgets.list_pane import ListPane
from inbox_app.widgets.new_bar import NewBar


class InboxPane(ListPane):
    new_wanted = Signal()
    """The operator wants to see what was held back."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.name_all(self.tr("Inbox"), self.tr("Waiting questions"))
        self._bar = NewBar(theme, ".", self.top)
        self._bar.clicked.connect(self.new_wanted)
        over = QVBoxLayout(self.top)
        over.setContentsMargins(0, 0, 0, 0)
        over.addWidget(self._bar)

    def show_waiting(self, total: int | None, listed: int, new: int, *, filled: bool) -> None:
        """How many wait at the runtime (None: not known), are listed, and are held back.

        ``filled``: there are rows, if only one that no longer waits but is being read.
        """
        locale = QLocale()
        self.show_count("" if total is None else self.tr("{0} waiting").format(locale.toString(total)))
        if not new and self._bar.has_focus():
            self.table.setFocus()
        self._bar.show_count(_new_items(self, new))
        missing = 0 if total is None else total - listed - new
        if missing > 0:
            text = self.tr("{0} of {1} listed").format(locale.toString(listed), locale.toString(total or 0))
            self.show_footer(text, more=True)
        else:
            self.show_footer(self.tr("J and K move, Enter opens, ? shows all keys"))
        self.show_table(filled)


def _new_items(widget: QWidget, count: int) -> str:
    if not count:
        return ""
    return widget.tr("1 new item") if count == 1 else widget.tr("{0} new items").format(count)
