"""From the arguments of ``requestInput`` and ``waitForApproval`` to a pause, and from its answer to what they return.

Contract 3.2 and decisions 5, 6, 7 and 23. A *spec* is the normalised question as JSON text: an object with camelCase
keys, ``question`` and ``inputType`` always present, keys we do not know kept, JSON values exactly as written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Literal, cast

from runtime_core.wire.json import JsonText, JsonValue, dumps, loads
from runtime_core.wire.runs import PauseOutcome, PauseRow, instant, iso

AskKind = Literal["input", "approval"]

_MEMBER: Final = {"input": "requestInput", "approval": "waitForApproval"}
_APPROVING: Final = frozenset({"yes", "approve", "approved"})
_SNAKE: Final = {
    "input_type": "inputType",
    "allow_edits": "allowEdits",
    "eligible_answerers": "eligibleAnswerers",
    "exclude_answerers": "excludeAnswerers",
    "expires_at": "expiresAt",
    "timeout_ms": "timeoutMs",
    "on_expire": "onExpire",
}


class QuestionError(ValueError):
    """Arguments a question cannot be made of; raised into the handler. ``key`` names the argument."""

    code = "invalid-params"

    def __init__(self, kind: AskKind, key: str, problem: str) -> None:
        super().__init__(f"{_MEMBER[kind]}: {key} {problem}")
        self.key = key


def question(kind: AskKind, args: JsonText) -> JsonText:
    """The spec for what a handler passed: a string, or an object. Raises `QuestionError`.

    An ``inputType`` we do not know is kept, as the card falls back to a typed answer (decision 1).
    """
    given = loads(args)
    if isinstance(given, str):
        given = cast("dict[str, JsonValue]", {"question": given})
    if not isinstance(given, dict):
        raise QuestionError(kind, "the argument", f"must be a question or an object, not {_name(given)}")
    asked: dict[str, JsonValue] = {}
    for key, value in given.items():
        name = _SNAKE.get(key, key)
        if name == key or name not in given:
            asked[name] = value
    if kind == "approval" and "prompt" in asked:
        asked["question"] = asked.pop("prompt")
    for name, check in _CHECKS.items():
        if asked.get(name) is None:
            asked.pop(name, None)
        else:
            asked[name] = check(kind, name, asked[name])
    _check_together(kind, asked)
    if not str(asked.get("question", "")).strip():
        raise QuestionError(kind, "prompt" if kind == "approval" else "question", "is missing; it must be a text")
    spec: dict[str, JsonValue] = {"question": asked.pop("question")}
    spec["inputType"] = asked.pop("inputType", "text" if kind == "input" else "yesno")
    return dumps({**spec, **asked})


def attention(kind: str, name: str, started_at: float) -> JsonText:
    """The spec that asks what to do about a call that may or may not have run (decision 13). Time in seconds."""
    return dumps(
        {
            "question": f"{name} may have run: the process ended before its result was stored. What now?",
            "inputType": "choice",
            "options": [
                {"value": "run-again", "label": "Run it again", "sub": "If it did run, it runs twice"},
                {"value": "fail", "label": "Let the call fail", "sub": "The handler gets an execution-failed error"},
            ],
            "allowEdits": False,
            "call": {"kind": kind, "name": name, "startedAt": iso(started_at)},
        }
    )


def read(spec: JsonText) -> dict[str, JsonValue]:
    """A stored spec as an object."""
    return cast("dict[str, JsonValue]", loads(spec))


def quorum(spec: JsonText) -> int:
    """How many people have to give the same answer."""
    needed = read(spec).get("quorum", 1)
    return needed if isinstance(needed, int) else 1


def approved(value: JsonValue) -> bool:
    """Whether a posted value approves (decision 5): everything that does not say so does not."""
    if isinstance(value, dict):
        return value.get("approved") is True
    return value is True or (isinstance(value, str) and value.strip().lower() in _APPROVING)


def outcome(kind: str, spec: JsonText, value: JsonText) -> PauseOutcome:
    """``refused`` for an answer that says no: not approved, or ``no`` / ``false`` to a yes/no question."""
    posted = loads(value)
    if kind == "approval":
        return "answered" if approved(posted) else "refused"
    if kind == "input" and read(spec).get("inputType") == "yesno":
        says_no = posted is False or (isinstance(posted, str) and posted.strip().lower() == "no")
        return "refused" if says_no else "answered"
    return "answered"


def handler_value(pause: PauseRow) -> JsonText:
    """What the handler's call returns for an answered pause (decisions 5 and 6). ``respondedAt`` is ISO 8601.

    Where the question took several people, ``votes`` holds what each of them said, in the order they did.
    """
    assert pause.answer is not None
    returned = _returned(pause.kind, loads(pause.answer), pause.note)
    if pause.edits is not None:
        returned["edits"] = loads(pause.edits)
    returned["respondedBy"] = pause.answered_by
    returned["respondedAt"] = iso(pause.answered_at)
    if pause.votes:
        returned["votes"] = [
            {
                **_returned(pause.kind, loads(vote.value), vote.note),
                "respondedBy": vote.who,
                "respondedAt": iso(vote.at),
            }
            for vote in pause.votes
        ]
    return dumps(returned)


def expired_value(kind: str, value: JsonValue) -> JsonText:
    """What the handler's call returns when nobody answered in time and the author wrote ``onExpire: {"value": …}``."""
    return dumps({**_returned(kind, value, None), "expired": True})


