/** A test server that behaves as JobNimbus's public API for contacts. */

import type { Issued } from "../authority.ts";
import { jsonBody, startVendor, type Vendor, type VendorAnswer, type VendorCall } from "./vendor.ts";

// deno-lint-ignore no-explicit-any
export type JobNimbusContact = Record<string, any>;

export interface JobNimbus extends Vendor {
  /** API keys, with whether their access profile can create contacts. */
  readonly tokens: Map<string, { readonly canCreate: boolean }>;
  readonly contacts: JobNimbusContact[];
  /** The account's contact workflows with their statuses. */
  readonly workflows: ReadonlyMap<string, readonly string[]>;
  readonly sources: readonly string[];
}

const textFields = [
  ..."first_name last_name company display_name email home_phone mobile_phone work_phone fax_number".split(
    " ",
  ),
  ..."address_line1 address_line2 city state_text zip country_name website description external_id".split(
    " ",
  ),
  ..."record_type_name status_name source_name sales_rep".split(" "),
];

export async function startJobNimbus(certificate: Issued): Promise<JobNimbus> {
  const state = {
    tokens: new Map<string, { canCreate: boolean }>(),
    contacts: [] as JobNimbusContact[],
    workflows: new Map([["Customer", ["Lead", "Inspection"]], ["Insurance", ["New"]]]),
    sources: ["Referral", "Web"],
  };
  const vendor = await startVendor(certificate, (call) => answer(state, call));
  return Object.assign(state, vendor);
}

function answer(state: Omit<JobNimbus, keyof Vendor>, call: VendorCall): VendorAnswer {
  const token = state.tokens.get(String(call.headers.authorization).replace(/^Bearer /i, ""));
  if (token === undefined) return { status: 401, body: "Unauthorized" };
  if (!["GET", "POST", "PUT"].includes(call.method)) return { status: 405, body: "Method Not Allowed" };
  if (call.path !== "/api1/contacts") return { status: 404, body: "Not Found" };
  if (call.method === "GET") return list(state.contacts, call);
  if (!token.canCreate) return { status: 403, body: "You do not have permission to create contacts" };
  return create(state, jsonBody(call));
}

/** Lists contacts, by an Elasticsearch filter with `term` queries. */
function list(contacts: readonly JobNimbusContact[], { query }: VendorCall): VendorAnswer {
  let terms: [string, unknown][];
  try {
    // deno-lint-ignore no-explicit-any
    const must: any[] = JSON.parse(query.get("filter") ?? '{"must":[]}').must;
    terms = must.flatMap(({ term }) => Object.entries(term));
  } catch {
    return { status: 400, body: "Unable to parse filter" };
  }
  const found = contacts.filter((contact) => terms.every(([name, value]) => contact[name] === value));
  const fields = query.get("fields")?.split(",");
  const results = found.slice(0, Number(query.get("size") ?? 1000)).map((contact) =>
    Object.fromEntries(Object.entries(contact).filter(([name]) => fields?.includes(name) ?? true))
  );
  return { status: 200, body: { count: found.length, results } };
}

function create(state: Omit<JobNimbus, keyof Vendor>, body: JobNimbusContact | null): VendorAnswer {
  if (body === null) return { status: 400, body: "Invalid JSON" };
  const wrong = textFields.find((name) => body[name] !== undefined && typeof body[name] !== "string");
  if (wrong !== undefined) return { status: 400, body: `Invalid value for ${wrong}` };
  const name = body.display_name ?? [body.first_name, body.last_name].filter(Boolean).join(" ") ??
    body.company;
  if (!name) return { status: 400, body: "A first name, last name, display name or company is required" };
  const statuses = state.workflows.get(body.record_type_name);
  if (statuses === undefined) return { status: 400, body: "Invalid record_type_name" };
  if (!statuses.includes(body.status_name)) return { status: 400, body: "Invalid status_name" };
  if (body.source_name !== undefined && !state.sources.includes(body.source_name)) {
    return { status: 400, body: "Invalid source_name" };
  }
  const key = name.toLowerCase();
  if (state.contacts.some((one) => one.display_name.toLowerCase() === key)) {
    return { status: 400, body: "Duplicate contact exists" };
  }
  const jnid = `jn${state.contacts.length + 1}`;
  const contact = { ...body, jnid, type: "contact", display_name: name, is_active: true, is_archived: false };
  state.contacts.push(contact);
  return { status: 200, body: contact };
}
