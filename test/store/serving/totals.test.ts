import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pool, Unavailable } from "../../../src/store/pool.ts";
import { Totals } from "../../../src/store/serving/totals.ts";
import { openPool } from "../../support/pool.ts";
import { openStore } from "../../support/store.ts";

const { databaseUrl, sql: admin } = await openStore();
const open = () => openPool(databaseUrl);
await admin`insert into tenant (slug, name) values ('acme', 'Acme')`;
await admin`
  insert into api_key (tenant_id, surface, label, digest, last4)
  select 1, 'intake', 'web', decode(repeat(n::text, 64), 'hex'), 'abcd' from generate_series(1, 3) as n`;

async function written() {
  const rows = await admin`
    select key_id, reason, field, count::int from refusal_total order by key_id, reason, field`;
  return rows.map((row) => [row.key_id, row.reason, row.field, row.count]);
}

async function lastUsed(keyId: number): Promise<string | null> {
  const [row] = await admin`select last_used_at from api_key where id = ${keyId}`;
  return row?.last_used_at?.toISOString() ?? null;
}

test("counts are kept in memory and written together, and added to what is there", async () => {
  await admin`truncate refusal_total`;
  for (let round = 1; round <= 2; round += 1) {
    const pool = open();
    const totals = new Totals(pool, () => {});
    totals.refused(1, "required", "phone");
    totals.refused(1, "required", "phone");
    totals.refused(1, "too_long", "phone");
    totals.refused(2, "invalid_json", "");
    assert.equal((await written()).length, round === 1 ? 0 : 3);
    await totals.finish();
    await pool.close();
  }
  assert.deepEqual(await written(), [[1, "required", "phone", 4], [1, "too_long", "phone", 2], [
    2,
    "invalid_json",
    "",
    2,
  ]]);
});

test("the time of last use only moves forward", async () => {
  for (const at of ["2020-01-01T00:00:00.000Z", "2019-01-01T00:00:00.000Z"]) {
    const pool = open();
    const totals = new Totals(pool, () => {});
    totals.used(3, at);
    await totals.finish();
    await pool.close();
  }
  assert.equal(await lastUsed(3), "2020-01-01T00:00:00.000Z");
});

test("nothing counted is nothing written", async () => {
  const totals = new Totals({ run: () => assert.fail("no statement") } as unknown as Pool, () => {});
  await totals.finish();
});

test("what cannot be written is kept and written later together with what came meanwhile", async () => {
  await admin`truncate refusal_total`;
  const pool = open();
  let fails = true;
  const statements: Promise<unknown>[] = [];
  const totals: Totals = new Totals({
    run: (...args: Parameters<Pool["run"]>) => {
      const statement = fails ? Promise.reject(new Unavailable("away")) : pool.run(...args);
      statements.push(statement);
      // While the failed one is under way:
      if (fails) {
        totals.refused(1, "required", "phone");
        totals.used(1, "2021-01-01T00:00:00.000Z");
      }
      fails = false;
      return statement;
    },
  } as Pool, () => {});
  totals.refused(1, "required", "phone");
  totals.used(1, "2020-01-01T00:00:00.000Z");
  await assert.rejects(totals.runOnce(), Unavailable);
  assert.deepEqual(await written(), []);
  await totals.finish();
  assert.deepEqual(await written(), [[1, "required", "phone", 2]]);
  assert.equal(await lastUsed(1), "2021-01-01T00:00:00.000Z");
  assert.equal(statements.length, 2);
  await pool.close();
});
