import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, beforeEach, test } from "node:test";
import { type Fixture, openFixture } from "../../support/actions/fixture.ts";
import { newEventId } from "../../support/actions/event.ts";
import { setRecipe } from "../../support/crm/recipe_route.ts";
import {
  formBody,
  startVendor,
  type Vendor,
  type VendorAnswer,
  type VendorCall,
} from "../../support/crm/vendor.ts";
import { temporaryFolder } from "../../support/folder.ts";
import { until } from "../../support/until.ts";

let fixture: Fixture;
let vendor: Vendor;
/** The valid access tokens, and the refresh token that the vendor accepts. */
let valid: Set<string>;
let refreshToken: string;
let expiresIn: number | undefined;
let rotates: boolean;
let issued = 0;
const folder = temporaryFolder("recipes");

function handle(call: VendorCall): VendorAnswer {
  if (call.path === "/token") return issue(call);
  const isValid = valid.has(call.headers.authorization?.replace(/^Scheme /, "") ?? "");
  return isValid ? { status: 200, body: {} } : { status: 401, body: { message: "expired" } };
}

function issue(call: VendorCall): VendorAnswer {
  const fields = formBody(call);
  if (fields.get("grant_type") === "refresh_token" && fields.get("refresh_token") !== refreshToken) {
    return { status: 400, body: { error: "invalid_grant" } };
  }
  const accessToken = `access-${++issued}`;
  valid = new Set([accessToken]);
  if (rotates) refreshToken = `refresh-${issued}`;
  return {
    status: 200,
    body: {
      access_token: accessToken,
      api_domain: vendor.url,
      expires_in: expiresIn,
      ...(rotates ? { refresh_token: refreshToken } : {}),
    },
  };
}

before(async () => {
  fixture = await openFixture();
  vendor = await startVendor(fixture.authority.issue({ name: "crm.test", use: "server" }), handle);
});
beforeEach(() => {
  valid = new Set();
  refreshToken = "refresh-0";
  expiresIn = 3_600;
  rotates = false;
});

let tenants = 0;

async function tenantWithTokens(secrets: Readonly<Record<string, string>> = {}): Promise<string> {
  const slug = `tokens-${++tenants}`;
  const file = join(folder, `${slug}.json`);
  writeFileSync(
    file,
    JSON.stringify({
      title: "A test",
      settings: {
        client_id: { about: "id" },
        client_secret: { secret: true, about: "secret" },
        refresh_token: { secret: true, about: "refresh token" },
        token_url: { about: "token address" },
      },
      auth: {
        kind: "oauth2_refresh_token",
        token_url: "token_url",
        client_id: "client_id",
        client_secret: "client_secret",
        refresh_token: "refresh_token",
        client_auth: "body",
        scheme: "Scheme",
      },
      steps: [{
        name: "post",
        method: "POST",
        url: "token.api_domain & '/leads?token=' & $exists(token.access_token)",
        json: "{ 'id': event_id }",
      }],
      hosts: ["crm.example"],
    }),
  );
  await fixture.addTenant(slug);
  await setRecipe(fixture.databaseUrl, slug, {
    crm: file,
    set: { client_id: slug, token_url: `${vendor.url}/token` },
    secrets: { client_secret: "client-secret", refresh_token: "refresh-0", ...secrets },
  });
  return slug;
}

const tokenCalls = (tenant: string) =>
  vendor.calls.filter((call) => call.path === "/token" && formBody(call).get("client_id") === tenant);
const leadCalls = () => vendor.calls.filter(({ path }) => path === "/leads");

test("16 leads at once fetch one token, and 16 leads with an expired token renew it once", async () => {
  const tenant = await tenantWithTokens();
  const deliver = () => Promise.all(Array.from({ length: 16 }, () => fixture.deliverPatiently({ tenant })));
  assert.ok((await deliver()).every(({ status }) => status === 200));
  assert.equal(tokenCalls(tenant).length, 1);
  valid.clear();
  assert.ok((await deliver()).every(({ status }) => status === 200));
  assert.equal(tokenCalls(tenant).length, 2);
  assert.ok(leadCalls().every(({ url }) => !url.includes("true")), "expressions do not see the token");
});

test("a token is kept across restarts, and renewed when the time that the CRM gave is over", async () => {
  const tenant = await tenantWithTokens();
  assert.equal((await fixture.deliver({ tenant })).status, 200);
  await fixture.actions.kill();
  await fixture.start();
  assert.equal((await fixture.deliver({ tenant })).status, 200);
  assert.equal(tokenCalls(tenant).length, 1);
  await fixture.sql`update actions.token set expires_at = now()`;
  await fixture.actions.kill();
  await fixture.start();
  assert.equal((await fixture.deliver({ tenant })).status, 200);
  assert.equal(tokenCalls(tenant).length, 2);
});

test("a rotated refresh token is on disk before the access token is used, and a killed process loses none", async () => {
  rotates = true;
  const tenant = await tenantWithTokens();
  const stored: unknown[] = [];
  vendor.faults.push({ when: ({ path }) => path === "/leads", act: "lose" });
  const { json } = await fixture.deliver({ tenant });
  assert.equal(json.effects.crm, "failed: connection_closed");
  stored.push(...await fixture.sql`select refresh_token from actions.token`);
  assert.ok(stored.some((row) => (row as { refresh_token: string }).refresh_token === refreshToken));
  await fixture.actions.kill();
  await fixture.start();
  valid.clear();
  // The first token is spent, so only the rotated one can renew.
  assert.equal((await fixture.deliver({ tenant })).status, 200);
  assert.deepEqual(tokenCalls(tenant).map((call) => formBody(call).get("refresh_token")), [
    "refresh-0",
    `refresh-${issued - 1}`,
  ]);
});

