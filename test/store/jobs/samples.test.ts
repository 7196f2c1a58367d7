import assert from "node:assert/strict";
import { test } from "node:test";
import { readSteps, type Sample, writeSample } from "../../../src/store/jobs/samples.ts";
import { openPool } from "../../support/pool.ts";
import { TestEnv } from "../../support/test_env.ts";

const testEnv = await TestEnv.open();
const pool = openPool(testEnv.database.url);

const minuteMs = 60_000;
const sample: Sample = {
  accepted: 10,
  refused: 1,
  delivered: 8,
  failed: 2,
  died: 1,
  refusals: { rate_limited: 1 },
  pending: 5,
  dead: 1,
  oldestPendingS: 2.5,
  breaker: "closed",
};

const setClock = (time: string) => testEnv.setClock(time);

test("the processes' samples of a minute are merged: counts added, the worst gauge kept", async () => {
  await setClock("2026-03-01T10:00:05Z");
  await writeSample(pool, "a", sample);
  await setClock("2026-03-01T10:00:59Z");
  await writeSample(pool, "b", {
    ...sample,
    refusals: { rate_limited: 2, unauthorized: 3 },
    pending: 7,
    oldestPendingS: 1,
    breaker: "open",
  });
  // A second sample of a process in the same minute is added to the first.
  await writeSample(pool, "a", { ...sample, pending: 4 });
  await setClock("2026-03-01T10:01:59Z");
  await writeSample(pool, "a", { ...sample, breaker: "half_open" });
  const fromMs = Date.parse("2026-03-01T09:59:00Z");
  const worst: Sample = {
    accepted: 30,
    refused: 3,
    delivered: 24,
    failed: 6,
    died: 3,
    refusals: { rate_limited: 4, unauthorized: 3 },
    pending: 7,
    dead: 1,
    oldestPendingS: 2.5,
    breaker: "open",
  };
  assert.deepEqual(await readSteps(pool, { fromMs, stepMs: minuteMs, steps: 4 }), [
    null,
    worst,
    { ...sample, breaker: "half_open" },
    null,
  ]);
  assert.deepEqual(await readSteps(pool, { fromMs: fromMs - minuteMs, stepMs: 10 * minuteMs, steps: 1 }), [
    {
      ...worst,
      accepted: 40,
      refused: 4,
      delivered: 32,
      failed: 8,
      died: 4,
      refusals: { rate_limited: 5, unauthorized: 3 },
    },
  ], "longer steps add up their minutes");
  assert.deepEqual(await readSteps(pool, { fromMs: fromMs - minuteMs, stepMs: minuteMs, steps: 2 }), [
    null,
    null,
  ]);
});

test("samples are retained for 31 days", async () => {
  const kept = async () => {
    const rows = await testEnv.sql<{ at: Date }[]>`select at from minute_sample order by at`;
    return rows.map(({ at }) => at.toISOString().slice(0, 16));
  };
  await setClock("2026-04-01T09:59:00Z");
  await writeSample(pool, "a", sample);
  assert.equal((await kept()).length, 4);
  await setClock("2026-04-01T10:02:00Z");
  await writeSample(pool, "a", sample);
  assert.deepEqual(await kept(), ["2026-04-01T09:59", "2026-04-01T10:02"]);
});
