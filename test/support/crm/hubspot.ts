/** A test server that behaves as HubSpot's documents say of contacts, notes, deals, associations and search. */

import type { Issued } from "../authority.ts";
import { jsonBody, startVendor, type Vendor, type VendorAnswer, type VendorCall } from "./vendor.ts";

/** A stored contact, note or deal. */
export interface HubSpotRecord {
  readonly id: string;
  readonly properties: Record<string, string>;
  /** The ids of the associated contacts; empty for a contact. */
  readonly contacts: readonly string[];
  /** Whether the search finds it; HubSpot's index lags behind. */
  isIndexed: boolean;
}

export interface HubSpot extends Vendor {
  readonly contacts: HubSpotRecord[];
  readonly notes: HubSpotRecord[];
  readonly deals: HubSpotRecord[];
  /** The valid tokens. */
  readonly tokens: Set<string>;
  /** The scopes of every token. */
  readonly scopes: Set<string>;
  /** The names of the properties with unique values. */
  readonly unique: Set<string>;
  /** Stores a contact that the search finds. */
  addContact(properties: Record<string, string>): HubSpotRecord;
  /** Brings the search's index up to date. */
  index(): void;
}

type Kind = "contacts" | "notes" | "deals";
// deno-lint-ignore no-explicit-any
type Json = any;

const known: Readonly<Record<Kind, readonly string[]>> = {
  contacts:
    "email firstname lastname phone mobilephone address city state zip country hubspot_owner_id lead_phone"
      .split(" "),
  notes: "hs_timestamp hs_note_body hubspot_owner_id".split(" "),
  deals: "dealname dealstage pipeline amount hubspot_owner_id lead_event_id".split(" "),
};
const dealStages = ["appointmentscheduled", "qualifiedtobuy"];
const associationTypes: Readonly<Record<Kind, number>> = { contacts: 0, notes: 202, deals: 3 };
const noteLengthMax = 65_536;
const batchMax = 100;
const filterGroupsMax = 5;

/** Returns an answer in the form of HubSpot's errors. */
export function hubspotError(
  status: number,
  category: string,
  message: string,
  more: Json = {},
): VendorAnswer {
  const correlationId = "5a0c1f6e-8d0c-4b9c-9f0e-3c5d1f7a2b10";
  return { status, body: { status: "error", message, correlationId, category, ...more } };
}

/** HubSpot's answer when the limit of ten seconds is reached, without `Retry-After`. */
export const hubspotRateLimit: VendorAnswer = {
  status: 429,
  headers: { "X-HubSpot-RateLimit-Max": "100", "X-HubSpot-RateLimit-Remaining": "0" },
  body: {
    status: "error",
    message: "You have reached your ten_secondly_rolling limit.",
    errorType: "RATE_LIMIT",
    policyName: "TEN_SECONDLY_ROLLING",
  },
};

const invalid = (message: string, more?: Json) => hubspotError(400, "VALIDATION_ERROR", message, more);
const invalidProperty = (error: string, name: string, message: string) =>
  invalid(`Property values were not valid: ${JSON.stringify([{ isValid: false, message, error, name }])}`);
const isObject = (value: unknown) => value !== null && typeof value === "object" && !Array.isArray(value);
const nationalNumber = (phone = "") => phone.replace(/\D/g, "").replace(/^1(?=\d{10}$)/, "");

/** Returns what is wrong with a body's members: all are required, and no others are known. */
function wrongMembers(
  body: Json,
  members: Readonly<Record<string, "array" | "object" | "string" | "number">>,
) {
  if (!isObject(body)) return invalid("Invalid input JSON");
  for (const [name, type] of Object.entries(members)) {
    const value = body[name];
    const found = Array.isArray(value) ? "array" : typeof value;
    if (found !== type || value === null) {
      return invalid(`Invalid input JSON: ${name} must be of type ${type}`);
    }
  }
  const unknown = Object.keys(body).find((name) => !(name in members));
  return unknown === undefined ? null : invalid(`Invalid input JSON: unrecognized field ${unknown}`);
}

