/** The answer that the intake would give to a body, from the validator that it uses. */

import { type ErrorCode, errors } from "../contract/errors.ts";
import { placeholders } from "../documents/examples.ts";
import type { Flag, Reason } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { firstBudgets } from "../contract/rate_headers.ts";
import type { Areas, Validation } from "../lead/lead.ts";
import { lengthDetail, validate } from "../lead/validate.ts";

/** What would be posted, with a key that works. */
interface Posted {
  readonly body: string;
  /** As typed; blank for none. */
  readonly idempotencyKey: string;
  /** The lead was accepted before. */
  readonly isRepeat: boolean;
}

/** What would come back. Values that the service makes up are placeholders. */
export interface Answer {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** `null` when the body is refused before anybody reads it. */
  readonly validation: Validation | null;
  readonly fields: Readonly<Record<string, Reason>>;
  readonly flags: readonly Flag[];
}

/** The values in an answer that stand in for others. */
export const madeUp: readonly string[] = [
  placeholders.eventId,
  placeholders.receivedAt,
  placeholders.source,
  placeholders.requestId,
];

const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  202: "Accepted",
  400: "Bad Request",
  413: "Payload Too Large",
  422: "Unprocessable Entity",
};

const ip = { name: "ip", rate: limits.ipRate } as const;
const key = { name: "key", rate: limits.keyRate } as const;

// deno-lint-ignore no-control-regex -- what a header may not hold
const control = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Answers in the intake's order: size, JSON, fields and `Idempotency-Key`, then the lead itself.
 *
 * Source: SPEC, POST intake.
 */
export function answerTo(posted: Posted, areas: Areas): Answer {
  if (isTooLarge(posted.body)) return refuse("body_too_large", null, {});
  const validation = validate(posted.body, areas);
  if (validation.kind === "invalid_json") return refuse("invalid_json", validation, {});
  const detail = keyDetail(posted.idempotencyKey);
  const inHeader = detail === null ? {} : { "Idempotency-Key": "too_long" as const };
  const fields = { ...(validation.kind === "validation_failed" ? validation.fields : {}), ...inHeader };
  if (validation.kind === "validation_failed" || Object.keys(fields).length > 0) {
    return refuse("validation_failed", validation, fields, detail);
  }
  const status = posted.isRepeat ? 200 : 202;
  const body = {
    event_id: placeholders.eventId,
    status: posted.isRepeat ? "duplicate" : "accepted",
    received_at: placeholders.receivedAt,
    source: placeholders.source,
    flags: validation.flags,
  };
  return { ...wire(status, true), body, validation, fields, flags: validation.flags };
}

function refuse(
  code: ErrorCode,
  validation: Validation | null,
  fields: Readonly<Record<string, Reason>>,
  ofKey: string | null = null,
): Answer {
  const early = code === "body_too_large";
  const ofBody = validation === null || validation.kind === "valid" ? [] : validation.detail ?? [];
  const details = [ofBody, ofKey ?? []].flat();
  const body = {
    error: code,
    ...(early ? {} : { request_id: placeholders.requestId }),
    ...(code === "validation_failed" ? { fields } : {}),
    ...(details.length === 0 ? {} : { detail: details.join(". ") }),
  };
  return { ...wire(errors[code].status, !early), body, validation, fields, flags: [] };
}

/** `afterKey`: the answer tells of the key's limit too. */
function wire(status: number, afterKey: boolean) {
  return {
    status,
    reason: reasons[status] as string,
    headers: {
      "Content-Type": "application/json",
      "Cache-Control": "no-store",
      ...(afterKey ? firstBudgets(ip, key) : firstBudgets(ip)),
      "X-Request-Id": placeholders.requestId,
    },
  };
}

/** The size of a body in UTF-8, or more than the cap for one that is over it anyway. */
export function bytesOf(body: string): number {
  return body.length > limits.bodyBytesMax ? body.length : new TextEncoder().encode(body).length;
}

function isTooLarge(body: string): boolean {
  return bytesOf(body) > limits.bodyBytesMax;
}

/** What is wrong with the header as the intake reads it: blank is none, and control characters are as bad as too many. */
function keyDetail(value: string): string | null {
  const text = value.trim();
  const { idempotencyKeyLengthMax: lengthMax } = limits;
  return control.test(text) || [...text].length > lengthMax
    ? lengthDetail("Idempotency-Key", text, lengthMax)
    : null;
}
