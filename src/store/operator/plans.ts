import type { Interval } from "../../contract/plans.ts";
import type { Pool } from "../pool.ts";
import type { SubscriptionState } from "../serving/checkout.ts";
import { query } from "../query.ts";
import { isoTime } from "./admin_pool.ts";

export interface PlanEntry {
  readonly slug: string;
  readonly name: string;
  readonly customer: string;
  readonly amountCents: number;
  readonly interval: Interval;
  readonly json: string;
}

export type PlanChange = "added" | "changed" | "unchanged";

/** Adds or replaces plans (all or none), audits the changes, and returns them in the order of `plans`. Slugs must differ. */
export async function putPlans(pool: Pool, plans: readonly PlanEntry[]): Promise<PlanChange[]> {
  const column = <T>(pick: (plan: PlanEntry) => T): T[] => plans.map(pick);
  const rows = await query(pool, (sql) =>
    sql<{ slug: string; change: PlanChange }[]>`
      select slug, change from put_plans(
        p_slug => ${column(({ slug }) => slug)}, p_name => ${column(({ name }) => name)},
        p_customer => ${column(({ customer }) => customer)},
        p_amount_cents => ${column(({ amountCents }) => amountCents)},
        p_interval => ${column(({ interval }) => interval)}, p_body => ${column(({ json }) => json)})`);
  const changes = new Map(rows.map(({ slug, change }) => [slug, change]));
  return plans.map(({ slug }) => changes.get(slug) ?? "unchanged");
}

/** Removes a plan and audits the removal; returns `false` if there is no such plan. Subscriptions are unaffected. */
export async function removePlan(pool: Pool, slug: string): Promise<boolean> {
  const rows = await query(pool, (sql) =>
    sql`
      with removed as (delete from plan where slug = ${slug} returning slug)
      select note_audit('plan.remove', slug) from removed`);
  return rows.length === 1;
}

/** A checkout or subscription. Times are ISO 8601, UTC. */
interface Subscription {
  /** Our reference at the payment provider. */
  readonly checkout: string;
  readonly plan: string;
  readonly customer: string;
  readonly amountCents: number;
  readonly interval: Interval;
  readonly state: SubscriptionState;
  /** The payment provider's ids; `null` until they are known. */
  readonly sessionId: string | null;
  readonly subscriptionId: string | null;
  readonly customerId: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Lists checkouts and subscriptions, newest first. */
export async function listSubscriptions(
  pool: Pool,
  { limit }: { readonly limit: number },
): Promise<Subscription[]> {
  return await query(pool, (sql) =>
    sql<Subscription[]>`
      select
        id as checkout, plan_slug as plan, plan_customer as customer, amount_cents as "amountCents",
        billing_interval as interval, state, session_id as "sessionId",
        provider_subscription_id as "subscriptionId", provider_customer_id as "customerId",
        ${isoTime(sql, sql`created_at`)} as "createdAt", ${isoTime(sql, sql`updated_at`)} as "updatedAt"
      from subscription
      order by created_at desc, id
      limit ${limit}`);
}
