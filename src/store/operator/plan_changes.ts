/**
 * The subscription plans, as the operator tends them.
 *
 * @module
 */

import type { Interval } from "../../contract/plans.ts";
import type { Pool } from "../pool.ts";
import { adminDeadlineMs } from "./admin_pool.ts";

/** A plan to be stored. */
export interface PlanEntry {
  readonly slug: string;
  readonly name: string;
  readonly customer: string;
  readonly amountCents: number;
  readonly interval: Interval;
  /** The whole plan as JSON text. */
  readonly json: string;
}

/** What became of a {@linkcode PlanEntry}. */
export type PlanChange = "added" | "changed" | "unchanged";

/**
 * Adds plans or puts them in place of those of their slugs, all or none, and notes each change.
 *
 * The slugs must differ. Returns what became of each, in the order of `plans`.
 */
export async function putPlans(pool: Pool, plans: readonly PlanEntry[]): Promise<PlanChange[]> {
  const column = <T>(pick: (plan: PlanEntry) => T): T[] => plans.map(pick);
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql<{ slug: string; change: PlanChange }[]>`
      select slug, change from put_plans(
        p_slug => ${column(({ slug }) => slug)}, p_name => ${column(({ name }) => name)},
        p_customer => ${column(({ customer }) => customer)},
        p_amount_cents => ${column(({ amountCents }) => amountCents)},
        p_interval => ${column(({ interval }) => interval)}, p_body => ${column(({ json }) => json)})`);
  const changes = new Map(rows.map(({ slug, change }) => [slug, change]));
  return plans.map(({ slug }) => changes.get(slug) ?? "unchanged");
}

/** Removes a plan and notes it; `false` when there is none of that slug. What was sold of it stays sold. */
export async function removePlan(pool: Pool, slug: string): Promise<boolean> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql`
      with removed as (delete from plan where slug = ${slug} returning slug)
      select note_audit('plan.remove', slug) from removed`);
  return rows.length === 1;
}
