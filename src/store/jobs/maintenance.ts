/** Aggregates the insert-only counts, makes waiting events due, deletes expired rows, and reads counts for the metrics. */

import type postgres from "postgres";
import { limits } from "../../contract/limits.ts";
import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";

// Limits the rows that a sum must read to those inserted within a few seconds.
const intervalMs = 5_000;
const oldestLookedMax = 2_000;
const openCollisionsMax = 10_000;
// 20 µs each.
const wakingRowsMax = 20_000;
// About once an hour; the rows expire after hours or days.
const expiryEveryRuns = 720;

export class Maintenance {
  readonly #pool: Pool;
  readonly #nowMs: () => number;
  #runs = 0;
  #oldest: { readonly ageS: number; readonly readAtMs: number } | null = null;
  /** The age of the oldest waiting event (`oldest_waiting`) in seconds; 0 if there was none when it was last read. */
  get oldestPendingS(): number {
    return this.#oldest === null ? 0 : this.#oldest.ageS + (this.#nowMs() - this.#oldest.readAtMs) / 1_000;
  }
  /** The number of unsettled collisions with another person's event, as last read; at most {@linkcode openCollisionsMax}. */
  openCollisions = 0;

  constructor(pool: Pool, nowMs: () => number) {
    this.#pool = pool;
    this.#nowMs = nowMs;
  }

  pauseMs(): number {
    return intervalMs;
  }

  /** Runs each task in a statement of its own, so that one that fails stops no other, and then throws the first error. */
  async runOnce(): Promise<void> {
    const isExpiryDue = this.#runs % expiryEveryRuns === 0;
    if (!isExpiryDue) this.#runs += 1;
    const tasks = [
      () => this.#run((sql) => sql`select fold_counts()`),
      () => this.#run((sql) => sql`select trim_heartbeat()`),
      () => this.#run((sql) => sql`select forget_tombstones()`),
      () => this.#run((sql) => sql`select wake_waiting_events(${wakingRowsMax})`),
      () => this.#readOldest(),
      () => this.#countCollisions(),
      ...isExpiryDue ? [() => this.#deleteExpiredCheckouts()] : [],
    ];
    const failures: unknown[] = [];
    for (const task of tasks) await task().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  async #run(statement: (sql: postgres.Sql) => PromiseLike<unknown>): Promise<void> {
    await query(this.#pool, statement);
  }

  async #deleteExpiredCheckouts(): Promise<void> {
    await this.#run((sql) =>
      sql`select forget_checkouts(${limits.checkoutKeyHours}, ${limits.checkoutUnpaidDays})`
    );
    // Only now, so that a failed run is repeated.
    this.#runs += 1;
  }

  async #readOldest(): Promise<void> {
    const row = await queryOne(
      this.#pool,
      (sql) => sql<{ ageS: number }[]>`select age_seconds as "ageS" from oldest_waiting(${oldestLookedMax})`,
    );
    this.#oldest = row === null ? null : { ageS: row.ageS, readAtMs: this.#nowMs() };
  }

  async #countCollisions(): Promise<void> {
    const row = await queryOne(this.#pool, (sql) =>
      sql<{ count: number }[]>`
        select count(*)::int as count from (
          select from collision as c where c.other_person and c.settled_at is null limit ${openCollisionsMax}
        ) as c`);
    this.openCollisions = row?.count ?? 0;
  }
}
