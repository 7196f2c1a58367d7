/** Settles in batches: in the next claim's statement, or separately if none comes soon. */

import type { Settlement } from "../store/delivery/outbox.ts";

// Settlements per statement.
const batchMax = 1_000;
// A batch of this size gets its own statement.
const batchAlone = 512;
/**
 * How long a settlement may wait; if the process dies meanwhile, the event is sent again.
 *
 * Chosen, because a statement with its sync costs as much as a dozen settlements.
 */
const gatherMs = 100;
// While the store is unavailable, settlements are kept, so that nothing is sent twice.
const retryMs = 500;

/** Collects settlements and writes them. */
export class Settler {
  readonly #settle: (batch: readonly Settlement[]) => Promise<void>;
  readonly #onSettled: (batch: readonly Settlement[]) => void;
  readonly #onFailure: (error: unknown) => void;
  #waiting: Settlement[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The batch being written. */
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

  /** Adds a settlement. */
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

  /** Writes waiting settlements with another statement; if `write` throws, keeps them and rethrows. */
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
    // They are written separately, without another claim.
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
      // Settlements that came meanwhile may be overdue.
      else if (this.#waiting.length > 0) this.#writeSoon();
    }, (error) => {
      this.#isAlone = false;
      this.#onFailure(error);
    });
  }

  /** Writes the rest, or gives up at the first failure; the leases expire then. */
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
