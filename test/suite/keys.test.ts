import assert from "node:assert/strict";
import { createHash, getRandomValues } from "node:crypto";
import { test } from "node:test";
import { makeKey } from "../../src/contract/api_key.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { freshKey, lead, World } from "../support/world.ts";

const world = await World.open();
await world.start();

const keyCheck = { first_name: "required", last_name: "required", phone: "required" };

test("the key check {} answers 422 with the three required fields, stores nothing and is no use of the key", async () => {
  const key = await world.issue();
  const headers = { "Idempotency-Key": freshKey() };
  const answer = await world.leavesNothing(() => world.intake({ key: key.text, body: {}, headers }));
  assert.equal(answer.status, 422);
  assert.deepEqual(answer.json, {
    error: "validation_failed",
    request_id: answer.headers["x-request-id"],
    fields: keyCheck,
  });
  assert.equal((await world.intake({ key: key.text, body: lead(), headers })).status, 202);
});

test("an issued key works at once, also when it was refused a moment before", async () => {
  const text = makeKey({ surface: "intake", sandbox: false }, (bytes) => getRandomValues(bytes));
  assert.equal((await world.intake({ key: text, body: {} })).status, 401);
  const { id: tenantId } = await world.tenant();
  await world.sql`
    insert into api_key (tenant_id, surface, label, digest, last4)
    values (${tenantId}, 'intake', 'new', decode(${
    createHash("sha256").update(text).digest("hex")
  }, 'hex'), 'xxxx')`;
  assert.equal((await world.intake({ key: text, body: {} })).status, 422);
});

const wellFormed = makeKey({ surface: "intake", sandbox: false }, (bytes) => getRandomValues(bytes));
const checksum =
  "the key has a wrong checksum: a character was lost, added or changed; copy the whole key again";
const quotes = "the key is in quotes; send it without them";
const refusedKeys: Readonly<Record<string, readonly [key?: string, detail?: string]>> = {
  "no key": [],
  "a blank key": [" "],
  "nonsense": ["secret"],
  "an unknown key": [wellFormed],
  "a mistyped key": [
    `${wellFormed.slice(0, 12)}${wellFormed[12] === "a" ? "b" : "a"}${wellFormed.slice(13)}`,
    checksum,
  ],
  "a key in other case": [wellFormed.toUpperCase()],
  "a key with more behind it": [`${wellFormed}0`, checksum],
  "a cut key": [wellFormed.slice(0, -1), checksum],
  "an unknown key in quotes": [`"${wellFormed}"`, quotes],
  "a key with a quote before it": [`'${wellFormed}`, quotes],
  "SQL": ["' or 1=1 --"],
  "two keys": [`${wellFormed}, ${wellFormed}`],
};

for (const [what, [key, detail]] of Object.entries(refusedKeys)) {
  test(`POST /v1/intake with ${what} answers 401 unauthorized ${detail === undefined ? "without" : "with"} a detail and stores nothing`, async () => {
    await world.leavesNothing(async () => {
      for (const body of [lead(), {}, "[]"]) {
        const answer = await world.intake({ ...(key === undefined ? {} : { key }), body });
        assert.equal(answer.status, 401);
        const request_id = answer.headers["x-request-id"];
        assert.deepEqual(answer.json, {
          error: "unauthorized",
          request_id,
          ...(detail === undefined ? {} : { detail }),
        });
      }
    });
  });
}

test("a key of the other surface is 401 with a detail that says so", async () => {
  const key = await world.issue();
  const forms = await world.issue({ surface: "forms" });
  await world.leavesNothing(async () => {
    for (const body of [{}, lead()]) {
      const answer = await world.intake({ key: forms.text, body });
      assert.equal(answer.status, 401);
      assert.match(answer.json.detail, /^this is a forms key; the intake needs an intake key/);
    }
    const answer = await world.sendToForms("/v1/forms/any/contact", {
      method: "POST",
      key: key.text,
      body: {},
    });
    assert.equal(answer.status, 401);
    assert.match(answer.json.detail, /^this is an intake key; a form needs a forms key/);
  });
});

