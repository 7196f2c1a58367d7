/** Rules, retry policy, key check and limits for the documents, in Markdown. This module is browser compatible. */

import { formatCents, formatCount, limits, type Rate } from "../contract/limits.ts";

/** The eight rules. Source: DECISIONS, The integration brief's fixed parts. */
export const rules = [
  "Send one lead per `POST`, from your server, over HTTPS, as soon as the lead exists.",
  "Keep the key in a secret store and send it only in the `X-API-Key` header: never in code, a URL or a log.",
  "Test the key by posting `{}`, never a made-up lead.",
  "Send an `Idempotency-Key` that starts with your own namespace and is the same on every retry of the same lead.",
  "Send your own terms: read the vocabulary live, and do not guess a mapping.",
  "Omit what you do not have: send no placeholders and no `cost` of 0.",
  "Retry only 5xx, timeouts and 429, and follow the retry policy.",
  "202 and 200 are final: store the `event_id`, log the request ID, and treat flags as observations.",
] as const;

/** The conditions for going live. Source: DECISIONS, The integration brief's fixed parts. */
export const definitionOfDone = [
  "The key check returns 422.",
  "A sandbox lead returns 202.",
  "Its repeat, with the same `Idempotency-Key`, returns 200 with the same `event_id`.",
  "A 422 reaches a person, with its `fields`.",
  "429 and 503 are retried with backoff and jitter.",
  "A 401 alerts a person.",
  "`event_id` and request ID are stored with the lead.",
  "No key is in code, a URL or a log.",
  "No test lead is in production.",
] as const;

/** The client's retry policy. Source: SPEC, Client retry policy. */
export const retryPolicy = [
  "Retry on any 5xx, on a timeout or transport error, and on 429 after `Retry-After`.",
  `Back off exponentially, with jitter and a cap of ${limits.backoffCapSeconds} s.`,
  "A 429 does not consume a delivery attempt: wait at least `Retry-After`, and longer after each further 429.",
  "Never retry any other 4xx: a 422 needs a corrected body.",
  "Send the same body and the same `Idempotency-Key` on every retry; the response tells you whether an earlier try was accepted.",
  "Store the `event_id` with your lead, and log `request_id` (or your own `X-Request-Id`) on every failure.",
] as const;

/** The responses to a key check that say nothing about the key, for every surface. */
const keyCheckFailures = [
  {
    response: "503 `not_accepting`",
    meaning: "The service cannot look up the key at the moment. Try again.",
  },
  {
    response: "connection refused or timeout",
    meaning: "You used `http://` instead of `https://`, or your network blocks outgoing connections.",
  },
] as const;

/** The meaning of each response to the key check. Source: SPEC, Key check. */
export const keyCheck = [
  { response: "422 `validation_failed`", meaning: "The key is valid and active. Nothing was stored." },
  {
    response: "401 `unauthorized`",
    meaning: "The key is missing, mistyped or revoked, or this is the wrong host.",
  },
  {
    response: "429 `rate_limited`",
    meaning: "Too many requests from your IP address. This says nothing about the key.",
  },
  ...keyCheckFailures,
] as const;

/** The meaning of each response to the probe. Source: SPEC, Tenant forms (probe). */
export const formKeyCheck = [
  {
    response: "400 `missing_required`",
    meaning: "The key and the form are correct; `fields` lists the form's required fields.",
  },
  {
    response: "401 `unauthorized`",
    meaning: "The key is missing, mistyped or revoked, or it is an intake key.",
  },
  { response: "403 `tenant_mismatch`", meaning: "The URL names a customer other than the key's." },
  { response: "404 `form_not_found`", meaning: "The customer has no form with this `{form_key}`." },
  {
    response: "429 `rate_limited`",
    meaning: "Too many posts. If the limit per IP address was exceeded, this says nothing about the key.",
  },
  ...keyCheckFailures,
] as const;

/** The rules of normalization. Source: SPEC, Global normalization. */
export const normalization = [
  "Leading and trailing white space is removed, and each run of white space becomes one space.",
  "Control characters are removed; tabs and line breaks become spaces.",
  "In `project_details`, line breaks are preserved as LF, and so are control characters other than white space and NUL.",
  "`email` is lower-cased, `country` is mapped and upper-cased, and a US or Canadian `phone` is converted to E.164.",
  "`null` counts as omitted, and so does an optional field that contains only white space.",
  "Lengths are counted in characters (Unicode code points), after normalization; `phone` as sent. A value over its limit is rejected, never truncated.",
] as const;

/** The rules for keys. Source: SPEC, Authentication. */
export const keyRules = [
  "A person at the customer issues the key, for one lead source. A second source needs a second key. Sandbox keys are issued on request; their leads are not delivered.",
  "The key's label becomes the lead's `source`. The body cannot set, change or omit the source.",
  "You see the key once, when it is issued. The service stores only a SHA-256 hash, so a lost key cannot be recovered: rotate it.",
  "To rotate a key, get a second key, cut over, then have the first one revoked. Revocation takes effect immediately, including for requests in flight. Your `Idempotency-Key`s stay valid.",
  "Never put a key in source code, a URL, a log line, an error message or a committed file.",
] as const;

/** Describes the error member `detail` for every surface. Source: DECISIONS, Decided since. */
export const detailAbout =
  "an explanation in English, such as the field with its required type, limit or range, the line and column of a syntax error, the apparent format of the body, the field that you probably meant, or how the key was sent. It never contains your values. Log it, but do not parse it: its wording may change.";

