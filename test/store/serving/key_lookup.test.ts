import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { KeyStore } from "../../../src/store/serving/lookup.ts";
import { Pool, Unavailable } from "../../../src/store/pool.ts";
import { openPool } from "../../support/pool.ts";
import { openStore } from "../../support/store.ts";

const { databaseUrl, sql: admin } = await openStore();
const pool = openPool(databaseUrl, { name: "keys" });
const [tenant] = await admin`insert into tenant (slug, name) values ('acme', 'Acme') returning id`;
const clock = { nowMs: 0 };

async function issue(surface = "intake"): Promise<{ id: number; digest: string }> {
  const digest = createHash("sha256").update(randomBytes(16)).digest("hex");
  const [row] = await admin`
    insert into api_key (tenant_id, surface, label, digest, last4)
    values (${tenant?.id}, ${surface}, 'web', decode(${digest}, 'hex'), 'abcd') returning id`;
  return { id: row?.id, digest };
}

/** A store, and the number of queries it has made. */
function openKeys() {
  const made = { queries: 0 };
  const counting = {
    run: (...args: Parameters<Pool["run"]>) => {
      made.queries += 1;
      return pool.run(...args);
    },
  } as Pool;
  return { keys: new KeyStore(counting, () => clock.nowMs), made };
}

test("find reads an active key by its digest, and null for an unknown or revoked one", async () => {
  const { keys } = openKeys();
  const { id, digest } = await issue();
  assert.deepEqual(await keys.find(digest), {
    id,
    tenantId: tenant?.id,
    tenant: "acme",
    label: "web",
    raisedRate: null,
  });
  assert.equal(await keys.find("00".repeat(32)), null);
  await admin`update api_key set revoked_at = now() where id = ${id}`;
  assert.equal(await keys.find(digest), null);
});

test("a found key is cached for 5 s of the clock, an unknown one never", async () => {
  const { keys, made } = openKeys();
  const { id, digest } = await issue();
  assert.equal(keys.cached(digest), null);
  await keys.find(digest);
  assert.equal(keys.cached(digest)?.id, id);
  clock.nowMs += 5_000;
  assert.equal(keys.cached(digest)?.id, id);
  assert.equal(keys.cached(digest, 1_000), null, "a caller may want it younger");
  clock.nowMs += 1;
  assert.equal(keys.cached(digest), null);
  await keys.find("11".repeat(32));
  assert.equal(keys.cached("11".repeat(32)), null);
  assert.equal(made.queries, 2);
});

test("a key that is found revoked, or forgotten, is no longer cached", async () => {
  const { keys } = openKeys();
  const [first, second] = [await issue(), await issue()];
  await keys.find(first.digest);
  await keys.find(second.digest);
  await admin`update api_key set revoked_at = now() where id = ${first.id}`;
  assert.equal(await keys.find(first.digest), null);
  assert.equal(keys.cached(first.digest), null);
  keys.forget(second.digest);
  assert.equal(keys.cached(second.digest), null);
});

test("lookups that wait while one runs share a query, also for different keys and one key many times", async () => {
  const { keys, made } = openKeys();
  const issued = await Promise.all([issue(), issue(), issue()]);
  const found = await Promise.all([...issued, ...issued, ...issued].map(({ digest }) => keys.find(digest)));
  assert.deepEqual(found.map((key) => key?.id), [...issued, ...issued, ...issued].map(({ id }) => id));
  assert.equal(made.queries, 2, "the first at once, the rest together");
});

test("a failed query fails its lookups, and the next one is made", async () => {
  let fails = true;
  const store = new KeyStore({
    run: (...args: Parameters<Pool["run"]>) =>
      fails ? Promise.reject(new Unavailable("away")) : pool.run(...args),
  } as Pool, () => clock.nowMs);
  const { id, digest } = await issue();
  const failed = await Promise.allSettled([store.find(digest), store.find(digest)]);
  assert.deepEqual(failed.map(({ status }) => status), ["rejected", "rejected"]);
  fails = false;
  assert.equal((await store.find(digest))?.id, id);
});

test("an answer is no older than the question: the cache counts from before the query", async () => {
  const { digest } = await issue();
  let nowMs = 0;
  const store = new KeyStore({
    run: async (...args: Parameters<Pool["run"]>) => {
      nowMs += 3_000;
      return await pool.run(...args);
    },
  } as Pool, () => nowMs);
  await store.find(digest);
  nowMs += 2_001;
  assert.equal(store.cached(digest), null);
});

test("a raised limit is there until its time, on the service's clock", async () => {
  const { keys } = openKeys();
  const { id, digest } = await issue();
  await admin`
    update api_key set limit_per_minute = 6000, limit_burst = 50, limit_until = now() + interval '1 hour'
    where id = ${id}`;
  assert.deepEqual((await keys.find(digest))?.raisedRate, { perMinute: 6000, burst: 50 });
  await admin`update api_key set limit_until = now() - interval '1 second' where id = ${id}`;
  assert.equal((await keys.find(digest))?.raisedRate, null);
});