/** Starts the server with no contacts. */
export async function startHubSpot(certificate: Pick<Issued, "cert" | "key">): Promise<HubSpot> {
  const records: Record<Kind, HubSpotRecord[]> = { contacts: [], notes: [], deals: [] };
  let lastId = 1000;
  const view = ({ id, properties }: HubSpotRecord) => {
    const { hs_timestamp: at, ...others } = properties;
    const time = at === undefined
      ? {}
      : { hs_timestamp: new Date(/^\d+$/.test(at) ? Number(at) : at).toJSON() };
    return { id, properties: { ...others, ...time }, archived: false };
  };
  const add = (kind: Kind, properties: Record<string, string>, contacts: readonly string[] = []) => {
    const record = { id: String(++lastId), properties, contacts, isIndexed: false };
    records[kind].push(record);
    return record;
  };
  const contactWithEmail = (email: string | undefined) =>
    records.contacts.find(({ properties }) => properties.email?.toLowerCase() === email?.toLowerCase());

  function wrongProperties(kind: Kind, properties: Json, self?: HubSpotRecord): VendorAnswer | null {
    for (const [name, value] of Object.entries(properties)) {
      if (!known[kind].includes(name)) {
        return invalidProperty("PROPERTY_DOESNT_EXIST", name, `Property "${name}" does not exist`);
      }
      if (typeof value !== "string") return invalid(`Invalid input JSON: ${name} must be a string`);
      const holder = records[kind].find((one) => one !== self && one.properties[name] === value);
      if (vendor.unique.has(name) && holder !== undefined) {
        const message = `A record with ${name}=${value} exists: ${holder.id} already has that value.`;
        return invalid(message, { errors: [{ message, code: "CONFLICTING_UNIQUE_VALUE" }] });
      }
    }
    const { email, dealstage, hs_note_body: note = "" } = properties;
    if (email !== undefined && !/^[^@\s]+@[^@\s.]+(\.[^@\s.]+)*\.[a-z]{2,}$/i.test(email)) {
      return invalidProperty("INVALID_EMAIL", "email", `Email address ${email} is invalid`);
    }
    if (kind === "deals" && !dealStages.includes(dealstage)) {
      return invalidProperty(
        "INVALID_OPTION",
        "dealstage",
        `${dealstage} was not one of the allowed options`,
      );
    }
    return note.length > noteLengthMax
      ? invalidProperty("PROPERTY_VALUE_TOO_LONG", "hs_note_body", "The value has more than 65536 characters")
      : null;
  }

  function create(kind: Kind, body: Json): VendorAnswer {
    const wrong = wrongMembers(body, { properties: "object", associations: "array" }) ??
      wrongProperties(kind, body.properties);
    if (wrong !== null) return wrong;
    const { email, firstname, lastname, hs_timestamp: at = "" } = body.properties;
    if (kind === "contacts") {
      if ([email, firstname, lastname].every((value) => (value ?? "") === "")) {
        return invalid("Create needs at least one of: email, firstname, lastname");
      }
      const same = email === undefined ? undefined : contactWithEmail(email);
      if (same !== undefined) {
        return hubspotError(409, "CONFLICT", `Contact already exists. Existing ID: ${same.id}`);
      }
    }
    if (kind === "notes" && Number.isNaN(new Date(/^\d{13}$/.test(at) ? Number(at) : at).getTime())) {
      return invalidProperty("REQUIRED_PROPERTY", "hs_timestamp", "hs_timestamp is required");
    }
    for (const { to, types } of body.associations) {
      const [type] = types ?? [];
      if (
        !records.contacts.some(({ id }) => id === to?.id) ||
        type?.associationCategory !== "HUBSPOT_DEFINED" ||
        type?.associationTypeId !== associationTypes[kind]
      ) return invalid(`Invalid association ${JSON.stringify({ to, types })}`);
    }
    const contacts = body.associations.map(({ to }: Json) => to.id);
    return { status: 201, body: view(add(kind, body.properties, contacts)) };
  }

  function upsert(body: Json): VendorAnswer {
    const wrong = wrongMembers(body, { inputs: "array" }) ??
      wrongMembers(body.inputs[0], { idProperty: "string", id: "string", properties: "object" });
    if (wrong !== null) return wrong;
    const [{ idProperty, id, properties }] = body.inputs;
    if (!vendor.unique.has(idProperty)) {
      return invalid(`Unable to perform update/upsert by non-unique 0-1 property ${idProperty}`);
    }
    const found = records.contacts.find((one) => one.properties[idProperty] === id);
    const refused = wrongProperties("contacts", properties, found);
    if (refused !== null) return refused;
    const record = found ?? add("contacts", { [idProperty]: id });
    Object.assign(record.properties, properties);
    const results = [{ ...view(record), new: found === undefined }];
    return { status: 200, body: { status: "COMPLETE", results } };
  }

  function search(body: Json): VendorAnswer {
    const lists = { filterGroups: "array", properties: "array", sorts: "array" } as const;
    const wrong = wrongMembers(body, { ...lists, limit: "number", after: "string" });
    if (wrong !== null) return wrong;
    if (body.filterGroups.length > filterGroupsMax) return invalid("There are too many filterGroups");
    const searchable = ({ properties }: HubSpotRecord): Record<string, string> => ({
      ...properties,
      hs_searchable_calculated_phone_number: nationalNumber(properties.phone),
      hs_searchable_calculated_mobile_number: nationalNumber(properties.mobilephone),
    });
    const matches = (record: HubSpotRecord) =>
      body.filterGroups.some(({ filters }: Json) =>
        filters.every(({ propertyName, value }: Json) => searchable(record)[propertyName] === value)
      );
    const filters = body.filterGroups.flatMap(({ filters }: Json) => filters);
    if (filters.some(({ operator, value }: Json) => operator !== "EQ" || (value ?? "") === "")) {
      return invalid("A filter needs an operator and a value");
    }
    const found = records.contacts.filter((record) => record.isIndexed && matches(record));
    return { status: 200, body: { total: found.length, results: found.slice(0, body.limit).map(view) } };
  }

  function readNotes(body: Json): VendorAnswer {
    const wrong = wrongMembers(body, {
      inputs: "array",
      properties: "array",
      propertiesWithHistory: "array",
    });
    if (wrong !== null) return wrong;
    if (body.inputs.length === 0 || body.inputs.length > batchMax) return invalid("Between 1 and 100 inputs");
    const ids = body.inputs.map(({ id }: Json) => id);
    const results = records.notes.filter(({ id }) => ids.includes(id)).map((note) => {
      const { id, properties } = view(note);
      const read = Object.entries(properties).filter(([name]) => body.properties.includes(name));
      return { id, properties: Object.fromEntries(read) };
    });
    return { status: 200, body: { status: "COMPLETE", results } };
  }

  function handle(call: VendorCall): VendorAnswer {
    const [, token = ""] = /^Bearer (.+)$/.exec(call.headers.authorization ?? "") ?? [];
    if (!vendor.tokens.has(token)) {
      return hubspotError(401, "INVALID_AUTHENTICATION", "Authentication credentials not found.");
    }
    const [, kind = "", rest = ""] =
      /^\/crm\/objects\/2026-03\/(contacts|notes|deals)(\/.*)?$/.exec(call.path) ?? [];
    if (kind === "") return { status: 404, body: "" };
    if (call.method !== "GET" && call.headers["content-type"] !== "application/json") {
      return hubspotError(415, "VALIDATION_ERROR", "Unsupported media type");
    }
    const isRead = call.method === "GET" || /search|read/.test(rest);
    const scope = `crm.objects.${kind === "deals" ? "deals" : "contacts"}.${isRead ? "read" : "write"}`;
    if (!vendor.scopes.has(scope)) {
      return hubspotError(403, "MISSING_SCOPES", "This app hasn't been granted all required scopes", {
        errors: [{
          message: "One or more of the following scopes are required.",
          context: { requiredGranularScopes: [scope] },
        }],
      });
    }
    const route = `${call.method} ${kind}${rest.replace(/\d+/, "ID")}`;
    const record = records.contacts.find(({ id }) => id === rest.split("/")[1]);
    const body = jsonBody(call);
    if (/^POST (contacts|notes|deals)$/.test(route)) return create(kind as Kind, body);
    if (route === "POST contacts/batch/upsert") return upsert(body);
    if (route === "POST contacts/search") return search(body);
    if (route === "POST notes/batch/read") return readNotes(body);
    if (record === undefined) return hubspotError(404, "OBJECT_NOT_FOUND", "Object not found.");
    if (route === "GET contacts/ID/associations/notes") {
      const results = records.notes.filter(({ contacts }) => contacts.includes(record.id)).map(({ id }) => ({
        toObjectId: id,
        associationTypes: [{ category: "HUBSPOT_DEFINED", typeId: 201, label: null }],
      }));
      return { status: 200, body: { results: results.slice(0, Number(call.query.get("limit"))) } };
    }
    if (route !== "PATCH contacts/ID") return { status: 405, body: "" };
    const wrong = wrongMembers(body, { properties: "object" }) ??
      wrongProperties("contacts", body.properties, record);
    if (wrong !== null) return wrong;
    Object.assign(record.properties, body.properties);
    return { status: 200, body: view(record) };
  }

  const server = await startVendor(certificate, handle);
  const vendor: HubSpot = {
    ...server,
    ...records,
    tokens: new Set(),
    scopes: new Set(["crm.objects.contacts.read", "crm.objects.contacts.write", "crm.objects.deals.write"]),
    unique: new Set(["lead_phone", "lead_event_id"]),
    addContact: (properties) => Object.assign(add("contacts", properties), { isIndexed: true }),
    index: () => records.contacts.forEach((contact) => contact.isIndexed = true),
  };
  return vendor;
}
