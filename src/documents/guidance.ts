/**
 * Rules, retry policy, key check and limits for the documents, as Markdown lines. This module is browser compatible.
 */

import { dollars, grouped, limits, type Rate } from "../contract/limits.ts";

/** The eight rules. Source: DECISIONS, The integration brief's fixed parts. */
export const rules = [
  "One lead a `POST`, from your server, over HTTPS, as soon as the lead exists.",
  "Keep the key in a secret store and send it only in the `X-API-Key` header: never in code, a URL or a log.",
  "Check the key with `{}`, never with an invented lead.",
  "Send an `Idempotency-Key` that starts with your own namespace and is the same on every retry of the same lead.",
  "Send your own terms: read the vocabulary live, and do not guess a mapping.",
  "Leave out what you do not have: no placeholders, no `cost` of 0.",
  "Retry only 5xx, time-outs and 429, following the retry policy.",
  "202 and 200 are final: keep the `event_id`, log the request id, and treat flags as observations.",
] as const;

/** What must hold before an integration goes live. Source: DECISIONS, as the rules. */
export const definitionOfDone = [
  "The key check answers 422.",
  "A sandbox lead answers 202.",
  "Its repeat, with the same `Idempotency-Key`, answers 200 with the same `event_id`.",
  "A 422 reaches a person, with its `fields`.",
  "429 and 503 are retried with backoff and jitter.",
  "A 401 alerts a person.",
  "`event_id` and request id are stored with the lead.",
  "No key is in code, a URL or a log.",
  "No test lead is in production.",
] as const;

/** The client's side of the contract. Source: SPEC, Client retry policy. */
export const retryPolicy = [
  "Retry on any 5xx, on a time-out or transport error, and on 429 after `Retry-After`.",
  `Back off exponentially, with jitter and a cap of ${limits.backoffCapSeconds} s.`,
  "A 429 does not consume a delivery attempt: wait at least `Retry-After` and grow the wait on repeats.",
  "Never retry any other 4xx: a 422 needs a corrected body.",
  "Send the same body and the same `Idempotency-Key` on every retry; the answer tells you whether an earlier try was accepted.",
  "Keep the `event_id` with your lead, and log `request_id` (or your own `X-Request-Id`) on every failure.",
] as const;

/** What each answer to the key check says about the key. Source: SPEC, Key check. */
export const keyCheck = [
  { answer: "422 `validation_failed`", meaning: "The key is valid and active. Nothing was stored." },
  {
    answer: "401 `unauthorized`",
    meaning: "The key is missing, mistyped or revoked, or this is the wrong host.",
  },
  {
    answer: "429 `rate_limited`",
    meaning: "Too many requests from your address. This says nothing about the key.",
  },
  { answer: "503 `not_accepting`", meaning: "The service cannot look up the key at the moment. Try again." },
  {
    answer: "connection refused, or a time-out",
    meaning: "You used `http://` instead of `https://`, or your network blocks outgoing connections.",
  },
] as const;

/** What is done to every field before it is stored. Source: SPEC, Global normalization. */
export const normalization = [
  "White space at both ends is removed, and runs of it inside become one space.",
  "Control characters are removed; tabs and line breaks become a space.",
  "In `project_details`, line breaks stay, as LF, and so do control characters other than white space and NUL.",
  "`email` is lower-cased, `country` mapped and upper-cased, `phone` reduced to E.164 where it is a US or Canadian number.",
  "`null` counts as omitted, and so does an optional field that contains only white space.",
  "Lengths are counted in characters (Unicode code points), after normalization; `phone` as sent. A value over its cap is refused, never truncated.",
] as const;

/** What there is to know of a key. Source: SPEC, Authentication. */
export const keyRules = [
  "A person at the customer issues the key, for one lead source. A second source needs a second key. Sandbox keys are issued on request; their leads are not delivered.",
  "Its label becomes the lead's `source`. The body cannot set, change or omit the source.",
  "You see it once, when it is issued. The service stores only a SHA-256 hash, so a lost key cannot be recovered: rotate it.",
  "To rotate it, get a second key, cut over, then have the first one revoked. Revocation takes effect immediately, also for requests in flight. Your `Idempotency-Key`s stay valid.",
  "Never put it in source code, a URL, a log line, an error message or a committed file.",
] as const;

/** What `detail` is, on every surface. Source: DECISIONS, Decided since. */
export const detailAbout =
  "an English explanation for people: the field with the type, cap or range that it needs, the line and column of the fault, the apparent format of the body, the field that you probably meant, or how the key was sent. It contains no value of yours. Log it, but do not parse it: its wording may change.";

/** What an error body has. Source: SPEC, Error body; `detail` from DECISIONS, Decided since. */
export const errorMembers = [
  { name: "error", about: "Machine-readable code, always present." },
  {
    name: "request_id",
    about:
      "The request's id. The body of a 413 and of the per-address 429 does not have it; the header `X-Request-Id` is always present.",
  },
  {
    name: "fields",
    about: "With 422 only: every failing field at once, each with `required`, `too_long` or `out_of_range`.",
  },
  {
    name: "detail",
    about: `Optional, with 400, 401 and 422: ${detailAbout}`,
  },
] as const;

