"""Carrying out one eval on a stage (contract 11.3): what it asks or starts, its answers, its assertions."""

from __future__ import annotations

import asyncio
import base64
import mimetypes
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from runtime_core.agents.turns import Model, ModelUnusable, Usage
from runtime_core.chat.chats import ChatRequest
from runtime_core.evals.assertions import Observed, check
from runtime_core.evals.calls import made_by, of_run, of_turn
from runtime_core.evals.judge import judge
from runtime_core.evals.operator import WHO, Operator, Scripted
from runtime_core.evals.result import CallMade, EvalResult, Verdict
from runtime_core.evals.stage import Stage
from runtime_core.repo.bundle import BundleError, Eval
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import JsonText, dumps

NO_JUDGE: Final = (
    "it is not judged: there is no model to judge it. Name one with --judge, or set models.main in amodal.json"
)
_ENDS: Final = {
    "max_turns": "the agent did not come to an end",
    "user_abort": "the turn was stopped",
    "budget_exceeded": "the conversation used up its tokens",
    "loop_detected": "the agent went in circles",
}


@dataclass(slots=True)
class Carried:
    """What happened so far; ``error`` is the first thing that went wrong."""

    response: str = ""
    calls: Sequence[CallMade] = ()
    turns: int = 0
    latency_s: float = 0.0
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    session: str = ""
    errors: list[str] = field(default_factory=list[str])


async def run_eval(stage: Stage, root: Path, of: Eval, limit_s: float, judge_spec: str | None) -> EvalResult:
    """Whatever goes wrong is the ``error`` of the result; only the end of the data folder is raised."""
    began, clock = time.time(), time.monotonic()
    carried, operator = Carried(), Operator(stage, Scripted(of.answers), is_talk=not of.tool)
    try:
        async with asyncio.timeout(limit_s):
            await operator.accompany((_start if of.tool else _ask)(stage, root, of, carried), began)
    except TimeoutError:
        carried.errors.append(f"it took longer than {limit_s:g} s{await _what_goes_on(operator, began)}")
    except BundleError as error:
        carried.errors.append(str(error))
    except RuntimeFault as fault:
        if fault.is_storage:
            raise
        carried.errors.append(fault.message)
    await operator.cancel_all(began)
    await _collect(stage, of, carried, operator, began)
    carried.errors += operator.problems
    result = EvalResult(
        name=of.name,
        title=of.title,
        at=began,
        response=carried.response,
        calls=carried.calls,
        error=". ".join(dict.fromkeys(carried.errors)),
        turns=carried.turns,
        latency_s=carried.latency_s,
        model=carried.model,
        usage=carried.usage,
        asked=of.query or f"{of.tool} {dumps(of.input)}",
    )
    result = await judged(stage, root, of, result, judge_spec)
    return replace(result, duration_s=time.monotonic() - clock)


async def judged(stage: Stage, root: Path, of: Eval, result: EvalResult, judge_spec: str | None) -> EvalResult:
    """The result with a verdict on every assertion; one that was not carried out is judged no further."""
    observed = Observed(result.response, result.calls, result.turns, result.latency_s)
    verdicts: list[Verdict] = []
    usage = Usage()
    wants = any(assertion.kind == "judged" for assertion in of.assertions) and not result.error
    model, lacks = await _judge_of(stage, root, of, judge_spec) if wants else (None, result.error)
    for assertion in of.assertions:
        if assertion.kind != "judged":
            verdicts.append(await check(assertion, observed))
        elif result.error:
            verdicts.append(Verdict(assertion.text, None, "not judged: see the error", assertion.negated, judged=True))
        else:
            found = await judge(assertion, of, observed, model, lacks)
            verdicts.append(found.verdict)
            usage += found.usage
    name = f"{model.provider}:{model.name}" if model is not None else ""
    return replace(result, verdicts=(*result.verdicts, *verdicts), judge=name, judge_usage=usage)


