"""Hooks: how they are made and asked, what they may look at, and what their failures come to (contract 9.2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runtime_core.engine import hooks
from runtime_core.engine.hooks import Hooks, Subject
from runtime_core.hosts import process
from runtime_core.hosts.supervisor import HandlerHosts
from runtime_core.journal.base import Journal
from runtime_core.journal.sqlite import SqliteJournal
from runtime_core.repo.bundle import Bundle, Hook, HookPoint, Language, Store
from runtime_core.tools.documents import Documents
from runtime_core.wire.json import dumps
from runtime_core.wire.stores import Partition, StoreWrite

CALL = '{"toolName":"store__parcels__set","args":{"key":"p1"}}'
FILES: Mapping[str, tuple[Language, str]] = {"ts": ("typescript", "index.mjs"), "py": ("python", "hook.py")}
STORES = {name: Store(name, "", "{id}", {}, ("dock",), shared=name == "docks") for name in ("parcels", "docks")}
ROWS = {
    ("", "parcels"): '{"id":"p1","dock":"D4"}',
    ("north", "parcels"): '{"id":"p1","dock":null}',
    ("", "docks"): '{"id":"D4","open":true}',
}


class Desk:
    """A repository with hooks, and the processes that run them; each test adds a hook of its own."""

    def __init__(self, root: Path, journal: Journal, runner: asyncio.Runner) -> None:
        self.root = root
        self.hooks = Hooks(HandlerHosts(root.parent / "cache"), Documents(journal))
        self.runner = runner
        self.notes: list[tuple[str, str, Any]] = []
        self.count = 0

    def hook(self, kind: str, source: str, **settings: Any) -> Hook:
        self.count += 1
        language, file = FILES[kind]
        entry = f"hooks/h{self.count}/{file}"
        (self.root / entry).parent.mkdir(parents=True)
        (self.root / entry).write_text(source)
        points = settings.pop("points", frozenset[HookPoint]({"preToolUse"}))
        return Hook(f"h{self.count}", entry, language, points, **settings)

    def subject(self, asked: Sequence[Hook], scope: str = "") -> Subject:
        bundle = Bundle(self.root, "bench", "1", "r1", {}, {}, {}, hooks=tuple(asked), stores=STORES)
        self.notes.clear()
        return Subject(bundle, scope, "ann", lambda hook, kind, value: self.notes.append((hook, kind, value)))

    def ask(self, *asked: Hook, point: HookPoint = "preToolUse", payload: str = CALL, scope: str = "") -> str | None:
        return self.runner.run(self.hooks.ask(self.subject(asked, scope), point, payload))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("hooks")
    with asyncio.Runner() as runner:
        journal = runner.run(SqliteJournal.open(folder / "runtime.db"))
        desk = Desk(folder / "repo", journal, runner)
        desk.root.mkdir()
        for (scope, store), row in ROWS.items():
            where = Partition(str(desk.root), scope, store)
            runner.run(journal.write_documents([StoreWrite(where, json.loads(row)["id"], row, ("dock",))]))
        yield desk
        runner.run(desk.hooks.close())
        runner.run(journal.close())


@pytest.fixture(params=["ts", "py"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def source(kind: str, ts: str, py: str, before: str = "") -> str:
    """A hook whose ``run`` has this body."""
    if kind == "ts":
        return f"{before}\nexport function createHook(config) {{ return {{ run(point, payload, ctx) {{ {ts} }} }}; }}"
    body = "\n".join(f"        {line}" for line in py.splitlines())
    start = f"{before}\ndef create_hook(config):\n    async def run(point, payload, ctx):\n{body}"
    return f"{start}\n    return {{'run': run}}\n"


TELLS = (
    "const members = Object.keys(ctx).sort();\n"
    "return { action: 'block', reason: JSON.stringify([point, payload, config, ctx.caller, members]) };",
    "import json\nmembers = sorted(vars(ctx))\n"
    "caller = {'userId': ctx.caller.user_id, 'source': ctx.caller['source']}\n"
    "wire = {'toolName': payload.tool_name, 'args': payload['args']}\n"
    "return {'action': 'block', 'reason': json.dumps([point, wire, config, caller, members])}",
)


def told(reason: str | None) -> list[Any]:
    assert reason is not None
    return json.loads(reason[reason.index("[") :])


def test_a_hook_gets_point_payload_and_configuration_and_only_what_it_may_use(desk: Desk, kind: str) -> None:
    config = {"guarded": ["store__parcels__set"]}
    plain = desk.hook(kind, source(kind, *TELLS), config=config, capabilities=frozenset({"reads_tool_io"}))
    reason = desk.ask(plain)
    assert reason is not None
    assert reason.startswith(f'The hook "{plain.name}" blocked this: [')
    caller = {"userId": "ann", "source": "chat"}
    assert told(reason) == ["preToolUse", json.loads(CALL), config, caller, ["caller", "log"]]
    reading = desk.hook(kind, source(kind, *TELLS), capabilities=frozenset({"store:read"}))
    assert told(desk.ask(reading))[4] == ["caller", "log", "store"]


COUNTS = (
    "count += 1; return { action: 'block', reason: `${made}/${count}` };",
    "global count\ncount += 1\nreturn {'action': 'block', 'reason': f'{made}/{count}'}",
)


def test_a_hook_is_made_once_and_asked_at_every_call(desk: Desk, kind: str) -> None:
    if kind == "ts":
        text = source(kind, *COUNTS, before="let made = 0, count = 0;").replace("return {", "made += 1; return {", 1)
    else:
        text = source(kind, *COUNTS, before="made = count = 0").replace(
            "def create_hook(config):\n", "def create_hook(config):\n    global made\n    made += 1\n"
        )
    hook = desk.hook(kind, text)
    reasons = [desk.ask(hook) for _ in range(3)]
    assert [reason and reason[-3:] for reason in reasons] == ["1/1", "1/2", "1/3"]


def test_the_spellings_of_a_factory(desk: Desk, kind: str) -> None:
    if kind == "ts":
        text = "export default { createHook: (config) => ({ run: async () => ({ action: 'block', reason: 'so' }) }) };"
    else:
        text = (
            "class Guard:\n    def run(self, point, payload, ctx):\n"
            "        return {'action': 'block', 'reason': 'so'}\n"
            "def createHook(config):\n    return Guard()\n"
        )
    assert str(desk.ask(desk.hook(kind, text))).endswith("blocked this: so")


LOOKS = (
    """return (async () => {
  const seen = [await ctx.store.get('parcels', 'p1'), await ctx.store.get('parcels', 'none'),
    await ctx.store.query('parcels', { dock: 'D4' }), await ctx.store.query('docks')];
  try { await ctx.store.get('nowhere', 'x'); } catch (error) { seen.push(error.message); }
  return { action: 'block', reason: JSON.stringify(seen) };
})();""",
    """import json
