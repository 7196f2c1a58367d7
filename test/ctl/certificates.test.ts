import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { TlsFiles, type TlsObservation } from "../../src/http/tls_files.ts";
import { atEnd } from "../support/at_end.ts";
import { temporaryFolder } from "../support/folder.ts";
import { ctl, runCtl } from "../support/server.ts";
import { until } from "../support/until.ts";

// No database listens there; the command needs none.
const nowhere = { databaseUrl: "postgres://127.0.0.1:1/nowhere" };
const folder = join(temporaryFolder("ctl-certificates"), "tls");
const path = (name: string) => join(folder, name);
const contents = () =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()
    .filter((name) => statSync(path(name)).isFile()).map((name) => [name, readFileSync(path(name), "utf8")]);
const read = (name: string) => new X509Certificate(readFileSync(path(name)));
const server = { certFile: path("server.pem"), keyFile: path("server.key"), caFile: path("ca.pem") };
const client = { certFile: path("client.pem"), keyFile: path("client.key"), caFile: path("ca.pem") };

test("ctl certificates creates a CA and its certificates with private modes, and prints the settings", async () => {
  const { code, stdout, stderr } = await runCtl(["certificates", folder], nowhere);
  assert.deepEqual([code, stderr], [0, ""]);
  for (
    const line of [
      `ACTIONS_SERVER_CERT_FILE=${path("server.pem")}`,
      `ACTIONS_SERVER_KEY_FILE=${path("server.key")}`,
      `ACTIONS_CLIENT_CA_FILE=${path("ca.pem")}`,
      "ACTIONS_CLIENT_NAME=lead-intake",
      "ACTIONS_URL=https://localhost:9443",
      `ACTIONS_CA_FILE=${path("ca.pem")}`,
      `ACTIONS_CLIENT_CERT_FILE=${path("client.pem")}`,
      `ACTIONS_CLIENT_KEY_FILE=${path("client.key")}`,
    ]
  ) assert.ok(stdout.split("\n").includes(line), line);
  assert.match(stdout, /No process needs the authority's key, .*authority\/ca\.key:/);
  assert.doesNotMatch(stdout, /PRIVATE KEY/);
  const modes = contents().map(([name = ""]) => [name, (statSync(path(name)).mode & 0o777).toString(8)]);
  assert.deepEqual(modes, [
    ["authority/ca.key", "600"],
    ["ca.pem", "644"],
    ["client.key", "600"],
    ["client.pem", "644"],
    ["server.key", "600"],
    ["server.pem", "644"],
  ]);
  assert.equal(statSync(path("authority")).mode & 0o777, 0o700);
  assert.match(read("server.pem").subjectAltName ?? "", /DNS:localhost, IP Address:127\.0\.0\.1/);
  const leftDays = (Date.parse(read("client.pem").validTo) - Date.now()) / 86_400_000;
  assert.ok(leftDays > 364 && leftDays <= 365);
});

test("ctl certificates refuses to overwrite existing files", async () => {
  const before = contents();
  const { code, stdout, stderr } = await runCtl(["certificates", folder, "--json"], nowhere);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /ca\.pem already exists and was not changed; --renew replaces/);
  assert.deepEqual(contents(), before);
});

test("--renew keeps CA, names, owner and mode but closes a key to others, and a running process loads the new files", async () => {
  const observed: TlsObservation[] = [];
  const files = await TlsFiles.load(server, "actions");
  const stop = files.watch({ everyMs: 10, observe: (observation) => observed.push(observation) });
  atEnd(stop);
  const old = await TlsFiles.load(client, "delivery");
  chmodSync(path("server.key"), 0o644);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) spawnSync("chown", ["12345:54321", path("server.key")]);
  const [ca, before] = [readFileSync(path("ca.pem"), "utf8"), [read("server.pem"), read("client.pem")]];
  const { settings, ...renewed } = await ctl(["certificates", folder, "--renew"], nowhere);
  assert.equal(renewed.renewed, true);
  assert.equal(settings.service.ACTIONS_URL, "https://localhost:9443");
  assert.equal(readFileSync(path("ca.pem"), "utf8"), ca);
  for (const [index, name] of ["server.pem", "client.pem"].entries()) {
    assert.notEqual(read(name).fingerprint256, before[index]?.fingerprint256);
    assert.equal(read(name).subjectAltName, before[index]?.subjectAltName);
  }
  const { mode, uid, gid } = statSync(path("server.key"));
  assert.equal(mode & 0o777, 0o640);
  if (isRoot) assert.deepEqual([uid, gid], [12345, 54321]);
  await until(() => observed.some(({ kind }) => kind === "certificate_renewed"), {
    what: "the new files are loaded",
  });
  assert.equal(new X509Certificate(files.context.cert).fingerprint256, read("server.pem").fingerprint256);

  for (const end of [old, await TlsFiles.load(client, "delivery")]) {
    const listener = createServer({ ...files.context, requestCert: true, rejectUnauthorized: true });
    const connected = once(listener, "secureConnection");
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as { port: number };
    const socket = connect({ ...end.context, port, host: "127.0.0.1", servername: "localhost" });
    await once(socket, "secureConnect");
    const [peer] = await connected as [TLSSocket];
    assert.equal(peer.getPeerCertificate().subject.CN, "lead-intake");
    socket.destroy();
    peer.destroy();
    listener.close();
  }
});
