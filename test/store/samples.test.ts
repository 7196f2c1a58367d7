import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { readSamples, type Sample, writeSample } from "../../src/store/samples.ts";
import { Pool } from "../../src/store/sql.ts";
import { createDatabase } from "../support/database.ts";

const database = await createDatabase();
const admin = postgres(database.url, { max: 1, onnotice: () => {} });
const pool = new Pool({
  databaseUrl: database.url,
  name: "samples",
  connectionsMax: 1,
  statementTimeoutMs: 9_000,
});
after(async () => {
  await pool.close();
  await admin.end();
  await database.drop();
});

const sample: Sample = {
  accepted: 10,
  refused: 1,
  delivered: 8,
  failed: 2,
  pending: 5,
  dead: 1,
  oldestPendingS: 2.5,
  breaker: "closed",
};

const setClock = (time: string) =>
  admin.unsafe(
    `create or replace function service_clock() returns timestamptz language sql volatile parallel safe
     as $$ select timestamptz '${time}' $$`,
  );

test("the processes' samples of a minute are one: counts added up, the worst of the figures", async () => {
  await setClock("2026-03-01T10:00:05Z");
  await writeSample(pool, "a", sample);
  await setClock("2026-03-01T10:00:59Z");
  await writeSample(pool, "b", { ...sample, pending: 7, oldestPendingS: 1, breaker: "open" });
  // A second one of the same process in the same minute adds to its first.
  await writeSample(pool, "a", { ...sample, pending: 4 });
  await setClock("2026-03-01T10:01:59Z");
  await writeSample(pool, "a", { ...sample, breaker: "half_open" });
  assert.deepEqual(await readSamples(pool, { sinceMinutes: 60 }), [
    {
      at: "2026-03-01T10:00:00Z",
      accepted: 30,
      refused: 3,
      delivered: 24,
      failed: 6,
      pending: 7,
      dead: 1,
      oldestPendingS: 2.5,
      breaker: "open",
    },
    { ...sample, at: "2026-03-01T10:01:00Z", breaker: "half_open" },
  ]);
  assert.equal((await readSamples(pool, { sinceMinutes: 1 })).length, 1);
});

test("samples are kept for 31 days", async () => {
  await setClock("2026-04-01T09:59:00Z");
  await writeSample(pool, "a", sample);
  assert.equal((await readSamples(pool, { sinceMinutes: 60 * 24 * 60 })).length, 3);
  await setClock("2026-04-01T10:02:00Z");
  await writeSample(pool, "a", sample);
  const left = await readSamples(pool, { sinceMinutes: 60 * 24 * 60 });
  assert.deepEqual(left.map(({ at }) => at), ["2026-04-01T09:59:00Z", "2026-04-01T10:02:00Z"]);
});
