/**
 * The tenant forms in the OpenAPI document. This module is browser compatible.
 *
 * @module
 */

import { placeholders } from "../examples.ts";
import { formErrors } from "../form_errors.ts";
import { formExample, formPlaceholders } from "../forms.ts";
import { limits } from "../limits.ts";
import { jsonOf, type Node, ref } from "./node.ts";
import {
  errorExample,
  errorText,
  everywhere,
  gateResponses,
  perhapsRated,
  rated,
  type Response,
} from "./responses.ts";

function acknowledged(status: "accepted" | "duplicate", description: string): Response {
  const example = { status, submission_id: placeholders.eventId, received_at: placeholders.receivedAt };
  return {
    description,
    headers: rated,
    content: jsonOf(ref("schemas", "SubmissionAcknowledgement"), { example }),
  };
}

/** Everything that the post answers. Source: DECISIONS, Forms. */
function responses(): Readonly<Record<string, Node>> {
  const { invalid_json, missing_required, tenant_mismatch, form_not_found } = formErrors;
  const refused = (headers: Response["headers"], text: string, more: Node): Response => ({
    description: text,
    headers,
    content: jsonOf(ref("schemas", "ErrorBody"), more),
  });
  return {
    ...everywhere,
    ...gateResponses(formErrors),
    200: acknowledged(
      "duplicate",
      "The same submission again, or another one under a used `Idempotency-Key`. As good as 202; nothing further is " +
        "delivered.",
    ),
    202: acknowledged("accepted", "The submission and its delivery record are on disk. Thank the visitor."),
    400: refused(
      perhapsRated,
      `\`missing_required\`: ${errorText(missing_required)}\n\n\`invalid_json\`: ${errorText(invalid_json)}`,
      {
        examples: {
          missing_required: {
            summary: "The probe's answer, or what to ask the visitor for",
            value: errorExample("missing_required", { fields: { name: "required", email: "required" } }),
          },
          invalid_json: {
            summary: "Not what a form posts",
            value: errorExample("invalid_json", {
              detail: "name is an array; text, a number, true, false or null is needed",
            }),
          },
        },
      },
    ),
    403: refused(rated, errorText(tenant_mismatch), { example: errorExample("tenant_mismatch") }),
    404: refused(perhapsRated, errorText(form_not_found), { example: errorExample("form_not_found") }),
  };
}

const segment = (name: string, description: string, example: string): Node => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string", minLength: 1 },
  example,
});

/** `/v1/forms/{tenant}/{form_key}`. Source: SPEC, Tenant forms. */
export function formsPath(): Node {
  return {
    post: {
      operationId: "submitForm",
      tags: ["Forms"],
      summary: "Post one submission of a form",
      description:
        "Stores what a visitor has filled in, and delivers it. For the customer's own web servers: there is no CORS, and " +
        "the key stays on the server.\n\n" +
        "The checks come in this order: limit per address, method, size, key, tenant, limit per tenant, form, body, " +
        "idempotency.\n\n" +
        "**Key check.** Post `{}`: 400 `missing_required` means that key and form are right. Nothing is stored.\n\n" +
        "What is held as spam is answered like everything else.",
      security: [{ apiKey: [] }],
      parameters: [
        segment("tenant", "The customer's slug. It has to be the one of the key.", formPlaceholders.tenant),
        segment("form_key", "Which of the customer's forms it is.", formPlaceholders.formKey),
        ref("parameters", "FormIdempotencyKey"),
        ref("parameters", "RequestId"),
      ],
      requestBody: {
        description: `UTF-8, at most ${limits.bodyBytesMax} bytes, not compressed.`,
        required: true,
        content: jsonOf(ref("schemas", "Submission"), { example: formExample }),
      },
      responses: responses(),
    },
  };
}
