import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { get } from "../support/client.ts";
import { openSocket } from "../support/handed_socket.ts";
import { runToEnd } from "../support/server.ts";
import { until } from "../support/until.ts";
import { lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();

/** The settings of a process with the sockets `intake` and `ops`. */
const handed = { INTAKE_LISTEN: "fd:intake", INTAKE_URL: "http://intake.test", OPS_LISTEN: "fd:ops" };

test("a process serves the sockets passed to it and logs their addresses", async () => {
  const sockets = [openSocket("intake"), openSocket("ops")];
  const server = await testEnv.start({ SURFACES: "intake,ops", ...handed }, { sockets });
  const [intake, ops] = sockets.map(({ url }) => url);
  assert.deepEqual(server.urls, { intake, ops });
  const { text: key } = await testEnv.issue();
  assert.equal((await testEnv.intake({ key, body: lead() }, server)).status, 202);
  assert.equal((await get(`${ops}/metrics`)).status, 200);
  // The ops listener knows its own address and refuses any other Host.
  assert.equal((await get(`${ops}/metrics`, { headers: { Host: "evil.test" } })).status, 421);
});

test("when one of two processes on a shared socket stops, the other serves every connection", async () => {
  const sockets = [openSocket("intake")];
  const env = { SURFACES: "intake", INTAKE_LISTEN: handed.INTAKE_LISTEN, INTAKE_URL: handed.INTAKE_URL };
  const first = await testEnv.start(env, { sockets });
  const second = await testEnv.start(env, { sockets });
  assert.equal(first.url, second.url);
  const healthy = async () => (await get(`${first.url}/healthz`)).status;
  const ended = first.stop();
  let exit: unknown = null;
  void ended.then((code) => exit = code);
  const statuses = new Set<number>();
  await until(async () => {
    statuses.add(await healthy());
    return exit !== null;
  }, { what: "the first process ends" });
  assert.equal(exit, 0);
  for (let request = 0; request < 20; request += 1) assert.equal(await healthy(), 200);
  // While it stops, the first process answers 503.
  assert.deepEqual([...statuses].filter((status) => status !== 200 && status !== 503), []);
  await until(() => second.logs.some(({ route }) => route === "/healthz"), { what: "the second one's log" });
});

test("connections that wait in the socket without a process are served by the next one", async () => {
  const sockets = [openSocket("intake")];
  const env = { SURFACES: "intake", INTAKE_LISTEN: handed.INTAKE_LISTEN, INTAKE_URL: handed.INTAKE_URL };
  const first = await testEnv.start(env, { sockets });
  await first.stop();
  const { hostname, port } = new URL(first.url);
  const socket = connect({ host: hostname, port: Number(port) });
  let answer = "";
  socket.setEncoding("latin1").on("data", (text: string) => answer += text);
  socket.write("GET /healthz HTTP/1.1\r\nHost: intake.test\r\nConnection: close\r\n\r\n");
  const ended = new Promise((settle) => socket.once("end", settle));
  await testEnv.start(env, { sockets });
  await ended;
  assert.match(answer, /^HTTP\/1\.1 200 /);
});

test("two surfaces on one socket are distinguished by Host", async () => {
  const server = await testEnv.start({
    SURFACES: "intake,forms",
    INTAKE_LISTEN: "fd:web",
    INTAKE_URL: "http://intake.test",
    FORMS_LISTEN: "fd:web",
    FORMS_URL: "http://forms.test",
  }, { sockets: [openSocket("web")] });
  const status = async (path: string, host: string) =>
    (await get(server.url + path, { headers: { Host: host } })).status;
  assert.equal(await status("/v1/vocabulary", "intake.test"), 200);
  assert.equal(await status("/v1/vocabulary", "forms.test"), 404);
  assert.equal(await status("/v1/vocabulary", "other.test"), 421);
});

test("a socket on a public address is refused without a certificate, and for ops always", async () => {
  const env = { SURFACES: "intake,ops", ...handed };
  const options = { databaseUrl: testEnv.database.url };
  const run = (intake: string, ops: string) =>
    runToEnd("src/main.ts", [], {
      ...options,
      env,
      sockets: [openSocket("intake", intake), openSocket("ops", ops)],
    });
  const open = await run("0.0.0.0", "127.0.0.1");
  assert.equal(open.code, 2);
  assert.match(open.stderr, /INTAKE_LISTEN is a public address \(0\.0\.0\.0\) and there is no certificate/);
  const ops = await run("127.0.0.1", "0.0.0.0");
  assert.equal(ops.code, 2);
  assert.match(ops.stderr, /OPS_LISTEN is a public address/);
});
