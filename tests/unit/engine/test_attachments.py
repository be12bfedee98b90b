"""``ctx.attachments``: files for a tool that is not durable, and what becomes of them (contract 3.2)."""

from __future__ import annotations

import base64
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine.attachments import TOTAL_LIMIT
from runtime_core.runtime import Runtime
from runtime_core.wire.codes import RuntimeFault
from runtime_core.wire.json import dumps
from tests.e2e.driver import Desk
from tests.e2e.office import Office
from tests.unit.engine.workshop import Repo, bench, play

LANGUAGES = pytest.mark.parametrize("language", ["ts", "py"])
FILE = {"filename": "a.pdf", "mimeType": "application/pdf", "data": base64.b64encode(b"%PDF").decode()}
SHOW_TS = "return { files: ctx.attachments ?? null, has: 'attachments' in ctx };"
SHOW_PY = "return {'files': getattr(ctx, 'attachments', None), 'has': hasattr(ctx, 'attachments')}"
FAN_TS = """
const texts = await Promise.all((ctx.attachments ?? []).map((file) =>
  ctx.callSubagent('extractor', 'Extract.', { name: file.filename }, { attachments: [file] })));
return { texts, child: await ctx.callTool('show_ts', {}) };
"""
FAN_PY = """
texts = []
for file in ctx.attachments:
    texts.append(await ctx.call_subagent('extractor', 'Extract.', {'name': file['filename']}, attachments=[file]))
return {'texts': texts, 'child': await ctx.call_tool('show_py', {})}
"""


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Generator[Office]:
    repo = Repo(tmp_path_factory.mktemp("files") / "repo")
    repo.agent("extractor")
    model = repo.script(
        {"agent": "extractor", "text": "extracted {{files}}", "repeat": True}, takes=["application/pdf"]
    )
    repo.file("amodal.json", {"name": "b", "version": "1", "models": {"main": _model(model)}})
    repo.tool("show_ts", ts=SHOW_TS)
    repo.tool("show_py", py=SHOW_PY)
    repo.tool("plain_ts", ts="return (ctx.attachments ?? []).map((file) => file.filename);")
    repo.tool("plain_py", py="return [file['filename'] for file in ctx.attachments]")
    repo.tool("fan_ts", ts=FAN_TS, tools=("show_ts",), agents=("extractor",))
    repo.tool("fan_py", py=FAN_PY, tools=("show_py",), agents=("extractor",))
    repo.durable("durable", ts=SHOW_TS)
    office = Office(repo, tmp_path_factory.mktemp("files-data"))
    yield office
    office.close()


def _model(spec: str) -> dict[str, str]:
    return {"provider": "scripted", "model": Path(spec.partition(":")[2]).name}


def _run(office: Office, tool: str, files: Any = None) -> Any:
    return office.run(tool, {}, attachments=None if files is None else dumps(files))["result"]


@LANGUAGES
def test_a_tool_that_is_started_gets_its_files_and_an_empty_list_without_any(office: Office, language: str) -> None:
    assert _run(office, f"show_{language}", [FILE, FILE]) == {"files": [FILE, FILE], "has": True}
    assert _run(office, f"show_{language}") == {"files": [], "has": True}
    assert _run(office, f"plain_{language}") == []
    assert _run(office, "durable") == {"files": None, "has": False}


@LANGUAGES
def test_files_go_to_specialists_and_are_left_out_where_no_model_takes_them(office: Office, language: str) -> None:
    got = _run(office, f"fan_{language}", [FILE, {**FILE, "filename": "b.png", "mimeType": "image/png"}])
    assert got["texts"] == ["extracted a.pdf", "extracted "]
    assert got["child"] == {"files": None, "has": False}
    log = (office.data / "logs" / "handlers.log").read_text()
    assert log.count("subagent_attachments_stripped") in (1, 2)
    assert "does not take b.png (image/png)" in log
    assert FILE["data"] not in log


@pytest.mark.parametrize("attachments", ["{}", "'a.pdf'", "[{ filename: 'a.pdf' }]"])
def test_what_a_handler_passes_and_is_no_file_fails_the_call(tmp_path: Path, attachments: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.agent("extractor")
    call = f"ctx.callSubagent('extractor', 'Extract.', null, {{ attachments: {attachments} }})"
    repo.tool("top", ts=f"return await {call}.catch((error) => [error.code, error.message]);", agents=("extractor",))

    async def story() -> None:
        async with bench(repo, tmp_path / "data", model=repo.script()) as desk:
            code, message = (await desk.run("top"))["result"]
            assert code == "subagent-failed"
            assert message.startswith('The call of subagent "extractor": attachments: ')

    play(story())


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "array"),
        (["a"], "[0] has to be an object"),
        ([FILE, {**FILE, "data": "?"}], "[1].data is not base64"),
        ([{**FILE, "mimeType": None}], "filename, mimeType, data"),
        ([{**FILE, "data": base64.b64encode(bytes(TOTAL_LIMIT + 1)).decode()}], "5,242,881 bytes"),
    ],
)
def test_what_is_no_file_is_refused_before_anything_runs(office: Office, files: Any, words: str) -> None:
    with pytest.raises(RuntimeFault) as caught:
        _run(office, "show_ts", files)
    assert caught.value.code == "VALIDATION_ERROR"
    assert words in caught.value.message


def test_a_durable_tool_takes_no_files(office: Office) -> None:
    with pytest.raises(RuntimeFault, match="not durable"):
        _run(office, "durable", [FILE])


@LANGUAGES
def test_files_up_to_the_limit_arrive_whole(office: Office, language: str) -> None:
    large = {**FILE, "data": base64.b64encode(bytes(range(256)) * (TOTAL_LIMIT // 256)).decode()}
    files = _run(office, f"show_{language}", [large])["files"]
    assert files == [large]


def test_files_are_given_on_the_command_line(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.tool("show", py=SHOW_PY)
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    (tmp_path / "b").write_bytes(b"\x00")
    desk = Desk(tmp_path)
    shown = desk("run", repo.root, "show", "--attach", "a.pdf", "--attach", tmp_path / "b", "--json")
    other = {"filename": "b", "mimeType": "application/octet-stream", "data": "AA=="}
    assert shown.json["result"]["files"] == [FILE, other]
    missing = desk("run", repo.root, "show", "--attach", "gone.pdf")
    assert (missing.code, "--attach: gone.pdf cannot be read" in missing.err) == (2, True)


class _Stored:
    def __init__(self, **values: str) -> None:
        self.values = values

    def get(self, name: str) -> str | None:
        return self.values.get(name)


@LANGUAGES
def test_names_that_a_tool_may_read_come_from_where_secrets_are(tmp_path: Path, language: str) -> None:
    repo = Repo(tmp_path / "repo")
    if language == "ts":
        repo.tool("names", env=["A", "C"], ts="return ['A', 'B', 'C'].map((name) => ctx.env(name) ?? null);")
    else:
        repo.tool("names", env=["A", "C"], py="return [ctx.env(name) for name in ('A', 'B', 'C')]")

    async def story() -> Any:
        runtime = Runtime(tmp_path / "data", secrets=_Stored(A="kept", B="not listed"))
        await runtime.open()
        try:
            return (await runtime.run_tool(repo.root, "names", "{}", who="ann"))["result"]
        finally:
            await runtime.close()

    assert play(story()) == ["kept", None, None]
