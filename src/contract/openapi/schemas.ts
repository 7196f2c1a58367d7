/**
 * The schemas of the OpenAPI document, from the tables that the validator uses. This module is browser
 * compatible.
 *
 * They stay open for further members where such may come: what is documented of a response may grow, and a
 * client must not break on it. This service's own tests are stricter and take no member that is not here.
 *
 * @module
 */

import { type ErrorCode, errors } from "../errors.ts";
import { leadExamples, placeholders } from "../examples.ts";
import { type FieldName, fieldNames, fields, flagNames, projectServices, requiredFields } from "../fields.ts";
import { dollars } from "../guidance.ts";
import { limits } from "../limits.ts";
import { byName, type Node, ref } from "./node.ts";

/** Values that show how a field may look when it is sent. */
const sent: Readonly<Record<string, unknown>> = JSON.parse(leadExamples.complete.body);

function fieldSchema(name: FieldName): Node {
  const { required, lengthMax, description } = fields[name];
  const text = {
    type: "string",
    maxLength: lengthMax,
    ...(required ? { minLength: 1 } : { nullable: true }),
  };
  const about = {
    description: required ? description : `${description} \`null\` counts as left out.`,
    example: sent[name],
  };
  if (name !== "project_service") return { ...text, ...about };
  return { anyOf: [ref("schemas", "ProjectService"), text], ...about };
}

const envelope: Node = {
  type: "object",
  description:
    "One sales lead. Lengths are counted in characters (Unicode code points), after white space is " +
    "collapsed and trimmed. Members that are not listed here are kept, and flagged `extra_fields_preserved`.",
  required: requiredFields,
  properties: {
    ...byName(fieldNames, fieldSchema),
    cost: {
      type: "number",
      nullable: true,
      minimum: limits.costCentsMin / 100,
      maximum: limits.costCentsMax / 100,
      description: `What the contact cost, in US dollars, rounded to cents: ${
        dollars(limits.costCentsMin)
      } to ${dollars(limits.costCentsMax)}. Leave it out when there is no charge; 0 is refused.`,
      example: sent.cost,
    },
    extra: {
      type: "object",
      description: "Reserved: do not send it. Its members are kept as further members of the lead.",
      additionalProperties: true,
    },
  },
  additionalProperties: true,
};

const acknowledgement = (status: "accepted" | "duplicate"): Node => ({
  type: "object",
  required: ["event_id", "status", "received_at", "source", "flags"],
  properties: {
    event_id: {
      type: "string",
      minLength: 1,
      description: "Names the lead. Opaque; sorts by time of acceptance. Keep it with your lead.",
      example: placeholders.eventId,
    },
    status: { type: "string", enum: [status] },
    received_at: {
      type: "string",
      format: "date-time",
      description: "When the lead was accepted, in UTC.",
      example: placeholders.receivedAt,
    },
    source: { type: "string", description: "The label of your key.", example: placeholders.source },
    flags: {
      type: "array",
      description: status === "accepted"
        ? "Observations, never errors. Empty when there are none."
        : "The flags of the lead that was accepted first.",
      items: ref("schemas", "Flag"),
      uniqueItems: true,
      maxItems: flagNames.length,
    },
  },
});

const requestId: Node = {
  type: "string",
  description: "The request's id, as in the `X-Request-Id` header. Quote it to support.",
  example: placeholders.requestId,
};

/** How an error's body differs from the usual. */
interface ErrorShape {
  /** Whether `request_id` is there: not on answers that are made before the handler. */
  readonly requestId: "always" | "sometimes" | "never";
  readonly fields?: Node;
}

function errorSchema(code: ErrorCode, shape: ErrorShape): Node {
  return {
    type: "object",
    required: [
      "error",
      ...(shape.requestId === "always" ? ["request_id"] : []),
      ...(shape.fields === undefined ? [] : ["fields"]),
    ],
    properties: {
      error: { type: "string", enum: [code], description: errors[code].condition },
      ...(shape.requestId === "never" ? {} : { request_id: requestId }),
      ...(shape.fields === undefined ? {} : { fields: shape.fields }),
    },
  };
}

