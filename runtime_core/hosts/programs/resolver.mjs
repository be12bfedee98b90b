// Finds and loads modules the way a bundler would, so that handler files run unmodified.
import nodeModule from 'node:module';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const { createRequire, isBuiltin, registerHooks } = nodeModule;
const EXTENSIONS = ['.ts', '.tsx', '.mts', '.js', '.mjs', '.cts', '.cjs', '.json'];
const INDEXES = ['index.ts', 'index.tsx', 'index.mts', 'index.js', 'index.mjs'];
const CONDITIONS = new Set(['import', 'module-sync', 'node', 'deno', 'default']);
const VIRTUAL = 'file:///operator-virtual/';

// Modules that do not exist as files; timers and random numbers must be those of the run.
const SHIMS = {
  '@amodalai/types': `
    export const defineToolHandler = (definition) => ({ ...definition, __toolHandler: true });
    export const defineTool = (definition) => definition;
    export const CompositeCallError = globalThis.CompositeCallError;`,
  'node:timers': `
    export const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = globalThis;
    export default { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };`,
  'node:timers/promises': `
    const wait = (start, stop, value, signal) => new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const timer = start(() => resolve(value));
      signal?.addEventListener('abort', () => { stop(timer); reject(signal.reason); }, { once: true });
    });
    export const setTimeout = (ms, value, options) => wait((call) => globalThis.setTimeout(call, ms), globalThis.clearTimeout, value, options?.signal);
    export const setImmediate = (value, options) => wait(globalThis.setImmediate, globalThis.clearImmediate, value, options?.signal);
    export async function* setInterval(ms, value, options) { for (;;) yield await setTimeout(ms, value, options); }
    export const scheduler = { wait: (ms, options) => setTimeout(ms, undefined, options), yield: () => setImmediate() };
    export default { setTimeout, setImmediate, setInterval, scheduler };`,
  'node:crypto': `
    import real from 'node:crypto?real';
    export * from 'node:crypto?real';
    const web = globalThis.crypto;
    export const randomUUID = () => web.randomUUID();
    export const getRandomValues = (array) => web.getRandomValues(array);
    export const randomBytes = (size, done) => {
      const bytes = real.Buffer?.alloc?.(size) ?? Buffer.alloc(size);
      for (let at = 0; at < size; at += 65536) web.getRandomValues(bytes.subarray(at, Math.min(size, at + 65536)));
      return done ? void queueMicrotask(() => done(null, bytes)) : bytes;
    };
    export default { ...real, randomUUID, getRandomValues, randomBytes };`,
};

// Code is read from the copy of its revision, under the names it has in the repository.
let copyOf = (path) => path;

function readCodeFrom(root, { folder, tops, live }) {
  const isLive = new RegExp(live);
  const top = new Set(tops);
  copyOf = (path) => {
    if (!path.startsWith(root + sep)) return path;
    const name = path.slice(root.length + 1).replaceAll('\\', '/');
    return top.has(name.split('/', 1)[0]) && !isLive.test(name) ? join(folder, name) : path;
  };
}

const SOURCE_MAP = '\n//# sourceMappingURL=data:application/json;base64,';

/** What Deno made of the copy of a file, with the name of the file itself in the places of errors. */
function renamed(loaded, copy, url) {
  const at = typeof loaded.source === 'string' ? loaded.source.lastIndexOf(SOURCE_MAP) : -1;
  if (at < 0) return loaded;
  const start = at + SOURCE_MAP.length;
  const map = Buffer.from(loaded.source.slice(start), 'base64').toString().replace(JSON.stringify(copy), JSON.stringify(url));
  return { ...loaded, source: loaded.source.slice(0, start) + Buffer.from(map).toString('base64') };
}

const stat = (path) => statSync(copyOf(path), { throwIfNoEntry: false });
const isFile = (path) => attempt(() => stat(path)?.isFile()) ?? false;
const isDirectory = (path) => attempt(() => stat(path)?.isDirectory()) ?? false;
const readText = (path) => readFileSync(copyOf(path), 'utf8').replace(/^\uFEFF/, '');

