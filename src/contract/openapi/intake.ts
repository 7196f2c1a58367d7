/**
 * `POST /v1/intake` in the OpenAPI document. This module is browser compatible.
 *
 * @module
 */

import { errors } from "../errors.ts";
import {
  type AcceptedExample,
  type Example,
  failureExamples,
  flagExamples,
  leadExamples,
  placeholders,
} from "../examples.ts";
import { keyCheck } from "../guidance.ts";
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

const acceptedExamples: Readonly<Record<string, AcceptedExample>> = { ...leadExamples, ...flagExamples };

const acknowledgement = (status: string, flags: readonly string[]): Node => ({
  event_id: placeholders.eventId,
  status,
  received_at: placeholders.receivedAt,
  source: placeholders.source,
  flags,
});

function acknowledged(description: string, examples: Readonly<Record<string, Node>>): Response {
  return { description, headers: rated, content: jsonOf(ref("schemas", "Acknowledgement"), { examples }) };
}

/** Request examples and the answers to them have the same names. */
function accepted(): Response {
  const examples = Object.entries(acceptedExamples).map(([name, { title, answer }]) => [
    name,
    { summary: title, value: acknowledgement("accepted", answer.flags) },
  ]);
  return acknowledged(
    "The lead and its delivery record are on disk, committed together. This is final.",
    Object.fromEntries(examples),
  );
}

/** What is refused because of its content, with an example of each way. */
function refused(code: "invalid_json" | "validation_failed", headers: Response["headers"]): Response {
  const examples = Object.entries(failureExamples as Readonly<Record<string, Example>>)
    .flatMap(([name, { title, about, answer }]) =>
      answer.status === errors[code].status
        ? [[name, { summary: title, description: about, value: errorExample(code, answer) }]]
        : []
    );
  return {
    description: errorText(errors[code]),
    headers,
    content: jsonOf(ref("schemas", "ErrorBody"), { examples: Object.fromEntries(examples) }),
  };
}

/** Everything that the post answers. Source: SPEC, POST intake. */
function responses(): Readonly<Record<string, Node>> {
  return {
    ...everywhere,
    ...gateResponses(errors),
    200: acknowledged(
      "This `Idempotency-Key` was accepted before, or without one the same lead within the window. As good as 202: " +
        "no second lead was made.",
      { repeat: { summary: "A repeat of the minimal lead", value: acknowledgement("duplicate", []) } },
    ),
    202: accepted(),
    400: refused("invalid_json", perhapsRated),
    422: refused("validation_failed", rated),
  };
}

/** `/v1/intake`. */
export function intakePath(): Node {
  const examples = Object.entries(acceptedExamples).map(([name, { title, about, body }]) => [
    name,
    { summary: title, description: about, value: JSON.parse(body) },
  ]);
  const probe = keyCheck.map(({ answer, meaning }) => `- ${answer}: ${meaning}`).join("\n");
  return {
    post: {
      operationId: "postLead",
      tags: ["Intake"],
      summary: "Post one lead",
      description:
        "Stores one lead and its delivery record in one transaction, then answers. Delivery follows by itself.\n\n" +
        "The checks come in this order: limit per address, method, size, key, limit per key, validation, idempotency.\n\n" +
        `**Key check.** Post \`{}\` with a real key; it is the only probe that production allows.\n\n${probe}`,
      security: [{ apiKey: [] }],
      parameters: [ref("parameters", "IdempotencyKey"), ref("parameters", "RequestId")],
      requestBody: {
        description:
          `UTF-8, at most ${limits.bodyBytesMax} bytes, not compressed. \`Content-Type\` is not looked at: the body ` +
          "either is a JSON object or it is not.",
        required: true,
        content: jsonOf(ref("schemas", "Lead"), { examples: Object.fromEntries(examples) }),
      },
      responses: responses(),
    },
  };
}
