import assert from "node:assert/strict";
import { test } from "node:test";
import { type Job, repeat } from "../../src/service/repeat.ts";
import { until } from "../support/until.ts";

/** A job whose runs are ended by the test. */
function played(pauseMs: (outcome: string | null) => number = () => 1) {
  const runs: PromiseWithResolvers<string>[] = [];
  const outcomes: (string | null)[] = [];
  const failures: unknown[] = [];
  let finished = 0;
  const job: Job<string> = {
    runOnce() {
      const run = Promise.withResolvers<string>();
      runs.push(run);
      return run.promise;
    },
    pauseMs(outcome) {
      outcomes.push(outcome);
      return pauseMs(outcome);
    },
    finish: () => Promise.resolve(finished += 1),
  };
  const repeating = repeat(job, { onFailure: (error) => failures.push(error) });
  return { runs, outcomes, failures, repeating, finished: () => finished };
}

test("runs follow one another with the pause that each outcome asks for, and never two at once", async () => {
  const { runs, outcomes, repeating } = played();
  await until(() => runs.length === 1);
  void repeating.soon();
  assert.equal(runs.length, 1, "one is under way");
  runs[0]?.resolve("first");
  await until(() => runs.length === 2);
  runs[1]?.resolve("second");
  await until(() => runs.length === 3);
  assert.deepEqual(outcomes, [null, "first", "second"]);
  runs[2]?.resolve("last");
  await repeating.close();
});

test("a run that throws is told, and the next one comes all the same", async () => {
  const { runs, outcomes, failures, repeating } = played();
  await until(() => runs.length === 1);
  const fault = new Error("away");
  runs[0]?.reject(fault);
  await until(() => runs.length === 2);
  assert.deepEqual([failures, outcomes], [[fault], [null, null]]);
  runs[1]?.resolve("");
  await repeating.close();
});

test("soon runs without the pause, and resolves with the end of that run", async () => {
  const { runs, repeating } = played(() => 2 ** 30);
  let hasEnded = false;
  const soon = repeating.soon().then(() => hasEnded = true);
  assert.equal(runs.length, 1);
  await Promise.resolve();
  assert.equal(hasEnded, false);
  runs[0]?.resolve("");
  await soon;
  await repeating.close();
});

test("close waits for the run under way, finishes once, and nothing runs after it", async () => {
  const { runs, repeating, finished } = played();
  await until(() => runs.length === 1);
  let isClosed = false;
  const closed = repeating.close().then(() => isClosed = true);
  await new Promise(setImmediate);
  assert.deepEqual([isClosed, finished()], [false, 0]);
  runs[0]?.resolve("");
  await closed;
  await repeating.soon();
  assert.deepEqual([runs.length, finished()], [1, 1]);
});
