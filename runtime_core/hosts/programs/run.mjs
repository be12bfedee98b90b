// One run of a handler: numbers its calls, replays recorded results in recorded order, holds what must wait.
import { AsyncLocalStorage } from 'node:async_hooks';
import { CompositeCallError, digest, errorIn, errorOut, toJson } from './values.mjs';

/** Holds `{run, step}` wherever code of a handler is running. */
export const context = new AsyncLocalStorage();
export const currentRun = () => context.getStore()?.run;

const immediate = globalThis.setImmediate;
const realTimeout = globalThis.setTimeout;
const realClear = globalThis.clearTimeout;
const realNow = performance.now.bind(performance);
const never = () => new Promise(() => {});

/** What may be made beside the recorded calls: nothing; calls that had begun in an earlier leg; everything. */
const [REPLAYING, REPLAYED, LIVE] = [0, 1, 2];

/** Resolves when everything that was ready to run has run. */
export const tick = () => new Promise((resolve) => immediate(resolve));

/** sfc32 over a string seed: the same numbers on every pass of a run. */
export function generator(seed) {
  let hash = 1779033703 ^ seed.length;
  for (let i = 0; i < seed.length; i++) {
    hash = Math.imul(hash ^ seed.charCodeAt(i), 3432918353);
    hash = (hash << 13) | (hash >>> 19);
  }
  let [a, b, c, d] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, 0xdeadbeef].map((salt) => hash ^ salt);
  const word = () => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let i = 0; i < 12; i++) word();
  return { word, fraction: () => ((word() & 0x1fffff) * 4294967296 + word()) / 9007199254740992 };
}

export class Run {
  constructor(message, { send, flush, forget, limits }) {
    this.id = message.run;
    this.durable = message.durable;
    this.dry = message.dry; // nothing is executed, nothing is said
    this.startedAt = Math.floor(message.t0);
    this.clock = Math.floor(message.t0);
    this.generator = generator(message.seed);
    this.controller = new AbortController();
    this.send = send;
    this.flush = flush;
    this.forget = forget;
    this.limits = limits;

    this.seq = 0;
    this.queue = message.journal; // results to hand out, in the order in which they have to be handed out
    this.at = 0;
    this.toReplay = message.journal.length;
    this.known = new Map([...message.journal, ...message.started].map((record) => [record.seq, record]));
    this.last = message.journal.concat(message.started).reduce((last, record) => Math.max(last, record.seq), -1);
    this.recorded = new Set(message.journal.map((record) => record.seq));
    this.strict = message.strict; // changed parameters of a recorded call are a divergence
    this.waitsForGo = message.holds;
    this.phase = this.known.size > 0 || this.waitsForGo ? REPLAYING : LIVE;
    this.held = []; // calls without a recorded result: {made, work}
    this.pending = new Map();
    this.reads = new Map();
    this.readCount = 0;
    this.notes = 0;

    this.handled = 0; // messages of this run
    this.isFresh = true; // until the turn of its first message is over
    this.loading = true;
    this.steps = 0;
    this.pumping = false;
    this.restless = true;
    this.stirring = false;
    this.aborted = false;
    this.dead = false;
    this.stuckTimer = undefined;
  }

  get replaying() {
    return this.toReplay > 0;
  }

  random() {
    return this.generator.fraction();
  }

  /** Everything up to the question is synchronous: the order of calls is the order of their numbers. */
  call(kind, name, args, work) {
    if (this.dead) return never();
    if (context.getStore()?.step) {
      return Promise.reject(new CompositeCallError('call-inside-step', `a ctx call (${kind} ${name}) was made inside ctx.step; make it outside`));
    }
    if (this.aborted) return Promise.reject(cancelled());
    const lost = [];
    let text, fingerprint;
    try {
      text = toJson(args, { warn: lost });
      if (text.length > this.limits.value) throw tooLarge('params-too-large', `the parameters of ${kind} ${name}`, text.length, this.limits.value);
      fingerprint = this.durable ? digest(args) : '';
    } catch (error) {
      return Promise.reject(error);
    }
    const seq = this.seq++;
    const made = { seq, kind, name, digest: fingerprint, args: text };
    if (!this.matches(made)) return never();
    for (const what of lost) this.note('lossy', `${kind} ${name} ${what}`);
    return new Promise((resolve, reject) => {
      this.pending.set(seq, { resolve, reject });
      if (this.recorded.has(seq)) return void this.pump();
      this.held.push({ made, work });
      if (this.phase === LIVE) this.release();
      else this.stir();
    });
  }

