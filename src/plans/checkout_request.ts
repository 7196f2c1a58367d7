/**
 * Reads the body of a checkout: `{"plan": SLUG, "email": ADDRESS}`.
 *
 * @module
 */

import { fields } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { looksLikeEmail } from "../lead/email.ts";
import { parseObject } from "../lead/json.ts";
import type { FieldReason } from "./reply.ts";

/** The outcome of {@linkcode readCheckout}. */
type CheckoutRequest =
  | { readonly kind: "valid"; readonly plan: string; readonly email: string }
  | { readonly kind: "invalid_json" }
  | { readonly kind: "validation_failed"; readonly fields: Readonly<Record<string, FieldReason>> };

// Longer than any slug that can be put.
const slugLengthMax = 100;

/**
 * Reads it. Chosen: other members are ignored, an amount and an interval too: the price is the plan's. `null` counts as
 * left out, and the address is trimmed, both as on the intake; its case is the buyer's.
 */
export function readCheckout(text: string): CheckoutRequest {
  const body = parseObject(text, limits.jsonDepthMax);
  if (body === null) return { kind: "invalid_json" };
  const { plan = null, email = null } = body;
  return readOrder(plan, email);
}

/** The same of two values, `null` for one that was left out. */
export function readOrder(sentPlan: unknown, sentEmail: unknown): CheckoutRequest {
  for (const value of [sentPlan, sentEmail]) {
    if (value !== null && typeof value !== "string") return { kind: "invalid_json" };
  }
  const plan = sentPlan as string | null ?? "";
  const email = (sentEmail as string | null ?? "").trim();
  const failing: Record<string, FieldReason> = {};
  if (plan === "") failing.plan = "required";
  else if (plan.length > slugLengthMax) failing.plan = "too_long";
  if (email === "") failing.email = "required";
  else if ([...email].length > fields.email.lengthMax) failing.email = "too_long";
  else if (!looksLikeEmail(email) || /\p{Cc}/u.test(email) || !email.isWellFormed()) {
    failing.email = "invalid";
  }
  return Object.keys(failing).length === 0
    ? { kind: "valid", plan, email }
    : { kind: "validation_failed", fields: failing };
}
