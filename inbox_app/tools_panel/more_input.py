"""What a start takes besides its input: the scope and the context. Folded until it is wanted."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inbox_app.cards.json_field import JsonField
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_1, SPACE_3, SPACE_4
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.line_field import LineField
from inbox_app.widgets.plain_label import PlainLabel


class MoreInput(QWidget):
    """``text`` and so on count as no change by the operator."""

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._toggle = ActionButton(
            theme, "", "link", parent=self, icon_name="chevron-right", height=BUTTON_ROW, role="text"
        )
        self._toggle.clicked.connect(self._on_toggled)
        self._box = QWidget(self)
        self._scope = LineField(self._box)
        self._scope.setAccessibleName(self.tr("Scope"))
        self._scope.setMinimumHeight(theme.px(BUTTON_ROW))
        self._scope.textChanged.connect(self._on_changed)
        self._context = JsonField(theme, self.tr("Context as JSON"), lines=2, parent=self._box)
        self._context.changed.connect(self._on_changed)
        inner = QVBoxLayout(self._box)
        inner.setContentsMargins(theme.px(SPACE_4), 0, 0, 0)
        inner.setSpacing(theme.px(SPACE_1))
        inner.addWidget(self._label(self.tr("Scope"), self.tr("whose documents and secrets the run works with")))
        inner.addWidget(self._scope)
        inner.addSpacing(theme.px(SPACE_3))
        inner.addWidget(self._label(self.tr("Context"), self.tr("JSON that stays with the run, unverified")))
        inner.addWidget(self._context)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._toggle)
        column.addWidget(self._box)
        self._box.hide()
        self._show()

    @property
    def scope(self) -> str:
        return self._scope.text().strip()

    @property
    def context(self) -> str:
        """JSON text, "" for none; no JSON while `problem` says so."""
        return "" if self._context.is_blank else self._context.text()

    def put(self, scope: str, context: str) -> None:
        self._scope.blockSignals(True)
        self._scope.setText(scope)
        self._scope.blockSignals(False)
        self._context.set_text(context)
        if scope or context:
            self._box.show()
        self._show()

    def problem(self) -> str:
        return self._context.problem() if self.context else ""

    def focus_problem(self) -> QWidget:
        self._box.show()
        self._show()
        self._context.focus_field()
        return self._context

    def _label(self, name: str, about: str) -> PlainLabel:
        return PlainLabel(f"{name}: {about}", self._theme, "meta", "muted", self._box, wrap=True)

    def _show(self) -> None:
        is_open = not self._box.isHidden()
        given = bool(self.scope or self.context)
        self._toggle.set_text(self.tr("Scope and context, filled in") if given else self.tr("Scope and context"))
        name = self.tr("Hide scope and context") if is_open else self.tr("Show scope and context")
        self._toggle.set_icon("chevron-down" if is_open else "chevron-right", name)

    @Slot()
    def _on_toggled(self) -> None:
        self._box.setVisible(self._box.isHidden())
        self._show()

    @Slot()
    def _on_changed(self) -> None:
        self._show()
        self.changed.emit()
