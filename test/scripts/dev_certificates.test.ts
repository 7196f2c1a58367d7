import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { TlsFiles } from "../../src/http/tls_files.ts";
import { filesOf, replaceFiles } from "../../src/ctl/certificate_files.ts";
import { devClientName, ensureDevCertificates } from "../../scripts/dev_certificates.ts";
import { issueCertificate } from "../../src/ctl/x509.ts";
import { atEnd } from "../support/at_end.ts";

let folder: string;

before(() => {
  folder = join(mkdtempSync(join(tmpdir(), "dev-certificates-")), "certificates");
});
atEnd(() => rmSync(join(folder, ".."), { recursive: true, force: true }));

const ensured = () => ensureDevCertificates(folder);

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
  const issuer = { cert: ca, key: readFileSync(join(folder, "ca.key"), "utf8") };
  const near = issueCertificate({ name: "short", use: "client", days: 10, issuer });
  replaceFiles(filesOf({ certFile: clientCertFile, keyFile: clientKeyFile }, near));
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
