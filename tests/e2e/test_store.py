"""The command that shows documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.driver import Desk
from tests.unit.engine.test_stores import PARCELS, TOOLS
from tests.unit.engine.workshop import Repo

WRITE = """
for (const [id, carrier] of [['p1', 'road'], ['p2', 'air'], ['p3', 'air']]) {
  await ctx.callTool('store__parcels__set', {key: id, value: {parcel_id: id, carrier, weight: 1.5}});
}
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = Repo(tmp_path / "repo")
    repo.file("amodal/stores/parcels.json", PARCELS)
    repo.durable("fill", tools=TOOLS, ts=WRITE)
    return repo.root


def test_what_a_run_stored_can_be_looked_at_and_moved(desk: Desk, repo: Path, tmp_path: Path) -> None:
    assert desk("run", repo, "fill").code == 0
    stores = desk("store", repo)
    assert stores.out.splitlines()[1].split() == ["parcels", "3", "{parcel_id}", "deletable"]
    file = tmp_path / "all.jsonl"
    assert desk("export", file).out == f"1 run, 3 documents exported to {file}\n"
    other = Desk(desk.home, tmp_path / "other")
    assert other("import", file).out == "1 run, 3 documents imported\n"
    assert other("import", file).out.endswith("3 documents stayed as saved here, at the same time or later\n")
    rows = other("store", repo, "parcels").out.splitlines()
    assert [row.split()[0] for row in rows[1:4]] == ["p3", "p2", "p1"]
    assert rows[4] == "3 of 3 documents"
    some = other("store", repo, "parcels", "--where", '{"carrier": "air"}', "--limit", "1", "--json").json
    assert ([one["key"] for one in some["documents"]], some["total"], some["hasMore"]) == (["p3"], 2, True)


def test_a_person_can_write_a_document(desk: Desk, repo: Path) -> None:
    put = desk("store", repo, "parcels", "--put", '{"parcel_id": "p7", "carrier": "air", "weight": 1.50}')
    assert (put.code, put.out) == (0, "p7: version 1 stored\n")
    assert '"weight": 1.50' in desk("store", repo, "parcels", "p7").out
    refused = desk("store", repo, "parcels", "--put", '{"parcel_id": "p7"}', "--json")
    assert (refused.code, refused.error["code"]) == (1, "VALIDATION_ERROR")
    assert "carrier is missing" in refused.error["message"]
    assert desk("store", repo, "--put", "{}").code == 2
    assert "0 of 0 documents" in desk("store", repo, "parcels", "--scope", "s1").out


def test_what_is_not_there_is_named(desk: Desk, repo: Path) -> None:
    for words, said in (
        (("parcel",), 'Store "parcel" not found. The repository bench has: parcels.'),
        (("parcels", "p9"), 'Document "p9" not found in store "parcels".'),
    ):
        refused = desk("store", repo, *words)
        assert (refused.code, refused.out) == (1, "")
        assert said in refused.err
