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
  await repeating.stop();
});

test("a run that throws is told, and the next one comes all the same", async () => {
  const { runs, outcomes, failures, repeating } = played();
  await until(() => runs.length === 1);
  const fault = new Error("away");
  runs[0]?.reject(fault);
  await until(() => runs.length === 2);
  assert.deepEqual([failures, outcomes], [[fault], [null, null]]);
  runs[1]?.resolve("");
  await repeating.stop();
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
  await repeating.stop();
});

test("stop waits for the run under way, whose failure is told to nobody, and nothing runs after it", async () => {
  const { runs, failures, repeating, finished } = played();
  await until(() => runs.length === 1);
  let isStopped = false;
  const stopped = repeating.stop().then(() => isStopped = true);
  await new Promise(setImmediate);
  assert.equal(isStopped, false);
  runs[0]?.reject(new Error("cut"));
  await stopped;
  await repeating.soon();
  assert.deepEqual([runs.length, failures, finished()], [1, [], 0]);
  await repeating.finish();
  assert.equal(finished(), 1);
});

test("a job that throws instead of promising goes on as one that promised", async () => {
  let runs = 0;
  const repeating = repeat({
    runOnce: (): Promise<void> => {
      runs += 1;
      throw new Error("at once");
    },
    pauseMs: () => 1,
  }, { onFailure: () => {} });
  await until(() => runs >= 3);
  await repeating.stop();
});
