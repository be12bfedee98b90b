"""The files that an inline tool is started with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QFileDialog, QVBoxLayout, QWidget

from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_1
from inbox_app.tools_panel.attached import MOST_BYTES, size_words
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.file_chip import FileChip
from inbox_app.widgets.flow_box import FlowBox
from inbox_app.widgets.plain_label import PlainLabel


class FilesPart(QWidget):
    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._paths: list[str] = []
        self._chips: list[FileChip] = []
        self._flow = FlowBox(theme, self)
        self._add = ActionButton(theme, self.tr("Add files…"), "link", parent=self, icon_name="plus", height=BUTTON_ROW)
        self._add.clicked.connect(self._on_add)
        self.setAcceptDrops(True)
        words = self.tr("Files, {0} at most in all; drop them here").format(size_words(MOST_BYTES))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(PlainLabel(words, theme, "meta", "muted", self))
        column.addWidget(self._flow)
        column.addWidget(self._add)
        self._flow.hide()

    @property
    def paths(self) -> Sequence[str]:
        return tuple(self._paths)

    def put(self, paths: Sequence[str]) -> None:
        self._paths = list(dict.fromkeys(paths))
        self._chips = [
            FileChip(self._theme, Path(path).name, _size(path), removable=True, parent=self._flow)
            for path in self._paths
        ]
        for chip in self._chips:
            chip.removed.connect(self._on_removed)
        self._flow.set_items(self._chips)
        self._flow.setVisible(bool(self._chips))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self._take([url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()])
        event.acceptProposedAction()

    def _take(self, paths: Sequence[str]) -> None:
        self.put([*self._paths, *(path for path in paths if Path(path).is_file())])
        self.changed.emit()

    @Slot()
    def _on_add(self) -> None:
        dialog = QFileDialog(self, self.tr("Add files"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(self._on_chosen)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    @Slot(list)
    def _on_chosen(self, paths: list[str]) -> None:
        self._take(paths)

    @Slot()
    def _on_removed(self) -> None:
        at = next(at for at, chip in enumerate(self._chips) if chip is self.sender())
        self._add.setFocus()
        self.put([path for number, path in enumerate(self._paths) if number != at])
        self.changed.emit()


def _size(path: str) -> str:
    try:
        return size_words(Path(path).stat().st_size)
    except OSError:
        return ""
