import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { atEnd } from "../../support/at_end.ts";
import { allocatedIn, heapProbe } from "../../../scripts/bench/load/heap.ts";
import { buildFolder } from "../../../scripts/bench/programs.ts";
import { cpuSeconds } from "../../../scripts/bench/usage.ts";

/** Works for 0.3 s of processor time, whatever the clock says. The kernel tells hundredths, rounded down one by one. */
const work =
  "for (let spent = 0; spent < 300_000;) { const { user, system } = process.cpuUsage(); spent = user + system; }";

test("the processor time of a process has that of its children, those too that have ended", async () => {
  const shell = spawn("/bin/sh", ["-c", '"$0" -e "$1"; echo ended; read line', process.execPath, work], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  atEnd(() => shell.kill("SIGKILL"));
  await once(shell.stdout, "data");
  assert.ok(cpuSeconds(shell.pid ?? 0) >= 0.2);
});

test("the heap's probe counts what is allocated between its two signals, garbage too", async () => {
  mkdirSync(buildFolder, { recursive: true });
  const allocate = `process.on("message", (count) => {
    for (let index = 0; index < count; index += 1) globalThis.last = new Array(1_000).fill(index);
    process.send("done");
  });
  process.send("ready");`;
  const child = spawn(process.execPath, [...heapProbe.nodeFlags, "--input-type=module", "-e", allocate], {
    env: { ...process.env, ...heapProbe.env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  atEnd(() => child.kill("SIGKILL"));
  await once(child, "message");
  // 8 KB each: more than the heap has room for without a collection.
  const counted = await allocatedIn(child.pid ?? 0, async () => {
    child.send(20_000);
    await once(child, "message");
  });
  const { bytes = 0, minor = 0 } = counted?.allocated ?? {};
  assert.ok(bytes >= 160e6 && bytes <= 200e6, `${bytes} bytes`);
  assert.ok(minor >= 1);
  // As often as it is asked.
  const idle = await allocatedIn(child.pid ?? 0, () => Promise.resolve());
  assert.ok((idle?.allocated.bytes ?? Infinity) < 10e6);
});

test("a process without the probe is not signalled", async () => {
  const child = spawn("sleep", ["60"]);
  atEnd(() => child.kill("SIGKILL"));
  await once(child, "spawn");
  assert.equal(await allocatedIn(child.pid ?? 0, () => Promise.resolve()), null);
  assert.equal(child.signalCode, null);
});
