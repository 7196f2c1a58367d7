/**
 * Keeps the hours' totals, from which the report is made, so that a report of months does not read millions of events.
 *
 * @module
 */

import { Pool } from "../pool.ts";

// Bounds one transaction.
const hoursMax = 12;
// While there is more, as after an upgrade: beside everything else that the database does.
const busyPauseMs = 250;
const idlePauseMs = 60_000;
const deadlineMs = 60_000;

/** Runs until it is closed. Every process has one; the database lets one work at a time. */
export class Rollup {
  readonly #pool: Pool;
  readonly #onFailure: (error: unknown) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(options: { databaseUrl: string; onFailure: (error: unknown) => void }) {
    this.#onFailure = options.onFailure;
    this.#pool = new Pool({
      databaseUrl: options.databaseUrl,
      name: "rollup",
      connectionsMax: 1,
      statementTimeoutMs: deadlineMs,
    });
    this.#schedule(idlePauseMs);
  }

  #schedule(pauseMs: number): void {
    this.#timer = setTimeout(async () => {
      const hours = await this.runOnce();
      if (!this.#closed) this.#schedule(hours === hoursMax ? busyPauseMs : idlePauseMs);
    }, pauseMs);
  }

  /** Rolls up a few hours and returns how many; a failure is told and tried again the next time. */
  async runOnce(): Promise<number> {
    try {
      const [row] = await this.#pool.run(
        deadlineMs,
        (sql) => sql<{ hours: number }[]>`select roll_up_hours(${hoursMax}) as hours`,
      );
      return row?.hours ?? 0;
    } catch (error) {
      if (!this.#closed) this.#onFailure(error);
      return 0;
    }
  }

  /** Stops. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#pool.close();
  }
}
