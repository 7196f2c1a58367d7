/**
 * The subscription plans as they are read: by the feed, which keeps a snapshot of them, and by whoever builds the
 * site.
 *
 * @module
 */

import type postgres from "postgres";
import type { Interval } from "../../contract/plans.ts";
import type { StoreObservation } from "../observation.ts";
import type { Pool } from "../pool.ts";

/** One line of what a plan includes. */
export interface PlanItem {
  readonly title: string;
  readonly detail: string;
}

/** A plan. */
export interface Plan {
  readonly slug: string;
  readonly name: string;
  readonly customer: string;
  /** US cents per interval; 0 is free. */
  readonly amountCents: number;
  readonly interval: Interval;
  /** In their own order; unknown members are in {@linkcode Plan.json} only. */
  readonly items: readonly PlanItem[];
  /** The whole plan as JSON text, unknown members as they were written. */
  readonly json: string;
}

const deadlineMs = 2_000;
const order = (sql: postgres.Sql) => sql`order by customer collate "C", amount_cents, slug collate "C"`;

/**
 * All plans, by customer, then price, then slug. Chosen: an order that depends on nothing but the plans, so that every
 * node serves the same bytes.
 *
 * Throws what {@linkcode Pool.run} throws.
 */
export async function readPlans(pool: Pool): Promise<Plan[]> {
  const rows = await pool.run(deadlineMs, (sql) =>
    sql<
      {
        slug: string;
        name: string;
        customer: string;
        amount_cents: number;
        billing_interval: Interval;
        body: string;
      }[]
    >`
      select slug, name, customer, amount_cents, billing_interval, body::text as body from plan ${
      order(sql)
    }`);
  return rows.map((row) => ({
    slug: row.slug,
    name: row.name,
    customer: row.customer,
    amountCents: row.amount_cents,
    interval: row.billing_interval,
    items: (JSON.parse(row.body) as { items: PlanItem[] }).items
      .map(({ title, detail }) => ({ title, detail })),
    json: row.body,
  }));
}

/** All plans in the order of {@linkcode readPlans}, as the text of one JSON array. Throws what it throws. */
export async function readPlansText(pool: Pool): Promise<string> {
  const [row] = await pool.run(deadlineMs, (sql) =>
    sql<{ plans: string }[]>`
      select coalesce(string_agg(body::text, ',' ${order(sql)}), '') as plans from plan`);
  return `[${row?.plans ?? ""}]`;
}

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
