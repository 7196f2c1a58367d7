/** A test server that behaves as Pipedrive's documents say of persons and their search, leads and notes. */

import { randomUUID } from "node:crypto";
import type { Issued } from "../authority.ts";
import { jsonBody, startVendor, type Vendor, type VendorAnswer, type VendorCall } from "./vendor.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

export interface PipedrivePerson {
  readonly id: number;
  readonly name: string;
  readonly emails: readonly { readonly value: string }[];
  readonly phones: readonly { readonly value: string }[];
  readonly owner_id: number;
  /** Whether the search finds the person. */
  isIndexed: boolean;
}

export interface Pipedrive extends Vendor {
  readonly persons: PipedrivePerson[];
  readonly leads: Json[];
  readonly notes: Json[];
  /** The valid tokens. */
  readonly tokens: Set<string>;
  /** Stores a person that the search finds. */
  addPerson(person: { name: string; email?: string; phone?: string }): PipedrivePerson;
  /** Brings the search's index up to date. */
  index(): void;
}

const textLengthMax = 255;
const noteLengthMax = 100_000;
const owners = [1, 12];
const label = "f08b42a0-4e75-11ea-9643-03698ef1cfd6";

/** Returns an answer in the form of Pipedrive's errors. */
export function pipedriveError(status: number, error: string, more: Json = {}): VendorAnswer {
  const info = "Please check developers.pipedrive.com for more information about Pipedrive API.";
  return {
    status,
    body: { success: false, error, error_info: info, data: null, additional_data: null, ...more },
  };
}

/** The answer when the limit of a window of two seconds is reached. */
export const pipedriveRateLimit: VendorAnswer = {
  ...pipedriveError(429, "request over limit"),
  headers: { "x-ratelimit-limit": "20", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "2" },
};

type Rule = (value: Json) => boolean;
const isText: Rule = (value) => typeof value === "string" && value !== "" && value.length <= textLengthMax;
const isOwner: Rule = (value) => owners.includes(value);
const isContact: Rule = (value) =>
  Array.isArray(value) && value.length > 0 &&
  value.every((one: Json) =>
    Object.keys(one).every((name) => ["value", "primary", "label"].includes(name)) && isText(one.value) &&
    typeof one.primary === "boolean"
  );
const personRules: Readonly<Record<string, Rule>> = {
  name: isText,
  owner_id: isOwner,
  emails: isContact,
  phones: isContact,
};
const leadRules: Readonly<Record<string, Rule>> = {
  title: isText,
  owner_id: isOwner,
  person_id: (value) => Number.isInteger(value),
  label_ids: (value) => Array.isArray(value) && value.every((one) => one === label),
  origin_id: isText,
};
const noteRules: Readonly<Record<string, Rule>> = {
  content: (value) => typeof value === "string" && value !== "" && value.length <= noteLengthMax,
  lead_id: isText,
};

/** Returns an error for the first member that is unknown, missing or not valid. */
function wrongMember(body: Json, rules: Readonly<Record<string, Rule>>, required: readonly string[]) {
  if (body === null || typeof body !== "object") return pipedriveError(400, "Invalid JSON");
  const missing = required.find((name) => body[name] === undefined);
  if (missing !== undefined) return pipedriveError(400, `"${missing}" is required`);
  for (const [name, value] of Object.entries(body)) {
    const rule = rules[name];
    if (rule === undefined) return pipedriveError(400, `"${name}" is not allowed`);
    if (!rule(value)) {
      const tooLong = `"${name}" length must be less than or equal to ${textLengthMax} characters long`;
      const isTooLong = typeof value === "string" && value.length > textLengthMax;
      return pipedriveError(400, isTooLong ? tooLong : `"${name}" is not valid`);
    }
  }
  return null;
}

