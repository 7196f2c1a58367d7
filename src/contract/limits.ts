/** The limits of the service. This module is browser compatible. */

/** A rate limit: `perMinute` requests sustained, `burst` at once. */
export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

/** The limits. Source: SPEC, Limits, unless stated otherwise. */
export const limits = {
  keyRate: { perMinute: 600, burst: 101 } satisfies Rate,
  /** The limit on lead posts per client address, checked before authentication. */
  ipRate: { perMinute: 120, burst: 31 } satisfies Rate,
  /** The limit on form posts per client address, checked before authentication. Source: DECISIONS, Forms. */
  formsIpRate: { perMinute: 600, burst: 100 } satisfies Rate,
  /** The limit on form posts per tenant, checked after authentication. Source: DECISIONS, Forms. */
  formsTenantRate: { perMinute: 1200, burst: 200 } satisfies Rate,
  /** The limit on public reads per client address. Source: DECISIONS, Decided since. */
  publicRead: { perMinute: 1200, burst: 400 } satisfies Rate,
  /** The minimum `Retry-After` in a 429. */
  retryAfterSeconds: 1,
  bodyBytesMax: 65_536,
  /** The maximum time from the end of a request's headers to the end of its response. */
  requestTimeoutMs: 20_000,
  /** The maximum length in characters (Unicode code points). */
  idempotencyKeyLengthMax: 200,
  requestIdLengthMax: 64,
  contentWindowHours: 24,
  formContentWindowMinutes: 10,
  costCentsMin: 1,
  costCentsMax: 99_999,
  /** The maximum nesting depth of a body. Source: DECISIONS, The lead envelope. */
  jsonDepthMax: 64,
  vocabularyMaxAgeSeconds: 300,
  plansMaxAgeSeconds: 300,
  plansSnapshotAgeMaxMs: 5_000,
  /**
   * The limit on checkouts per client address; preflights are not counted. Chosen: enough for an office behind one
   * address.
   */
  checkoutIpRate: { perMinute: 30, burst: 10 } satisfies Rate,
  /** The lifetime of a checkout's idempotency key, and the time within which its session can be paid. */
  checkoutKeyHours: 24,
  /** The age at which unpaid checkouts are deleted, after the payment provider has stopped resending events. */
  checkoutUnpaidDays: 40,
  /** The maximum size of a payment provider's webhook event. Chosen: 512 KiB, far above what the provider sends. */
  providerEventBytesMax: 524_288,
  documentMaxAgeSeconds: 300,
  backoffCapSeconds: 30,
} as const;

/** Formats a whole number with thousands separators: `16,000`. */
export function formatCount(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Formats US cents as dollars: `9.50`. */
export function formatCents(cents: number): string {
  return (cents / 100).toFixed(2);
}
