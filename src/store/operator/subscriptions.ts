/**
 * Checkouts and subscriptions, as the operator sees them.
 *
 * @module
 */

import type { SubscriptionState } from "../serving/checkout.ts";
import type { Interval } from "../../contract/plans.ts";
import type { Pool } from "../pool.ts";
import { adminDeadlineMs, isoOf } from "./admin_pool.ts";

/** A checkout or what has come of it. Times are ISO 8601, UTC. */
interface Subscription {
  /** Our reference at the payment provider. */
  readonly checkout: string;
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
  return await pool.run(adminDeadlineMs, (sql) =>
    sql<Subscription[]>`
      select
        id as checkout, plan_slug as plan, plan_customer as customer, amount_cents as "amountCents",
        billing_interval as interval, state, session_id as "sessionId",
        provider_subscription_id as "subscriptionId", provider_customer_id as "customerId",
        ${isoOf(sql, sql`created_at`)} as "createdAt", ${isoOf(sql, sql`updated_at`)} as "updatedAt"
      from subscription
      where (${filter.state}::text is null or state = ${filter.state})
        and (${filter.plan}::text is null or plan_slug = ${filter.plan})
      order by created_at desc, id
      limit ${filter.limit}`);
}