/** Starts the server with no persons. */
export async function startPipedrive(certificate: Pick<Issued, "cert" | "key">): Promise<Pipedrive> {
  const persons: PipedrivePerson[] = [];
  const leads: Json[] = [];
  const notes: Json[] = [];
  const time = "2026-09-03T14:05:13Z";
  const answer = (data: Json, status = 200): VendorAnswer => ({ status, body: { success: true, data } });
  const listed = (data: readonly Json[], { query }: VendorCall) =>
    answer(data.length === 0 ? null : data.slice(0, Number(query.get("limit") ?? 100)));

  function add({ name, emails = [], phones = [], owner_id = 1 }: Json): PipedrivePerson {
    const person = { id: persons.length + 1, name, emails, phones, owner_id, isIndexed: false };
    persons.push(person);
    return person;
  }

  function search({ query }: VendorCall): VendorAnswer {
    const [term = "", field] = [query.get("term")?.toLowerCase(), query.get("fields")];
    const isExact = query.get("exact_match") === "true";
    if (term.length < (isExact ? 1 : 2)) {
      return pipedriveError(400, 'Invalid input: "term" is not allowed to be empty', {
        code: "ERR_INVALID_INPUT",
      });
    }
    const values = ({ emails, phones }: PipedrivePerson) =>
      (field === "email" ? emails : phones).map(({ value }) => value.toLowerCase());
    const found = persons.filter((person) =>
      person.isIndexed && values(person).some((value) => isExact ? value === term : value.includes(term))
    );
    const items = found.slice(0, Number(query.get("limit"))).map(({ id, name, emails, phones }) => ({
      result_score: 0.5,
      item: {
        id,
        type: "person",
        name,
        emails: emails.map(({ value }) => value),
        phones: phones.map(({ value }) => value),
      },
    }));
    return answer({ items });
  }

  function addLead(body: Json): VendorAnswer {
    const wrong = wrongMember(body, leadRules, ["title"]);
    if (wrong !== null) return wrong;
    if (body.person_id === undefined) {
      return pipedriveError(400, 'One of the "person_id" or "organization_id" must be set.');
    }
    if (!persons.some(({ id }) => id === body.person_id)) return pipedriveError(404, "Person not found");
    const defaults = { owner_id: 1, label_ids: [], origin: "API", origin_id: null, is_archived: false };
    leads.push({ id: randomUUID(), ...defaults, add_time: time, ...body });
    return answer(leads.at(-1), 201);
  }

  function addNote(body: Json): VendorAnswer {
    const wrong = wrongMember(body, noteRules, ["content"]);
    if (wrong !== null) return wrong;
    if (!leads.some(({ id }) => id === body.lead_id)) {
      return pipedriveError(
        400,
        "Note must be associated with at least one organization, person, deal, lead or project.",
      );
    }
    notes.push({ id: notes.length + 1, active_flag: true, ...body });
    return answer(notes.at(-1), 201);
  }

  function handle(call: VendorCall): VendorAnswer {
    if (!vendor.tokens.has(String(call.headers["x-api-token"]))) {
      return pipedriveError(401, "unauthorized access", { errorCode: 401 });
    }
    const { query, headers } = call;
    if (call.method === "POST" && headers["content-type"] !== "application/json") {
      return pipedriveError(415, "Unsupported media type");
    }
    switch (`${call.method} ${call.path}`) {
      case "GET /api/v2/persons/search":
        return search(call);
      case "GET /api/v2/persons":
        return answer(persons.toReversed().slice(0, Number(query.get("limit"))));
      case "POST /api/v2/persons": {
        const body = jsonBody(call);
        return wrongMember(body, personRules, ["name"]) ?? answer(add(body), 201);
      }
      case "GET /v1/leads":
        return listed(
          leads.filter((lead) => lead.person_id === Number(query.get("person_id"))).reverse(),
          call,
        );
      case "POST /v1/leads":
        return addLead(jsonBody(call));
      case "GET /v1/notes":
        return listed(notes.filter((note) => note.lead_id === query.get("lead_id")), call);
      case "POST /v1/notes":
        return addNote(jsonBody(call));
    }
    return pipedriveError(404, "Unknown method.");
  }

  const server = await startVendor(certificate, handle);
  const vendor: Pipedrive = {
    ...server,
    persons,
    leads,
    notes,
    tokens: new Set<string>(),
    addPerson: ({ name, email, phone }) => {
      const values = (value?: string) => value === undefined ? [] : [{ value }];
      return Object.assign(add({ name, emails: values(email), phones: values(phone) }), { isIndexed: true });
    },
    index: () => persons.forEach((person) => person.isIndexed = true),
  };
  return vendor;
}
