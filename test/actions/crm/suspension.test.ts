import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, beforeEach, test } from "node:test";
import { Authority } from "../../support/authority.ts";
import { setRecipe } from "../../support/crm/recipe_route.ts";
import { startVendor, type Vendor, type VendorAnswer, type VendorCall } from "../../support/crm/vendor.ts";
import { withSql } from "../../support/database.ts";
import { type ActionsFixture, actionsFixture } from "../../support/faults/delivery_fixture.ts";
import { temporaryFolder } from "../../support/folder.ts";
import { post } from "../../support/client.ts";
import { ctl, type RunningServer } from "../../support/server.ts";
import type { IssuedKey } from "../../support/test_env.ts";
import { until } from "../../support/until.ts";

let fixture: ActionsFixture;
let server: RunningServer;
let vendor: Vendor;
let answer: (call: VendorCall) => VendorAnswer;
const file = join(temporaryFolder("recipes"), "plain.json");

before(async () => {
  const vendors = new Authority("vendors");
  fixture = await actionsFixture({
    // No effect may time out, because what is counted here are refusals.
    env: { DELIVERY_SEND_TIMEOUT_MS: "60000", DELIVERY_LEASE_MS: "70000" },
    actionsEnv: { ACTIONS_EFFECT_TIMEOUT_MS: "30000", NODE_EXTRA_CA_CERTS: vendors.file },
  });
  vendor = await startVendor(vendors.issue({ name: "crm.test", use: "server" }), (call) => answer(call));
  server = await fixture.start();
  writeFileSync(
    file,
    JSON.stringify({
      title: "A test",
      settings: { token: { secret: true, about: "the token" }, base_url: { about: "the address" } },
      auth: { kind: "bearer", token: "token" },
      steps: [{
        name: "post",
        method: "POST",
        url: "settings.base_url & '/leads'",
        json: "{ 'id': event_id, 'name': person.full_name }",
      }],
    }),
  );
});
beforeEach(() => {
  answer = ({ headers }) =>
    headers.authorization === "Bearer good" ? { status: 200 } : { status: 401, body: "denied" };
});

/** Issues a key of a new tenant with the recipe as its CRM route and an email address. */
async function tenant(token: string): Promise<IssuedKey> {
  const key = await fixture.routed({ email: "sales@customer.example" });
  await setRecipe(fixture.databaseUrl, key.tenant.slug, {
    crm: file,
    set: { base_url: vendor.url },
    secrets: { token },
  });
  return key;
}

const on = () => ({ databaseUrl: fixture.databaseUrl });
let posts = 0;

async function accept(key: IssuedKey, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const body = { first_name: "Ada", last_name: `Lovelace ${++posts}`, phone: "5551234567" };
    const { status, json } = await post(`${server.url}/v1/intake`, {
      key: key.text,
      body: JSON.stringify(body),
    });
    assert.equal(status, 202);
    ids.push(json.event_id);
  }
  return ids;
}

interface Waiting {
  readonly reason: string | null;
  readonly spent: number;
  readonly made: number;
  readonly seconds: number;
}

const waiting = (ids: readonly string[]) =>
  withSql(fixture.databaseUrl, (sql) =>
    sql<Waiting[]>`
      select reason, spent, made, extract(epoch from due_at - service_clock())::float8 as seconds from outbox
      where event_id = any (${[...ids]}) and lease is null order by due_at`);
const dead = (ids: readonly string[]) =>
  withSql(
    fixture.databaseUrl,
    (sql) => sql<{ reason: string }[]>`select reason from dead_letter where event_id = any (${[...ids]})`,
  );
const attempts = (ids: readonly string[]) =>
  withSql(fixture.databaseUrl, (sql) => sql`select from attempt where event_id = any (${[...ids]})`);
const callsOf = (ids: readonly string[]) =>
  vendor.calls.filter(({ body }) => ids.some((id) => body.includes(id)));
const isDelivered = async (ids: readonly string[]) =>
  (await attempts(ids)).length === ids.length && (await waiting(ids)).length === 0;
const waitsFor = (ids: readonly string[], reason: string, count: number) =>
  until(async () => (await waiting(ids)).filter((row) => row.reason === reason).length === count);

