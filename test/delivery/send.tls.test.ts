import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, writeFileSync } from "node:fs";
import https from "node:https";
import net, { type AddressInfo } from "node:net";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import tls from "node:tls";
import { Sender, type SendOutcome } from "../../src/delivery/send.ts";
import { TlsFiles, type TlsObservation } from "../../src/http/tls_files.ts";
import { Authority, type Issued, type IssueOptions } from "../support/actions/authority.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/folder.ts";

const authority = new Authority();
const other = new Authority("other authority");
const folder = temporaryFolder("send-files");
const client = authority.issue({ name: "first client", usage: "clientAuth" });

/** A tier with this certificate, which remembers who came. */
async function tier(t: TestContext, issued: Issued | Partial<IssueOptions>, options: tls.TlsOptions = {}) {
  const { cert, key } = "cert" in issued
    ? issued
    : authority.issue({ name: "tier", usage: "serverAuth", ...issued });
  const came: { name: string; host: string; path: string; servername: string | null }[] = [];
  const server = https.createServer(
    { cert, key, ca: authority.pem, requestCert: true, rejectUnauthorized: true, ...options },
    (request, response) => {
      const socket = request.socket as tls.TLSSocket;
      const name = String(socket.getPeerCertificate().subject.CN);
      const { servername } = socket as unknown as { servername: string | null };
      came.push({
        name,
        host: String(request.headers.host),
        path: String(request.url),
        servername: servername || null,
      });
      request.resume().on("end", () => response.end("{}"));
    },
  );
  let connections = 0;
  server.on("secureConnection", () => connections += 1);
  server.on("tlsClientError", () => {});
  server.listen(0);
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { came, port, connections: () => connections };
}

interface SenderOptions {
  readonly host?: string;
  readonly as?: Issued;
  readonly filesCheckMs?: number;
  readonly timeoutMs?: number;
  readonly observe?: (observation: TlsObservation) => void;
}

async function sender(t: TestContext, port: number, options: SenderOptions = {}): Promise<Sender> {
  const { host = "127.0.0.1", as = client, ...rest } = options;
  const { certFile, keyFile } = as;
  const to = new Sender({
    url: `https://${host}:${port}`,
    tls: await TlsFiles.load({ certFile, keyFile, caFile: authority.file }, "delivery"),
    timeoutMs: 5_000,
    connectionsMax: 4,
    observe: () => {},
    ...rest,
  });
  t.after(() => to.close());
  return to;
}

function reason(outcome: SendOutcome): string | null {
  assert.equal(outcome.kind, "unreachable");
  return outcome.kind === "unreachable" ? outcome.reason : null;
}

test("Events go over mutual TLS on one kept connection, to a name or an address", async (t) => {
  const { came, port, connections } = await tier(t, {
    alternativeNames: "DNS:localhost,IP:127.0.0.1,IP:::1",
  });
  for (const [index, host] of ["localhost", "127.0.0.1", "[::1]"].entries()) {
    const to = await sender(t, port, { host });
    for (const id of ["a", "b", "c"]) {
      assert.deepEqual(await to.send(id, "{}"), { kind: "delivered", status: 200 });
    }
    assert.equal(connections(), index + 1);
    const servername = host === "localhost" ? host : null;
    assert.deepEqual(came.at(-1), {
      name: "first client",
      host: `${host}:${port}`,
      path: "/v1/events/c",
      servername,
    });
  }
});

test("A tier that another authority has signed, whose time is over, or with another name gets no request", async (t) => {
  const cases: [Issued | Partial<IssueOptions>, RegExp][] = [
    [
      other.issue({ name: "tier", usage: "serverAuth" }),
      /^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT_LOCALLY)$/,
    ],
    [authority.selfSigned("tier"), /^DEPTH_ZERO_SELF_SIGNED_CERT$/],
    [{ days: -1 }, /^CERT_HAS_EXPIRED$/],
    [{ alternativeNames: "DNS:localhost,IP:127.0.0.2" }, /^ERR_TLS_CERT_ALTNAME_INVALID$/],
    [{ usage: "clientAuth" }, /^(INVALID_PURPOSE|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/],
  ];
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  t.after(() => delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"]);
  for (const [issued, expected] of cases) {
    const { came, port } = await tier(t, issued);
    assert.match(reason(await (await sender(t, port)).send("a", "{}")) ?? "", expected);
    assert.equal(came.length, 0);
  }
  const { came, port } = await tier(t, {
    name: "elsewhere.test",
    alternativeNames: "DNS:elsewhere.test,IP:127.0.0.1",
  });
  assert.equal(
    reason(await (await sender(t, port, { host: "localhost" })).send("a", "{}")),
    "ERR_TLS_CERT_ALTNAME_INVALID",
  );
  assert.equal(came.length, 0);
});

test("A client that the tier does not know is unreachable, and so is a tier below TLS 1.2", async (t) => {
  const stranger = other.issue({ name: "stranger", usage: "clientAuth" });
  const { came, port } = await tier(t, {});
  assert.match(
    reason(await (await sender(t, port, { as: stranger })).send("a", "{}")) ?? "",
    /^(ERR_SSL_|ECONNRESET|EPIPE)/,
  );
  assert.equal(came.length, 0);
  const old = await tier(t, {}, { maxVersion: "TLSv1.1", minVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" });
  assert.match(reason(await (await sender(t, old.port)).send("a", "{}")) ?? "", /^(ERR_SSL_|ECONNRESET)/);
  assert.equal(old.came.length, 0);
});

test("Nothing of HTTP goes to a server that does not speak TLS", async (t) => {
  let text = "";
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  assert.match(reason(await (await sender(t, port)).send("abc", "{}")) ?? "", /^(ERR_SSL_|EPROTO)/);
  assert.doesNotMatch(text, /abc|PUT/);
});

test("A handshake that hangs ends with ETIMEDOUT", async (t) => {
  const server = net.createServer((socket) => socket.on("error", () => {}).resume()).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  assert.equal(reason(await (await sender(t, port, { timeoutMs: 100 })).send("a", "{}")), "ETIMEDOUT");
});

test("Renewed files are used for new connections, the old ones are let go, and a broken pair changes nothing and is told", async (t) => {
  const { came, port, connections } = await tier(t, {});
  const second = authority.issue({ name: "second client", usage: "clientAuth" });
  const as = { ...client, certFile: join(folder, "client.pem"), keyFile: join(folder, "client.key") };
  const install = (issued: Issued) => {
    copyFileSync(issued.keyFile, as.keyFile);
    copyFileSync(issued.certFile, as.certFile);
  };
  install(client);
  const told: string[] = [];
  const observe = ({ kind, files }: TlsObservation) => told.push(`${kind} ${files}`);
  const to = await sender(t, port, { as, filesCheckMs: 5, observe });
  const name = async () => {
    assert.equal((await to.send("a", "{}")).kind, "delivered");
    return came.at(-1)?.name;
  };
  assert.equal(await name(), "first client");
  copyFileSync(second.certFile, as.certFile);
  await until(() => told.length > 0, { what: "the mixed pair is told" });
  assert.equal(await name(), "first client");
  const before = told.length;
  writeFileSync(as.certFile, "-----BEGIN CERT");
  await until(() => told.length > before, { what: "the broken pair is told" });
  assert.equal(await name(), "first client");
  assert.equal(connections(), 1);
  install(second);
  await until(async () => await name() === "second client", { what: "the second client comes" });
  assert.equal(connections(), 2);
  assert.equal(told.pop(), "certificate_renewed delivery");
  assert.ok(told.every((one) => one === "certificate_refused delivery"));
});
