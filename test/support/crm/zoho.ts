/**
 * Zoho CRM's API v8, as its documents and its OpenAPI description say: errors of a record come with 202, refused tokens
 * with 200, only unique fields find duplicates, and a refresh token gives ten access tokens in ten minutes.
 */

import { randomBytes } from "node:crypto";
import type { Issued } from "../authority.ts";
import {
  formBody,
  jsonBody,
  startVendor,
  type Vendor,
  type VendorAnswer,
  type VendorCall,
} from "./vendor.ts";

export type ZohoRecord = Record<string, string>;

interface ZohoNote {
  readonly id: string;
  readonly module: string;
  readonly parent: string;
  readonly Note_Title?: string;
  readonly Note_Content: string;
}

/** What an administrator sets, and the records. */
export interface Account {
  readonly clientId: string;
  readonly clientSecret: string;
  refreshToken: string;
  readonly scopes: Set<string>;
  /** The fields of Leads that do not allow duplicate values. */
  readonly uniqueFields: string[];
  readonly mandatoryFields: string[];
  readonly leads: ZohoRecord[];
  /** Contacts also refuse their values to leads. */
  readonly contacts: ZohoRecord[];
  readonly notes: ZohoNote[];
  tokensIssued: number;
  expireTokens(): void;
}

export type Zoho = Vendor & Account;

const lengths: Readonly<Record<string, number>> = {
  Last_Name: 80,
  First_Name: 40,
  Company: 200,
  Email: 100,
  Phone: 30,
  Street: 250,
  City: 100,
  State: 100,
  Zip_Code: 30,
  Country: 100,
  Lead_Source: 120,
  Event_Id: 255,
};
const emailShape =
  /^[+\-\p{L}\p{M}\p{N}_][\p{L}\p{M}\p{N}!#$%&'*+\-/=?^_`{|}~.]*@(?=.{4,256}$)(?:[\p{L}\p{N}\p{M}]+(?:[-_]*[\p{L}\p{M}\p{N}])*\.)+[\p{L}\p{M}]{2,22}$/u;
const phoneShape = /^\+?(?:[-. ()]?[\da-zA-Z])+\)?$/;

const newId = () => `41508680000${randomBytes(4).readUInt32BE().toString().padStart(10, "0")}`;

/** Starts the test server with an empty account. */
export async function openZoho(certificate: Pick<Issued, "cert" | "key">): Promise<Zoho> {
  let tokens = new Set<string>();
  const account: Account = {
    clientId: "1000.SELFCLIENT",
    clientSecret: randomBytes(16).toString("hex"),
    refreshToken: `1000.${randomBytes(16).toString("hex")}`,
    scopes: new Set(["ZohoCRM.modules.ALL", "ZohoCRM.coql.READ", "ZohoCRM.settings.fields.READ"]),
    uniqueFields: [],
    mandatoryFields: ["Last_Name"],
    leads: [],
    contacts: [],
    notes: [],
    tokensIssued: 0,
    expireTokens: () => tokens = new Set(),
  };
  const vendor = await startVendor(certificate, (call) => {
    if (call.path === "/oauth/v2/token") return token(call);
    const [, sent] = /^Zoho-oauthtoken (.+)$/.exec(String(call.headers.authorization)) ?? [];
    if (!tokens.has(sent ?? "")) return fault(401, "INVALID_TOKEN", "invalid oauth token");
    const notes = /^\/crm\/v8\/(Leads|Contacts)\/(\d+)\/Notes$/.exec(call.path);
    if (call.method === "POST" && call.path === "/crm/v8/coql") return query(account, call);
    if (call.method === "POST" && call.path === "/crm/v8/Leads/upsert") return upsert(account, call);
    if (call.method === "POST" && call.path === "/crm/v8/Notes") return addNote(account, call);
    if (call.method === "GET" && notes !== null) return listNotes(account, call, notes[2] as string);
    return fault(404, "INVALID_URL_PATTERN", "Please check if the URL trying to access is a correct one");
  });

  function token(call: VendorCall): VendorAnswer {
    const form = formBody(call);
    const isClient = form.get("client_id") === account.clientId &&
      form.get("client_secret") === account.clientSecret;
    if (call.method !== "POST" || form.get("grant_type") !== "refresh_token" || !isClient) {
      return { status: 200, body: { error: "invalid_client" } };
    }
    if (form.get("refresh_token") !== account.refreshToken) {
      return { status: 200, body: { error: "invalid_code" } };
    }
    if (account.tokensIssued === 10) {
      const error_description =
        "You have made too many requests continuously. Please try again after some time.";
      return { status: 400, body: { error: "Access Denied", error_description, status: "failure" } };
    }
    account.tokensIssued++;
    const accessToken = `1000.${randomBytes(12).toString("hex")}`;
    tokens.add(accessToken);
    const api_domain = `https://${call.headers.host}`;
    return {
      status: 200,
      body: { access_token: accessToken, api_domain, token_type: "Bearer", expires_in: 3600 },
    };
  }

  return Object.assign(account, vendor);
}

