import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { Agent, request as httpsRequest } from "node:https";
import { before, test } from "node:test";
import { connect, type ConnectionOptions } from "node:tls";
import { until } from "../support/until.ts";
import type { RunningActions } from "../support/actions/actions_process.ts";
import { Authority, type Issued } from "../support/authority.ts";
import { eventBody, newEventId } from "../support/actions/event.ts";
import { type Fixture, openFixture } from "../support/actions/fixture.ts";

let fixture: Fixture;
let foreign: Authority;
/** The actions process of each runtime. */
const processes = new Map<string, RunningActions>();
/** Each process's files that a test may replace. */
const replaceable = new Map<string, { cert: string; key: string; ca: string }>();

before(async () => {
  fixture = await openFixture();
  await fixture.addTenant("box", { sandbox: true });
  foreign = new Authority("another authority");
  for (const runtime of ["node", "deno"] as const) {
    const files = {
      cert: `${foreign.folder}/${runtime}.pem`,
      key: `${foreign.folder}/${runtime}.key`,
      ca: `${foreign.folder}/${runtime}.ca`,
    };
    copyFileSync(fixture.server.certFile, files.cert);
    copyFileSync(fixture.server.keyFile, files.key);
    copyFileSync(fixture.authority.file, files.ca);
    replaceable.set(runtime, files);
    const env = {
      ACTIONS_SERVER_CERT_FILE: files.cert,
      ACTIONS_SERVER_KEY_FILE: files.key,
      ACTIONS_CLIENT_CA_FILE: files.ca,
    };
    processes.set(runtime, await fixture.start({ runtime, env }));
  }
});

