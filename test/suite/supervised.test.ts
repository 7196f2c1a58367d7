import assert from "node:assert/strict";
import { test } from "node:test";
import { openNotifySocket } from "../support/notify_socket.ts";
import { until } from "../support/until.ts";
import { TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();

test("a process notifies systemd when it is ready, of its status, of its watchdog and when it stops", async () => {
  const { path, heard } = await openNotifySocket();
  const server = await testEnv.start({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "1500000" });
  await until(() => heard.includes("READY=1"), { what: "READY" });
  assert.ok(server.logs.some(({ event }) => event === "store_writable"));
  assert.ok(heard.includes("STATUS=accepting; 0 pending, 0 dead"), heard.join("\n"));
  const beats = () => heard.filter((line) => line === "WATCHDOG=1").length;
  const before = beats();
  await until(() => beats() > before + 2, { what: "signs of life" });
  assert.equal(await server.stop(), 0);
  await until(() => heard.includes("STOPPING=1"), { what: "STOPPING" });
  assert.ok(!server.logs.some(({ event }) => event === "notify_failed"));
});

test("a blocked process sends no watchdog notification", async () => {
  const { path, heard } = await openNotifySocket();
  const server = await testEnv.start({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "1500000" });
  const beats = () => heard.filter((line) => line === "WATCHDOG=1").length;
  await until(() => heard.includes("READY=1") && beats() > 0, { what: "the first sign of life" });
  process.kill(server.pid, "SIGSTOP");
  const other = await testEnv.start({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "1500000", WATCHDOG_PID: "1" });
  await until(() => heard.filter((line) => line === "READY=1").length === 2, { what: "the other is ready" });
  const stopped = beats();
  // The other process has no watchdog and notifies its end.
  await other.stop();
  await until(() => heard.includes("STOPPING=1"), { what: "the end of the other" });
  assert.equal(beats(), stopped);
  process.kill(server.pid, "SIGCONT");
  await until(() => beats() > stopped, { what: "signs of life again" });
});

test("a process waits for an unreachable database, and its status says so", async () => {
  const { path, heard } = await openNotifySocket();
  const starting = testEnv.start(
    { NOTIFY_SOCKET: path },
    { databaseUrl: "postgres://nobody@127.0.0.1:1/none", startTimeoutMs: 20_000 },
  ).catch((error) => String(error));
  await until(() => heard.some((line) => /^STATUS=waiting: .* cannot be reached/.test(line)), {
    what: "waiting",
  });
  assert.ok(heard.some((line) => /^EXTEND_TIMEOUT_USEC=\d+$/.test(line)));
  assert.ok(!heard.includes("READY=1"));
  await starting;
});
