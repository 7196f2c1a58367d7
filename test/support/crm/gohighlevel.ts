/** A test server that behaves as GoHighLevel's API for contacts, their tags and their notes. */

import type { Issued } from "../authority.ts";
import { jsonBody, startVendor, type Vendor, type VendorAnswer, type VendorCall } from "./vendor.ts";

export interface HighLevelContact {
  readonly id: string;
  readonly locationId: string;
  /** The fields as sent, without `locationId` and `tags`. */
  fields: Readonly<Record<string, string>>;
  tags: readonly string[];
  readonly notes: { readonly id: string; readonly body: string }[];
}

export interface HighLevel extends Vendor {
  /** The location and scopes of each private integration token. */
  readonly tokens: Map<string, { readonly locationId: string; readonly scopes: readonly string[] }>;
  readonly contacts: HighLevelContact[];
  /** The order in which the location's setting "Allow Duplicate Contact" searches for a contact. */
  searchOrder: readonly ("email" | "phone")[];
}

/** The answer to the 101st request within ten seconds. The documents name its headers, but no `Retry-After`. */
export const tooManyRequests: VendorAnswer = {
  status: 429,
  headers: {
    "X-RateLimit-Max": "100",
    "X-RateLimit-Remaining": "0",
    "X-RateLimit-Interval-Milliseconds": "10000",
  },
  body: { statusCode: 429, message: "Too Many Requests" },
};

const versions = ["2021-04-15", "2021-07-28", "2023-02-21", "v3"];
/** The members of `UpsertContactDto` that are strings. */
const textFields = [
  ..."firstName lastName name email locationId gender phone address1 city state postalCode website".split(
    " ",
  ),
  ..."timezone source country companyName assignedTo".split(" "),
];
const otherFields = [
  "dnd",
  "dndSettings",
  "inboundDndSettings",
  "tags",
  "customFields",
  "dateOfBirth",
  "createNewIfDuplicateAllowed",
];
/** Of the ISO codes, the country list lacks these. */
const missingCountries = ["BL", "BQ", "CW", "SS", "UK", "XX"];

export async function startHighLevel(certificate: Issued): Promise<HighLevel> {
  const state = {
    tokens: new Map<string, { locationId: string; scopes: string[] }>(),
    contacts: [] as HighLevelContact[],
    searchOrder: ["email", "phone"] as readonly ("email" | "phone")[],
  };
  const vendor = await startVendor(certificate, (call) => answer(state, call));
  return Object.assign(state, vendor);
}

function answer(state: Omit<HighLevel, keyof Vendor>, call: VendorCall): VendorAnswer {
  const token = state.tokens.get(String(call.headers.authorization).replace(/^Bearer /, ""));
  if (token === undefined) return unauthorized("Invalid token: access token is invalid");
  const { version } = call.headers;
  if (version === undefined) return unauthorized("version header was not found.");
  if (!versions.includes(String(version))) return unauthorized("version header is invalid");
  const scope = call.method === "GET" ? "contacts.readonly" : "contacts.write";
  if (!token.scopes.includes(scope)) return unauthorized("The token is not authorized for this scope.");

  const [, id = "", part] = /^\/contacts\/([^/]+)(?:\/(tags|notes))?$/.exec(call.path) ?? [];
  if (call.method === "POST" && id === "upsert") return upsert(state, token.locationId, jsonBody(call));
  const contact = state.contacts.find((one) => one.id === id);
  if (part === undefined) return { status: 404, body: { statusCode: 404, message: `Cannot ${call.method}` } };
  if (contact === undefined) return badRequest(`Contact with id ${id} not found`);
  if (contact.locationId !== token.locationId) return wrongLocation;
  if (part === "notes" && call.method === "GET") return { status: 200, body: { notes: contact.notes } };
  return part === "notes" ? addNote(contact, jsonBody(call)) : addTags(contact, jsonBody(call));
}

// deno-lint-ignore no-explicit-any
function upsert(state: Omit<HighLevel, keyof Vendor>, locationId: string, body: any): VendorAnswer {
  const faults = Object.entries(body ?? {}).flatMap(([name, value]) =>
    textFields.includes(name)
      ? typeof value === "string" ? [] : [`${name} must be a string`]
      : otherFields.includes(name)
      ? []
      : [`property ${name} should not exist`]
  );
  if (typeof body?.locationId !== "string") faults.push("locationId must be a string");
  if (body?.email !== undefined && !/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(body.email)) {
    faults.push("email must be an email");
  }
  if (
    body?.country !== undefined && !/^[A-Z]{2}$/.test(body.country) ||
    missingCountries.includes(body?.country)
  ) {
    faults.push("country must be a valid enum value");
  }
  if (faults.length > 0) return unprocessable(faults);
  if (body.locationId !== locationId) return wrongLocation;
  if (!body.email && !body.phone) return badRequest("Pass at least one of number, email query parameter");

  const { locationId: _, tags, ...fields } = body;
  const sameLocation = state.contacts.filter((one) => one.locationId === locationId);
  const found = state.searchOrder.map((key) =>
    fields[key] && sameLocation.find((one) => one.fields[key] === fields[key])
  ).find((contact) => contact);
  if (found) {
    // A second contact keeps the other key: the API ignores it without a word.
    const taken = state.searchOrder.filter((key) =>
      sameLocation.some((one) => one !== found && fields[key] && one.fields[key] === fields[key])
    );
    const kept = Object.entries(fields).filter(([name]) => !taken.includes(name as "email" | "phone"));
    found.fields = { ...found.fields, ...Object.fromEntries(kept) as Record<string, string> };
    if (tags !== undefined) found.tags = tags;
  }
  const contact = found ||
    { id: `contact${state.contacts.length + 1}`, locationId, fields, tags: tags ?? [], notes: [] };
  if (!found) state.contacts.push(contact);
  const { notes: _notes, fields: sent, ...rest } = contact;
  return { status: 200, body: { new: !found, contact: { ...rest, ...sent }, traceId: "trace" } };
}

// deno-lint-ignore no-explicit-any
function addNote(contact: HighLevelContact, body: any): VendorAnswer {
  const faults = Object.keys(body ?? {}).filter((name) =>
    !["userId", "body", "title", "color", "pinned"].includes(name)
  ).map((name) => `property ${name} should not exist`);
  if (typeof body?.body !== "string" || body.body === "") faults.push("body should not be empty");
  if (faults.length > 0) return unprocessable(faults);
  const note = { id: `note${contact.notes.length + 1}`, body: body.body };
  contact.notes.push(note);
  return { status: 201, body: { note } };
}

// deno-lint-ignore no-explicit-any
function addTags(contact: HighLevelContact, body: any): VendorAnswer {
  if (!Array.isArray(body?.tags)) return unprocessable(["tags must be an array"]);
  // Tags are stored in lower case.
  contact.tags = [...new Set([...contact.tags, ...body.tags.map((tag: string) => tag.toLowerCase())])];
  return { status: 201, body: { tags: contact.tags } };
}

const wrongLocation: VendorAnswer = {
  status: 403,
  body: { statusCode: 403, message: "The token does not have access to this location." },
};

function unauthorized(message: string): VendorAnswer {
  return { status: 401, body: { statusCode: 401, message, error: "Unauthorized" } };
}

function badRequest(message: string): VendorAnswer {
  return { status: 400, body: { statusCode: 400, message } };
}

function unprocessable(message: readonly string[]): VendorAnswer {
  return { status: 422, body: { statusCode: 422, message, error: "Unprocessable Entity" } };
}
