/**
 * Opens a Checkout Session at Stripe.
 *
 * Source: Stripe API reference, Create a Checkout Session.
 *
 * @module
 */

import type { OpenSession, Sale } from "../store/serving/checkout.ts";
import type { StripeAnswer, StripeClient, StripeFailure } from "./stripe_client.ts";

/** Where Stripe sends the buyer. */
export interface ReturnUrls {
  readonly successUrl: string;
  readonly cancelUrl: string;
}

/** The outcome of {@linkcode openSession}. */
export type SessionOutcome =
  | { readonly kind: "open"; readonly session: OpenSession & { readonly expiresAt: string | null } }
  /** Stripe does not take the address. */
  | { readonly kind: "email_refused" }
  /** Asking again under the same id gets the same answer. */
  | { readonly kind: "refused"; readonly failure: StripeFailure }
  /** Our key is not taken, or too much is asked: nothing that the buyer can help. */
  | { readonly kind: "not_now"; readonly failure: StripeFailure; readonly isFinal: boolean };

/** Asks for a session in which `email` pays for a sale. */
export async function openSession(
  client: StripeClient,
  sale: Sale,
  { email, urls }: { readonly email: string; readonly urls: ReturnUrls },
): Promise<SessionOutcome> {
  const answer = await client.post("/v1/checkout/sessions", sessionForm(sale, email, urls), sale.id);
  return readAnswer(answer);
}

/**
 * What is sold is what the sale says; nothing comes from the browser but the address. The sale's id comes back with the
 * session's events, and through the metadata with the subscription's and its invoices'.
 */
export function sessionForm(sale: Sale, email: string, urls: ReturnUrls): URLSearchParams {
  const price = "line_items[0][price_data]";
  const form = new URLSearchParams({
    "mode": "subscription",
    "line_items[0][quantity]": "1",
    [`${price}[currency]`]: "usd",
    [`${price}[unit_amount]`]: String(sale.amountCents),
    [`${price}[recurring][interval]`]: sale.interval,
    [`${price}[product_data][name]`]: sale.planName,
    "customer_email": email,
    "client_reference_id": sale.id,
    "success_url": urls.successUrl,
    "cancel_url": urls.cancelUrl,
  });
  for (const object of ["metadata", "subscription_data[metadata]"]) {
    form.set(`${object}[plan]`, sale.planSlug);
    form.set(`${object}[checkout]`, sale.id);
  }
  // A free plan asks nobody for a card.
  if (sale.amountCents === 0) form.set("payment_method_collection", "if_required");
  return form;
}

function readAnswer(answer: StripeAnswer): SessionOutcome {
  if (answer.kind === "done") return readSession(answer.body, answer.tries);
  const { kind, ...failure } = answer;
  if (kind === "unanswered") return { kind: "not_now", failure, isFinal: false };
  if (failure.param === "customer_email" || failure.code === "email_invalid") {
    return { kind: "email_refused" };
  }
  const { status } = failure;
  // A fault of Stripe's is kept under the key as well and would be repeated.
  if (status === 401 || status === 403 || (status ?? 0) >= 500) {
    return { kind: "not_now", failure, isFinal: true };
  }
  return { kind: "refused", failure };
}

function readSession(body: Readonly<Record<string, unknown>>, tries: number): SessionOutcome {
  const { id, url, expires_at: expires } = body;
  const isSession = typeof id === "string" && /^\w{1,255}$/.test(id) && typeof url === "string" &&
    isPayable(url);
  if (!isSession) {
    const failure = {
      status: 200,
      type: "no_session",
      code: null,
      param: null,
      stripeRequestId: null,
      tries,
    };
    return { kind: "refused", failure };
  }
  const expiresAt = typeof expires === "number" && expires > 0 && expires < 1e11
    ? new Date(expires * 1000).toISOString()
    : null;
  return { kind: "open", session: { sessionId: id, url, expiresAt } };
}

/** Buyers are sent there to pay. Chosen: at most as long as the provider says, and of what may stand in an address. */
function isPayable(url: string): boolean {
  return /^[!-~]{1,5000}$/.test(url) && URL.canParse(url) && new URL(url).protocol === "https:";
}
