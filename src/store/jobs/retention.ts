/**
 * The end of what a tenant keeps for some days only: content that is older is removed, a little at a time.
 *
 * @module
 */

import { Pool } from "../pool.ts";

// Bounds one transaction: some 10 ms of work, and the locks that it holds that long.
const batchEvents = 500;
// While there is more: a few thousand events a second at most, beside the intake.
const busyPauseMs = 250;
// Otherwise: days are not counted in minutes.
const idlePauseMs = 60_000;
const deadlineMs = 30_000;

/** What one batch did: events looked at, and those whose content it removed. */
export interface RetentionBatch {
  readonly examined: number;
  readonly removed: number;
}

/**
 * Runs until it is closed. Every process has one; the database lets one work at a time.
 *
 * Chosen: it begins with the first pause and not with the start, so that a process which is restarted all the time
 * does little else than serve.
 */
export class Retention {
  readonly #pool: Pool;
  readonly #onFailure: (error: unknown) => void;
  readonly #onRemoved: (events: number) => void;
  readonly #idlePauseMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;
  /** Removed since that was told last. */
  #untold = 0;

  /** `onRemoved` is told how many events it was, when there is no more to do for now. */
  constructor(
    options: {
      databaseUrl: string;
      onFailure: (error: unknown) => void;
      onRemoved: (events: number) => void;
      idlePauseMs?: number;
    },
  ) {
    this.#onFailure = options.onFailure;
    this.#onRemoved = options.onRemoved;
    this.#idlePauseMs = options.idlePauseMs ?? idlePauseMs;
    this.#pool = new Pool({
      databaseUrl: options.databaseUrl,
      name: "retention",
      connectionsMax: 1,
      statementTimeoutMs: deadlineMs,
    });
    this.#schedule(this.#idlePauseMs);
  }

  #schedule(afterMs: number): void {
    this.#timer = setTimeout(async () => {
      const batch = await this.runOnce();
      const isBusy = batch !== null && batch.examined >= batchEvents;
      if (!this.#closed) this.#schedule(isBusy ? busyPauseMs : this.#idlePauseMs);
    }, afterMs);
  }

  /** Removes a batch; `null` when another process is at it or it failed, which is told and tried again later. */
  async runOnce(): Promise<RetentionBatch | null> {
    try {
      const [row] = await this.#pool.run(
        deadlineMs,
        (sql) =>
          sql<{ examined: number | null; removed: number }[]>`
          select examined, removed from expire_content(${batchEvents})`,
      );
      const { examined = null, removed = 0 } = row ?? {};
      if (examined === null) return null;
      this.#untold += removed;
      if (this.#untold > 0 && examined < batchEvents) {
        this.#onRemoved(this.#untold);
        this.#untold = 0;
      }
      return { examined, removed };
    } catch (error) {
      if (!this.#closed) this.#onFailure(error);
      return null;
    }
  }

  /** Stops. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#pool.close();
  }
}