get, query = ctx.store.get, ctx.store.query
seen = [await get('parcels', 'p1'), await get('parcels', 'none')]
seen += [await query('parcels', {'dock': 'D4'}), await query('docks')]
try:
    await get('nowhere', 'x')
except Exception as error:
    seen.append(str(error))
return {'action': 'block', 'reason': json.dumps(seen)}""",
)


def test_a_hook_reads_rows_of_its_callers_scope(desk: Desk, kind: str) -> None:
    hook = desk.hook(kind, source(kind, *LOOKS), capabilities=frozenset({"store:read"}))
    everywhere, north, dock = (json.loads(row) for row in ROWS.values())
    row, nothing, found, shared, problem = told(desk.ask(hook))
    assert (row, nothing, found, shared) == (everywhere, None, [everywhere], [dock])
    assert 'no store "nowhere"' in problem
    assert told(desk.ask(hook, scope="north"))[:4] == [north, None, [], [dock]]


def test_a_hook_is_not_given_a_part_of_too_many_rows(desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "ROWS", 0)
    asks = ("return ctx.store.query('parcels').then(() => ({ action: 'allow' }));", "await ctx.store.query('parcels')")
    hook = desk.hook(kind, source(kind, *asks), capabilities=frozenset({"store:read"}), is_closed=True)
    assert "more than 0 documents" in str(desk.ask(hook))


def test_lower_priorities_come_first_then_names_and_the_first_block_counts(desk: Desk, kind: str) -> None:
    def saying(text: str, **settings: Any) -> Hook:
        return desk.hook(kind, source(kind, *(f"{lead}('{text}')" for lead in ("ctx.log", "ctx.log"))), **settings)

    block = (
        "return { action: 'block', reason: config.say };",
        "return {'action': 'block', 'reason': config['say']}",
    )
    early = desk.hook(kind, source(kind, *block), priority=1, config={"say": "early"})
    late = desk.hook(kind, source(kind, *block), priority=10, config={"say": "late"})
    default = desk.hook(kind, source(kind, *block), config={"say": "default"})
    elsewhere = desk.hook(kind, source(kind, *block), points=frozenset({"preInput"}), config={"say": "elsewhere"})
    talking = saying("hello", priority=20)
    assert str(desk.ask(talking, late, early)).endswith("early")
    assert desk.notes == []
    assert str(desk.ask(late, default, early, elsewhere)).endswith("default")
    assert desk.ask(talking) is None
    assert ("log", "hello") in [(what, value) for _, what, value in desk.notes]


BAD = {
    "a throw": ("throw new Error('no dock');", "raise ValueError('no dock')", "no dock"),
    "nothing": ("", "pass", "has to return"),
    "another word": ("return { action: 'maybe' };", "return {'action': 'maybe'}", "has to return"),
    "a text": ("return 'block';", "return 'block'", "has to return"),
}


@pytest.mark.parametrize("fault", BAD)
@pytest.mark.parametrize("is_closed", [True, False])
def test_a_failure_blocks_if_the_policy_is_closed_and_is_noted(
    desk: Desk, kind: str, fault: str, is_closed: bool
) -> None:
    ts, py, message = BAD[fault]
    hook = desk.hook(kind, source(kind, ts, py), is_closed=is_closed)
    reason = desk.ask(hook)
    assert (reason is not None) is is_closed
    if reason is not None:
        assert hook.name in reason
        assert message in reason
    ((name, what, value),) = desk.notes
    assert (name, what) == (hook.name, "warning")
    assert message in value


UNUSABLE = {
    "a missing file": (None, None, "cannot be loaded"),
    "no factory": ("export const x = 1;", "x = 1", "no hook"),
    "no run": ("export const createHook = () => ({});", "def create_hook(config): return {}", "no hook"),
    "a factory that throws": (
        "export function createHook() { throw new Error('bad config'); }",
        "def create_hook(config): raise ValueError('bad config')",
        "bad config",
    ),
    "a factory that is none": ("export default 1;", "create_hook = 1", "no hook"),
    "a factory that fails later": (
        "export async function createHook() { throw new Error('bad config'); }",
        "async def create_hook(config): raise ValueError('bad config')\n",
        "",
    ),
    "a missing import": ("import './nothing.mjs';", "import nothing_like_it", "nothing"),
    "a broken file": ("export function (", "def create_hook(", "cannot be loaded"),
}


@pytest.mark.parametrize("fault", UNUSABLE)
@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.filterwarnings("ignore:coroutine")
def test_a_hook_that_cannot_be_made_blocks_whatever_its_policy(
    desk: Desk, kind: str, fault: str, is_closed: bool
) -> None:
    ts, py, message = UNUSABLE[fault]
    text = ts if kind == "ts" else py
    hook = desk.hook(kind, text or "", is_closed=is_closed)
    if text is None:
        (desk.root / hook.entry).unlink()
    for _ in range(2):
        reason = str(desk.ask(hook))
        assert f'The hook "{hook.name}" blocked this: it cannot be used' in reason
        assert message in reason


def test_a_hook_whose_code_never_ends_loading_blocks(desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "TICKS_PER_PING", 1)
    monkeypatch.setattr(process, "HUNG_PINGS", 2)
    hook = desk.hook(kind, SPINS[kind])
    assert "it cannot be used" in str(desk.ask(hook))


def test_a_block_where_none_counts_is_noted(desk: Desk, kind: str) -> None:
    block = ("return { action: 'block', reason: 'late' };", "return {'action': 'block', 'reason': 'late'}")
    everywhere = frozenset[HookPoint]({"preInput", "preToolUse", "postToolUse", "preOutput", "postTurn"})
    hook = desk.hook(kind, source(kind, *block), points=everywhere)
    for point in sorted(everywhere):
        blocks = desk.ask(hook, point=point, payload='{"text":"x"}') is not None
        assert blocks is (point in ("preInput", "preToolUse", "preOutput"))
        assert bool(desk.notes) is not blocks


def test_a_hook_imports_files_of_its_repository(desk: Desk, kind: str) -> None:
    (desk.root / "hooks/lib").mkdir(parents=True, exist_ok=True)
    (desk.root / "hooks/lib/words.mjs").write_text("export const reason = 'shared';")
    (desk.root / "hooks/lib/words.py").write_text("reason = 'shared'\n")
    before = "import { reason } from '../lib/words.mjs';" if kind == "ts" else "from ..lib.words import reason"
    body = ("return { action: 'block', reason };", "return {'action': 'block', 'reason': reason}")
    assert str(desk.ask(desk.hook(kind, source(kind, *body, before=before)))).endswith("shared")


def test_a_hook_reaches_neither_network_nor_other_files(desk: Desk, kind: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    body = (
        f"""return (async () => {{
  const seen = [];
  for (const act of [() => fetch('http://127.0.0.1:9'), async () => Deno.readTextFileSync({dumps(str(secret))})])
    try {{ await act(); seen.push('done'); }} catch (error) {{ seen.push(error.name); }}
  return {{ action: 'block', reason: JSON.stringify(seen) }};
}})();""",
        f"""import json, socket
