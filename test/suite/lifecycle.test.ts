import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { get } from "../support/client.ts";
import { until } from "../support/until.ts";
import { freshKey, lead, TestEnv } from "../support/test_env.ts";

/** The service's grace period. */
const graceMs = 20_000;

const testEnv = await TestEnv.open();

/** Returns a server with a post whose commit waits until `release`. */
async function serverAtWork() {
  const server = await testEnv.start();
  const key = await testEnv.issue();
  const release = await testEnv.holdCommits();
  const headers = { "Idempotency-Key": freshKey() };
  const answer = testEnv.intake({ key: key.text, body: lead(), headers }, server);
  answer.catch(() => {});
  await testEnv.untilWaiting();
  return { server, key, release, answer, headers };
}

const isStopping = (server: { logs: readonly { event?: string }[] }) => () =>
  server.logs.some((line) => line.event === "stopping");

/** Returns whether a connection to the address is refused. */
function isRefused(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((settle) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on("connect", () => {
      socket.destroy();
      settle(false);
    });
    socket.on("error", () => settle(true));
  });
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal}: new connections are refused, the request in flight gets its 202, and the exit code is 0`, async () => {
    const { server, release, answer } = await serverAtWork();
    const ended = server.kill(signal);
    await until(isStopping(server));
    await until(() => isRefused(server.url));
    await release();
    const { status, json } = await answer;
    assert.equal(status, 202);
    assert.equal(await ended, 0);
    assert.ok(await testEnv.event(json.event_id));
    assert.equal(server.logs.at(-1)?.event, "stopped");
    assert.ok(server.logs.some((line) => line.route === "/v1/intake" && line.status === 202));
  });
}

test("a second signal exits at once, and a retry with the Idempotency-Key creates no second lead", async () => {
  const { server, key, release, answer, headers } = await serverAtWork();
  const ended = server.kill("SIGTERM");
  await until(isStopping(server));
  void server.kill("SIGTERM");
  assert.notEqual(await ended, 0);
  await release();
  await assert.rejects(answer, "the client sees a closed connection");
  const next = await testEnv.start();
  const retry = await testEnv.intake({ key: key.text, body: lead(), headers }, next);
  assert.ok([200, 202].includes(retry.status));
  const [row] = await testEnv.sql`
    select count(*)::int as count from event where idempotency_key = ${headers["Idempotency-Key"]}`;
  assert.equal(row?.count, 1);
});

test("SIGTERM with only idle kept-alive connections exits before the grace period ends", async () => {
  const server = await testEnv.start();
  for (let n = 1; n <= 10; n += 1) await get(`${server.url}/healthz`, { localAddress: `127.5.0.${n}` });
  const startMs = performance.now();
  assert.equal(await server.stop(), 0);
  assert.ok(performance.now() - startMs < graceMs);
  assert.equal(server.output.stderr, "");
});
