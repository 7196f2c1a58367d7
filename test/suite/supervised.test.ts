import assert from "node:assert/strict";
import { test } from "node:test";
import { openNotifySocket } from "../support/notify_socket.ts";
import { until } from "../support/until.ts";
import { World } from "../support/world.ts";

const world = await World.open();

test("a process says that it is ready after a write of the store, how it is, that it is alive, and that it stops", async () => {
  const { path, heard } = await openNotifySocket();
  const server = await world.start({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "1500000" });
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

test("a process that stands still gives no sign of life", async () => {
  const { path, heard } = await openNotifySocket();
  const server = await world.start({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "1500000" });
  const beats = () => heard.filter((line) => line === "WATCHDOG=1").length;
  await until(() => heard.includes("READY=1") && beats() > 0, { what: "the first sign of life" });
  process.kill(server.pid, "SIGSTOP");
  const other = await world.start({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "1500000", WATCHDOG_PID: "1" });
  await until(() => heard.filter((line) => line === "READY=1").length === 2, { what: "the other is ready" });
  const stopped = beats();
  // The other one is not asked for any, and tells its end.
  await other.stop();
  await until(() => heard.includes("STOPPING=1"), { what: "the end of the other" });
  assert.equal(beats(), stopped);
  process.kill(server.pid, "SIGCONT");
  await until(() => beats() > stopped, { what: "signs of life again" });
});

test("a database that cannot be reached is waited for, and the status says so", async () => {
  const { path, heard } = await openNotifySocket();
  const starting = world.start(
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
