/**
 * Leases the limits that this process shares with others like it: one statement for all keys that are due, now and then,
 * and none while the process is alone.
 *
 * @module
 */

import type { Ask, Grant } from "../../limiter/lease.ts";
import type { Leases } from "../../limiter/leases.ts";
import type { Pool } from "../pool.ts";
import { Unavailable } from "../unavailable.ts";

/** What it works with. */
export interface LimitExchangeOptions {
  readonly pool: Pool;
  readonly leases: Leases;
  /** Of this process, a UUID. */
  readonly node: string;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
}

// From one statement to the next: bounds what a node costs the store, whatever comes.
const paceMs = 50;
// Keys that the others lease are told this often, also to a node that leases none.
const tellMs = 500;
const idlePaceMs = 250;
const deadlineMs = 1_000;
// After one that failed.
const retryMs = 250;

interface Row {
  readonly hash: string;
  readonly held: number | null;
  readonly remaining: number | null;
}

/** Asks again and again. */
export class LimitExchange {
  readonly #options: LimitExchangeOptions;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  /** Statements that were answered. */
  answered = 0;
  /** Statements that were not. */
  failed = 0;

  constructor(options: LimitExchangeOptions) {
    this.#options = options;
  }

  /** Calls `run` as soon as it may when a key is to be leased at once. */
  react(run: () => void): void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.#options.leases.react(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        run();
      }, this.#waitMs);
    });
  }

  get #waitMs(): number {
    return Math.max(0, this.#startedAtMs + paceMs - this.#options.nowMs());
  }

  /** Until the next run; `isAnswered` is what the last one has returned. */
  pauseMs(isAnswered: boolean | null): number {
    if (isAnswered === false) return retryMs;
    return this.#options.leases.figures.leased === 0 ? idlePaceMs : this.#waitMs;
  }

  /** Asks for what is due; false when nobody has answered. Throws what is a mistake of ours. */
  async runOnce(): Promise<boolean> {
    const { leases, nowMs } = this.#options;
    const startedAtMs = nowMs();
    this.#startedAtMs = startedAtMs;
    const asked = leases.ask(startedAtMs);
    const isToTell = leases.nodes > 1 && startedAtMs - this.#toldAtMs >= tellMs;
    if (asked.asks.length === 0 && !isToTell) return true;
    try {
      // What was told while nobody listened is told again, and what is told twice changes nothing.
      const sinceMs = isToTell ? Math.min(startedAtMs - this.#toldAtMs, 60_000) + tellMs : null;
      const rows = await this.#lease(asked.asks, sinceMs);
      const atMs = nowMs();
      const grants = grantsIn(rows);
      if (grants.length === 0 && asked.asks.length > 0) {
        // Nothing is told while the tables are too large to work on.
        leases.unanswered(atMs);
        this.failed += 1;
        return false;
      }
      leases.answered(asked, grants, atMs);
      if (isToTell) {
        leases.leasedElsewhere(
          rows.filter(({ held }) => held === null).map(({ hash }) => Number(hash)),
          atMs,
        );
        this.#toldAtMs = startedAtMs;
      }
      this.answered += 1;
      return true;
    } catch (error) {
      leases.unanswered(nowMs());
      this.failed += 1;
      // The heartbeat tells that the store is away.
      if (error instanceof Unavailable) return false;
      throw error;
    }
  }

  #lease(asks: readonly Ask[], sinceMs: number | null): Promise<Row[]> {
    return this.#options.pool.run(deadlineMs, (sql) =>
      sql<Row[]>`
      select * from lease_limits(
        p_node => ${this.#options.node}, p_hash => ${asks.map(({ hash }) => hash)}::bigint[],
        p_per_minute => ${asks.map(({ rate }) => rate.perMinute)}::float8[],
        p_burst => ${asks.map(({ rate }) => rate.burst)}::float8[],
        p_nodes => ${asks.map(({ nodes }) => nodes)}::int[],
        p_unleased => ${asks.map(({ unleased }) => unleased)}::float8[],
        p_spent => ${asks.map(({ spent }) => spent)}::float8[],
        p_confirmed => ${asks.map(({ confirmed }) => confirmed)}::float8[],
        p_owed => ${asks.map(({ owed }) => owed)}::float8[],
        p_wanted => ${asks.map(({ wanted }) => wanted)}::float8[],
        p_cut_off => ${asks.map(({ isCutOff }) => Number(isCutOff))}::int[]::boolean[],
        p_told_ms => ${sinceMs})`);
  }
}

function grantsIn(rows: readonly Row[]): Grant[] {
  return rows.flatMap(({ hash, held, remaining }) =>
    held === null || remaining === null ? [] : [{ hash: Number(hash), held, left: remaining }]
  );
}
