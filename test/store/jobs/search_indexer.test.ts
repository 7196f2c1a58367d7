import assert from "node:assert/strict";
import test, { before, beforeEach } from "node:test";
import { indexNewest, SearchIndexer } from "../../../src/store/jobs/search_indexer.ts";
import { searchEvents, type SearchFilter } from "../../../src/store/operator/search.ts";
import { AcceptStore } from "../../../src/store/serving/accept.ts";
import { acceptEntry } from "../../support/accept.ts";
import { openPool } from "../../support/pool.ts";
import { TestEnv } from "../../support/test_env.ts";

const testEnv = await TestEnv.open();
const key = await testEnv.issue();
const pool = openPool(testEnv.database.url);
const indexer = new SearchIndexer(openPool(testEnv.database.url));
const accepts = new AcceptStore(openPool(testEnv.database.url), {
  node: "test",
  nowMs: () => performance.now(),
});

before(() => indexer.runOnce());
beforeEach(() => testEnv.sql`truncate event, outbox, search_entry, search_todo cascade`);

const ada = { first_name: "Ada", last_name: "Lovelace", phone: "+15125550100", email: "ada@example.com" };

/** Accepts leads in one batch and returns their ids. */
async function accept(...leads: readonly Record<string, string>[]): Promise<string[]> {
  const entries = leads.map((lead) =>
    acceptEntry({ keyId: key.id, tenantId: key.tenant.id, lead: JSON.stringify(lead) })
  );
  const decisions = await accepts.accept(entries, 20_000);
  return decisions.map((decision) =>
    decision.kind === "accepted" ? decision.eventId : assert.fail(decision.kind)
  );
}

/** Searches in each way that finds a person. */
async function found(filters: readonly Partial<SearchFilter>[] = byAda): Promise<(readonly string[])[]> {
  const any = { tenant: null, source: null, kind: null, flag: null, state: null, since: null, until: null };
  return await Promise.all(filters.map(async (filter) => {
    const wanted = { ...any, phone: null, emails: [], lastName: null, ...filter };
    return (await searchEvents(pool, wanted, { before: null, limit: 50 })).eventIds;
  }));
}

const byAda = [{ phone: ada.phone }, { emails: [ada.email] }, { lastName: "Lovel" }];

/** Returns the event ids in `search_entry`. */
async function filed(): Promise<string[]> {
  const rows = await testEnv.sql<{ id: string }[]>`select ref as id from search_entry order by 1`;
  return rows.map(({ id }) => id);
}

test("a search indexes what has been committed before it", async () => {
  const [first, other] = await accept(ada, { last_name: "Hopper" });
  assert.deepEqual(await filed(), []);
  assert.deepEqual(await found(), [[first], [first], [first]]);
  assert.deepEqual(await filed(), [first, other].sort());
  const [second] = await accept(ada);
  assert.deepEqual(await indexer.runOnce(), 1);
  assert.equal(await indexer.runOnce(), 0);
  assert.deepEqual(await found(), byAda.map(() => [second, first]));
});

test("of two batches in one microsecond the later commit is indexed too, and nothing twice", async () => {
  const [first] = await accept(ada) as [string];
  await indexer.runOnce();
  const twin = first.slice(0, 17) + "2" + first.slice(18);
  await testEnv.sql`
    with copied as (
      insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
      select ${twin}, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead from event
    )
    insert into search_todo values (event_id_at(event_id_time(${first})))`;
  assert.deepEqual(await found(), byAda.map(() => [twin, first]));
  assert.deepEqual(await filed(), [first, twin]);
});

test("contacts erased while a lead is being indexed are neither found nor stored, in either order", async () => {
  const erase = (id: string) => testEnv.sql`select from erase_event(${id}, null, '{}')`;
  const [first, second] = await accept(ada, ada) as [string, string];
  // The erasure waits until the rows that are being indexed are visible to it.
  const filer = await testEnv.sql.reserve();
  await filer.unsafe("begin; select fill_search_entry(10)");
  const erasing = erase(first);
  void erasing.then(() => {}, () => {});
  await testEnv.untilWaiting();
  await filer`commit`;
  filer.release();
  await erasing;
  assert.deepEqual(await filed(), [second]);
  // The indexer skips events that an erasure has locked.
  const [third] = await accept(ada) as [string];
  const eraser = await testEnv.sql.reserve();
  await eraser.unsafe(`begin; select from erase_event('${third}', null, '{}')`);
  assert.equal(await indexer.runOnce(), 0);
  const impatient = openPool(testEnv.database.url, { statementTimeoutMs: 100 });
  assert.equal(await indexNewest(impatient), false);
  await eraser`commit`;
  eraser.release();
  assert.equal(await indexer.runOnce(), 1);
  assert.deepEqual(await filed(), [second]);
  assert.deepEqual(await found(), byAda.map(() => [second]));
});

test("a failed run indexes nothing and loses nothing", async () => {
  const [first] = await accept(ada);
  await testEnv.sql`alter table search_entry add constraint refused check (phone is null)`;
  await assert.rejects(indexer.runOnce(), { code: "23514" });
  await testEnv.sql`alter table search_entry drop constraint refused`;
  assert.deepEqual(await found(), byAda.map(() => [first]));
});
