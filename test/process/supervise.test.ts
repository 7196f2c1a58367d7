import assert from "node:assert/strict";
import { test } from "node:test";
import { type Notice, Notifier } from "../../src/process/supervise.ts";

test("what could not be told is told with the next notice, which wins, and is tried once for each", async () => {
  const tried: Notice[] = [];
  const failures: unknown[] = [];
  let isRefused = true;
  const notifier = new Notifier({
    send: (notice) => {
      tried.push(notice);
      return isRefused ? Promise.reject(new Error("EAGAIN")) : Promise.resolve();
    },
    onFailure: (error) => failures.push(error),
  });
  await notifier.tell({ READY: "1", STATUS: "accepting" });
  assert.deepEqual([tried.length, failures.length], [1, 1]);
  isRefused = false;
  await notifier.tell({ WATCHDOG: "1", STATUS: "full" });
  assert.deepEqual(tried.slice(1), [{ READY: "1", STATUS: "full", WATCHDOG: "1" }]);
  await notifier.tell({ WATCHDOG: "1" });
  assert.deepEqual(tried.slice(2), [{ WATCHDOG: "1" }]);
});

test("what comes while a notice fails is tried without waiting for another", async () => {
  const tried: Notice[] = [];
  const refused = Promise.withResolvers<void>();
  const notifier = new Notifier({
    send: (notice) => tried.push(notice) === 1 ? refused.promise : Promise.resolve(),
    onFailure: () => {},
  });
  const told = [notifier.tell({ READY: "1" }), notifier.tell({ STOPPING: "1" })];
  refused.reject(new Error("EAGAIN"));
  await Promise.all(told);
  assert.deepEqual(tried, [{ READY: "1" }, { READY: "1", STOPPING: "1" }]);
});
