// What crosses the border between a handler and the runtime: values as JSON text, errors, digests.
import { createHash } from 'node:crypto';

const MAX_DEPTH = 500;

export class CompositeCallError extends Error {
  constructor(code, message, fields) {
    super(message);
    this.name = 'CompositeCallError';
    this.code = code;
    if (fields) Object.assign(this, fields);
  }
}

export class NotSerializable extends TypeError {
  constructor(path, reason) {
    super(`the value at ${path} ${reason}, which cannot be saved as JSON`);
    this.code = 'not-serializable';
  }
}

const pathOf = (keys) =>
  keys.reduce((path, key) => {
    if (typeof key === 'number') return `${path}[${key}]`;
    return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
  }, '$');

function emptiedKind(value) {
  if (value instanceof Map || value instanceof Set || value instanceof WeakMap || value instanceof WeakSet) return value.constructor.name;
  if (value instanceof Promise) return 'Promise';
  if (value instanceof RegExp) return 'RegExp';
  if (value instanceof ArrayBuffer) return 'ArrayBuffer';
  return null;
}

const errorFields = (error) => ({ ...error, name: String(error.name), message: String(error.message) });

/** JSON.stringify semantics; `warn` collects what was lost, and what cannot be written at all is an error with its path. */
export function toJson(value, { sorted = false, warn } = {}) {
  const keys = [];
  const parents = new Set();
  const lost = (what) => warn?.push(`${pathOf(keys)}: ${what}`);
  const refuse = (reason) => {
    throw new NotSerializable(pathOf(keys), reason);
  };
  const guarded = (read, what) => {
    try {
      return read();
    } catch (error) {
      return refuse(`has ${what} that failed (${error?.message ?? error})`);
    }
  };

  const writeArray = (array) => {
    const parts = new Array(array.length);
    for (let i = 0; i < array.length; i++) {
      keys.push(i);
      parts[i] = write(guarded(() => array[i], 'an item')) ?? 'null';
      keys.pop();
    }
    return `[${parts.join()}]`;
  };

  const writeObject = (object) => {
    const names = guarded(() => Object.keys(object), 'keys');
    const parts = [];
    for (const name of sorted ? names.sort() : names) {
      keys.push(name);
      const text = write(guarded(() => object[name], 'a getter'));
      keys.pop();
      if (text !== undefined) parts.push(`${JSON.stringify(name)}:${text}`);
    }
    return `{${parts.join()}}`;
  };

  const write = (item) => {
    switch (typeof item) {
      case 'string':
      case 'boolean':
        return JSON.stringify(item);
      case 'number':
        if (!Number.isFinite(item)) lost(`${item} became null`);
        return JSON.stringify(item);
      case 'undefined':
        return undefined;
      case 'bigint':
        return refuse('is a BigInt');
      case 'function':
      case 'symbol':
        lost(`a ${typeof item} was dropped`);
        return undefined;
    }
    if (item === null) return 'null';
    if (parents.has(item)) refuse('contains itself');
    if (keys.length > MAX_DEPTH) refuse(`is nested deeper than ${MAX_DEPTH} levels`);
    parents.add(item);
    let text;
    const toJSON = guarded(() => item.toJSON, 'a getter');
    if (typeof toJSON === 'function') text = write(guarded(() => toJSON.call(item, String(keys.at(-1) ?? '')), 'a toJSON'));
    else if (item instanceof Number || item instanceof String || item instanceof Boolean) text = write(item.valueOf());
    else if (Array.isArray(item)) text = writeArray(item);
    else {
      const kind = emptiedKind(item);
      if (kind) lost(`the contents of a ${kind} are not saved`);
      text = writeObject(item instanceof Error ? errorFields(item) : item);
    }
    parents.delete(item);
    return text;
  };

  return write(value) ?? 'null';
}

export const digest = (value) => createHash('sha256').update(toJson(value, { sorted: true })).digest('hex');

const safeText = (value) => {
  try {
    return String(value).toWellFormed();
  } catch {
    return '(no text)';
  }
};

function thrownText(value) {
  if (['undefined', 'symbol', 'function'].includes(typeof value)) return `it threw ${safeText(value).slice(0, 2000)}`;
  try {
    return `it threw ${toJson(value).slice(0, 2000)}`;
  } catch {
    return `it threw ${safeText(value)}`;
  }
}

/** What a getter or a proxy refuses to say is not there. */
function at(value, key) {
  try {
    return value[key];
  } catch {
    return undefined;
  }
}

function isError(value) {
  try {
    return value instanceof Error || typeof value?.message === 'string';
  } catch {
    return typeof at(at(value, 'constructor'), 'name') === 'string';
  }
}

/** The message is never empty: it falls back to the name of an error, and to the JSON of what is none. Never throws. */
export function errorOut(error, { stack = true } = {}) {
  if (typeof error === 'string' && error !== '') return { name: 'Error', message: safeText(error) };
  if (!isError(error)) return { name: 'Error', message: thrownText(error) };
  const kind = at(at(error, 'constructor'), 'name');
  const given = at(error, 'name') ?? kind ?? '';
  const name = safeText(given) || 'Error';
  const out = { name, message: safeText(at(error, 'message') ?? '') || (name === 'Error' && safeText(kind ?? '')) || name };
  const code = at(error, 'code');
  if (code !== undefined && code !== null) out.code = safeText(code);
  if (given === 'CompositeCallError') {
    for (const field of ['toolName', 'agentName', 'cause']) if (typeof at(error, field) === 'string') out[field] = at(error, field);
    const cause = at(error, 'cause');
    const causeCode = at(cause, 'code');
    if (typeof causeCode === 'string') out.cause = { name: safeText(at(cause, 'name') ?? 'Error'), message: safeText(at(cause, 'message') ?? ''), code: safeText(causeCode) };
  }
  const trace = stack && at(error, 'stack');
  if (trace) out.stack = safeText(trace).split('\n').slice(0, 12).join('\n');
  return out;
}

const BUILT_IN = { TypeError, RangeError, SyntaxError, ReferenceError, URIError, EvalError };

export function errorIn(record) {
  const { name = 'Error', message = '', code, stack: _, ...fields } = record ?? {};
  if (name === 'CompositeCallError') return new CompositeCallError(code, message, fields);
  const error = new (BUILT_IN[name] ?? Error)(message);
  if (error.name !== name) Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  if (code !== undefined) error.code = code;
  return Object.assign(error, fields);
}
