import assert from "node:assert/strict";
import { test } from "node:test";
import { PlanSnapshot } from "../../../src/store/serving/plans.ts";
import { openPool } from "../../support/pool.ts";
import { openStore } from "../../support/store.ts";

const { databaseUrl, sql: admin } = await openStore();
const pool = openPool(databaseUrl, { name: "plans" });

function open() {
  const clock = { nowMs: 0 };
  const failures: unknown[] = [];
  const snapshot = new PlanSnapshot({
    pool,
    nowMs: () => clock.nowMs,
    ageMaxMs: 5_000,
    observe: (observation) => failures.push(observation),
  });
  return { clock, failures, snapshot };
}

test("nothing is served before the first read, and nothing that was read more than 5 s ago", async () => {
  const { clock, snapshot } = open();
  assert.equal(snapshot.current, null);
  await snapshot.runOnce();
  assert.equal(snapshot.current, "[]");
  clock.nowMs = 5_000;
  assert.equal(snapshot.current, "[]");
  clock.nowMs = 5_001;
  assert.equal(snapshot.current, null);
});

test("plans that cannot be read are gone at once and told once; they come back with the next read", async () => {
  const { failures, snapshot } = open();
  await admin`alter table plan rename to plan_gone`;
  await snapshot.runOnce();
  await snapshot.runOnce();
  assert.equal(snapshot.current, null);
  assert.equal(failures.length, 1);
  await admin`alter table plan_gone rename to plan`;
  await snapshot.runOnce();
  assert.equal(snapshot.current, "[]");
});
