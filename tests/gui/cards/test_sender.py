"""From the wish to the gateway: once, after the undo window, with what was shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from inbox_app.commands.sending import Sender
from inbox_app.gateway.base import Answer, GatewayError, Outcome
from inbox_app.state.drafts import Draft, Drafts
from inbox_app.state.outbox import Outbox, Wish
from tests.support.builders import NOW, pause
from tests.support.drivers import Wheel

Reply = Callable[[Answer], Outcome]


class Door:
    """A gateway of which only `answer` is used."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.answers: list[Answer] = []

    identity = "local:maria"

    async def answer(self, answer: Answer) -> Outcome:
        self.answers.append(answer)
        return self.reply(answer)


class Post:
    def __init__(self, wheel: Wheel, reply: Reply, undo: float) -> None:
        self.time = NOW
        self.door = Door(reply)
        self.drafts = Drafts(None)
        self.outbox = Outbox(undo)
        self.sender = Sender(self.outbox, self.drafts, self._door_of, wheel.tasks.spawn, clock=lambda: self.time)
        self.changes: list[str] = []
        self.sender.changed.connect(self.changes.append)
        self.wish = Wish(pause(1, id="p"), "yes", "Yes")
        self.drafts.put(Draft("p", pick=0))

    def _door_of(self, connection: str) -> Any:
        assert connection == "Built-in"
        return self.door

    @property
    def state(self) -> str:
        item = self.outbox.get("p")
        return item.state if item else ""


def complete(answer: Answer) -> Outcome:
    return Outcome("complete", answer.run_id)


def refuse(code: str) -> Reply:
    def reply(answer: Answer) -> Outcome:
        raise GatewayError(code, "words")

    return reply


def test_an_answer_leaves_after_the_window_and_takes_its_draft_along(wheel: Wheel, qtbot: QtBot) -> None:
    post = Post(wheel, complete, 0.05)
    post.sender.hold(post.wish)
    assert post.state == "held"
    assert post.door.answers == []
    post.time += 1
    qtbot.waitUntil(lambda: post.state == "done")
    assert [answer.value for answer in post.door.answers] == ["yes"]
    assert post.drafts.get("p") is None
    assert post.changes == ["p", "p", "p"]
    item = post.outbox.get("p")
    assert item is not None
    assert (item.by, item.done_at) == ("local:maria", post.time)


def test_an_undone_answer_never_leaves(wheel: Wheel, qtbot: QtBot) -> None:
    post = Post(wheel, complete, 0.05)
    post.sender.hold(post.wish)
    post.sender.undo("")
    post.time += 60
    qtbot.wait(150)
    assert post.door.answers == []
    assert post.state == ""
    assert post.drafts.get("p") is not None


def test_closing_leaves_a_draft_and_sends_nothing(wheel: Wheel, qtbot: QtBot) -> None:
    post = Post(wheel, complete, 0.05)
    post.sender.hold(post.wish)
    post.sender.close()
    post.time += 60
    qtbot.wait(150)
    assert post.door.answers == []
    assert post.drafts.get("p") is not None


def test_holding_twice_sends_once(wheel: Wheel, qtbot: QtBot) -> None:
    post = Post(wheel, complete, 0)
    post.sender.hold(post.wish)
    post.sender.hold(post.wish)
    qtbot.waitUntil(lambda: post.state == "done")
    post.sender.hold(post.wish)
    assert len(post.door.answers) == 1


def test_an_answer_to_a_closed_question_is_dropped_at_once(wheel: Wheel, qtbot: QtBot) -> None:
    post = Post(wheel, complete, 0.05)
    post.sender.hold(post.wish)
    post.sender.withdraw(["other", "p"])
    post.time += 60
    qtbot.wait(150)
    assert post.door.answers == []
    assert post.state == ""
    assert post.drafts.get("p") is not None
    assert post.changes == ["p", "p"]


@pytest.mark.parametrize(("code", "state"), [("content_changed", "refused"), ("CONNECTION_FAILED", "failed")])
def test_a_refusal_keeps_the_draft(wheel: Wheel, qtbot: QtBot, code: str, state: str) -> None:
    post = Post(wheel, refuse(code), 0)
    post.sender.hold(post.wish)
    qtbot.waitUntil(lambda: post.state == state)
    assert post.drafts.get("p") is not None


def test_a_retry_sends_the_same_answer(wheel: Wheel, qtbot: QtBot) -> None:
    post = Post(wheel, refuse("CONNECTION_FAILED"), 0)
    post.sender.hold(post.wish)
    qtbot.waitUntil(lambda: post.state == "failed")
    post.door.reply = complete
    post.sender.retry("p")
    qtbot.waitUntil(lambda: post.state == "done")
    assert post.door.answers[0] == post.door.answers[1]


def test_an_unexpected_error_is_shown_and_reported(wheel: Wheel, qtbot: QtBot) -> None:
    def broken(answer: Answer) -> Outcome:
        raise ZeroDivisionError("by the way")

    post = Post(wheel, broken, 0)
    post.sender.hold(post.wish)
    qtbot.waitUntil(lambda: post.state == "failed")
    item = post.outbox.get("p")
    assert item is not None
    assert item.message == "by the way"
    qtbot.waitUntil(lambda: len(wheel.errors) == 1)
    assert isinstance(wheel.errors.pop(), ZeroDivisionError)
