import assert from "node:assert/strict";
import test from "node:test";
import { Settler } from "../../src/delivery/settler.ts";
import type { Settlement } from "../../src/store/delivery/outbox.ts";
import { until } from "../support/until.ts";

function settlement(eventId: string): Settlement {
  return {
    ...{ eventId, tenantId: 1, lease: "l", number: 1, kind: "delivered", outcome: "delivered", status: 200 },
    ...{ reason: null, durationMs: 1, isSpent: true, isRepeat: false, retryMs: 0 },
  };
}

/** A settler whose own statements fail as long as `broken` says so. */
function makeSettler() {
  const store = { broken: false, alone: [] as string[][], settled: [] as string[], failures: 0 };
  const ids = (batch: readonly Settlement[]) => batch.map(({ eventId }) => eventId);
  const settler = new Settler({
    settle: async (batch) => {
      if (store.broken) throw new Error("away");
      store.alone.push(ids(batch));
      await Promise.resolve();
    },
    onSettled: (batch) => store.settled.push(...ids(batch)),
    onFailure: () => store.failures += 1,
  });
  return { store, settler };
}

test("what waits goes with the next claim, and nothing of it alone", async () => {
  const { store, settler } = makeSettler();
  settler.add(settlement("a"));
  settler.add(settlement("b"));
  const carried = await settler.carry((batch) => Promise.resolve(batch.length));
  assert.equal(carried, 2);
  assert.deepEqual(store.settled, ["a", "b"]);
  assert.equal(await settler.carry((batch) => Promise.resolve(batch.length)), 0);
  await settler.close();
  assert.deepEqual(store.alone, []);
});

test("what a failed claim has carried is settled by itself, and spoils no further claim", async () => {
  const { store, settler } = makeSettler();
  settler.add(settlement("a"));
  await assert.rejects(settler.carry(() => Promise.reject(new Error("away"))), /away/);
  settler.add(settlement("b"));
  assert.equal(await settler.carry((batch) => Promise.resolve(batch.length)), 0);
  await until(() => store.settled.length === 2, { what: "both are settled" });
  assert.deepEqual(store.alone, [["a", "b"]]);
  assert.equal(store.failures, 0, "the claim's failure is told by who has made it");
  await settler.close();
});

test("what the store does not take is kept until it does", async () => {
  const { store, settler } = makeSettler();
  store.broken = true;
  settler.add(settlement("a"));
  await until(() => store.failures > 0, { what: "the first failure" });
  assert.deepEqual(store.settled, []);
  store.broken = false;
  await until(() => store.settled.length === 1, { what: "it is settled" });
  await settler.close();
});

test("at the end all that waits is written at once, or given up at the first failure", async () => {
  const { store, settler } = makeSettler();
  for (let at = 0; at < 10; at += 1) settler.add(settlement(String(at)));
  await settler.close();
  assert.equal(store.settled.length, 10);
  const broken = makeSettler();
  broken.store.broken = true;
  broken.settler.add(settlement("a"));
  await broken.settler.close();
  assert.equal(broken.store.failures, 1);
  assert.deepEqual(broken.store.settled, []);
});
