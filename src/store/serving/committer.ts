/**
 * Group commit: concurrent requests share a transaction. An idle committer commits at once; what arrives during a
 * commit forms the next batch. There is no timer. Intake and forms share one committer.
 */

import type { Decision, Entry, Outcome } from "./accept.ts";
import type { StoreObservation } from "../observation.ts";
import { Unavailable } from "../pool.ts";
import { reportsUnwritable } from "../unavailable.ts";

export interface CommitterOptions {
  /** Commits a batch, all or nothing except entries of a busy key; {@linkcode Unavailable} means unknown outcome. */
  readonly accept: (entries: readonly Entry[], deadlineMs: number) => Promise<readonly Decision[]>;
  /** Whether the store takes writes; if not, commits fail at once. */
  readonly writable: () => boolean;
  readonly nowMs: () => number;
  /** From {@linkcode Committer.commit} to its outcome. */
  readonly deadlineMs: number;
  readonly listener: CommitListener;
  readonly observe: (observation: StoreObservation) => void;
}

/** Receives the outcome of each batch. */
export interface CommitListener {
  /** A batch is confirmed, and at least one of its entries is not busy. */
  onCommitted(entries: readonly Entry[], decisions: readonly Decision[]): void;
  /**
   * Nothing of a batch was committed. Called once per batch, or at once when the store says that it takes no writes.
   */
  onFailed(error: unknown): void;
}

interface Waiting {
  readonly entry: Entry;
  readonly bytes: number;
  readonly deadlineAtMs: number;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

// About 1 MiB of typical leads; larger batches gained nothing and delay their first entry.
const batchEntriesMax = 512;
// Bounds the memory of a batch of the largest bodies.
const batchBytesMax = 8 * 1024 * 1024;
// At 10,000 leads a second, less than half a second of work.
const queueEntriesMax = 4096;
const queueBytesMax = 64 * 1024 * 1024;

// Entries closer to their deadline are not started: they would cut the commit of their batch short.
const commitMsMin = 1_000;

// After so many entries refused one by one with nothing committed, the store itself refuses, and the rest is not
// tried. Chosen: 8, which takes 25 attempts on the largest batch.
const refusedAloneMax = 8;

// Pause before retrying entries whose key is being revoked, which takes milliseconds.
const busyPauseMs = 50;

/** What splitting a batch has shown so far. */
interface BatchOutcome {
  /** The store committed part of the batch, so refusals are the entries' own fault. */
  isAnyCommitted: boolean;
  refusedAlone: number;
  error: unknown;
}

/** Groups entries into commits; one commit runs at a time. */
export class Committer {
  readonly #options: CommitterOptions;
  #queue: Waiting[] = [];
  #queueBytes = 0;
  /** To be retried after the pause. */
  #busy: Waiting[] = [];
  #pause: Promise<void> | null = null;
  #running: Promise<void> | null = null;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /**
   * Commits an entry and resolves once the commit is confirmed.
   *
   * @throws {Unavailable} when the store takes no writes, the queue is full, the deadline has passed, or the outcome
   * is unknown
   */
  commit(entry: Entry): Promise<Outcome> {
    const bytes = entry.raw.length + entry.lead.length + (entry.extra?.length ?? 0);
    if (!this.#options.writable()) return Promise.reject(notWritable());
    if (this.waiting >= queueEntriesMax || this.#queueBytes + bytes > queueBytesMax) {
      return Promise.reject(new Unavailable("too many commits are waiting"));
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
      // Callers resolved by the last batch may have added entries since the loop checked the queue.
      if (this.#queue.length > 0) this.#start();
    });
  }

  /** How many entries wait for a batch. */
  get waiting(): number {
    return this.#queue.length + this.#busy.length;
  }

  /** Fails the entries that have not been sent, because the store takes no writes. */
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
      const outcome: BatchOutcome = { isAnyCommitted: false, refusedAlone: 0, error: null };
      await this.#settle(batch, outcome);
      if (!outcome.isAnyCommitted && outcome.error !== null && !reportsUnwritable(outcome.error)) {
        this.#options.listener.onFailed(outcome.error);
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

  // Retries until the deadline, so that a long lock on a key delays only that key's posts.
  #retry(waiting: Waiting): void {
    this.#busy.push(waiting);
    this.#queueBytes += waiting.bytes;
    this.#pause ??= new Promise<void>((settle) => setTimeout(settle, busyPauseMs)).then(() => {
      this.#pause = null;
      this.#queue.push(...this.#busy.splice(0));
      this.#start();
    });
  }

  // Never throws: it settles every entry.
  async #settle(batch: readonly Waiting[], outcome: BatchOutcome): Promise<void> {
    // Part of a batch that the store refuses as a whole.
    const isHopeless = !outcome.isAnyCommitted && outcome.refusedAlone >= refusedAloneMax;
    if (isHopeless || !this.#options.writable()) return refuse(batch);
    // After splitting, a half may start with no time left: it fails no later than it would have anyway.
    const deadlineAtMs = Math.min(...batch.map((waiting) => waiting.deadlineAtMs));
    const { accept, listener, nowMs, observe } = this.#options;
    const startedAtMs = nowMs();
    const deadlineMs = Math.max(1, deadlineAtMs - startedAtMs);
    try {
      const entries = batch.map((waiting) => waiting.entry);
      const decisions = await accept(entries, deadlineMs);
      outcome.isAnyCommitted = true;
      let isAllBusy = true;
      for (const [index, waiting] of batch.entries()) {
        const decision = decisions[index] as Decision;
        if (decision.kind === "busy") this.#retry(waiting);
        else {
          waiting.resolve(decision);
          isAllBusy = false;
        }
      }
      observe({ kind: "batch_committed", entries, decisions, durationMs: nowMs() - startedAtMs });
      if (!isAllBusy) listener.onCommitted(entries, decisions);
    } catch (error) {
      outcome.error ??= error;
      observe({ kind: "batch_failed", error });
      if (reportsUnwritable(error)) listener.onFailed(error);
      if (error instanceof Unavailable) {
        for (const waiting of batch) waiting.reject(error);
      } else if (batch.length === 1) {
        outcome.refusedAlone += 1;
        observe({ kind: "entry_refused", error });
        batch[0]?.reject(new Unavailable("the store refused this entry", { cause: error }));
      } else {
        // Refused as a whole, nothing committed: split it to find the faulty entry.
        const half = batch.length >> 1;
        await this.#settle(batch.slice(0, half), outcome);
        await this.#settle(batch.slice(half), outcome);
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
