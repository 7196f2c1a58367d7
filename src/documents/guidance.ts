/**
 * What the documents say beside fields and codes: the rules for callers, the retry policy, the meaning of the key
 * check, the limits as people read them. Text is Markdown of one line; numbers come from `contract/limits.ts`. This module
 * is browser compatible.
 */

import { dollars, grouped, limits, type Rate } from "../contract/limits.ts";

/** The eight rules. Source: DECISIONS, The integration brief's fixed parts. */
export const rules = [
  "One lead a `POST`, from your server, over HTTPS, as soon as the lead exists.",
  "The key lives in a secret store and travels only in the `X-API-Key` header: never in code, a URL or a log.",
  "Check the key with `{}`, never with an invented lead.",
  "Send an `Idempotency-Key` that starts with your own namespace and is the same on every retry of the same lead.",
  "Send your own terms. The vocabulary is read live, and nothing is guessed.",
  "Leave out what you do not have: no placeholders, no `cost` of 0.",
  "Retry 5xx, time-outs and 429 only, as the retry policy says.",
  "202 and 200 are final: keep the `event_id`, log the request id, and treat flags as observations.",
] as const;

/** What has to be true before an integration goes live. Source: DECISIONS, as the rules. */
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
  "Send the same body and the same `Idempotency-Key` on every retry; the answer tells which try counted.",
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
  { answer: "503 `not_accepting`", meaning: "The service cannot look the key up just now. Try again." },
  {
    answer: "connection refused, or a time-out",
    meaning: "`http://` instead of `https://`, or your network blocks the way out.",
  },
] as const;

/** What is done to every field before it is stored. Source: SPEC, Global normalization. */
export const normalization = [
  "White space at both ends is removed, and runs of it inside become one space.",
  "Control characters are removed; tabs and line breaks become a space.",
  "`project_details` is the exception: line breaks stay, as LF, and so does every control character that is no white space, but for NUL.",
  "`email` is lower-cased, `country` mapped and upper-cased, `phone` reduced to E.164 where it is a US or Canadian number.",
  "`null` counts as left out, and so does an optional field with nothing but white space in it.",
  "Lengths are counted in characters (Unicode code points), after normalization; `phone` as sent. A value over its cap is refused, never cut.",
] as const;

/** What there is to know of a key. Source: SPEC, Authentication. */
export const keyRules = [
  "A person issues it, for one lead source, at the customer that you send to. A second source needs a second key. Sandbox keys come on request; nothing of theirs is delivered.",
  "Its label becomes the lead's `source`. The body cannot set, change or leave out the source.",
  "You see it once, when it is issued. The service keeps a SHA-256 hash only, so a lost key is rotated, not recovered.",
  "Rotation: get a second key, cut over, then have the first one revoked. Revoking takes effect at once, for requests in flight too. Your `Idempotency-Key`s go on working.",
  "It never stands in source code, a URL, a log line, an error message or a committed file.",
] as const;

/** What `detail` is, on every surface. Source: DECISIONS, Decided since. */
export const detailAbout =
  "what is wrong, in English for people: the field and the type that it needs, its cap or its range, line and column of the fault, what the body seems to be, which field was probably meant, or where and how the key was sent. Never a value of yours. Log it. Do not parse it: its words may change.";

/** What an error body has. Source: SPEC, Error body; `detail` from DECISIONS, Decided since. */
export const errorMembers = [
  { name: "error", about: "Machine code, always there." },
  {
    name: "request_id",
    about:
      "The request's id. Not in the body of 413 and of the 429 of an address, which are answered before the handler; the header `X-Request-Id` is on those too.",
  },
  {
    name: "fields",
    about: "With 422 only: every failing field at once, each with `required`, `too_long` or `out_of_range`.",
  },
  {
    name: "detail",
    about: `With 400, 401 and 422, perhaps: ${detailAbout}`,
  },
] as const;

/** What an acknowledgement has. Source: SPEC, Lead acknowledgement. */
export const acknowledgementMembers = [
  {
    name: "event_id",
    about:
      "Names the lead, for you and for support. Opaque: never parse it; only its order in time means something. A repeat has the first one's.",
  },
  { name: "status", about: "`accepted` with 202, `duplicate` with 200." },
  { name: "received_at", about: "When the lead was accepted: UTC, ISO 8601." },
  { name: "source", about: "The label of your key." },
  { name: "flags", about: "Observations: always an array, never null, empty when there are none." },
] as const;

/** What `GET /healthz` of the intake has. Source: SPEC, Intake health. */
export const healthMembers = [
  { name: "ok", about: "leads are being taken: with `true` the status is 200, else 503" },
  { name: "pending", about: "accepted leads that are still to be delivered" },
  { name: "dead", about: "accepted leads that wait for an operator" },
  { name: "store_writable", about: "the store takes writes" },
] as const;

/** One limit. */
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
    `everything; use a client time-out of ${seconds(limits.requestTimeoutMs)} s too`,
  ),
  requestId: row(
    "`X-Request-Id`",
    `${limits.requestIdLengthMax} characters`,
    "a longer one is replaced by one of ours",
  ),
  reads: row(
    "Public reads per address",
    perMinute(limits.publicRead),
    "documents, vocabulary, plans and health, all together",
  ),
} as const;

/** Every limit of the intake with its value and what it is about. Source: SPEC, Limits. */
export const limitRows: readonly LimitRow[] = [
  row("Rate per key", perMinute(limits.keyRate), "intake, after authentication"),
  row(
    "Rate per address",
    perMinute(limits.ipRate),
    "intake, before authentication; everybody behind one NAT shares it",
  ),
  shared.retryAfter,
  row("Body", kib, "intake, before authentication; over it 413"),
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
    "the same normalized lead again, from the first one on",
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
    "nothing listens on port 80, and nothing redirects",
  ),
  row("Backfill", "by agreement", "ask first: the limits can be raised for a while"),
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
  row("Body", kib, "before authentication; over it 413"),
  shared.time,
  row(
    "`Idempotency-Key`",
    `${limits.idempotencyKeyLengthMax} characters`,
    "shared by all forms of one customer, apart from its leads; never expires",
  ),
  row(
    "Dedupe without an `Idempotency-Key`",
    `${limits.formContentWindowMinutes} minutes`,
    "the same fields in the same form again, from the first one on",
  ),
  shared.requestId,
  shared.reads,
  row(
    "Network",
    "HTTPS only, TLS 1.2 or later, HTTP/2 or 1.1",
    "nothing listens on port 80, and nothing redirects; no CORS",
  ),
];
