/**
 * Settles in batches: with the next claim, in the same statement, or alone when none comes soon.
 *
 * @module
 */

import type { Settlement } from "../store/delivery/outbox.ts";

// Bounds one statement; what is beyond it goes into the next.
const batchMax = 1_000;
// So many are worth a statement of their own.
const batchAlone = 512;
/**
 * How long one may wait for others and for a claim. Nobody waits for it, but what a process has delivered and not
 * settled when it dies is sent again.
 *
 * Chosen: a statement and its sync of the disk cost as much as the settlements of a dozen deliveries.
 */
const gatherMs = 100;
// While the store is away. Settlements are kept: the tier has the event, and every repeat would be ours.
const retryMs = 500;

/** Collects settlements and writes them. */
export class Settler {
  readonly #settle: (batch: readonly Settlement[]) => Promise<void>;
  readonly #onSettled: (batch: readonly Settlement[]) => void;
  readonly #onFailure: (error: unknown) => void;
  #waiting: Settlement[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What is being written, by itself or with a claim. */
  readonly #running = new Set<Promise<unknown>>();
  #isAlone = false;
  #isAway = false;
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

  /** Takes a settlement. */
  add(settlement: Settlement): void {
    this.#waiting.push(settlement);
    if (this.#waiting.length >= batchAlone || this.#isClosed) this.#writeAlone();
    else this.#writeSoon();
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#writeAlone();
    }, gatherMs);
  }

  /** Writes what waits together with something else; throws what `write` throws, and keeps it then. */
  async carry<T>(write: (batch: readonly Settlement[]) => Promise<T>): Promise<T> {
    const batch = this.#isAway ? [] : this.#take();
    const written = write(batch);
    this.#running.add(written);
    try {
      const answer = await written;
      if (batch.length > 0) this.#onSettled(batch);
      return answer;
    } catch (error) {
      this.#keep(batch);
      throw error;
    } finally {
      this.#running.delete(written);
    }
  }

  #take(): Settlement[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#waiting.slice(0, batchMax);
    this.#waiting = this.#waiting.slice(batch.length);
    if (this.#waiting.length > 0) this.#writeSoon();
    return batch;
  }

  #keep(batch: readonly Settlement[]): void {
    if (batch.length === 0) return;
    this.#waiting = [...batch, ...this.#waiting];
    if (this.#isClosed) return;
    // Until they are written by themselves, so that they cost no further claim.
    this.#isAway = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isAway = false;
      this.#writeAlone();
    }, retryMs);
  }

  #writeAlone(): void {
    if (this.#isAlone || this.#isAway || this.#waiting.length === 0) return;
    this.#isAlone = true;
    this.carry((batch) => this.#settle(batch)).then(() => {
      this.#isAlone = false;
      if (this.#waiting.length >= batchAlone || this.#isClosed) this.#writeAlone();
      // The time of what came meanwhile may have been over while nothing else could be written.
      else if (this.#waiting.length > 0) this.#writeSoon();
    }, (error) => {
      this.#isAlone = false;
      this.#onFailure(error);
    });
  }

  /** Writes what is left, or gives up at the first failure: the leases run out then. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
    this.#isAway = false;
    try {
      while (this.#waiting.length > 0) await this.carry((batch) => this.#settle(batch));
    } catch (error) {
      this.#onFailure(error);
    }
    clearTimeout(this.#timer);
  }
}
