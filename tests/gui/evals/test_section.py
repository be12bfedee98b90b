"""Evals in the whole window: what is listed, what is shown of a result, and what is told while evals run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractButton, QWidget
from pytestqt.qtbot import QtBot

from inbox_app.evals.section import EvalsSection
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.evals import EvalCall, EvalRun
from inbox_app.widgets.list_pane import ListPane
from inbox_app.widgets.row_delegate import HeadLook
from tests.gui.test_window import Scene, Start, start, texts
from tests.support.drivers import controls
from tests.support.fake_evals import BROKEN, DESK, HOLDS, NOT_JUDGED, FakeEvals, info, result, started
from tests.support.fake_gateway import FakeGateway

__all__ = ["start"]

CALLS = (
    EvalCall("review_ticket", {"ticket_id": "t-1042"}, {"rule": "damage-2"}),
    EvalCall("save_review", {}, error="the store is closed\u202e", depth=1),
)


class Evals:
    def __init__(self, scene: Scene, fake: FakeEvals, qtbot: QtBot) -> None:
        self.scene = scene
        self.fake = fake
        self.qtbot = qtbot
        section = scene.window.findChild(EvalsSection)
        assert section is not None
        self.section = section

    @property
    def rows(self) -> list[str]:
        model = self.section.list_pane.table.model()
        return [model.index(row, 0).data() for row in range(model.rowCount())]

    def until(self, text: str) -> None:
        self.qtbot.waitUntil(lambda: any(text in shown for shown in texts(self.section.page)))

    def until_row(self, *parts: str) -> None:
        self.qtbot.waitUntil(lambda: any(all(part in row for part in parts) for row in self.rows))

    def button(self, text: str) -> QAbstractButton:
        found = self.section.page.findChildren(QAbstractButton)
        return next(one for one in found if one.text() == text and one.isVisible())

    def click(self, text: str) -> None:
        self.qtbot.mouseClick(self.button(text), Qt.MouseButton.LeftButton)


class Drawn(QObject):
    """What a list shows at its top, whenever that is drawn."""

    def __init__(self, pane: ListPane) -> None:
        super().__init__(pane)
        self._table = pane.table
        self.heads: list[HeadLook | None] = []
        pane.top.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.heads.append(self._table.top_head())
        return False


Open = Callable[[FakeEvals], Evals]


@pytest.fixture
def shown(start: Start, qtbot: QtBot) -> Open:
    def make(fake: FakeEvals) -> Evals:
        gateway = FakeGateway()
        gateway.evals = fake
        scene = start(gateway=gateway, wait=False)
        qtbot.waitUntil(lambda: scene.desk.has_view("evals"))
        scene.press("g", "e")
        qtbot.waitUntil(lambda: scene.window.findChild(EvalsSection) is not None)
        return Evals(scene, fake, qtbot)

    return make


def test_evals_are_listed_below_their_repositories_with_their_last_result(shown: Open) -> None:
    fake = FakeEvals(
        info(last=result()),
        info("reply", title="Nothing is promised", last=result(2, passed=False, verdicts=(HOLDS, BROKEN))),
        info("new", title="Not tried"),
        info("odd", title="odd", problem="evals/odd.md:3: The eval has no query.", repository="/agents/other"),
    )
    it = shown(fake)
    it.until_row("A review names its rule", "Passed")
    it.until_row("Nothing is promised", "Failed: 1 of 2")
    it.until_row("Not tried", "Not run yet")
    it.until_row("odd", "Cannot be used", "The eval has no query")
    assert it.rows[0] == "support-desk, 1 of 3 passed"
    assert it.rows[4] == "other, 0 of 1 passed"


def test_a_result_tells_what_held_and_why_not(shown: Open) -> None:
    last = result(passed=False, verdicts=(HOLDS, BROKEN, NOT_JUDGED), calls=CALLS, error="It took too long")
    it = shown(FakeEvals(info(last=last)))
    it.until("Failed")
    for text in (
        "It took too long",
        "contains: damage-2",
        "save_review was not called; called were: review_ticket",
        "it is not judged: there is no model",
        "The reviewers agree",
        'review_ticket({"ticket_id": "t-1042"})',
        "tokens · anthropic:claude",
    ):
        it.until(text)
    assert not any("\u202e" in text for text in texts(it.section.page))
    names = [one.accessibleName() for one in it.section.page.findChildren(QWidget)]
    assert "Does not hold: tool_called: save_review" in names
    assert "Not judged: Should NOT promise a refund" in names


def test_a_script_is_named_by_its_file(shown: Open) -> None:
    it = shown(FakeEvals(info(last=result(model="scripted:/agents/support-desk/models/talk.json"))))
    it.until("tokens · scripted:talk.json")


def test_one_that_was_not_run_shows_what_it_expects(shown: Open) -> None:
    it = shown(FakeEvals(info()))
    it.until("Review t-1042")
    it.until("contains: damage-2\nShould name who decides")


def test_a_run_is_followed_and_its_result_shown(shown: Open, qtbot: QtBot) -> None:
    it = shown(FakeEvals(info(last=result(1, passed=False, verdicts=(BROKEN,)))))
    it.until("was not called")
    assert it.section.list_pane.table.top_head() == HeadLook("support-desk", "0 of 1 passed")
    it.click("Run")
    it.until("Starting")
    qtbot.waitUntil(lambda: it.fake.asked == [EvalRun(DESK, ["review"])])
    assert not it.button("Run").isEnabled()
    it.fake.tell(started("review"))
    it.until("Running A review names its rule")
    it.until_row("A review names its rule", "Running")
    drawn = Drawn(it.section.list_pane)
    it.fake.end("review", result(2))
    it.fake.tell(None)
    it.until_row("A review names its rule", "Passed")
    qtbot.waitUntil(lambda: HeadLook("support-desk", "1 of 1 passed") in drawn.heads)
    it.until("the response contains it")
    qtbot.waitUntil(lambda: it.button("Run").isEnabled())
    assert not it.button("Stop").isEnabled()


def test_run_all_takes_every_repository_and_can_be_stopped(shown: Open, qtbot: QtBot) -> None:
    it = shown(FakeEvals(info(), info("reply"), info("a", repository="/agents/other")))
    it.until("Review t-1042")
    it.scene.desk.act("evals.run_all")
    qtbot.waitUntil(lambda: it.fake.asked == [EvalRun(DESK, ["review", "reply"])])
    it.until("3 to go")
    it.until_row("A review names its rule", "Its turn comes")
    assert not it.scene.desk.can("evals.run")
    it.fake.tell(None)
    qtbot.waitUntil(lambda: it.fake.asked[1:] == [EvalRun("/agents/other", ["a"])])
    it.click("Stop")
    qtbot.waitUntil(lambda: it.fake.stopped == 2)
    qtbot.waitUntil(lambda: it.scene.desk.can("evals.run"))
    it.until_row("A review names its rule", "Not run yet")


def test_what_cannot_be_run_says_why(shown: Open, qtbot: QtBot) -> None:
    it = shown(FakeEvals(info()))
    it.until("Review t-1042")
    it.click("Run")
    qtbot.waitUntil(lambda: bool(it.fake.asked))
    it.fake.tell(GatewayError("eval_failed", "The folder for evals is full."))
    it.until("The folder for evals is full.")
    qtbot.waitUntil(lambda: it.button("Run").isEnabled())


def test_past_results_can_be_looked_at(shown: Open, qtbot: QtBot) -> None:
    before, last = result(1, passed=False, verdicts=(BROKEN,), at=1_799_000_000.0), result(2)
    it = shown(FakeEvals(info(last=last), past={"review": [last, before]}))
    it.until("the response contains it")
    rows = it.section.page.result_rows
    qtbot.waitUntil(lambda: rows.model().rowCount() == 2)
    rows.select_row(1)
    it.until("save_review was not called")


def test_nothing_to_run_is_said(shown: Open) -> None:
    it = shown(FakeEvals())
    it.qtbot.waitUntil(lambda: any("No eval is there" in text for text in texts(it.section.list_pane)))
    assert not it.scene.desk.can("evals.run_all")


def test_every_control_has_a_name_and_is_reached_by_keys(shown: Open) -> None:
    last = result()
    it = shown(FakeEvals(info(last=last), past={"review": [last, result(1)]}))
    it.until("the response contains it")
    it.scene.press("return")
    for control in filter(QWidget.isVisible, controls(it.section.page)):
        assert control.accessibleName() or (isinstance(control, QAbstractButton) and control.text()), control
