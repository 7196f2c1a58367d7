/**
 * Group commit: concurrent requests share a transaction. A batch goes at once when the committer is
 * idle; what arrives during a running commit forms the next batch. There is no timer.
 *
 * It stands here and not with the intake, because the forms commit through the same one.
 *
 * @module
 */

import type { Decision, Entry, Outcome } from "./accept.ts";
import type { StoreObservation } from "../observation.ts";
import { Unavailable } from "../pool.ts";
import { saysUnwritable } from "../unavailable.ts";

/** How the committer is bounded. */
export interface CommitterOptions {
  /**
   * Commits a batch, all or nothing but for those of a busy key; {@linkcode Unavailable} means that the outcome is
   * unknown.
   */
  readonly accept: (entries: readonly Entry[], deadlineMs: number) => Promise<readonly Decision[]>;
  /** Whether the store is known not to take writes: then a commit fails at once. */
  readonly writable: () => boolean;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
  /** From {@linkcode Committer.commit} to its answer. */
  readonly deadlineMs: number;
  readonly handOver: HandOver;
  readonly observe: (observation: StoreObservation) => void;
}

/** Who goes on from the outcome of a commit. */
export interface HandOver {
  /** A batch is confirmed: what became of each of its entries, at least one of which is not busy. */
  committed(entries: readonly Entry[], decisions: readonly Decision[]): void;
  /**
   * The failure of a batch of which nothing could be committed, once; of whatever says that the store takes no writes at
   * all, at once.
   */
  failed(error: unknown): void;
}

interface Waiting {
  readonly entry: Entry;
  readonly bytes: number;
  readonly deadlineAtMs: number;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

// A batch of 512 of typical leads is about 1 MiB; larger ones gained nothing and delay their first entry.
const batchEntriesMax = 512;
// Bounds the memory of a batch of the largest bodies.
const batchBytesMax = 8 * 1024 * 1024;
// What may wait: at 10,000 leads a second, less than half a second of work.
const queueEntriesMax = 4096;
const queueBytesMax = 64 * 1024 * 1024;

// An entry closer to its deadline than this is not begun: it would cut the commit of its neighbours short.
const commitMsMin = 1_000;

// Entries that were refused each alone, and nothing of their batch committed: then it is the store that refuses, and the
// rest is not tried. Chosen: 8, which are 25 tries of the largest batch; fewer would let fewer poisonous entries pass for it.
const refusedAloneMax = 8;

// Between two tries of what waits for its key's revocation, which takes milliseconds.
const busyPauseMs = 50;

/** What halving a batch has shown so far. */
interface Trial {
  /** The store took something of it: what it refused is the refused entries' own. */
  isTaken: boolean;
  refusedAlone: number;
  /** The first failure. */
  error: unknown;
}

/** Batches entries into commits; one commit runs at a time. */
export class Committer {
  readonly #options: CommitterOptions;
  #queue: Waiting[] = [];
  #queueBytes = 0;
  /** To be tried again when the pause is over. */
  #busy: Waiting[] = [];
  #pause: Promise<void> | null = null;
  #running: Promise<void> | null = null;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /**
   * Commits an entry together with whatever else waits, and resolves once the commit is confirmed.
   *
   * @throws {Unavailable} when the store is known not to take writes, the queue is full, or the
   * deadline has passed; also when the commit's outcome is unknown
   */
  commit(entry: Entry): Promise<Outcome> {
    const bytes = entry.raw.length + entry.lead.length + (entry.extra?.length ?? 0);
    if (!this.#options.writable()) return Promise.reject(notWritable());
    if (this.waiting >= queueEntriesMax || this.#queueBytes + bytes > queueBytesMax) {
      return Promise.reject(new Unavailable("too many commits wait"));
    }
    return new Promise((resolve, reject) => {
      const deadlineAtMs = this.#options.nowMs() + this.#options.deadlineMs;
      this.#queue.push({ entry, bytes, deadlineAtMs, resolve, reject });
      this.#queueBytes += bytes;
      this.#start();
    });
  }

  #start(): void {
    this.#running ??= this.#drain().finally(() => {
      this.#running = null;
      // Whoever was answered by the last batch may have come again since the loop looked at the queue.
      if (this.#queue.length > 0) this.#start();
    });
  }

  /** How many entries wait for the next batch. */
  get waiting(): number {
    return this.#queue.length + this.#busy.length;
  }

