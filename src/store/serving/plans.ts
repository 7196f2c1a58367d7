/** Reads the subscription plans, for the feed's snapshot and for the site's build. */

import type postgres from "postgres";
import type { Interval } from "../../contract/plans.ts";
import type { StoreObservation } from "../observation.ts";
import type { Pool } from "../pool.ts";

export interface PlanItem {
  readonly title: string;
  readonly detail: string;
}

export interface Plan {
  readonly slug: string;
  readonly name: string;
  readonly customer: string;
  /** The name of the tenant with that slug; without one, the slug. */
  readonly customerName: string;
  /** US cents per interval; 0 is free. */
  readonly amountCents: number;
  readonly interval: Interval;
  /** Without unknown members, which only {@linkcode Plan.json} has. */
  readonly items: readonly PlanItem[];
  /** The whole plan as JSON text, unknown members as written. */
  readonly json: string;
}

const deadlineMs = 2_000;
const order = (sql: postgres.Sql) => sql`order by p.customer collate "C", p.amount_cents, p.slug collate "C"`;

/** All plans, by customer, price and slug, so that every node serves the same bytes. */
export async function readPlans(pool: Pool): Promise<Plan[]> {
  const rows = await pool.run(deadlineMs, (sql) =>
    sql<Omit<Plan, "items">[]>`
      select
        p.slug, p.name, p.customer, coalesce(t.name, p.customer) as "customerName", p.amount_cents as "amountCents",
        p.billing_interval as interval, p.body::text as json
      from plan as p left join tenant as t on t.slug = p.customer ${order(sql)}`);
  return rows.map((row) => ({
    ...row,
    items: (JSON.parse(row.json) as { items: PlanItem[] }).items.map(({ title, detail }) => ({
      title,
      detail,
    })),
  }));
}

interface PlansText {
  /** All plans as one JSON array, in the order of {@linkcode readPlans}. */
  readonly text: string;
  /** The names of the tenants that offer them, by slug. */
  readonly names: Readonly<Record<string, string>>;
}

async function readPlansText(pool: Pool): Promise<PlansText> {
  const [row] = await pool.run(deadlineMs, (sql) =>
    sql<{ plans: string; names: PlansText["names"] }[]>`
      select
        coalesce(string_agg(p.body::text, ',' ${order(sql)}), '') as plans,
        coalesce(json_object_agg(t.slug, t.name) filter (where t.slug is not null), '{}') as names
      from plan as p left join tenant as t on t.slug = p.customer`);
  return { text: `[${row?.plans ?? ""}]`, names: row?.names ?? {} };
}

export interface PlanSnapshotOptions {
  readonly pool: Pool;
  readonly nowMs: () => number;
  readonly ageMaxMs: number;
  readonly observe: (observation: StoreObservation) => void;
}

const intervalMs = 1_000;
// While the store is unavailable: plans return soon after it does.
const retryMs = 200;

export class PlanSnapshot {
  readonly #options: PlanSnapshotOptions;
  #text: string | null = null;
  #names: PlansText["names"] = {};
  #readAtMs = Number.NEGATIVE_INFINITY;
  #hasFailed = false;
  #reading: Promise<void> = Promise.resolve();
  #nextReading: Promise<void> | null = null;

  constructor(options: PlanSnapshotOptions) {
    this.#options = options;
  }

  /** The plans as a JSON array; `null` when the store cannot be read, or has not been read for too long. */
  get current(): string | null {
    const { nowMs, ageMaxMs } = this.#options;
    return nowMs() - this.#readAtMs <= ageMaxMs ? this.#text : null;
  }

  /** The name of a tenant that offers a plan; for any other `customer`, the same text. */
  customerName(customer: string): string {
    return Object.hasOwn(this.#names, customer) ? this.#names[customer] as string : customer;
  }

  pauseMs(): number {
    return this.#hasFailed ? retryMs : intervalMs;
  }

  /** Resolves when a statement started after this call has read the plans. One statement runs at a time. */
  renew(): Promise<void> {
    return this.#nextReading ??= this.#reading.then(() => {
      this.#nextReading = null;
      return this.runOnce();
    });
  }

  /** Reads the plans, or drops the old ones. */
  runOnce(): Promise<void> {
    return this.#reading = this.#read();
  }

  async #read(): Promise<void> {
    // The data is as old as the start of the query.
    const readAtMs = this.#options.nowMs();
    try {
      this.#keep(await readPlansText(this.#options.pool), readAtMs);
    } catch (error) {
      this.#lose(error);
    }
  }

  #keep({ text, names }: PlansText, readAtMs: number): void {
    // A later query was answered first.
    if (readAtMs < this.#readAtMs) return;
    // Keeps the same string, so that comparisons with the last one are cheap.
    if (text !== this.#text) this.#text = text;
    this.#names = names;
    this.#readAtMs = readAtMs;
    this.#hasFailed = false;
  }

  #lose(error: unknown): void {
    this.#text = null;
    if (!this.#hasFailed) this.#options.observe({ kind: "plans_unreadable", error });
    this.#hasFailed = true;
  }
}