function attempt(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** JSON with comments and trailing commas, as in tsconfig.json. */
function parseJsonc(text) {
  const bare = text.replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (part) => (part[0] === '"' ? part : ''));
  return JSON.parse(bare.replace(/"(?:\\.|[^"\\])*"|,(?=\s*[}\]])/g, (part) => (part[0] === '"' ? part : '')));
}

function pathAliases(root) {
  const options = attempt(() => parseJsonc(readText(join(root, 'tsconfig.json'))))?.compilerOptions ?? {};
  const base = join(root, options.baseUrl ?? '.');
  return Object.entries(options.paths ?? {}).map(([pattern, targets]) => {
    const [before, after] = pattern.split('*');
    return { before, after, targets: targets.map((target) => join(base, target)) };
  });
}

/** The file an import specifier means: itself, its TypeScript twin, with an extension, or the index of a folder. */
function probe(path) {
  if (isFile(path)) return path;
  const script = /\.([mc]?)jsx?$/.exec(path);
  if (script) {
    const stem = path.slice(0, -script[0].length);
    for (const extension of script[1] ? [`.${script[1]}ts`] : ['.ts', '.tsx']) if (isFile(stem + extension)) return stem + extension;
  }
  for (const extension of EXTENSIONS) if (isFile(path + extension)) return path + extension;
  if (isDirectory(path)) for (const index of INDEXES) if (isFile(join(path, index))) return join(path, index);
  return null;
}

function viaAliases(aliases, specifier) {
  for (const { before, after, targets } of aliases) {
    const hit = after === undefined ? specifier === before : specifier.startsWith(before) && specifier.endsWith(after);
    if (!hit || specifier.length < before.length + (after?.length ?? 0)) continue;
    const middle = after === undefined ? '' : specifier.slice(before.length, specifier.length - after.length);
    for (const target of targets) {
      const found = probe(target.replace('*', () => middle));
      if (found) return found;
    }
  }
  return null;
}

function pickCondition(target) {
  if (typeof target === 'string') return target;
  if (Array.isArray(target)) return target.map(pickCondition).find(Boolean) ?? null;
  if (target === null || typeof target !== 'object') return null;
  for (const [condition, inner] of Object.entries(target)) {
    const found = CONDITIONS.has(condition) ? pickCondition(inner) : null;
    if (found) return found;
  }
  return null;
}

function viaExports(exports, key) {
  const isMap = typeof exports === 'object' && exports !== null && !Array.isArray(exports) && Object.keys(exports).some((name) => name.startsWith('.'));
  const map = isMap ? exports : { '.': exports };
  if (map[key] !== undefined) return pickCondition(map[key]);
  for (const [pattern, target] of Object.entries(map)) {
    const star = pattern.indexOf('*');
    if (star < 0) continue;
    const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)];
    if (!key.startsWith(before) || !key.endsWith(after) || key.length < before.length + after.length) continue;
    const found = pickCondition(target);
    if (found) return found.replaceAll('*', () => key.slice(before.length, key.length - after.length));
  }
  return null;
}

function* foldersAbove(path) {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    yield folder;
    if (folder === dirname(folder)) return;
  }
}

/** The packages that were installed for the handlers of this process come before those in the repository. */
function fromNodeModules(specifier, parent, packages) {
  const [, name, inside = ''] = /^(@[^/]+\/[^/]+|[^/]+)(\/.*)?$/.exec(specifier) ?? [];
  if (!name) return null;
  const own = packages && !parent.startsWith(packages + sep) ? [packages] : [];
  for (const folder of [...own, ...foldersAbove(parent)]) {
    const home = join(folder, 'node_modules', name);
    if (!isDirectory(home)) continue;
    const manifest = attempt(() => JSON.parse(readText(join(home, 'package.json')))) ?? {};
    if (manifest.exports === undefined) return probe(join(home, inside || manifest.main || 'index.js'));
    const target = viaExports(manifest.exports, `.${inside}`);
    return target && join(home, target);
  }
  return null;
}

function isCommonJs(file) {
  if (file.endsWith('.cjs')) return true;
  if (!file.endsWith('.js')) return false;
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = attempt(() => JSON.parse(readText(join(folder, 'package.json'))));
    if (manifest) return manifest.type !== 'module';
    if (folder === dirname(folder) || folder.endsWith('node_modules')) return true;
  }
}

