import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionOf } from "../../src/service/condition.ts";
import { noticeTo, Notifier } from "../../src/process/supervise.ts";
import { supervise } from "../../src/process/supervise.ts";
import { Heartbeat } from "../../src/store/serving/heartbeat.ts";
import { atEnd } from "../support/at_end.ts";
import { openNotifySocket } from "../support/notify_socket.ts";
import { openPool } from "../support/pool.ts";
import { openStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const { databaseUrl, sql } = await openStore();

test("a beat that neither ends nor is given up ends the signs of life, and the next that ends brings them back", async (t) => {
  const { path, heard } = await openNotifySocket();
  const clock = performance.now.bind(performance);
  let aheadMs = 0;
  t.mock.method(performance, "now", () => clock() + aheadMs);
  // The server gives nothing up either.
  const pool = openPool(databaseUrl, { statementTimeoutMs: 600_000 });
  const heartbeat = new Heartbeat({ pool, nowMs: () => performance.now(), slot: 1 });
  await heartbeat.runOnce();
  const failures: unknown[] = [];
  const notifier = new Notifier({ send: noticeTo(path), onFailure: (error) => failures.push(error) });
  let looks = 0;
  const stop = supervise(() => {
    looks += 1;
    return conditionOf({ surfaces: new Set(["intake"]) }, heartbeat);
  }, { notifier, watchdogMs: 30, nowMs: () => performance.now() });
  atEnd(stop);
  const signs = () => heard.filter((line) => line === "WATCHDOG=1").length;
  /** The signs of life after some more looks, with all that was told before. */
  const signsLater = async (fence: string) => {
    const before = looks;
    await until(() => looks > before + 5);
    await notifier.tell({ FENCE: fence });
    await until(() => heard.includes(`FENCE=${fence}`));
    return signs();
  };
  await until(() => signs() > 1, { what: "signs of life" });

  const lock = await sql.reserve();
  await lock`begin`;
  await lock`lock table heartbeat in access exclusive mode`;
  // Its own deadline never comes.
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const beat = heartbeat.runOnce();
  t.mock.timers.reset();
  aheadMs = 20_000;
  const wedged = await signsLater("1");
  assert.equal(await signsLater("2"), wedged);

  await lock`commit`;
  lock.release();
  await beat;
  await until(() => signs() > wedged, { what: "signs of life again" });
  stop();
  await notifier.tell({ STOPPING: "1" });
  assert.deepEqual(failures, []);
});
