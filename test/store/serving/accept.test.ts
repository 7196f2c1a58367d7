import assert from "node:assert/strict";
import test from "node:test";
import { AcceptStore } from "../../../src/store/serving/accept.ts";
import { acceptEntry } from "../../support/accept.ts";
import { openPool } from "../../support/pool.ts";
import { TestEnv } from "../../support/test_env.ts";

const testEnv = await TestEnv.open();
const key = await testEnv.issue();
const pool = openPool(testEnv.database.url, { onWarning: (text) => assert.fail(text) });
const store = new AcceptStore(pool, { node: "test", nowMs: () => performance.now() });

const entry = (lead = "{}") => acceptEntry({ keyId: key.id, tenantId: key.tenant.id, lead });

test("an entry whose rival releases its digest meanwhile is accepted, and the rest of the batch once", async () => {
  const rival = entry();
  const [first] = await store.accept([rival], 20_000);
  assert.ok(first?.kind === "accepted");

  // Between the losing insert and the read of the winner.
  const release = await testEnv.hold("lock table collision in exclusive mode");
  const other = entry();
  const accepting = store.accept([rival, other], 20_000);
  await testEnv.untilWaiting();
  await testEnv.sql`update event set dedupe_digest = null where event_id = ${first.eventId}`;
  await release();

  const [again, beside] = await accepting;
  assert.ok(again?.kind === "accepted" && beside?.kind === "accepted");
  assert.notEqual(again.eventId, first.eventId);
  const { events, outbox, pending } = await testEnv.stored();
  assert.deepEqual([events, outbox, pending], [3, 3, 3]);
  const [found] = await store.accept([other], 20_000);
  assert.deepEqual([found?.kind, found?.kind === "duplicate" && found.eventId], [
    "duplicate",
    beside.eventId,
  ]);
});

test("tombstones from before the clock was set back erase no lead and are deleted", async () => {
  const email = "ada@example.com";
  const register = (until: string) =>
    testEnv.sql`
      insert into tombstone select gen_random_uuid(), tombstone_digest(${`email ${email}`}), t, t from (select now() + ${until}::interval) as t (t)`;
  const erased = async () => {
    const [decision] = await store.accept([
      entry(JSON.stringify({ last_name: "Doe", email })),
    ], 20_000);
    assert.equal(decision?.kind, "accepted");
    const [row] = await testEnv.sql`
      select removed_at is not null as erased from event where event_id = ${
      (decision as { eventId: string }).eventId
    }`;
    return row?.erased;
  };
  await register("30 seconds");
  assert.equal(await erased(), true);
  await testEnv.sql`delete from tombstone`;
  await register("3 days");
  assert.equal(await erased(), false);
  await testEnv.sql`select forget_tombstones()`;
  assert.equal((await testEnv.sql`select from tombstone`).length, 0);
});

test("during an erasure, a lead without a contact is accepted, alone and in a batch", async () => {
  await testEnv.sql`
    insert into tombstone values (gen_random_uuid(), sha256('somebody'), now() + interval '1 hour', now() + interval '1 hour')`;
  for (const entries of [[entry()], [entry(), entry()]]) {
    const decisions = await store.accept(entries, 20_000);
    assert.deepEqual(decisions.map(({ kind }) => kind), entries.map(() => "accepted"));
  }
  await testEnv.sql`delete from tombstone`;
});
