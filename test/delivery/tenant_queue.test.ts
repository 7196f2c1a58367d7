import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { TenantQueue } from "../../src/delivery/tenant_queue.ts";
import type { Claimed } from "../../src/store/delivery/outbox.ts";

/** Timers that a test fires by hand, at the time that it says. */
function timers(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  return t.mock.timers;
}

test("a tenant is woken at every retry's time, not at the first alone, and once for those that fall together", (t) => {
  const clock = timers(t);
  let nowMs = 0;
  const wokenAtMs: number[] = [];
  const queue = new TenantQueue(1);
  for (const atMs of [50, 20, 80, 80]) {
    queue.wakeAt(atMs, { nowMs: () => nowMs, wake: () => wokenAtMs.push(nowMs) });
  }
  for (nowMs = 1; nowMs <= 100; nowMs++) clock.tick(1);
  assert.deepEqual(wokenAtMs, [20, 50, 80]);
});

test("a timer that fires early wakes nobody: the row is not due in the store yet", (t) => {
  const clock = timers(t);
  let nowMs = 0;
  const wokenAtMs: number[] = [];
  const queue = new TenantQueue(1);
  queue.wakeAt(12.7, { nowMs: () => nowMs, wake: () => wokenAtMs.push(nowMs) });
  nowMs = 11.5;
  clock.tick(13);
  assert.deepEqual(wokenAtMs, []);
  nowMs = 13.5;
  clock.tick(2);
  assert.deepEqual(wokenAtMs, [13.5]);
});

test("of very many retries the earliest are kept, in whatever order they come", (t) => {
  const clock = timers(t);
  let nowMs = 0;
  const wokenAtMs: number[] = [];
  const queue = new TenantQueue(1);
  for (let atMs = 1_000; atMs > 0; atMs--) {
    queue.wakeAt(atMs, { nowMs: () => nowMs, wake: () => wokenAtMs.push(nowMs) });
  }
  for (nowMs = 1; nowMs <= 1_000; nowMs++) clock.tick(1);
  assert.deepEqual(wokenAtMs, Array.from({ length: 256 }, (_, index) => index + 1));
});

test("a queue that is closed wakes nobody", (t) => {
  const clock = timers(t);
  const queue = new TenantQueue(1);
  let woken = 0;
  queue.wakeAt(10, { nowMs: () => 10, wake: () => woken++ });
  queue.close();
  clock.tick(20);
  assert.equal(woken, 0);
});

test("a time that has passed wakes in the next turn, without a warning of the runtime", async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error) => warnings.push(name);
  process.on("warning", note);
  await new Promise<void>((wake) => new TenantQueue(1).wakeAt(10, { nowMs: () => 30, wake }));
  process.off("warning", note);
  assert.deepEqual(warnings, []);
});

test("a claim that was under way when the floor was forgotten does not raise it again", () => {
  const queue = new TenantQueue(1);
  const row = { due_at_ms: 1_000_000 } as Claimed;
  const { era } = queue;
  queue.push([row], 0, era);
  assert.notEqual(queue.floor, "-infinity");
  queue.forgetFloor();
  queue.push([row], 0, era);
  assert.equal(queue.floor, "-infinity");
  queue.push([row], 0, queue.era);
  assert.notEqual(queue.floor, "-infinity");
});
