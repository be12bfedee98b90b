"""Questions and runs as a person would meet them, for pictures and for tests that need more than one row."""

from __future__ import annotations

from inbox_app.gateway.base import CodeVersion, CutOff, Pause, Run, RunDetail, Votes
from tests.support.builders import NEW_CODE, NOW, OLD_CODE, call, decision, detail, option, pause, run

MINUTE, HOUR = 60.0, 3600.0


def waiting() -> list[Pause]:
    return [
        pause(
            1,
            tool="release_to_environment",
            question="Where should release rel-481 run?",
            input_type="choice",
            options=[
                option("staging", "Staging", "run_release to staging, smoke tests, then a second question."),
                option("production", "Production", "run_release goes live in eu-west for 41 stores."),
                option("none", "Do not release", "The run ends. The build stays available for 14 days."),
            ],
            context={"release": "rel-481", "commit": "9f3c2ae", "migrates": ["payments.schema.0112"], "stores": 41},
            path=("review_request", "release_to_environment"),
            asked_at=NOW - 22 * MINUTE,
            expires_at=NOW + 18 * MINUTE,
        ),
        pause(
            2,
            question="Refund €120.00 to customer C-88?",
            context={"amount": 120.0, "currency": "EUR", "order_id": 3544790567247868102, "customer": "C-88"},
            allow_edits=True,
            path=("handle_return", "refund_payment"),
            asked_at=NOW - 40 * MINUTE,
            expires_at=NOW + 42 * MINUTE,
        ),
        pause(
            3,
            tool="rotate_key",
            question="Rotate signing key for eu-west?",
            path=("rotate_key",),
            asked_at=NOW - 14 * MINUTE,
        ),
        pause(
            4,
            tool="merge_customers",
            question="Merge 14 duplicate customer records?",
            path=("cleanup", "merge_customers"),
            asked_at=NOW - 31 * MINUTE,
        ),
        pause(
            5,
            tool="carrier",
            question="Which carrier takes order 7731 back?",
            input_type="text",
            path=("returns", "label"),
            asked_at=NOW - 48 * MINUTE,
        ),
        pause(
            6,
            tool="window",
            question="Confirm the maintenance window",
            path=("deploy", "window"),
            asked_at=NOW - 52 * MINUTE,
        ),
        pause(
            7,
            question="Refund €64.00 to customer C-511?",
            path=("handle_return", "refund_payment"),
            asked_at=NOW - 58 * MINUTE,
        ),
        pause(
            8,
            tool="changelog",
            question="Publish changelog for 4.12?",
            path=("publish_docs", "changelog"),
            asked_at=NOW - 2 * HOUR,
        ),
        pause(
            9,
            tool="drain",
            question="Drain node pool b before the upgrade?",
            input_type="date",
            path=("upgrade", "drain"),
            asked_at=NOW - 2.2 * HOUR,
        ),
        pause(
            10,
            tool="delete_backup",
            question="Delete backup set 2026-08",
            path=("storage", "delete_backup"),
            asked_at=NOW - 2.4 * HOUR,
            eligible=False,
            reason="Only ops-leads can answer.",
        ),
        pause(
            11,
            tool="sign",
            question="Sign contract 77 with Halden Ltd",
            path=("legal", "sign"),
            asked_at=NOW - 3 * HOUR,
            eligible=False,
            reason="You started this run.",
        ),
    ]


def going() -> list[Run]:
    return [
        run(90, tool="release_to_environment", status="running", input={"release": "rel-480", "target": "staging"}),
        run(91, tool="remind_customer", status="sleeping", input={"customer": "C-511", "days": 3}),
    ]


def ended() -> list[Run]:
    return [
        run(101, tool="refund_payment", ended_at=NOW - 4 * MINUTE, result={"refunded": "64.00"}, input={"order": 7731}),
        run(
            102,
            tool="release_to_environment",
            status="failed",
            ended_at=NOW - 26 * MINUTE,
            error={"code": "child-failed", "message": "run_release: the smoke tests failed"},
        ),
        run(103, tool="review_request", status="cancelled", ended_at=NOW - HOUR),
        run(104, tool="rotate_key", status="expired", ended_at=NOW - 5 * HOUR),
        run(105, tool="refund_payment", ended_at=NOW - 30 * HOUR, result={"refunded": "18.40"}, input={"order": 7402}),
    ]