/** What can be wrong with each field, and no more. */
const failingFields: Node = {
  type: "object",
  description: "Every failing field with its reason.",
  minProperties: 1,
  properties: {
    ...byName(fieldNames, (name) => ({
      type: "string",
      enum: fields[name].required ? ["required", "too_long"] : ["too_long"],
    })),
    cost: { type: "string", enum: ["out_of_range"] },
    "Idempotency-Key": {
      type: "string",
      enum: ["too_long"],
      description: "The request header, not a field of the body.",
    },
  },
};

/** The name of the schema of an error's body. */
export const errorSchemas = {
  invalid_json: "InvalidJson",
  unauthorized: "Unauthorized",
  not_found: "NotFound",
  method_not_allowed: "MethodNotAllowed",
  body_too_large: "BodyTooLarge",
  validation_failed: "ValidationFailed",
  rate_limited: "RateLimited",
  not_accepting: "NotAccepting",
} as const satisfies Record<ErrorCode, string>;

const errorShapes: Readonly<Record<ErrorCode, ErrorShape>> = {
  invalid_json: { requestId: "always" },
  unauthorized: { requestId: "always" },
  not_found: { requestId: "always" },
  method_not_allowed: { requestId: "always" },
  body_too_large: { requestId: "never" },
  validation_failed: { requestId: "always", fields: failingFields },
  rate_limited: { requestId: "sometimes" },
  not_accepting: { requestId: "always" },
};

const vocabulary: Node = {
  type: "object",
  required: ["project_area", "project_service", "required"],
  properties: {
    project_area: {
      type: "array",
      description: "The terms in use now, in alphabetical order. Both statuses are accepted alike.",
      items: {
        type: "object",
        required: ["area", "status"],
        properties: {
          area: { type: "string", minLength: 1, maxLength: fields.project_area.lengthMax },
          status: {
            type: "string",
            enum: ["confirmed", "proposed"],
            description:
              "`confirmed`: used on purpose. `proposed`: it came with real leads, not ratified yet.",
          },
        },
      },
    },
    project_service: { type: "array", items: ref("schemas", "ProjectService") },
    required: {
      type: "array",
      description: "The required fields of a lead.",
      items: { type: "string", enum: requiredFields },
    },
  },
};

const health: Node = {
  type: "object",
  required: ["ok", "pending", "dead", "store_writable"],
  properties: {
    ok: { type: "boolean", description: "Leads are being taken." },
    pending: { type: "integer", minimum: 0, description: "Accepted leads that are still to be delivered." },
    dead: { type: "integer", minimum: 0, description: "Accepted leads that wait for an operator." },
    store_writable: { type: "boolean", description: "A write succeeded within the last seconds." },
  },
};

/** `components.schemas`. */
export const schemas: Readonly<Record<string, Node>> = {
  Lead: envelope,
  ProjectService: {
    type: "string",
    enum: projectServices,
    description: "The closed list of services. Case and surrounding space do not matter.",
  },
  Flag: { type: "string", enum: flagNames, description: "An observation on an accepted lead." },
  Accepted: acknowledgement("accepted"),
  Duplicate: acknowledgement("duplicate"),
  ...Object.fromEntries(
    (Object.keys(errorSchemas) as ErrorCode[])
      .map((code) => [errorSchemas[code], errorSchema(code, errorShapes[code])]),
  ),
  Vocabulary: vocabulary,
  Health: health,
  OpenApi: {
    type: "object",
    description: "An OpenAPI 3.0 document.",
    required: ["openapi", "info", "paths"],
    properties: {
      openapi: { type: "string", enum: ["3.0.3"] },
      info: { type: "object", additionalProperties: true },
      paths: { type: "object", additionalProperties: true },
    },
    additionalProperties: true,
  },
};
