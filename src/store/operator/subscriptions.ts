/**
 * Checkouts and subscriptions, as the operator sees them.
 *
 * @module
 */

import type { SubscriptionState } from "../serving/checkout.ts";
import type { Interval } from "../../contract/plans.ts";
import type { Pool } from "../pool.ts";
import { adminDeadlineMs } from "./admin_pool.ts";

/** A checkout or what has come of it. Times are ISO 8601, UTC. */
interface Subscription {
  /** Our reference at the payment provider. */
  readonly id: string;
  readonly plan: string;
  /** Who owned the plan. */
  readonly customer: string;
  /** As it was at the checkout. */
  readonly amountCents: number;
  readonly interval: Interval;
  readonly state: SubscriptionState;
  /** The payment provider's ids, as far as they are known. */
  readonly sessionId: string | null;
  readonly subscriptionId: string | null;
  readonly customerId: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Those of a state and of a plan or, with `null`, of all; the newest first. */
export async function listSubscriptions(
  pool: Pool,
  filter: { readonly state: SubscriptionState | null; readonly plan: string | null; readonly limit: number },
): Promise<Subscription[]> {
  const rows = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<
        {
          id: string;
          plan_slug: string;
          plan_customer: string;
          amount_cents: number;
          billing_interval: Interval;
          state: SubscriptionState;
          session_id: string | null;
          provider_subscription_id: string | null;
          provider_customer_id: string | null;
          created_at: Date;
          updated_at: Date;
        }[]
      >`
      select * from subscription
      where (${filter.state}::text is null or state = ${filter.state})
        and (${filter.plan}::text is null or plan_slug = ${filter.plan})
      order by created_at desc, id
      limit ${filter.limit}`,
  );
  return rows.map((row) => ({
    id: row.id,
    plan: row.plan_slug,
    customer: row.plan_customer,
    amountCents: row.amount_cents,
    interval: row.billing_interval,
    state: row.state,
    sessionId: row.session_id,
    subscriptionId: row.provider_subscription_id,
    customerId: row.provider_customer_id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }));
}
