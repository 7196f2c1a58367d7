import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { type Credentials, issueCertificate } from "../../src/ctl/x509.ts";

const dayMs = 86_400_000;
const authority = (keyType: "ecdsa" | "rsa") =>
  issueCertificate({ name: "an authority, née CA", use: "authority", days: 9, keyType });

/** What a client and a server that ask each other for a certificate of one authority think of each other. */
async function shakeHands(ca: Credentials, ends: { server: Credentials; client: Credentials }) {
  const asked = { ca: ca.cert, requestCert: true, rejectUnauthorized: false };
  const listener = createServer({ ...ends.server, ...asked }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const socket = connect({ ...ends.client, ca: ca.cert, port, host: "127.0.0.1", rejectUnauthorized: false });
  const [[peer]] = await Promise.all([once(listener, "secureConnection"), once(socket, "secureConnect")]);
  const trust = (end: TLSSocket) => end.authorized ? "trusted" : String(end.authorizationError);
  const found = { server: trust(socket), client: trust(peer as TLSSocket) };
  socket.destroy();
  listener.close();
  return found;
}

for (const keyType of ["ecdsa", "rsa"] as const) {
  test(`with an ${keyType} authority, each end trusts a certificate for its use and no other`, async () => {
    const issuer = authority(keyType);
    const names = ["localhost", "127.0.0.1"];
    const server = issueCertificate({ name: "s", use: "server", days: 2, names, issuer, keyType });
    const client = issueCertificate({ name: "c", use: "client", days: 2, names, issuer, keyType });
    assert.deepEqual(await shakeHands(issuer, { server, client }), { server: "trusted", client: "trusted" });
    assert.equal((await shakeHands(issuer, { server: client, client })).server, "INVALID_PURPOSE");
    assert.equal((await shakeHands(issuer, { server, client: server })).client, "INVALID_PURPOSE");
    assert.notEqual((await shakeHands(authority(keyType), { server, client })).server, "trusted");
    const expired = issueCertificate({ name: "s", use: "server", days: -1, names, issuer });
    assert.equal((await shakeHands(issuer, { server: expired, client })).server, "CERT_HAS_EXPIRED");
  });
}

test("a certificate may end after 2049, where the year is spelled otherwise", () => {
  const { cert } = issueCertificate({ name: "long", use: "authority", days: 36_500, nowMs: 0 });
  assert.equal(Date.parse(new X509Certificate(cert).validTo), 36_500 * dayMs);
});
