/**
 * The schemas of the OpenAPI document, generated from the tables that the validators use. This module is browser
 * compatible.
 *
 * Generated clients must keep working when a response gains members or values, so there are no enums except `status`, no
 * `oneOf` and no `uniqueItems`. Some generators turn a schema with `additionalProperties` into a map and ignore its properties.
 * Therefore, of the schemas with properties, only plans and plan items have it.
 */

import { type ErrorCode, errors, type FormErrorCode, formErrors } from "../../contract/errors.ts";
import {
  type FieldName,
  fieldNames,
  fields,
  flagNames,
  projectServices,
  reasons,
  requiredFields,
  vocabularyStatuses,
} from "../../contract/fields.ts";
import {
  attributionNames,
  attributionSources,
  formExample,
  formKeyName,
  honeypotName,
  startedAtName,
} from "../../contract/forms.ts";
import { formatCents, limits } from "../../contract/limits.ts";
import { intervals } from "../../contract/plans.ts";
import { leadExamples, placeholders } from "../examples.ts";
import { detailAbout } from "../guidance.ts";
import { codeList } from "../markdown.ts";
import { extensibleEnum, mapNames, type Node, ref } from "./parts.ts";

/** Example values of the fields. */
const exampleValues: Readonly<Record<string, unknown>> = JSON.parse(leadExamples.complete.body);

/** Matches nonblank text. The pattern matches the whole string, because some libraries anchor patterns. */
const notBlank = String.raw`^\s*\S[\s\S]*$`;

function fieldSchema(name: FieldName): Node {
  const { required, lengthMax, description } = fields[name];
  return {
    type: "string",
    maxLength: lengthMax,
    ...(required ? { pattern: notBlank } : { nullable: true }),
    description: required
      ? `${description} Must not be blank.`
      : `${description} \`null\` counts as omitted.`,
    example: exampleValues[name],
  };
}

const lead: Node = {
  type: "object",
  description:
    "A sales lead. Lengths are counted in characters (Unicode code points), after white space is trimmed and " +
    "collapsed. Other members are preserved and flagged `extra_fields_preserved`.",
  required: requiredFields,
  properties: {
    ...mapNames(fieldNames, fieldSchema),
    cost: {
      type: "number",
      nullable: true,
      minimum: limits.costCentsMin / 100,
      maximum: limits.costCentsMax / 100,
      description: `What the lead cost, in US dollars: ${formatCents(limits.costCentsMin)} to ${
        formatCents(limits.costCentsMax)
      }, rounded to cents. If the lead was free, omit this field; 0 is out of range.`,
      example: exampleValues.cost,
    },
    extra: {
      type: "object",
      description:
        "Reserved: do not send this field. Its members are preserved like other members that are not listed here.",
    },
  },
};

const receivedAt: Node = {
  type: "string",
  format: "date-time",
  description: "The time of acceptance, in UTC.",
  example: placeholders.receivedAt,
};

/** The schema of `status`, the only enum. Source: SPEC, Lead acknowledgement. */
const status: Node = {
  type: "string",
  enum: ["accepted", "duplicate"],
  description: "`accepted` with 202, `duplicate` with 200.",
};

const acknowledgement: Node = {
  type: "object",
  description:
    "The lead is on disk. A duplicate has the `event_id`, `received_at` and `flags` of the first lead.",
  required: ["event_id", "status", "received_at", "source", "flags"],
  properties: {
    event_id: {
      type: "string",
      minLength: 1,
      description: "Identifies the lead. Opaque; sorts by time of acceptance. Store it with your lead.",
      example: placeholders.eventId,
    },
    status,
    received_at: receivedAt,
    source: { type: "string", description: "The label of your key.", example: placeholders.source },
    flags: {
      type: "array",
      description:
        "Observations, never errors. Empty if there are none. New flags may be added: ignore those that you do not know.",
      items: extensibleEnum(flagNames),
    },
  },
};

const submission: Node = {
  type: "object",
  description: "The fields of the form, as a flat object: text, numbers, `true`, `false` or `null`. " +
    `\`${honeypotName}\` is the honeypot, a field that people do not see. ${
      codeList(attributionNames)
    } are read from ` +
    `${codeList(attributionSources)}. \`${startedAtName}\` is the time when the visitor opened the form. ` +
    `\`${formKeyName}\` is ignored.`,
  additionalProperties: true,
  example: formExample,
};

const submissionAcknowledgement: Node = {
  type: "object",
  description:
    "The submission is on disk. A duplicate has the `submission_id` and `received_at` of the first submission.",
  required: ["status", "submission_id", "received_at"],
  properties: {
    status,
    submission_id: {
      type: "string",
      minLength: 1,
      description: "Identifies the submission. Opaque; sorts by time of acceptance.",
      example: placeholders.eventId,
    },
    received_at: receivedAt,
  },
};

