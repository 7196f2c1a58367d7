import assert from "node:assert/strict";
import { createHash, getRandomValues } from "node:crypto";
import { test } from "node:test";
import { generateKey } from "../../src/contract/api_key.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { freshKey, lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
await testEnv.start();

const keyCheck = { first_name: "required", last_name: "required", phone: "required" };

test("the key check {} answers 422 with the three required fields, stores nothing and does not count as a use of the key", async () => {
  const key = await testEnv.issue();
  const headers = { "Idempotency-Key": freshKey() };
  const answer = await testEnv.leavesNothing(() => testEnv.intake({ key: key.text, body: {}, headers }));
  assert.equal(answer.status, 422);
  assert.deepEqual(answer.json, {
    error: "validation_failed",
    request_id: answer.headers["x-request-id"],
    fields: keyCheck,
  });
  assert.equal((await testEnv.intake({ key: key.text, body: lead(), headers })).status, 202);
});

test("an issued key works at once, even if it was refused just before", async () => {
  const text = generateKey({ surface: "intake", sandbox: false }, (bytes) => getRandomValues(bytes));
  assert.equal((await testEnv.intake({ key: text, body: {} })).status, 401);
  const { id: tenantId } = await testEnv.tenant();
  await testEnv.sql`
    insert into api_key (tenant_id, surface, label, digest, last4)
    values (${tenantId}, 'intake', 'new', decode(${
    createHash("sha256").update(text).digest("hex")
  }, 'hex'), 'xxxx')`;
  assert.equal((await testEnv.intake({ key: text, body: {} })).status, 422);
});

