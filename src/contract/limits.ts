/**
 * Every published number of the service, once. This module is browser compatible.
 *
 * @module
 */

/** A token bucket: `perMinute` requests sustained, `burst` at once. */
export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

/** The limits that callers meet. Source: SPEC, Limits. */
export const limits = {
  /** Per API key, checked after authentication. */
  keyRate: { perMinute: 600, burst: 101 } satisfies Rate,
  /** Per client address, checked before authentication. */
  ipRate: { perMinute: 120, burst: 31 } satisfies Rate,
  /**
   * Form posts per client address, before authentication; web servers post for many visitors. Source: DECISIONS, Forms.
   */
  formsIpRate: { perMinute: 600, burst: 100 } satisfies Rate,
  /** Form posts per tenant, after authentication. Source: DECISIONS, Forms. */
  formsTenantRate: { perMinute: 1200, burst: 200 } satisfies Rate,
  /** Public reads per client address. Source: DECISIONS, Decided since. */
  publicRead: { perMinute: 1200, burst: 400 } satisfies Rate,
  /** The floor of `Retry-After` on a 429. */
  retryAfterSeconds: 1,
  /** 64 KiB; more is 413. */
  bodyBytesMax: 65_536,
  /** From a request's first byte to its answer. */
  requestTimeoutMs: 20_000,
  /** In characters (Unicode code points). */
  idempotencyKeyLengthMax: 200,
  /** In characters. */
  requestIdLengthMax: 64,
  /** Deduplication window of leads without an `Idempotency-Key`. */
  contentWindowHours: 24,
  /** The same for form submissions. Source: DECISIONS, Forms. */
  formContentWindowMinutes: 10,
  costCentsMin: 1,
  costCentsMax: 99_999,
  /** Deeper nesting is refused. Source: DECISIONS, The lead envelope. */
  jsonDepthMax: 64,
  /** `Cache-Control: max-age` of the vocabulary. */
  vocabularyMaxAgeSeconds: 300,
  /** `Cache-Control: max-age` of the plan feed. Source: DECISIONS, Plans, checkout, site. */
  plansMaxAgeSeconds: 300,
  /** Maximum age of the snapshot that the plan feed serves. */
  plansSnapshotAgeMaxMs: 5_000,
  /**
   * Checkouts per client address, without preflights; each is a call to the payment provider. Chosen: enough for an
   * office behind one address.
   */
  checkoutIpRate: { perMinute: 30, burst: 10 } satisfies Rate,
  /** How long a checkout's `Idempotency-Key` finds its session: as long as the session can be paid. */
  checkoutKeyHours: 24,
  /** How long an unpaid checkout is kept: longer than the provider resends events. */
  checkoutUnpaidDays: 40,
  /** Maximum size of a payment event: several times the largest that the provider sends. */
  providerEventBytesMax: 524_288,
  /** `Cache-Control: max-age` of the published documents. */
  documentMaxAgeSeconds: 300,
  /** Maximum wait of a client between retries. */
  backoffCapSeconds: 30,
} as const;

/** A whole number with separators: `16,000`. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `0.01`, from integer cents. */
export function dollars(cents: number): string {
  return (cents / 100).toFixed(2);
}
