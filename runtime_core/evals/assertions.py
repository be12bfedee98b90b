"""Whether an answer is as an eval expects it: everything that needs no model (contract 11.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from runtime_core.evals.result import CallMade, Verdict
from runtime_core.repo.assertions import pattern_of
from runtime_core.repo.bundle import Assertion

MATCH_S: Final = 2.0
"""How long a regular expression may take."""
_SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class Observed:
    """What an eval saw: the bare ``response``, all ``calls`` at any depth, ``turns`` of the agent's model, and how many
    seconds passed until it had answered."""

    response: str
    calls: Sequence[CallMade] = ()
    turns: int = 0
    latency_s: float = 0.0


async def check(assertion: Assertion, observed: Observed) -> Verdict:
    """Judge one that is not ``judged`` by a model."""
    try:
        holds, reason = await _found(assertion, observed)
    except TimeoutError:
        text = f"it takes more than {MATCH_S:g} s to search for it; write a simpler pattern"
        return Verdict(assertion.text, False, text, assertion.negated)
    return Verdict(assertion.text, holds != assertion.negated, reason, assertion.negated)


async def _found(assertion: Assertion, observed: Observed) -> tuple[bool, str]:
    """Whether what stands behind the colon is so, and what was seen."""
    value: Any = assertion.value
    response = observed.response
    match assertion.kind:
        case "contains":
            return _told(value in response, "the response contains it", f"the response is: {_short(response)}")
        case "starts_with":
            holds = response.lstrip().startswith(value)
            return _told(holds, "the response starts with it", f"the response starts: {_short(response)}")
        case "regex":
            pattern = pattern_of(value)
            found = await asyncio.to_thread(pattern.search, response, timeout=MATCH_S, concurrent=True)
            if found is None:
                return False, f"nothing fits in the response: {_short(response)}"
            return True, f"it fits {_short(found[0])}"
        case "length_between":
            low, high = value
            return low <= len(response) <= high, f"the response has {len(response)} characters"
        case "max_latency":
            return observed.latency_s <= value, f"the answer took {observed.latency_s:.3f} s"
        case "max_turns":
            count = f"{observed.turns} turn{'' if observed.turns == 1 else 's'}"
            return observed.turns <= value, f"the agent took {count}"
        case "tool_called":
            return _called(value, observed.calls)
        case "judged":
            raise ValueError("a model judges this")


def _called(name: str, calls: Sequence[CallMade]) -> tuple[bool, str]:
    times = sum(call.name == name for call in calls)
    if times:
        return True, f"{name} was called {'once' if times == 1 else f'{times} times'}"
    names = list(dict.fromkeys(call.name for call in calls))
    return False, f"{name} was not called; called were: {', '.join(names) or 'none'}"


def _told(holds: bool, yes: str, no: str) -> tuple[bool, str]:
    return holds, yes if holds else no


def _short(text: str) -> str:
    if not text.strip():
        return "(empty)"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
