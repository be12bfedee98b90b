// What a handler finds in place of the real clock, timers, random numbers, console, standard streams and exits.
import { context, currentRun } from './run.mjs';
import { toJson } from './values.mjs';

const durableRun = () => {
  const store = context.getStore();
  return store && store.run.durable && !store.step ? store.run : null;
};

/** A durable run lives in its own time: that of the last result it was given. */
export function virtualClock() {
  const RealDate = Date;
  const realNow = Date.now;
  const now = () => durableRun()?.clock ?? realNow();
  const VirtualDate = new Proxy(RealDate, {
    apply: () => new VirtualDate().toString(),
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget === VirtualDate ? target : newTarget),
  });
  RealDate.now = now;
  RealDate.prototype.constructor = VirtualDate;
  globalThis.Date = VirtualDate;

  const performanceNow = performance.now.bind(performance);
  performance.now = () => {
    const run = durableRun();
    return run ? run.clock - run.startedAt : performanceNow();
  };
}

function fillFrom(run, array) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let i = 0; i < bytes.length; i++) bytes[i] = run.generator.word() >>> 24;
  return array;
}

function uuidFrom(run) {
  const bytes = fillFrom(run, new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export function virtualRandom() {
  const realRandom = Math.random;
  const realUuid = crypto.randomUUID.bind(crypto);
  const realValues = crypto.getRandomValues.bind(crypto);
  Math.random = () => durableRun()?.random() ?? realRandom();
  crypto.randomUUID = () => {
    const run = durableRun();
    return run ? uuidFrom(run) : realUuid();
  };
  crypto.getRandomValues = (array) => {
    const run = durableRun();
    return run ? fillFrom(run, array) : realValues(array);
  };
}

class VirtualTimer {
  constructor(run, call, delay, args, repeat) {
    this.run = run;
    this.live = true;
    this.arm(call, delay, args, repeat);
  }
  arm(call, delay, args, repeat) {
    const seq = this.run.seq;
    this.seq = seq;
    this.run.call('timer', '', Math.max(0, Number(delay) || 0)).then(
      () => {
        if (!this.live) return;
        if (repeat) this.arm(call, delay, args, repeat);
        else this.live = false;
        call(...args);
      },
      () => {},
    );
  }
  clear() {
    if (!this.live) return;
    this.live = false;
    this.run.giveUp(this.seq);
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  hasRef() {
    return true;
  }
}

/** In a durable run a timer is a journaled call; a timer of a dropped run never fires. */
export function virtualTimers() {
  const real = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
  const abortAfter = AbortSignal.timeout;
  const ofRun = (run, call) => (...args) => {
    if (run.dead) return;
    run.enterTurn();
    call(...args);
  };
  const unlessDead = (run, call) => (typeof call === 'function' && run ? ofRun(run, call) : call);
  const starting = (name, repeat, hasDelay) => (call, ...rest) => {
    const durable = durableRun();
    if (!durable) return real[name](unlessDead(currentRun(), call), ...rest);
    if (typeof call !== 'function') throw new TypeError('a timer needs a function');
    return new VirtualTimer(durable, call, hasDelay ? rest[0] : 0, hasDelay ? rest.slice(1) : rest, repeat);
  };
  const clearing = (name) => (timer) => (timer instanceof VirtualTimer ? timer.clear() : real[name](timer));
  Object.assign(globalThis, {
    setTimeout: starting('setTimeout', false, true),
    setInterval: starting('setInterval', true, true),
    setImmediate: starting('setImmediate', false, false),
    clearTimeout: clearing('clearTimeout'),
    clearInterval: clearing('clearInterval'),
    clearImmediate: clearing('clearImmediate'),
  });
  AbortSignal.timeout = (delay) => {
    if (!durableRun()) return abortAfter.call(AbortSignal, delay);
    const controller = new AbortController();
    globalThis.setTimeout(() => controller.abort(new DOMException('Signal timed out.', 'TimeoutError')), delay);
    return controller.signal;
  };
}

const shown = (value) => {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return String(value.stack ?? value);
  try {
    return toJson(value);
  } catch {
    return String(value);
  }
};

/** Console and standard streams become notes; `say(level, text)` takes them, `exit` refuses an end of the process. */
export function captureOutput(say) {
  const line = (level) => (...parts) => say(level, parts.map(shown).join(' '));
  for (const level of ['log', 'info', 'warn', 'error', 'debug', 'trace']) console[level] = line(level);
  const stream = (output, level) => {
    const decoder = new TextDecoder();
    output.writeSync = (bytes) => {
      say(level, decoder.decode(bytes));
      return bytes.length;
    };
    output.write = async (bytes) => output.writeSync(bytes);
  };
  stream(Deno.stdout, 'stdout');
  stream(Deno.stderr, 'stderr');
  Deno.stdin.read = async () => null;
  Deno.stdin.readSync = () => null;
  const nodeStream = (level) => (chunk, encoding, done) => {
    say(level, typeof chunk === 'string' ? chunk : new TextDecoder().decode(chunk));
    const finished = typeof encoding === 'function' ? encoding : done;
    if (finished) queueMicrotask(finished);
    return true;
  };
  process.stdout.write = nodeStream('stdout');
  process.stderr.write = nodeStream('stderr');
}

export function refuseExit() {
  const refusal = (name) => (code) => {
    throw Object.assign(new Error(`${name}(${code ?? ''}) is not available in a handler; return a value or throw instead`), { code: 'handler-exit' });
  };
  Deno.exit = refusal('exit');
  globalThis.close = refusal('close');
  for (const name of ['exit', 'reallyExit', 'abort']) process[name] = refusal(name);
  for (const name of ['alert', 'confirm', 'prompt']) delete globalThis[name];
}

/** What the engine would keep on disk for one program, which is the same for every repository. */
export function removeStorage() {
  for (const name of ['localStorage', 'sessionStorage', 'caches']) delete globalThis[name];
  delete Deno.openKv;
}

export function catchUnhandled(report) {
  globalThis.addEventListener('unhandledrejection', (event) => {
    event.preventDefault();
    report(event.reason);
  });
  globalThis.addEventListener('error', (event) => {
    event.preventDefault();
    report(event.error);
  });
}
