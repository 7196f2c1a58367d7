/** The error codes and statuses of the intake and forms surfaces. This module is browser compatible. */

import { limits } from "./limits.ts";

const bodyKiB = limits.bodyBytesMax / 1024;

/** The status, cause, remedy and retry rule for an error code. Source: SPEC, Errors. */
export interface ErrorRule {
  readonly status: number;
  readonly condition: string;
  readonly callerAction: string;
  readonly retry: "never" | "never as-is" | "after Retry-After" | "yes";
}

/** The error codes of the intake. Source: SPEC, Errors; `not_found` from DECISIONS, The intake endpoint. */
export const errors = {
  invalid_json: {
    status: 400,
    condition:
      "the body is not a JSON object, `extra` is not an object, a field has the wrong JSON type (such as a string in `cost`), the body is compressed or not UTF-8, or `Idempotency-Key` was sent more than once",
    callerAction: "fix the JSON",
    retry: "never",
  },
  unauthorized: {
    status: 401,
    condition:
      "missing, unknown, revoked or inactive `X-API-Key`; `detail` may give the reason: a key in the wrong place, in quotes or mistyped, or a forms key",
    callerAction: "configuration problem; alert a human",
    retry: "never",
  },
  not_found: {
    status: 404,
    condition: "nothing is served at this path",
    callerAction: "fix the URL",
    retry: "never",
  },
  method_not_allowed: {
    status: 405,
    condition: "the path does not support this method; `Allow` lists the supported methods",
    callerAction: "fix the method",
    retry: "never",
  },
  body_too_large: {
    status: 413,
    condition:
      `the body is over ${bodyKiB} KiB; checked before authentication; the response has no \`request_id\``,
    callerAction: "trim `project_details`",
    retry: "never as-is",
  },
  validation_failed: {
    status: 422,
    condition: "validation failed; `fields` lists every failing field with its reason",
    callerAction: "fix each field and resend; the `Idempotency-Key` is not consumed",
    retry: "never as-is",
  },
  rate_limited: {
    status: 429,
    condition:
      "the per-key or per-IP limit is exceeded; the per-IP limit applies before authentication, and its response has no `request_id`",
    callerAction: "wait `Retry-After` seconds, then retry; this does not spend a delivery attempt",
    retry: "after Retry-After",
  },
  not_accepting: {
    status: 503,
    condition: "the store is unwritable or the key lookup failed; nothing was acknowledged",
    callerAction: "retry with exponential backoff",
    retry: "yes",
  },
} as const satisfies Record<string, ErrorRule>;

export type ErrorCode = keyof typeof errors;

/**
 * The errors that the listener itself returns, by status; most close the connection. Source: DECISIONS, The intake
 * endpoint.
 */
export const unreadErrors = {
  400: {
    code: "invalid_json",
    condition: "the request is not valid HTTP, or its `Host` is missing, repeated or malformed",
  },
  408: { code: "invalid_json", condition: "the request did not arrive in time" },
  417: { code: "invalid_json", condition: "`Expect` has a value other than `100-continue`" },
  421: { code: "not_found", condition: "this `Host` is not served here" },
  431: { code: "invalid_json", condition: "the request's headers are too large or too many" },
  501: { code: "invalid_json", condition: "`Transfer-Encoding` is not `chunked`; do not retry" },
  503: { code: "not_accepting", condition: "an unexpected error; nothing was acknowledged" },
} as const satisfies Record<number, { code: ErrorCode; condition: string }>;

/**
 * The error codes of the forms endpoint. Source: SPEC, Errors; DECISIONS, Forms. Chosen: an unusable
 * `Idempotency-Key` is `invalid_json`, because `missing_required` is reserved for missing fields and the probe.
 */
export const formErrors = {
  invalid_json: {
    status: 400,
    condition:
      `the body is not a flat JSON object (a value is an array or an object), the body is compressed or not UTF-8, or \`Idempotency-Key\` is over ${limits.idempotencyKeyLengthMax} characters (then \`fields\` names it) or was sent more than once`,
    callerAction: "fix the request",
    retry: "never",
  },
  missing_required: {
    status: 400,
    condition:
      "required fields are missing, null or blank; `fields` lists them; the probe also gets this response",
    callerAction: "fill in the fields and resend; the `Idempotency-Key` is not consumed",
    retry: "never as-is",
  },
  unauthorized: {
    status: 401,
    condition:
      "missing, unknown or revoked `X-API-Key`, or an intake key; `detail` may give the reason, such as a key in the wrong place, in quotes or mistyped",
    callerAction: "configuration problem; alert a human",
    retry: "never",
  },
  tenant_mismatch: {
    status: 403,
    condition: "`{tenant}` in the URL is not the key's tenant",
    callerAction: "fix the URL or the key",
    retry: "never",
  },
  form_not_found: {
    status: 404,
    condition: "the tenant has no form with this `{form_key}`",
    callerAction: "fix the URL, or ask the operator to add the form",
    retry: "never",
  },
  not_found: errors.not_found,
  method_not_allowed: errors.method_not_allowed,
  body_too_large: { ...errors.body_too_large, callerAction: "shorten the message" },
  rate_limited: {
    status: 429,
    condition:
      "the per-IP or per-tenant limit is exceeded; the per-IP limit applies before authentication, and its response has no `request_id`",
    callerAction: "wait `Retry-After` seconds, then retry",
    retry: "after Retry-After",
  },
  not_accepting: {
    status: 503,
    condition: "the store is unavailable; nothing was acknowledged",
    callerAction: "retry with exponential backoff",
    retry: "yes",
  },
} as const satisfies Record<string, ErrorRule>;

export type FormErrorCode = keyof typeof formErrors;
