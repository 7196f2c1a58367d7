/** Tests which hours a roll-up chooses; test/suite/ops_report.test.ts tests their figures. */

import assert from "node:assert/strict";
import test from "node:test";
import { Rollup } from "../../../src/store/jobs/rollup.ts";
import { acceptPosts } from "../../support/accept.ts";
import { openPool } from "../../support/pool.ts";
import { rowsRead } from "../../support/rows_read.ts";
import { TestEnv } from "../../support/test_env.ts";

const testEnv = await TestEnv.open();
const { sql } = testEnv;
const rollup = new Rollup(openPool(testEnv.database.url));
const key = await testEnv.issue();

async function accept(at: string): Promise<string> {
  await testEnv.setClock(at);
  const [row] = await acceptPosts(sql, [{ keyId: key.id }]);
  return row?.event_id ?? "";
}

const deliver = (id: string) => sql`delete from outbox where event_id = ${id}`;

/** Rolls up all that is due at a time and returns the hours with events. */
async function rolled(at: string): Promise<string[]> {
  await testEnv.setClock(at);
  while (await rollup.runOnce() > 0);
  const rows = await sql<
    { hour: Date; accepted: number }[]
  >`select hour, accepted from hour_total order by hour`;
  return rows.map(({ hour, accepted }) => `${hour.toISOString().slice(0, 13)} ${accepted}`);
}

test("each past hour is rolled up once, and again while it has unsettled events", async () => {
  await deliver(await accept("2026-01-01T10:30:00Z"));
  const waiting = await accept("2026-01-01T12:30:00Z");
  assert.deepEqual(await rolled("2026-01-01T13:00:59Z"), ["2026-01-01T10 1"]);
  assert.deepEqual(await rolled("2026-01-01T13:01:00Z"), ["2026-01-01T10 1", "2026-01-01T12 1"]);
  assert.equal(await rollup.runOnce(), 0);
  await testEnv.setClock("2026-01-01T13:11:00Z");
  assert.deepEqual([await rollup.runOnce(), await rollup.runOnce()], [1, 0]);
  await deliver(waiting);
  await testEnv.setClock("2026-01-01T13:21:00Z");
  assert.deepEqual([await rollup.runOnce(), await rollup.runOnce()], [1, 0]);
  // The hours until then are now final.
  await testEnv.setClock("2026-01-01T15:01:00Z");
  assert.deepEqual([await rollup.runOnce(), await rollup.runOnce(), await rollup.runOnce()], [1, 1, 0]);
});

test("after the clock was set back, hours that it had passed too early are rolled up when they have passed", async () => {
  await accept("2026-01-08T15:30:00Z");
  assert.equal((await rolled("2026-01-08T17:30:00Z")).at(-1), "2026-01-08T15 1");
  assert.equal((await rolled("2026-01-01T15:05:00Z")).length, 2);
  await accept("2026-01-01T16:30:00Z");
  assert.deepEqual((await rolled("2026-01-01T17:30:00Z")).slice(2), ["2026-01-01T16 1"]);
  assert.deepEqual((await rolled("2026-01-08T17:30:00Z")).slice(2), ["2026-01-01T16 1", "2026-01-08T15 1"]);
});

test("an event with an old time delays no current hour", async () => {
  await deliver(await accept("1996-01-01T10:30:00Z"));
  await deliver(await accept("2026-02-01T10:30:00Z"));
  await testEnv.setClock("2026-02-01T12:30:00Z");
  await rollup.runOnce();
  await rollup.runOnce();
  const hours = await sql<{ hour: Date }[]>`select hour from hour_total order by hour desc limit 1`;
  assert.equal(hours[0]?.hour.toISOString(), "2026-02-01T10:00:00.000Z");
});

test("a run reads no more rows when years of hours are rolled up", async () => {
  await sql`
    insert into hour_rolled (hour) select h from generate_series(timestamptz '2020-01-01', '2025-12-31', '1 hour') as h
    on conflict do nothing`;
  await sql`analyze hour_rolled`;
  const read = await rowsRead(sql, "hour_rolled", (session) => session`select roll_up_hours(1)`);
  assert.ok(read < 1_000, `${read} rows were read`);
});
