// The program that runs the TypeScript and JavaScript handlers of one repository revision, on Deno.
// It speaks one JSON message per line over the standard streams; each of its own lines starts with RS and a nonce.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describeValue, hookContext, makeContext } from './context.mjs';
import { captureOutput, catchUnhandled, refuseExit, removeStorage, virtualClock, virtualRandom, virtualTimers } from './guards.mjs';
import { installResolver } from './resolver.mjs';
import { context, currentRun, Run, tick, tooLarge } from './run.mjs';
import { CompositeCallError, errorOut, toJson } from './values.mjs';

const PROTO = 1;
const LOAD_MS = 10_000;
const realExit = Deno.exit;
const readInput = Deno.stdin.read.bind(Deno.stdin);
const writeOutput = Deno.stdout.writeSync.bind(Deno.stdout);
const memoryUsage = Deno.memoryUsage;
const cpuUsage = process.cpuUsage;
const realTimeout = setTimeout;
const realClear = clearTimeout;
const immediate = setImmediate;
const now = performance.now.bind(performance);
const encoder = new TextEncoder();

let root = '';
let rootUrl = '';
let codeUrl = null;
let mark = '';
let limits = {};
const runs = new Map();
const modules = new Map();
const hooks = new Map();

// ---- output: everything said in one turn leaves in one write -------------------------------------------
let output = '';

function send(message) {
  if (output === '') immediate(flush);
  output += `${mark}${JSON.stringify(message)}\n`;
}

function flush() {
  let bytes = encoder.encode(output);
  output = '';
  while (bytes.length > 0) bytes = bytes.subarray(writeOutput(bytes));
}

let lineSecond = 0;
let lineCount = 0;

function say(level, text) {
  const second = Math.floor(now() / 1000);
  if (second !== lineSecond) {
    if (lineCount > limits.lines) send({ t: 'note', kind: 'console', value: toJson({ level: 'warn', text: `${lineCount - limits.lines} lines were dropped` }) });
    lineSecond = second;
    lineCount = 0;
  }
  if (++lineCount > limits.lines) return;
  const value = { level, text: text.slice(0, limits.line).toWellFormed() };
  const run = currentRun();
  if (run) run.note('console', value);
  else send({ t: 'note', kind: 'console', value: toJson(value) });
}

function unhandled(reason) {
  const run = currentRun();
  if (run?.aborted || run?.dead) return;
  send({ t: 'note', ...(run && { run: run.id }), kind: 'unhandled', value: toJson(readable(errorOut(reason))) });
}

// ---- loading -------------------------------------------------------------------------------------------
const readable = (error) => {
  const clean = (text) => (codeUrl ? text?.replaceAll(codeUrl, '') : text)?.replaceAll(rootUrl, '');
  return { ...error, message: clean(error.message), ...(error.stack && { stack: clean(error.stack) }) };
};

