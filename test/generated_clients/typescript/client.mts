/**
 * What a caller does with the types that openapi-typescript makes, and openapi-fetch. `published.d.ts` is made from the
 * document of the running service.
 *
 * @module
 */

import createClient from "openapi-fetch";
import type { components, paths } from "./published.d.ts";

const set = (name: string) => process.env[name] ?? "";
const intake = createClient<paths>({
  baseUrl: set("INTAKE_URL"),
  headers: { "X-API-Key": set("LEADS_API_KEY") },
});
const stranger = createClient<paths>({ baseUrl: set("INTAKE_URL"), headers: { "X-API-Key": "mistyped" } });
const forms = createClient<paths>({
  baseUrl: set("FORMS_URL"),
  headers: { "X-API-Key": set("FORMS_API_KEY") },
});
const subscription = createClient<paths>({ baseUrl: set("SUBSCRIPTION_URL") });

type Lead = components["schemas"]["Lead"];
const lead: Lead = {
  first_name: "Ada",
  last_name: "Lovelace",
  phone: "+44 20 7946 0123",
  country: "GB",
  project_area: "Wine Cellar",
  project_service: "Remodel",
  cost: 12.5,
};
const header = { "Idempotency-Key": set("IDEMPOTENCY_KEY") };

function acknowledged({ data, error }: { data?: components["schemas"]["Acknowledgement"]; error?: unknown }) {
  if (data === undefined) throw new Error(`The lead was not accepted: ${JSON.stringify(error)}`);
  const { event_id, status, received_at, source, flags } = data;
  return { event_id, status, received_at: Date.parse(received_at), source, flags };
}

function refused({ error, response }: { error?: components["schemas"]["ErrorBody"]; response: Response }) {
  if (error === undefined) throw new Error(`There is no error, but ${response.status}`);
  const { request_id, fields = {} } = error;
  const isNamed = request_id === response.headers.get("X-Request-Id");
  return { http: response.status, error: error.error, is_named: isNamed, fields };
}

const form = {
  params: { path: { tenant: set("TENANT"), form_key: set("FORM_KEY") } },
};
const visitor = { name: "Grace Hopper", email: "grace@example.com", visits: 3, message: set("IDEMPOTENCY_KEY") };

const accepted = acknowledged(await intake.POST("/v1/intake", { params: { header }, body: lead }));
const repeated = acknowledged(await intake.POST("/v1/intake", { params: { header }, body: lead }));
const blank = await intake.POST("/v1/intake", { body: { ...lead, last_name: " ", cost: 1000 } });
const unauthorized = await stranger.POST("/v1/intake", { body: lead });
const { data: vocabulary } = await intake.GET("/v1/vocabulary");
const { data: health } = await intake.GET("/healthz");
const { data: submitted } = await forms.POST("/v1/forms/{tenant}/{form_key}", { ...form, body: visitor });
const { data: again } = await forms.POST("/v1/forms/{tenant}/{form_key}", { ...form, body: visitor });
const missing = await forms.POST("/v1/forms/{tenant}/{form_key}", { ...form, body: {} });
const { data: plans = [] } = await subscription.GET("/api/plans");

const isWell = typeof health === "object" && health.ok;
console.log(JSON.stringify({
  accepted,
  repeated,
  refused: refused(blank),
  unauthorized: refused(unauthorized),
  areas: vocabulary?.project_area.filter(({ status }) => status === "confirmed").length,
  services: vocabulary?.project_service,
  is_well: isWell,
  submitted: [submitted?.status, again?.status],
  is_same: submitted?.submission_id === again?.submission_id,
  missing: refused(missing),
  plans: plans.map(({ slug, amount_cents, interval, items }) => [
    slug,
    amount_cents,
    interval,
    items[0]?.title,
  ]),
}));
