/**
 * `POST /api/stripe/webhook`: the payment provider tells what has become of a checkout.
 *
 * @module
 */

import { limits } from "../contract/limits.ts";
import type { Body, Exchange, Handler } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import type { CheckoutStore } from "../store/serving/checkout.ts";
import { Unavailable } from "../store/pool.ts";
import type { PlansObservation } from "./observation.ts";
import { refusePlan } from "./reply.ts";
import { readEvent } from "./stripe_event.ts";
import { isSigned } from "./stripe_signature.ts";

/** What the handler works with. */
export interface WebhookParts {
  readonly store: CheckoutStore;
  /** Empty when there is no provider. */
  readonly secrets: readonly string[];
  /** The time of day in milliseconds since 1970. */
  readonly clockMs: () => number;
  readonly observe: (observation: PlansObservation) => void;
}

// 32 MiB together.
const largeOnesMax = 64;

const received = json(200, { received: true });
const utf8 = new TextDecoder("utf-8");

/**
 * The handler. Whoever has the secret is the provider: neither origin nor address counts. A 2xx ends an event; after
 * anything else the provider sends it again, for days.
 *
 * Source: DECISIONS, Plans, checkout, site. Chosen: 200 for an event of a kind or a subscription that is not known
 * here, because sending it again would not change that.
 */
export function webhookHandler({ store, secrets, clockMs, observe }: WebhookParts): Handler {
  const read = eventReader();
  return async (exchange) => {
    const { requestId } = exchange;
    if (secrets.length === 0) return refusePlan("checkout_unavailable", { requestId });
    const body = await read(exchange);
    if (body === null) return refusePlan("not_accepting", { requestId });
    if (body.kind === "too_large") return refusePlan("body_too_large", { requestId });
    if (body.kind === "incomplete") return refusePlan("invalid_json", { requestId });

    const header = exchange.header("stripe-signature");
    if (!isSigned(body.bytes, header, { secrets, nowSeconds: Math.floor(clockMs() / 1000) })) {
      return refusePlan("invalid_signature", { requestId });
    }
    const event = readEvent(utf8.decode(body.bytes));
    if (event.kind === "malformed") return refusePlan("invalid_json", { requestId });
    if (event.kind === "ignored") return received;

    const { change } = event;
    try {
      const outcome = await store.apply(change);
      observe({ kind: "provider_event", requestId, change, outcome });
      return received;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return refusePlan("not_accepting", { requestId });
    }
  };
}

/**
 * Reads an event's body; `null` when too many large ones are on their way. Whose an event is, is known when all of it
 * is there: without a bound of their own strangers could make us hold half a megabyte a connection.
 */
function eventReader(): (exchange: Exchange) => Promise<Body | null> {
  let largeOnes = 0;
  return async (exchange) => {
    // Nearly every event is that small, and says so.
    if (Number(exchange.header("content-length") ?? NaN) <= limits.bodyBytesMax) {
      return await exchange.readBody(limits.bodyBytesMax);
    }
    if (largeOnes >= largeOnesMax) return null;
    largeOnes += 1;
    try {
      return await exchange.readBody(limits.providerEventBytesMax);
    } finally {
      largeOnes -= 1;
    }
  };
}