/** Sends a complete request and returns all bytes received until the connection closes. */
function bytesFrom(port: number, options: ConnectionOptions, eventId = newEventId()): Promise<string> {
  return new Promise((settle) => {
    let text = "";
    const body = eventBody({ eventId, tenant: "box" });
    const socket = connect({
      host: "127.0.0.1",
      port,
      servername: "localhost",
      ca: fixture.authority.pem,
      ...options,
    });
    socket.on("error", () => {});
    socket.on("data", (chunk) => text += chunk);
    socket.on("close", () => settle(text));
    // In TLS 1.3 the client is connected before the server has checked its certificate.
    socket.on("secureConnect", () => {
      socket.write(
        `PUT /v1/events/${eventId} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n` +
          `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    });
  });
}

const identity = ({ cert, key }: Issued): ConnectionOptions => ({ cert, key });
const portOf = (runtime: string) => (processes.get(runtime) as RunningActions).port;

for (const runtime of ["node", "deno"]) {
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    const versions: ConnectionOptions = { minVersion: version, maxVersion: version };

    test(`${runtime}, ${version}: a client with a certificate of the CA gets a response`, async () => {
      const text = await bytesFrom(portOf(runtime), { ...identity(fixture.client), ...versions });
      assert.match(text, /^HTTP\/1\.1 200 OK\r\n[^]*"sandbox":true/);
    });

    const rejected: readonly (readonly [string, () => ConnectionOptions])[] = [
      ["without a certificate", () => ({})],
      ["with a self-signed certificate", () => identity(fixture.authority.selfSigned("lead-intake"))],
      [
        "with another CA's certificate",
        () => identity(foreign.issue({ name: "lead-intake", use: "client" })),
      ],
      [
        "with an expired certificate",
        () => identity(fixture.authority.issue({ name: "lead-intake", use: "client", days: -1 })),
      ],
      ["with a server's certificate", () => identity(fixture.server)],
    ];
    for (const [what, options] of rejected) {
      test(`${runtime}, ${version}: a client ${what} is rejected without a byte of HTTP`, async () => {
        const actions = processes.get(runtime) as RunningActions;
        const refusals = () => actions.logs.filter((line) => line.event === "client_refused").length;
        const refused = refusals();
        const eventId = newEventId();
        assert.equal(await bytesFrom(actions.port, { ...options(), ...versions }, eventId), "");
        await until(() => refusals() > refused);
        assert.ok(!actions.output.stdout.includes(eventId));
      });
    }
  }

  test(`${runtime}: a client of the CA without the required name is rejected without a byte of HTTP`, async () => {
    const actions = await fixture.start({
      runtime: runtime as "node",
      env: { ACTIONS_CLIENT_NAME: "lead-intake" },
    });
    const other = fixture.authority.issue({ name: "console", use: "client" });
    const quoted = fixture.authority.issue({
      name: "console2",
      use: "client",
      names: ["lead-intake.example", "x-lead-intake"],
    });
    assert.equal(await bytesFrom(actions.port, identity(other)), "");
    assert.equal(await bytesFrom(actions.port, identity(quoted)), "");
    assert.match(await bytesFrom(actions.port, identity(fixture.client)), /^HTTP\/1\.1 200/);
    const alternative = fixture.authority.issue({
      name: "node-2",
      use: "client",
      names: ["node-2", "lead-intake"],
    });
    assert.match(await bytesFrom(actions.port, identity(alternative)), /^HTTP\/1\.1 200/);
    await actions.stop();
    assert.equal(actions.logs.filter((line) => line.reason === "wrong_name").length, 2);
    assert.equal(actions.logs.filter((line) => line.event === "sandbox").length, 2);
  });

  test(`${runtime}: a renewed server certificate is loaded without a restart, an invalid one is logged and ignored`, async () => {
    const actions = processes.get(runtime) as RunningActions;
    const files = replaceable.get(runtime) as { cert: string; key: string };
    const renewed = fixture.authority.issue({ name: "actions-renewed", use: "server" });
    copyFileSync(fixture.client.keyFile, files.key);
    await until(() => actions.logs.some((line) => line.event === "certificate_refused"));
    assert.equal(await serverName(actions.port), "actions");
    copyFileSync(renewed.certFile, files.cert);
    copyFileSync(renewed.keyFile, files.key);
    await until(() => actions.logs.some((line) => line.event === "certificate_renewed"));
    assert.equal(await serverName(actions.port), "actions-renewed");
  });

  test(`${runtime}: replacing the CA rejects its clients, their open connections and their TLS sessions`, async () => {
    const actions = processes.get(runtime) as RunningActions;
    const session = await sessionOf(actions.port);
    const agent = keepAliveAgent(fixture.client);
    const first = await healthPort(actions.port, agent);
    assert.equal(await healthPort(actions.port, agent), first);
    copyFileSync(foreign.file, (replaceable.get(runtime) as { ca: string }).ca);
    await until(() => actions.logs.some((line) => line.event === "certificate_renewed" && line.ca === true));
    await assert.rejects(healthPort(actions.port, agent));
    assert.equal(await bytesFrom(actions.port, identity(fixture.client)), "");
    if (session !== undefined) {
      assert.equal(await bytesFrom(actions.port, { ...identity(fixture.client), session }), "");
      assert.equal(await bytesFrom(actions.port, { session }), "");
    }
    const accepted = foreign.issue({ name: "lead-intake", use: "client" });
    assert.match(await bytesFrom(actions.port, identity(accepted)), /^HTTP\/1\.1 200/);
    agent.destroy();
  });

  test(`${runtime}: SIGTERM lets a delivery finish, accepts no new one, and exits 0`, async () => {
    const actions = await fixture.start({ runtime: runtime as "node" });
    const agent = keepAliveAgent(fixture.client);
    await healthPort(actions.port, agent);
    const arrived = Promise.withResolvers<() => void>();
    fixture.crm.answer = (response) => arrived.resolve(() => response.writeHead(204).end());
    const eventId = newEventId();
    const delivery = fixture.deliver({ eventId }, actions);
    const answer = await arrived.promise;
    const stopped = actions.stop();
    await until(() => actions.logs.some((line) => line.event === "stopping"));
    // A request in progress still gets its response; a new connection is refused.
    await assert.rejects(healthPort(actions.port, keepAliveAgent(fixture.client)));
    answer();
    assert.equal((await delivery).status, 200);
    assert.equal(await stopped, 0);
    agent.destroy();
  });
}

function keepAliveAgent(client: Issued): Agent {
  const { cert, key } = client;
  return new Agent({ keepAlive: true, maxSockets: 1, ca: fixture.authority.pem, cert, key });
}

/** Requests /healthz and returns the connection's local port. */
function healthPort(port: number, agent: Agent): Promise<number> {
  return new Promise((settle, reject) => {
    const request = httpsRequest({ host: "127.0.0.1", port, path: "/healthz", agent });
    request.on("error", reject);
    request.on("response", (response) => {
      const local = request.socket?.localPort ?? 0;
      response.resume().on("end", () => settle(local)).on("error", reject);
    });
    request.end();
  });
}

/** Returns the TLS session that a client can resume, if the server offers one. */
function sessionOf(port: number): Promise<Buffer | undefined> {
  return new Promise((settle) => {
    let last: Buffer | undefined;
    const options = { servername: "localhost", ca: fixture.authority.pem, ...identity(fixture.client) };
    const socket = connect({ host: "127.0.0.1", port, ...options });
    socket.on("session", (session) => last = session);
    socket.on("secureConnect", () => {
      socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    });
    socket.on("data", () => {});
    socket.on("close", () => settle(last));
  });
}

function serverName(port: number): Promise<string> {
  return new Promise((settle, reject) => {
    const options = { servername: "localhost", ca: fixture.authority.pem, ...identity(fixture.client) };
    const socket = connect({ host: "127.0.0.1", port, ...options }, () => {
      settle(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on("error", reject);
  });
}