test("refused credentials: leads wait and spend no attempt, one a minute tries, their emails are sent, and all go when the secret changes", async () => {
  const key = await tenant("bad");
  const first = await accept(key, 1);
  await waitsFor(first, "crm_unauthorized", 1);
  const others = await accept(key, 7);
  const ids = [...first, ...others];
  await waitsFor(ids, "crm_unauthorized", 8);
  assert.equal(callsOf(ids).length, 1, "only the first lead has reached the CRM");
  for (const { spent, made } of await waiting(ids)) assert.deepEqual([spent, made], [0, 0]);
  await until(() =>
    fixture.smtp.messages.filter(({ raw }) => ids.some((id) => raw.includes(id))).length === 8
  );
  // An hour without credentials, minute by minute.
  for (let minute = 1; minute <= 5; minute++) {
    await fixture.pass(61);
    await until(() => callsOf(ids).length === 1 + minute, { what: `the try of minute ${minute}` });
    await waitsFor(ids, "crm_unauthorized", 8);
    assert.equal(callsOf(ids).length, 1 + minute, "one lead a minute tries");
  }
  await fixture.pass(3_600);
  await waitsFor(ids, "crm_unauthorized", 8);
  assert.deepEqual([(await dead(ids)).length, (await attempts(ids)).length], [0, 0]);
  await setRecipe(fixture.databaseUrl, key.tenant.slug, { secrets: { token: "good" } });
  await until(() => isDelivered(ids), { what: "all leads are delivered" });
  const tried = callsOf(ids).filter(({ headers }) => headers.authorization === "Bearer good").map((
    { body },
  ) => body);
  assert.deepEqual([tried.length, new Set(tried).size], [8, 8], "each lead once");
});

test("when a try succeeds, all waiting leads go at once", async () => {
  const key = await tenant("good");
  answer = () => ({ status: 403, body: "suspended account" });
  const ids = await accept(key, 6);
  await waitsFor(ids, "crm_unauthorized", 6);
  answer = () => ({ status: 200 });
  await fixture.pass(61);
  await until(() => isDelivered(ids), { what: "all leads are delivered" });
});

test("the fifth lead in a row that a route's CRM refuses suspends the route: five leads die and not a night's", async () => {
  const key = await tenant("good");
  answer = () => ({ status: 400, body: { message: "property x does not exist" } });
  const ids = await accept(key, 12);
  await waitsFor(ids, "crm_suspended", 7);
  assert.deepEqual((await dead(ids)).map(({ reason }) => reason), new Array(5).fill("crm failed: http_400"));
  // A try that is refused kills no lead.
  const before = callsOf(ids).length;
  await fixture.pass(61);
  await until(() => callsOf(ids).length > before);
  await waitsFor(ids, "crm_suspended", 7);
  assert.equal((await dead(ids)).length, 5);
  answer = () => ({ status: 200 });
  await setRecipe(fixture.databaseUrl, key.tenant.slug, { set: { base_url: vendor.url } });
  await until(async () => (await attempts(ids)).length === 12 && (await waiting(ids)).length === 0);
  const { replayed } = await ctl(["dead", "replay", "--all", "--tenant", key.tenant.slug, "--yes"], on());
  assert.equal(replayed.length, 5);
  await until(async () => (await dead(ids)).length === 0 && (await waiting(ids)).length === 0);
  assert.equal(new Set(callsOf(ids).map(({ body }) => body)).size, 12);
});

test("refusals with a success between them suspend nothing, and each refused lead is dead at once", async () => {
  const key = await tenant("good");
  const refused: string[] = [];
  for (let round = 0; round < 3; round++) {
    answer = () => ({ status: 422, body: "bad phone" });
    const ids = await accept(key, 3);
    await until(async () => (await dead(ids)).length === 3);
    refused.push(...ids);
    answer = () => ({ status: 200 });
    const [good] = await accept(key, 1);
    await until(() => isDelivered([good as string]));
  }
  assert.equal((await dead(refused)).length, 9);
  assert.equal(callsOf(refused).length, 9);
});

test("a suspended route holds up no other tenant and no other route", async () => {
  const bad = await tenant("bad");
  const held = await accept(bad, 3);
  await waitsFor(held, "crm_unauthorized", 3);
  const other = await tenant("good");
  const ids = await accept(other, 3);
  await until(() => isDelivered(ids));
  // Another recipe in its place ends the suspension.
  answer = () => ({ status: 200 });
  const url = `${vendor.url}/hooks/0123456789`;
  await setRecipe(fixture.databaseUrl, bad.tenant.slug, { crm: "webhook_json", secrets: { url } });
  await until(() => isDelivered(held));
});
