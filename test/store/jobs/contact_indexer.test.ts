import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import test, { before, beforeEach } from "node:test";
import { ContactIndexer } from "../../../src/store/jobs/contact_indexer.ts";
import { searchEvents, type SearchFilter, searchSettings } from "../../../src/store/operator/search.ts";
import { AcceptStore } from "../../../src/store/serving/accept.ts";
import { openPool } from "../../support/pool.ts";
import { type IssuedKey, World } from "../../support/world.ts";

const { world, key } = await opened();
const pool = openPool(world.database.url, { settings: searchSettings });
const filing = new ContactIndexer(openPool(world.database.url));
const accepts = new AcceptStore(openPool(world.database.url), {
  node: "test",
  nowMs: () => performance.now(),
});

async function opened(): Promise<{ world: World; key: IssuedKey }> {
  const world = await World.open();
  return { world, key: await world.issue() };
}

before(() => filing.runOnce());
beforeEach(() => world.sql`truncate event, outbox, lead_contact, lead_contact_todo cascade`);

const ada = { first_name: "Ada", last_name: "Lovelace", phone: "+15125550100", email: "ada@example.com" };

/** Accepts leads in one batch; gives their ids. */
async function accept(...leads: readonly Record<string, string>[]): Promise<string[]> {
  const decisions = await accepts.accept(
    leads.map((lead) => {
      const digest = randomUUID();
      return {
        ...{
          kind: "lead",
          keyId: key.id,
          tenantId: key.tenant.id,
          space: "c",
          digest,
          contentDigest: digest,
        },
        ...{ idempotencyKey: null, flags: [], lead: JSON.stringify(lead), extra: null, raw: "{}" },
        ...{ costCents: null, unknownArea: null, arrivedAtMs: performance.now(), submission: null },
      };
    }),
    20_000,
  );
  return decisions.map((decision) =>
    decision.kind === "accepted" ? decision.eventId : assert.fail(decision.kind)
  );
}

/** By each of the ways to find a person. */
async function found(filters: readonly Partial<SearchFilter>[] = byAda): Promise<(readonly string[])[]> {
  const any = { tenant: null, source: null, kind: null, flag: null, state: null, since: null, until: null };
  return await Promise.all(filters.map(async (filter) => {
    const wanted = { ...any, phones: [], emails: [], lastName: null, ...filter };
    return (await searchEvents(pool, wanted, { before: null, limit: 50 })).eventIds;
  }));
}

const byAda = [{ phones: [ada.phone] }, { emails: ["ADA@example.com"] }, { lastName: "lovel" }];

/** Whom `lead_contact` knows. */
async function filed(): Promise<string[]> {
  const rows = await world.sql<{ id: string }[]>`select event_id as id from lead_contact order by 1`;
  return rows.map(({ id }) => id);
}

test("a lead is found by whom it names from its commit on, once, before it is filed and after", async () => {
  const [first, other] = await accept(ada, { last_name: "Hopper" });
  assert.deepEqual(await filed(), []);
  assert.deepEqual(await found(), [[first], [first], [first]]);
  assert.equal(await filing.runOnce(), 1);
  assert.deepEqual(await filed(), [first, other].sort());
  const [second] = await accept(ada);
  assert.deepEqual(await found(), byAda.map(() => [second, first]));
  assert.equal(await filing.runOnce(), 1);
  assert.equal(await filing.runOnce(), 0);
  assert.deepEqual(await found(), byAda.map(() => [second, first]));
});

test("of two batches of one microsecond the later commit is filed as well, and nothing twice", async () => {
  const [first] = await accept(ada) as [string];
  await filing.runOnce();
  const twin = first.slice(0, 17) + "2" + first.slice(18);
  await world.sql`
    with copied as (
      insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
      select ${twin}, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead from event
    )
    insert into lead_contact_todo values (event_id_at(event_id_time(${first})))`;
  assert.deepEqual(await found(), byAda.map(() => [twin, first]));
  await filing.runOnce();
  assert.deepEqual(await found(), byAda.map(() => [twin, first]));
  assert.deepEqual(await filed(), [first, twin]);
});

test("what an erasure takes from a lead that is being filed is not found, and not kept, whichever is first", async () => {
  const erase = (id: string) => world.sql`select from erase_event(${id}, null, '{}')`;
  const [first, second] = await accept(ada, ada) as [string, string];
  // The erasure waits until what is being filed is there to be taken.
  const filer = await world.sql.reserve();
  await filer.unsafe("begin; select fill_lead_contact(10)");
  const erasing = erase(first);
  void erasing.then(() => {}, () => {});
  await world.untilWaiting();
  await filer`commit`;
  filer.release();
  await erasing;
  assert.deepEqual(await filed(), [second]);
  // Nothing is filed that an erasure is about to take.
  const [third] = await accept(ada) as [string];
  const eraser = await world.sql.reserve();
  await eraser.unsafe(`begin; select from erase_event('${third}', null, '{}')`);
  assert.equal(await filing.runOnce(), 0);
  await eraser`commit`;
  eraser.release();
  assert.equal(await filing.runOnce(), 1);
  assert.deepEqual(await filed(), [second]);
  assert.deepEqual(await found(), byAda.map(() => [second]));
});

test("a run that fails files nothing, and forgets nothing", async () => {
  const [first] = await accept(ada);
  await world.sql`alter table lead_contact add constraint refused check (phone is null)`;
  await assert.rejects(filing.runOnce(), { code: "23514" });
  await world.sql`alter table lead_contact drop constraint refused`;
  assert.deepEqual(await found(), byAda.map(() => [first]));
  assert.equal(await filing.runOnce(), 1);
  assert.deepEqual(await found(), byAda.map(() => [first]));
});
