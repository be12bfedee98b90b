"""The reading pane: parts of a question, ended runs, and what arrives while somebody reads."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QPlainTextEdit

from inbox_app.gateway.base import Link, RunDetail
from inbox_app.widgets.buttons import ActionButton
from inbox_app.widgets.payload_view import PayloadView
from inbox_app.widgets.plain_label import PlainLabel
from inbox_app.widgets.tab_strip import TabStrip
from tests.gui.cards.conftest import Bench
from tests.gui.cards.test_cards import KINDS
from tests.support.builders import NOW, call, decision, detail, pause, run
from tests.support.drivers import controls

CALLS = [call("", parent=None, state="running", seconds=None), call("0", kind="input", state="waiting", seconds=None)]


def shown(bench: Bench) -> list[str]:
    return [label.text() for label in bench.pane.findChildren(PlainLabel) if label.isVisible()]


def tabs(bench: Bench) -> TabStrip:
    found = bench.pane.findChild(TabStrip)
    assert isinstance(found, TabStrip)
    return found


def test_a_question_names_who_asks_and_what_happens_in_silence(bench: Bench) -> None:
    bench.show(
        pause(
            path=("support", "refund"),
            requested_by="maria",
            asked_at=NOW - 840,
            expires_at=NOW + 2520,
            on_expire={"value": "no"},
        )
    )
    texts = " | ".join(shown(bench))
    for part in ("refund", "maria", "support › refund", "14m, since", "in 42m", '"no" is taken as the answer'):
        assert part in texts


def test_a_question_too_long_for_the_head_is_whole_in_the_body(bench: Bench) -> None:
    bench.window.resize(820, 700)
    words = "Should the nightly job of the eu-west region start again from its last checkpoint? " * 2
    bench.show(pause(question=words))

    def repeated() -> bool:
        return shown(bench).count(words) == 2

    assert not repeated()
    bench.window.resize(420, 700)
    bench.qtbot.waitUntil(repeated)
    bench.window.resize(820, 700)
    bench.qtbot.waitUntil(lambda: not repeated())


def test_the_run_of_a_question_can_arrive_later(bench: Bench) -> None:
    asked = pause(id="dur_1.0", run_id="dur_1")
    bench.show(asked)
    of = run(id="dur_1", status="awaiting-input")
    bench.pane.set_detail(detail(of, pauses=[asked], calls=CALLS))
    assert len(bench.pane.calls.model.calls) == 2
    bench.pane.set_detail(detail(run(id="dur_2"), calls=[call(str(at)) for at in range(9)]))
    bench.pane.apply_calls("dur_2", [call("9")])
    assert len(bench.pane.calls.model.calls) == 2
    bench.pane.apply_calls("dur_1", [call("1")])
    bench.qtbot.waitUntil(lambda: len(bench.pane.calls.model.calls) == 3)


def test_a_detail_that_arrives_does_not_touch_what_is_picked(bench: Bench) -> None:
    asked = pause(id="dur_1.0", run_id="dur_1")
    bench.show(asked)
    bench.wake()
    bench.press("y")
    bench.pane.set_detail(detail(run(id="dur_1", status="awaiting-input"), pauses=[asked], calls=CALLS))
    bench.send()
    assert [wish.value for wish in bench.wishes] == ["yes"]


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (run(status="completed", result={"refunded": "64.00"}), '"64.00"'),
        (run(status="completed", result=None), "null"),
        (run(status="failed", error={"code": "execution-failed", "message": "it <b>broke</b>"}), "it <b>broke</b>"),
        (run(status="failed", error={}), "Failed"),
        (run(status="cancelled"), "Cancelled"),
        (run(status="expired"), "Expired"),
        (run(status="odd\u202e"), "odd⟨U+202E⟩"),
    ],
)
def test_an_ended_run_is_shown_and_cannot_be_answered(bench: Bench, of: object, says: str) -> None:
    bench.pane.show_run(detail(of, calls=CALLS, decisions=[decision("p", value="yes")]))  # pyright: ignore[reportArgumentType]
    bench.press("y", "1")
    bench.send()
    assert bench.wishes == []
    values = " ".join(view.text() for view in bench.pane.findChildren(PayloadView) if view.isVisible())
    assert says in " ".join(shown(bench)) + values
    assert bench.pane.pause is None


def test_a_run_that_is_read_again_keeps_the_tab_and_the_place(bench: Bench) -> None:
    of = run(id="dur_1", status="running")
    bench.pane.show_run(detail(of, calls=CALLS))
    bench.pane.show_tab("tree")
    bench.pane.set_detail(detail(replace(of, status="completed", finished_at=NOW), calls=[*CALLS, call("1")]))
    assert tabs(bench).currentIndex() == 2
    assert "refund_payment: Completed" in shown(bench)
    bench.qtbot.waitUntil(lambda: len(bench.pane.calls.model.calls) == 3)


def test_decisions_of_the_run_are_listed(bench: Bench) -> None:
    asked = pause(id="dur_1.1", run_id="dur_1")
    bench.show(asked)
    made: RunDetail = detail(
        run(id="dur_1", status="awaiting-input"),
        pauses=[asked],
        decisions=[decision("dur_1.0", value="<i>no</i>", outcome="refused"), decision("dur_1.2", outcome="expired")],
    )
    bench.pane.set_detail(made)
    bench.pane.show_tab("history")
    assert 'Refused by local:tom: "<i>no</i>"' in shown(bench)
    assert any("nobody answered in time, the call failed" in text for text in shown(bench))


def test_go_to_card_leads_to_the_question_of_that_call(bench: Bench) -> None:
    asked, other = pause(id="dur_1.0", run_id="dur_1"), pause(id="dur_1.3-1", run_id="dur_1")
    gone: list[str] = []
    bench.pane.go_to_pause.connect(gone.append)
    bench.show(asked)
    bench.pane.set_detail(detail(run(id="dur_1", status="awaiting-input"), pauses=[asked, other], calls=CALLS))
    bench.pane.show_tab("tree")
    bench.pane.calls.go_to_card.emit("0")
    assert tabs(bench).currentIndex() == 0
    assert gone == []
    bench.pane.calls.go_to_card.emit("3/1")
    assert gone == ["dur_1.3-1"]


def test_leaving_a_field_goes_to_the_neutral_place(bench: Bench) -> None:
    bench.show(pause())
    bench.wake()
    bench.press("r")
    assert isinstance(bench.focus, QLineEdit)
    assert bench.pane.leave()
    assert not isinstance(bench.focus, QLineEdit | QPlainTextEdit | QAbstractButton)
    assert not bench.pane.leave()


def test_another_question_does_not_inherit_focus_or_picks(bench: Bench) -> None:
    bench.show(pause(id="a", input_type="text"))
    bench.wake()
    field = next(item for item in bench.pane.findChildren(QPlainTextEdit) if item.isVisible())
    field.setFocus()
    bench.press("half an ans")
    bench.pane.show_pause(pause(id="b", input_type="text"))
    bench.press("wer", "1", "y")
    fresh = next(item for item in bench.pane.findChildren(QPlainTextEdit) if item.isVisible())
    assert fresh.toPlainText() == ""
    assert bench.drafts[-1].pause_id == "a"


def test_nothing_selected_says_so(bench: Bench) -> None:
    bench.show(pause())
    bench.pane.show_nothing("No question is selected", "J and K move.")
    assert "No question is selected" in shown(bench)
    assert bench.pane.pause is None
    assert bench.pane.run_id is None
    assert not bench.pane.can_send


@pytest.mark.parametrize("kind", KINDS)
def test_every_control_has_an_accessible_name(bench: Bench, kind: str) -> None:
    bench.show(KINDS[kind])
    bench.wake()
    bench.press("1", "y")
    for tab in ("card", "payload", "tree", "history"):
        bench.pane.show_tab(tab)
        for item in controls(bench.pane):
            if item.isVisible() and item.focusPolicy() != Qt.FocusPolicy.NoFocus:
                assert item.accessibleName(), f"{item} in {item.parentWidget()}"


@pytest.mark.parametrize("name", ["light", "dark", "contrast"])
def test_every_palette_draws_every_part(bench: Bench, name: str) -> None:
    bench.pane._theme.set_palette(name)  # pyright: ignore[reportArgumentType]
    for question in KINDS.values():
        bench.show(question)
        for tab in ("card", "payload", "tree", "history"):
            bench.pane.show_tab(tab)
            assert not bench.pane.grab().isNull()


def test_showing_the_tree_selects_the_call_that_asks(bench: Bench) -> None:
    asked = pause(id="dur_1.2-0", run_id="dur_1")
    bench.show(asked)
    calls = [*CALLS, call("2", name="child"), call("2/0", parent="2", name="asker", kind="input", state="waiting")]
    bench.pane.set_detail(detail(run(id="dur_1", status="awaiting-input"), pauses=[asked], calls=calls))
    bench.press("t")
    assert tabs(bench).currentIndex() == 2
    view = bench.pane.calls.view
    assert view.currentIndex().data() == "asker"
    assert view.hasFocus()


def test_the_title_stands_over_the_question_and_links_open_only_when_pressed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_url(url: QUrl) -> None:
        opened.append(url.toString())

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    links = [
        Link("The <b>ticket</b>", "https://tickets.example/4711?a=1"),
        Link("", "http://ex\u00e4mple.example/"),
        *(
            Link("x", url)
            for url in ("javascript:alert(1)", "file:///etc/passwd", "https:", "HTTPS//x", "ftp://a.example")
        ),
    ]
    bench.show(pause(1, title="Refunds of <i>June</i>", links=links))
    words = [label.text() for label in bench.pane.findChildren(PlainLabel) if label.isVisible()]
    for shown_words in (
        "Refunds of <i>June</i>",
        "The <b>ticket</b>",
        "https://tickets.example/4711?a=1",
        "file:///etc/passwd",
    ):
        assert shown_words in words
    assert "http://xn--exmple-cua.example/" in words
    buttons = [item for item in bench.pane.findChildren(ActionButton) if item.text() == "Open in the browser"]
    assert [item.accessibleDescription() for item in buttons] == [
        "https://tickets.example/4711?a=1",
        "http://xn--exmple-cua.example/",
    ]
    assert opened == []
    bench.qtbot.mouseClick(buttons[0], Qt.MouseButton.LeftButton)
    assert opened == ["https://tickets.example/4711?a=1"]
    bench.show(pause(2))
    assert not [item for item in bench.pane.findChildren(PlainLabel) if item.isVisible() and "June" in item.text()]