  /** Makes what may be made by now; the handler that replays may still turn out to be another one. */
  release() {
    const held = this.held;
    this.held = [];
    for (const { made, work } of held) {
      if (this.phase !== LIVE && !this.known.has(made.seq)) this.held.push({ made, work });
      else if (work) work(made);
      else this.ask(made);
    }
  }

  /** Every recorded call was made again and has its result. True if that changed what may be made. */
  endReplay() {
    if (this.phase !== REPLAYING) return false;
    this.phase = this.waitsForGo ? REPLAYED : LIVE;
    if (this.waitsForGo) this.send({ t: 'replayed', run: this.id });
    if (this.held.length === 0) return this.waitsForGo;
    this.enterTurn();
    this.release();
    return true;
  }

  go() {
    if (this.phase === REPLAYED) this.phase = LIVE;
    this.release();
  }

  /** The handler waits for this call no more: one that was not made yet is never made. */
  giveUp(seq) {
    if (this.dead || this.aborted) return;
    this.held = this.held.filter(({ made }) => made.seq !== seq);
    this.send({ t: 'cleared', run: this.id, seq });
    this.stir();
  }

  matches(made) {
    const record = this.known.get(made.seq);
    if (!record) return true;
    const isFixed = this.strict || made.kind === 'input' || made.kind === 'approval';
    const isChanged = record.digest !== made.digest;
    if (record.kind !== made.kind || record.name !== made.name || (isFixed && isChanged)) {
      this.diverge(made.seq, made);
      return false;
    }
    if (isChanged) {
      const value = { seq: made.seq, kind: made.kind, name: made.name, recorded: record.digest, made: made.digest, args: made.args };
      this.send({ t: 'note', run: this.id, kind: 'params-changed', value: toJson(value) });
    }
    return true;
  }

  ask(made, outcome) {
    this.send({ t: 'call', run: this.id, ...made, ...outcome });
    this.stir();
  }

  step(name, work) {
    if (this.dry) return this.call('step', String(name), null);
    return this.call('step', String(name), null, async (made) => {
      this.steps++;
      const began = realNow();
      let outcome;
      try {
        const value = toJson(await context.run({ run: this, step: true }, work));
        if (value.length > this.limits.value) throw tooLarge('result-too-large', `the result of step ${name}`, value.length, this.limits.value);
        outcome = { ok: true, value };
      } catch (error) {
        outcome = { ok: false, value: toJson(errorOut(error, { stack: false })) };
      }
      this.steps--;
      if (!this.dead) this.ask(made, { ...outcome, took: (realNow() - began) / 1000 });
    });
  }

  read(path) {
    if (this.dead) return never();
    if (this.aborted) return Promise.reject(cancelled());
    let text;
    try {
      text = String(path).toWellFormed();
    } catch (error) {
      return Promise.reject(error);
    }
    const id = this.readCount++;
    return new Promise((resolve, reject) => {
      this.reads.set(id, { resolve, reject });
      this.send({ t: 'read', run: this.id, id, path: text });
    });
  }

  readDone(message) {
    const waiting = this.reads.get(message.id);
    this.reads.delete(message.id);
    if (message.ok) waiting?.resolve(message.value);
    else waiting?.reject(errorIn(message.value));
  }

  result(message) {
    if (!this.pending.has(message.seq)) this.recorded.add(message.seq); // it came before its call was made again
    else if (this.held.length > 0) this.held = this.held.filter(({ made }) => made.seq !== message.seq);
    this.queue.push(message);
  }