function loadFailure(entry, reason) {
  const error = readable(errorOut(reason));
  const isPlaced = /\.[cm]?[jt]sx?:\d+:\d+/.test(error.message);
  const place = /^ *at (?:async )?(?:[^(]*\()?((?![a-z]+:)[^()]+\.[cm]?[jt]sx?:\d+:\d+)\)?$/m;
  const at = isPlaced ? '' : (place.exec(error.stack ?? '')?.[1] ?? '');
  return Object.assign(new Error(`${entry} cannot be loaded: ${error.message.replace(/^Error: /, '')}${at && ` at ${at}`}`), { name: error.name, code: 'load-failed', stack: error.stack });
}

/** Runs once per process and outside of every run: the state of a module belongs to no run. */
function load(entry) {
  let loading = modules.get(entry);
  if (!loading) {
    loading = context.exit(() => importWithin(entry));
    modules.set(entry, loading);
    loading.catch(() => modules.delete(entry));
  }
  return loading;
}

async function importWithin(entry) {
  send({ t: 'loading', entry, on: true });
  flush(); // it may never end
  let timer;
  const late = new Promise((_, reject) => {
    timer = realTimeout(() => reject(new Error(`it was not loaded after ${LOAD_MS / 1000} s`)), LOAD_MS);
  });
  try {
    return await Promise.race([import(pathToFileURL(join(root, entry)).href), late]);
  } catch (error) {
    throw loadFailure(entry, error);
  } finally {
    realClear(timer);
    send({ t: 'loading', entry, on: false });
    flush(); // before any run of it begins
  }
}

function functionOf(module) {
  const found = module.default;
  if (typeof found === 'function') return found;
  for (const name of ['handler', 'handle']) if (typeof found?.[name] === 'function') return found[name].bind(found);
  return null;
}

/** The function at a place of the definition that a module exports. */
function slotOf(module, path) {
  let owner;
  let found = module.default;
  for (const key of path) {
    owner = found;
    found = found !== null && typeof found === 'object' ? found[key] : undefined;
  }
  return typeof found === 'function' ? found.bind(owner) : null;
}

const ASKED = { handler: 'export a function as default', tool: 'give the default export a function handle', agent: 'make it a function' };

/** Why the function of a module cannot be called. */
function unusable(module, form, path) {
  const found = form === 'handler' ? functionOf(module) : slotOf(module, path);
  if (!('default' in module)) return 'there is no default export';
  if (!found) return form === 'handler' ? 'the default export is not a function' : `${path.join('.')} is not a function`;
  if (found[Symbol.toStringTag]?.endsWith('GeneratorFunction')) return 'it is a generator and has to return one value';
  return null;
}

const noHandler = (text) => Object.assign(new Error(text), { code: 'no-handler' });

/** Made once per process and configuration, and outside of every run. */
function hookOf(module, entry, config) {
  const key = `${entry} ${JSON.stringify(config)}`;
  let making = hooks.get(key);
  if (!making) {
    const create = module.createHook ?? module.default?.createHook ?? module.default;
    if (typeof create !== 'function') throw noHandler(`${entry} has no hook: export a function createHook(config)`);
    making = context.exit(() => makeHook(create, entry, config));
    hooks.set(key, making);
    making.catch(() => hooks.delete(key));
  }
  return making;
}

async function makeHook(create, entry, config) {
  let hook;
  try {
    hook = await create(config);
  } catch (error) {
    throw loadFailure(entry, error);
  }
  if (typeof hook?.run !== 'function') throw noHandler(`${entry} has no hook: let createHook return an object with a function run`);
  return hook;
}

async function hookWork(module, { entry, params: { config, point, payload } }) {
  const hook = await hookOf(module, entry, config);
  return (ctx) => hook.run(point, payload, ctx);
}

/** What a run calls, with what it is given already in place. */
function workOf(module, message) {
  const { entry, form, path, params } = message;
  const reason = unusable(module, form, path);
  if (reason) throw noHandler(`${entry} has no handler (${reason}): ${ASKED[form]}`);
  if (form === 'handler') return (ctx) => functionOf(module)(params, ctx);
  const found = slotOf(module, path);
  return form === 'tool' ? found : async () => Boolean(await found(params));
}

// ---- runs ----------------------------------------------------------------------------------------------
function start(message) {
  const run = new Run(message, { send, flush, limits, forget: (id) => runs.delete(id) });
  runs.set(run.id, run);
  context.run({ run, step: false }, () => void perform(run, message));
  return run;
}

async function perform(run, message) {
  try {
    const module = await load(message.entry);
    const work = message.form === 'hook' ? await hookWork(module, message) : workOf(module, message);
    run.loading = false;
    if (run.dead) return;
    run.controller.signal.throwIfAborted();
    if (!run.isFresh) run.enterTurn();
    run.stir();
    const value = await work(message.form === 'hook' ? hookContext(run, message) : makeContext(run, message));
    if (!run.dead) finish(run, value);
  } catch (error) {
    const unmade = run.durable && !run.aborted && !run.loading ? run.unmade() : null;
    run.loading = false;
    if (run.dead) return;
    if (unmade === null) conclude(run, { ok: false, error: readable(errorOut(error)) });
    else run.diverge(unmade, null, readable(errorOut(error)));
  }
}

function finish(run, value) {
  const warn = [];
  const text = toJson(value, { warn });
  if (text.length > limits.value) throw tooLarge('result-too-large', 'the result', text.length, limits.value);
  const unmade = run.durable && !run.aborted ? run.unmade() : null;
  if (unmade === null) conclude(run, { ok: true, value: text, warn });
  else run.diverge(unmade, null);
}

function conclude(run, outcome) {
  run.end();
  send({ t: 'done', run: run.id, ...outcome });
}

async function describe(message) {
  try {
    const module = await load(message.entry);
    if (message.form === 'hook') await hookOf(module, message.entry, message.config);
    const problem = message.form === 'agent' || message.form === 'hook' ? null : unusable(module, message.form, ['handle']);
    const found = { value: describeValue(module.default ?? null), exports: Object.keys(module), problem };
    send({ t: 'described', id: message.id, ok: true, ...found });
  } catch (error) {
    const failure = error.code === 'load-failed' || error.code === 'no-handler' ? error : loadFailure(message.entry, error);
    send({ t: 'described', id: message.id, ok: false, error: readable(errorOut(failure)) });
  }
}

// ---- input: one message per turn, so that the first one without an ack names who blocks -----------------
const inbox = [];
let draining = false;
let handled = 0;

function handle(message, run) {
  switch (message.t) {
    case 'run':
      return start(message);
    case 'result':
      run?.result(message);
      break;
    case 'file':
      run?.readDone(message);
      break;
    case 'go':
      run?.go();
      break;
    case 'abort':
      run?.abort(message.reason);
      break;
    case 'drop':
      run?.end();
      break;
    case 'describe':
      void describe(message);
      break;
    case 'stop':
      if (runs.size === 0) realExit(0);
  }
  return run;
}

async function drain() {
  if (draining) return;
  draining = true;
  for (let message = inbox.shift(); message; message = inbox.shift()) {
    const run = handle(message, runs.get(message.run));
    if (run) {
      run.handled++;
      run.restless = true;
    }
    if (message.t !== 'result') await tick();
    if (run) run.isFresh = false;
    if (run && (message.t === 'result' || message.t === 'file')) await run.pump(true);
    handled++;
    run?.settle();
    send({ t: 'ack', n: handled });
  }
  draining = false;
}

function cpuSeconds() {
  const { user, system } = cpuUsage();
  return (user + system) / 1e6;
}

function receive(line) {
  const message = JSON.parse(line);
  if (message.t === 'ping') send({ t: 'pong', n: message.n, memory: memoryUsage().rss, frozen: 0, cpu: cpuSeconds() });
  else inbox.push(message);
}

function initialise(line) {
  const message = JSON.parse(line);
  if (message.proto !== PROTO) realExit(64);
  root = message.root;
  rootUrl = `${pathToFileURL(root).href}/`;
  codeUrl = message.code && `${pathToFileURL(message.code.folder).href}/`;
  mark = `\x1e${message.nonce}`;
  limits = message.limits;
  installResolver(root, message.code, message.packages);
  globalThis.CompositeCallError = CompositeCallError;
  virtualClock();
  virtualRandom();
  virtualTimers();
  captureOutput(say);
  refuseExit();
  removeStorage();
  catchUnhandled(unhandled);
  send({ t: 'ready', proto: PROTO, engine: 'deno', version: Deno.version.deno });
}

async function main() {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(1 << 18);
  let parts = []; // of an unfinished line; no byte is looked at twice
  let take = (line) => {
    initialise(line);
    take = receive;
  };
  for (let size = await readInput(buffer); size !== null; size = await readInput(buffer)) {
    const text = decoder.decode(buffer.subarray(0, size), { stream: true });
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      parts.push(text.slice(from, end));
      take(parts.join(''));
      parts = [];
      from = end + 1;
    }
    parts.push(text.slice(from));
    void drain();
  }
  realExit(0);
}

await main();