function fault(status: number, code: string, message: string, details: unknown = {}): VendorAnswer {
  return { status, body: { code, details, message, status: "error" } };
}

function recordFault(status: number, code: string, message: string, details: unknown): VendorAnswer {
  return { status, body: { data: [{ code, details, message, status: "error" }] } };
}

function success(status: number, id: string, message: string, more = {}): VendorAnswer {
  const by = { name: "Patricia Boyle", id: "4150868000000225013" };
  const time = "2026-09-03T16:05:13+02:00";
  const details = { id, Created_Time: time, Created_By: by, Modified_Time: time, Modified_By: by };
  return { status, body: { data: [{ code: "SUCCESS", details, message, status: "success", ...more }] } };
}

function query(account: Account, call: VendorCall): VendorAnswer {
  if (!account.scopes.has("ZohoCRM.coql.READ")) return fault(401, "OAUTH_SCOPE_MISMATCH", "Unauthorized");
  const statement = jsonBody(call)?.select_query;
  const [, phone] = /^select id from Leads where Phone = '([^']*)' limit 1$/.exec(statement) ?? [];
  if (phone === undefined) return fault(400, "SYNTAX_ERROR", "error occurred while parsing the query");
  const found = account.leads.filter(({ Phone }) => Phone === phone).slice(0, 1);
  if (found.length === 0) return { status: 204 };
  return {
    status: 200,
    body: { data: found.map(({ id }) => ({ id })), info: { count: 1, more_records: false } },
  };
}

function upsert(account: Account, call: VendorCall): VendorAnswer {
  const { data, duplicate_check_fields: given = [], ...others } = jsonBody(call) ?? {};
  if (!Array.isArray(data) || data.length !== 1) {
    return fault(400, "INVALID_DATA", "invalid data", { api_name: "data" });
  }
  if (Object.keys(others).some((name) => name !== "lar_id" && name !== "trigger")) {
    return fault(400, "INVALID_DATA", "invalid data");
  }
  if (
    !Array.isArray(given) || given.some((name) => name !== "Email" && !account.uniqueFields.includes(name))
  ) {
    return fault(400, "INVALID_DATA", "invalid data", { api_name: "duplicate_check_fields" });
  }
  const sent = data[0] as ZohoRecord;
  const refusal = recordRefusal(account, sent);
  if (refusal !== null) return refusal;

  // Unique fields that are not named are checked after the named ones; Email only if it is named or nothing is.
  const order = new Set([...(given.length === 0 ? ["Email"] : given), ...account.uniqueFields]);
  const match =
    [...order].flatMap((field) =>
      account.leads.filter((lead) => sent[field] !== undefined && lead[field] === sent[field])
        .map((lead) => ({ field, lead }))
    )[0];
  for (const field of account.uniqueFields) {
    const holders = [["Leads", account.leads], ["Contacts", account.contacts]] as const;
    for (const [module, records] of holders) {
      const holder = records.find((one) =>
        one !== match?.lead && sent[field] !== undefined && one[field] === sent[field]
      );
      if (holder === undefined) continue;
      const duplicate = { id: holder.id, module: { api_name: module, id: "2" }, Owner: { id: "3" } };
      return recordFault(400, "DUPLICATE_DATA", "duplicate data", {
        api_name: field,
        duplicate_record: duplicate,
      });
    }
  }
  if (match !== undefined) {
    Object.assign(match.lead, sent);
    const more = { action: "update", duplicate_field: match.field };
    return success(200, match.lead.id as string, "record updated", more);
  }
  const lead = { id: newId(), ...sent };
  account.leads.push(lead);
  return success(200, lead.id, "record added", { action: "insert", duplicate_field: null });
}

