import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { Breaker } from "../../src/delivery/breaker.ts";
import type { TierFailure } from "../../src/delivery/tier_failure.ts";
import { Watch } from "../../src/delivery/watch.ts";
import { until } from "../support/until.ts";

const refused: TierFailure = { cause: "refused", code: "ECONNREFUSED" };

/** A watch with short times; `answers` is what each question finds, the last one for ever. */
function makeWatch(t: TestContext, answers: (TierFailure | null)[], times: { silenceMaxMs?: number } = {}) {
  const asked: string[] = [];
  const failures: string[] = [];
  const nowMs = () => performance.now();
  const breaker = new Breaker({
    ...{ failuresMax: 3, pauseMs: 1, pauseCapMs: 4, silenceMaxMs: 1, concurrency: 4, ...times },
    onNews: () => {},
    onChange: () => watch.look(),
  }, nowMs());
  const watch = new Watch({
    probe: () => {
      asked.push(breaker.state);
      return Promise.resolve((answers.length > 1 ? answers.shift() : answers[0]) ?? null);
    },
    breaker,
    nowMs,
    onFailure: ({ cause }) => failures.push(cause),
  });
  t.after(() => watch.close());
  return { watch, breaker, asked, failures, nowMs };
}

test("a connection is tried while the tier is away, and its return closes the breaker with nothing due", async (t) => {
  const { watch, breaker, asked, failures, nowMs } = makeWatch(t, [refused, refused, null], {
    silenceMaxMs: 60_000,
  });
  watch.look();
  assert.deepEqual(asked, [], "nothing is tried before there was a silence");
  breaker.failed(refused, { nowMs: nowMs(), isSent: false });
  await until(() => breaker.state === "closed", { what: "the return is noticed" });
  assert.deepEqual(asked, ["open", "open", "open"]);
  assert.deepEqual(failures, ["refused", "refused"]);
});

test("a tier that goes away while nothing is due is noticed: the breaker opens", async (t) => {
  const { watch, breaker, asked } = makeWatch(t, [null, null, null, refused]);
  watch.look();
  await until(() => breaker.standing(0).failure?.cause === "refused", { what: "it is noticed" });
  assert.deepEqual(asked.slice(0, 4), ["closed", "closed", "closed", "closed"]);
});

test("a closed watch tries nothing", async (t) => {
  const { watch, asked } = makeWatch(t, [refused]);
  watch.look();
  await until(() => asked.length > 2);
  watch.close();
  const before = asked.length;
  watch.look();
  await new Promise((settle) => setImmediate(settle));
  assert.equal(asked.length, before);
});