def _returned(kind: str, value: JsonValue, note: str | None) -> dict[str, JsonValue]:
    returned: dict[str, JsonValue] = {}
    if kind == "approval":
        returned["approved"] = approved(value)
        if isinstance(value, dict) and isinstance(value.get("note"), str):
            note = cast("str", value["note"])
    else:
        returned["value"] = value
    if note is not None:
        returned["note"] = note
    return returned


def _text(kind: AskKind, key: str, value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        raise QuestionError(kind, key, f"must be a text, not {_name(value)}")
    return value


def _flag(kind: AskKind, key: str, value: JsonValue) -> JsonValue:
    if not isinstance(value, bool):
        raise QuestionError(kind, key, f"must be true or false, not {_name(value)}")
    return value


def _user_ids(kind: AskKind, key: str, value: JsonValue) -> JsonValue:
    if not isinstance(value, list):
        raise QuestionError(kind, key, f"must be a list of user ids, not {_name(value)}")
    for index, user in enumerate(value):
        _text(kind, f"{key}[{index}]", user)
    return value


def _time(kind: AskKind, key: str, value: JsonValue) -> JsonValue:
    negative = isinstance(value, int | float) and value < 0
    if instant(value) is None or negative:
        raise QuestionError(kind, key, f"must be an ISO time or milliseconds since 1970, not {_shown(value)}")
    return value


def _duration(kind: AskKind, key: str, value: JsonValue) -> JsonValue:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise QuestionError(kind, key, f"must be a number of milliseconds, 0 or more, not {_shown(value)}")
    return value


def _on_expire(kind: AskKind, key: str, value: JsonValue) -> JsonValue:
    if value != "fail" and not (isinstance(value, dict) and value.keys() == {"value"}):
        raise QuestionError(kind, key, f'must be "fail" or {{"value": …}}, not {_shown(value)}')
    return value


def _quorum(kind: AskKind, key: str, value: JsonValue) -> JsonValue:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise QuestionError(kind, key, f"must be a whole number of people, 1 or more, not {_shown(value)}")
    return value


def _schema(kind: AskKind, key: str, value: JsonValue) -> JsonValue:
    from runtime_core.repo.params import check_schema  # with jsonschema: only for questions that have one

    if not isinstance(value, dict):
        raise QuestionError(kind, key, f"must be a JSON Schema, an object, not {_name(value)}")
    for problem in check_schema(value):
        if not problem.tolerable:
            where = ".".join([key, *map(str, problem.key)])
            raise QuestionError(kind, where, f"is not a usable JSON Schema: {problem.message}")
    return value


def _check_together(kind: AskKind, asked: dict[str, JsonValue]) -> None:
    if "expiresAt" in asked and "timeoutMs" in asked:
        raise QuestionError(kind, "expiresAt", "and timeoutMs were both given; one of them is enough")
    quorum = asked.get("quorum", 1)
    answerers = asked.get("eligibleAnswerers")
    if isinstance(answerers, list) and isinstance(quorum, int) and quorum > 1:
        excluded = cast("list[JsonValue]", asked.get("excludeAnswerers") or [])
        people = len({str(user) for user in answerers} - {str(user) for user in excluded})
        if people < quorum:
            raise QuestionError(kind, "quorum", f"needs {quorum} people, but only {people} may answer")


def _options(kind: AskKind, key: str, value: JsonValue) -> JsonValue:
    if not isinstance(value, list):
        raise QuestionError(kind, key, f"must be a list of options, not {_name(value)}")
    return [_option(kind, f"{key}[{index}]", option) for index, option in enumerate(value)]


def _option(kind: AskKind, key: str, option: JsonValue) -> JsonValue:
    if not isinstance(option, dict):
        raise QuestionError(kind, key, f"must be an object with value and label, not {_name(option)}")
    if "value" not in option:
        raise QuestionError(kind, f"{key}.value", "is missing")
    checked = dict(option)
    for name, check in _OPTION_CHECKS.items():
        if checked.get(name) is None:
            checked.pop(name, None)
        else:
            check(kind, f"{key}.{name}", checked[name])
    if "label" not in checked:
        value = checked["value"]
        checked["label"] = value if isinstance(value, str) else dumps(value)
    return checked


def _name(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else "a number"


def _shown(value: JsonValue) -> str:
    text = dumps(value)
    return text if len(text) <= 60 else _name(value)


_Check = Callable[[AskKind, str, JsonValue], JsonValue]

_OPTION_CHECKS: Final[dict[str, _Check]] = {"label": _text, "sub": _text, "recommended": _flag}
_CHECKS: Final[dict[str, _Check]] = {
    "question": _text,
    "inputType": _text,
    "options": _options,
    "allowEdits": _flag,
    "eligibleAnswerers": _user_ids,
    "excludeAnswerers": _user_ids,
    "expiresAt": _time,
    "timeoutMs": _duration,
    "onExpire": _on_expire,
    "quorum": _quorum,
    "schema": _schema,
}