  /** Hands out one result, waits until nothing is ready, then the next; stops where the call was not made yet. */
  async pump(quiet = false) {
    if (this.pumping) return;
    this.pumping = true;
    if (!quiet) await tick();
    while (!this.dead && this.at < this.queue.length && this.reads.size === 0 && this.pending.has(this.queue[this.at].seq)) {
      realClear(this.stuckTimer);
      this.stuckTimer = undefined;
      this.deliver(this.queue[this.at++]);
      await tick();
    }
    this.pumping = false;
    if (this.at === this.queue.length) {
      this.queue = [];
      this.at = 0;
    }
    this.settle();
  }

  deliver(result) {
    const { resolve, reject } = this.pending.get(result.seq);
    this.pending.delete(result.seq);
    if (this.toReplay > 0) this.toReplay--;
    this.clock = Math.max(this.clock, Math.floor(result.at));
    this.restless = true;
    if (result.ok) resolve(result.value);
    else reject(errorIn(result.value));
  }

  /** Tells the parent that the handler waits; call it only when nothing is ready to run. */
  settle() {
    if (this.dead || this.loading || this.steps > 0 || this.pumping || this.reads.size > 0) return;
    if (this.at < this.queue.length || this.isUnclaimed) {
      if (this.stuckTimer === undefined) this.watchStuck();
      return;
    }
    if (this.endReplay() || this.phase === REPLAYED || !this.restless) return;
    this.restless = false;
    this.send({ t: 'waits', run: this.id, n: this.handled });
  }

  /** Some recorded call was not made yet. */
  get isUnclaimed() {
    return this.phase === REPLAYING && this.seq <= this.last;
  }

  /** A recorded call is not being made: after a while without any that is a divergence. */
  watchStuck() {
    const { at, seq } = this;
    context.exit(() => {
      this.stuckTimer = realTimeout(() => {
        this.stuckTimer = undefined;
        if (this.dead) return;
        if (this.at !== at || this.seq !== seq) this.settle();
        else this.diverge(at < this.queue.length ? this.queue[at].seq : this.unmade(), null);
      }, this.limits.stuck * 1000);
    });
  }

  stir() {
    this.restless = true;
    if (this.stirring) return;
    this.stirring = true;
    tick().then(() => {
      this.stirring = false;
      this.settle();
    });
  }

  /** Says beforehand whose code runs outside of the turn of a message, in case it never comes back. */
  enterTurn() {
    this.send({ t: 'turn', run: this.id });
    this.flush();
    tick().then(() => this.send({ t: 'turn', run: null }));
  }

  note(kind, value) {
    if (this.dead) return;
    const text = toJson(value); // also in a replay: what cannot be written has to fail there as well
    const n = this.notes++;
    if (!this.replaying && !this.dry) this.send({ t: 'note', run: this.id, n, kind, value: text });
  }

  /** The first record whose call the handler never made, when it has ended. */
  unmade() {
    let first = null;
    for (const seq of this.known.keys()) if (seq >= this.seq && (first === null || seq < first)) first = seq;
    return first;
  }

  diverge(seq, made, error = null) {
    this.end();
    this.send({ t: 'diverged', run: this.id, seq, made, error });
  }

  abort(reason) {
    if (this.dead || this.aborted) return;
    this.aborted = true;
    const open = [...this.pending.values(), ...this.reads.values()];
    this.pending.clear();
    this.reads.clear();
    this.queue = [];
    this.at = 0;
    this.toReplay = 0;
    this.phase = LIVE;
    this.held = [];
    context.run({ run: this, step: false }, () => this.controller.abort(cancelled(reason)));
    for (const waiting of open) waiting.reject(cancelled(reason));
  }

  /** From here on no code of the handler gets anything any more: its promises stay pending for ever. */
  end() {
    this.dead = true;
    this.pending.clear();
    this.reads.clear();
    realClear(this.stuckTimer);
    this.forget(this.id);
  }
}

const cancelled = (reason) => Object.assign(new Error(reason || 'the run was cancelled'), { name: 'AbortError', code: 'cancelled' });

export function tooLarge(code, what, size, limit) {
  return Object.assign(new RangeError(`${what} is ${size} characters long; the limit is ${limit}`), { code });
}
