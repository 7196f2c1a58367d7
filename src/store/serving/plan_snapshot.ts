/**
 * The plans as the feed serves them: a snapshot that is read again every second, and that is gone as soon as the store
 * is known to be away, because a feed fails closed.
 *
 * @module
 */

import { readPlansText } from "./plans.ts";
import type { StoreObservation } from "../observation.ts";
import type { Pool } from "../pool.ts";

/** How the snapshot is kept. */
export interface PlanSnapshotOptions {
  readonly pool: Pool;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
  readonly ageMaxMs: number;
  readonly observe: (observation: StoreObservation) => void;
}

const intervalMs = 1_000;
// While the store is away: so that the plans are there again soon after it is.
const retryMs = 200;

/** The plans, read again and again. */
export class PlanSnapshot {
  readonly #options: PlanSnapshotOptions;
  #text: string | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #hasFailed = false;
  #reading: Promise<void> = Promise.resolve();
  #nextReading: Promise<void> | null = null;

  constructor(options: PlanSnapshotOptions) {
    this.#options = options;
  }

  /** The plans as the text of a JSON array; `null` when the store cannot be read, or was not for too long. */
  get current(): string | null {
    const { nowMs, ageMaxMs } = this.#options;
    return nowMs() - this.#readAtMs <= ageMaxMs ? this.#text : null;
  }

  /** Until the next run. */
  pauseMs(): number {
    return this.#hasFailed ? retryMs : intervalMs;
  }

  /**
   * Resolves when the plans have been read by a statement that began after the call. However many ask, one statement is
   * under way at a time.
   */
  renew(): Promise<void> {
    return this.#nextReading ??= this.#reading.then(() => {
      this.#nextReading = null;
      return this.runOnce();
    });
  }

  /** Reads the plans, or loses those it had. */
  runOnce(): Promise<void> {
    return this.#reading = this.#read();
  }

  async #read(): Promise<void> {
    // What was read is as old as the question.
    const readAtMs = this.#options.nowMs();
    try {
      this.#keep(await readPlansText(this.#options.pool), readAtMs);
    } catch (error) {
      this.#lose(error);
    }
  }

  #keep(text: string, readAtMs: number): void {
    // A later question was answered first.
    if (readAtMs < this.#readAtMs) return;
    // The same string, so that whoever compares it with the last one need not read it.
    if (text !== this.#text) this.#text = text;
    this.#readAtMs = readAtMs;
    this.#hasFailed = false;
  }

  #lose(error: unknown): void {
    this.#text = null;
    if (!this.#hasFailed) this.#options.observe({ kind: "plans_unreadable", error });
    this.#hasFailed = true;
  }
}
