/**
 * Checks an error body against its surface's table of codes, which is stricter than the document's schema for all
 * errors.
 */

import { type ErrorRule, errors, formErrors, unreadErrors } from "../../../src/contract/errors.ts";
import { type FieldName, fieldNames, fields as envelope } from "../../../src/contract/fields.ts";
import type { BaseUrls } from "../../../src/documents/openapi.ts";

/** The response that contains the error. */
interface Answered {
  readonly surface?: keyof BaseUrls;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

const tables: Readonly<Record<keyof BaseUrls, Readonly<Record<string, ErrorRule>>>> = {
  intake: errors,
  forms: formErrors,
  subscription: errors,
};

/** Returns the faults of an error body, one line each. */
export function errorFindings(body: Readonly<Record<string, unknown>>, answered: Answered): string[] {
  const { surface = "intake", status, headers } = answered;
  const code = String(body.error);
  const isUnread = status in unreadErrors && unreadErrors[status as keyof typeof unreadErrors].code === code;
  // Sent before the handler runs: SPEC, Error body.
  const isEarly = code === "body_too_large" ||
    code === "rate_limited" && !/key|tenant/.test(String(headers["ratelimit-policy"]));
  const sentId = Buffer.from(String(headers["x-request-id"]), "latin1").toString("utf8");
  const mayHaveDetail = [400, 401, 422].includes(status);
  return [
    ...(tables[surface][code]?.status === status || isUnread ? [] : [`${code} has another status`]),
    ...(body.request_id === (isEarly ? undefined : sentId) ? [] : [`request_id is ${body.request_id}`]),
    ...(body.detail === undefined || mayHaveDetail ? [] : ["there is a detail"]),
    ...(surface === "forms" ? formFields(code, body.fields) : leadFields(code, body.fields)),
  ];
}

function leadFields(code: string, fields: unknown): string[] {
  if (fields === undefined) return code === "validation_failed" ? ["there are no fields"] : [];
  if (code !== "validation_failed") return [`${code} has fields`];
  const wrong = Object.entries(fields as Readonly<Record<string, string>>)
    .filter(([name, reason]) => !reasonsOf(name).includes(reason));
  return wrong.map(([name, reason]) => `${name} is ${reason}`);
}

function reasonsOf(name: string): readonly string[] {
  if (name === "cost") return ["out_of_range"];
  if (name === "Idempotency-Key") return ["too_long"];
  if (!(fieldNames as readonly string[]).includes(name)) return [];
  return envelope[name as FieldName].required ? ["required", "too_long"] : ["too_long"];
}

function formFields(code: string, fields: unknown): string[] {
  if (fields === undefined) return code === "missing_required" ? ["there are no fields"] : [];
  const given = Object.entries(fields as Readonly<Record<string, string>>);
  const isRight = code === "missing_required"
    ? given.every(([, reason]) => reason === "required")
    : code === "invalid_json" &&
      given.every(([name, reason]) => name === "Idempotency-Key" && reason === "too_long");
  return isRight ? [] : [`${code} has the fields ${JSON.stringify(fields)}`];
}
