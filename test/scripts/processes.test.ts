import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { until } from "../support/until.ts";
import { childrenOf, findProcess, isAlive, signalProcess } from "../../scripts/processes.ts";

test("a child is found by its parent, and gone after its end", async () => {
  const child = spawn("sleep", ["60"]);
  await once(child, "spawn");
  const pid = child.pid ?? 0;
  assert.deepEqual(findProcess(pid), { pid, parentPid: process.pid, command: "sleep" });
  assert.ok(childrenOf(process.pid).some((entry) => entry.pid === pid));
  assert.equal(signalProcess(pid, "SIGKILL"), true);
  await once(child, "exit");
  assert.ok(!isAlive(pid));
  assert.equal(signalProcess(pid, "SIGKILL"), false);
});

test("a process that has ended and was not waited for counts as gone", async () => {
  // The shell does not wait for its child; `exec` keeps it from cleaning up.
  const shell = spawn("/bin/sh", ["-c", "true & echo $!; exec sleep 60"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [text] = await once(shell.stdout, "data");
  const pid = Number(String(text));
  await until(() => findProcess(shell.pid ?? 0)?.command === "sleep" && !isAlive(pid));
  shell.kill("SIGKILL");
});
