"""The parts of a repository's page above its builds: what is wrong, what needs trust, the switches of its tools."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from inbox_app.gateway.catalog import BuiltIn, Repository
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import ICON, ICON_SMALL, SPACE_1, SPACE_2, SPACE_3, SPACE_6
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.check_box import CheckBox
from inbox_app.widgets.empty_state import IconBox
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.marked_label import MarkedLabel
from inbox_app.widgets.plain_label import PlainLabel


class ProblemsPart(QWidget):
    """What is wrong with a repository, each in a sentence of the loader."""

    def __init__(self, theme: Theme, repository: Repository, parent: QWidget) -> None:
        super().__init__(parent)
        title = self.tr("It cannot be used") if repository.broken else self.tr("Problems")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(PlainLabel(title, theme, "label", "muted", self))
        for problem in repository.problems:
            row = QHBoxLayout()
            row.setSpacing(theme.px(SPACE_2))
            icon = IconBox(theme, self, ICON_SMALL)
            icon.set_icon("triangle-alert", "failed" if repository.broken else "due")
            row.addWidget(icon)
            row.addWidget(MarkedLabel(problem, theme, "body", parent=self), 1)
            column.addLayout(row)


class TrustPart(QWidget):
    """What the code may not do before somebody trusts it."""

    wanted = Signal()

    def __init__(self, theme: Theme, needs: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        head = QHBoxLayout()
        head.setSpacing(theme.px(SPACE_2))
        icon = IconBox(theme, self, ICON)
        icon.set_icon("lock", "due")
        head.addWidget(icon)
        title = self.tr("Its code has to be trusted before it may use")
        head.addWidget(PlainLabel(title, theme, "body", "due", self, strong=True), 1)
        self.trust = ActionButton(theme, self.tr("Trust"), "outline", parent=self)
        self.trust.clicked.connect(self.wanted)
        head.addWidget(self.trust)
        column.addLayout(head)
        inner = QVBoxLayout()
        inner.setContentsMargins(theme.px(SPACE_6), 0, 0, 0)
        for need in needs:
            inner.addWidget(MarkedLabel(need, theme, "body", parent=self))
        column.addLayout(inner)


class SwitchesPart(QWidget):
    """The built-in tools: which are on, and what they lack. ``switched`` carries a name and whether it is to be on."""

    switched = Signal(str, bool)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._boxes: dict[str, CheckBox] = {}
        self._lacks: dict[str, PlainLabel] = {}
        self._shown: list[BuiltIn] = []
        self._waiting: set[str] = set()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(SPACE_1))
        column.addWidget(PlainLabel(self.tr("Built-in tools"), theme, "label", "muted", self))
        text = self.tr(
            "One that is off is offered to no model, and calls of it fail. Tools of the repository are not switched."
        )
        column.addWidget(PlainLabel(text, theme, "meta", "muted", self, wrap=True))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(theme.px(SPACE_3))
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(1, 1)
        column.addLayout(self._grid)

    def show_tools(self, tools: Sequence[BuiltIn]) -> None:
        if list(tools) == self._shown:
            return
        self._waiting.clear()
        if [tool.name for tool in tools] != list(self._boxes):
            self._make(tools)
        self._shown = list(tools)
        for tool in tools:
            box = self._boxes[tool.name]
            box.blockSignals(True)
            box.setChecked(tool.is_on)
            box.blockSignals(False)
            box.setAccessibleDescription(self._words(tool))
            self._lacks[tool.name].setText(self._words(tool))

    def _make(self, tools: Sequence[BuiltIn]) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        self._boxes, self._lacks = {}, {}
        for row, tool in enumerate(tools):
            box = CheckBox(self._theme, reveal(tool.name), "mono", self)
            box.setProperty("tool", tool.name)
            box.clicked.connect(self._on_clicked)
            label = PlainLabel("", self._theme, "meta", "muted", self, elide=True)
            self._grid.addWidget(box, row, 0)
            self._grid.addWidget(label, row, 1)
            self._boxes[tool.name], self._lacks[tool.name] = box, label

    def _words(self, tool: BuiltIn) -> str:
        return self.tr("Needs {0}").format(reveal(tool.lacks)) if tool.lacks else reveal(tool.description)

    @Slot(bool)
    def _on_clicked(self, is_on: bool) -> None:
        """The box is as it was wanted until the runtime has said what is so; it is not switched again before.

        It stays enabled: one that is not would lose the focus to the next, which would take the next key.
        """
        box = self.sender()
        if not isinstance(box, CheckBox):
            return
        tool: str = box.property("tool")
        if tool in self._waiting:
            box.setChecked(not is_on)
            return
        self._waiting.add(tool)
        self._shown = []
        self.switched.emit(tool, is_on)