def attention() -> Pause:
    """A call that was cut off."""
    return pause(
        21,
        kind="attention",
        tool="handle_return",
        question="charge_card may have run: the process ended before its result was stored. What now?",
        input_type="choice",
        options=[
            option("run-again", "Run it again", "If it did run, it runs twice"),
            option("fail", "Let the call fail", "The handler gets an execution-failed error"),
        ],
        context={"tool": "charge_card", "params": {"customer": "C-88", "amount": 120.0, "order": 3544790567247868102}},
        cut_off=CutOff("tool", "charge_card", NOW - 9 * MINUTE, {"customer": "C-88", "amount": 120.0, "order": 7731}),
        path=("handle_return", "charge_card"),
        asked_at=NOW - 8 * MINUTE,
    )


def several() -> Pause:
    """A question that takes two people, asked by code that has changed since."""
    return pause(
        22,
        tool="release_to_environment",
        question="Release rel-481 to production?",
        context={"release": "rel-481", "stores": 41},
        path=("review_request", "release_to_environment"),
        asked_at=NOW - 5 * MINUTE,
        expires_at=NOW + 55,
        on_expire={"value": "no"},
        votes=Votes(2, ("local:tom",), "local:test"),
        code_changed=True,
    )


def gate() -> Pause:
    """A model wants to call a guarded tool."""
    return pause(
        23,
        kind="approval",
        tool="send_refund",
        title='The agent "Refund desk" wants to call send_refund',
        question="Pay the customer back?",
        context={
            "tool": "send_refund",
            "arguments": {"order": 3544790567247868102, "amount": 120.5, "note": "Damaged on arrival"},
            "agent": "refund-desk",
            "called_by": ["handle_return", "refund-desk"],
        },
        path=("handle_return", "refund-desk"),
        asked_at=NOW - 20,
        expires_at=NOW + 280,
        on_expire="fail",
    )


def decided() -> RunDetail:
    """A run with every way a question can end, and with warnings."""
    of = run(
        31,
        tool="handle_return",
        ended_at=NOW - MINUTE,
        result={"refunded": "64.00"},
        input={"order": 7731},
        revision=OLD_CODE,
        versions=[CodeVersion(OLD_CODE, 1, NOW - HOUR, True, False), CodeVersion(NEW_CODE, 2, NOW - 600, True, False)],
        warnings=[
            "Half of the calls a run may make are made: 500 of 1,000 (limits.calls).",
            "Call 3, callTool “charge_card”: its parameters changed at $.note; the recorded result was used.",
        ],
    )
    decisions = [
        decision(f"{of.id}.1", value="yes", by="local:tom"),
        decision(f"{of.id}.2", outcome="refused", value="no", by="local:ann"),
        decision(f"{of.id}.3", outcome="expired", on_expire={"value": "no"}),
        decision(f"{of.id}.4", outcome="cancelled", by="local:tom"),
        decision(f"{of.id}.5", outcome="superseded"),
    ]
    calls = [
        call("", parent=None, name=of.tool, started_at=of.created_at, seconds=30.0),
        *(
            call(str(at), name="requestInput", kind="input", started_at=of.created_at + 4 * at, seconds=3.0)
            for at in range(1, 6)
        ),
    ]
    return detail(of, decisions=decisions, calls=calls)


def details() -> list[RunDetail]:
    found = [_waiting_detail(item) for item in waiting()]
    return [*found, *(_ended_detail(item) for item in ended())]


def _waiting_detail(asked: Pause) -> RunDetail:
    start = asked.asked_at - 12.0
    calls = [
        call("", parent=None, name=asked.path[0], state="waiting", started_at=start, seconds=None),
        call("1", name="load_request", kind="step", started_at=start, seconds=0.3, replayed=True, output_size=2048),
        call("2", name="prescreen-reviewer", kind="subagent", started_at=start + 1, seconds=1.9, output_size=4096),
        call("2/1", parent="2", name="lookup_policy", started_at=start + 1.2, seconds=0.4, output_size=1024),
        call(
            "3",
            name="policy-reviewer",
            kind="subagent",
            started_at=start + 3,
            seconds=2.1,
            state="failed",
            code="subagent-failed",
        ),
        call("4", name="requestInput", kind="input", started_at=asked.asked_at, seconds=None, state="waiting"),
    ]
    of = run(id=asked.run_id, tool=asked.path[0], status="awaiting_input")
    return detail(of, pauses=[asked], calls=calls)


def _ended_detail(of: Run) -> RunDetail:
    calls = [call("", parent=None, name=of.tool, started_at=of.created_at, seconds=30.0)]
    return detail(of, calls=calls)