const reexport = (keys) =>
  keys.filter((key) => /^[A-Za-z_$][\w$]*$/.test(key) && key !== 'default').map((key, i) => `const $${i} = value[${JSON.stringify(key)}]; export { $${i} as ${key} };`).join('\n');
const keysOf = (value) => (value !== null && (typeof value === 'object' || typeof value === 'function') && !Array.isArray(value) ? Object.keys(value) : []);

function jsonModule(file) {
  const text = readText(file);
  const value = JSON.parse(text);
  return `const value = JSON.parse(${JSON.stringify(text)}); export default value;\n${reexport(keysOf(value))}`;
}

/** A CommonJS package is run once and then given the face of a module. */
function commonJsModule(url, file) {
  const value = createRequire(url)(file);
  return `import { createRequire } from 'node:module';
const value = createRequire(${JSON.stringify(url)})(${JSON.stringify(file)}); export default value;\n${reexport(keysOf(value))}`;
}

function noPackage(specifier, importer) {
  const text = `"${specifier}", which ${importer} imports, is not there: npm packages have to stand in the dependencies of a package.json beside the tool, and remote modules are not available. Add it there, or copy the code you need into the repository`;
  return Object.assign(new Error(text), { code: 'ERR_MODULE_NOT_FOUND' });
}

export function installResolver(root, code, packages) {
  if (code) readCodeFrom(root, code);
  const aliases = pathAliases(root);
  const module = (source) => ({ format: 'module', source, shortCircuit: true });

  function locate(specifier, parent) {
    const isPackaged = parent.includes('/node_modules/');
    if (/^\.{1,2}(\/|$)/.test(specifier)) return isPackaged ? null : probe(join(dirname(parent), specifier));
    if (/^[a-z]+:/i.test(specifier) || specifier.startsWith('/')) return null;
    return (isPackaged ? null : viaAliases(aliases, specifier)) ?? fromNodeModules(specifier, parent, packages);
  }

  registerHooks({
    resolve(specifier, context, next) {
      if (context.conditions?.includes('require')) return next(specifier, context);
      if (specifier.endsWith('?real')) return next(specifier.slice(0, -'?real'.length), context);
      const parent = context.parentURL ?? '';
      const fromHandler = parent.startsWith('file:') && !parent.startsWith(VIRTUAL) ? fileURLToPath(parent) : null;
      const builtin = !specifier.startsWith('node:') && !specifier.startsWith('.') && isBuiltin(specifier) ? `node:${specifier}` : specifier;
      if (fromHandler && Object.hasOwn(SHIMS, builtin)) return { url: `${VIRTUAL}${encodeURIComponent(builtin)}.mjs`, format: 'module', shortCircuit: true };
      if (builtin.startsWith('node:')) return next(builtin, context);
      const found = fromHandler && locate(specifier, fromHandler);
      if (fromHandler && !found && !/^(\.{0,2}\/|\.{1,2}$|(node|file|data|blob):)/.test(specifier)) throw noPackage(specifier, relative(root, fromHandler));
      return found ? next(pathToFileURL(found).href, context) : next(specifier, context);
    },
    load(url, context, next) {
      if (url.startsWith(VIRTUAL)) return module(SHIMS[decodeURIComponent(url.slice(VIRTUAL.length, -'.mjs'.length))]);
      if (!url.startsWith('file:')) return next(url, context);
      const file = fileURLToPath(url);
      const copy = copyOf(file) === file ? url : pathToFileURL(copyOf(file)).href;
      const required = context.conditions?.includes('require');
      if (file.endsWith('.json')) {
        // With a load hook set, Deno parses a required .json as a script.
        if (required) return { format: 'commonjs', source: `module.exports = ${readText(file)}`, shortCircuit: true };
        return context.importAttributes?.type === 'json' ? next(copy, context) : module(jsonModule(file));
      }
      if (!required && file.includes('/node_modules/') && isCommonJs(file)) return module(commonJsModule(url, file));
      return copy === url ? next(url, context) : renamed(next(copy, context), copy, url);
    },
  });
}
