"""What one run may grow to: the call that breaks a limit fails, half of one is told once, a replay sees the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime_core.journal.base import Answer
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps
from runtime_core.wire.settings import KIB, MIB, Limits, Settings
from tests.unit.engine.workshop import Bench, Repo, bench, play

LANGUAGES = ("ts", "py")
SMALL = Limits(value=4096)


def limited(**limits: int) -> Settings:
    return Settings(limits=Limits(**limits))


def repo_with(folder: Path, language: str, ts: str, py: str, **more: Any) -> Repo:
    """A repository with the durable tool ``work`` in one language, and the inline tools ``echo`` and ``big``."""
    repo = Repo(folder / "repo")
    given: dict[str, Any] = {language: {"ts": ts, "py": py}[language]}
    repo.durable("work", tools=("echo", "big"), **given, **more)
    for name, ts_body, py_body in (
        ("echo", "return params.text ?? null;", "return params.get('text')"),
        ("big", "return 'x'.repeat(params.size);", "return 'x' * params['size']"),
    ):
        body: dict[str, Any] = {language: {"ts": ts_body, "py": py_body}[language]}
        repo.tool(name, **body)
    return repo


async def handler_log(desk: Bench, data: Path) -> list[str]:
    lines = (data / "logs" / "handlers.log").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if " warning " in line]


CAUGHT_TS = """
const caught = [];
for (const size of params.sizes) {
    try { caught.push((await ctx.callTool('big', { size })).length); }
    catch (error) { caught.push([error.code, error.message]); }
}
await ctx.requestInput('Go on?');
return caught;
"""
CAUGHT_PY = """
caught = []
for size in params["sizes"]:
    try:
        caught.append(len(await ctx.call_tool("big", {"size": size})))
    except Exception as error:
        caught.append([error.code, str(error)])
