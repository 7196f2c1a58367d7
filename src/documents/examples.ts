/**
 * Example request bodies with the intake's response, for the documents and the playground. Tests post each of them. This
 * module is browser compatible.
 */

import { type Flag, flagNames, flags, type Reason } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";

/** The intake's response to an example, without the members that differ from one request to the next. */
type ExpectedResponse =
  | { readonly status: 202; readonly flags: readonly Flag[] }
  | { readonly status: 422; readonly fields: Readonly<Record<string, Reason>>; readonly detail?: string }
  | { readonly status: 400; readonly detail: string }
  | { readonly status: 413 };

export interface Example<R extends ExpectedResponse = ExpectedResponse> {
  readonly title: string;
  /** The point of the example, in one sentence. */
  readonly about: string;
  /** The body as sent. */
  readonly body: string;
  readonly idempotencyKey?: string;
  readonly response: R;
}

/** Placeholders for the values that the service inserts: IDs, times, the key's label. */
export const placeholders = {
  eventId: "0660bd1782f0d200016cea739903366605de5c",
  receivedAt: "2026-11-20T22:51:59.806Z",
  source: "partner-x",
  requestId: "9f0c2a6be1d8473350ab1c27",
  idempotencyKey: "acme:lead:4711",
} as const;

export function acknowledgementExample(status: "accepted" | "duplicate", flags: readonly string[] = []) {
  const { eventId, receivedAt, source } = placeholders;
  return { event_id: eventId, status, received_at: receivedAt, source, flags };
}

export function submissionExample(status: "accepted" | "duplicate") {
  return { status, submission_id: placeholders.eventId, received_at: placeholders.receivedAt };
}

