"""`CompositeCallError` in both languages, without an import: every code, and its fields (contract 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.office import Office, office
from tests.unit.engine.workshop import Repo

CALL = {
    "ts": """
try {
  const { kind, name, given } = params;
  return { got: await (kind === 'agent' ? ctx.callSubagent(name, 'Go.', given) : ctx.callTool(name, given)) };
} catch (error) {
  if (!(error instanceof CompositeCallError)) return { other: String(error) };
  return { code: error.code, name: error.toolName ?? error.agentName, named: error.name, words: error.message !== '' };
}""",
    "py": """
try:
    call = ctx.call_subagent if params['kind'] == 'agent' else ctx.call_tool
    args = [params['name'], 'Go.', params['given']] if params['kind'] == 'agent' else [params['name'], params['given']]
    return {'got': await call(*args)}
except CompositeCallError as error:
    name = getattr(error, 'tool_name', None) or getattr(error, 'agent_name', None)
    return {'code': error.code, 'name': name, 'named': error.name, 'words': str(error) != ''}""",
}
DEEPER = {
    "ts": "return params.left === 0 ? 'bottom' : await ctx.callTool('deeper', { left: params.left - 1 });",
    "py": "return 'bottom' if params['left'] == 0 else await ctx.call_tool('deeper', {'left': params['left'] - 1})",
}
LISTED = {
    "undeclared": ("tool", "not_declared", {}),
    "invalid-params": ("tool", "strict", {"n": "one"}),
    "execution-failed": ("tool", "throwing", {}),
    "subagent-undeclared": ("agent", "not-declared", None),
    "subagent-failed": ("agent", "silent", None),
}


@pytest.fixture(scope="module", params=["ts", "py"])
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    language: str = request.param
    folder = tmp_path_factory.mktemp(f"codes_{language}")
    repo = Repo(folder / "repo", models={"main": {"provider": "scripted", "model": "script.json"}})
    throwing = {"ts": "throw new Error('broken');", "py": "raise ValueError('broken')"}
    parameters = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}

    def tool(name: str, body: dict[str, str], **settings: Any) -> None:
        repo.tool(name, **{language: body[language]}, **settings)

    tool("strict", {"ts": "return params.n;", "py": "return params['n']"}, parameters=parameters)
    tool("throwing", throwing)
    tool("not_declared", throwing)
    tool("deeper", DEEPER, tools=("deeper",))
    repo.agent("silent")
    repo.agent("not-declared")
    repo.script({"agent": "silent", "error": "unavailable", "repeat": True})
    for name, settings in (("inline", {}), ("durable", {"execution": "durable"})):
        tool(name, CALL, tools=("strict", "throwing", "deeper"), agents=("silent",), **settings)
    with office(repo, folder / "data") as opened:
        yield opened


@pytest.mark.parametrize("caller", ["inline", "durable"])
@pytest.mark.parametrize("code", LISTED)
def test_a_failed_call_throws_its_code(desk: Office, caller: str, code: str) -> None:
    kind, name, given = LISTED[code]
    done = desk.run(caller, {"kind": kind, "name": name, "given": given})["result"]
    assert done == {"code": code, "name": name, "named": "CompositeCallError", "words": True}


@pytest.mark.parametrize("caller", ["inline", "durable"])
def test_four_levels_of_tools_and_no_more(desk: Office, caller: str) -> None:
    def call(left: int) -> Any:
        return desk.run(caller, {"kind": "tool", "name": "deeper", "given": {"left": left}})["result"]

    assert call(3) == {"got": "bottom"}
    assert call(4)["code"] == "execution-failed"
    span = desk.run("deeper", {"left": 5})
    assert span["outcome"]["kind"] == "failed"
    assert "levels deep" in span["outcome"]["reason"]


@pytest.mark.parametrize("caller", ["inline", "durable"])
def test_a_call_that_fits_returns_the_result_and_no_envelope(desk: Office, caller: str) -> None:
    done = desk.run(caller, {"kind": "tool", "name": "strict", "given": {"n": 7}})
    assert done["result"] == {"got": 7}
