/**
 * What the store needs now and then: the insert-only counts are folded together, the beats are cleared away, and the
 * age of what waits longest is read for the figures. It has a connection of its own, because a large fold may take its time and nothing waits
 * for it.
 *
 * @module
 */

import { limits } from "../../contract/limits.ts";
import { Pool } from "../pool.ts";

// Bounds the rows that summing up has to read: what a few seconds insert.
const intervalMs = 5_000;
const deadlineMs = 30_000;
// What is old by days need not be looked for more often than about every hour.
const forgetEveryRuns = 720;

/** Runs until it is closed. */
export class Upkeep {
  readonly #pool: Pool;
  readonly #onFailure: (error: unknown) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;
  #runs = 0;
  /** When the oldest event of the outbox was accepted, ISO 8601; `null` when nothing waits. */
  oldestPendingAt: string | null = null;

  constructor(options: { databaseUrl: string; onFailure: (error: unknown) => void }) {
    this.#onFailure = options.onFailure;
    this.#pool = new Pool({
      databaseUrl: options.databaseUrl,
      name: "upkeep",
      connectionsMax: 1,
      statementTimeoutMs: deadlineMs,
    });
    this.#schedule();
  }

  #schedule(): void {
    this.#timer = setTimeout(async () => {
      await this.runOnce();
      if (!this.#closed) this.#schedule();
    }, intervalMs);
  }

  /** Folds and reads once; a failure is told and tried again the next time. */
  async runOnce(): Promise<void> {
    try {
      const [row] = await this.#pool.run(deadlineMs, (sql) =>
        sql<{ event_id: string | null }[]>`
          select compact_outbox_tally(), compact_campaign_charge(), compact_unknown_area(), trim_heartbeat(),
            forget_tombstones(),
            (select event_id from outbox order by event_id limit 1) as event_id`);
      this.oldestPendingAt = acceptedAt(row?.event_id ?? null);
      if (this.#runs % forgetEveryRuns === 0) await this.#forget();
      this.#runs += 1;
    } catch (error) {
      if (!this.#closed) this.#onFailure(error);
    }
  }

  async #forget(): Promise<void> {
    await this.#pool.run(
      deadlineMs,
      (sql) => sql`select forget_checkouts(${limits.checkoutKeyHours}, ${limits.checkoutUnpaidDays})`,
    );
  }

  /** Stops. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#pool.close();
  }
}

/** An event id begins with the microseconds since 1970 in 14 hex digits (see the SQL function accept). */
function acceptedAt(eventId: string | null): string | null {
  if (eventId === null) return null;
  return new Date(Number.parseInt(eventId.slice(0, 14), 16) / 1_000).toISOString();
}
