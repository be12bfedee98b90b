"""Labels show what they are given, buttons do nothing by accident, rings follow keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QDialog, QFocusFrame, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from inbox_app.theme.theme import Theme
from inbox_app.widgets.buttons import ActionButton, ButtonKind
from inbox_app.widgets.dialogs import ConfirmDialog
from inbox_app.widgets.nav_row import NavRow
from inbox_app.widgets.new_bar import NewBar
from inbox_app.widgets.plain_label import PlainLabel

HOSTILE = (
    "<b>bold</b>",
    "<img src='http://127.0.0.1:9/x'>",
    "a &amp; b & c",
    "&Send",
    "<script>x</script>\n<!--",
    "#!",
)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("elide", [False, True])
def test_a_label_shows_markup_literally(theme: Theme, qtbot: QtBot, text: str, elide: bool) -> None:
    label = PlainLabel(text, theme, "body", elide=elide)
    qtbot.addWidget(label)
    assert label.textFormat() == Qt.TextFormat.PlainText
    assert label.text() == text
    plain = PlainLabel("x" * 3, theme, "body")
    qtbot.addWidget(plain)
    if not elide and "\n" not in text:
        assert label.sizeHint().width() >= theme.metrics("body").horizontalAdvance(text)


def test_a_cut_label_tells_the_whole_in_its_tool_tip(theme: Theme, qtbot: QtBot) -> None:
    label = PlainLabel("<b>" + "long " * 60, theme, elide=True)
    qtbot.addWidget(label)
    label.resize(120, 20)
    label.show()
    assert "&lt;b&gt;" in label.toolTip()
    label.setText("short")
    assert label.toolTip() == ""


@pytest.mark.parametrize("kind", ["filled", "outline", "flat", "link"])
def test_enter_presses_no_button(theme: Theme, qtbot: QtBot, kind: ButtonKind) -> None:
    button = ActionButton(theme, "Act", kind)
    qtbot.addWidget(button)
    button.show()
    presses = QSignalSpy(button.clicked)
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        qtbot.keyClick(button, key)
    assert presses.count() == 0
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert presses.count() == 1


def test_no_button_becomes_a_default_in_a_dialog(theme: Theme, qtbot: QtBot) -> None:
    dialog = QDialog()
    qtbot.addWidget(dialog)
    column = QVBoxLayout(dialog)
    field, button = QLineEdit(dialog), ActionButton(theme, "Act", "filled", parent=dialog)
    column.addWidget(field)
    column.addWidget(button)
    dialog.show()
    presses = QSignalSpy(button.clicked)
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert not button.autoDefault()
    assert not button.isDefault()
    assert presses.count() == 0


def test_enter_never_confirms_and_escape_keeps(theme: Theme, qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    dialog = ConfirmDialog(theme, "Cancel?", "<i>really</i>", "Do it", "Keep it", parent)
    confirmed = QSignalSpy(dialog.confirmed)
    dialog.open()
    for target in (dialog, *dialog.findChildren(QPushButton)):
        qtbot.keyClick(target, Qt.Key.Key_Return)
    assert dialog.isVisible()
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    assert confirmed.count() == 0


def test_a_dialog_opens_with_a_ring_on_the_button_that_changes_nothing(theme: Theme, qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    dialog = ConfirmDialog(theme, "Cancel?", "really", "Do it", "Keep it", parent)
    dialog.open()
    with qtbot.waitActive(dialog):
        dialog.activateWindow()
    button = dialog.focusWidget()
    assert isinstance(button, QPushButton)
    assert button.text() == "Keep it"
    ring = next(frame for frame in dialog.findChildren(QFocusFrame) if frame.widget() is button)
    assert ring.isVisible()
    dialog.close()


def test_a_count_of_zero_is_shown_and_an_unknown_one_is_a_dash(theme: Theme, qtbot: QtBot) -> None:
    row = NavRow(theme, "inbox", "Inbox")
    qtbot.addWidget(row)
    row.set_count(0)
    assert row.accessibleName() == "Inbox 0"
    row.set_count(None)
    assert row.accessibleName() == "Inbox –"


def test_the_new_bar_keeps_its_room(theme: Theme, qtbot: QtBot) -> None:
    bar = NewBar(theme, ".")
    qtbot.addWidget(bar)
    bar.show()
    height = bar.height()
    bar.show_count("3 new items")
    assert bar.is_shown
    assert bar.height() == height
    bar.show_count("")
    assert not bar.is_shown
    assert bar.height() == height
