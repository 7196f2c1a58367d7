import assert from "node:assert/strict";
import { test } from "node:test";
import { Sampler } from "../../src/observe/sampler.ts";
import type { Sample } from "../../src/store/jobs/samples.ts";

const zero: Sample = {
  accepted: 0,
  refused: 0,
  delivered: 0,
  failed: 0,
  died: 0,
  refusals: {},
  pending: 0,
  dead: 0,
  oldestPendingS: 0,
  breaker: "none",
};

test("a sample has the counts since the one before, and the figures as they are; one that fails is made up for", async () => {
  let now = zero;
  const written: Sample[] = [];
  let fails = false;
  const sampler = new Sampler({
    read: () => now,
    write: (sample) => {
      if (fails) return Promise.reject(new Error("away"));
      written.push(sample);
      return Promise.resolve();
    },
  });
  now = {
    ...zero,
    refusals: { rate_limited: 2, unauthorized: 0 },
    accepted: 5,
    delivered: 3,
    pending: 2,
    oldestPendingS: 1.5,
    breaker: "closed",
  };
  await sampler.runOnce();
  fails = true;
  now = { ...now, accepted: 7, failed: 1, pending: 4 };
  await assert.rejects(sampler.runOnce(), /away/);
  fails = false;
  now = { ...now, accepted: 8, pending: 1, died: 1, refusals: { rate_limited: 2, unauthorized: 4 } };
  await sampler.finish();
  await sampler.finish();
  assert.deepEqual(written, [
    {
      ...zero,
      accepted: 5,
      delivered: 3,
      refusals: { rate_limited: 2 },
      pending: 2,
      oldestPendingS: 1.5,
      breaker: "closed",
    },
    {
      ...zero,
      accepted: 3,
      failed: 1,
      died: 1,
      refusals: { unauthorized: 4 },
      pending: 1,
      oldestPendingS: 1.5,
      breaker: "closed",
    },
  ]);
});