/** What an acknowledgement has. Source: SPEC, Lead acknowledgement. */
export const acknowledgementMembers = [
  {
    name: "event_id",
    about:
      "Identifies the lead, for you and for support. Opaque: never parse it; only its chronological order has a meaning. A repeat has the id of the first.",
  },
  { name: "status", about: "`accepted` with 202, `duplicate` with 200." },
  { name: "received_at", about: "When the lead was accepted: UTC, ISO 8601." },
  { name: "source", about: "The label of your key." },
  { name: "flags", about: "Observations: always an array, never null, empty when there are none." },
] as const;

/** What `GET /healthz` of the intake has. Source: SPEC, Intake health. */
export const healthMembers = [
  { name: "ok", about: "whether the service accepts leads: the status is 200 if `true`, otherwise 503" },
  { name: "pending", about: "accepted leads that are not delivered yet" },
  { name: "dead", about: "accepted leads that wait for an operator" },
  { name: "store_writable", about: "whether the store accepts writes" },
] as const;

export interface LimitRow {
  readonly limit: string;
  readonly value: string;
  readonly appliesTo: string;
}

const row = (limit: string, value: string, appliesTo: string): LimitRow => ({ limit, value, appliesTo });

const perMinute = ({ perMinute, burst }: Rate) =>
  `${grouped(perMinute)} requests a minute, burst ${grouped(burst)}`;

/** `20` for 20,000 ms. */
const seconds = (ms: number) => ms / 1000;

const kib = `${limits.bodyBytesMax / 1024} KiB (${grouped(limits.bodyBytesMax)} bytes)`;

/** The limits that both key-gated posts have in common. */
const shared = {
  retryAfter: row("`Retry-After`", `${limits.retryAfterSeconds} s or more`, "429; a floor"),
  time: row(
    "Time for a request",
    `${seconds(limits.requestTimeoutMs)} s`,
    `the whole request; use a client time-out of ${seconds(limits.requestTimeoutMs)} s too`,
  ),
  requestId: row(
    "`X-Request-Id`",
    `${limits.requestIdLengthMax} characters`,
    "a longer one is replaced",
  ),
  reads: row(
    "Public reads per address",
    perMinute(limits.publicRead),
    "documents, vocabulary, plans and health together",
  ),
} as const;

/** Every limit of the intake with its value and what it is about. Source: SPEC, Limits. */
export const limitRows: readonly LimitRow[] = [
  row("Rate per key", perMinute(limits.keyRate), "intake, after authentication"),
  row(
    "Rate per address",
    perMinute(limits.ipRate),
    "intake, before authentication; shared by everyone behind one NAT",
  ),
  shared.retryAfter,
  row("Body", kib, "intake, before authentication; a larger one is 413"),
  row("JSON nesting", `${limits.jsonDepthMax} levels`, "intake"),
  shared.time,
  row(
    "`Idempotency-Key`",
    `${limits.idempotencyKeyLengthMax} characters`,
    "shared by all keys of one customer; never expires",
  ),
  row(
    "Dedupe without an `Idempotency-Key`",
    `${limits.contentWindowHours} hours`,
    "the same normalized lead again, counted from the first",
  ),
  shared.requestId,
  row(
    "`cost`",
    `${dollars(limits.costCentsMin)} to ${dollars(limits.costCentsMax)} USD`,
    "after rounding to cents",
  ),
  row(
    "Vocabulary cache",
    `${limits.vocabularyMaxAgeSeconds / 60} minutes`,
    "`GET /v1/vocabulary`, with an `ETag`",
  ),
  shared.reads,
  row(
    "Network",
    "HTTPS only, TLS 1.2 or later, HTTP/2 or 1.1; one IPv4 address and no IPv6 address",
    "no listener on port 80, and no redirect",
  ),
  row("Backfill", "by agreement", "ask first: the limits can be raised for a period"),
];

/** Every limit of the tenant forms. Source: DECISIONS, Forms. */
export const formLimitRows: readonly LimitRow[] = [
  row(
    "Rate per address",
    perMinute(limits.formsIpRate),
    "before authentication; one web server posts for many visitors",
  ),
  row(
    "Rate per customer",
    perMinute(limits.formsTenantRate),
    "after authentication; all forms and keys of a customer together",
  ),
  shared.retryAfter,
  row("Body", kib, "before authentication; a larger one is 413"),
  shared.time,
  row(
    "`Idempotency-Key`",
    `${limits.idempotencyKeyLengthMax} characters`,
    "shared by all forms of one customer, apart from its leads; never expires",
  ),
  row(
    "Dedupe without an `Idempotency-Key`",
    `${limits.formContentWindowMinutes} minutes`,
    "the same fields in the same form again, counted from the first",
  ),
  shared.requestId,
  shared.reads,
  row(
    "Network",
    "HTTPS only, TLS 1.2 or later, HTTP/2 or 1.1",
    "no listener on port 80, and no redirect; no CORS",
  ),
];
