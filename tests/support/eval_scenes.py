"""Evals as a person would meet them, for pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from inbox_app.gateway.evals import EvalCall, EvalVerdict
from inbox_app.theme.theme import Theme
from tests.support.builders import NOW
from tests.support.fake_evals import BROKEN, HOLDS, JUDGED, NOT_JUDGED, FakeEvals, info, result, started
from tests.support.fake_gateway import FakeGateway
from tests.support.stage import Stage, stage

CALLS = (
    EvalCall("review_ticket", {"ticket_id": "t-1042"}, {"rule": "damage-2", "allowed": True}),
    EvalCall("load_ticket", {"ticket_id": "t-1042"}, {"customer": "C-511", "article": "Kettle, 1.7 l"}, depth=1),
    EvalCall("call_subagent", {"agent": "policy-reviewer", "task": "Say whether it is allowed"}, "allowed", depth=1),
    EvalCall("save_review", {"ticket_id": "t-1042"}, error="The store of reviews is closed.", depth=1),
)
SITUATIONS = (
    EvalVerdict("denied approval", True, "denied 2 approvals, and it did none of what follows a yes"),
    EvalVerdict(
        "missing data",
        False,
        "when load_customer finds nothing, it breaks: TypeError: 'NoneType' object is not subscriptable. "
        "Check what came back and say what is missing",
    ),
    EvalVerdict("child failure", True, "let load_order, issue_refund fail, one at a time, and it did nothing"),
    EvalVerdict("replay after a pause", True, "went on in new processes after 2 pauses, and repeated every call"),
)


def _evals() -> FakeEvals:
    failed = result(7, passed=False, verdicts=(HOLDS, BROKEN, JUDGED, NOT_JUDGED), calls=CALLS, at=NOW - 140)
    past = [failed, result(5, at=NOW - 7_400), result(3, passed=False, verdicts=(BROKEN,), at=NOW - 90_000)]
    tool = result(9, passed=False, verdicts=SITUATIONS, response='{"refunded": true}', at=NOW - 400, model="")
    return FakeEvals(
        info(last=failed),
        info("replacement", title="A replacement goes out from the warehouse that was chosen", last=result(8)),
        info("no-promise", title="Nothing is promised that the hook forbids", asks="Reply to the customer"),
        info(
            "odd",
            title="odd",
            problem="evals/odd.md:12: regex: /(late/ is no regular expression: missing ). Correct it.",
        ),
        info(
            "refund",
            title="A refund in every situation",
            repository="/agents/refund-desk",
            tool="refund_payment",
            asks='refund_payment {"case_id": "rf-2094", "amount": 120}',
            last=tool,
        ),
        past={"review": past, "refund": [tool]},
    )


async def _shown(theme: Theme, evals: FakeEvals, down: int = 0) -> Stage:
    gateway = FakeGateway()
    gateway.evals = evals
    scene = await stage(theme, gateway)
    scene.desk.show_view("evals")
    await scene.settle()
    for _ in range(down):
        scene.desk.move(1)
    await scene.settle()
    return scene


async def failed(theme: Theme) -> Stage:
    return await _shown(theme, _evals())


async def new(theme: Theme) -> Stage:
    return await _shown(theme, _evals(), 2)


async def unusable(theme: Theme) -> Stage:
    return await _shown(theme, _evals(), 3)


async def situations(theme: Theme) -> Stage:
    return await _shown(theme, _evals(), 4)


async def running(theme: Theme) -> Stage:
    evals = _evals()
    scene = await _shown(theme, evals)
    scene.desk.act("evals.run_all")
    evals.tell(started("review"))
    evals.end("review", result(10, at=NOW - 2, calls=CALLS[:2]))
    evals.tell(started("replacement", "A replacement goes out from the warehouse that was chosen"))
    await scene.settle()
    return scene


async def nothing(theme: Theme) -> Stage:
    return await _shown(theme, FakeEvals())


SCENES: dict[str, Callable[[Theme], Awaitable[Stage]]] = {
    "eval-failed": failed,
    "eval-new": new,
    "eval-unusable": unusable,
    "eval-situations": situations,
    "eval-running": running,
    "eval-none": nothing,
}