  /** Fails what waits and has not been sent: the store is known not to take writes. */
  refuseWaiting(): void {
    refuse(this.#takeAll());
  }

  /** Resolves when nothing waits and nothing runs. */
  async idle(): Promise<void> {
    while (this.#running !== null || this.#pause !== null) await (this.#running ?? this.#pause);
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      if (batch.length === 0) continue;
      const trial: Trial = { isTaken: false, refusedAlone: 0, error: null };
      await this.#settle(batch, trial);
      if (!trial.isTaken && trial.error !== null && !saysUnwritable(trial.error)) {
        this.#options.handOver.failed(trial.error);
      }
    }
  }

  #takeAll(): Waiting[] {
    const all = [...this.#queue, ...this.#busy];
    this.#queue = [];
    this.#busy = [];
    this.#queueBytes = 0;
    return all;
  }

  #takeBatch(): Waiting[] {
    const nowMs = this.#options.nowMs();
    const batch: Waiting[] = [];
    let taken = 0;
    let bytes = 0;
    for (const waiting of this.#queue) {
      if (batch.length >= batchEntriesMax || (bytes + waiting.bytes > batchBytesMax && batch.length > 0)) {
        break;
      }
      taken += 1;
      this.#queueBytes -= waiting.bytes;
      if (waiting.deadlineAtMs - nowMs < commitMsMin) {
        waiting.reject(new Unavailable("the deadline passed before the commit began"));
        continue;
      }
      bytes += waiting.bytes;
      batch.push(waiting);
    }
    this.#queue = taken === this.#queue.length ? [] : this.#queue.slice(taken);
    return batch;
  }

  // Until its deadline, so that whoever holds a key's lock for long is waited for by the posts of this key alone.
  #tryAgain(waiting: Waiting): void {
    this.#busy.push(waiting);
    this.#queueBytes += waiting.bytes;
    this.#pause ??= new Promise<void>((settle) => setTimeout(settle, busyPauseMs)).then(() => {
      this.#pause = null;
      this.#queue.push(...this.#busy.splice(0));
      this.#start();
    });
  }

  // Never throws: each entry is settled one way or the other.
  async #settle(batch: readonly Waiting[], trial: Trial): Promise<void> {
    // What was left of a refused batch is not tried on a store that is known by now to refuse everything.
    const isHopeless = !trial.isTaken && trial.refusedAlone >= refusedAloneMax;
    if (isHopeless || !this.#options.writable()) return refuse(batch);
    // After bisecting, a half may begin with no time left: it fails as late as it would have anyway.
    const deadlineAtMs = Math.min(...batch.map((waiting) => waiting.deadlineAtMs));
    const { accept, handOver, nowMs, observe } = this.#options;
    const startedAtMs = nowMs();
    const deadlineMs = Math.max(1, deadlineAtMs - startedAtMs);
    try {
      const entries = batch.map((waiting) => waiting.entry);
      const decisions = await accept(entries, deadlineMs);
      trial.isTaken = true;
      let isAllBusy = true;
      for (const [index, waiting] of batch.entries()) {
        const decision = decisions[index] as Decision;
        if (decision.kind === "busy") this.#tryAgain(waiting);
        else {
          waiting.resolve(decision);
          isAllBusy = false;
        }
      }
      observe({ kind: "batch_committed", entries, decisions, durationMs: nowMs() - startedAtMs });
      if (!isAllBusy) handOver.committed(entries, decisions);
    } catch (error) {
      trial.error ??= error;
      observe({ kind: "batch_failed", error });
      if (saysUnwritable(error)) handOver.failed(error);
      if (error instanceof Unavailable) {
        for (const waiting of batch) waiting.reject(error);
      } else if (batch.length === 1) {
        trial.refusedAlone += 1;
        observe({ kind: "entry_refused", error });
        batch[0]?.reject(new Unavailable("the store refused this entry", { cause: error }));
      } else {
        // Refused whole, nothing committed: halve it, so that one entry's trouble stays its own.
        const half = batch.length >> 1;
        await this.#settle(batch.slice(0, half), trial);
        await this.#settle(batch.slice(half), trial);
      }
    }
  }
}

function notWritable(): Unavailable {
  return new Unavailable("the store takes no writes");
}

function refuse(waiting: readonly Waiting[]): void {
  for (const { reject } of waiting) reject(notWritable());
}
