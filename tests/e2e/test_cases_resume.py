"""What went wrong elsewhere when runs went on: effects made twice, answers lost, runs stranded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.crash.test_kill_runtime import keeper, lines
from tests.e2e.office import Office, office
from tests.unit.engine.workshop import Repo

TS = {
    "age": """
for (let tries = 1; ; tries++) {
  const said = Number((await ctx.requestInput({question: 'Age?', title: 'Try ' + tries})).value);
  if (Number.isInteger(said) && said > 0) return {age: said, tries};
}""",
    "soon": """
const said = await ctx.requestInput({question: 'Now?', timeoutMs: 1500});
await ctx.sleepUntil(ctx.now() + 2000);
return {said: said.value, late: said.expired ?? false};""",
    "clock": """
const before = await ctx.step('before', () => ctx.now());
await ctx.sleepUntil(ctx.now() + 1200);
return [before, await ctx.step('after', () => ctx.now())];""",
    "reason": """
const said = await ctx.waitForApproval('Deploy?');
const again = await ctx.requestInput('Why?');
return [said.approved, said.note, again.value];""",
    "twice": "return [(await ctx.requestInput('One?')).value, (await ctx.requestInput('Two?')).value];",
    "patient": """
const made = await ctx.callTool('before', {});
const values = [];
while (values.length < 2) {
  try { values.push((await ctx.requestInput({question: 'Value?', timeoutMs: values.length ? 60000 : 40})).value); }
  catch (e) { values.push(e.code); }
}
return [made, ...values];""",
}
PY = {
    "age": """
tries = 1
while True:
    said = str((await ctx.request_input({'question': 'Age?', 'title': 'Try ' + str(tries)}))['value'])
    if said.isdecimal(): return {'age': int(said), 'tries': tries}
    tries += 1""",
    "soon": """
said = await ctx.request_input({'question': 'Now?', 'timeoutMs': 1500})
await ctx.sleep_until(ctx.now() + 2000)
return {'said': said['value'], 'late': said.get('expired', False)}""",
    "clock": """
before = await ctx.step('before', lambda: ctx.now())
await ctx.sleep_until(ctx.now() + 1200)
return [before, await ctx.step('after', lambda: ctx.now())]""",
    "reason": """
said = await ctx.wait_for_approval('Deploy?')
again = await ctx.request_input('Why?')
return [said['approved'], said['note'], again['value']]""",
    "twice": "return [(await ctx.request_input('One?'))['value'], (await ctx.request_input('Two?'))['value']]",
    "patient": """
made = await ctx.call_tool('before', {})
values = []
while len(values) < 2:
    try: values.append((await ctx.request_input({'question': 'Value?', 'timeoutMs': 60000 if values else 40}))['value'])
    except Exception as e: values.append(e.code)
return [made, *values]""",
}
USES: Mapping[str, tuple[str, ...]] = {"patient": ("before",)}


@pytest.fixture(scope="module", params=["ts", "py"])
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = Repo(tmp_path_factory.mktemp(f"resume_{request.param}") / "repo")
    for name, code in (TS if request.param == "ts" else PY).items():
        repo.durable(name, **{request.param: code}, tools=USES.get(name, ()))
    repo.tool("before", ts="return 'before';")
    return repo


@pytest.fixture(scope="module")
def desk(repo: Repo) -> Iterator[Office]:
    with office(repo, repo.root.parent / "data") as opened:
        yield opened


def test_b02_every_answer_of_a_loop_is_used_once(desk: Office) -> None:
    run_id = desk.parked("age")
    asked: list[str] = []
    for value in ("abc", "-1", "42"):
        (pause,) = desk.detail(run_id)["pauses"]
        asked.append(pause["pause_id"])
        reply = desk.answer(run_id, value, pause_id=pause["pause_id"])
    assert reply["result"] == {"age": 42, "tries": 3}
    assert len(set(asked)) == 3
    assert [decision["value"] for decision in desk.detail(run_id)["decisions"]] == ["abc", "-1", "42"]


def test_b05_and_b14_time_that_passes_later_changes_nothing_of_before(desk: Office) -> None:
    """A deadline that comes after the answer expires nothing, and a recorded time stays what it was."""
    clock = desk.run("clock", wait_s=0)["sessionId"]
    soon = desk.parked("soon")
    desk.answer(soon, "in time")
    done = desk.wait(desk.bench.until("run", session_id=soon, status="completed")).wire
    assert done["result"] == {"said": "in time", "late": False}
    assert [decision["outcome"] for decision in desk.detail(soon)["decisions"]] == ["answered"]
    before, after = desk.wait(desk.bench.until("run", session_id=clock, status="completed")).wire["result"]
    steps = {span["name"]: span for span in desk.detail(clock)["spans"] if span["kind"] == "step"}
    assert (steps["before"]["output"], steps["before"]["replayed"]) == (before, True)
    assert 1200 <= after - before < 30_000


def test_b20_a_second_question_of_one_handler_appears(desk: Office) -> None:
    run_id = desk.parked("twice")
    again = desk.answer(run_id, "first")
    assert (again["outcome"]["kind"], again["outcome"]["question"]) == ("awaiting-input", "Two?")
    assert desk.answer(run_id, "second")["result"] == ["first", "second"]


def test_b23_what_expired_is_asked_anew_and_the_new_value_is_used(desk: Office) -> None:
    run_id = desk.run("patient", wait_s=0)["sessionId"]
    desk.wait(desk.bench.until("pause-closed", session_id=run_id, outcome="expired"))
    pause = desk.wait(desk.bench.until("pause-opened", session_id=run_id, pause_id=f"{run_id}.2")).wire
    desk.wait(desk.bench.until("run", session_id=run_id, status="awaiting-input"))
    done = desk.answer(run_id, "second", pause_id=pause["pause_id"])
    assert done["result"] == ["before", "pause-expired", "second"]
    history = [(decision["outcome"], decision["value"]) for decision in desk.detail(run_id)["decisions"]]
    assert history == [("expired", None), ("answered", "second")]


def test_b19_a_reason_reaches_the_handler_also_after_a_restart(repo: Repo, tmp_path: Path) -> None:
    data, reason = tmp_path / "data", "wrong region 🌍 e\u0301"
    with office(repo, data) as desk:
        run_id = desk.parked("reason")
    with office(repo, data) as desk:
        assert desk.answer(run_id, "no", note=reason)["outcome"]["question"] == "Why?"
    with office(repo, data) as desk:
        assert desk.answer(run_id, "because")["result"] == [False, reason, "because"]


def test_b11_runs_that_were_parked_when_their_process_was_killed_are_all_there(repo: Repo, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with keeper(data, repo, "start", "twice", "{}", "20") as process:
        started = {line["reply"]["sessionId"] for line in lines(process, until="waits") if "reply" in line}
    assert len(started) == 20
    with office(repo, data) as desk:
        pending = desk.wait(desk.runtime.pending(who="ann"))["approvals"]
        assert {pause["session_id"] for pause in pending} == started
        for run_id in started:
            assert desk.answer(run_id, "a")["outcome"]["question"] == "Two?"
            assert desk.answer(run_id, "b")["result"] == ["a", "b"]
        assert desk.wait(desk.runtime.pending(who="ann"))["total"] == 0