test("a new client secret keeps the refresh token that the CRM rotated", async () => {
  rotates = true;
  const tenant = await tenantWithTokens();
  assert.equal((await fixture.deliver({ tenant })).status, 200);
  const rotated = refreshToken;
  await setRecipe(fixture.databaseUrl, tenant, { secrets: { client_secret: "another secret" } });
  valid.clear();
  assert.equal((await fixture.deliver({ tenant })).status, 200);
  const last = tokenCalls(tenant).at(-1);
  assert.deepEqual(["refresh_token", "client_secret"].map((name) => last && formBody(last).get(name)), [
    rotated,
    "another secret",
  ]);
});

test("a rotated refresh token that the database could not store is kept, and stored before anything else is asked", async () => {
  rotates = true;
  const tenant = await tenantWithTokens();
  await fixture.sql.unsafe(`
    create function refuse_token() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
    create trigger refuse_token before update on actions.token
      for each row when (new.access_token is distinct from old.access_token) execute function refuse_token();`);
  assert.equal((await fixture.deliver({ tenant })).status, 503);
  await fixture.sql.unsafe("drop trigger refuse_token on actions.token; drop function refuse_token");
  const eventId = newEventId();
  await until(async () => (await fixture.deliver({ tenant, eventId })).status === 200);
  assert.equal(tokenCalls(tenant).length, 1, "the spent refresh token is not sent again");
});

test("a process that dies while it renews delays the others only until its lease ends, and they spend no attempt", async () => {
  const tenant = await tenantWithTokens();
  await fixture.sql`
    insert into actions.token (credential, lease, lease_until)
    select credential, gen_random_uuid(), now() + interval '11 seconds' from actions.route where address = ${tenant}`;
  const { json, eventId } = await fixture.deliver({ tenant });
  assert.deepEqual([json.error, json.reason], ["effects_waiting", "crm_unfinished"]);
  await fixture
    .sql`update actions.token set lease_until = now() + interval '1 second' where lease is not null`;
  assert.equal((await fixture.deliver({ tenant, eventId })).status, 200);
  assert.equal(tokenCalls(tenant).length, 1);
});

test("a token's answer that the database cannot hold neither stops its route nor counts as an outage", async () => {
  for (const [member, value] of [["expires_in", 1e300], ["expires_in", 1e13], ["refresh_token", "a\0b"]]) {
    const tenant = await tenantWithTokens();
    valid.add("odd");
    vendor.faults.push({
      when: ({ path }) => path === "/token",
      act: { status: 200, body: { access_token: "odd", api_domain: vendor.url, [String(member)]: value } },
    });
    assert.equal((await fixture.deliver({ tenant })).status, 200, `${member}`);
    valid.clear();
    assert.equal((await fixture.deliver({ tenant })).status, 200, `${member}`);
  }
});

test("a token request that is answered without a token is unauthorized, whatever its status; 429 and 5xx are retried", async () => {
  const tenant = await tenantWithTokens();
  const outcomes: string[] = [];
  for (const status of [200, 400, 401, 403, 404, 429, 500, 503]) {
    vendor.faults.push({
      when: ({ path }) => path === "/token",
      act: { status, body: { error: "invalid_code" } },
    });
    const { json } = await fixture.deliver({ tenant });
    outcomes.push(`${status} ${json.effects.crm}`);
    await fixture.sql`delete from actions.suspension`;
  }
  assert.deepEqual(outcomes, [
    ...[200, 400, 401, 403, 404].map((status) => `${status} waiting: crm_unauthorized`),
    ...[429, 500, 503].map((status) => `${status} failed: token_http_${status}`),
  ]);
  assert.equal((await fixture.deliver({ tenant })).status, 200);
});

test("a refused token is renewed once only, and the lead then waits with the CRM's words", async () => {
  const tenant = await tenantWithTokens();
  assert.equal((await fixture.deliver({ tenant })).status, 200);
  const before = tokenCalls(tenant).length;
  const refuse = {
    when: ({ path }: VendorCall) => path === "/leads",
    act: { status: 401, body: { message: "no" } },
  };
  vendor.faults.push(refuse, { ...refuse });
  const { json, eventId } = await fixture.deliver({ tenant });
  assert.equal(json.reason, "crm_unauthorized");
  assert.equal(tokenCalls(tenant).length, before + 1);
  const { answer, attempts } = await fixture.crmEffect(eventId);
  assert.deepEqual([answer, attempts], ['{"message":"no"}', 1]);
});

test("a route of another account has a token of its own, which is kept for a month after the route", async () => {
  const tenant = await tenantWithTokens();
  await fixture.deliver({ tenant });
  const tokens = async () => (await fixture.sql`select credential from actions.token`).length;
  const before = await tokens();
  const second = await tenantWithTokens();
  await fixture.deliver({ tenant: second });
  assert.equal(await tokens(), before + 1);
  // Its refresh token may be the only valid one.
  await setRecipe(fixture.databaseUrl, second, { more: ["--crm", "none"] });
  assert.equal(await tokens(), before + 1);
  const third = await tenantWithTokens();
  await fixture.deliver({ tenant: third });
  await fixture.sql`update actions.token set changed_at = now() - interval '31 days'`;
  await setRecipe(fixture.databaseUrl, third, { more: ["--crm", "none"] });
  assert.equal(await tokens(), before + 1);
});
