/** Reads the subscription plans for the feed and for the site's build. */

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
  /** The name of the tenant whose slug is `customer`; `customer` itself if there is none. */
  readonly customerName: string;
  /** US cents per interval; 0 is free. */
  readonly amountCents: number;
  readonly interval: Interval;
  /** The items without unknown members, which only {@linkcode Plan.json} contains. */
  readonly items: readonly PlanItem[];
  /** The whole plan as JSON text, with unknown members as stored. */
  readonly json: string;
}

const deadlineMs = 2_000;
// A total order, so that all processes serve the same bytes.
const orderBy = (sql: postgres.Sql) =>
  sql`order by p.customer collate "C", p.amount_cents, p.slug collate "C"`;

/** Reads the plans, sorted by customer, price and slug. */
export async function readPlans(pool: Pool): Promise<Plan[]> {
  const rows = await pool.run(deadlineMs, (sql) =>
    sql<Omit<Plan, "items">[]>`
      select
        p.slug, p.name, p.customer, coalesce(t.name, p.customer) as "customerName", p.amount_cents as "amountCents",
        p.billing_interval as interval, p.body::text as json
      from plan as p left join tenant as t on t.slug = p.customer ${orderBy(sql)}`);
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
  /** The names of the tenants that offer the plans, by slug. */
  readonly names: Readonly<Record<string, string>>;
}

async function readPlansText(pool: Pool): Promise<PlansText> {
  const [row] = await pool.run(deadlineMs, (sql) =>
    sql<{ plans: string; names: PlansText["names"] }[]>`
      select
        coalesce(string_agg(p.body::text, ',' ${orderBy(sql)}), '') as plans,
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

  /** The plans as a JSON array; `null` if the store cannot be read or the last read is too old. */
  get current(): string | null {
    const { nowMs, ageMaxMs } = this.#options;
    return nowMs() - this.#readAtMs <= ageMaxMs ? this.#text : null;
  }

  /** Returns the name of the tenant with the slug `customer` if that tenant offers a plan; otherwise `customer` itself. */
  customerName(customer: string): string {
    return Object.hasOwn(this.#names, customer) ? this.#names[customer] as string : customer;
  }

  pauseMs(): number {
    return this.#hasFailed ? retryMs : intervalMs;
  }

  /** Rereads the plans; resolves when a read that started after this call has ended. Waiting calls share one read. */
  renew(): Promise<void> {
    return this.#nextReading ??= this.#reading.then(() => {
      this.#nextReading = null;
      return this.runOnce();
    });
  }

  /** Reads the plans; a failure clears them. */
  runOnce(): Promise<void> {
    return this.#reading = this.#read();
  }

  async #read(): Promise<void> {
    // Taken before the query, because the plans may change during the query.
    const readAtMs = this.#options.nowMs();
    try {
      this.#set(await readPlansText(this.#options.pool), readAtMs);
    } catch (error) {
      this.#clear(error);
    }
  }

  #set({ text, names }: PlansText, readAtMs: number): void {
    // The result of a later query is already stored.
    if (readAtMs < this.#readAtMs) return;
    // Comparing a string with itself is cheap, so keep the same one.
    if (text !== this.#text) this.#text = text;
    this.#names = names;
    this.#readAtMs = readAtMs;
    this.#hasFailed = false;
  }

  #clear(error: unknown): void {
    this.#text = null;
    if (!this.#hasFailed) this.#options.observe({ kind: "plans_unreadable", error });
    this.#hasFailed = true;
  }
}
