/**
 * Request bodies to learn from, each with the answer that the intake gives: for the documents and the
 * playground. Tests post every one of them. This module is browser compatible.
 */

import { type Flag, flagNames, flags, type Reason } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";

/** What the intake answers to an example, without what differs each time. */
type ExpectedAnswer =
  | { readonly status: 202; readonly flags: readonly Flag[] }
  | { readonly status: 422; readonly fields: Readonly<Record<string, Reason>>; readonly detail?: string }
  | { readonly status: 400; readonly detail: string }
  | { readonly status: 413 };

/** One body. */
export interface Example<A extends ExpectedAnswer = ExpectedAnswer> {
  readonly title: string;
  /** What it shows, in one sentence. */
  readonly about: string;
  /** As it goes over the wire. */
  readonly body: string;
  readonly idempotencyKey?: string;
  readonly answer: A;
}

/** What stands in for what the service makes up: ids, times, the key's label. */
export const placeholders = {
  eventId: "0660bd1782f0d200016cea739903366605de5c",
  receivedAt: "2026-11-20T22:51:59.806Z",
  source: "partner-x",
  requestId: "9f0c2a6be1d8473350ab1c27",
  idempotencyKey: "acme:lead:4711",
} as const;

const ada = { first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567" };

function pretty(body: unknown): string {
  return JSON.stringify(body, null, 2);
}

/** A body that becomes a lead. */
export type AcceptedExample = Example<Extract<ExpectedAnswer, { status: 202 }>>;

function accepted(title: string, about: string, body: object, ...flags: Flag[]): AcceptedExample {
  return { title, about, body: pretty(body), answer: { status: 202, flags } };
}

function failing(
  title: string,
  about: string,
  body: object,
  fields: Readonly<Record<string, Reason>>,
  detail?: string,
): Example {
  return {
    ...{ title, about, body: pretty(body) },
    answer: { status: 422, fields, ...(detail === undefined ? {} : { detail }) },
  };
}

/** Leads without anything to remark. */
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

/** The bodies of {@linkcode failureExamples} that are too long to be shown. */
const overlong = "All of it, again and again. ".repeat(limits.bodyBytesMax / 27);

/** Bodies that are refused, and why. */
export const failureExamples = {
  key_check: failing("Key check", "The empty object: the one probe that production allows.", {}, {
    first_name: "required",
    last_name: "required",
    phone: "required",
  }),
  blank_names: failing(
    "Blank names",
    "White space and `null` are as good as nothing.",
    { ...ada, first_name: " \t ", last_name: null },
    { first_name: "required", last_name: "required" },
  ),
  too_long: failing(
    "Too long",
    "Over a cap, counted in characters. Nothing is cut.",
    { ...ada, zip: "97201-1234, or is it 97202?" },
    { zip: "too_long" },
    "zip has 27 characters; 20 are allowed",
  ),
  misspelled: {
    title: "Misspelled fields",
    about: "`detail` names the fields that were probably meant.",
    body: pretty({ firstName: ada.first_name, last_name: ada.last_name, phone_number: ada.phone }),
    answer: {
      status: 422,
      fields: { first_name: "required", phone: "required" },
      detail: "firstName is no field of a lead; first_name is. phone_number is no field of a lead; phone is",
    },
  },
  cost_zero: failing(
    "Cost of 0",
    "No charge means no `cost`; 0 is out of range.",
    { ...ada, cost: 0 },
    { cost: "out_of_range" },
    "cost is out of range; 0.01 to 999.99 is allowed",
  ),
  several: failing(
    "Several at once",
    "Every failing field is named.",
    { ...ada, last_name: "", state: "Oregon, ".repeat(9), cost: 1000 },
    { last_name: "required", state: "too_long", cost: "out_of_range" },
    "state has 71 characters; 64 are allowed. cost is out of range; 0.01 to 999.99 is allowed",
  ),
  idempotency_key: {
    ...failing("Idempotency-Key too long", "The header has a cap too.", ada, {
      "Idempotency-Key": "too_long",
    }, "Idempotency-Key has 210 characters; 200 are allowed"),
    idempotencyKey: `acme:lead:${"4711-".repeat(limits.idempotencyKeyLengthMax / 5)}`,
  },
  wrong_type: {
    title: "Wrong type",
    about: "`cost` is a number; a string makes the whole body no lead.",
    body: pretty({ ...ada, cost: "12.50" }),
    answer: { status: 400, detail: "cost is a string; a number is needed, without quotes" },
  },
  extra_no_object: {
    title: "Extra is no object",
    about: "`extra` is reserved, and must be an object if it is sent at all.",
    body: pretty({ ...ada, extra: "spring" }),
    answer: { status: 400, detail: "extra is a string; only an object is allowed" },
  },
  no_object: {
    title: "No object",
    about: "One lead is one object; a list is none.",
    body: pretty([ada]),
    answer: { status: 400, detail: "the body is an array; send one lead a call, as an object" },
  },
  broken_json: {
    title: "Broken JSON",
    about: "A comma too many.",
    body: pretty(ada).replace(/\n\}$/, ",\n}"),
    answer: { status: 400, detail: "line 4, column 28: a trailing comma; remove it" },
  },
  form_encoded: {
    title: "Form-encoded",
    about: "What a page's form sends by itself is no JSON.",
    body: new URLSearchParams(ada).toString(),
    answer: { status: 400, detail: "the body is form-encoded; a JSON object is needed" },
  },
  body_too_large: {
    title: "Body too large",
    about: `More than ${limits.bodyBytesMax / 1024} KiB are refused before they are read.`,
    body: pretty({ ...ada, project_details: overlong }),
    answer: { status: 413 },
  },
} as const satisfies Record<string, Example>;
