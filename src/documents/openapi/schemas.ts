/**
 * The schemas of the OpenAPI document, from the tables that the validators use. This module is browser compatible.
 *
 * They are written so that generated clients work, and go on working when an answer grows: one schema a shape, open
 * lists of values, no alternatives, no sets. `additionalProperties` stands only where further members are the point:
 * some generators make a map of a schema that has it, and send or read none of its members.
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
  formExample,
  formKeyName,
  honeypotName,
  startedAtName,
} from "../../contract/forms.ts";
import { dollars, limits } from "../../contract/limits.ts";
import { intervals } from "../../contract/plans.ts";
import { leadExamples, placeholders } from "../examples.ts";
import { detailAbout } from "../guidance.ts";
import { byName, type Node, oneOfToday, ref } from "./parts.ts";

/** Values that show how a field may look when it is sent. */
const sent: Readonly<Record<string, unknown>> = JSON.parse(leadExamples.complete.body);

/**
 * Something that is not white space. Chosen: the whole text, because some libraries match a pattern from the
 * beginning and some to the end.
 */
const notBlank = String.raw`^\s*\S[\s\S]*$`;

function fieldSchema(name: FieldName): Node {
  const { required, lengthMax, description } = fields[name];
  return {
    type: "string",
    maxLength: lengthMax,
    ...(required ? { pattern: notBlank } : { nullable: true }),
    description: required ? `${description} Not blank.` : `${description} \`null\` counts as left out.`,
    example: sent[name],
  };
}

const lead: Node = {
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
    },
  },
};

const receivedAt: Node = {
  type: "string",
  format: "date-time",
  description: "When it was accepted, in UTC.",
  example: placeholders.receivedAt,
};

/** Closed for good: SPEC, Lead acknowledgement. */
const status: Node = {
  type: "string",
  enum: ["accepted", "duplicate"],
  description: "`accepted` with 202, `duplicate` with 200.",
};

const acknowledgement: Node = {
  type: "object",
  description:
    "The lead is on disk. Of a duplicate, `event_id`, `received_at` and `flags` are those of the first.",
  required: ["event_id", "status", "received_at", "source", "flags"],
  properties: {
    event_id: {
      type: "string",
      minLength: 1,
      description: "Names the lead. Opaque; sorts by time of acceptance. Keep it with your lead.",
      example: placeholders.eventId,
    },
    status,
    received_at: receivedAt,
    source: { type: "string", description: "The label of your key.", example: placeholders.source },
    flags: {
      type: "array",
      description:
        "Observations, never errors. Empty when there are none. There may be new ones: ignore what you do not know.",
      items: oneOfToday(flagNames),
    },
  },
};

const submission: Node = {
  type: "object",
  description:
    `Whatever the form collects, flat: text, numbers, \`true\`, \`false\` or \`null\`. \`${honeypotName}\` is the field that ` +
    `people do not see; \`page_url\` and \`referrer\` are where ${
      attributionNames.map((name) => `\`${name}\``).join(", ")
    } are read from; \`${startedAtName}\` says when the form was opened; \`${formKeyName}\` is ignored.`,
  additionalProperties: true,
  example: formExample,
};

const submissionAcknowledgement: Node = {
  type: "object",
  description:
    "The submission is on disk. Of a duplicate, `submission_id` and `received_at` are those of the first.",
  required: ["status", "submission_id", "received_at"],
  properties: {
    status,
    submission_id: {
      type: "string",
      minLength: 1,
      description: "Names the submission. Opaque; sorts by time of acceptance.",
      example: placeholders.eventId,
    },
    received_at: receivedAt,
  },
};

const errorCodes = [...new Set([...Object.keys(errors), ...Object.keys(formErrors)])] as (
  | ErrorCode
  | FormErrorCode
)[];

/** Every error of every surface. Source: SPEC, Error body; `detail` from DECISIONS, Decided since. */
const errorBody: Node = {
  type: "object",
  description:
    "Why nothing was promised. `error` and the status say what to do; the rest is for people and for support.",
  required: ["error"],
  properties: {
    error: oneOfToday(errorCodes, {
      minLength: 1,
      description: "Machine code.",
      example: "validation_failed",
    }),
    request_id: {
      type: "string",
      description:
        "The request's id, as in the `X-Request-Id` header. Quote it to support. Not on 413, nor on the 429 of an address.",
      example: placeholders.requestId,
    },
    fields: {
      type: "object",
      description:
        "Every failing field with its reason: on 422 of the intake, and on 400 `missing_required` of the forms. A header " +
        "that fails is named here too.",
      additionalProperties: oneOfToday(reasons),
      example: { last_name: "required", zip: "too_long", cost: "out_of_range" },
    },
    detail: {
      type: "string",
      description: `On 400, 401 and 422, perhaps: ${detailAbout}`,
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
      description: "The terms in use now, in alphabetical order. Both statuses are accepted alike.",
      items: ref("schemas", "VocabularyTerm"),
    },
    project_service: {
      type: "array",
      description: "The closed list of services.",
      items: oneOfToday(projectServices),
    },
    required: {
      type: "array",
      description: "The required fields of a lead.",
      items: oneOfToday(requiredFields),
    },
  },
};

const vocabularyTerm: Node = {
  type: "object",
  required: ["area", "status"],
  properties: {
    area: { type: "string", minLength: 1, maxLength: fields.project_area.lengthMax, example: "kitchen" },
    status: oneOfToday(Object.keys(vocabularyStatuses), {
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
    ok: { type: "boolean", description: "Leads are being taken." },
    pending: { type: "integer", minimum: 0, description: "Accepted leads that are still to be delivered." },
    dead: { type: "integer", minimum: 0, description: "Accepted leads that wait for an operator." },
    store_writable: { type: "boolean", description: "A write succeeded within the last seconds." },
  },
};

/** A plan's further members are the customer's data, to be preserved: SPEC, Plan. */
const plan: Node = {
  type: "object",
  description: "A subscription plan. Further members are data: keep them, and do not fail on them.",
  required: ["slug", "name", "customer", "amount_cents", "interval", "items"],
  properties: {
    slug: { type: "string", minLength: 1, description: "The plan's identifier.", example: "starter" },
    name: { type: "string", description: "Its name.", example: "Starter" },
    customer: { type: "string", description: "The customer that it belongs to.", example: "acme" },
    amount_cents: { type: "integer", minimum: 0, description: "US cents an interval.", example: 4900 },
    interval: oneOfToday(intervals, { description: "The billing interval.", example: "month" }),
    items: { type: "array", description: "What it includes.", items: ref("schemas", "PlanItem") },
  },
  additionalProperties: true,
};

const planItem: Node = {
  type: "object",
  required: ["title", "detail"],
  properties: {
    title: { type: "string", example: "Leads" },
    detail: { type: "string", example: "Up to 100 a month" },
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
