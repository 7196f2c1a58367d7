/** Every published number of the service, once. This module is browser compatible. */

/** A token bucket: `perMinute` requests sustained, `burst` at once. */
export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

/** The limits that callers meet. Source: SPEC, Limits. */
export const limits = {
  keyRate: { perMinute: 600, burst: 101 } satisfies Rate,
  /** Per client address, checked before authentication. */
  ipRate: { perMinute: 120, burst: 31 } satisfies Rate,
  /** Form posts per client address, before authentication. Source: DECISIONS, Forms. */
  formsIpRate: { perMinute: 600, burst: 100 } satisfies Rate,
  /** Form posts per tenant, after authentication. Source: DECISIONS, Forms. */
  formsTenantRate: { perMinute: 1200, burst: 200 } satisfies Rate,
  /** Public reads per client address. Source: DECISIONS, Decided since. */
  publicRead: { perMinute: 1200, burst: 400 } satisfies Rate,
  /** The floor of `Retry-After` on a 429. */
  retryAfterSeconds: 1,
  bodyBytesMax: 65_536,
  /** From a request's first byte to its answer. */
  requestTimeoutMs: 20_000,
  /** In characters (Unicode code points). */
  idempotencyKeyLengthMax: 200,
  requestIdLengthMax: 64,
  contentWindowHours: 24,
  formContentWindowMinutes: 10,
  costCentsMin: 1,
  costCentsMax: 99_999,
  /** Deeper nesting is refused. Source: DECISIONS, The lead envelope. */
  jsonDepthMax: 64,
  vocabularyMaxAgeSeconds: 300,
  plansMaxAgeSeconds: 300,
  plansSnapshotAgeMaxMs: 5_000,
  /** Checkouts per client address, without preflights. Chosen: enough for an office behind one address. */
  checkoutIpRate: { perMinute: 30, burst: 10 } satisfies Rate,
  /** As long as a session can be paid. */
  checkoutKeyHours: 24,
  /** Longer than the provider resends events. */
  checkoutUnpaidDays: 40,
  /** Several times the largest event that the provider sends. */
  providerEventBytesMax: 524_288,
  documentMaxAgeSeconds: 300,
  backoffCapSeconds: 30,
} as const;

/** A whole number with separators: `16,000`. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function dollars(cents: number): string {
  return (cents / 100).toFixed(2);
}
