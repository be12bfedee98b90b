// The ctx object: a plain object of closures that has a member only where the run may use it.
import { toJson } from './values.mjs';

const when = (value) => {
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'number' || typeof value === 'string') return value;
  throw new TypeError('ctx.sleepUntil needs a Date, milliseconds since 1970 or an ISO time');
};
const nameOf = (value) => (typeof value === 'string' ? value.toWellFormed() : '');

const NUMBERS = ['expiresAt', 'timeoutMs', 'quorum', 'expires_at', 'timeout_ms'];

/** JSON makes null of NaN and of a date that is none, and null is no deadline at all: their names are sent, and refused. */
const question = (args) => {
  if (args === null || typeof args !== 'object') return args ?? {};
  const odd = NUMBERS.filter((key) => (typeof args[key] === 'number' || args[key] instanceof Date) && !Number.isFinite(Number(args[key])));
  return odd.length === 0 ? args : { ...args, ...Object.fromEntries(odd.map((key) => [key, String(args[key])])) };
};

const MEMBERS = {
  callTool: (run) => (name, params) => run.call('tool', nameOf(name), params ?? {}),
  callSubagent: (run) => (name, task, input, opts) => run.call('subagent', nameOf(name), [task, input ?? null, opts ?? null]),
  requestInput: (run) => (args) => run.call('input', '', question(args)),
  waitForApproval: (run) => (prompt) => run.call('approval', '', question(prompt)),
  sleepUntil: (run) => async (time) => void (await run.call('sleep', '', when(time))),
  step: (run) => (name, work) => run.step(name, work),
  now: (run) => () => run.clock,
  random: (run) => () => run.random(),
  request: (run) => (...args) => run.call('request', nameOf(args[0]), args),
  store: (run) => (...args) => run.call('store', nameOf(args[0]), args),
  exec: (run) => (...args) => run.call('exec', '', args),
};

export function makeContext(run, message) {
  const ctx = {
    signal: run.controller.signal,
    sessionId: message.session ?? undefined,
    scopeId: message.scope,
    log: (text) => run.note('log', String(text).toWellFormed().slice(0, run.limits.line)),
    emit: (event) => run.note('emit', event),
    emitReasoning: (text) => run.note('reasoning', String(text).toWellFormed()),
    setLabel: (label) => run.note('label', label),
    env: (name) => (run.durable || !Object.hasOwn(message.env, name) ? undefined : message.env[name]),
    fs: { readRepoFile: (path) => run.read(path) },
  };
  if (message.form === 'tool') ctx.input = message.params;
  for (const name of ['callId', 'attachments', 'agentId']) if (message[name] !== null) ctx[name] = message[name];
  for (const name of message.methods) if (Object.hasOwn(MEMBERS, name)) ctx[name] = MEMBERS[name](run);
  return ctx;
}

/** What a hook gets: it looks and judges. */
export function hookContext(run, { methods, params }) {
  const ctx = { log: (text) => run.note('log', String(text).toWellFormed().slice(0, run.limits.line)), caller: params.caller };
  const look = (verb) => (store, what) => run.call('store', verb, [store, what ?? null]);
  if (methods.includes('store')) ctx.store = { get: look('get'), query: look('query') };
  return ctx;
}

/** A definition with its functions replaced by slots, as JSON text. */
export function describeValue(value) {
  const seen = [];
  const slots = (item) => {
    if (typeof item === 'function') return { $fn: item.name || true };
    if (item === null || typeof item !== 'object' || typeof item.toJSON === 'function' || seen.includes(item)) return item;
    seen.push(item);
    const out = Array.isArray(item) ? item.map(slots) : Object.fromEntries(Object.entries(item).map(([key, part]) => [key, slots(part)]));
    seen.pop();
    return out;
  };
  return toJson(slots(value));
}
