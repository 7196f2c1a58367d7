/** Writes settlements in batches: in the next claim's statement, or in a separate statement if no claim follows soon. */

import type { Settlement } from "../store/delivery/outbox.ts";

const batchMax = 1_000;
// With this many settlements queued, they are written without waiting for a claim.
const flushThreshold = 512;
/**
 * The maximum wait for a claim.
 *
 * Waiting is worthwhile because a separate statement, with its sync, costs as much as a dozen settlements. Chosen: 100 ms,
 * which limits how much is sent again after a crash.
 */
const waitMs = 100;
const retryMs = 500;

export class Settler {
  readonly #settle: (batch: readonly Settlement[]) => Promise<void>;
  readonly #onSettled: (batch: readonly Settlement[]) => void;
  readonly #onFailure: (error: unknown) => void;
  #waiting: Settlement[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #inFlight = new Set<Promise<unknown>>();
  #isWriting = false;
  /** Whether a batch failed and neither the pause before its retry has ended nor a claim retries it. */
  #isPaused = false;
  #isClosed = false;

  constructor(options: {
    settle: (batch: readonly Settlement[]) => Promise<void>;
    onSettled: (batch: readonly Settlement[]) => void;
    onFailure: (error: unknown) => void;
  }) {
    this.#settle = options.settle;
    this.#onSettled = options.onSettled;
    this.#onFailure = options.onFailure;
  }

  add(settlement: Settlement): void {
    this.#waiting.push(settlement);
    if (this.#waiting.length >= flushThreshold || this.#isClosed) this.#write();
    else this.#writeSoon();
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#write();
    }, waitMs);
  }

  /** Whether a batch is being written in a separate statement: a claim could take its rows once their leases expire. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /**
   * Whether more settlements wait than a claim can settle: it could take the rows of the others once their leases expire.
   * They are being written, or will be without a claim.
   */
  get exceedsBatch(): boolean {
    return this.#waiting.length > batchMax;
  }

  /** Passes the next batch to `write`. If `write` rejects, queues the batch again and rethrows. */
  async writeWith<T>(write: (batch: readonly Settlement[]) => Promise<T>): Promise<T> {
    const batch = this.#nextBatch();
    const written = write(batch);
    this.#inFlight.add(written);
    try {
      const result = await written;
      if (batch.length > 0) this.#onSettled(batch);
      return result;
    } catch (error) {
      this.#requeue(batch);
      throw error;
    } finally {
      this.#inFlight.delete(written);
    }
  }

  #nextBatch(): Settlement[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isPaused = false;
    const batch = this.#waiting.slice(0, batchMax);
    this.#waiting = this.#waiting.slice(batch.length);
    if (this.#waiting.length > 0) this.#writeSoon();
    return batch;
  }

  #requeue(batch: readonly Settlement[]): void {
    if (batch.length === 0) return;
    this.#waiting = [...batch, ...this.#waiting];
    if (this.#isClosed) return;
    this.#isPaused = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isPaused = false;
      this.#write();
    }, retryMs);
  }

  #write(): void {
    if (this.#isWriting || this.#isPaused || this.#waiting.length === 0) return;
    this.#isWriting = true;
    this.writeWith(async (batch) => {
      try {
        await this.#settle(batch);
      } finally {
        this.#isWriting = false;
      }
    }).then(() => {
      if (this.#waiting.length >= flushThreshold || this.#isClosed) this.#write();
      else if (this.#waiting.length > 0) this.#writeSoon();
    }, this.#onFailure);
  }

  /** Writes the remaining settlements; gives up at the first failure, after which the leases expire. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#inFlight);
    try {
      while (this.#waiting.length > 0) await this.writeWith((batch) => this.#settle(batch));
    } catch (error) {
      this.#onFailure(error);
    }
    clearTimeout(this.#timer);
  }
}