seen = []
for act in (socket.socket, lambda: open({str(secret)!r})):
    try:
        act()
        seen.append('done')
    except Exception as error:
        seen.append(type(error).__name__)
return {{'action': 'block', 'reason': json.dumps(seen)}}""",
    )
    assert "done" not in told(desk.ask(desk.hook(kind, source(kind, *body))))


WAITS = {
    "ts": "return new Promise(() => {});",
    "py": "import asyncio\nawait asyncio.Event().wait()",
}
SPINS = {"ts": "for (;;);", "py": "while True: pass"}


@pytest.mark.parametrize("body", [WAITS, SPINS], ids=["waits", "spins"])
def test_a_hook_that_hangs_is_over_in_time_and_the_next_one_is_asked(
    desk: Desk, kind: str, body: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "HOOK_S", 0.5)
    monkeypatch.setattr(process, "TICKS_PER_PING", 1)
    monkeypatch.setattr(process, "HUNG_PINGS", 2)
    hanging = desk.hook(kind, source(kind, body["ts"], body["py"]), is_closed=True)
    reason = str(desk.ask(hanging))
    assert hanging.name in reason
    assert "failPolicy closed" in reason
    fine = desk.hook(kind, source(kind, "return { action: 'allow' };", "return {'action': 'allow'}"), is_closed=True)
    assert desk.ask(fine) is None


SLOW = {
    "ts": "return new Promise((done) => setTimeout(() => done({ action: 'block', reason: 'I am here' }), 100));",
    "py": "import asyncio\nawait asyncio.sleep(0.1)\nreturn {'action': 'block', 'reason': 'I am here'}",
}


def test_a_hook_that_lost_its_process_through_another_is_asked_again(
    desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TICKS_PER_PING", 1)
    monkeypatch.setattr(process, "HUNG_PINGS", 2)
    spinning = desk.hook(kind, source(kind, SPINS["ts"], SPINS["py"]), is_closed=True)
    slow = desk.hook(kind, source(kind, SLOW["ts"], SLOW["py"]), is_closed=True)

    async def both() -> Sequence[str | None]:
        asked = (desk.hooks.ask(desk.subject([hook]), "preToolUse", CALL) for hook in (slow, spinning))
        return await asyncio.gather(*asked)

    told_slow, told_spinning = desk.runner.run(both())
    assert str(told_slow).endswith("blocked this: I am here")
    assert "it failed" in str(told_spinning)


def test_a_reason_is_bounded_and_may_be_missing(desk: Desk, kind: str) -> None:
    long = (
        "return { action: 'block', reason: 'x'.repeat(1e5) };",
        "return {'action': 'block', 'reason': 'x' * 100000}",
    )
    assert len(str(desk.ask(desk.hook(kind, source(kind, *long))))) < 2_100
    none = ("return { action: 'block' };", "return {'action': 'block', 'reason': 7}")
    assert str(desk.ask(desk.hook(kind, source(kind, *none)))).endswith("it gave no reason")