/** The members of an error body that are the same on every surface. */
export const commonErrorMembers = [
  { name: "error", about: "Machine-readable code, always present." },
  {
    name: "request_id",
    about:
      "The request ID. A 413, and a 429 for the limit per IP address, omit it; the header `X-Request-Id` is always present.",
  },
] as const;

/** The members of an error body. Source: SPEC, Error body; `detail` from DECISIONS, Decided since. */
export const errorMembers = [
  ...commonErrorMembers,
  {
    name: "fields",
    about: "With 422 only: every failing field at once, each with `required`, `too_long` or `out_of_range`.",
  },
  {
    name: "detail",
    about: `Optional, with 400, 401 and 422: ${detailAbout}`,
  },
] as const;

/** The members of an acknowledgement. Source: SPEC, Lead acknowledgement. */
export const acknowledgementMembers = [
  {
    name: "event_id",
    about:
      "Identifies the lead, for you and for support. Opaque: never parse it, and rely only on its chronological order. A repeat returns the ID of the first lead.",
  },
  { name: "status", about: "`accepted` with 202, `duplicate` with 200." },
  { name: "received_at", about: "The time of acceptance: UTC, ISO 8601." },
  { name: "source", about: "The label of your key." },
  { name: "flags", about: "Observations. Always an array, never null; empty if there are none." },
] as const;

/** The members of the intake's `GET /healthz`. Source: SPEC, Intake health. */
export const healthMembers = [
  { name: "ok", about: "whether the service accepts leads: the status is 200 if `true`, otherwise 503" },
  { name: "pending", about: "the number of accepted leads that are not delivered yet" },
  { name: "dead", about: "the number of accepted leads that need an operator" },
  { name: "store_writable", about: "whether the store accepts writes" },
] as const;

export interface LimitRow {
  readonly limit: string;
  readonly value: string;
  readonly notes: string;
}

const row = (limit: string, value: string, notes: string): LimitRow => ({ limit, value, notes });

const perMinute = ({ perMinute, burst }: Rate) =>
  `${formatCount(perMinute)} requests per minute, burst ${formatCount(burst)}`;

const timeoutSeconds = limits.requestTimeoutMs / 1000;
const bodySizeText = `${limits.bodyBytesMax / 1024} KiB (${formatCount(limits.bodyBytesMax)} bytes)`;

/** The limits that apply to both leads and forms. */
const sharedLimits = {
  retryAfter: row("`Retry-After`", `${limits.retryAfterSeconds} s or more`, "the minimum wait after a 429"),
  time: row(
    "Request time",
    `${timeoutSeconds} s`,
    `for the whole request; use a client timeout of ${timeoutSeconds} s too`,
  ),
  requestId: row(
    "`X-Request-Id`",
    `${limits.requestIdLengthMax} characters`,
    "a longer value is replaced",
  ),
  reads: row(
    "Public reads per IP address",
    perMinute(limits.publicRead),
    "for documents, vocabulary, plans and health together",
  ),
} as const;

/** The limits of the intake. Source: SPEC, Limits. */
export const limitRows: readonly LimitRow[] = [
  row("Rate per key", perMinute(limits.keyRate), "after authentication"),
  row(
    "Rate per IP address",
    perMinute(limits.ipRate),
    "before authentication; shared by everyone behind one NAT",
  ),
  sharedLimits.retryAfter,
  row("Body size", bodySizeText, "before authentication; a larger body gets 413"),
  row("JSON nesting", `${limits.jsonDepthMax} levels`, "deeper nesting gets 400"),
  sharedLimits.time,
  row(
    "`Idempotency-Key`",
    `${limits.idempotencyKeyLengthMax} characters`,
    "shared by all keys of one customer; never expires",
  ),
  row(
    "Deduplication without an `Idempotency-Key`",
    `${limits.contentWindowHours} hours`,
    "for the same normalized lead, from the first one",
  ),
  sharedLimits.requestId,
  row(
    "`cost`",
    `${formatCents(limits.costCentsMin)} to ${formatCents(limits.costCentsMax)} USD`,
    "after rounding to cents",
  ),
  row(
    "Vocabulary cache",
    `${limits.vocabularyMaxAgeSeconds / 60} minutes`,
    "for `GET /v1/vocabulary`, which has an `ETag`",
  ),
  sharedLimits.reads,
  row(
    "Network",
    "HTTPS only, TLS 1.2 or later, HTTP/2 or HTTP/1.1; one IPv4 address, no IPv6 address",
    "no listener on port 80, and no redirect",
  ),
  row("Bulk backfill", "by agreement", "ask first: the limits can be raised for a period"),
];

/** The limits of tenant forms. Source: DECISIONS, Forms. */
export const formLimitRows: readonly LimitRow[] = [
  row(
    "Rate per IP address",
    perMinute(limits.formsIpRate),
    "before authentication; one web server posts for many visitors",
  ),
  row(
    "Rate per customer",
    perMinute(limits.formsTenantRate),
    "after authentication; for all forms and keys of a customer together",
  ),
  sharedLimits.retryAfter,
  row("Body size", bodySizeText, "before authentication; a larger body gets 413"),
  sharedLimits.time,
  row(
    "`Idempotency-Key`",
    `${limits.idempotencyKeyLengthMax} characters`,
    "shared by all forms of one customer, separate from its leads; never expires",
  ),
  row(
    "Deduplication without an `Idempotency-Key`",
    `${limits.formContentWindowMinutes} minutes`,
    "for the same fields in the same form, from the first submission",
  ),
  sharedLimits.requestId,
  sharedLimits.reads,
  row(
    "Network",
    "HTTPS only, TLS 1.2 or later, HTTP/2 or HTTP/1.1",
    "no listener on port 80, and no redirect; no CORS",
  ),
];