const errorCodes = [...new Set([...Object.keys(errors), ...Object.keys(formErrors)])] as (
  | ErrorCode
  | FormErrorCode
)[];

/** The schema of the error body on every surface. Source: SPEC, Error body; `detail` from DECISIONS, Decided since. */
const errorBody: Node = {
  type: "object",
  description:
    "Why the request was not accepted. `error` and the status determine what to do; the other members help to find the cause.",
  required: ["error"],
  properties: {
    error: extensibleEnum(errorCodes, {
      minLength: 1,
      description: "The machine-readable error code.",
      example: "validation_failed",
    }),
    request_id: {
      type: "string",
      description:
        "The request ID, as in the `X-Request-Id` header. Give it to support. Absent from a 413, and from a 429 for the limit per IP address.",
      example: placeholders.requestId,
    },
    fields: {
      type: "object",
      description:
        "Every failing field with its reason, on 422 from the intake and 400 `missing_required` from the forms. Also names " +
        "a failing header.",
      additionalProperties: extensibleEnum(reasons),
      example: { last_name: "required", zip: "too_long", cost: "out_of_range" },
    },
    detail: {
      type: "string",
      description: `Optional, on 400, 401 and 422: ${detailAbout}`,
      example: "cost is a string; a number is needed, without quotes",
    },
  },
};

const vocabulary: Node = {
  type: "object",
  required: ["project_area", "project_service", "required"],
  properties: {
    project_area: {
      type: "array",
      description: "The terms in use, in alphabetical order. Terms are accepted regardless of their status.",
      items: ref("schemas", "VocabularyTerm"),
    },
    project_service: {
      type: "array",
      description: "The closed list of services.",
      items: extensibleEnum(projectServices),
    },
    required: {
      type: "array",
      description: "The required fields of a lead.",
      items: extensibleEnum(requiredFields),
    },
  },
};

const vocabularyTerm: Node = {
  type: "object",
  required: ["area", "status"],
  properties: {
    area: { type: "string", minLength: 1, maxLength: fields.project_area.lengthMax, example: "kitchen" },
    status: extensibleEnum(Object.keys(vocabularyStatuses), {
      description: Object.entries(vocabularyStatuses).map(([name, about]) => `\`${name}\`: ${about}`).join(
        " ",
      ),
      example: "confirmed",
    }),
  },
};

const health: Node = {
  type: "object",
  required: ["ok", "pending", "dead", "store_writable"],
  properties: {
    ok: { type: "boolean", description: "Whether the service accepts leads." },
    pending: { type: "integer", minimum: 0, description: "The number of accepted leads not delivered yet." },
    dead: { type: "integer", minimum: 0, description: "The number of accepted leads that need an operator." },
    store_writable: { type: "boolean", description: "Whether the store accepts writes." },
  },
};

/** The schema of a plan. Clients should preserve unknown members. Source: SPEC, Plan. */
const plan: Node = {
  type: "object",
  description: "A subscription plan. Preserve members that you do not know, and do not fail on them.",
  required: ["slug", "name", "customer", "amount_cents", "interval", "items"],
  properties: {
    slug: { type: "string", minLength: 1, description: "The plan's identifier.", example: "starter" },
    name: { type: "string", description: "The plan's name.", example: "Starter" },
    customer: { type: "string", description: "The customer that the plan belongs to.", example: "acme" },
    amount_cents: {
      type: "integer",
      minimum: 0,
      description: "The price per interval, in US cents.",
      example: 4900,
    },
    interval: extensibleEnum(intervals, { description: "The billing interval.", example: "month" }),
    items: { type: "array", description: "What the plan includes.", items: ref("schemas", "PlanItem") },
  },
  additionalProperties: true,
};

const planItem: Node = {
  type: "object",
  required: ["title", "detail"],
  properties: {
    title: { type: "string", example: "Leads" },
    detail: { type: "string", example: "Up to 100 per month" },
  },
  additionalProperties: true,
};

/** `components.schemas`. */
export const schemas: Readonly<Record<string, Node>> = {
  Lead: lead,
  Acknowledgement: acknowledgement,
  ErrorBody: errorBody,
  Vocabulary: vocabulary,
  VocabularyTerm: vocabularyTerm,
  Health: health,
  Submission: submission,
  SubmissionAcknowledgement: submissionAcknowledgement,
  Plan: plan,
  PlanItem: planItem,
  OpenApi: { type: "object", description: "An OpenAPI 3.0 document.", additionalProperties: true },
};
