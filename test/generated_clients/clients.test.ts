import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isSkipped } from "../../scripts/test_plan.ts";
import { selfSigned } from "../support/authority.ts";
import { get } from "../support/client.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { TestEnv } from "../support/test_env.ts";
import { type Made, makers } from "../support/generated_clients/make.ts";
import { newFlag, startTomorrow } from "../support/generated_clients/tomorrow.ts";
import { mustRun } from "../support/tool.ts";
import { temporaryFolder } from "../support/folder.ts";

const folder = temporaryFolder("clients");
const { certFile: caFile, keyFile, cert: ca } = selfSigned(folder, "clients");

const testEnv = await TestEnv.open();
const { urls } = await testEnv.start({ TLS_CERT_FILE: caFile, TLS_KEY_FILE: keyFile });
const key = await testEnv.issue();
const { key: formsKey, form } = await testEnv.formWithKey();

// With a member that is not in the schema, which a plan may have.
const plan = {
  slug: "starter",
  name: "Starter",
  customer: "acme",
  amount_cents: 4900,
  interval: "month",
  items: [{ title: "Leads", detail: "100", icon: "check" }],
  badge: { text: "popular" },
};
const planFile = join(folder, "plans.json");
writeFileSync(planFile, JSON.stringify(plan));
await ctl(["plan", "put", planFile], { databaseUrl: testEnv.database.url });
await until(async () => (await get(`${urls.subscription}/api/plans`, { ca })).json.length === 1);

const document = join(folder, "openapi.json");
writeFileSync(document, (await get(`${urls.intake}/api/openapi.json`, { ca })).text);

/** Runs a client's program and returns its report. */
async function report({ command, env }: Made, name: string, to: Readonly<Record<string, string>>) {
  const output = await mustRun(command, {
    cwd: folder,
    env: {
      INTAKE_URL: to.intake as string,
      FORMS_URL: to.forms as string,
      SUBSCRIPTION_URL: to.subscription as string,
      LEADS_API_KEY: key.text,
      FORMS_API_KEY: formsKey.text,
      TENANT: form.tenant.slug,
      FORM_KEY: form.formKey,
      IDEMPOTENCY_KEY: `clients:${name}`,
      ...env,
    },
  });
  return JSON.parse(output);
}

/** Checks a program's report; `newFlags` are flags that today's service does not have. */
async function check(
  { accepted, repeated, ...rest }: Record<string, unknown>,
  newFlags: readonly string[] = [],
): Promise<void> {
  const { event_id } = accepted as { event_id: string };
  const event = await testEnv.event(event_id);
  assert.deepEqual(event.lead, {
    first_name: "Ada",
    last_name: "Lovelace",
    phone: "+44 20 7946 0123",
    country: "GB",
    project_area: "Wine Cellar",
    project_service: "remodel",
    cost_cents: 1250,
  });
  assert.equal(event.extra, null, "the client adds no member");
  const first = {
    event_id,
    status: "accepted",
    received_at: event.received_at.getTime(),
    source: key.label,
    flags: ["phone_unnormalized", "project_area_unknown", ...newFlags],
  };
  assert.deepEqual(accepted, first);
  assert.deepEqual(repeated, { ...first, status: "duplicate" });
  assert.deepEqual(rest, {
    refused: {
      http: 422,
      error: "validation_failed",
      is_named: true,
      fields: { last_name: "required", cost: "out_of_range" },
    },
    unauthorized: { http: 401, error: "unauthorized", is_named: true, fields: {} },
    areas: 37,
    services: ["replacement", "repair", "remodel", "maintain"],
    is_well: true,
    submitted: ["accepted", "duplicate"],
    is_same: true,
    missing: {
      http: 400,
      error: "missing_required",
      is_named: true,
      fields: { name: "required", email: "required" },
    },
    plans: [["starter", 4900, "month", "Leads"]],
  });
}

for (const [name, { language, takesNewMembers, make }] of Object.entries(makers)) {
  if (isSkipped(`test/generated_clients/: ${language}`)) continue;
  test(`a client generated with ${name} posts leads and forms and reads every response, also with new members`, async (t) => {
    const own = join(folder, name.replaceAll(/\W+/g, "_"));
    mkdirSync(own);
    const startMs = performance.now();
    const made = await make({ folder: own, document, caFile });
    t.diagnostic(`made in ${Math.round(performance.now() - startMs)} ms`);
    await check(await report(made, name, urls));

    const url = await startTomorrow({ urls, ca }, { members: takesNewMembers });
    const grown = await report(made, `${name} tomorrow`, { intake: url, forms: url, subscription: url });
    await check(grown, [newFlag]);
  });
}
