"""What an automation starts and when, as a person or a file of the repository states it (contract 1.5 and 8.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from runtime_core.automations.schedule import BY_HAND, Schedule, ScheduleError, schedule_of
from runtime_core.repo.bundle import Automation, Bundle, Problem, no_agent
from runtime_core.repo.report import INVALID
from runtime_core.wire.json import JsonError, JsonText, dumps, loads

_DEFAULT_AGENT = "default"


@dataclass(frozen=True, slots=True)
class Definition:
    """Either ``prompt`` for ``agent``, or the durable tool ``tool`` with ``input`` (JSON text).

    ``problem``: what is wrong with a definition that a file states, "" if nothing; then nothing can be started.
    ``gone``: its file is there no more. ``webhook``: its file says that a call from outside starts it, which nothing
    here receives.
    """

    label: str = ""
    schedule: Schedule = BY_HAND
    agent: str = ""
    prompt: str = ""
    tool: str = ""
    input: JsonText = "{}"
    scope: str = ""
    problem: str = ""
    gone: bool = False
    webhook: bool = False

    def to_body(self) -> JsonText:
        body: dict[str, Any] = {
            "label": self.label,
            "schedule": self.schedule.to_wire(),
            "timezone": self.schedule.timezone,
            **({"tool": self.tool, "input": loads(self.input)} if self.tool else {}),
            **({"agent": self.agent, "prompt": self.prompt} if not self.tool else {}),
            "scope": self.scope,
            "problem": self.problem,
            "gone": self.gone,
            "webhook": self.webhook,
        }
        return dumps({name: value for name, value in body.items() if value or name in ("schedule", "input")})


def definition_of(body: JsonText) -> Definition:
    """What `Definition.to_body` wrote, as far as it can be read."""
    given = cast("dict[str, Any]", loads(body))
    problem = _text(given, "problem")
    try:
        raw = given.get("schedule")
        stated = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
        schedule = schedule_of(stated, _text(given, "timezone"))
    except ScheduleError as error:
        schedule, problem = BY_HAND, problem or str(error)
    if not (problem or given.get("tool") or given.get("prompt")):
        problem = "What it starts cannot be read."
    return Definition(
        label=_text(given, "label"),
        schedule=schedule,
        agent=_text(given, "agent"),
        prompt=_text(given, "prompt"),
        tool=_text(given, "tool"),
        input=dumps(given["input"]) if "input" in given else "{}",
        scope=_text(given, "scope"),
        problem=problem,
        gone=given.get("gone") is True,
        webhook=given.get("webhook") is True,
    )


def definition_of_file(file: Automation) -> Definition:
    """The definition that a file of the repository states, with what is wrong with it."""
    settings = file.settings
    label, prompt = (_text(settings, key).strip() for key in ("title", "prompt"))
    trigger, cron = settings.get("trigger"), _text(settings, "schedule").strip()
    is_timed = trigger == "cron" or (trigger is None and bool(cron))
    schedule, problem = BY_HAND, ""
    try:
        if is_timed:
            schedule = _schedule_of_text(cron)
            problem = "" if cron else "It has the trigger cron, but no schedule."
    except ScheduleError as error:
        problem = str(error)
    if not prompt:
        problem = 'It has no prompt: write one below "## Check", or as "prompt".'
    agent = _text(settings, "agent") or _DEFAULT_AGENT
    return Definition(label or file.name, schedule, agent, prompt, problem=problem, webhook=trigger == "webhook")


def _schedule_of_text(text: str) -> Schedule:
    """A cron expression, or ``every`` and an interval."""
    first, _, rest = text.partition(" ")
    return Schedule(every=rest) if first.lower() == "every" else Schedule(cron=text)


def problem_in(definition: Definition, bundle: Bundle) -> str:
    """Why the repository cannot start it, as a sentence; "" if it can."""
    if definition.problem:
        return definition.problem
    if definition.gone:
        return "Its file is there no more."
    if definition.tool:
        return _tool_problem(definition, bundle)
    if not definition.prompt.strip():
        return "It has no prompt. Write what the agent is to do."
    if definition.agent not in bundle.agents:
        return no_agent(bundle, definition.agent)
    return ""


def problems_of_files(bundle: Bundle) -> Sequence[Problem]:
    """What keeps the automations that the repository states from being started."""
    found = ((file, problem_in(definition_of_file(file), bundle)) for file in bundle.automations.values())
    return [Problem("warning", INVALID, file.file, problem, "") for file, problem in found if problem]


def _tool_problem(definition: Definition, bundle: Bundle) -> str:
    tool = bundle.tools.get(definition.tool)
    durable = ", ".join(sorted(name for name, one in bundle.tools.items() if one.durable)) or "none"
    if tool is None:
        return f'There is no tool "{definition.tool}" in {bundle.root}. Its durable tools are: {durable}.'
    if not tool.durable:
        return (
            f'The tool "{definition.tool}" is not durable, and an automation starts durable tools: add '
            f'"execution": "durable" to its tool.json. The durable tools are: {durable}.'
        )
    try:
        loads(definition.input)
    except JsonError as error:
        return f"The input is not JSON: {error}"
    return ""


def _text(settings: Mapping[str, Any], key: str) -> str:
    value = settings.get(key)
    return value if isinstance(value, str) else ""
