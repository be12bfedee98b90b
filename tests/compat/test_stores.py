"""Documents through the tools of stores, called by handlers of both languages (contract 1.4 and 5.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.office import Office, office
from tests.unit.engine.workshop import Repo

CALL = {
    "ts": """
const results = [];
for (const [tool, given] of params.calls)
  try { results.push(await ctx.callTool(`store__rows__${tool}`, given)); }
  catch (error) { results.push([error.code, error.message]); }
return results;""",
    "py": """
results = []
for tool, given in params['calls']:
    try:
        results.append(await ctx.call_tool(f'store__rows__{tool}', given))
    except CompositeCallError as error:
        results.append([error.code, error.message])
return results""",
}
SCHEMA = {
    "id": {"type": "string"},
    "note": {"type": "string", "nullable": True},
    "n": {"type": "number", "min": 0, "max": 1000},
    "tags": {"type": "array", "item": {"type": "object", "fields": {"t": {"type": "string"}}}},
}


@pytest.fixture(scope="module", params=["ts", "py"])
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    language: str = request.param
    folder = tmp_path_factory.mktemp(f"stores_{language}")
    repo = Repo(folder / "repo")
    store = {"name": "rows", "key": "{id}", "schema": SCHEMA, "indexed": ["n"], "deletable": True}
    repo.file("amodal/stores/rows.json", store)
    verbs = tuple(f"store__rows__{verb}" for verb in ("get", "set", "query", "list", "remove"))
    repo.tool("inline", **{language: CALL[language]}, tools=verbs)  # pyright: ignore[reportArgumentType]
    repo.durable("durable", **{language: CALL[language]}, tools=verbs)
    with office(repo, folder / "data") as opened:
        yield opened


@pytest.fixture(params=["inline", "durable"])
def caller(request: pytest.FixtureRequest) -> str:
    return request.param


def row(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"r{number}", "note": None, "n": number, "tags": [], **more}


def calls(desk: Office, caller: str, *made: tuple[str, Any], scope: str = "") -> list[Any]:
    done = desk.run(caller, {"calls": [list(call) for call in made]}, scope=scope)
    assert done["outcome"]["kind"] == "complete", done
    return done["result"]


def test_a_missing_field_is_refused_and_null_is_not_missing(desk: Office, caller: str) -> None:
    without = row(1)
    del without["note"]
    wrong = [without, row(1, n=None), row(1, n=1001), row(1, n="1"), row(1, tags=[{"t": 1}]), row(1, tags=None)]
    results = calls(desk, caller, *(("set", {"key": "r1", "value": value}) for value in wrong), scope="refusals")
    for (code, message), field in zip(results, ("note", "n", "n", "n", "tags", "tags"), strict=True):
        assert code == "execution-failed"
        assert field in message
    stored, other = calls(
        desk,
        caller,
        ("set", {"key": "r1", "value": row(1)}),
        ("set", {"key": "another", "value": row(1)}),
        scope="refusals",
    )
    assert (stored["stored"], stored["key"]) == (True, "r1")
    assert other[0] == "execution-failed"


def test_extra_fields_are_kept(desk: Office, caller: str) -> None:
    value = row(2, extra={"any": [1, None]}, tags=[{"t": "a"}])
    _, got = calls(desk, caller, ("set", {"key": "r2", "value": value}), ("get", {"key": "r2"}))
    assert got == value


def test_a_query_is_exact_and_pages_are_bounded(desk: Office, caller: str) -> None:
    scope = f"pages of {caller}"
    calls(
        desk, caller, *(("set", {"key": f"r{n}", "value": row(n, note="Odd" if n % 2 else "odd")}) for n in range(45)),
        scope=scope,
    )  # fmt: skip
    first, all_odd, none, by_number, listed, two = calls(
        desk,
        caller,
        ("query", {}),
        ("query", {"where": {"note": "Odd"}, "limit": 1000}),
        ("query", {"where": {"note": "ODD"}}),
        ("query", {"where": {"n": 7.0, "note": "Odd"}}),
        ("list", {"limit": 5000}),
        ("list", {"limit": 2}),
        scope=scope,
    )
    assert (len(first["documents"]), first["total"], first["hasMore"]) == (20, 45, True)
    assert (all_odd["total"], all_odd["hasMore"]) == (22, False)
    assert none == {"documents": [], "total": 0, "hasMore": False}
    assert [found["payload"]["id"] for found in by_number["documents"]] == ["r7"]
    assert len(listed["documents"]) == 45
    assert [found["key"] for found in two["documents"]] == ["r44", "r43"]
    assert calls(desk, caller, ("list", {}), scope="nowhere")[0]["total"] == 0


def test_removing_is_told_and_may_be_repeated(desk: Office, caller: str) -> None:
    removed, gone, again = calls(
        desk,
        caller,
        ("set", {"key": "r9", "value": row(9)}),
        ("remove", {"key": "r9"}),
        ("get", {"key": "r9"}),
        ("remove", {"key": "r9"}),
    )[1:]
    assert removed == {"removed": True, "key": "r9"}
    assert "not found" in gone["error"]
    assert again["key"] == "r9"
