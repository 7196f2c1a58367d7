/**
 * Salesforce's REST API for leads, as its documents say: tokens without a lifetime, upsert by an external ID, field
 * lengths, duplicate rules, and State and Country/Territory Picklists.
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

export type Lead = Record<string, string>;

/** What an administrator sets in Setup, and the records. */
export interface Org {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The name of the field that is an external ID. */
  readonly externalId: string;
  hasStatePicklists: boolean;
  duplicateRule: "none" | "alert" | "block";
  /** The values that the lead source is restricted to. */
  leadSources: readonly string[] | null;
  /** Whether the 24-hour limit of calls is reached. */
  isOverLimit: boolean;
  /** The message of a validation rule that refuses every lead. */
  validationRule: string | null;
  readonly leads: Lead[];
  /** How often a lead was written. */
  writes: number;
  /** Ends all sessions. */
  expireTokens(): void;
}

export type Salesforce = Vendor & Org;

const lengths: Readonly<Record<string, number>> = {
  LastName: 80,
  FirstName: 40,
  Company: 255,
  Phone: 40,
  Email: 80,
  Street: 255,
  City: 40,
  State: 80,
  PostalCode: 20,
  Country: 80,
  LeadSource: 255,
  Description: 32_000,
  Title: 128,
  Status: 255,
};
const codes: Readonly<Record<string, number>> = { StateCode: 10, CountryCode: 10 };
const statesByCountry: Readonly<Record<string, readonly string[]>> = {
  US: ["CA", "NY", "TX"],
  CA: ["ON", "QC"],
  GB: [],
};

