"""Repositories that mean harm, or are out of order beyond measure: refused or survived, within seconds."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime_core.repo.bundle import BundleError
from tests.unit.engine.workshop import Bench, Repo, bench, play

WITHIN_S = 12
"""An order of magnitude above what each takes on a slow machine, and far below a hang."""

pytestmark = pytest.mark.timeout(40)

CATASTROPHE = "^(([a-z])+.)+[A-Z]([a-z])+$"
VICTIM = "a" * 60


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    found = Repo(tmp_path / "repo")
    found.tool("good", ts="return 'works';")
    return found


def words_of(repo: Repo, tmp_path: Path) -> str:
    """What is said about the repository, whether it loads or not."""

    async def story() -> str:
        async with bench(repo, tmp_path / "data") as desk, asyncio.timeout(WITHIN_S):
            try:
                problems = (await desk.runtime.add_repository(repo.root)).problems
            except BundleError as error:
                problems = error.problems
            return "\n".join(map(str, problems))

    return play(story())


def result_of(repo: Repo, tmp_path: Path, tool: str = "good", **params: object) -> object:
    async def story() -> object:
        async with bench(repo, tmp_path / "data") as desk, asyncio.timeout(WITHIN_S):
            return await desk.run(tool, params)

    return play(story())["result"]  # pyright: ignore[reportIndexIssue]


def a_link_to_a_handler(repo: Repo) -> None:
    repo.tool("linked")
    (repo.root / "amodal/tools/linked/handler.ts").symlink_to("/etc/passwd")


def a_link_to_a_folder(repo: Repo) -> None:
    (repo.root / "amodal/stores").symlink_to("/etc")


def a_link_to_a_document(repo: Repo) -> None:
    (repo.root / "amodal/knowledge").mkdir(parents=True)
    (repo.root / "amodal/knowledge/secrets.md").symlink_to("/etc/passwd")


def a_link_to_a_hook(repo: Repo) -> None:
    repo.file("hooks/guard/hook.json", {"points": ["preToolUse"]})
    (repo.root / "hooks/guard/index.mjs").symlink_to("/etc/passwd")


def a_link_to_a_connection(repo: Repo) -> None:
    (repo.root / "amodal/connections/far").mkdir(parents=True)
    (repo.root / "amodal/connections/far/spec.json").symlink_to("/etc/passwd")


def a_huge_definition(repo: Repo) -> None:
    path = repo.root / "amodal/stores/huge.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(3 * 1024**3)


def a_deep_definition(repo: Repo) -> None:
    repo.file(
        "amodal/stores/deep.json", '{"name": "deep", "key": "{a}", "schema": ' + '{"a":' * 5000 + "1" + "}" * 5001
    )


def a_million_entries(repo: Repo) -> None:
    repo.file("amodal/tools/many/tool.json", '{"description": "x", "uses": {"tools": [' + "1," * 1_000_000 + "1]}}")
    repo.file("amodal/tools/many/handler.ts", "export default () => 1;")


def a_pipe(repo: Repo) -> None:
    (repo.root / "amodal/stores").mkdir(parents=True)
    os.mkfifo(repo.root / "amodal/stores/pipe.json")


def a_schema_that_explodes(repo: Repo) -> None:
    fields = {"type": "object", "fields": {"x": {"type": "string"}}}
    for _ in range(200):
        fields = {"type": "object", "fields": {"x": fields}}
    repo.file("amodal/stores/nested.json", {"name": "nested", "key": "{a}", "schema": {"a": fields}})


def an_openapi_document_in_a_circle(repo: Repo) -> None:
    schema = {"type": "object", "properties": {"me": {"$ref": "#/components/schemas/A"}}}
    document = {
        "openapi": "3.0.0",
        "info": {"title": "x", "version": "1"},
        "paths": {"/a": {"$ref": "#/paths/~1a"}},
        "components": {"schemas": {"A": schema, "B": {"$ref": "#/components/schemas/B"}}},
    }
    repo.file("amodal/connections/odd/spec.json", {"baseUrl": "http://127.0.0.1:9", "openapi": {"source": "o.json"}})
    repo.file("amodal/connections/odd/o.json", document)


REFUSED: list[tuple[Callable[[Repo], None], str]] = [
    (a_link_to_a_handler, "amodal/tools/linked/handler.ts"),
    (a_link_to_a_folder, "amodal/stores"),
    (a_link_to_a_document, "amodal/knowledge/secrets.md"),
    (a_link_to_a_hook, "hooks/guard/index.mjs"),
    (a_link_to_a_connection, "amodal/connections/far/spec.json"),
    (a_huge_definition, "amodal/stores/huge.json"),
    (a_deep_definition, "amodal/stores/deep.json"),
    (a_million_entries, "amodal/tools/many/tool.json"),
    (a_pipe, "amodal/stores/pipe.json"),
    (a_schema_that_explodes, "amodal/stores/nested.json"),
]


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
@pytest.mark.parametrize(("harm", "file"), REFUSED, ids=[harm.__name__ for harm, _ in REFUSED])
def test_what_means_harm_is_refused_by_name(
    repo: Repo, tmp_path: Path, harm: Callable[[Repo], None], file: str
) -> None:
    harm(repo)
    said = words_of(repo, tmp_path)
    assert file in said, said
    assert len(said) < 100_000


def test_a_document_that_refers_to_itself_stops_nothing_else(repo: Repo, tmp_path: Path) -> None:
    an_openapi_document_in_a_circle(repo)
    assert result_of(repo, tmp_path) == "works"


@pytest.mark.parametrize(
    "source", ["../../../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "secrets.json"]
)
def test_an_openapi_document_comes_from_its_own_folder_only(repo: Repo, tmp_path: Path, source: str) -> None:
    (tmp_path / "elsewhere.json").write_text('{"openapi": "3.0.0"}')
    repo.file("amodal/connections/far/spec.json", {"baseUrl": "http://127.0.0.1:9", "openapi": {"source": source}})
    (repo.root / "amodal/connections/far/secrets.json").symlink_to(tmp_path / "elsewhere.json")
    repo.durable("look", ts="return await ctx.callTool('far__discover', {query: 'x'});", tools=("far__discover",))

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk, asyncio.timeout(WITHIN_S):
            try:
                done = await desk.run("look")
            except BundleError as error:
                assert "amodal/connections/far" in str(error)  # noqa: PT017 - one of two ways to refuse it
            else:
                assert done["outcome"]["kind"] == "failed"
                assert "root:" not in str(done)

    play(story())


def test_thousands_of_files_beside_the_agent_are_passed_by(repo: Repo, tmp_path: Path) -> None:
    for number in range(3000):
        folder = repo.root / "node_modules" / f"p{number % 50}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}.js").write_text("export default 1;\n")
    assert result_of(repo, tmp_path) == "works"


@pytest.mark.parametrize("language", ["ts", "py"])
def test_imports_in_a_circle_are_harmless(repo: Repo, tmp_path: Path, language: str) -> None:
    if language == "ts":
        repo.file("amodal/_lib/a.ts", "import { b } from './b.js';\nexport const a = () => b();\n")
        repo.file("amodal/_lib/b.ts", "import { a } from './a.js';\nexport const b = () => typeof a;\n")
        repo.file("amodal/tools/round/tool.json", {"description": "x"})
        repo.file("amodal/tools/round/handler.ts", "import { a } from '../../_lib/a.js';\nexport default () => a();\n")
        assert result_of(repo, tmp_path, "round") == "function"
        return
    repo.file("amodal/_lib/a.py", "from amodal._lib import b\n\n\ndef a():\n    return b.b()\n")
    repo.file("amodal/_lib/b.py", "from amodal._lib import a\n\n\ndef b():\n    return callable(a.a)\n")
    repo.file("amodal/tools/round/tool.json", {"description": "x"})
    repo.file(
        "amodal/tools/round/handler.py",
        "from amodal._lib.a import a\n\n\nasync def handler(params, ctx):\n    return a()\n",
    )
    assert result_of(repo, tmp_path, "round") is True


@pytest.mark.parametrize("language", ["ts", "py"])
@pytest.mark.parametrize("durable", [False, True], ids=["inline", "durable"])
def test_a_catastrophic_pattern_of_a_schema_holds_nobody_up(
    repo: Repo, tmp_path: Path, language: str, durable: bool
) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string", "pattern": CATASTROPHE}}}
    repo.tool("picky", ts="return 1;", parameters=schema)
    bodies = {
        "ts": f"try {{ return await ctx.callTool('picky', {{text: '{VICTIM}'}}); }} catch (e) {{ return e.code; }}",
        "py": f"try:\n    return await ctx.call_tool('picky', {{'text': '{VICTIM}'}})\n"
        "except CompositeCallError as e:\n    return e.code",
    }
    repo.tool(
        "top",
        **{language: bodies[language]},  # pyright: ignore[reportArgumentType]
        tools=("picky",),
        **({"execution": "durable"} if durable else {}),
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk, asyncio.timeout(WITHIN_S):
            busy = asyncio.create_task(desk.run("top"))
            assert (await desk.run("good"))["result"] == "works"
            assert (await busy)["result"] == "invalid-params"

    play(story())


def test_a_catastrophic_pattern_of_a_question_holds_nobody_up(repo: Repo, tmp_path: Path) -> None:
    schema = {"type": "string", "pattern": CATASTROPHE}
    asked = f"return (await ctx.requestInput({{question: 'Name?', schema: {{...{schema}}}}})).value;"
    repo.durable("ask", ts=asked)

    async def story(desk: Bench) -> None:
        run = (await desk.run("ask"))["session_id"]
        with pytest.raises(Exception, match=r"pattern|fit|time"):
            await desk.answer(run, VICTIM)
        assert (await desk.run("good"))["result"] == "works"

    async def bounded() -> None:
        async with bench(repo, tmp_path / "data") as desk, asyncio.timeout(WITHIN_S):
            await story(desk)

    play(bounded())


HANGING = {
    "ts": ("hooks/slow/index.mjs", "export const createHook = () => ({ run: () => { for (;;); } });\n"),
    "py": ("hooks/slow/hook.py", "def create_hook(config):\n    while True:\n        pass\n"),
}


@pytest.mark.parametrize("language", HANGING)
def test_a_hook_that_hangs_blocks_the_call_it_guards_and_no_more(repo: Repo, tmp_path: Path, language: str) -> None:
    repo.file(*HANGING[language])
    repo.file("hooks/slow/hook.json", {"points": ["preToolUse"], "failPolicy": "closed"})
    repo.agent("helper", tools=["good"])
    repo.tool("ask", ts="return await ctx.callSubagent('helper', 'Go.');", agents=("helper",))
    model = repo.script(
        {"agent": "helper", "match": "^Go", "tool_calls": [{"name": "good"}]},
        {"agent": "helper", "text": "{{last_tool_result}}"},
    )

    async def story() -> None:
        async with bench(repo, tmp_path / "data", model=model) as desk, asyncio.timeout(3 * WITHIN_S):
            asking = asyncio.create_task(desk.run("ask"))
            assert (await desk.run("good"))["result"] == "works"
            assert "slow" in (await asking)["result"]

    play(story())


@pytest.mark.parametrize(
    ("file", "text", "handler"),
    [
        (
            "package.json",
            '{"dependencies": {"no-such-package-of-anybody": "1.0.0"}}',
            ("ts", "import x from 'no-such-package-of-anybody';\nexport default () => x;\n"),
        ),
        (
            "requirements.txt",
            "no-such-package-of-anybody==1.0.0\n",
            ("py", "import no_such_package_of_anybody\n\n\nasync def handler(params, ctx):\n    return 1\n"),
        ),
    ],
    ids=["npm", "pip"],
)
def test_a_package_that_cannot_be_had_fails_its_tool_and_no_other(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, handler: tuple[str, str]
) -> None:
    for name in ("NPM_CONFIG_REGISTRY", "npm_config_registry", "PIP_INDEX_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    repo.file("amodal/tools/needy/tool.json", {"description": "Needs what is not there."})
    repo.file(f"amodal/tools/needy/{file}", text)
    repo.file(f"amodal/tools/needy/handler.{handler[0]}", handler[1])

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk, asyncio.timeout(3 * WITHIN_S):
            assert (await desk.run("good"))["result"] == "works"
            untrusted = await desk.run("needy")
            assert "trust" in untrusted["outcome"]["reason"]
            await desk.runtime.trust(repo.root, who="ann")
            failed = await desk.run("needy")
            assert failed["outcome"]["kind"] == "failed"
            assert file in failed["outcome"]["reason"]
            assert (await desk.run("good"))["result"] == "works"

    play(story())


def test_json_that_explodes_in_memory_is_bounded(repo: Repo, tmp_path: Path) -> None:
    """Small on disk where files are sparse or repeat themselves; what counts is what would be read."""
    repo.file("amodal/knowledge/big.md", "# Big\n" + "word " * 5_000_000)
    assert result_of(repo, tmp_path) == "works"


def test_a_handler_that_answers_without_end_is_cut(repo: Repo, tmp_path: Path) -> None:
    repo.tool("flood", ts="return 'x'.repeat(300_000_000);")
    repo.tool("flood_py", py="return 'x' * 300_000_000")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk, asyncio.timeout(2 * WITHIN_S):
            for tool in ("flood", "flood_py"):
                assert (await desk.run(tool))["outcome"]["kind"] == "failed"
            assert (await desk.run("good"))["result"] == "works"

    play(story())
