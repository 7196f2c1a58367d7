/**
 * What the brief of the tenant forms says beside codes and numbers. Text is Markdown of one line. This module is browser
 * compatible.
 *
 * @module
 */

import { attributionNames, attributionSources, formKeyName, honeypotName, startedAtName } from "./forms.ts";
import { detailAbout } from "./guidance.ts";
import { limits } from "./limits.ts";
import { type Cells, named } from "./markdown.ts";

/** The rules for whoever builds the website. Source: SPEC, Tenant forms; DECISIONS, Forms. */
export const formRules = [
  "One submission a `POST`, from your web server, over HTTPS, while the visitor waits. There is no CORS: a browser cannot post here.",
  "The key lives in a secret store and travels only in the `X-API-Key` header: never in a page, in code, a URL or a log.",
  "Check key and form with `{}`, never with an invented visitor.",
  `Put the honeypot into the form: a text field \`${honeypotName}\` that people do not see. Send it along as it comes.`,
  `Send ${named(attributionSources)} along: the campaign is read from them.`,
  "Send what the visitor wrote, as it was written. Nothing is trimmed, and nothing has to be guessed.",
  "On 202 and 200 thank the visitor. On `missing_required` show the visitor what is missing.",
  "Retry 5xx, time-outs and 429 only, as the retry policy says.",
] as const;

/** What each answer to the probe says. Source: SPEC, Tenant forms (probe). */
export const formKeyCheck = [
  {
    answer: "400 `missing_required`",
    meaning: "Key and form are right; `fields` lists what the form requires.",
  },
  {
    answer: "401 `unauthorized`",
    meaning: "The key is missing, mistyped or revoked, or it is a key for leads.",
  },
  { answer: "403 `tenant_mismatch`", meaning: "The address names another customer than the key's." },
  { answer: "404 `form_not_found`", meaning: "The customer has no such form." },
  {
    answer: "429 `rate_limited`",
    meaning: "Too many posts. The limit of your address says nothing about the key.",
  },
  { answer: "503 `not_accepting`", meaning: "The service cannot look the key up just now. Try again." },
  {
    answer: "connection refused, or a time-out",
    meaning: "`http://` instead of `https://`, or your network blocks the way out.",
  },
] as const;

/** The members of a body that mean something to the service: name and rules. */
export const formBodyRows: readonly Cells[] = [
  [
    "whatever the form collects",
    "Text, numbers, `true`, `false` or `null`, kept as they were sent. An array or an object is `invalid_json`.",
  ],
  [
    "the form's required fields",
    "As the operator has set the form up; the probe names them. Missing, `null` or blank is `missing_required`; 0 and `false` fill a field in.",
  ],
  [
    `\`${honeypotName}\``,
    "The honeypot. Anything in it marks a bot: the answer is the same, and nothing is delivered. Blank, `null` and `false` are an empty one.",
  ],
  [
    named(attributionSources),
    `The page's address and the one before it. ${
      named(attributionNames)
    } are read from the query of the first and, for those that are missing, of the second.`,
  ],
  [
    `\`${startedAtName}\``,
    "When the form was opened: ISO 8601 with its zone, or Unix time in seconds or milliseconds. A form that was filled in faster than people can counts as a sign of a bot.",
  ],
  [`\`${formKeyName}\``, "Ignored: the address says which form it is."],
];

/** What becomes of a submission. Source: SPEC, Tenant forms; DECISIONS, Forms. */
export const formOutcomes = [
  "It is stored and delivered to the customer's CRM and mail, in the background, again and again until it works. No webhook and no status tells of it.",
  "Or it is held as spam, because of its content or of the honeypot: stored, not delivered, and answered exactly like any other, so that a bot learns nothing. The customer's operator can release it.",
  "An email address that does not look like one is kept as it was sent, and the customer reads a note beside it (`email_shape_suspect` in the webhook). The answer is the same: check it in the page, while the visitor can mend it.",
  `Or it is a repeat: the same fields in the same form within ${limits.formContentWindowMinutes} minutes, or any under a used \`Idempotency-Key\`. Nothing further is delivered.`,
] as const;

/** What an acknowledgement has. Source: DECISIONS, Forms. */
export const submissionMembers = [
  { name: "status", about: "`accepted` with 202, `duplicate` with 200." },
  {
    name: "submission_id",
    about:
      "Names the submission, for you and for support. Opaque: never parse it. A repeat has the first one's.",
  },
  { name: "received_at", about: "When it was accepted: UTC, ISO 8601." },
] as const;

/** What an error body has. Source: DECISIONS, Forms and Decided since. */
export const formErrorMembers = [
  { name: "error", about: "Machine code, always there." },
  {
    name: "request_id",
    about:
      "The request's id. Not in the body of 413 and of the 429 of an address; the header `X-Request-Id` is on those too.",
  },
  {
    name: "fields",
    about:
      "With `missing_required`: every field that is missing, each `required`. With `invalid_json`, when the `Idempotency-Key` is `too_long`.",
  },
  { name: "detail", about: `With 400, perhaps: ${detailAbout}` },
] as const;

/** The client's side of the contract. Source: SPEC, Errors (tenant forms) and Client retry policy. */
export const formRetryPolicy = [
  "Retry on any 5xx, on a time-out or transport error, and on 429 after `Retry-After`. Never retry any other 4xx.",
  `Back off exponentially, with jitter and a cap of ${limits.backoffCapSeconds} s. A visitor waits: give up after a few tries, ${
    limits.requestTimeoutMs / 1000
  } s in all, keep what was written, and say so.`,
  `Send the same body on every retry: within ${limits.formContentWindowMinutes} minutes it is the same submission. For longer, send an \`Idempotency-Key\`, another one for each submission.`,
  "Log `request_id` on every failure.",
] as const;

/** What has to be true before a form goes live. */
export const formDefinitionOfDone = [
  "The key check answers 400 `missing_required`.",
  "A submission with a sandbox key (`form_test_…`) answers 202.",
  "Its repeat answers 200 with the same `submission_id`.",
  "What a visitor leaves out is shown to the visitor.",
  `\`${honeypotName}\` is in the form, out of sight, and sent along; so are ${named(attributionSources)}.`,
  "429 and 503 are retried with backoff and jitter.",
  "A 401, 403 or 404 alerts a person.",
  "No key is in a page, in code, a URL or a log.",
] as const;