const inUrl =
  "the key came in the URL, where logs keep it; have it replaced, and send the new one as X-API-Key";
const inAuthorization = "the key came in Authorization; send it as X-API-Key";

test("a key anywhere but in X-API-Key is 401, and the detail is the same whether the key exists or not", async () => {
  const { text } = await world.issue();
  const basic = (key: string) => `Basic ${Buffer.from(`${key}:`).toString("base64")}`;
  for (const key of [text, wellFormed]) {
    for (const authorization of [`Bearer ${key}`, basic(key), key]) {
      const answer = await world.intake({ body: lead(), headers: { "Authorization": authorization } });
      assert.deepEqual([answer.status, answer.json.detail], [401, inAuthorization]);
    }
    const answer = await world.intake({
      body: lead({ "X-API-Key": key }),
      headers: { "Cookie": `X-API-Key=${key}` },
    });
    assert.deepEqual([answer.status, answer.json.detail], [401, undefined]);
  }
  const other = await world.intake({ body: lead(), headers: { "Authorization": basic("somebody") } });
  assert.deepEqual([other.status, other.json.detail], [401, undefined]);
});

test("a key in the URL counts as leaked: the log and the totals have its id, and the answer is the same for a key that there is not", async () => {
  const key = await world.issue();
  const server = await world.start();
  world.expectLogged("key_exposed");
  const mistyped = `${key.text.slice(0, -1)}${key.text.endsWith("0") ? "1" : "0"}`;
  for (const text of [wellFormed, mistyped, key.text]) {
    const answer = await world.send(`/v1/intake?key=${text}&x=1`, { method: "POST", body: lead() }, server);
    assert.deepEqual([answer.status, answer.json.detail], [401, inUrl]);
  }
  const line = await until(() => server.logs.find(({ event }) => event === "key_exposed"));
  assert.equal(line.key_id, String(key.id));
  assert.equal(await server.stop(), 0);
  assert.equal(server.logs.filter(({ event }) => event === "key_exposed").length, 1);
  assert.ok(!JSON.stringify(server.logs).includes(key.text.slice(10)));
  const totals = await world
    .sql`select reason, field, count::int from refusal_total where key_id = ${key.id}`;
  assert.deepEqual([...totals], [{ reason: "key_in_url", field: "", count: 1 }]);
});

test("two X-API-Key headers are 401, be they alike: neither is believed", async () => {
  const [key, other] = [await world.issue(), await world.issue()];
  for (const texts of [[key.text, other.text], [key.text, key.text], ["", key.text]]) {
    await world.leavesNothing(async () => {
      const answer = await world.intake({ body: lead(), headers: { "X-API-Key": texts } });
      assert.equal(answer.status, 401);
      assert.equal(answer.json.error, "unauthorized");
    });
  }
});

test("a wrong checksum and a forms key are 401 without a query: they are answered while no key can be read", async () => {
  const key = await world.issue();
  const forms = await world.issue({ surface: "forms" });
  const mistyped = key.text.slice(0, -1) + (key.text.endsWith("0") ? "1" : "0");
  const release = await world.hold("lock table api_key in access exclusive mode");
  const asked = world.intake({ key: key.text, body: {} });
  await world.untilWaiting();
  const answers = [mistyped, forms.text, "nonsense", ""].map((text) =>
    world.intake({ key: text, body: lead(), timeoutMs: 2_000 })
  );
  const settled = await Promise.allSettled(answers);
  await release();
  assert.deepEqual(settled.map((answer) => answer.status === "fulfilled" && answer.value.status), [
    401,
    401,
    401,
    401,
  ]);
  assert.equal((await asked).status, 422);
});

test("a key that cannot be looked up is 503 not_accepting, not 401", async () => {
  const key = await world.issue();
  // Their turn may come while the table is locked.
  world.expectLogged("totals_kept");
  await world.leavesNothing(async () => {
    const release = await world.hold("lock table api_key in access exclusive mode");
    const answer = await world.intake({ key: key.text, body: lead() });
    await release();
    assert.equal(answer.status, 503);
    assert.deepEqual(answer.json, { error: "not_accepting", request_id: answer.headers["x-request-id"] });
  });
  assert.equal((await world.intake({ key: key.text, body: {} })).status, 422);
});

