/**
 * Every published number of the service, once. The handlers, the OpenAPI document, the integration
 * brief and the tests read them from here. This module is browser compatible.
 *
 * @module
 */

/** A token bucket: `perMinute` requests sustained, `burst` requests at once. */
export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

/**
 * The limits a caller can meet, units last in the names.
 *
 * Source: SPEC, Limits.
 */
export const limits = {
  /** Per API key, checked after authentication. */
  keyRate: { perMinute: 600, burst: 101 } satisfies Rate,
  /** Per client address, checked before authentication. */
  ipRate: { perMinute: 120, burst: 31 } satisfies Rate,
  /** Form posts per client address, before authentication: the customers' web servers post for many visitors. Source: DECISIONS, Forms. */
  formsIpRate: { perMinute: 600, burst: 100 } satisfies Rate,
  /** Form posts per tenant, after authentication. Source: DECISIONS, Forms. */
  formsTenantRate: { perMinute: 1200, burst: 200 } satisfies Rate,
  /**
   * Reads of documents, vocabulary, plans, site and health per client address. Source: DECISIONS, Decided since: so
   * generous that no browser, build or monitor meets it.
   */
  publicRead: { perMinute: 1200, burst: 400 } satisfies Rate,
  /** The floor of `Retry-After` on a 429. */
  retryAfterSeconds: 1,
  /** 64 KiB; the byte after it makes the answer 413. */
  bodyBytesMax: 65_536,
  /** A request has this long from its first byte to its answer. */
  requestTimeoutMs: 20_000,
  /** In characters (Unicode code points). */
  idempotencyKeyLengthMax: 200,
  /** In characters. */
  requestIdLengthMax: 64,
  /** Fallback dedupe of leads posted without an `Idempotency-Key`. */
  contentWindowHours: 24,
  /** The same of form submissions. Source: DECISIONS, Forms. */
  formContentWindowMinutes: 10,
  costCentsMin: 1,
  costCentsMax: 99_999,
  /** Nesting deeper than this is not accepted as JSON. Source: DECISIONS, The lead envelope. */
  jsonDepthMax: 64,
  /** `Cache-Control: max-age` of the vocabulary. */
  vocabularyMaxAgeSeconds: 300,
  /** `Cache-Control: max-age` of the plan feed. Source: DECISIONS, Plans, checkout, site. */
  plansMaxAgeSeconds: 300,
  /** The oldest snapshot that the plan feed is served from, in milliseconds. */
  plansSnapshotAgeMaxMs: 5_000,
  /**
   * Checkouts per client address, preflights not counted. Chosen: a person who tries again comes nowhere near it, and
   * a household or an office behind one address does not either; every one of them is a call of the payment provider.
   */
  checkoutIpRate: { perMinute: 30, burst: 10 } satisfies Rate,
  /** How long an `Idempotency-Key` of a checkout finds its session. Chosen: as long as the session can be paid. */
  checkoutKeyHours: 24,
  /** How long a checkout that was never paid is kept. Chosen: longer than the payment provider can send an event again. */
  checkoutUnpaidDays: 40,
  /** The largest event of the payment provider. Chosen: several times what its largest ones are, and little to hold. */
  providerEventBytesMax: 524_288,
  /** `Cache-Control: max-age` of the published documents. Chosen: as the vocabulary's, because they change as seldom. */
  documentMaxAgeSeconds: 300,
  /** The longest wait of a client between its retries. */
  backoffCapSeconds: 30,
} as const;
