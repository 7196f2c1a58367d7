/** A test server that behaves as ServiceTitan's token host and its API for the bookings of a booking provider. */

import type { Issued } from "../authority.ts";
import {
  formBody,
  jsonBody,
  startVendor,
  type Vendor,
  type VendorAnswer,
  type VendorCall,
} from "./vendor.ts";

// deno-lint-ignore no-explicit-any
export type Booking = Record<string, any>;

export interface ServiceTitan extends Vendor {
  /** The secret of each client ID. */
  readonly clients: Map<string, string>;
  readonly appKeys: Set<string>;
  readonly tenantId: string;
  readonly provider: string;
  readonly bookings: Booking[];
  /** The valid access tokens; a test empties it to let them expire. */
  readonly accessTokens: Set<string>;
}

/** The answer to the 61st request within a second. */
export const tooManyRequests: VendorAnswer = {
  status: 429,
  headers: { "Retry-After": "7" },
  body: {
    type: "about:blank",
    title: "Rate limit is exceeded. Try again in 7 seconds.",
    status: 429,
    traceId: "t",
  },
};

/** The types of the members of `CreateBookingRequest`. */
const members: Readonly<Record<string, string>> = {
  source: "string",
  name: "string",
  summary: "string",
  externalId: "string",
  start: "string",
  isFirstTimeClient: "boolean",
  isSendConfirmationEmail: "boolean",
  campaignId: "number",
  businessUnitId: "number",
  jobTypeId: "number",
  address: "object",
  contacts: "object",
  uploadedImages: "object",
  customerType: "string",
  priority: "string",
};
const required = ["source", "name", "summary", "isFirstTimeClient", "externalId"];

export async function startServiceTitan(certificate: Issued): Promise<ServiceTitan> {
  const state = {
    clients: new Map<string, string>(),
    appKeys: new Set(["ak1.app"]),
    tenantId: "1017632",
    provider: "4711",
    bookings: [] as Booking[],
    accessTokens: new Set<string>(),
  };
  const vendor = await startVendor(certificate, (call) => answer(state, call));
  return Object.assign(state, vendor);
}

function answer(state: Omit<ServiceTitan, keyof Vendor>, call: VendorCall): VendorAnswer {
  if (call.method === "POST" && call.path === "/connect/token") return issueToken(state, call);
  if (!state.appKeys.has(String(call.headers["st-app-key"]))) return problem(401, "Invalid ST-App-Key");
  if (!state.accessTokens.has(String(call.headers.authorization).replace(/^Bearer /, ""))) {
    return problem(401, "The access token is missing, expired or invalid");
  }
  const [, tenant, provider] =
    /^\/crm\/v2\/tenant\/(\d+)\/booking-provider\/(\d+)\/bookings$/.exec(call.path) ?? [];
  if (tenant === undefined) return problem(404, "Not Found");
  if (tenant !== state.tenantId) return problem(403, "The application has no access to this tenant");
  if (provider !== state.provider) return problem(404, "Booking provider not found");
  return call.method === "GET" ? list(state.bookings, call) : create(state, jsonBody(call));
}

function issueToken(state: Omit<ServiceTitan, keyof Vendor>, call: VendorCall): VendorAnswer {
  const form = formBody(call);
  if (form.get("grant_type") !== "client_credentials") {
    return { status: 400, body: { error: "unsupported_grant_type" } };
  }
  if (
    !form.has("client_id") || state.clients.get(form.get("client_id") ?? "") !== form.get("client_secret")
  ) {
    return { status: 400, body: { error: "invalid_client" } };
  }
  const token = `access${call.body.length}-${crypto.randomUUID()}`;
  state.accessTokens.add(token);
  return {
    status: 200,
    body: { access_token: token, expires_in: 900, token_type: "Bearer", scope: "tn.crm" },
  };
}

function list(bookings: readonly Booking[], { query }: VendorCall): VendorAnswer {
  const externalId = query.get("externalId");
  const found = bookings.filter((booking) => externalId === null || booking.externalId === externalId);
  const pageSize = Number(query.get("pageSize") ?? 50);
  const data = found.slice(0, pageSize);
  return {
    status: 200,
    body: { page: 1, pageSize, hasMore: found.length > pageSize, totalCount: null, data },
  };
}

function create(state: Omit<ServiceTitan, keyof Vendor>, body: Booking | null): VendorAnswer {
  if (body === null) {
    return problem(400, "One or more validation errors occurred.", { body: ["Invalid JSON"] });
  }
  const errors: Record<string, string[]> = {};
  for (const name of required) {
    if (body[name] === undefined || body[name] === "") errors[name] = [`The ${name} field is required.`];
  }
  for (const [name, value] of Object.entries(body)) {
    if (members[name] === undefined) errors[name] = ["Unknown member"];
    // Optional members are nullable.
    else if (value !== null && typeof value !== members[name]) errors[name] = [`Expected ${members[name]}`];
  }
  for (const name of ["street", "city", "state", "zip", "country"]) {
    if (body.address && !body.address[name]) errors[`address.${name}`] = [`The ${name} field is required.`];
  }
  for (const { type, value } of body.contacts ?? []) {
    if (!["Phone", "Email", "Fax", "MobilePhone"].includes(type) || typeof value !== "string") {
      errors.contacts = ["Invalid contact"];
    }
  }
  if (!["Residential", "Commercial", undefined].includes(body.customerType)) {
    errors.customerType = ["Invalid value"];
  }
  if (Object.keys(errors).length > 0) return problem(400, "One or more validation errors occurred.", errors);
  // Nothing published refuses a second booking with the same external ID.
  const booking = {
    ...body,
    id: 9000 + state.bookings.length,
    status: "New",
    bookingProviderId: Number(state.provider),
  };
  state.bookings.push(booking);
  return { status: 200, body: booking };
}

function problem(
  status: number,
  title: string,
  errors: Readonly<Record<string, string[]>> = {},
): VendorAnswer {
  const body = {
    type: `https://httpstatuses.com/${status}`,
    title,
    status,
    traceId: "0HM-trace",
    errors,
    data: {},
  };
  return { status, body };
}