test("after ctl key revoke has returned, {} answers 401 at once and a post answers 401, though the key was cached", async () => {
  const key = await world.issue();
  assert.equal((await world.intake({ key: key.text, body: lead() })).status, 202);
  assert.equal((await world.intake({ key: key.text, body: {} })).status, 422);
  const revoked = await ctl(["key", "revoke", String(key.id)], { databaseUrl: world.database.url });
  assert.equal(revoked.already_revoked, false);
  await world.leavesNothing(async () => {
    assert.equal((await world.intake({ key: key.text, body: {} })).status, 401);
    assert.equal((await world.intake({ key: key.text, body: "[]" })).status, 401);
    assert.equal((await world.intake({ key: key.text, body: lead({ cost: 0 }) })).status, 401);
    assert.equal((await world.intake({ key: key.text, body: lead() })).status, 401);
  });
});

test("after ctl tenant disable has returned, its keys are answered as revoked ones, though they were cached; ctl tenant enable ends that", async () => {
  const key = await world.issue();
  const other = await world.issue();
  const options = { key: key.text, body: lead(), headers: { "Idempotency-Key": freshKey() } };
  const accepted = await world.intake(options);
  assert.equal(accepted.status, 202);
  assert.equal((await world.intake({ key: key.text, body: {} })).status, 422);
  const on = { databaseUrl: world.database.url };
  assert.equal((await ctl(["tenant", "disable", key.tenant.slug], on)).keys, 1);
  await world.leavesNothing(async () => {
    for (const body of [{}, "[]", lead({ cost: 0 }), lead()]) {
      const answer = await world.intake({ key: key.text, body });
      assert.equal(answer.status, 401);
      assert.equal(answer.json.error, "unauthorized");
    }
    assert.equal((await world.intake(options)).status, 401, "a repeat too");
  });
  assert.equal((await world.intake({ key: other.text, body: lead() })).status, 202, "another tenant's");
  await ctl(["tenant", "enable", key.tenant.slug], on);
  const repeated = await world.intake(options);
  assert.deepEqual([repeated.status, repeated.json.event_id], [200, accepted.json.event_id]);
});

test("a repeat under a revoked key is 401, not 200", async () => {
  const key = await world.issue();
  const options = { key: key.text, body: lead(), headers: { "Idempotency-Key": freshKey() } };
  assert.equal((await world.intake(options)).status, 202);
  await world.sql`update api_key set revoked_at = now() where id = ${key.id}`;
  assert.equal((await world.intake(options)).status, 401);
});

test("a post under way when its key is revoked is 401 unless its commit had begun; the revocation waits for that", async () => {
  const key = await world.issue();
  assert.equal((await world.intake({ key: key.text, body: lead() })).status, 202);
  const release = await world.holdCommits();
  const begun = world.intake({ key: key.text, body: lead() });
  await world.untilWaiting(1);
  const queued = world.intake({ key: key.text, body: lead() });
  let hasReturned = false;
  const revoking = world.sql`update api_key set revoked_at = now() where id = ${key.id}`.then(() => {
    hasReturned = true;
  });
  await world.untilWaiting(2);
  await world.untilQueued(1);
  assert.equal(hasReturned, false, "revoking waits for the commit under way");
  await release();
  assert.equal((await begun).status, 202);
  await revoking;
  assert.equal((await queued).status, 401);
});

test("the key is stored as its SHA-256 only", async () => {
  const key = await world.issue();
  assert.equal((await world.intake({ key: key.text, body: lead() })).status, 202);
  const tables = await world.sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public'`;
  for (const { name } of tables) {
    const [found] = await world.sql`
      select count(*)::int as count from ${world.sql(name)} as t where t::text like ${`%${
      key.text.slice(10, 42)
    }%`}`;
    assert.equal(found?.count, 0, name);
  }
});
