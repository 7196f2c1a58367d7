/**
 * Settles in batches: what finishes while a settlement runs forms the next one. There is no timer.
 *
 * @module
 */

import type { Settlement } from "../store/delivery/outbox.ts";

// Bounds one statement; what is beyond it goes into the next.
const batchMax = 1_000;
// While the store is away. Settlements are kept: the tier has the event, and every repeat would be ours.
const retryMs = 500;

/** Collects settlements and writes them. */
export class Settler {
  readonly #settle: (batch: readonly Settlement[]) => Promise<void>;
  readonly #onSettled: (batch: readonly Settlement[]) => void;
  readonly #onFailure: (error: unknown) => void;
  #waiting: Settlement[] = [];
  #running: Promise<void> | null = null;
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
    this.#running ??= this.#drain().finally(() => {
      this.#running = null;
    });
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchMax);
      try {
        await this.#settle(batch);
        this.#waiting = this.#waiting.slice(batch.length);
        this.#onSettled(batch);
      } catch (error) {
        this.#onFailure(error);
        if (this.#isClosed) return;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  /** Writes what is left, or gives up at the first failure: the leases run out then. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }
}