await ctx.request_input("Go on?")
return caught
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_result_that_is_too_large_fails_the_call_now_and_in_every_replay(language: str, tmp_path: Path) -> None:
    repo = repo_with(tmp_path, language, CAUGHT_TS, CAUGHT_PY)

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", settings=Settings(limits=SMALL)) as desk:
            run_id = (await desk.run("work", {"sizes": [4096, 6000, 1]}))["sessionId"]
        async with bench(repo, tmp_path / "data") as desk:  # the limits of today do not judge what was recorded
            return (await desk.answer(run_id, "yes"))["result"]

    first, refused, last = play(story())
    assert (first, last) == (4096, 1)
    assert refused == [
        "journal-limit",
        'tool "big" was made, but its result has 6,002 bytes, and a value may have 4,096 '
        "(limits.value in config.toml). Return less, or where it is to be found.",
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_nine_steps_of_exactly_one_mebibyte_each_and_an_answer(language: str, tmp_path: Path) -> None:
    repo = repo_with(
        tmp_path,
        language,
        f"let all = 0; for (let i = 0; i < 9; i++) all += (await ctx.step('s' + i, () => 'x'.repeat({MIB}))).length;"
        "await ctx.requestInput('Go on?'); return all;",
        f"all = 0\nfor i in range(9):\n    all += len(await ctx.step('s' + str(i), lambda: 'x' * {MIB}))\n"
        "await ctx.request_input('Go on?')\nreturn all",
    )

    async def story() -> Any:
        async with bench(repo, tmp_path / "data") as desk:
            return await desk.answer((await desk.run("work"))["sessionId"], "yes")

    assert play(story())["result"] == 9 * MIB


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_call_is_made_with_counts_as_a_value(language: str, tmp_path: Path) -> None:
    repo = repo_with(
        tmp_path,
        language,
        "try { await ctx.callTool('echo', { text: 'x'.repeat(6000) }); } catch (error) { return error.code; }",
        "try:\n    await ctx.call_tool('echo', {'text': 'x' * 6000})\nexcept Exception as e:\n    return e.code",
    )

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", settings=Settings(limits=SMALL)) as desk:
            reply = await desk.run("work")
            spans = await desk.spans(reply["sessionId"])
            return reply["result"], spans["0"]["state"], spans["0"]["code"]

    assert play(story()) == ("journal-limit", "failed", "journal-limit")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_step_whose_result_is_too_large_fails(language: str, tmp_path: Path) -> None:
    repo = repo_with(
        tmp_path,
        language,
        "return await ctx.step('large', () => 'x'.repeat(6000));",
        "return await ctx.step('large', lambda: 'x' * 6000)",
    )

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", settings=Settings(limits=SMALL)) as desk:
            return (await desk.run("work"))["outcome"]

    outcome = play(story())
    assert (outcome["kind"], outcome["code"]) == ("failed", "journal-limit")
    assert 'step "large"' in outcome["reason"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_final_result_that_is_too_large_fails_the_run(language: str, tmp_path: Path) -> None:
    repo = repo_with(tmp_path, language, "return 'x'.repeat(6000);", "return 'x' * 6000")

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", settings=Settings(limits=SMALL)) as desk:
            reply = await desk.run("work")
            return reply["outcome"], (await desk.detail(reply["sessionId"]))["run"]["result"]

    outcome, result = play(story())
    assert (outcome["kind"], outcome["code"], result) == ("failed", "journal-limit", None)
    assert "What work ended with has 6,002 bytes" in outcome["reason"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_final_result_that_is_too_large_is_foreseen_and_repeats_itself(language: str, tmp_path: Path) -> None:
    repo = repo_with(
        tmp_path,
        language,
        "await ctx.requestInput('Go on?'); return 'x'.repeat(6000);",
        "await ctx.request_input('Go on?')\nreturn 'x' * 6000",
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=Settings(limits=SMALL)) as desk:
            run_id = (await desk.run("work"))["sessionId"]
            foreseen = (await desk.runtime.preview(Answer(run_id, "1", "ann")))["outcome"]
            done = (await desk.answer(run_id, 1))["outcome"]
            assert (foreseen["kind"], foreseen["code"]) == ("failed", "journal-limit")
            assert foreseen["reason"] == done["reason"]
            assert [verdict.kind async for verdict in desk.runtime.replay_check(repo.root)] == ["ok"]
        async with bench(repo, tmp_path / "data") as desk:
            assert [verdict.kind async for verdict in desk.runtime.replay_check(repo.root)] == ["cannot-tell"]

    play(story())


LOOP_TS = """
const seen = [];
for (let i = 0; i < params.calls; i++) {
    try { seen.push(await ctx.callTool('echo', { text: i })); } catch (error) { seen.push(error.code); }
}
return seen;
"""
LOOP_PY = """
seen = []
for i in range(params["calls"]):
    try:
        seen.append(await ctx.call_tool("echo", {"text": i}))
    except Exception as error:
        seen.append(error.code)
return seen
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_calls_beyond_the_limit_are_refused_and_recorded_as_such(language: str, tmp_path: Path) -> None:
    repo = repo_with(tmp_path, language, LOOP_TS, LOOP_PY)

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", settings=limited(entries=4)) as desk:
            reply = await desk.run("work", {"calls": 6})
            return reply["result"], (await desk.detail(reply["sessionId"]))["run"]["warnings"]

    result, warnings = play(story())
    assert result == [0, 1, 2, 3, "journal-limit", "journal-limit"]
    assert [(warning["kind"], warning["message"]) for warning in warnings] == [
        ("entries", "half of a limit or more: 2 recorded calls of 4 (limits.entries in config.toml)")
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_handler_that_never_stops_calling_is_ended(language: str, tmp_path: Path) -> None:
    repo = repo_with(tmp_path, language, LOOP_TS, LOOP_PY)

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", settings=limited(entries=4)) as desk:
            return (await desk.run("work", {"calls": 1_000_000}))["outcome"]

    outcome = play(story())
    assert (outcome["kind"], outcome["code"]) == ("failed", "journal-limit")
    assert "may make 4 recorded calls (limits.entries in config.toml)" in outcome["reason"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_that_are_open_at_once_are_limited_across_a_restart(language: str, tmp_path: Path) -> None:
    repo = repo_with(
        tmp_path,
        language,
        "const all = await Promise.allSettled(['a', 'b', 'c'].map((q) => ctx.requestInput(q)));"
        "return all.map((one) => one.value?.value ?? [one.reason.code, one.reason.message]);",
        "import asyncio\nall = await asyncio.gather(*(ctx.request_input(q) for q in 'abc'), return_exceptions=True)\n"
        "return [one['value'] if isinstance(one, dict) else [one.code, str(one)] for one in all]",
    )
    settings = limited(branches=2)

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", settings=settings) as desk:
            run_id = (await desk.run("work"))["sessionId"]
            assert (await desk.runtime.pending(who="ann"))["total"] == 2
        async with bench(repo, tmp_path / "data", settings=settings) as desk:
            await desk.answer(run_id, 1)
        async with bench(repo, tmp_path / "data", settings=settings) as desk:
            return (await desk.answer(run_id, 2))["result"]

    first, second, (code, message) = play(story())
    assert (first, second, code) == (1, 2, "journal-limit")
    assert "limits.branches" in message
    assert message.endswith("Make some, wait for them, then make the next ones, or raise that limit.")


AT_ONCE = {
    "ts": "const set = (i) => ctx.callTool('store__parcels__set', {key: `p${i}`, value: {parcel_id: `p${i}`, n: i}});"
    "await Promise.all(Array.from({ length: params.n }, (_, i) => set(i)));"
    "return (await ctx.callTool('store__parcels__list', { limit: 1 })).total;",
    "py": "import asyncio\n"
    "def set(i):\n"
    "    value = {'parcel_id': f'p{i}', 'n': i}\n"
    "    return ctx.call_tool('store__parcels__set', {'key': f'p{i}', 'value': value})\n"
    "await asyncio.gather(*map(set, range(params['n'])))\n"
    "return (await ctx.call_tool('store__parcels__list', {'limit': 1}))['total']",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_repository_is_seeded_with_everything_at_once(language: str, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    schema = {"parcel_id": {"type": "string"}, "n": {"type": "number"}}
    repo.file("amodal/stores/parcels.json", {"name": "parcels", "key": "{parcel_id}", "schema": schema})
    body: Any = {language: AT_ONCE[language]}
    repo.durable("seed", tools=("store__parcels__set", "store__parcels__list"), **body)

    async def story() -> Any:
        async with bench(repo, tmp_path / "data") as desk:
            return (await desk.run("seed", {"n": 1_500}))["result"]

    assert play(story()) == 1_500


RESET = {
    "ts": "const page = await ctx.callTool('store__parcels__list', { limit: 1000 });"
    "await ctx.requestInput('Remove them?');"
    "await Promise.all(page.documents.map(({ key }) => ctx.callTool('store__parcels__remove', { key })));"
    "return [page.documents.length, (await ctx.callTool('store__parcels__list', {})).total];",
    "py": "import asyncio\n"
    "page = await ctx.call_tool('store__parcels__list', {'limit': 1000})\n"
    "await ctx.request_input('Remove them?')\n"
    "gone = (ctx.call_tool('store__parcels__remove', {'key': one['key']}) for one in page['documents'])\n"
    "await asyncio.gather(*gone)\n"
    "return [len(page['documents']), (await ctx.call_tool('store__parcels__list', {}))['total']]",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_read_from_a_store_has_a_limit_of_its_own(language: str, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    schema = {"parcel_id": {"type": "string"}, "text": {"type": "string"}}
    store = {"name": "parcels", "key": "{parcel_id}", "schema": schema, "deletable": True}
    repo.file("amodal/stores/parcels.json", store)
    body: Any = {language: RESET[language]}
    repo.durable("reset", tools=("store__parcels__list", "store__parcels__remove"), **body)

    async def story() -> Any:
        async with bench(repo, tmp_path / "data") as desk:
            for n in range(300):
                payload = dumps({"parcel_id": f"p{n}", "text": "x" * 9_000})
                await desk.runtime.put_document(repo.root, "parcels", payload)
        async with bench(repo, tmp_path / "data", settings=limited(reading=2 * MIB)) as desk:
            refused = (await desk.run("reset"))["outcome"]
        async with bench(repo, tmp_path / "data") as desk:
            asked = (await desk.run("reset"))["sessionId"]
        async with bench(repo, tmp_path / "data") as desk:
            return refused, (await desk.answer(asked, "yes"))["result"]

    refused, done = play(story())
    assert refused["code"] == "journal-limit"
    assert "what a store returns may have 2,097,152 (limits.reading in config.toml). Read fewer" in refused["reason"]
    assert done == [300, 0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_run_records_is_limited_in_all(language: str, tmp_path: Path) -> None:
    repo = repo_with(tmp_path, language, CAUGHT_TS, CAUGHT_PY)

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", settings=limited(run=10_000)) as desk:
            run_id = (await desk.run("work", {"sizes": [4000, 4000, 4000, 10]}))["sessionId"]
            warnings = (await desk.detail(run_id))["run"]["warnings"]
            assert [warning["kind"] for warning in warnings] == ["run"]
            assert len(await handler_log(desk, tmp_path / "data")) == 1
            return (await desk.answer(run_id, 0))["result"]

    first, second, third, last = play(story())
    assert (first, second, last) == (4000, 4000, 10)
    assert third[0] == "journal-limit"
    assert "does not fit: the run has recorded 8," in third[1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_of_a_question_are_limited_and_what_it_is_about_is_not(language: str, tmp_path: Path) -> None:
    repo = repo_with(
        tmp_path,
        language,
        "try { await ctx.requestInput({ question: 'x'.repeat(101) }); } catch (error) { var code = error.code; }"
        "const it = await ctx.requestInput({ question: 'x'.repeat(100), context: 'y'.repeat(3000) });"
        "return [code, it.value];",
        "try:\n    await ctx.request_input({'question': 'x' * 101})\nexcept Exception as e:\n    code = e.code\n"
        "it = await ctx.request_input({'question': 'x' * 100, 'context': 'y' * 3000})\nreturn [code, it['value']]",
    )

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", settings=limited(question=100)) as desk:
            run_id = (await desk.run("work"))["sessionId"]
            assert (await desk.runtime.pending(who="ann"))["total"] == 1
            return (await desk.answer(run_id, "yes"))["result"]

    assert play(story()) == ["journal-limit", "yes"]


def test_an_answer_that_is_too_large_is_refused_and_the_question_stays_open(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("ask", ts="return (await ctx.requestInput({question: 'a?', allowEdits: true, context: 1})).value;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=Settings(limits=SMALL)) as desk:
            run_id = (await desk.run("ask"))["sessionId"]
            too_much = "x" * 6000
            for key, more in (("value", {}), ("edits", {"edits": f'"{too_much}"'}), ("note", {"note": too_much})):
                with pytest.raises(RuntimeFault) as refused:
                    await desk.answer(run_id, too_much if key == "value" else "small", **more)
                assert refused.value.code == "VALIDATION_ERROR"
                assert refused.value.message.startswith(f"{key} has 6,00")
                assert "limits.value in config.toml" in refused.value.message
            assert (await desk.runtime.pending(who="ann"))["total"] == 1
            assert (await desk.answer(run_id, "x" * 4096))["result"] == "x" * 4096

    play(story())


def test_an_input_that_is_too_large_starts_nothing(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.durable("work", ts="return 1;")

    async def story() -> None:
        async with bench(repo, tmp_path / "data", settings=Settings(limits=SMALL)) as desk:
            with pytest.raises(RuntimeFault, match="input has 6,"):
                await desk.run("work", {"text": "x" * 6000})
            assert (await desk.runtime.runs(finished=None))["total"] == 0

    play(story())


def test_a_child_that_is_durable_for_itself_is_not_started_with_too_much(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.tool("outer", tools=("inner",), ts="return await ctx.callTool('inner', { text: 'x'.repeat(6000) });")
    repo.durable("inner", ts="return 1;")

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", settings=Settings(limits=SMALL)) as desk:
            outcome = (await desk.run("outer"))["outcome"]
            assert (await desk.runtime.runs(finished=None))["total"] == 0
            return outcome

    outcome = play(story())
    assert 'What tool "inner" was called with has 6,0' in outcome["reason"]


def test_escapes_do_not_make_a_value_larger(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    text = "é\n" * 1364  # 4,092 bytes; 10,912 in ASCII with escapes
    repo.durable("work", py=f"return await ctx.step('s', lambda: {text!r})")

    async def story() -> Any:
        async with bench(repo, tmp_path / "data", settings=limited(value=4096 - KIB)) as desk:
            return (await desk.run("work"))["result"]

    assert play(story()) == text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_warning_is_told_once_however_often_the_run_goes_on(language: str, tmp_path: Path) -> None:
    repo = repo_with(
        tmp_path,
        language,
        "await ctx.callTool('big', { size: 3000 }); await ctx.requestInput('1?');"
        "await ctx.callTool('big', { size: 3500 }); await ctx.requestInput('2?'); return 1;",
        "await ctx.call_tool('big', {'size': 3000})\nawait ctx.request_input('1?')\n"
        "await ctx.call_tool('big', {'size': 3500})\nawait ctx.request_input('2?')\nreturn 1",
    )

    async def story() -> None:
        data = tmp_path / "data"
        async with bench(repo, data, settings=Settings(limits=SMALL)) as desk:
            run_id = (await desk.run("work"))["sessionId"]
        async with bench(repo, data, settings=Settings(limits=SMALL)) as desk:
            await desk.answer(run_id, 1)
            await desk.answer(run_id, 2)
            (line,) = await handler_log(desk, data)
            assert 'half of a limit or more: 3,002 bytes of what tool "big" returned of 4,096' in line
            (warning,) = (await desk.detail(run_id))["run"]["warnings"]
            assert line.endswith(warning["message"])
        journal = await SqliteJournal.open(data / "runtime.db")
        assert [found.kind for found in await journal.warnings(run_id)] == ["value"]
        await journal.close()

    play(story())
