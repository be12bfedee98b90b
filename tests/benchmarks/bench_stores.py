"""Documents against a plain table with the same index, side by side: ``python -m tests.benchmarks.bench_stores``.

Prints ratios (1.0: as fast as the plain table); absolute figures are those of the machine. ``--dir`` must lie on a real
disk.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.repo.bundle import Bundle, Store
from runtime_core.tools.base import Caller
from runtime_core.tools.documents import Documents
from runtime_core.tools.stores import StoreTools
from runtime_core.wire.json import dumps

ROUNDS = 40
GROUPS = 2000
STORE = Store(
    "parcels",
    "amodal/stores/parcels.json",
    "{id}",
    {"id": {"type": "string"}, "group": {"type": "string"}, "text": {"type": "string"}, "n": {"type": "number"}},
    indexed=("group",),
)
BUNDLE = Bundle(Path("/repo"), "bench", "1", "r1", {}, {}, {}, stores={"parcels": STORE})


async def nobody(name: str, task: str, input: str | None) -> str:
    raise NotImplementedError


CALLER = Caller(BUNDLE, "", "bench", lambda _kind, _value: None, nobody)


def document(n: int) -> dict[str, object]:
    return {"id": f"p{n}", "group": f"g{n % GROUPS}", "text": "x" * 300, "n": n + 0.5}


class Product:
    def __init__(self, journal: SqliteJournal) -> None:
        tools = StoreTools(Documents(journal))
        self._tools = {verb: tools.find(BUNDLE, f"store__parcels__{verb}") for verb in ("get", "query", "list", "set")}

    async def call(self, verb: str, params: object) -> object:
        tool = self._tools[verb]
        assert tool is not None
        return json.loads(await tool.call(dumps(params), CALLER))

    async def fill(self, count: int) -> None:
        for begin in range(0, count, 500):
            await asyncio.gather(*(self.set(n) for n in range(begin, min(begin + 500, count))))

    async def set(self, n: int) -> None:
        await self.call("set", {"key": f"p{n}", "value": document(n)})


class Plain:
    """What a program with one table for one purpose would do."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute('CREATE TABLE parcels(id TEXT PRIMARY KEY, "group" TEXT, payload TEXT, saved REAL)')
        self._db.execute('CREATE INDEX by_group ON parcels("group")')

    def fill(self, count: int) -> None:
        for begin in range(0, count, 256):
            self._db.execute("BEGIN")
            for n in range(begin, min(begin + 256, count)):
                self._put(n)
            self._db.execute("COMMIT")

    def set(self, n: int) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._put(n)
        self._db.execute("COMMIT")

    def _put(self, n: int) -> None:
        row = (f"p{n}", f"g{n % GROUPS}", json.dumps(document(n)), time.time())
        self._db.execute("INSERT OR REPLACE INTO parcels VALUES (?, ?, ?, ?)", row)

    def query(self, group: str) -> object:
        sql = 'SELECT payload FROM parcels WHERE "group" = ? ORDER BY rowid DESC LIMIT 20'
        rows = [json.loads(row[0]) for row in self._db.execute(sql, (group,))]
        return rows, self._db.execute('SELECT count(*) FROM parcels WHERE "group" = ?', (group,)).fetchone()

    def list(self) -> object:
        rows = self._db.execute("SELECT payload FROM parcels ORDER BY rowid DESC LIMIT 20")
        return [json.loads(row[0]) for row in rows]

    def get(self, n: int) -> object:
        return json.loads(self._db.execute("SELECT payload FROM parcels WHERE id = ?", (f"p{n}",)).fetchone()[0])


async def median(work: Callable[[int], Awaitable[object]]) -> float:
    spent: list[float] = []
    for n in range(ROUNDS):
        begin = time.perf_counter()
        await work(n * 37)
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent)


async def compare(folder: Path, count: int) -> Iterator[tuple[str, float, float]]:
    """What was done, and how long the product and the plain table took, in seconds."""
    journal = await SqliteJournal.open(folder / "runtime.db")
    product, plain = Product(journal), Plain(folder / "plain.db")

    async def in_plain(work: Callable[[int], object]) -> float:
        async def one(n: int) -> None:
            work(n)

        return await median(one)

    begin = time.perf_counter()
    await product.fill(count)
    middle = time.perf_counter()
    plain.fill(count)
    found = [("fill", middle - begin, time.perf_counter() - middle)]
    query = await median(lambda n: product.call("query", {"where": {"group": f"g{n % GROUPS}"}}))
    found.append(("indexed query", query, await in_plain(lambda n: plain.query(f"g{n % GROUPS}"))))
    found.append(("list", await median(lambda _: product.call("list", {})), await in_plain(lambda _: plain.list())))
    get = await median(lambda n: product.call("get", {"key": f"p{n}"}))
    found.append(("get", get, await in_plain(plain.get)))
    found.append(("set", await median(product.set), await in_plain(plain.set)))
    await journal.close()
    return iter(found)


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--dir", type=Path, default=None)
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(dir=given.dir) as folder:
        for name, ours, theirs in asyncio.run(compare(Path(folder), given.documents)):
            print(f"{name:14} {ours * 1000:9.2f} ms, plain {theirs * 1000:9.2f} ms, ratio {ours / theirs:5.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
