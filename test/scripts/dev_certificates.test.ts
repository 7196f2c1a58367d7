import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { before, test } from "node:test";
import { TlsFiles } from "../../src/http/tls_files.ts";
import { devClientName, ensureDevCertificates } from "../../scripts/dev_certificates.ts";
import { atEnd } from "../support/at_end.ts";

let folder: string;

before(() => {
  folder = join(mkdtempSync(join(tmpdir(), "dev-certificates-")), "certificates");
});
atEnd(() => rmSync(join(folder, ".."), { recursive: true, force: true }));

function ensured() {
  const made = ensureDevCertificates(folder);
  assert.ok(made.kind === "ready", made.kind);
  return made;
}

const contents = () => readdirSync(folder).sort().map((name) => readFileSync(join(folder, name), "utf8"));

test("development certificates are made, fit together, and are nobody else's to read", async () => {
  const made = ensured();
  const server = { certFile: made.serverCertFile, keyFile: made.serverKeyFile, caFile: made.caFile };
  const client = { certFile: made.clientCertFile, keyFile: made.clientKeyFile, caFile: made.caFile };
  await TlsFiles.load(server, "actions");
  await TlsFiles.load(client, "delivery");
  for (const name of readdirSync(folder)) {
    assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
  }
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  const purpose = (use: string, file: string) =>
    spawnSync("openssl", ["verify", "-purpose", use, "-CAfile", made.caFile, file]).status;
  assert.deepEqual(
    [
      purpose("sslserver", made.serverCertFile),
      purpose("sslclient", made.clientCertFile),
      purpose("sslclient", made.serverCertFile) !== 0,
      purpose("sslserver", made.clientCertFile) !== 0,
    ],
    [0, 0, true, true],
  );
  assert.equal(devClientName, "lead-intake");
});

test("what is good is kept", () => {
  const before = contents();
  ensured();
  assert.deepEqual(contents(), before);
});

test("one that is near its end, broken or gone is made again, by the same CA", () => {
  const { caFile, clientCertFile, clientKeyFile, serverCertFile, serverKeyFile } = ensured();
  const [ca, server] = [readFileSync(caFile, "utf8"), readFileSync(serverCertFile, "utf8")];
  const csr = join(folder, "..", "short.csr");
  const openssl = (...args: string[]) => {
    const { status, stderr } = spawnSync("openssl", args);
    assert.equal(status, 0, String(stderr));
  };
  openssl("req", "-new", "-key", clientKeyFile, "-subj", "/CN=short", "-out", csr);
  openssl(
    ...["x509", "-req", "-in", csr, "-CA", caFile, "-CAkey", join(folder, "ca.key"), "-days", "10"],
    ...["-set_serial", "9", "-out", clientCertFile],
  );
  const short = readFileSync(clientCertFile, "utf8");
  ensured();
  assert.notEqual(readFileSync(clientCertFile, "utf8"), short);
  assert.equal(readFileSync(serverCertFile, "utf8"), server);
  writeFileSync(serverCertFile, "broken");
  rmSync(serverKeyFile);
  ensured();
  assert.match(readFileSync(serverCertFile, "utf8"), /^-----BEGIN CERTIFICATE-----/);
  assert.equal(readFileSync(caFile, "utf8"), ca);
});

test("without the CA's key, all of them are made again", () => {
  const { serverCertFile, clientCertFile } = ensured();
  const before = [serverCertFile, clientCertFile].map((file) => readFileSync(file, "utf8"));
  rmSync(join(folder, "ca.key"));
  ensured();
  const afterwards = [serverCertFile, clientCertFile].map((file) => readFileSync(file, "utf8"));
  assert.notEqual(afterwards[0], before[0]);
  assert.notEqual(afterwards[1], before[1]);
});

test("where openssl is missing, it says so and leaves no folder", () => {
  const path = process.env.PATH;
  process.env.PATH = join(folder, "nothing-here");
  const other = join(folder, "..", "other");
  try {
    const made = ensureDevCertificates(other);
    assert.ok(made.kind === "no_openssl");
    assert.match(made.message, /openssl is not installed/);
    assert.throws(() => statSync(other));
  } finally {
    process.env.PATH = path;
  }
});
