"""Import and syntax forms of unmodified repositories, with and without a package.json."""

# ruff: noqa: E501 (handlers are written on one line)

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from runtime_core.hosts.base import HandlerFailure
from runtime_core.hosts.supervisor import HandlerHosts
from tests.unit.hosts.driver import RunDriver, entry, write_tools

SHARED = {
    "tsconfig.json": '{\n  // for the editor\n  "compilerOptions": {"baseUrl": ".", "paths": {"@lib/*": ["./amodal/_lib/*",]},},\n}\n',
    "amodal/_types/ctx.ts": "export interface Ctx { log(m: string): void }\nexport type Box = { a: number };\n",
    "amodal/_lib/policy.ts": 'import type { Box } from "../_types/ctx.js";\nexport const limit: number = 7;\nexport interface P { a: number }\nexport function f(x: Box): number { return x.a + limit }\n',
    "amodal/_lib/dir/index.ts": "export const inside = 3;\n",
    "amodal/_lib/data.json": '\ufeff{"k": 5, "__proto__": {"x": 1}}',
    "amodal/_lib/old.cjs": "exports.named = 4; exports.other = 5;",
    "amodal/_lib/enums.ts": 'export enum Color { Red = "r" }\nexport const enum Num { A = 1 }\n',
    "amodal/_lib/cycle-a.ts": "import { b } from './cycle-b.js'; export const a = () => b() + 1;",
    "amodal/_lib/cycle-b.ts": "import { a } from './cycle-a.js'; export const b = () => 1; export const again = () => a();",
    "amodal/tools/sibling/helper.ts": "export const s: number = 1;\n",
    "amodal/tools/commonjs/package.json": '{"dependencies": {"cjspkg": "1.0.0"}}',
    "amodal/tools/commonjs/node_modules/cjspkg/package.json": '{"name": "cjspkg", "version": "1.0.0", "main": "i.js"}',
    "amodal/tools/commonjs/node_modules/cjspkg/i.js": "const q = require('./q'); exports.one = 1; exports.two = q.two; exports.three = require('./n.json').three;\n",
    "amodal/tools/commonjs/node_modules/cjspkg/q.js": "module.exports = { two: 2 }\n",
    "amodal/tools/commonjs/node_modules/cjspkg/n.json": '{"three": 3}',
    "amodal/tools/esm/node_modules/@s/esmpkg/package.json": '{"name": "@s/esmpkg", "type": "module", "exports": {".": {"types": "./i.d.ts", "import": "./i.js"}, "./sub/*": "./lib/*.js"}}',
    "amodal/tools/esm/node_modules/@s/esmpkg/i.js": "export const three = 3;\n",
    "amodal/tools/esm/node_modules/@s/esmpkg/lib/x.js": "export const x = 'x';\n",
    "node_modules/rootpkg/package.json": '{"name": "rootpkg", "version": "1.0.0", "type": "module", "exports": "./i.js"}',
    "node_modules/rootpkg/i.js": "export const four = 4;\n",
    "deno.json": '{"imports": {"x": "./nowhere.ts"}, "nodeModulesDir": "auto"}',
}  # fmt: skip

