/** Predicts the response to a form's post, with the surface's own checks. */

import { type FormErrorCode, formErrors } from "../contract/errors.ts";
import { limits } from "../contract/limits.ts";
import { placeholders, submissionExample } from "../documents/examples.ts";
import { type CheckedFields, checkFields } from "../forms/fields.ts";
import { byteLength, type PredictedResponse, statusAndHeaders } from "./response.ts";

export interface FormResponse extends PredictedResponse {
  /** The fields, or why they are refused; `null` if the body is refused unread. */
  readonly checked: CheckedFields | null;
}

const ip = { name: "ip", rate: limits.formsIpRate } as const;
const tenant = { name: "tenant", rate: limits.formsTenantRate } as const;

/** Checks a post with a valid key, without an `Idempotency-Key`, that is not a repeat. */
export function predictFormResponse(body: string, required: readonly string[]): FormResponse {
  const statusOf = (code: FormErrorCode) => formErrors[code].status;
  if (byteLength(body) > limits.bodyBytesMax) {
    const error = "body_too_large";
    return { ...statusAndHeaders(statusOf(error), ip), body: { error }, checked: null };
  }
  const checked = checkFields(body, required);
  if (checked.kind === "valid") {
    return { ...statusAndHeaders(202, ip, tenant), body: submissionExample("accepted"), checked };
  }
  const { kind: error, detail } = checked;
  const fields = checked.kind === "missing_required" ? { fields: checked.fields } : {};
  const refusal = { error, request_id: placeholders.requestId, ...fields, ...(detail && { detail }) };
  return { ...statusAndHeaders(statusOf(error), ip, tenant), body: refusal, checked };
}
