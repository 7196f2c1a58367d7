/**
 * The error codes of the tenant forms and the status each one answers with: one table, from which the replies, the
 * documents and the tests are made. This module is browser compatible.
 *
 * @module
 */

import { type ErrorRule, errors } from "./errors.ts";
import { limits } from "./limits.ts";

/**
 * Every error code that the forms endpoint answers with.
 *
 * Source: SPEC, Errors (tenant forms); DECISIONS, Forms.
 *
 * Chosen: an `Idempotency-Key` that cannot be used is `invalid_json` with the header's name in `fields`, because the
 * codes are settled and this one says "the request is not what a form posts"; `missing_required` is the probe's
 * answer and must mean nothing else. 413 and the per-IP 429 have no `request_id` in the body, as on the intake.
 */
export const formErrors = {
  invalid_json: {
    status: 400,
    condition:
      `the body is not a flat JSON object (a value is an array or an object), or it is compressed or not UTF-8, or \`Idempotency-Key\` is over ${limits.idempotencyKeyLengthMax} characters (then \`fields\` names it) or was sent more than once`,
    callerAction: "fix the request",
    retry: "never",
  },
  missing_required: {
    status: 400,
    condition: "required fields are missing, null or blank: `fields` lists them; the probe's answer too",
    callerAction: "fill in the fields and resend; the `Idempotency-Key` is not consumed",
    retry: "never as-is",
  },
  unauthorized: {
    status: 401,
    condition: "missing, unknown or revoked `X-API-Key`, or a key of the intake",
    callerAction: "configuration problem; alert a human",
    retry: "never",
  },
  tenant_mismatch: {
    status: 403,
    condition: "`{tenant}` in the address is not the key's tenant",
    callerAction: "fix the address or the key",
    retry: "never",
  },
  form_not_found: {
    status: 404,
    condition: "the tenant has no form of this `{form_key}`",
    callerAction: "fix the address, or have the form added",
    retry: "never",
  },
  not_found: errors.not_found,
  method_not_allowed: errors.method_not_allowed,
  body_too_large: { ...errors.body_too_large, callerAction: "shorten the message" },
  rate_limited: {
    status: 429,
    condition:
      "the per-IP or per-tenant budget is exceeded; the per-IP one comes before authentication and its body has no `request_id`",
    callerAction: "wait `Retry-After` seconds, then retry",
    retry: "after Retry-After",
  },
  not_accepting: {
    status: 503,
    condition: "the store is away; nothing was promised",
    callerAction: "retry with exponential backoff",
    retry: "yes",
  },
} as const satisfies Record<string, ErrorRule>;

/** A machine code of the forms' error body. */
export type FormErrorCode = keyof typeof formErrors;
