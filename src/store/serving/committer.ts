/**
 * Groups the commits of concurrent requests. An idle committer commits at once; entries that arrive during a commit
 * form the next batch. No timer delays a new entry. Intake and forms share one committer.
 */

import type { Decision, Entry, Outcome } from "./accept.ts";
import type { StoreObservation } from "../observation.ts";
import { Unavailable } from "../pool.ts";
import { reportsUnwritable } from "../unavailable.ts";

export interface CommitterOptions {
  /** Commits a batch, all or nothing except entries with a busy key; {@linkcode Unavailable} means an unknown outcome. */
  readonly accept: (entries: readonly Entry[], deadlineMs: number) => Promise<readonly Decision[]>;
  /** Whether the store accepts writes; if not, commits fail at once. */
  readonly writable: () => boolean;
  readonly nowMs: () => number;
  /** The maximum time from the call of {@linkcode Committer.commit} to its outcome. */
  readonly deadlineMs: number;
  readonly listener: CommitListener;
  readonly observe: (observation: StoreObservation) => void;
}

export interface CommitListener {
  /** Called when a batch is confirmed and at least one of its entries is not busy. */
  onCommitted(entries: readonly Entry[], decisions: readonly Decision[]): void;
  /** Called once per batch of which nothing was committed; at once if the store reports that it rejects writes. */
  onFailed(error: unknown): void;
}

interface WaitingEntry {
  readonly entry: Entry;
  readonly bytes: number;
  readonly deadlineAtMs: number;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

// About 1 MiB of typical leads; larger batches are no faster and delay their first entry.
const batchEntriesMax = 512;
// Bounds the memory of a batch of the largest bodies.
const batchBytesMax = 8 * 1024 * 1024;
// At 10,000 leads per second, less than half a second of work.
const queueEntriesMax = 4096;
const queueBytesMax = 64 * 1024 * 1024;

// Entries closer to their deadline are not started, because they would shorten the deadline of their batch.
const commitMsMin = 1_000;

// If this many single entries are refused and nothing was committed, the store is the cause, and the rest is not tried.
// Chosen: 8, which takes 25 attempts on the largest batch.
const refusedAloneMax = 8;

// The pause before a retry of entries whose key is being revoked; a revocation takes milliseconds.
const busyPauseMs = 50;

interface BatchOutcome {
  /** Whether part of the batch was committed, which means that refusals are caused by the refused entries. */
  isAnyCommitted: boolean;
  refusedAloneCount: number;
  error: unknown;
}

/** Groups entries into commits; one commit runs at a time. */
export class Committer {
  readonly #options: CommitterOptions;
  #queue: WaitingEntry[] = [];
  #queueBytes = 0;
  /** The entries with busy keys, to be retried after the pause. */
  #busy: WaitingEntry[] = [];
  #pause: Promise<void> | null = null;
  #running: Promise<void> | null = null;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /**
   * Commits an entry; resolves to its outcome once the commit is confirmed.
   *
   * @throws {Unavailable} when the store rejects writes or this entry, the queue is full, the deadline has passed, or
   * the outcome is unknown
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

  /** The number of entries that are waiting for a batch. */
  get waiting(): number {
    return this.#queue.length + this.#busy.length;
  }

  /** Rejects the waiting entries, because the store rejects writes. */
  refuseWaiting(): void {
    rejectAll(this.#takeAll());
  }

  /** Resolves when no entry waits and no commit runs. */
  async idle(): Promise<void> {
    while (this.#running !== null || this.#pause !== null) await (this.#running ?? this.#pause);
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      if (batch.length === 0) continue;
      const outcome: BatchOutcome = { isAnyCommitted: false, refusedAloneCount: 0, error: null };
      await this.#commitBatch(batch, outcome);
      if (!outcome.isAnyCommitted && outcome.error !== null && !reportsUnwritable(outcome.error)) {
        this.#options.listener.onFailed(outcome.error);
      }
    }
  }

  #takeAll(): WaitingEntry[] {
    const all = [...this.#queue, ...this.#busy];
    this.#queue = [];
    this.#busy = [];
    this.#queueBytes = 0;
    return all;
  }

  #takeBatch(): WaitingEntry[] {
    const nowMs = this.#options.nowMs();
    const batch: WaitingEntry[] = [];
    let takenCount = 0;
    let bytes = 0;
    for (const waiting of this.#queue) {
      if (batch.length >= batchEntriesMax || (bytes + waiting.bytes > batchBytesMax && batch.length > 0)) {
        break;
      }
      takenCount += 1;
      this.#queueBytes -= waiting.bytes;
      if (waiting.deadlineAtMs - nowMs < commitMsMin) {
        waiting.reject(new Unavailable("too little time was left for the commit"));
        continue;
      }
      bytes += waiting.bytes;
      batch.push(waiting);
    }
    this.#queue = takenCount === this.#queue.length ? [] : this.#queue.slice(takenCount);
    return batch;
  }

  // Retries until the deadline, so that a long lock on a key delays only that key's posts.
  #retry(waiting: WaitingEntry): void {
    this.#busy.push(waiting);
    this.#queueBytes += waiting.bytes;
    this.#pause ??= new Promise<void>((resolve) => setTimeout(resolve, busyPauseMs)).then(() => {
      this.#pause = null;
      this.#queue.push(...this.#busy.splice(0));
      this.#start();
    });
  }

  // Never rejects: resolves, rejects or retries every entry.
  async #commitBatch(batch: readonly WaitingEntry[], outcome: BatchOutcome): Promise<void> {
    const isHopeless = !outcome.isAnyCommitted && outcome.refusedAloneCount >= refusedAloneMax;
    if (isHopeless || !this.#options.writable()) return rejectAll(batch);
    // After a split, a half may start with no time left; it fails no later than the whole batch would have.
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
        outcome.refusedAloneCount += 1;
        observe({ kind: "entry_refused", error });
        batch[0]?.reject(new Unavailable("the store refused this entry", { cause: error }));
      } else {
        // Nothing was committed. Split the batch to find the entry that the server refuses.
        const half = batch.length >> 1;
        await this.#commitBatch(batch.slice(0, half), outcome);
        await this.#commitBatch(batch.slice(half), outcome);
      }
    }
  }
}

function notWritable(): Unavailable {
  return new Unavailable("the store rejects writes");
}

function rejectAll(waiting: readonly WaitingEntry[]): void {
  for (const { reject } of waiting) reject(notWritable());
}
