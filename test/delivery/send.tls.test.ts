import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, writeFileSync } from "node:fs";
import https from "node:https";
import { type AddressInfo } from "node:net";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import tls from "node:tls";
import { Sender, type SendOutcome, type TierFailure } from "../../src/delivery/send.ts";
import { TlsFiles, type TlsObservation } from "../../src/http/tls_files.ts";
import { Authority, type Issued, type IssueOptions } from "../support/authority.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/folder.ts";

const authority = new Authority();
const other = new Authority("other authority");
const folder = temporaryFolder("send-files");
const client = authority.issue({ name: "first client", use: "client" });

/** Starts a tier with this certificate that records its clients. */
async function tier(
  t: TestContext,
  issued: Issued | Partial<IssueOptions>,
  options: tls.TlsOptions = {},
  onSecure: (socket: tls.TLSSocket) => void = () => {},
) {
  const { cert, key } = "cert" in issued
    ? issued
    : authority.issue({ name: "tier", use: "server", ...issued });
  const requests: { name: string; host: string; path: string; servername: string | null }[] = [];
  const server = https.createServer(
    { cert, key, ca: authority.pem, requestCert: true, rejectUnauthorized: true, ...options },
    (request, response) => {
      const socket = request.socket as tls.TLSSocket;
      const name = String(socket.getPeerCertificate().subject.CN);
      const { servername } = socket as unknown as { servername: string | null };
      requests.push({
        name,
        host: String(request.headers.host),
        path: String(request.url),
        servername: servername || null,
      });
      request.resume().on("end", () => response.end("{}"));
    },
  );
  let connections = 0;
  server.prependListener("secureConnection", (socket: tls.TLSSocket) => {
    connections += 1;
    onSecure(socket);
  });
  server.on("tlsClientError", () => {});
  server.listen(0);
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { requests, port, connections: () => connections };
}

interface SenderOptions {
  readonly host?: string;
  readonly as?: Issued;
  readonly filesCheckMs?: number;
  readonly timeoutMs?: number;
  readonly settleMs?: number;
  readonly observe?: (observation: TlsObservation) => void;
}

async function sender(t: TestContext, port: number, options: SenderOptions = {}): Promise<Sender> {
  const { host = "127.0.0.1", as = client, ...rest } = options;
  const { certFile, keyFile } = as;
  const to = new Sender({
    url: `https://${host}:${port}`,
    tls: await TlsFiles.load({ certFile, keyFile, caFile: authority.file }, "delivery"),
    timeoutMs: 20_000,
    connectionsMax: 4,
    observe: () => {},
    ...rest,
  });
  t.after(() => to.close());
  return to;
}

// A slow machine may reject late; the rejection ends the wait.
const patient = { settleMs: 60_000, timeoutMs: 120_000 };

/** Returns the failure of an event that was not sent. */
function unsent(outcome: SendOutcome): TierFailure {
  assert.ok(outcome.kind === "unreachable" && !outcome.isSent, JSON.stringify(outcome));
  return outcome.failure;
}

test("events are sent over mutual TLS on a kept connection, to a name or an address", async (t) => {
  const { requests, port, connections } = await tier(t, {
    names: ["localhost", "127.0.0.1", "::1"],
  });
  for (const host of ["localhost", "127.0.0.1", "[::1]"]) {
    const to = await sender(t, port, { host });
    const before = connections();
    for (const id of ["a", "b", "c"]) {
      assert.deepEqual(await to.send(id, "{}"), { kind: "delivered", status: 200 });
    }
    // On a busy machine, a response may precede the end of its request, and the next event finds the connection in use.
    assert.ok(connections() - before < 3, `${connections() - before} connections`);
    const servername = host === "localhost" ? host : null;
    assert.deepEqual(requests.at(-1), {
      name: "first client",
      host: `${host}:${port}`,
      path: "/v1/events/c",
      servername,
    });
  }
});

test("a tier with an expired certificate, from an unknown CA or for another name gets no request", async (t) => {
  const cases: [Issued | Partial<IssueOptions>, RegExp][] = [
    [
      other.issue({ name: "tier", use: "server" }),
      /^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT_LOCALLY)$/,
    ],
    [authority.selfSigned("tier"), /^DEPTH_ZERO_SELF_SIGNED_CERT$/],
    [{ days: -1 }, /^CERT_HAS_EXPIRED$/],
    [{ names: ["localhost", "127.0.0.2"] }, /^ERR_TLS_CERT_ALTNAME_INVALID$/],
    [{ use: "client" }, /^(INVALID_PURPOSE|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/],
  ];
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  t.after(() => delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"]);
  for (const [issued, expected] of cases) {
    const { requests, port } = await tier(t, issued);
    const { cause, code } = unsent(await (await sender(t, port)).send("a", "{}"));
    assert.equal(cause, "handshake");
    assert.match(code, expected);
    assert.equal(requests.length, 0);
  }
  const { requests, port } = await tier(t, {
    name: "elsewhere.test",
    names: ["elsewhere.test", "127.0.0.1"],
  });
  assert.equal(
    unsent(await (await sender(t, port, { host: "localhost" })).send("a", "{}")).code,
    "ERR_TLS_CERT_ALTNAME_INVALID",
  );
  assert.equal(requests.length, 0);
});

test("a tier that closes the connection after the handshake is reported as client_rejected", async (t) => {
  const { requests, port } = await tier(t, {}, {}, (socket) => socket.destroy());
  const { cause } = unsent(await (await sender(t, port, patient)).send("a", "{}"));
  assert.equal(cause, "client_rejected");
  assert.equal(requests.length, 0);
});

test("a tier below TLS 1.2 gets no request", async (t) => {
  const old = await tier(t, {}, { maxVersion: "TLSv1.1", minVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" });
  const { cause, code } = unsent(await (await sender(t, old.port)).send("a", "{}"));
  assert.equal(cause, "handshake");
  assert.match(code, /^(ERR_SSL_|ECONNRESET)/);
  assert.equal(old.requests.length, 0);
});

test("renewed files replace old connections, and an invalid pair is reported and ignored", async (t) => {
  const { requests, port, connections } = await tier(t, {});
  const second = authority.issue({ name: "second client", use: "client" });
  const as = { ...client, certFile: join(folder, "client.pem"), keyFile: join(folder, "client.key") };
  const install = (issued: Issued) => {
    copyFileSync(issued.keyFile, as.keyFile);
    copyFileSync(issued.certFile, as.certFile);
  };
  install(client);
  const observed: string[] = [];
  const observe = ({ kind, files }: TlsObservation) => {
    if (kind !== "certificate_in_use") observed.push(`${kind} ${files}`);
  };
  const to = await sender(t, port, { as, filesCheckMs: 5, observe });
  const name = async () => {
    assert.equal((await to.send("a", "{}")).kind, "delivered");
    return requests.at(-1)?.name;
  };
  assert.equal(await name(), "first client");
  copyFileSync(second.certFile, as.certFile);
  await until(() => observed.length > 0, { what: "the mixed pair is reported" });
  assert.equal(await name(), "first client");
  const before = observed.length;
  writeFileSync(as.certFile, "-----BEGIN CERT");
  await until(() => observed.length > before, { what: "the invalid pair is reported" });
  assert.equal(await name(), "first client");
  assert.equal(connections(), 1);
  install(second);
  await until(async () => await name() === "second client", { what: "the second certificate is used" });
  assert.equal(connections(), 2);
  assert.equal(observed.pop(), "certificate_renewed delivery");
  assert.ok(observed.every((one) => one === "certificate_refused delivery"));
});