async def _judge_of(stage: Stage, root: Path, of: Eval, spec: str | None) -> tuple[Model | None, str]:
    bundle = await stage.add_repository(root)
    try:
        model = await stage.models.choose(f"judge of {of.name}", bundle.manifest, bundle.root, override=spec)
    except ModelUnusable as error:
        return None, f"it is not judged: {error}"
    return model, NO_JUDGE


async def _ask(stage: Stage, root: Path, of: Eval, carried: Carried) -> None:
    """A turn of a new conversation in which nobody is present."""
    request = ChatRequest(
        of.query,
        WHO,
        root=root,
        agent=of.agent,
        attachments=await asyncio.to_thread(_attachments, root, of.attachments),
        human_present=False,
    )
    clock = time.monotonic()
    said: list[str] = []
    async with aclosing(stage.chats.send(request)) as events:
        async for event in events:
            match event["type"]:
                case "init":
                    carried.session = event["session_id"]
                case "text_delta":
                    said.append(event["content"])
                    carried.response = "".join(said)
                case "error":
                    carried.errors.append(event["message"])
                case "done":
                    carried.latency_s = time.monotonic() - clock
                    usage = event.get("usage", {})
                    carried.usage = Usage(**{k: v for k, v in usage.items() if k != "total_tokens"})
                    if event["reason"] in _ENDS:
                        carried.errors.append(f"{_ENDS[event['reason']]} ({event['reason']})")
                case _:
                    pass


async def _start(stage: Stage, root: Path, of: Eval, carried: Carried) -> None:
    clock = time.monotonic()
    reply = await stage.run_tool(root, of.tool, dumps(of.input), who=WHO, wait_s=None)
    carried.latency_s = time.monotonic() - clock
    if reply.get("sessionId") is None:
        _take_outcome(reply["outcome"], reply["result"], of, carried)


async def _collect(stage: Stage, of: Eval, carried: Carried, operator: Operator, began: float) -> None:
    """What was called, and of a tool what came of it."""
    details = [await stage.run(run["session_id"], who=WHO) for run in await operator.runs(began)]
    spans = {detail["run"]["session_id"]: detail["spans"] for detail in details}
    if of.tool and details:
        run = details[0]["run"]
        own = next((made_by(span) for span in details[0]["spans"] if not span["id"]), CallMade(of.tool))
        carried.calls = [own, *of_run(details[0]["spans"], 0)]
        error: Mapping[str, Any] = run["error"] or {}
        _take_outcome({"kind": run["status"], "reason": error.get("message", "")}, run["result"], of, carried)
    elif carried.session:
        kept = await stage.chats.session(carried.session)
        carried.turns = sum(message["role"] == "assistant" for message in kept["messages"])
        carried.model = f"{kept['provider']}:{kept['model']}" if kept["model"] else ""
        carried.calls = of_turn([event for turn in kept["turns"] for event in turn["events"]], spans)


def _take_outcome(outcome: Mapping[str, Any], result: Any, of: Eval, carried: Carried) -> None:
    if outcome["kind"] in ("complete", "completed"):
        carried.response = result if isinstance(result, str) else dumps(result)
    elif not carried.errors:
        reason = outcome.get("reason") or "it gave no reason"
        carried.errors.append(f"{of.tool} ended as {outcome['kind']}: {reason}")


async def _what_goes_on(operator: Operator, began: float) -> str:
    going = [
        f"{run['tool_name']} is {run['status']}" + (f" until {run['wake_at']}" if run["wake_at"] else "")
        for run in await operator.runs(began, finished=False)
    ]
    return f": {', '.join(going)}" if going else ""


def _attachments(root: Path, files: Sequence[str]) -> JsonText | None:
    found = [
        {
            "filename": Path(file).name,
            "mimeType": mimetypes.guess_type(file)[0] or "application/octet-stream",
            "data": base64.b64encode((root / file).read_bytes()).decode(),
        }
        for file in files
    ]
    return dumps(found) if found else None
