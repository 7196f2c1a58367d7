/**
 * The limits as people read them, one row each; the numbers come from `limits.ts`. This module is browser compatible.
 *
 * @module
 */

import { dollars, grouped } from "./guidance.ts";
import { limits, type Rate } from "./limits.ts";

/** One limit. */
export interface LimitRow {
  readonly limit: string;
  readonly value: string;
  readonly appliesTo: string;
}

const perMinute = ({ perMinute, burst }: Rate) =>
  `${grouped(perMinute)} requests a minute, burst ${grouped(burst)}`;

/** `20` for 20,000 ms. */
const seconds = (ms: number) => ms / 1000;

const kib = `${limits.bodyBytesMax / 1024} KiB (${grouped(limits.bodyBytesMax)} bytes)`;

/** The limits that both key-gated posts have in common. */
const shared = {
  retryAfter: {
    limit: "`Retry-After`",
    value: `${limits.retryAfterSeconds} s or more`,
    appliesTo: "429; a floor",
  },
  time: {
    limit: "Time for a request",
    value: `${seconds(limits.requestTimeoutMs)} s`,
    appliesTo: `everything; use a client time-out of ${seconds(limits.requestTimeoutMs)} s too`,
  },
  requestId: {
    limit: "`X-Request-Id`",
    value: `${limits.requestIdLengthMax} characters`,
    appliesTo: "a longer one is replaced by one of ours",
  },
  reads: {
    limit: "Public reads per address",
    value: perMinute(limits.publicRead),
    appliesTo: "documents, vocabulary, plans and health, all together",
  },
} satisfies Record<string, LimitRow>;

/** Every limit of the intake with its value and what it is about. Source: SPEC, Limits. */
export const limitRows: readonly LimitRow[] = [
  { limit: "Rate per key", value: perMinute(limits.keyRate), appliesTo: "intake, after authentication" },
  {
    limit: "Rate per address",
    value: perMinute(limits.ipRate),
    appliesTo: "intake, before authentication; everybody behind one NAT shares it",
  },
  shared.retryAfter,
  { limit: "Body", value: kib, appliesTo: "intake, before authentication; over it 413" },
  { limit: "JSON nesting", value: `${limits.jsonDepthMax} levels`, appliesTo: "intake" },
  shared.time,
  {
    limit: "`Idempotency-Key`",
    value: `${limits.idempotencyKeyLengthMax} characters`,
    appliesTo: "shared by all keys of one customer; never expires",
  },
  {
    limit: "Dedupe without an `Idempotency-Key`",
    value: `${limits.contentWindowHours} hours`,
    appliesTo: "the same normalized lead again, from the first one on",
  },
  shared.requestId,
  {
    limit: "`cost`",
    value: `${dollars(limits.costCentsMin)} to ${dollars(limits.costCentsMax)} USD`,
    appliesTo: "after rounding to cents",
  },
  {
    limit: "Vocabulary cache",
    value: `${limits.vocabularyMaxAgeSeconds / 60} minutes`,
    appliesTo: "`GET /v1/vocabulary`, with an `ETag`",
  },
  shared.reads,
  {
    limit: "Network",
    value: "HTTPS only, TLS 1.2 or later, HTTP/2 or 1.1; one IPv4 address and no IPv6 address",
    appliesTo: "nothing listens on port 80, and nothing redirects",
  },
  {
    limit: "Backfill",
    value: "by agreement",
    appliesTo: "ask first: the limits can be raised for a while",
  },
];

/** Every limit of the tenant forms. Source: DECISIONS, Forms. */
export const formLimitRows: readonly LimitRow[] = [
  {
    limit: "Rate per address",
    value: perMinute(limits.formsIpRate),
    appliesTo: "before authentication; one web server posts for many visitors",
  },
  {
    limit: "Rate per customer",
    value: perMinute(limits.formsTenantRate),
    appliesTo: "after authentication; all forms and keys of a customer together",
  },
  shared.retryAfter,
  { limit: "Body", value: kib, appliesTo: "before authentication; over it 413" },
  shared.time,
  {
    limit: "`Idempotency-Key`",
    value: `${limits.idempotencyKeyLengthMax} characters`,
    appliesTo: "shared by all forms of one customer, apart from its leads; never expires",
  },
  {
    limit: "Dedupe without an `Idempotency-Key`",
    value: `${limits.formContentWindowMinutes} minutes`,
    appliesTo: "the same fields in the same form again, from the first one on",
  },
  shared.requestId,
  shared.reads,
  {
    limit: "Network",
    value: "HTTPS only, TLS 1.2 or later, HTTP/2 or 1.1",
    appliesTo: "nothing listens on port 80, and nothing redirects; no CORS",
  },
];