const wellFormed = generateKey({ surface: "intake", sandbox: false }, (bytes) => getRandomValues(bytes));
const checksum =
  "the key's checksum is wrong: a character was lost, added or changed; copy the whole key again";
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
    await testEnv.leavesNothing(async () => {
      for (const body of [lead(), {}, "[]"]) {
        const answer = await testEnv.intake({ ...(key === undefined ? {} : { key }), body });
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

test("a key of the other surface answers 401 with a detail", async () => {
  const key = await testEnv.issue();
  const forms = await testEnv.issue({ surface: "forms" });
  await testEnv.leavesNothing(async () => {
    for (const body of [{}, lead()]) {
      const answer = await testEnv.intake({ key: forms.text, body });
      assert.equal(answer.status, 401);
      assert.match(answer.json.detail, /^this is a forms key; the intake needs an intake key/);
    }
    const answer = await testEnv.sendToForms("/v1/forms/any/contact", {
      method: "POST",
      key: key.text,
      body: {},
    });
    assert.equal(answer.status, 401);
    assert.match(answer.json.detail, /^this is an intake key; a form needs a forms key/);
  });
});

const inUrl =
  "the key came in the URL, which may be logged; have the key replaced, and send the new one as X-API-Key";
const inAuthorization = "the key came in Authorization; send it as X-API-Key";

test("a key sent outside X-API-Key answers 401, with the same detail whether or not the key exists", async () => {
  const { text } = await testEnv.issue();
  const basic = (key: string) => `Basic ${Buffer.from(`${key}:`).toString("base64")}`;
  for (const key of [text, wellFormed]) {
    for (const authorization of [`Bearer ${key}`, basic(key), key]) {
      const answer = await testEnv.intake({ body: lead(), headers: { "Authorization": authorization } });
      assert.deepEqual([answer.status, answer.json.detail], [401, inAuthorization]);
    }
    const answer = await testEnv.intake({
      body: lead({ "X-API-Key": key }),
      headers: { "Cookie": `X-API-Key=${key}` },
    });
    assert.deepEqual([answer.status, answer.json.detail], [401, undefined]);
  }
  const other = await testEnv.intake({ body: lead(), headers: { "Authorization": basic("somebody") } });
  assert.deepEqual([other.status, other.json.detail], [401, undefined]);
});

test("a key in the URL is logged and counted as leaked, and the response is the same for an unknown key", async () => {
  const key = await testEnv.issue();
  const server = await testEnv.start();
  testEnv.expectLogged("key_exposed");
  const mistyped = `${key.text.slice(0, -1)}${key.text.endsWith("0") ? "1" : "0"}`;
  for (const text of [wellFormed, mistyped, key.text]) {
    const answer = await testEnv.send(`/v1/intake?key=${text}&x=1`, { method: "POST", body: lead() }, server);
    assert.deepEqual([answer.status, answer.json.detail], [401, inUrl]);
  }
  const line = await until(() => server.logs.find(({ event }) => event === "key_exposed"));
  assert.equal(line.key_id, String(key.id));
  assert.equal(await server.stop(), 0);
  assert.equal(server.logs.filter(({ event }) => event === "key_exposed").length, 1);
  assert.ok(!JSON.stringify(server.logs).includes(key.text.slice(10)));
  const totals = await testEnv
    .sql`select reason, field, count::int from refusal_total where key_id = ${key.id}`;
  assert.deepEqual([...totals], [{ reason: "key_in_url", field: "", count: 1 }]);
});

test("two X-API-Key headers, even identical ones, answer 401", async () => {
  const [key, other] = [await testEnv.issue(), await testEnv.issue()];
  for (const texts of [[key.text, other.text], [key.text, key.text], ["", key.text]]) {
    await testEnv.leavesNothing(async () => {
      const answer = await testEnv.intake({ body: lead(), headers: { "X-API-Key": texts } });
      assert.equal(answer.status, 401);
      assert.equal(answer.json.error, "unauthorized");
    });
  }
});

test("a wrong checksum and a forms key answer 401 without a query", async () => {
  const key = await testEnv.issue();
  const forms = await testEnv.issue({ surface: "forms" });
  const mistyped = key.text.slice(0, -1) + (key.text.endsWith("0") ? "1" : "0");
  const release = await testEnv.hold("lock table api_key in access exclusive mode");
  const asked = testEnv.intake({ key: key.text, body: {} });
  await testEnv.untilWaiting();
  const answers = [mistyped, forms.text, "nonsense", ""].map((text) =>
    testEnv.intake({ key: text, body: lead(), timeoutMs: 2_000 })
  );
  const settled = await Promise.allSettled(answers);
  await release();
  for (const answer of settled) assert.equal(answer.status === "fulfilled" && answer.value.status, 401);
  assert.equal((await asked).status, 422);
});

test("a failed key lookup answers 503 not_accepting, not 401", async () => {
  const key = await testEnv.issue();
  // The totals may be written while the table is locked.
  testEnv.expectLogged("totals_kept");
  await testEnv.leavesNothing(async () => {
    const release = await testEnv.hold("lock table api_key in access exclusive mode");
    const answer = await testEnv.intake({ key: key.text, body: lead() });
    await release();
    assert.equal(answer.status, 503);
    assert.deepEqual(answer.json, { error: "not_accepting", request_id: answer.headers["x-request-id"] });
  });
  assert.equal((await testEnv.intake({ key: key.text, body: {} })).status, 422);
});

test("after ctl key revoke, {}, a post and a repeat answer 401 at once, even with a cached key", async () => {
  const key = await testEnv.issue();
  const repeat = { key: key.text, body: lead(), headers: { "Idempotency-Key": freshKey() } };
  assert.equal((await testEnv.intake(repeat)).status, 202);
  assert.equal((await testEnv.intake({ key: key.text, body: {} })).status, 422);
  const revoked = await ctl(["key", "revoke", String(key.id)], { databaseUrl: testEnv.database.url });
  assert.equal(revoked.already_revoked, false);
  await testEnv.leavesNothing(async () => {
    for (const body of [{}, "[]", lead({ cost: 0 }), lead()]) {
      assert.equal((await testEnv.intake({ key: key.text, body })).status, 401);
    }
    assert.equal((await testEnv.intake(repeat)).status, 401, "a repeat too");
  });
});

test("after ctl tenant disable its cached keys answer 401, until ctl tenant enable", async () => {
  const key = await testEnv.issue();
  const other = await testEnv.issue();
  const options = { key: key.text, body: lead(), headers: { "Idempotency-Key": freshKey() } };
  const accepted = await testEnv.intake(options);
  assert.equal(accepted.status, 202);
  assert.equal((await testEnv.intake({ key: key.text, body: {} })).status, 422);
  const on = { databaseUrl: testEnv.database.url };
  assert.equal((await ctl(["tenant", "disable", key.tenant.slug], on)).keys, 1);
  await testEnv.leavesNothing(async () => {
    for (const body of [{}, "[]", lead({ cost: 0 }), lead()]) {
      const answer = await testEnv.intake({ key: key.text, body });
      assert.equal(answer.status, 401);
      assert.equal(answer.json.error, "unauthorized");
    }
    assert.equal((await testEnv.intake(options)).status, 401, "a repeat too");
  });
  assert.equal((await testEnv.intake({ key: other.text, body: lead() })).status, 202, "another tenant's");
  await ctl(["tenant", "enable", key.tenant.slug], on);
  const repeated = await testEnv.intake(options);
  assert.deepEqual([repeated.status, repeated.json.event_id], [200, accepted.json.event_id]);
});

test("a post in flight when its key is revoked answers 401 unless its commit had begun, and the revocation waits for that commit", async () => {
  const key = await testEnv.issue();
  assert.equal((await testEnv.intake({ key: key.text, body: lead() })).status, 202);
  const release = await testEnv.holdCommits();
  const begun = testEnv.intake({ key: key.text, body: lead() });
  await testEnv.untilWaiting(1);
  const queued = testEnv.intake({ key: key.text, body: lead() });
  let hasReturned = false;
  const revoking = testEnv.sql`update api_key set revoked_at = now() where id = ${key.id}`.then(() => {
    hasReturned = true;
  });
  await testEnv.untilWaiting(2);
  await testEnv.untilQueued(1);
  assert.equal(hasReturned, false, "revoking waits for the commit under way");
  await release();
  assert.equal((await begun).status, 202);
  await revoking;
  assert.equal((await queued).status, 401);
});