const ada = { first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567" };

function prettyJson(body: unknown): string {
  return JSON.stringify(body, null, 2);
}

/** An example that becomes a lead. */
export type AcceptedExample = Example<Extract<ExpectedResponse, { status: 202 }>>;

function accepted(title: string, about: string, body: object, ...flags: Flag[]): AcceptedExample {
  return { title, about, body: prettyJson(body), response: { status: 202, flags } };
}

function rejected(
  title: string,
  about: string,
  body: object,
  fields: Readonly<Record<string, Reason>>,
  detail?: string,
): Example {
  return {
    title,
    about,
    body: prettyJson(body),
    response: { status: 422, fields, ...(detail === undefined ? {} : { detail }) },
  };
}

/** Leads without flags. */
export const leadExamples = {
  minimal: accepted("Minimal lead", "The three required fields.", ada),
  complete: accepted("Complete lead", "Every field of the envelope.", {
    ...ada,
    email: "Ada@Example.com",
    street_address: "12  Example Street",
    city: "Portland",
    state: "or",
    zip: "972011234",
    country: "United States",
    project_area: "Kitchen",
    project_service: "Remodel",
    project_material: "oak",
    project_details: "New cabinets and counters.\r\n\r\nThe island stays.",
    external_id: "4711",
    cost: 12.5,
  }),
  canadian: accepted("Canadian lead", "A Canadian number, province and postal code.", {
    first_name: "Émile",
    last_name: "Tremblay",
    phone: "1-613-555-0147",
    street_address: "80 Example Street",
    city: "Ottawa",
    state: "on",
    zip: "k1a0b1",
    country: "Canada",
    project_area: "roof",
    project_service: "replacement",
  }),
} as const satisfies Record<string, Example>;

const flagged: Readonly<Record<Flag, object>> = {
  phone_unnormalized: { ...ada, phone: "+44 20 7946 0123", country: "GB" },
  project_area_unknown: { ...ada, project_area: "Wine Cellar" },
  project_service_unknown: { ...ada, project_service: "Inspection" },
  email_shape_suspect: { ...ada, email: "ada at example.com" },
  extra_fields_preserved: { ...ada, campaign: "spring", score: 0.87, source: "not a field" },
  country_unrecognized: { ...ada, country: "Deutschland" },
};

/** One accepted lead for each flag. */
export const flagExamples = Object.fromEntries(
  flagNames.map((flag) => [flag, accepted(flag, flags[flag], flagged[flag], flag)]),
) as Record<Flag, AcceptedExample>;

const overlong = "All of it, again and again. ".repeat(limits.bodyBytesMax / 27);

/** Bodies that are rejected, with the reason. */
export const failureExamples = {
  key_check: rejected("Key check", "The empty object: the one probe that production allows.", {}, {
    first_name: "required",
    last_name: "required",
    phone: "required",
  }),
  blank_names: rejected(
    "Blank names",
    "White space and `null` count as missing.",
    { ...ada, first_name: " \t ", last_name: null },
    { first_name: "required", last_name: "required" },
  ),
  too_long: rejected(
    "Too long",
    "A value over its limit, counted in characters. Nothing is truncated.",
    { ...ada, zip: "97201-1234, or is it 97202?" },
    { zip: "too_long" },
    "zip has 27 characters; at most 20 are allowed",
  ),
  misspelled: {
    title: "Misspelled fields",
    about: "`detail` names the fields that you probably meant.",
    body: prettyJson({ firstName: ada.first_name, last_name: ada.last_name, phone_number: ada.phone }),
    response: {
      status: 422,
      fields: { first_name: "required", phone: "required" },
      detail: "firstName is no field of a lead; first_name is. phone_number is no field of a lead; phone is",
    },
  },
  cost_zero: rejected(
    "Cost of 0",
    "If the lead was free, omit `cost`; 0 is out of range.",
    { ...ada, cost: 0 },
    { cost: "out_of_range" },
    "cost is out of range; it must be between 0.01 and 999.99",
  ),
  several: rejected(
    "Several failing fields",
    "The response names every failing field.",
    { ...ada, last_name: "", state: "Oregon, ".repeat(9), cost: 1000 },
    { last_name: "required", state: "too_long", cost: "out_of_range" },
    "state has 71 characters; at most 64 are allowed. cost is out of range; it must be between 0.01 and 999.99",
  ),
  idempotency_key: {
    ...rejected("Idempotency-Key too long", "The header has a maximum length too.", ada, {
      "Idempotency-Key": "too_long",
    }, "Idempotency-Key has 210 characters; at most 200 are allowed"),
    idempotencyKey: `acme:lead:${"4711-".repeat(limits.idempotencyKeyLengthMax / 5)}`,
  },
  wrong_type: {
    title: "Wrong type",
    about: "`cost` is a number; a string makes the whole body invalid.",
    body: prettyJson({ ...ada, cost: "12.50" }),
    response: { status: 400, detail: "cost is a string; a number is needed, without quotes" },
  },
  extra_not_object: {
    title: "Extra is not an object",
    about: "`extra` is reserved; if you send it anyway, it must be an object.",
    body: prettyJson({ ...ada, extra: "spring" }),
    response: { status: 400, detail: "extra is a string; an object is needed" },
  },
  not_object: {
    title: "Not an object",
    about: "A lead is one object, not an array.",
    body: prettyJson([ada]),
    response: { status: 400, detail: "the body is an array; send one lead per request, as an object" },
  },
  broken_json: {
    title: "Broken JSON",
    about: "A trailing comma is not valid JSON.",
    body: prettyJson(ada).replace(/\n\}$/, ",\n}"),
    response: { status: 400, detail: "line 4, column 28: a trailing comma; remove it" },
  },
  form_encoded: {
    title: "Form-encoded",
    about: "An HTML form does not send JSON by itself.",
    body: new URLSearchParams(ada).toString(),
    response: { status: 400, detail: "the body is form-encoded; send a JSON object" },
  },
  body_too_large: {
    title: "Body too large",
    about: `A body over ${limits.bodyBytesMax / 1024} KiB is rejected before authentication.`,
    body: prettyJson({ ...ada, project_details: overlong }),
    response: { status: 413 },
  },
} as const satisfies Record<string, Example>;
