import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { Admission, namesOf } from "../../../src/http/node/admission.ts";
import { atEnd } from "../../support/at_end.ts";
import { Authority } from "../../support/authority.ts";

const authority = new Authority();
const { cert, key } = authority.issue({ name: "tier", use: "server" });
const client = authority.issue({ name: "client", use: "client", names: ["one", "a:b"] });
const server = createServer({ cert, key, ca: authority.pem, requestCert: true });
atEnd(() => server.close());

/** The server's end of a connection whose handshake is over. */
async function handshake(): Promise<TLSSocket> {
  if (!server.listening) await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const opened = once(server, "secureConnection");
  const socket = connect({ port, host: "127.0.0.1", ca: authority.pem, cert: client.cert, key: client.key });
  socket.on("error", () => {});
  const [ours] = await opened as [TLSSocket];
  ours.on("error", () => {}).once("close", () => socket.destroy());
  return ours;
}

test("a connection is valid until its certificate expires, or other authorities count", async () => {
  let nowMs = Date.now();
  const admission = new Admission({ admit: () => null, nowMs: () => nowMs });
  const socket = await handshake();
  assert.equal(admission.isValid(socket), false);
  assert.equal(admission.admit(socket), null);
  assert.equal(admission.isValid(socket), true);
  const expiresAtMs = Date.parse(socket.getPeerCertificate().valid_to);
  nowMs = expiresAtMs - 1;
  assert.equal(admission.isValid(socket), true);
  nowMs = expiresAtMs;
  assert.equal(admission.isValid(socket), false);
  nowMs -= 1;
  admission.renew();
  assert.equal(admission.isValid(socket), false);
  assert.equal(admission.admit(socket), null);
  assert.equal(admission.isValid(socket), true);
  socket.destroy();
});

test("who bears a certificate that is refused has no valid connection", async () => {
  const names: string[] = [];
  const admission = new Admission({
    admit: (certificate) => {
      names.push(...namesOf(certificate));
      return "wrong_name";
    },
    nowMs: () => Date.now(),
  });
  const socket = await handshake();
  assert.equal(admission.admit(socket), "wrong_name");
  assert.equal(admission.isValid(socket), false);
  assert.deepEqual(names, ["client", "one", "a:b"]);
  socket.destroy();
});
