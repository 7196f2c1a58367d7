/**
 * The subscription plans as they are read: by the feed, which keeps a snapshot of them, and by whoever builds the
 * site.
 *
 * @module
 */

import type postgres from "postgres";
import type { Interval } from "../../contract/plans.ts";
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
