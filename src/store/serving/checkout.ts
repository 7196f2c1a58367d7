/** Stores checkouts and the subscriptions that paid checkouts become. */

import { limits } from "../../contract/limits.ts";
import type { Interval } from "../../contract/plans.ts";
import type { Pool } from "../pool.ts";

/** A checkout with the plan's terms when it started. */
export interface Sale {
  /** Our reference for the checkout; a UUID. */
  readonly id: string;
  readonly planSlug: string;
  readonly planName: string;
  readonly amountCents: number;
  readonly interval: Interval;
}

export interface OpenSession {
  readonly sessionId: string;
  readonly url: string;
}

export type CheckoutStart =
  | { readonly kind: "begun"; readonly sale: Sale }
  /** The checkout started earlier but is not known to be open; call the provider again with the same id. */
  | { readonly kind: "again"; readonly sale: Sale }
  | { readonly kind: "open"; readonly session: OpenSession }
  /** The Idempotency-Key was used with another request. */
  | { readonly kind: "conflict" }
  | { readonly kind: "plan_not_found" };

/** The states of a subscription; `incomplete` and those after it are the provider's own. */
export const subscriptionStates = [
  "opening",
  "open",
  "expired",
  "failed",
  "incomplete",
  "incomplete_expired",
  "trialing",
  "active",
  "past_due",
  "unpaid",
  "paused",
  "canceled",
] as const;

export type SubscriptionState = (typeof subscriptionStates)[number];

/** A provider's event about one subscription, identified by `id`, `sessionId` or `subscriptionId`. */
export interface ProviderChange {
  readonly eventId: string;
  readonly type: string;
  /** The time on the provider's clock, ISO 8601. */
  readonly createdAt: string;
  /** Our reference for the checkout. */
  readonly id: string | null;
  readonly sessionId: string | null;
  readonly subscriptionId: string | null;
  readonly customerId: string | null;
  readonly state: SubscriptionState;
}

const deadlineMs = 5_000;

/** Methods throw {@linkcode Unavailable} when the store is unavailable; whether they took effect is then unknown. */
export class CheckoutStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Starts a checkout at the plan's current price, or finds the checkout with the same Idempotency-Key. Digests are
   * formatted as UUIDs.
   */
  async begin(
    planSlug: string,
    key: { readonly keyDigest: string; readonly requestDigest: string } | null,
  ): Promise<CheckoutStart> {
    const [row] = await this.#pool.run(deadlineMs, (sql) =>
      sql<CheckoutStart[]>`
        select outcome as kind,
          json_build_object(
            'id', id, 'planSlug', ${planSlug}::text, 'planName', plan_name, 'amountCents', amount_cents,
            'interval', billing_interval
          ) as sale,
          json_build_object('sessionId', session_id, 'url', session_url) as session
        from begin_checkout(
          ${planSlug}, ${key?.keyDigest ?? null}, ${
        key?.requestDigest ?? null
      }, ${limits.checkoutKeyHours})`);
    return row as CheckoutStart;
  }

  /** Stores the provider's session. An event about the session may have arrived first. */
  async opened(id: string, session: OpenSession & { readonly expiresAt: string | null }): Promise<void> {
    const { sessionId, url, expiresAt } = session;
    await this.#pool.run(
      deadlineMs,
      (sql) => sql`select open_checkout(${id}, ${sessionId}, ${url}, ${expiresAt}::timestamptz)`,
    );
  }

  /** Marks the checkout as failed, so that the same Idempotency-Key starts over. */
  async failed(id: string): Promise<void> {
    await this.#pool.run(deadlineMs, (sql) => sql`select fail_checkout(${id})`);
  }

  /** Applies a provider's event, at most once. */
  async apply(change: ProviderChange): Promise<"applied" | "stale" | "unknown" | "duplicate"> {
    const [row] = await this.#pool.run(
      deadlineMs,
      (sql) =>
        sql<{ outcome: "applied" | "stale" | "unknown" | "duplicate" }[]>`
        select apply_provider_event(
          ${change.eventId}, ${change.type}, ${change.createdAt}::timestamptz, ${change.id}, ${change.sessionId},
          ${change.subscriptionId}, ${change.customerId}, ${change.state}) as outcome`,
    );
    return row?.outcome ?? "unknown";
  }
}
