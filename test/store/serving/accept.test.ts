import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import test, { before } from "node:test";
import { AcceptStore, type Entry } from "../../../src/store/serving/accept.ts";
import type { Pool } from "../../../src/store/pool.ts";
import { openPool } from "../../support/pool.ts";
import { type IssuedKey, World } from "../../support/world.ts";

let world: World;
let pool: Pool;
let store: AcceptStore;
let key: IssuedKey;

before(async () => {
  world = await World.open();
  key = await world.issue();
  pool = openPool(world.database.url, { onWarning: (text) => assert.fail(text) });
  store = new AcceptStore(pool, { node: "test", nowMs: () => performance.now() });
});

function entry(digest = randomUUID()): Entry {
  return {
    ...{ kind: "lead", keyId: key.id, tenantId: key.tenant.id, space: "c", digest, contentDigest: digest },
    ...{
      idempotencyKey: null,
      flags: [],
      lead: "{}",
      extra: null,
      raw: "{}",
      costCents: null,
      unknownArea: null,
      arrivedAtMs: performance.now(),
    },
    submission: null,
  };
}

test("an entry whose rival lets go of its digest meanwhile is accepted, and the rest of the batch once", async () => {
  const rival = entry();
  const [first] = await store.accept([rival], 20_000);
  assert.ok(first?.kind === "accepted");

  // Between the insert that loses and the look at what won.
  const release = await world.hold("lock table collision in exclusive mode");
  const other = entry();
  const accepting = store.accept([rival, other], 20_000);
  await world.untilWaiting();
  await world.sql`update event set dedupe_digest = null where event_id = ${first.eventId}`;
  await release();

  const [again, beside] = await accepting;
  assert.ok(again?.kind === "accepted" && beside?.kind === "accepted");
  assert.notEqual(again.eventId, first.eventId);
  const { events, outbox, pending } = await world.stored();
  assert.deepEqual([events, outbox, pending], [3, 3, 3]);
  const [found] = await store.accept([other], 20_000);
  assert.deepEqual([found?.kind, found?.kind === "duplicate" && found.eventId], [
    "duplicate",
    beside.eventId,
  ]);
});

test("while somebody is being erased, a lead without a contact is accepted, alone and beside others", async () => {
  await world.sql`
    insert into tombstone values (gen_random_uuid(), sha256('somebody'), now() + interval '1 hour', now() + interval '1 hour')`;
  for (const entries of [[entry()], [entry(), entry()]]) {
    const decisions = await store.accept(entries, 20_000);
    assert.deepEqual(decisions.map(({ kind }) => kind), entries.map(() => "accepted"));
  }
  await world.sql`delete from tombstone`;
});
