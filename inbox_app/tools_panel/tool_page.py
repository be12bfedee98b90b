"""The page of one tool: what it is, the form for its input, what became of its last start, the bar that starts it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QVBoxLayout, QWidget

from inbox_app.cards.arming import ARM_SECONDS
from inbox_app.gateway import values
from inbox_app.gateway.catalog import Repository, ToolInfo
from inbox_app.gateway.schemas import Misfit
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import BUTTON_ROW, SPACE_5, SPACE_6
from inbox_app.tools_panel.files_part import FilesPart
from inbox_app.tools_panel.form import SchemaForm
from inbox_app.tools_panel.inputs import Filled
from inbox_app.tools_panel.launches import Launch
from inbox_app.tools_panel.more_input import MoreInput
from inbox_app.tools_panel.outcome_part import OutcomePart
from inbox_app.tools_panel.start_bar import Readiness, StartBar
from inbox_app.tools_panel.tool_head import ToolHead
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.hidden_text import reveal
from inbox_app.widgets.strip import Strip

KEEP_MS = 400


class ToolPage(QWidget):
    """``start_wanted``: start it with what is filled in. ``edited``: what is filled in is worth keeping now.

    ``last_wanted`` asks for the input of the last start.
    """

    start_wanted = Signal()
    edited = Signal()
    last_wanted = Signal()
    run_wanted = Signal(str)
    question_wanted = Signal(str)

    def __init__(self, theme: Theme, clock: Callable[[], float] = time.time, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._key = ""
        self._tool: ToolInfo | None = None
        self._launch: Launch | None = None
        self._head: ToolHead | None = None
        self._wants_anyway = False
        self._cleared: Filled | None = None
        self._last_input: Filled | None = None
        self._pristine = ""
        self._direct = Strip(theme, "info", self)
        self._outcome = OutcomePart(theme, clock, self)
        self._form = SchemaForm(theme, self)
        self._files = FilesPart(theme, self)
        self._more = MoreInput(theme, self)
        self._last = ActionButton(theme, self.tr("Use the last input"), "link", parent=self, height=BUTTON_ROW)
        self._clear = ActionButton(theme, self.tr("Clear"), "link", parent=self, height=BUTTON_ROW)
        self._bar = StartBar(theme, self)
        self._keeping = QTimer(self)
        self._keeping.setSingleShot(True)
        self._keeping.setInterval(KEEP_MS)
        self._keeping.timeout.connect(self.edited)
        self._asleep = QTimer(self)
        self._asleep.setSingleShot(True)
        self._asleep.setInterval(int(ARM_SECONDS * 1000))
        self._asleep.timeout.connect(self._show_bar)
        self._build()
        self._connect()

    # What is shown

    @property
    def tool(self) -> ToolInfo | None:
        return self._tool

    @property
    def form(self) -> SchemaForm:
        return self._form

    def show_tool(
        self, key: str, repository: Repository, tool: ToolInfo, filled: Filled | None, last: Filled | None
    ) -> None:
        """``filled`` is what was written for it before, ``last`` what it was started with last. A
        tool that is shown already and has changed stays in place."""
        is_same = key == self._key
        is_same_form = is_same and self._tool is not None and self._tool.schema == tool.schema
        self._key, self._tool = key, tool
        if self._head is not None:
            self._column.removeWidget(self._head)
            self._head.hide()
            self._head.deleteLater()
        self._head = ToolHead(self._theme, repository, tool, self._body)
        self._column.insertWidget(0, self._head)
        self._head.show()
        self._show_lane(tool)
        self._files.setVisible(not tool.durable)
        self._last_input = last
        if not is_same_form or filled != self.filled():
            self._cleared = None
            self._form.show_schema(tool.schema)
            self._pristine = self._form.text()
            self.fill(filled or Filled())
        self._show_links()
        if not is_same:
            self._files.put(())
            self._area.verticalScrollBar().setValue(0)

    def fill(self, filled: Filled) -> None:
        """Show an input; an empty one is a form with nothing in it."""
        self._wants_anyway = False
        self._form.put_text(filled.input or self._pristine)
        self._more.put(filled.scope, filled.context)
        self._show_links()
        self._show_bar()

    def use(self, filled: Filled) -> None:
        """Put an input in place of what is there, which can be brought back."""
        before = self.filled()
        self.fill(filled)
        self._cleared = before if before != filled else None
        self._show_links()
        self.edited.emit()

    def filled(self) -> Filled | None:
        """What is filled in; None for a form as it was at the beginning."""
        text = self._form.text()
        if text == self._pristine and not self._more.scope and not self._more.context:
            return None
        return Filled(text, self._more.scope, self._more.context)

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(self._files.paths) if self._tool is not None and not self._tool.durable else ()

    def input_text(self) -> str:
        """The input as JSON text. Raises `values.BadJsonError` while there is none."""
        return values.pretty(self._form.value())

    def show_launch(self, launch: Launch | None, last: Filled | None, *, speak: bool = False) -> None:
        """What became of its last start, and what that was."""
        was_busy = self._is_busy
        self._launch, self._last_input = launch, last
        if was_busy and not self._is_busy:
            self._asleep.start()
        self._show_links()
        self._outcome.setVisible(launch is not None)
        if launch is not None:
            self._outcome.show_launch(launch, speak=speak)
        if speak:
            self._show_part(self._outcome)
        self._show_bar()

    # What the operator does

    def start(self) -> None:
        """Start it, or show why not yet: first what cannot be sent, then what the schema says against it.

        What starts the next time starts something else (again, or anyway), so nothing does for a moment: the second
        press of a double click is meant for what was there before.
        """
        if self._tool is None or self._is_busy or self._asleep.isActive():
            return
        self._form.check()
        if self._problem():
            self._go_to_problem()
        elif self._form.misfits() and not self._wants_anyway:
            self._wants_anyway = True
            self._asleep.start()
            self._form.tell_missing()
            self._go_to_problem()
        else:
            self._wants_anyway = False
            self.start_wanted.emit()

    def toggle_json(self) -> None:
        if self._form.shows_json:
            self._form.show_form()
        else:
            self._form.show_json()

    def focus_first(self) -> None:
        self._form.focus_first()

    def keep_now(self) -> None:
        """What was just written is kept at once."""
        if self._keeping.isActive():
            self._keeping.stop()
            self.edited.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and held == Qt.KeyboardModifier.ControlModifier:
            if not event.isAutoRepeat():
                self.start()
            return
        super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self._area.viewport():
            self._body.setMaximumWidth(self._area.viewport().width())
        return super().eventFilter(watched, event)

    # Below: how it is put together

    def _build(self) -> None:
        theme = self._theme
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.viewport().setAutoFillBackground(False)
        self._body = QWidget()
        side = theme.px(SPACE_6)
        self._column = QVBoxLayout(self._body)
        self._column.setContentsMargins(side, theme.px(SPACE_5), side, side)
        self._column.setSpacing(theme.px(SPACE_5))
        for part in (self._direct, self._outcome, self._form, self._files, self._more):
            self._column.addWidget(part)
        self._column.addStretch(1)
        self._form.top.addStretch(1)
        self._form.top.addWidget(self._last)
        self._form.top.addWidget(self._clear)
        self._area.setWidget(self._body)
        self._body.setAutoFillBackground(False)
        self._area.viewport().installEventFilter(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._area, 1)
        column.addWidget(self._bar)
        self._outcome.hide()

    def _connect(self) -> None:
        self._form.changed.connect(self._on_edited)
        self._form.checked.connect(self._show_bar)
        self._more.changed.connect(self._on_edited)
        self._files.changed.connect(self._show_bar)
        self._last.clicked.connect(self.last_wanted)
        self._clear.clicked.connect(self._on_clear)
        self._bar.pressed.connect(self.start)
        self._outcome.run_wanted.connect(self.run_wanted)
        self._outcome.question_wanted.connect(self.question_wanted)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus_changed)

    def _show_lane(self, tool: ToolInfo) -> None:
        self._direct.setVisible(not tool.invocable)
        if tool.invocable:
            return
        what = self.tr("It is started directly")
        why = (
            self.tr("It has no invoke trigger, so the HTTP route would refuse this start.")
            if tool.durable
            else self.tr(
                "It is inline, so the HTTP route would refuse this start. Its reply is shown here and not kept."
            )
        )
        self._direct.show_words(what, why)

    @property
    def _is_busy(self) -> bool:
        return self._launch is not None and self._launch.is_on_its_way

    def _problem(self) -> str:
        """Why nothing can be sent; "" if something can."""
        if problem := self._more.problem():
            return self.tr("Context: {0}").format(problem)
        try:
            self._form.value()
        except values.BadJsonError as error:
            return str(error)
        return ""

    def _go_to_problem(self) -> None:
        target = self._more.focus_problem() if self._more.problem() else self._form.focus_problem()
        if target is not None:
            self._show_part(target)
        self._show_bar(speak=True)

    @Slot()
    def _show_bar(self, *, speak: bool = False) -> None:
        if self._tool is not None:
            self._bar.show_readiness(self._readiness(self._tool), speak=speak)

    def _readiness(self, tool: ToolInfo) -> Readiness:
        start = self.tr("Start {0}").format(_short(reveal(tool.name)))
        if self._is_busy:
            return Readiness("circle-dashed", "muted", self.tr("It is being started"), start, can_press=False)
        if problem := self._problem():
            return Readiness("triangle-alert", "failed", problem, start)
        can_press = not self._asleep.isActive()
        misfits = self._form.misfits()
        if misfits and self._wants_anyway:
            text = self.tr("{0}. The handler gets it as it is.").format(_told(misfits))
            return Readiness("triangle-alert", "due", text, self.tr("Start anyway"), can_press)
        if misfits:
            is_only_missing = all(one.is_missing for one in misfits)
            icon, role = ("circle-dashed", "muted") if is_only_missing else ("triangle-alert", "due")
            return Readiness(icon, role, _told(misfits), start, can_press)
        if self._launch is not None:
            again = self.tr("Start again")
            return Readiness("circle-check", "muted", self.tr("Ready to start once more"), again, can_press)
        return Readiness("circle-check", "muted", self.tr("Ready to start"), start, can_press)

    def _show_links(self) -> None:
        self._clear.set_text(self.tr("Clear") if self._cleared is None else self.tr("Bring back what was there"))
        filled = self.filled()
        self._clear.setVisible(self._cleared is not None or filled is not None)
        self._last.setVisible(self._last_input not in (None, filled or Filled(self._pristine)))

    def _show_part(self, part: QWidget) -> None:
        self._area.ensureWidgetVisible(part, 0, self._theme.px(SPACE_5))

    @Slot()
    def _on_edited(self) -> None:
        self._wants_anyway = False
        self._cleared = None
        self._show_links()
        self._keeping.start()
        self._show_bar()

    @Slot()
    def _on_clear(self) -> None:
        """Empty the form, or bring back what was in it before it was emptied or filled."""
        before = self._cleared
        self.use(before or Filled())
        if before is not None:
            self._cleared = None
            self._show_links()

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        """Show what the keyboard reached; under the mouse nothing moves."""
        if new is not None and not QApplication.mouseButtons() and self._body.isAncestorOf(new):
            self._show_part(new)


def _told(misfits: Sequence[Misfit]) -> str:
    """The first of what does not fit, and how many more there are."""
    first = misfits[0]
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first.path).lstrip(".")
    words = reveal(" ".join(part for part in (where, first.message) if part))
    if len(misfits) == 1:
        return words
    return QCoreApplication.translate("ToolPage", "{0}, and {1} more").format(words, len(misfits) - 1)


def _short(name: str) -> str:
    return name if len(name) <= 28 else name[:27] + "…"