FORMS = {
    "js-for-ts": "import { limit } from '../../_lib/policy.js'; export default async () => limit === 7;",
    "no-extension": "import { limit } from '../../_lib/policy'; export default async () => limit === 7;",
    "ts-extension": "import { limit } from '../../_lib/policy.ts'; export default async () => limit === 7;",
    "type-import": "import type { Ctx } from '../../_types/ctx.js'; export default async (p: any, c: Ctx) => true;",
    "inline-type": "import { limit, type P } from '../../_lib/policy.js'; export default async (p: P) => limit === 7;",
    "type-without-type": "import { Ctx } from '../../_types/ctx.js'; import { limit, P } from '../../_lib/policy.js'; export default async (p: P, c: Ctx) => limit === 7;",
    "missing-type-file": "import type { Ctx } from '../../_types/nope.js'; export default async (p: any, c: Ctx) => true;",
    "missing-type-package": "import type { Ctx } from '@amodalai/types'; export default async (p: any, c: Ctx) => true;",
    "enum": "enum C { A = 'a' } export default async () => C.A === 'a';",
    "imported-enum": "import { Color, Num } from '../../_lib/enums.js'; export default async () => Color.Red === 'r' && Num.A === 1;",
    "namespace": "namespace N { export const x = 1 } export default async () => N.x === 1;",
    "parameter-property": "class K { constructor(public a: number, private readonly b = 2) {} s() { return this.a + this.b } } export default async () => new K(1).s() === 3;",
    "decorator": "function d(v: any, c?: any) { return v } @d class K {} export default async () => !!K;",
    "satisfies": "const x = { a: 1 } satisfies { a: number }; export default async () => x.a === 1;",
    "angle-cast": "const x = <number>(1 as unknown); export default async () => x === 1;",
    "using": "export default async () => { let n = 0; { using r = { [Symbol.dispose]() { n++ } }; } return n === 1 };",
    "json": "import d, { k } from '../../_lib/data.json'; export default async () => d.k === 5 && k === 5 && Object.hasOwn(d, '__proto__');",
    "json-with-attribute": "import d from '../../_lib/data.json' with { type: 'json' }; export default async () => d.k === 5;",
    "top-level-await": "const x = await Promise.resolve(1); export default async () => x === 1;",
    "path-alias": "import { limit } from '@lib/policy'; export default async () => limit === 7;",
    "folder": "import { inside } from '../../_lib/dir'; export default async () => inside === 3;",
    "folder-index": "import { inside } from '../../_lib/dir/index.js'; export default async () => inside === 3;",
    "cjs-file": "import c from '../../_lib/old.cjs'; import { named } from '../../_lib/old.cjs'; export default async () => named === 4 && c.other === 5;",
    "commonjs": "import cp from 'cjspkg'; import { two, three } from 'cjspkg'; export default async () => cp.one === 1 && two === 2 && three === 3;",
    "esm": "import { three } from '@s/esmpkg'; import { x } from '@s/esmpkg/sub/x'; export default async () => three === 3 && x === 'x';",
    "root-package": "import { four } from 'rootpkg'; export default async () => four === 4;",
    "node-prefix": "import { createHash } from 'node:crypto'; export default async () => createHash('sha256').update('a').digest('hex').startsWith('ca978');",
    "node-bare": "import crypto, { createHash } from 'crypto'; export default async () => createHash('sha256').update('a').digest('hex').startsWith('ca978') && crypto.randomBytes(70000).length === 70000;",
    "buffer": "export default async () => Buffer.from('aa').toString('base64') === 'YWE=';",
    "process": "export default async () => typeof process === 'object' && typeof process.version === 'string';",
    "process-env": "export default async () => process.env.NOPE === undefined;",
    "dynamic-import": "export default async () => (await import('../../_lib/policy.js')).limit === 7;",
    "import-meta": "export default async () => new URL('.', import.meta.url).pathname.endsWith('/tools/import-meta/');",
    "sibling": "import { s } from './helper.js'; export default async () => s === 1;",
    "define-tool": "import { defineToolHandler } from '@amodalai/types'; export default defineToolHandler({ description: 'x', handler: async () => true });",
    "abstract-and-overloads": "abstract class A { abstract m(): number; declare z: string; } class B extends A { override m(): number { return 1 } } function g(a: string): string; function g(a: any) { return a } export default async () => new B().m() === 1 && g('q') === 'q';",
    "cycle": "import { again } from '../../_lib/cycle-b.js'; export default async () => again() === 2;",
}


@pytest.mark.parametrize("package", ["none", "plain", "module", "uninstalled"])
def test_every_form_runs(tmp_path: Path, package: str) -> None:
    files = dict(SHARED)
    manifest: dict[str, object] = {"name": "fx", "private": True}
    if package == "module":
        manifest["type"] = "module"
    if package == "uninstalled":
        manifest["dependencies"] = {"left-pad": "^1.0.0"}
    root = tmp_path / "repo"
    if package != "none":
        files["package.json"] = json.dumps(manifest)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    repo = write_tools(root, {f"{name}.ts": source for name, source in FORMS.items()})
    before = set(root.rglob("*"))

    async def run() -> dict[str, HandlerFailure | str | None]:
        hosts = HandlerHosts(tmp_path / "cache")
        try:
            drivers = {name: RunDriver(hosts, repo, entry(f"{name}.ts"), durable=False) for name in FORMS}
            outcomes = {name: await driver.leg() for name, driver in drivers.items()}
            return {name: outcome.failure or outcome.value for name, outcome in outcomes.items()}
        finally:
            await hosts.close()

    assert asyncio.run(run()) == dict.fromkeys(FORMS, "true")
    assert set(root.rglob("*")) == before