function recordRefusal({ mandatoryFields }: Account, sent: ZohoRecord): VendorAnswer | null {
  const missing = mandatoryFields.find((name) => (sent[name] ?? "") === "");
  if (missing !== undefined) {
    return recordFault(202, "MANDATORY_NOT_FOUND", "required field not found", { api_name: missing });
  }
  for (const [api_name, value] of Object.entries(sent)) {
    // The real API ignores unknown fields; refused here to find a misspelled one.
    const max = lengths[api_name];
    if (max === undefined) return recordFault(202, "INVALID_DATA", "invalid data", { api_name: "unknown" });
    const shape = { Email: emailShape, Phone: phoneShape }[api_name];
    if (typeof value !== "string" || shape?.test(value) === false) {
      const details = { api_name, expected_data_type: api_name.toLowerCase() };
      return recordFault(202, "INVALID_DATA", "invalid data", details);
    }
    if ([...value].length > max) {
      return recordFault(202, "INVALID_DATA", "invalid data", { api_name, maximum_length: max });
    }
  }
  return null;
}

function addNote(account: Account, call: VendorCall): VendorAnswer {
  const note = jsonBody(call)?.data?.[0] ?? {};
  const { Parent_Id: parent, Note_Title, Note_Content } = note;
  const module = parent?.module?.api_name;
  const records = module === "Contacts" ? account.contacts : module === "Leads" ? account.leads : [];
  if (!records.some(({ id }) => id === parent.id)) {
    return recordFault(400, "INVALID_DATA", "the related id given seems to be invalid", {
      api_name: "Parent_Id",
    });
  }
  if (typeof Note_Content !== "string" || Note_Content === "") {
    return recordFault(202, "MANDATORY_NOT_FOUND", "required field not found", { api_name: "Note_Content" });
  }
  if ([...Note_Content].length > 32_000) {
    const details = { api_name: "Note_Content", maximum_length: 32_000 };
    return recordFault(202, "INVALID_DATA", "invalid data", details);
  }
  const id = newId();
  account.notes.push({ id, module, parent: parent.id, Note_Title, Note_Content });
  return success(201, id, "record added");
}

function listNotes(account: Account, call: VendorCall, parent: string): VendorAnswer {
  const fields = call.query.get("fields")?.split(",");
  if (fields === undefined) {
    return fault(400, "REQUIRED_PARAM_MISSING", "One of the expected parameter is missing", {
      param_name: "fields",
    });
  }
  const perPage = Number(call.query.get("per_page") ?? 200);
  if (perPage > 200) return fault(400, "INVALID_DATA", "invalid data", { param_name: "per_page" });
  const data = account.notes.filter((note) => note.parent === parent).slice(0, perPage).map((note) => ({
    id: note.id,
    ...Object.fromEntries(
      fields.map((field) => [field, Object.entries(note).find(([name]) => name === field)?.[1]]),
    ),
  }));
  return data.length === 0 ? { status: 204 } : { status: 200, body: { data, info: { per_page: perPage } } };
}