/** Starts the test server with an empty org. */
export async function openSalesforce(certificate: Pick<Issued, "cert" | "key">): Promise<Salesforce> {
  let tokens = new Set<string>();
  const org: Org = {
    clientId: "3MVG9.consumer-key",
    clientSecret: randomBytes(16).toString("hex"),
    externalId: "Lead_Event_Id__c",
    hasStatePicklists: false,
    duplicateRule: "none",
    leadSources: null,
    isOverLimit: false,
    validationRule: null,
    leads: [],
    writes: 0,
    expireTokens: () => tokens = new Set(),
  };
  const vendor = await startVendor(certificate, (call) => {
    if (call.path === "/services/oauth2/token") return token(call);
    if (!tokens.has(String(call.headers.authorization).replace(/^Bearer /, ""))) {
      return refuse(401, "INVALID_SESSION_ID", "Session expired or invalid");
    }
    if (org.isOverLimit) return refuse(403, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.");
    return upsert(org, call);
  });

  function token(call: VendorCall): VendorAnswer {
    const form = formBody(call);
    const error = (code: string, description: string) => ({
      status: 400,
      body: { error: code, error_description: description },
    });
    if (call.method !== "POST" || form.get("grant_type") !== "client_credentials") {
      return error("unsupported_grant_type", "grant type not supported");
    }
    if (form.get("client_id") !== org.clientId) {
      return error("invalid_client_id", "client identifier invalid");
    }
    if (form.get("client_secret") !== org.clientSecret) {
      return error("invalid_client", "invalid client credentials");
    }
    const accessToken = `00D!${randomBytes(12).toString("hex")}`;
    tokens.add(accessToken);
    return {
      status: 200,
      body: {
        access_token: accessToken,
        signature: "c2lnbmF0dXJl",
        scope: "api",
        instance_url: `https://${call.headers.host}`,
        id: "https://login.salesforce.com/id/00D/005",
        token_type: "Bearer",
        issued_at: "1788444312000",
      },
    };
  }

  return Object.assign(org, vendor);
}

function refuse(
  status: number,
  errorCode: string,
  message: string,
  fields?: readonly string[],
): VendorAnswer {
  return { status, body: [{ message, errorCode, ...(fields === undefined ? {} : { fields }) }] };
}

function upsert(org: Org, call: VendorCall): VendorAnswer {
  const [, version, field, value] =
    /^\/services\/data\/v(\d+)\.0\/sobjects\/Lead\/([^/]+)\/([^/]+)$/.exec(call.path) ?? [];
  if (field === undefined || value === undefined) {
    return refuse(404, "NOT_FOUND", "The requested resource does not exist");
  }
  if (call.method !== "PATCH") {
    return refuse(405, "METHOD_NOT_ALLOWED", `HTTP Method '${call.method}' not allowed`);
  }
  // The response has a body since version 46, the duplicate rule header exists since version 52.
  if (Number(version) < 52 || Number(version) > 68) {
    return refuse(404, "NOT_FOUND", "The version does not exist");
  }
  if (field !== org.externalId) {
    return refuse(
      404,
      "NOT_FOUND",
      `Provided external ID field does not exist or is not accessible: ${field}`,
    );
  }
  if (!String(call.headers["content-type"]).startsWith("application/json")) {
    return refuse(415, "UNSUPPORTED_MEDIA_TYPE", "Content type is not supported");
  }
  const sent = jsonBody(call);
  if (sent === null || typeof sent !== "object" || Array.isArray(sent)) {
    return refuse(400, "JSON_PARSER_ERROR", "Unexpected content");
  }
  const known = org.leads.filter((lead) => lead[field] === decodeURIComponent(value));
  if (known.length > 1) {
    return {
      status: 300,
      body: known.map(({ Id }) => `/services/data/sobjects/Lead/${Id}`),
    };
  }
  const lead = known[0] ?? { Id: `00Q${randomBytes(7).toString("hex")}`, [field]: decodeURIComponent(value) };
  const refusal = faultOf(org, sent, lead, call);
  if (refusal !== null) return refusal;
  org.writes++;
  if (known.length === 0) org.leads.push(lead);
  Object.assign(lead, sent);
  const created = known.length === 0;
  return { status: created ? 201 : 200, body: { id: lead.Id, success: true, errors: [], created } };
}

function faultOf(
  org: Org,
  sent: Readonly<Record<string, unknown>>,
  lead: Lead,
  call: VendorCall,
): VendorAnswer | null {
  const columns = { ...lengths, ...(org.hasStatePicklists ? codes : {}) };
  for (const [name, value] of Object.entries(sent)) {
    if (!Object.hasOwn(columns, name)) {
      return refuse(400, "INVALID_FIELD", `No such column '${name}' on sobject of type Lead`);
    }
    if (typeof value !== "string") return refuse(400, "JSON_PARSER_ERROR", `Cannot deserialize ${name}`);
    const max = columns[name] as number;
    if ([...value].length > max) {
      return refuse(
        400,
        "STRING_TOO_LONG",
        `${name}: data value too large: ${value.slice(0, 99)} (max length=${max})`,
        [name],
      );
    }
  }
  if (lead.IsConverted !== undefined) {
    return refuse(400, "CANNOT_UPDATE_CONVERTED_LEAD", "cannot reference converted lead", []);
  }
  const { Email, LeadSource } = sent as Lead;
  const missing = ["LastName", "Company"].filter((name) => (sent[name] ?? lead[name] ?? "") === "");
  if (missing.length > 0) {
    return refuse(
      400,
      "REQUIRED_FIELD_MISSING",
      `Required fields are missing: [${missing.join(", ")}]`,
      missing,
    );
  }
  if (Email !== undefined && !/^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(Email)) {
    return refuse(400, "INVALID_EMAIL_ADDRESS", `Email: invalid email address: ${Email}`, ["Email"]);
  }
  if (LeadSource !== undefined && org.leadSources !== null && !org.leadSources.includes(LeadSource)) {
    const message = `Lead Source: bad value for restricted picklist field: ${LeadSource}`;
    return refuse(400, "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", message, ["LeadSource"]);
  }
  const place = org.hasStatePicklists ? placeFault(sent as Lead) : null;
  if (place !== null) return place;
  if (org.validationRule !== null) {
    return refuse(400, "FIELD_CUSTOM_VALIDATION_EXCEPTION", org.validationRule, ["Email"]);
  }
  const isDuplicate = org.leads.some((other) =>
    other !== lead && Email !== undefined && other.Email === Email
  );
  const isAllowed = org.duplicateRule === "alert" &&
    /\ballowSave=true\b/.test(String(call.headers["sforce-duplicate-rule-header"]));
  if (isDuplicate && org.duplicateRule !== "none" && !isAllowed) {
    return refuse(400, "DUPLICATES_DETECTED", "Use one of these records?", []);
  }
  return null;
}

/** Checks a state and a country against the picklists, whose values are names and whose codes are ISO codes. */
function placeFault({ State, Country, StateCode, CountryCode }: Lead): VendorAnswer | null {
  const refusePlace = (what: string, field: string) => {
    const message = `There's a problem with this ${what}, even though it may appear correct. ` +
      `Please select a ${what} from the list of valid values.: ${field}`;
    return refuse(400, "FIELD_INTEGRITY_EXCEPTION", message, [field]);
  };
  if (Country !== undefined && Country !== "United States") {
    return refusePlace("country/territory", "Country");
  }
  if (CountryCode !== undefined && !Object.hasOwn(statesByCountry, CountryCode)) {
    return refusePlace("country/territory", "CountryCode");
  }
  if (State !== undefined && State !== "California") return refusePlace("state", "State");
  if (StateCode !== undefined && !(statesByCountry[CountryCode ?? ""] ?? []).includes(StateCode)) {
    return refusePlace("state", "StateCode");
  }
  return null;
}
