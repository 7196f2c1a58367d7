/** Predicts the intake's response to a body, with the same validator. */

import { type ErrorCode, errors } from "../contract/errors.ts";
import { acknowledgementExample, placeholders } from "../documents/examples.ts";
import type { Flag, Reason } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { initialRateHeaders, type RateLimitState } from "../contract/rate_headers.ts";
import type { Areas, Validation } from "../lead/lead.ts";
import { lengthDetail, validate } from "../lead/validate.ts";

/** A post with a valid API key. */
interface Post {
  readonly body: string;
  /** The header as typed; blank if there is none. */
  readonly idempotencyKey: string;
  /** Whether the same lead has already been accepted. */
  readonly isRepeat: boolean;
}

/** A predicted response, with placeholders for generated values. */
export interface PredictedResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface IntakeResponse extends PredictedResponse {
  /** The validator's result; `null` if the body is rejected unread. */
  readonly validation: Validation | null;
  readonly fields: Readonly<Record<string, Reason>>;
  readonly flags: readonly Flag[];
}

/** The placeholders for generated values in a response. */
export const placeholderValues: readonly string[] = [
  placeholders.eventId,
  placeholders.receivedAt,
  placeholders.source,
  placeholders.requestId,
];

const reasonPhrases: Readonly<Record<number, string>> = {
  200: "OK",
  202: "Accepted",
  400: "Bad Request",
  413: "Payload Too Large",
  422: "Unprocessable Entity",
};

const ip = { name: "ip", rate: limits.ipRate } as const;
const key = { name: "key", rate: limits.keyRate } as const;

// deno-lint-ignore no-control-regex -- headers cannot contain these
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Checks a post in the intake's order: size, JSON, then fields and `Idempotency-Key` together.
 *
 * Source: SPEC, POST intake.
 */
export function predictResponse(post: Post, areas: Areas): IntakeResponse {
  if (byteLength(post.body) > limits.bodyBytesMax) return errorResponse("body_too_large", null, {});
  const validation = validate(post.body, areas);
  if (validation.kind === "invalid_json") return errorResponse("invalid_json", validation, {});
  const detail = idempotencyKeyDetail(post.idempotencyKey);
  const headerFaults = detail === null ? {} : { "Idempotency-Key": "too_long" as const };
  const fields = { ...(validation.kind === "validation_failed" ? validation.fields : {}), ...headerFaults };
  if (validation.kind === "validation_failed" || Object.keys(fields).length > 0) {
    return errorResponse("validation_failed", validation, fields, detail);
  }
  const status = post.isRepeat ? 200 : 202;
  const body = acknowledgementExample(post.isRepeat ? "duplicate" : "accepted", validation.flags);
  return { ...statusAndHeaders(status, ip, key), body, validation, fields, flags: validation.flags };
}

function errorResponse(
  code: ErrorCode,
  validation: Validation | null,
  fields: Readonly<Record<string, Reason>>,
  headerDetail: string | null = null,
): IntakeResponse {
  const isUnread = code === "body_too_large";
  const bodyDetail = validation === null || validation.kind === "valid" ? [] : validation.detail ?? [];
  const details = [bodyDetail, headerDetail ?? []].flat();
  const body = {
    error: code,
    ...(isUnread ? {} : { request_id: placeholders.requestId }),
    ...(code === "validation_failed" ? { fields } : {}),
    ...(details.length === 0 ? {} : { detail: details.join(". ") }),
  };
  const rates = isUnread ? [ip] : [ip, key];
  return { ...statusAndHeaders(errors[code].status, ...rates), body, validation, fields, flags: [] };
}

/** Builds the status and the headers, which report the limits that are checked before the response. */
export function statusAndHeaders(status: number, ...rates: readonly Pick<RateLimitState, "name" | "rate">[]) {
  return {
    status,
    reason: reasonPhrases[status] as string,
    headers: {
      "Content-Type": "application/json",
      "Cache-Control": "no-store",
      ...initialRateHeaders(...rates),
      "X-Request-Id": placeholders.requestId,
    },
  };
}

/** Returns a body's size in UTF-8, in bytes; for a body over the limit, any number over the limit. */
export function byteLength(body: string): number {
  return body.length > limits.bodyBytesMax ? body.length : new TextEncoder().encode(body).length;
}

/** Describes an unusable `Idempotency-Key`: one that is too long or contains control characters. Returns `null` if the key is usable or blank. */
function idempotencyKeyDetail(value: string): string | null {
  const text = value.trim();
  const { idempotencyKeyLengthMax: lengthMax } = limits;
  return controlCharacter.test(text) || [...text].length > lengthMax
    ? lengthDetail("Idempotency-Key", text, lengthMax)
    : null;
}
